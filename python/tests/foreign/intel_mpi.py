"""How Intel MPI 2021.18.1 reads the value of I_MPI_ADJUST_..: as the selection trees that it makes of values.

Shown by a debugger at the end of `MPIU_Selection_tree_parse_envvar`: a value without `@` is a list of sizes; with `@`
each entry makes a list of its own, under the last number of ranks of its last condition. A key that is there already
keeps its place and gets the new value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

Tree = Mapping[int, Mapping[int, int]]
"""Presets by the last number of ranks and the last size; -1 stands for all."""

T = TypeVar("T")
MOST = 2**31 - 1


def trees(text: str) -> dict[str, Tree]:
    """Return the tree of each function of a file that Hocket wrote."""
    found = re.findall(r"^export I_MPI_ADJUST_(\w+)='([^']*)'$", text, re.MULTILINE)
    assert len(found) == len(text.splitlines())
    return {name.lower(): tree(value) for name, value in found}


def tree(value: str) -> Tree:
    """Return the tree of a value."""
    by_ranks: dict[int, dict[int, int]] = {}
    for entry in value.split(";"):
        preset, _, conditions = entry.partition(":")
        last_ranks, sizes = -1, [-1]
        if conditions:
            pairs = [each.partition("@") for each in conditions.split(",")]
            sizes = [_last(size, MOST) if size else MOST for size, _, _ in pairs]
            last_ranks = _last(pairs[-1][2], -1) if pairs[-1][2] else -1
        by_size = {size: int(preset) for size in sizes}
        by_ranks[last_ranks] = by_size if "@" in value else {**by_ranks.get(last_ranks, {}), **by_size}
        if not conditions and "@" not in value:
            break
    return by_ranks


def _last(text: str, turned_round: int) -> int:
    first, _, last = text.partition("-")
    return int(last or first) if int(last or first) >= int(first) else turned_round


def chosen(tree: Tree, ranks: int, size: int | None) -> int:
    """Return the preset of a call: of the first keys that are not smaller, or of the last ones; none has its size."""
    return _of(_of(tree, ranks), MOST + 1 if size is None else size)


def _of(branches: Mapping[int, T], number: int) -> T:
    return next((branch for key, branch in branches.items() if key == -1 or number <= key), [*branches.values()][-1])
