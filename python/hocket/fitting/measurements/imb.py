"""The output of IMB-MPI1, the Intel MPI Benchmarks: tables of collectives, each with its number of processes.

It does not tell the algorithm. A call takes as long as on the slowest rank (`t_max`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

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

_BENCHMARK = re.compile(r"^# Benchmarking (\S+)")
_PROCESSES = re.compile(r"^# #processes = ([0-9]+)")
_HEAD = re.compile(r"#bytes\s+#repetitions")
_TIME = "t_max[usec]"


def _recognises(text: str) -> bool:
    return re.search(_BENCHMARK.pattern, text, re.MULTILINE) is not None and "#processes = " in text


def _read(text: str, file: str, told: Told) -> Reading:
    found: list[Measurement] = []
    unknown: list[Measurement] = []
    name, ranks, heads = "", 0, list[str]()
    for number, line in enumerate(text.splitlines(), start=1):
        cells = line.split()
        if (title := _BENCHMARK.match(line)) is not None:
            name, ranks, heads = title[1].lower(), 0, []
        elif (processes := _PROCESSES.match(line)) is not None:
            ranks = count(processes[1], "#processes", (file, number))
        elif _HEAD.search(line):
            heads = cells
        elif heads and cells and cells[0].isdecimal() and cells[0].strip("0"):
            one = _measurement(name, ranks, heads, cells, (file, number))
            if is_collective(name) and _TIME in heads and told.ranks in (None, ranks):
                found.append(_of(one, told, file))
            else:
                unknown.append(one)
    return Reading(tuple(found), tuple(unknown))


def _measurement(
    name: str, ranks: int, heads: Sequence[str], cells: Sequence[str], where: tuple[str, int]
) -> Measurement:
    """Return the measurement of a line, of an unknown algorithm."""
    if len(cells) < len(heads) or not ranks:
        raise at(*where, f'got "{" ".join(cells):.60}", expected a row of numbers of some processes')
    return Measurement(
        collective=name,
        algorithm="IMB",
        ranks=ranks,
        size_bytes=count(cells[0], "#bytes", where),
        time_s=positive(cells[heads.index(_TIME) if _TIME in heads else -1], _TIME, where) * 1e-6,
        measured_as="imb",
        element_bytes=floats(name),
        source=f"{where[0]}:{where[1]}",
    )


def _of(one: Measurement, told: Told, file: str) -> Measurement:
    """Return the measurement with the algorithm that the user gave for the file."""
    collective = find_collective(one.collective)
    algorithm, parameters = call_of(collective, told, file)
    return replace(one, collective=collective, algorithm=algorithm, parameters=parameters)


FORMAT = Format("imb", "the output of IMB-MPI1", _recognises, _read)
