"""The output of nccl-tests and rccl-tests, such as all_reduce_perf: times out of place and in place.

It does not tell the algorithm. The number of ranks, and of ranks on a node, follows from the list of devices where the
output has one. The name of the collective is in newer outputs, or in a command line above the table. Calls follow each
other; the time is their average.

Source: `src/common.cu` of NVIDIA/nccl-tests. Its sizes are the larger of a rank's input and output; its counts are the
arguments of the call. An alltoall has no form in place, but a time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from hocket._native import Error
from hocket.definitions.library import KNOWN, find_collective, is_collective
from hocket.fitting.measurements.measurement import Format, Measurement, Reading, Told, at, call_of, positive

_HEAD = re.compile(r"^#\s+size\s+count\s+type\s.*\btime\s+algbw\s+busbw\b", re.MULTILINE)
_NAME = re.compile(r"(?:^|[\s/])([a-z_]+)_perf")
_BEGIN = re.compile(r"^# nThread ")
_DEVICE = re.compile(r"^#\s+Rank\s+(?P<rank>[0-9]{1,9})\s.*\bon\s+(?P<host>\S+)\s+device\s")
_ROW = re.compile(r"\s*[0-9]+\s+[0-9]+\s+[a-z]\w*\s")
_NAMES = {"all_gather": "allgather", "all_reduce": "allreduce"}
_NO_TIME = "N/A"
_BYTES = {
    **dict.fromkeys(("int8", "uint8", "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2"), 1),
    **dict.fromkeys(("half", "bfloat16"), 2),
    **dict.fromkeys(("float", "int32", "uint32"), 4),
    **dict.fromkeys(("double", "int64", "uint64"), 8),
}


@dataclass
class _Run:
    """The run whose output is being read.

    Attributes:
        name: The name of the program without `_perf`; empty before one is found.
        hosts: The host of each rank.
        heads: The names of the columns.
    """

    name: str = ""
    hosts: dict[int, str] = field(default_factory=dict)
    heads: Sequence[str] = ()

    @property
    def ranks(self) -> int | None:
        """The number of ranks, if the list of devices is complete."""
        return len(self.hosts) if sorted(self.hosts) == [*range(len(self.hosts))] and self.hosts else None

    @property
    def ranks_per_node(self) -> int | None:
        """The number of ranks on each host, if all have as many."""
        numbers = set(Counter(self.hosts.values()).values())
        return numbers.pop() if self.ranks is not None and len(numbers) == 1 else None


def _read(text: str, file: str, told: Told) -> Reading:
    found: list[Measurement] = []
    unknown: list[Measurement] = []
    run = _Run()
    for number, line in enumerate(text.splitlines(), start=1):
        if _HEAD.match(line):
            run.heads = line.lstrip("# ").split()
        elif (device := _DEVICE.match(line)) is not None:
            run.hosts[int(device["rank"])] = device["host"]
        elif _BEGIN.match(line):
            run.hosts = {}
        elif run.heads and _ROW.match(line):
            measurements, is_known = _measurements(run, line.split(), told, (file, number))
            (found if is_known else unknown).extend(measurements)
        elif (name := _NAME.search(line)) is not None:
            run.name = name[1]
    return Reading(tuple(found), tuple(unknown))


def _measurements(
    run: _Run, cells: Sequence[str], told: Told, where: tuple[str, int]
) -> tuple[list[Measurement], bool]:
    """Return the measurements of a row, out of place and in place, and whether Hocket has their collective."""
    name = _NAMES.get(run.name, run.name) or told.collective
    if name is None:
        raise Error(f"{where[0]}: does not name the collective, expected --collective")
    ranks = run.ranks or told.ranks
    if ranks is None:
        raise Error(f"{where[0]}: does not contain the number of ranks, expected --ranks")
    is_known = is_collective(name)
    collective = find_collective(name) if is_known else name
    algorithm, parameters = call_of(collective, told, where[0]) if is_known else ("nccl-tests", {})
    element_bytes = _BYTES.get(cells[2])
    if element_bytes is None:
        raise at(*where, f'type: got "{cells[2]:.60}", expected {", ".join(_BYTES)}')
    is_of_blocks = is_known and KNOWN[collective].size_is_one_block
    size_bytes = int(cells[1][:15]) * element_bytes if is_of_blocks else int(cells[0][:15])
    return [
        Measurement(
            collective=collective,
            algorithm=algorithm,
            ranks=ranks,
            size_bytes=size_bytes,
            time_s=positive(time, "time", where) * 1e-6,
            measured_as="imb",
            parameters=parameters,
            element_bytes=element_bytes,
            ranks_per_node=run.ranks_per_node,
            in_place=in_place,
            source=f"{where[0]}:{where[1]}",
        )
        for in_place, time in _times(run.heads, cells, where)
        if size_bytes and not (in_place and collective == "alltoall")
    ], is_known


def _times(heads: Sequence[str], cells: Sequence[str], where: tuple[str, int]) -> Iterator[tuple[bool, str]]:
    """Give the times of a row, in place last. Old rows lack cells on the left, so columns count from the right."""
    columns = [number - len(heads) for number, head in enumerate(heads) if head == "time"]
    if len(cells) < 3 - columns[0]:
        raise at(*where, f'got "{" ".join(cells):.60}", expected the columns {" ".join(heads):.200}')
    for in_place, column in zip((False, True), columns, strict=False):
        if cells[column] != _NO_TIME:
            yield in_place, cells[column]


FORMAT = Format("nccl-tests", "the output of nccl-tests", lambda text: bool(_HEAD.search(text)), _read)
