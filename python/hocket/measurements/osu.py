"""The output of the OSU micro-benchmarks of collectives, such as osu_allreduce and osu_iallreduce.

It tells neither the algorithm nor the number of ranks. Ranks start their timers after a barrier. A call takes as long
as on the slowest rank where the output has it (`-f`). Otherwise it takes the mean of all ranks: its median over the
iterations where the output has percentiles (`-z`), or else its average. A nonblocking call takes its time without
computation. The shortest and the longest time are those of ranks, not of iterations.

Source: `c/util/osu_util.c` and `c/util/osu_util_mpi.c` of the benchmarks, version 7.5.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from hocket._native import Error
from hocket.base.call import MeasuredAs
from hocket.definitions.library import REDUCTIONS, find_collective, is_collective
from hocket.measurements.consistency import tables_of_lines
from hocket.measurements.measurement import (
    Facts,
    Format,
    Measurement,
    NoRanksError,
    Reading,
    SpreadOf,
    add_size,
    at,
    call_of,
    count,
    floats,
    matching,
    seconds,
    spread_of,
    type_bytes,
)

_TITLE = r"#? *\bOSU (?:MPI|NCCL|RCCL)\S* (?P<name>.+?) Latency Test"
_TITLE_LINE = re.compile(rf"\s*{_TITLE}")
_ANY_TITLE_LINE = re.compile(r"\s*#? *OSU .+ Test\b")
_DATATYPE = re.compile(r"\s*#? *Datatype: (?P<name>MPI_[A-Z]+)")
_NAMES = {
    "all_to_all_personalized_exchange": "alltoall",
    "all_to_all": "alltoall",
    "all_to_allv_personalized_exchange": "alltoallv",
    "reduce_scatter_block": "reduce_scatter",
}
_HEAD = re.compile(
    r"(?:Avg|Min|Max) Latency|P[0-9]+ Tail Lat|(?:Pure|Min|Max) Comm\.|Coll\. Init|Transmit Size|Size|Latency|"
    r"Iterations|Overall|Compute|Overlap|Validation|MPI_\w+"
)
_UNIT = re.compile(rf"(?:{_HEAD.pattern}) ?\(([^()]*)\)")
_ROW = r"(?<!\S)[0-9]+(?:[ \t]+[0-9]+\.[0-9]+)+(?:[ \t]+[0-9]+)?(?:[ \t]+(?:Pass|Fail))?\s*$"
_TIMES: Mapping[str, tuple[MeasuredAs, str, str, SpreadOf]] = {
    "Max Comm.": ("pico", "Min Comm.", "Max Comm.", "ranks"),
    "Max Latency": ("pico", "Min Latency", "Max Latency", "ranks"),
    "Pure Comm.": ("osu", "", "", "ranks"),
    "P50 Tail Lat": ("osu", "P50 Tail Lat", "P90 Tail Lat", "iterations"),
    "Avg Latency": ("osu", "", "", "ranks"),
    "Latency": ("osu", "", "", "ranks"),
}
"""Columns of times, the first of which is read: how they are measured, the columns of the ends of their spread, and
what differs between these."""


@dataclass
class _Table:
    """The part of the output that is being read: what is told of its rows, their sizes, and whether words followed."""

    collective: str
    algorithm: tuple[str, Mapping[str, float | str]]
    element_bytes: int
    heads: Sequence[str] = ("Size", "Avg Latency")
    sizes: list[int] = field(default_factory=list)
    is_over: bool = False

    @property
    def has_sizes(self) -> bool:
        """Whether the first column has sizes; a barrier has none."""
        return self.heads[0] == "Size"

    @cached_property
    def column(self) -> str:
        """The column of times that is read."""
        return next(name for name in _TIMES if name in self.heads)

    def goes_on(self, cells: Sequence[str]) -> bool:
        """Return whether a line is a row, of a size above zero if it has one; behind words, of the next size."""
        if not self.has_sizes:
            return bool(cells) and re.fullmatch(r"[0-9]+\.[0-9]+", cells[0]) is not None
        is_row = bool(cells) and cells[0].isascii() and cells[0].isdecimal() and bool(cells[0].strip("0"))
        return is_row and not (self.is_over and (len(cells) != len(self.heads) or int(cells[0][:15]) <= self.sizes[-1]))


def _read(text: str, file: str, facts: Facts) -> Reading:
    rules: list[Measurement] = []
    table: _Table | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        cells = line.split()
        if (title := _TITLE_LINE.match(line)) is not None:
            table = _table(title["name"], facts, file)
        elif table is None or _ANY_TITLE_LINE.match(line):
            table = None
        elif table.sizes and cells and cells[0].rstrip(":").isalpha():
            table.is_over = True
        elif table.goes_on(cells):
            rules.append(_measurement(table, cells, facts, (file, number)))
        elif (datatype := _DATATYPE.match(line)) and table.collective in REDUCTIONS:
            table.element_bytes = type_bytes(datatype["name"]) or table.element_bytes
        elif heads := _names(line):
            table = replace(table, heads=heads)
        elif _HEAD.match(line.strip("# \t")) and (units := {*_UNIT.findall(line)} - {"us", "%"}):
            raise at(file, number, f"got the unit {min(units):.20}, expected sizes in bytes and times in us")
    return Reading(tuple(rules))


def _table(title: str, facts: Facts, file: str) -> _Table:
    words = re.sub(r"[^a-z]+", "_", title.lower()).removeprefix("non_blocking_").removesuffix("_persistent")
    name = _NAMES.get(words, words)
    if not is_collective(name):
        raise Error(f'{file}: measures "{title:.60}", expected a collective')
    if facts.ranks is None:
        raise NoRanksError(file)
    collective = find_collective(name)
    return _Table(collective, call_of(collective, facts, file), floats(collective))


def _names(line: str) -> Sequence[str]:
    """Return the names of the columns; none if the line is another one."""
    bare = line.strip("# \t")
    words = re.sub(r"\((?:us|%)\)", " ", bare) if bare[:1].isalpha() else ""
    names = _HEAD.findall(words)
    return names if not _HEAD.sub("", words).strip() and any(name in _TIMES for name in names) else []


def _measurement(table: _Table, cells: Sequence[str], facts: Facts, where: tuple[str, int]) -> Measurement:
    if len(cells) != len(table.heads):
        raise at(*where, f'got "{" ".join(cells):.60}", expected the columns {", ".join(table.heads):.200}')
    assert facts.ranks is not None  # a table is begun only with it
    algorithm, parameters = table.algorithm
    size_bytes = count(cells[0], "size", where) if table.has_sizes else 0
    add_size(table.sizes, size_bytes, where)
    cells_by_name = dict(zip(table.heads, cells, strict=True))
    measured_as, low, high, what = _TIMES[table.column]
    ends = cells_by_name.get(low), cells_by_name.get(high)
    return Measurement(
        collective=table.collective,
        algorithm=algorithm,
        ranks=facts.ranks,
        size_bytes=size_bytes,
        time_s=seconds(cells_by_name[table.column], "latency", where, 1e-6),
        measured_as=measured_as,
        parameters=parameters,
        element_bytes=table.element_bytes,
        source=f"{where[0]}:{where[1]}",
        spread=spread_of(*ends, what, cells_by_name.get("Iterations"), unit_s=1e-6),
    )


FORMAT = Format(
    "osu",
    "the output of the OSU micro-benchmarks",
    matching(_TITLE, "Latency Test"),
    _read,
    row=matching(_ROW),
    digits=2,
    tables=partial(tables_of_lines, names_in=_names),
)
