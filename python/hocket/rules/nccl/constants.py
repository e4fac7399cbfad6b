"""The constants of NCCL's tables by version, from `constants.csv`, which names their source."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Literal, TypeAlias

from hocket.base.files import read_rows

Version: TypeAlias = Literal["2.20", "2.27"]
"""A version of NCCL whose constants are known: 2.20 also has those of the versions up to 2.22."""

VERSION: Version = "2.27"
"""The version whose decisions are nccl-2's."""

_FIRST_OF_OLD, _LAST_OF_OLD, _LAST_OF_NEW = 20, 22, 27
"""The minor versions to which the constants of 2.20 apply, and the last one to which those of 2.27 do."""

_PROTOCOLS = ("ll", "ll128", "simple")  # as in the file

Values: TypeAlias = tuple[float, ...]


@cache
def constants(version: Version = VERSION) -> Mapping[tuple[str, str], Values]:
    """Return the values of a version by table and key."""
    return {
        (row["table"], row["key"]): tuple(map(float, row["values"].split()))
        for row in read_rows(__file__, "constants.csv")
        if version in row["version"].split()
    }


def by_protocol(version: Version, table: str, key: str, protocol: str) -> float:
    """Return the value for a protocol: "ll", "ll128" or "simple"."""
    return constants(version)[table, key][_PROTOCOLS.index(protocol)]


def by_nodes(version: Version, table: str, key: str, nodes: int) -> float:
    """Return the value for a number of nodes: one, two, or more."""
    return constants(version)[table, key][min(nodes, 3) - 1]


def single(version: Version, table: str, key: str) -> float:
    """Return the only value of a key."""
    return constants(version)[table, key][0]


def nearest(minor: int) -> tuple[Version, bool]:
    """Return the version whose constants are nearest to those of NCCL 2.`minor`, and whether they are its own."""
    is_old = minor <= _LAST_OF_OLD
    return ("2.20" if is_old else VERSION), minor >= _FIRST_OF_OLD if is_old else minor <= _LAST_OF_NEW
