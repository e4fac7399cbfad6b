"""The CSV of PICO: medians of collectives by system, job and algorithm, in the names of its configuration.

Source: `config/algorithms` of HLC-Lab/pico; D. De Sensi et al., arXiv 2508.16809. Its vectors are integers of 4 bytes,
its root is rank 0. A name ends in `_ompi` or `_mpich` where the library's own algorithm was forced, and in `_over`
where PICO has the algorithm itself, over send and receive. On Fugaku `default-NAME` is FJMPI's algorithm NAME.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

from hocket.base.checks import within
from hocket.base.files import read_rows
from hocket.base.units import parse_choice
from hocket.definitions.library import COLLECTIVES, find_collective
from hocket.measurements.columns import Columns, cut_rows_of, rows_of, tables_in
from hocket.measurements.measurement import DEFAULT, Facts, Format, Measurement, Reading, at, count, seconds, spread_of

_COLUMN_NAMES = ("system", "collective", "nodes", "ppn", "algorithm", "bytes_total", "median_us")
_COLUMNS = Columns(
    lambda names: set(_COLUMN_NAMES) <= set(names), lambda name: name in _COLUMN_NAMES, re.compile("median_us")
)
_ELEMENT_BYTES = 4

Values: TypeAlias = Mapping[str, "int | str"]
Program: TypeAlias = "tuple[str, Values]"

_DEFAULTS = ("default-default", "default_ompi", "default_mpich")
_NONE: Values = MappingProxyType({})
_PROGRAMS: Mapping[tuple[str, str], Program] = {
    (row["collective"], name): parse_choice(row["hocket"])
    for row in read_rows(__file__, "pico.csv")
    for name in row["names"].split()
}
"""The counterparts in Hocket, by collective and name."""

_SMALL_MPICH_BYTES = 2048
_SEGMENTS = ((64 << 10, 4 << 10), (512 << 10, 16 << 10))
_BROADCAST_SEGMENTS = ((64 << 10, 4 << 10), (4 << 20, 16 << 10))
_LAST_SEGMENT = 64 << 10
"""FJMPI's segments of Trinaryx3: pairs of the most elements and the bytes; above all pairs, this many bytes."""


def _read(text: str, file: str, _: Facts) -> Reading:
    rows = rows_of(text, file, _COLUMNS)
    return Reading.of(_measurement(dict(zip(head.names, cells, strict=False)), where) for head, cells, where in rows)


def _measurement(cells: Mapping[str, str], where: tuple[str, int]) -> tuple[Measurement, bool]:
    """Return the measurement of a line, and whether it has a counterpart."""
    for name in _COLUMN_NAMES:
        if not cells[name]:
            raise at(*where, f"{name}: is empty, expected a value")
    with within(f"{where[0]}:{where[1]}"):
        collective = find_collective(cells["collective"])
    dims = tuple(count(part, "nodes", where) for part in cells["nodes"].split("x"))
    ranks_per_node = count(cells["ppn"], "ppn", where)
    ranks, total = math.prod(dims) * ranks_per_node, count(cells["bytes_total"], "bytes_total", where)
    is_of_blocks = COLLECTIVES[collective].size_is_one_block  # PICO gives the bytes of all ranks
    is_cut = is_of_blocks and total % (ranks * _ELEMENT_BYTES) != 0
    program = None if is_cut else _program(collective, cells["algorithm"], total, ranks)
    algorithm, parameters = program or (cells["algorithm"], _NONE)
    one = Measurement(
        collective=collective,
        algorithm=algorithm,
        ranks=ranks,
        size_bytes=total // ranks if is_of_blocks else total,
        time_s=seconds(cells["median_us"], "median_us", where, 1e-6),
        measured_as="pico",
        parameters=parameters,
        element_bytes=_ELEMENT_BYTES,
        dims=dims if len(dims) > 1 else None,
        ranks_per_node=ranks_per_node,
        layout=cells.get("layout", ""),
        system=cells["system"],
        library=cells.get("mpi", ""),
        buffers=cells.get("buffers", ""),
        source=f"{where[0]}:{where[1]}",
        spread=spread_of(cells.get("p10_us"), cells.get("p90_us"), "iterations", cells.get("iterations"), unit_s=1e-6),
    )
    return one, program is not None


def _program(collective: str, name: str, total: int, ranks: int) -> Program | None:
    """Return the program that ran; for some sizes it differs from the requested one."""
    if name in _DEFAULTS:
        return DEFAULT, _NONE
    program = _PROGRAMS.get((collective, name))
    if program is None:
        return None
    algorithm, parameters = program
    elements = total // _ELEMENT_BYTES
    if algorithm == "trinaryx3":
        steps = _BROADCAST_SEGMENTS if collective == "broadcast" else _SEGMENTS
        return algorithm, {"segment": next((segment for most, segment in steps if elements <= most), _LAST_SEGMENT)}
    if collective == "allreduce":
        if name == "recursive_doubling_mpich" and total > _SMALL_MPICH_BYTES:
            return None  # the times are the times of Rabenseifner's algorithm
        if algorithm == "ring" and elements < ranks:
            return "recursive_doubling", _NONE  # in Open MPI, and in FJMPI, which is based on it
    return algorithm, parameters


FORMAT = Format(
    "pico",
    "the CSV of PICO",
    _COLUMNS.title,
    _read,
    cuts=partial(cut_rows_of, columns=_COLUMNS),
    tables=partial(tables_in, columns=_COLUMNS),
)
