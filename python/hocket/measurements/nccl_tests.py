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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor, inf

from hocket._native import Error
from hocket.base.units import format_count
from hocket.definitions.library import COLLECTIVES, find_collective, is_collective
from hocket.measurements.measurement import (
    NCCL_BUS_SHARES,
    NCCL_NAMES,
    NCCL_OF_BLOCKS,
    Facts,
    Format,
    Measurement,
    NoRanksError,
    Reading,
    add_size,
    at,
    bus_share,
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
_FULL_HEAD = ("size", "count", "type", "redop", "root", *2 * ("time", "algbw", "busbw", "#wrong"))
_NAME = re.compile(r"(?:^|[\s/])([a-z_]+)_perf")
_HEAD_LINE, _FULL_LINE = re.compile(rf"\s*{_HEAD}"), re.compile(rf"\s*{_FULL_ROW}")
_BEGIN = re.compile(r"\s*#?\s*nThread ")
_DEVICE = re.compile(r"\s*#?\s*Rank\s+(?P<rank>[0-9]{1,9})\s.*\bon\s+(?P<host>\S+)\s+device\s")
_ROW = re.compile(r"\s*[0-9]+\s+[0-9]+\s+[a-z]\w*\s")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_NO_TIME = "N/A"
_LEAST_RATIO_GB_PER_S = 1.0  # ratios of smaller bandwidths tell little
_ANY_RANKS = (2, inf)
_ROUNDING, _ROUNDING_GB_PER_S = 0.01, 0.006  # times have at least three digits, and rates two after the point


@dataclass(frozen=True)
class _Run:
    """A run: rows of one test on the same devices."""

    name: str  # of the program without `_perf`; empty if none was found
    hosts: Mapping[int, str]  # by rank
    rows: tuple[_Row, ...]

    @property
    def devices(self) -> int | None:
        """How many devices are listed, if the list has no gap. Lists are shortened by hand."""
        return len(self.hosts) if sorted(self.hosts) == [*range(len(self.hosts))] and self.hosts else None

    @property
    def ranks_per_node(self) -> int | None:
        """The number of ranks on each host, if all have as many."""
        numbers = set(Counter(self.hosts.values()).values())
        return numbers.pop() if self.devices is not None and len(numbers) == 1 else None


def _runs(text: str, file: str) -> Iterator[_Run]:
    name, hosts, heads, sizes = "", dict[int, str](), tuple[str, ...](), list[int]()
    rows: list[_Row] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if _ROW.match(line) and (heads or _FULL_LINE.match(line)):
            row = _Row(heads, line.split(), (file, number))
            add_size(sizes, row.size_bytes, row.where)
            rows.append(row)
            continue
        device = _DEVICE.match(line)
        is_head, is_begin = _HEAD_LINE.match(line) is not None, _BEGIN.match(line) is not None
        test = None if is_head or is_begin or device is not None else _NAME.search(line)
        if rows and (is_head or is_begin or device is not None or test is not None):
            yield _Run(name, dict(hosts), tuple(rows))
            rows = []
        if is_head:
            heads, sizes = tuple(line.lstrip("# \t").split()), []
        elif device is not None:
            hosts[int(device["rank"])] = device["host"]
        elif is_begin:
            hosts = {}
        elif test is not None:
            name = test[1]
    if rows:
        yield _Run(name, dict(hosts), tuple(rows))


def _read(text: str, file: str, facts: Facts) -> Reading:
    ones: list[tuple[Measurement, bool]] = []
    remarks: list[str] = []
    for run in _runs(text, file):
        name = NCCL_NAMES.get(run.name, run.name) or facts.collective
        if name is None:
            raise Error(f"{file}: does not name the collective, expected --collective")
        ranks, remark = _ranks(run, name, facts, file)
        remarks += [remark] if remark else []
        ones += [(one, is_collective(name)) for one in _measurements(run, name, ranks, facts, file)]
    return Reading.of(ones, (), dict.fromkeys(remarks))


def _ranks(run: _Run, name: str, facts: Facts, file: str) -> tuple[int, str]:
    """Return the number of ranks, and a sentence if it follows from the rows alone; refuse what disagrees with them."""
    for row in run.rows:
        row.check_bandwidths()
    least, most = _ranks_of_rows(run, name)
    statements = [(run.devices, "the list of devices"), (facts.ranks, "the call")]
    candidates = sorted(((ranks, teller) for ranks, teller in statements if ranks is not None), reverse=True)
    by_rows = [int(least)] if facts.ranks is None and least == most else []
    for ranks in (*(ranks for ranks, _ in candidates), *by_rows):
        if least <= ranks <= most and not any(row.disagreement(name, ranks, "the rows") for row in run.rows):
            devices = f"lists {format_count(run.devices, 'device')}" if run.devices else "has no whole list of devices"
            is_told = any(ranks == each for each, _ in candidates)
            return ranks, "" if is_told else f"{file}: {devices}; the rows are of {format_count(ranks, 'rank')}"
    if not candidates:
        raise NoRanksError(file)
    ranks, teller = candidates[0]
    for row in run.rows:
        row.check_size(name, ranks)
        if (error := row.disagreement(name, ranks, teller)) is not None:
            raise error
    where, most_ranks = run.rows[0].where, "" if most == inf else f" to {most:.0f}"
    got = f"got {format_count(ranks, 'rank')} in {teller}"
    raise at(*where, f"{got}, but the rows are of {least:.0f}{most_ranks} ranks")


def _ranks_of_rows(run: _Run, name: str) -> tuple[float, float]:
    """Return between which numbers of ranks all rows are: by their counts of elements, or else by their bandwidths."""
    if name in NCCL_OF_BLOCKS:
        blocks = {divmod(row.size_bytes, row.count * row.element_bytes) for row in run.rows if row.count}
        ranks = {whole for whole, rest in blocks if not rest and whole}
        return (min(ranks), max(ranks)) if len(ranks) == len(blocks) == 1 else _ANY_RANKS
    return ranks_of_bandwidths(name, [(row.size_bytes, time, bus) for row in run.rows for time, bus, _ in row.rates])


def _measurements(run: _Run, name: str, ranks: int, facts: Facts, file: str) -> Iterator[Measurement]:
    """Give the measurements of the rows of a run, out of place and in place."""
    collective = find_collective(name) if is_collective(name) else name
    algorithm, parameters = call_of(collective, facts, file) if is_collective(name) else ("nccl-tests", {})
    is_of_blocks = collective in COLLECTIVES and COLLECTIVES[collective].size_is_one_block
    ranks_per_node = run.ranks_per_node if ranks == run.devices else None
    for row in run.rows:
        row.check_size(name, ranks)
        size_bytes = row.count * row.element_bytes if is_of_blocks else row.size_bytes
        for in_place, time, *_ in row.results:
            if size_bytes and not (in_place and collective == "alltoall"):
                yield Measurement(
                    collective=collective,
                    algorithm=algorithm,
                    ranks=ranks,
                    size_bytes=size_bytes,
                    time_s=seconds(time, "time", row.where, 1e-6),
                    measured_as="imb",
                    parameters=parameters,
                    element_bytes=row.element_bytes,
                    ranks_per_node=ranks_per_node,
                    in_place=in_place,
                    source=f"{row.where[0]}:{row.where[1]}",
                )


def ranks_of_bandwidths(name: str, rows: Iterable[tuple[int, str, str]]) -> tuple[float, float]:
    """Return between which numbers of ranks the bandwidths of all rows are; 2 and infinity where they tell nothing.

    A row has the size in bytes, and as printed the time in microseconds and the bandwidth of the bus in GB/s.
    """
    share = NCCL_BUS_SHARES.get(name)
    if share is None:
        return _ANY_RANKS
    lowest, highest = 0.0, inf
    for size_bytes, *texts in rows:
        (time_us, half_us), (bus_gb_per_s, half_gb_per_s) = ((float(one), _half_digit(one)) for one in texts)
        if bus_gb_per_s >= _LEAST_RATIO_GB_PER_S and size_bytes:
            lowest = max(lowest, (bus_gb_per_s - half_gb_per_s) * (time_us - half_us) * 1e3 / size_bytes)
            highest = min(highest, (bus_gb_per_s + half_gb_per_s) * (time_us + half_us) * 1e3 / size_bytes)
    if not 0 < lowest < min(share, highest):
        return _ANY_RANKS
    least = max(2, ceil(share / (share - lowest) - 1e-9))
    most = floor(share / (share - highest) + 1e-9) if highest < share else inf
    return (least, most) if least <= most else _ANY_RANKS


def _half_digit(number: str) -> float:
    """Return how far a number may be from the printed one."""
    return 0.51 * 0.1 ** len(number.partition(".")[2])


@dataclass(frozen=True)
class _Row:
    """A row: the names of its columns, if the text has them, its cells, and the file and the line.

    Old rows lack cells on the left, so its columns count from the right.
    """

    names: Sequence[str]
    cells: Sequence[str]
    where: tuple[str, int]

    @property
    def size_bytes(self) -> int:
        """The size."""
        return int(self.cells[0][:15])

    @property
    def count(self) -> int:
        """The number of elements."""
        return int(self.cells[1][:15])

    @property
    def element_bytes(self) -> int:
        """The size of an element; an unknown type is refused."""
        size = type_bytes(self.cells[2])
        if size is None:
            raise at(*self.where, f'type: got "{self.cells[2]:.60}", expected a type such as float or int8')
        return size

    @cached_property
    def results(self) -> list[tuple[bool, str, str, str]]:
        """Whether it is in place, the time, and the bandwidths of the algorithm and the bus; in place last."""
        names = self.names or _FULL_HEAD
        columns = [number - len(names) for number, name in enumerate(names) if name == "time"]
        if not columns or not 3 - columns[0] <= len(self.cells) <= len(names):
            raise at(*self.where, f'got "{" ".join(self.cells):.60}", expected the columns {" ".join(names):.200}')
        cells = [(*self.cells[column:], "", "")[:3] for column in columns]
        places = zip((False, True), cells, strict=False)
        return [(in_place, time, alg, bus) for in_place, (time, alg, bus) in places if time != _NO_TIME]

    @cached_property
    def rates(self) -> tuple[tuple[str, str, float], ...]:
        """Each time, the bandwidth of the bus as it is printed, and that of the algorithm in GB/s."""
        for _, time, *_ in self.results:
            seconds(time, "time", self.where, 1e-6)
        return tuple(
            (time, bus, float(algorithm))
            for _, time, algorithm, bus in self.results
            if _NUMBER.fullmatch(algorithm) and _NUMBER.fullmatch(bus)
        )

    def check_bandwidths(self) -> None:
        """Refuse a row whose size, time and bandwidth do not belong together."""
        size_bytes = self.size_bytes
        advice = "" if self.names else ", or the line that names the columns of nccl-tests"
        for time, _, gb_per_s in self.rates:
            expected_gb_per_s = size_bytes / float(time) / 1e3
            if not abs(expected_gb_per_s - gb_per_s) <= _ROUNDING_GB_PER_S + _ROUNDING * gb_per_s:
                got = f"got algbw {gb_per_s:.2f} GB/s for {size_bytes} bytes in {time} us"
                raise at(*self.where, f"{got}, expected {expected_gb_per_s:.2f} GB/s{advice}")

    def check_size(self, name: str, ranks: int) -> None:
        """Refuse a size that is not that of the count of elements."""
        size_bytes, count, element_bytes = self.size_bytes, self.count, self.element_bytes
        blocks = [ranks] if name in NCCL_OF_BLOCKS else [1] if name in COLLECTIVES else [1, ranks]
        if size_bytes not in [count * element_bytes * number for number in blocks]:
            factor = f" times {format_count(ranks, 'rank')}" if name in NCCL_OF_BLOCKS else ""
            got = f"got the size {size_bytes} for {count} elements of {self.cells[2]}{factor} in {name:.40}"
            raise at(*self.where, f"{got}, expected {count * element_bytes * blocks[0]} bytes")

    def disagreement(self, name: str, ranks: int, teller: str) -> Error | None:
        """Return an error if the bandwidth of the bus does not follow from a number of ranks."""
        share = bus_share(name, ranks)
        if share is None:
            return None
        for _, bus, gb_per_s in self.rates:
            bus_gb_per_s = float(bus)
            rounding_gb_per_s = _ROUNDING_GB_PER_S * (1 + share) + _ROUNDING * bus_gb_per_s
            if not abs(share * gb_per_s - bus_gb_per_s) <= rounding_gb_per_s:
                got = f"got busbw {bus_gb_per_s:.2f} GB/s for algbw {gb_per_s:.2f} GB/s in {name}"
                expected = f"{share * gb_per_s:.2f} GB/s on the {format_count(ranks, 'rank')} of {teller}"
                return at(*self.where, f"{got}, expected {expected}")
        return None


FORMAT = Format(
    "nccl-tests",
    "the output of nccl-tests",
    matching(_HEAD, "algbw"),
    _read,
    row=matching(_FULL_ROW),
    is_known_by_rows=True,
)
