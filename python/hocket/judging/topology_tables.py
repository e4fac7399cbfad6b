"""The table of `nvidia-smi topo -m` in a text: how the GPUs of a node reach each other, and its network cards."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from hocket.judging.mention import Mention

PAIRS, NO_NVLINK, NVLINK = "pairs", "no NVLink", "NVLink"
"""Values of the mention of links: NVLink joins some GPUs, none, or all."""

_DEVICE = re.compile(r"GPU[0-9]+|NIC[0-9]+|mlx[0-9]_\w+|bnxt\w+|irdma\w+|rocep\w+|ibp\w+")
_LINK = re.compile(r"X|NV[0-9]+|PIX|PXB|PHB|NODE|SYS|SOC")
_LINKS_OF_SWITCH = ("PIX", "PXB")


def topologies_in(lines: Sequence[str], file: str) -> Iterator[Mention]:
    """Give how GPUs reach each other, and whether a card is behind the same PCIe switch as one of them."""
    for number, line in enumerate(lines):
        names = _head(line)
        rows = [row for following in lines[number + 1 : number + 1 + len(names)] if (row := _row(following, names))]
        if len(rows) < 2:
            continue
        source = f"{file}:{number + 1}"
        between = [link for row in rows for name, link in row.items() if name.startswith("GPU") and link != "X"]
        to_cards = [link for row in rows for name, link in row.items() if not name.startswith("GPU")]
        has_links = {link.startswith("NV") for link in between}
        if has_links == {True, False}:
            sentence = "NVLink joins some pairs of GPUs only, other pairs go through PCIe or the CPU"
            yield Mention("links", PAIRS, source, sentence)
        elif has_links:
            yield Mention("links", NVLINK if has_links == {True} else NO_NVLINK, source)
        if to_cards and not any(link in _LINKS_OF_SWITCH for link in to_cards):
            sentence = "no card is behind the PCIe switch of a GPU, so their data pass through the CPU"
            yield Mention("near cards", "none", source, sentence)


def _head(line: str) -> list[str]:
    """Return the devices of the columns; none if the line is not the head of a table."""
    names = list(takewhile(_DEVICE.fullmatch, line.split()))
    return names if names[:2] == ["GPU0", "GPU1"] else []


def _row(line: str, names: Sequence[str]) -> dict[str, str]:
    """Return the links of a GPU by device; none if the line is no row of a GPU."""
    first, *links = line.split() or [""]
    cells = links[: len(names)]
    is_row = first.startswith("GPU") and len(cells) == len(names) and all(map(_LINK.fullmatch, cells))
    return dict(zip(names, cells, strict=True)) if is_row else {}
