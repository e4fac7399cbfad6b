"""Nodes of known products: the GPUs and the network cards that their makers name.

Sources: https://aws.amazon.com/ec2/instance-types/accelerated-computing/,
https://docs.nvidia.com/dgx/dgxa100-user-guide/introduction-to-dgxa100.html,
https://docs.nvidia.com/dgx/dgxh100-user-guide/introduction-to-dgxh100.html,
https://learn.microsoft.com/azure/virtual-machines/sizes/gpu-accelerated/ndma100v4-series, and there ndh100v5-series.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from hocket.base.units import format_count
from hocket.judging.lines import NumberedLines
from hocket.judging.mention import Mention


class Product(NamedTuple):
    """A product.

    Attributes:
        name: What matches its name in a text.
        gpu: The model of its GPUs.
        net: The kind of its network, as in `hocket.judging.fabrics.Fabric`.
        cards: Number of network cards of a node.
        gbit_per_s: The rate of a card.
    """

    name: re.Pattern[str]
    gpu: str
    net: str
    cards: int
    gbit_per_s: int


PRODUCTS = (
    Product(re.compile(r"\bp3dn\.24xlarge\b"), "V100 SXM", "efa", 1, 100),
    Product(re.compile(r"\bp4d[en]?\.24xlarge\b"), "A100 SXM", "efa", 4, 100),
    Product(re.compile(r"\bp5\.48xlarge\b"), "H100 SXM", "efa", 32, 100),
    Product(re.compile(r"(?i)\bDGX[- ]?A100\b"), "A100 SXM", "rdma", 8, 200),
    Product(re.compile(r"(?i)\bDGX[- ]?H100\b"), "H100 SXM", "rdma", 8, 400),
    Product(re.compile(r"\bND96(?:ams|as)r(?:_A100)?_v4\b"), "A100 SXM", "rdma", 8, 200),
    Product(re.compile(r"\bND96isr_H100_v5\b"), "H100 SXM", "rdma", 8, 400),
)


def products_in(lines: NumberedLines, file: str) -> Iterator[Mention]:
    """Give the GPUs and the cards of the first product that a text names, if it names no other one."""
    matches = [
        (product, match[0], number)
        for number, line in lines
        for product in PRODUCTS
        if (match := product.name.search(line)) is not None
    ]
    if len({product for product, _, _ in matches}) != 1:
        return
    product, name, number = matches[0]
    source = f"{file}:{number}"
    cards = f"{name} has {format_count(product.cards, 'card')} of {product.gbit_per_s} Gbit/s on a node"
    yield Mention("gpu", product.gpu, f"{name} has {product.gpu} GPUs", source)
    yield Mention("net", product.net, cards, source)
    yield Mention("rate", str(product.gbit_per_s), cards, source)
    yield Mention("cards told", str(product.cards), cards, source)
