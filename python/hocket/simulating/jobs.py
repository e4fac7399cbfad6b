"""Jobs: calls that run beside each other, each on ranks of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from hocket._native import Error
from hocket.base import checks
from hocket.base.call import Call
from hocket.base.units import parse_bytes
from hocket.definitions.library import COLLECTIVES, Algorithm, find, parse_parameter, values_of
from hocket.simulating.scenes import read_cadence

_MOST = 1 << 20  # ranks of a job, and nodes that it names
_FORM = "COLLECTIVE ALGORITHM SIZE, P ranks, such as 'allreduce ring 1MiB, 32 ranks'"
_SHAPE = re.compile(r"(?:(rows|columns) of ([0-9]{1,9}) ?x ?)?([0-9]{1,9})(?(1)| ranks?)")
_NODES = re.compile(r"nodes?((?: [0-9]{1,9}(?:-[0-9]{1,9})?)+)")


@dataclass(frozen=True, kw_only=True)
class Job:
    """A call, or the calls of all rows or columns of a grid of ranks at once."""

    text: str  # what `parse` has read, with single spaces
    algorithm: Algorithm
    call: Call  # of each row or column, or the only one
    groups: int  # number of rows or columns; 1 for a single call
    are_columns: bool  # the ranks of a grid are numbered row by row
    nodes: tuple[int, ...] | None  # that the job fills, in this order; None: wherever there is room
    cadence: str | None  # when each group begins each of several calls; None: one call

    @classmethod
    def parse(cls, text: str, *, among: Iterable[Algorithm] | None = None) -> Job:
        """Read "allreduce ring 1MiB, 32 ranks".

        Parameters follow the size: "allreduce ring 1MiB segment=64KiB". In place of ranks, "rows of 4x8" has 4 calls of
        8 ranks, and "columns of 4x8" 8 calls of 4 ranks. "nodes 0-15 20" and a cadence such as "16 calls, every 100 us"
        may follow, in any order. The error for another text begins with it.
        """
        words = " ".join(checks.text("job", text).split())
        with checks.within(f'job "{words:.200}"'):
            return cls._read(words, among)

    @classmethod
    def _read(cls, words: str, among: Iterable[Algorithm] | None) -> Job:
        (what, *parts) = map(str.strip, words.split(","))
        if len(names := what.split(" ")) < _NAMES:
            raise Error(f"expected {_FORM}")
        algorithm = find("/".join(names[:_NAMES]), among=among)
        parameters = [parse_parameter(word) for word in names[_NAMES:] if "=" in word]
        size = "".join(word for word in names[_NAMES:] if "=" not in word)
        if not size and COLLECTIVES[algorithm.collective].has_size:
            raise Error(f"expected a size after {algorithm.name}, such as 1MiB")
        shapes, nodes = ([rules for part in parts if (rules := kind.fullmatch(part))] for kind in (_SHAPE, _NODES))
        if len(shapes) != 1:
            raise Error("expected ranks once, such as '32 ranks', 'rows of 4x8' or 'columns of 4x8'")
        if len(nodes) > 1:
            raise Error("expected nodes once, such as 'nodes 0-15 20'")
        rest = [part for part in parts if not (_SHAPE.fullmatch(part) or _NODES.fullmatch(part))]
        split, rows, columns = shapes[0][1], int(shapes[0][2] or 1), int(shapes[0][3])
        if not 0 < rows * columns <= _MOST:
            raise Error(f"got {rows * columns} ranks, expected 1 to {_MOST}")
        call = Call(
            ranks=rows if split == "columns" else columns,
            size_bytes=parse_bytes(size) if size else 0,
            parameters=values_of(parameters, [algorithm]),
        )
        return cls(
            text=words,
            algorithm=algorithm,
            call=call,
            groups=rows * columns // call.ranks,
            are_columns=split == "columns",
            nodes=_nodes(nodes[0][1]) if nodes else None,
            cadence=_cadence(", ".join(rest)) if rest else None,
        )

    @cached_property
    def members(self) -> list[list[int]]:
        """The ranks of each group, as numbers in the job."""
        groups, size = self.groups, self.call.ranks
        if self.are_columns:
            return [list(range(column, groups * size, groups)) for column in range(groups)]
        return [list(range(row * size, (row + 1) * size)) for row in range(groups)]

    @property
    def ranks(self) -> int:
        """Number of ranks of the job."""
        return self.groups * self.call.ranks


_NAMES = 2  # of the collective and of the algorithm


def _cadence(text: str) -> str:
    try:
        return read_cadence(text)
    except Error as error:
        raise Error(f"{error}; or nodes, such as 'nodes 0-15 20'") from None


def _nodes(text: str) -> tuple[int, ...]:
    """Return the nodes of "0-15 20", in order."""
    nodes: list[int] = []
    for part in text.split():
        first, _, last = part.partition("-")
        if not int(first) <= int(last or first) < int(first) + _MOST:
            raise Error(f"nodes: got {part}, expected a range of at most {_MOST} nodes that ascends")
        nodes += range(int(first), int(last or first) + 1)
    return tuple(nodes)
