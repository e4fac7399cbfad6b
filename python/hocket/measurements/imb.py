"""The output of the Intel MPI Benchmarks IMB-MPI1 and IMB-NBC: tables of collectives with their number of processes.

It does not tell the algorithm. A call takes as long as on the slowest rank (`t_max`, the largest of the ranks' means).
A nonblocking call that is overlapped with computation takes its time without computation (`t_pure`). Since 2018 Update
1 a barrier precedes each call, unless the option `-sync off` is given; before, calls ran in a loop. Rows that ran out
of time or memory have no times.

Source: `src_c/IMB_output.c` of intel/mpi-benchmarks; means and barriers counted under IMB 2021.11.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from hocket.base.call import MeasuredAs
from hocket.definitions.library import find_collective, is_collective
from hocket.measurements.consistency import tables_of_lines
from hocket.measurements.measurement import (
    Facts,
    Format,
    Measurement,
    Reading,
    add_size,
    at,
    call_of,
    count,
    floats,
    matching,
    seconds,
    spread_of,
)

_BENCHMARK = r"(?:# |\b)Benchmarking (\S+)\s*$"
_PROCESSES = re.compile(r"\s*(?:# ?)?(?:#?processes = |\(? *[0-9]+ groups of )([0-9]+)")
_HEAD = re.compile(r"#?repetitions\s+t")
_ROW = r"(?<!\S)[0-9]+[ \t]+[0-9]+(?:[ \t]+[0-9]+\.[0-9]+)+\s*$"
_SIZE = "bytes"
_TIMES = ("t_max[usec]", "t_pure[usec]")
_SHORTEST = "t_min[usec]"
_VERSION = re.compile(r"Intel ?\(R\) MPI Benchmarks (?P<year>[0-9]+)(?:(?: Update |\.)(?P<update>[0-9]+))?")
_FIRST_WITH_BARRIERS = (2018, 1)
_IN_LOOP = re.compile(r"IMB-\w+\b.* -sync[ =]+(?:off|0|no|disable)\b")
_NO_TIMES = ("time-out.", "out-of-mem.")


def _read(text: str, file: str, facts: Facts) -> Reading:
    version = _VERSION.search(text)
    is_older = version is not None and (int(version["year"]), int(version["update"] or 0)) < _FIRST_WITH_BARRIERS
    measured_as: MeasuredAs = "imb" if is_older or _IN_LOOP.search(text) else "pico"
    ones: list[tuple[Measurement, bool]] = []
    name, ranks, heads, sizes, is_over = "", 0, list[str](), list[int](), False
    for number, line in enumerate(text.split("\n"), start=1):
        cells = line.split()
        if (title := re.match(rf"\s*{_BENCHMARK}", line)) is not None:
            name = re.sub(r"^I(?=[a-z])", "", title[1]).lower().removesuffix("_pure")  # of Ibcast_pure it is bcast
            ranks, heads = 0, []
        elif (processes := _PROCESSES.match(line)) is not None:
            ranks = count(processes[1], "#processes", (file, number))
        elif names := _names(line):
            heads, sizes, is_over = names, [], False
        elif sizes and cells and cells[0].rstrip(":").isalpha():
            is_over = True  # rows of something else may follow
        elif heads and _is_row(heads, cells) and not (is_over and len(cells) != len(heads)):
            one = _measurement(name, ranks, heads, cells, (file, number))
            is_known = is_collective(name) and _column(heads) is not None and facts.ranks in (None, ranks)
            if is_known:
                add_size(sizes, one.size_bytes, (file, number))
                collective = find_collective(name)
                algorithm, parameters = call_of(collective, facts, file)
                one = replace(one, collective=collective, algorithm=algorithm, parameters=parameters)
            ones.append((replace(one, measured_as=measured_as), is_known))
    remark = "IMB has a barrier before each call since 2018 Update 1: times are of single calls"
    return Reading.of(ones, (), [remark] if version and measured_as == "pico" and ones else [])


def _names(line: str) -> list[str]:
    """Return the names of the columns; none if the line is another one."""
    return [cell.lstrip("#") for cell in line.split()] if _HEAD.search(line) else []


def _is_row(heads: Sequence[str], cells: Sequence[str]) -> bool:
    """Return whether a line is a row with times, of a size above zero if it has one."""
    if not cells or not cells[0].isdecimal() or any(cell.startswith(_NO_TIMES) for cell in cells):
        return False
    return _SIZE not in heads or bool("".join(cells[heads.index(_SIZE) :][:1]).strip("0"))


def _column(heads: Sequence[str]) -> str | None:
    """Return the column of times that is read, if there is one."""
    return next((name for name in _TIMES if name in heads), None)


def _measurement(
    name: str, ranks: int, heads: Sequence[str], cells: Sequence[str], where: tuple[str, int]
) -> Measurement:
    """Return the measurement of a line, of an unknown algorithm."""
    if len(cells) != len(heads) or not ranks:
        raise at(*where, f'got "{" ".join(cells):.60}", expected a row of numbers of some processes')
    column = _column(heads) or heads[-1]
    times = dict(zip(heads, cells, strict=True))
    shortest = times.get(_SHORTEST) if column == _TIMES[0] else None
    return Measurement(
        collective=name,
        algorithm="IMB",
        ranks=ranks,
        size_bytes=count(cells[heads.index(_SIZE)], "#bytes", where) if _SIZE in heads else 0,
        time_s=seconds(cells[heads.index(column)], column, where, 1e-6),
        element_bytes=floats(name),
        source=f"{where[0]}:{where[1]}",
        spread=spread_of(shortest, times[column], "ranks", unit_s=1e-6),
    )


FORMAT = Format(
    "imb",
    "the output of IMB-MPI1 or IMB-NBC",
    matching(_BENCHMARK, "Benchmarking"),
    _read,
    row=matching(_ROW),
    needs=("processes = ",),
    digits=2,
    tables=partial(tables_of_lines, names_in=_names),
)
