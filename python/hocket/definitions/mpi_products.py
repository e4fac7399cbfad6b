"""MPIs by family, product and version: `mpi_products.csv`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hocket.base.files import read_rows


@dataclass(frozen=True)
class Product:
    """A product: a row of `mpi_products.csv`, whose attributes are explained there."""

    name: str
    title: str
    family: str
    wrappers: tuple[str, ...]
    expression: re.Pattern[str]


def _product(row: dict[str, str]) -> Product:
    wrappers, expression = tuple(row.pop("wrappers").split()), re.compile(row.pop("expression"))
    return Product(**row, wrappers=wrappers, expression=expression)


PRODUCTS = {row["name"]: _product(row) for row in read_rows(__file__, "mpi_products.csv")}
"""The products, by name."""

_LIKELY = re.compile("(?i)mpi|mpt|mvap")  # what each name has: most lines of a long text need no more

FAMILIES = {"mpich": "MPICH's ABI", "openmpi": "Open MPI's ABI", "standard": "the standard ABI"}
"""What programs of a family share, by the names of families."""


def product_in(text: str) -> tuple[Product, str] | None:
    """Return the product that a text names, and its version; None if it names none."""
    if _LIKELY.search(text) is None:
        return None
    matches = ((one, one.expression.search(text)) for one in PRODUCTS.values())
    return next(((one, match["version"]) for one, match in matches if match is not None), None)
