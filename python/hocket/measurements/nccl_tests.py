"""The output of nccl-tests and rccl-tests, such as all_reduce_perf: times out of place and in place.

It does not tell the algorithm. The number of ranks, and of ranks on a node, follows from the list of devices where the
output has one. The name of the collective is in newer outputs, or in a command line above the table. Calls follow each
other; the time is their average. Rows without the names of their columns are read if their bandwidths follow from
their sizes and times.

Source: `src/common.cu` of NVIDIA/nccl-tests. Its sizes are the larger of a rank's input and output; its counts are the
arguments of the call. An alltoall has no form in place, but a time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from hocket._native import Error
from hocket.base.units import format_count
from hocket.definitions.library import COLLECTIVES, find_collective, is_collective
from hocket.measurements.cuts import cut_rows, odd_row
from hocket.measurements.measurement import (
    NCCL_NAMES,
    Facts,
    Format,
    Measurement,
    Reading,
    Sizes,
    at,
    call_of,
    matching,
    seconds,
    type_bytes,
)

_HEAD = r"#?\s*\bsize\s+count\s+type\s.*\btime\s+algbw\s+busbw\b"
_NUMBERS = r"(?:\s+[0-9.]+){3}\s+(?:\S+)"
_FULL_ROW = (
    rf"(?<!\S)[0-9]+\s+[0-9]+\s+[a-z]\w*(?:\s+[a-z]+)?(?:\s+-?[0-9]+)?{_NUMBERS}(?:{_NUMBERS}|(?:\s+N/A){{4}})\s*$"
)
_FULL_HEAD = tuple(
    ["size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw", "#wrong"]
)
_NAME = re.compile(r"(?:^|[\s/])([a-z_]+)_perf")
_BEGIN = re.compile(r"\s*#?\s*nThread ")
_DEVICE = re.compile(r"\s*#?\s*Rank\s+(?P<rank>[0-9]{1,9})\s.*\bon\s+(?P<host>\S+)\s+device\s")
_ROW = re.compile(r"\s*[0-9]+\s+[0-9]+\s+[a-z]\w*\s")
_NO_TIME = "N/A"
_OF_BLOCKS = frozenset({"allgather", "reduce_scatter", "alltoall", "gather", "scatter"})
"""Collectives whose count is that of a block: their size is that of as many blocks as there are ranks."""
_BUS_SHARES = {"allreduce": 2, **dict.fromkeys(_OF_BLOCKS, 1)}
"""The bandwidth of the bus is this, times (ranks - 1) / ranks, times the bandwidth of the algorithm."""
_OF_WHOLE = ("broadcast", "reduce")
"""Collectives whose bandwidth of the bus is that of the algorithm."""
_ROUNDING, _ROUNDING_GB_PER_S = 0.01, 0.006
"""Times have at least three digits, and rates two after the point."""


@dataclass
class _Run:
    """The run whose output is being read.

    Attributes:
        name: The name of the program without `_perf`; empty before one is found.
        hosts: The host of each rank.
        heads: The names of the columns.
        sizes: The sizes of the rows until now.
    """

    name: str = ""
    hosts: dict[int, str] = field(default_factory=dict)
    heads: Sequence[str] = ()
    sizes: Sizes = field(default_factory=Sizes)

    @property
    def ranks(self) -> int | None:
        """The number of ranks, if the list of devices is complete."""
        return len(self.hosts) if sorted(self.hosts) == [*range(len(self.hosts))] and self.hosts else None

    @property
    def ranks_per_node(self) -> int | None:
        """The number of ranks on each host, if all have as many."""
        numbers = set(Counter(self.hosts.values()).values())
        return numbers.pop() if self.ranks is not None and len(numbers) == 1 else None


def _read(text: str, file: str, facts: Facts) -> Reading:
    rules: list[Measurement] = []
    unknown: list[Measurement] = []
    run = _Run()
    for number, line in enumerate(text.split("\n"), start=1):
        if re.match(rf"\s*{_HEAD}", line):
            run.heads, run.sizes = line.lstrip("# \t").split(), Sizes()
        elif (device := _DEVICE.match(line)) is not None:
            run.hosts[int(device["rank"])] = device["host"]
        elif _BEGIN.match(line):
            run.hosts = {}
        elif _ROW.match(line) and (run.heads or re.match(rf"\s*{_FULL_ROW}", line)):
            measurements, is_known = _measurements(run, line.split(), facts, (file, number))
            (rules if is_known else unknown).extend(measurements)
        elif (name := _NAME.search(line)) is not None:
            run.name = name[1]
    return Reading(tuple(rules), tuple(unknown))


def _measurements(
    run: _Run, cells: Sequence[str], facts: Facts, where: tuple[str, int]
) -> tuple[list[Measurement], bool]:
    """Return the measurements of a row, out of place and in place, and whether Hocket has their collective."""
    name = NCCL_NAMES.get(run.name, run.name) or facts.collective
    if name is None:
        raise Error(f"{where[0]}: does not name the collective, expected --collective")
    ranks = run.ranks or facts.ranks
    if ranks is None:
        raise Error(f"{where[0]}: does not contain the number of ranks, expected --ranks")
    is_known = is_collective(name)
    collective = find_collective(name) if is_known else name
    algorithm, parameters = call_of(collective, facts, where[0]) if is_known else ("nccl-tests", {})
    element_bytes = type_bytes(cells[2])
    if element_bytes is None:
        raise at(*where, f'type: got "{cells[2]:.60}", expected a type such as float or int8')
    run.sizes.add(int(cells[0][:15]), where)
    row = _Row(run.heads or _FULL_HEAD, cells, where)
    row.check_bandwidths(has_names=bool(run.heads))
    row.check_size(name, ranks, element_bytes)
    row.check_ranks(name, ranks, "the list of devices" if run.ranks is not None else "the call")
    is_of_blocks = is_known and COLLECTIVES[collective].size_is_one_block
    size_bytes = int(cells[1][:15]) * element_bytes if is_of_blocks else int(cells[0][:15])
    measurements = [
        Measurement(
            collective=collective,
            algorithm=algorithm,
            ranks=ranks,
            size_bytes=size_bytes,
            time_s=seconds(time, "time", where, 1e-6),
            measured_as="imb",
            parameters=parameters,
            element_bytes=element_bytes,
            ranks_per_node=run.ranks_per_node,
            in_place=in_place,
            source=f"{where[0]}:{where[1]}",
        )
        for in_place, time in row.times()
        if size_bytes and not (in_place and collective == "alltoall")
    ]
    return measurements, is_known


@dataclass(frozen=True)
class _Row:
    """A row. Old rows lack cells on the left, so its columns count from the right.

    Attributes:
        heads: The names of the columns.
        cells: The cells.
        where: The file and the line.
    """

    heads: Sequence[str]
    cells: Sequence[str]
    where: tuple[str, int]

    def _times(self) -> Iterator[tuple[bool, int]]:
        """Give the column of each time that was measured, in place last."""
        columns = [number - len(self.heads) for number, head in enumerate(self.heads) if head == "time"]
        if not 3 - columns[0] <= len(self.cells) <= len(self.heads):
            text, names = " ".join(self.cells), " ".join(self.heads)
            raise at(*self.where, f'got "{text:.60}", expected the columns {names:.200}')
        for in_place, column in zip((False, True), columns, strict=False):
            if self.cells[column] != _NO_TIME:
                yield in_place, column

    def times(self) -> Iterator[tuple[bool, str]]:
        """Give the times, in place last."""
        return ((in_place, self.cells[column]) for in_place, column in self._times())

    def _rates(self) -> Iterator[tuple[str, float, float, float]]:
        """Give each time with its microseconds, and the bandwidths of the algorithm and of the bus."""
        for _, column in self._times():
            time_us = seconds(self.cells[column], "time", self.where, 1e-6) * 1e6
            try:
                gb_per_s, bus_gb_per_s = map(float, self.cells[column + 1 : column + 3])
            except ValueError:
                continue
            yield self.cells[column], time_us, gb_per_s, bus_gb_per_s

    def check_bandwidths(self, *, has_names: bool) -> None:
        """Refuse a row whose size, time and bandwidth do not belong together."""
        size_bytes = int(self.cells[0][:15])
        advice = "" if has_names else ", or the line that names the columns of nccl-tests"
        for time, time_us, gb_per_s, _ in self._rates():
            expected_gb_per_s = size_bytes / time_us / 1e3
            if not abs(expected_gb_per_s - gb_per_s) <= _ROUNDING_GB_PER_S + _ROUNDING * gb_per_s:
                raise at(
                    *self.where,
                    f"got algbw {gb_per_s:.2f} GB/s for {size_bytes} bytes in {time} us, expected "
                    f"{expected_gb_per_s:.2f} GB/s{advice}",
                )

    def check_size(self, name: str, ranks: int, element_bytes: int) -> None:
        """Refuse a size that is not that of the count of elements."""
        size_bytes, count = (int(cell[:15]) for cell in self.cells[:2])
        blocks = [ranks] if name in _OF_BLOCKS else [1] if name in COLLECTIVES else [1, ranks]
        if size_bytes not in [count * element_bytes * number for number in blocks]:
            factor = f" times {format_count(ranks, 'rank')}" if name in _OF_BLOCKS else ""
            raise at(
                *self.where,
                f"got the size {size_bytes} for {count} elements of {self.cells[2]}{factor} in {name:.40}, "
                f"expected {count * element_bytes * blocks[0]} bytes",
            )

    def check_ranks(self, name: str, ranks: int, teller: str) -> None:
        """Refuse a number of ranks from which the bandwidth of the bus does not follow."""
        if name not in (*_BUS_SHARES, *_OF_WHOLE):
            return
        share = 1 if name in _OF_WHOLE else _BUS_SHARES[name] * (ranks - 1) / ranks
        for _, _, gb_per_s, bus_gb_per_s in self._rates():
            rounding_gb_per_s = _ROUNDING_GB_PER_S * (1 + share) + _ROUNDING * bus_gb_per_s
            if not abs(share * gb_per_s - bus_gb_per_s) <= rounding_gb_per_s:
                raise at(
                    *self.where,
                    f"got busbw {bus_gb_per_s:.2f} GB/s for algbw {gb_per_s:.2f} GB/s in {name}, expected "
                    f"{share * gb_per_s:.2f} GB/s on the {format_count(ranks, 'rank')} of {teller}",
                )


_FIND_TITLE, _FIND_ROW = matching(_HEAD, "algbw"), matching(_FULL_ROW)
FORMAT = Format(
    "nccl-tests",
    "the output of nccl-tests",
    _FIND_TITLE,
    _read,
    row=_FIND_ROW,
    is_known_by_rows=True,
    cuts=partial(cut_rows, title=_FIND_TITLE, row=_FIND_ROW),
    odd_row=partial(odd_row, title=_FIND_TITLE, row=_FIND_ROW),
)
