"""The output of the OSU micro-benchmarks of collectives, such as osu_allreduce.

It tells neither the algorithm nor the number of ranks. Ranks start their timers after a barrier. Where the output has
the time of the slowest rank (`-f`), this time is read; otherwise the mean of all ranks.
"""

from __future__ import annotations

import re

from hocket._native import Error
from hocket.definitions.library import find_collective, is_collective
from hocket.fitting.measurements.measurement import (
    Format,
    Measurement,
    Reading,
    Told,
    at,
    call_of,
    count,
    floats,
    positive,
)

_TITLE = re.compile(r"^# OSU MPI(?P<device>\S*) (?P<name>.+?) Latency Test", re.MULTILINE)
_NAMES = {"all_to_all_personalized_exchange": "alltoall", "reduce_scatter_block": "reduce_scatter"}


def _read(text: str, file: str, told: Told) -> Reading:
    title = _TITLE.search(text)
    assert title is not None  # it was recognised
    name = re.sub(r"[^a-z]+", "_", title["name"].lower())
    name = _NAMES.get(name, name)
    if not is_collective(name):
        raise Error(f'{file}: measures "{title["name"]:.60}", expected a blocking collective')
    if told.ranks is None:
        raise Error(f"{file}: does not contain the number of ranks, expected --ranks")
    collective = find_collective(name)
    algorithm, parameters = call_of(collective, told, file)
    column = 1
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("#"):
            column = _column(line, column)
            continue
        cells = line.split()
        if not cells or not cells[0].isdecimal() or not cells[0].strip("0"):
            continue
        if len(cells) <= column:
            raise at(file, number, f'got "{line.strip():.60}", expected a size and times')
        found.append(
            Measurement(
                collective=collective,
                algorithm=algorithm,
                ranks=told.ranks,
                size_bytes=count(cells[0], "size", (file, number)),
                time_s=positive(cells[column], "latency", (file, number)) * 1e-6,
                measured_as="osu" if column == 1 else "pico",
                parameters=parameters,
                element_bytes=floats(collective),
                source=f"{file}:{number}",
            )
        )
    return Reading(tuple(found))


def _column(line: str, before: int) -> int:
    """Return the column of the maximum, or else of the average, if a line is the head of the table; else `before`."""
    heads = re.findall(r"(Size|Avg Latency|Max Latency|Min Latency|\S+)(?:\(us\))?", line.lstrip("# "))
    if heads[:1] != ["Size"]:
        return before
    return heads.index("Max Latency") if "Max Latency" in heads else 1


FORMAT = Format("osu", "the output of the OSU micro-benchmarks", lambda text: bool(_TITLE.search(text)), _read)
