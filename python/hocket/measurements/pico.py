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

from hocket._native import Error
from hocket.definitions.library import COLLECTIVES, find_collective
from hocket.measurements.columns import Columns, cut_rows_of, rows_of, tables_in
from hocket.measurements.measurement import (
    DEFAULT,
    Facts,
    Format,
    Measurement,
    Reading,
    at,
    count,
    seconds,
    spread_of,
)

_COLUMN_NAMES = ("system", "collective", "nodes", "ppn", "algorithm", "bytes_total", "median_us")
_COLUMNS = Columns(
    lambda names: set(_COLUMN_NAMES) <= set(names), lambda name: name in _COLUMN_NAMES, re.compile("median_us")
)
_ELEMENT_BYTES = 4

Values: TypeAlias = Mapping[str, "int | str"]
Program: TypeAlias = "tuple[str, Values]"

_DEFAULTS = ("default-default", "default_ompi", "default_mpich")
_NONE: Values = MappingProxyType({})
_RADIX_2: Values = MappingProxyType({"radix": 2})
_BINOMIAL: Values = MappingProxyType({"shape": "binomial"})
_K_NOMIAL: Values = MappingProxyType({"shape": "k_nomial", "radix": 4})
_BINARY: Values = MappingProxyType({"shape": "binary"})
_SHIFT: Values = MappingProxyType({"pairing": "shift"})


def _same(*names: str, algorithm: str, parameters: Values = _NONE) -> dict[str, Program]:
    return {name: (algorithm, parameters) for name in names}


_PROGRAMS: Mapping[str, Mapping[str, Program]] = {
    "allgather": {
        **_same("brucks_mpich", "default-bruck", algorithm="bruck", parameters=_RADIX_2),
        **_same("neighbor_ompi", "default-neighbor", algorithm="neighbor_exchange"),
        **_same("recursive_doubling_mpich", "recursive_doubling_ompi", algorithm="recursive_doubling"),
        **_same("recursive_doubling_over", "default-recursive-doubling", algorithm="recursive_doubling"),
        **_same("ring_mpich", "ring_ompi", "ring_over", "default-ring", algorithm="ring"),
        **_same("sparbit_over", algorithm="sparbit"),
    },
    "allreduce": {
        **_same("rabenseifner_mpich", "rabenseifner_ompi", "rabenseifner_over", algorithm="rabenseifner"),
        **_same("recursive_doubling_mpich", "recursive_doubling_ompi", algorithm="recursive_doubling"),
        **_same("recursive_doubling_over", "default-recursive_doubling", algorithm="recursive_doubling"),
        **_same("ring_ompi", "ring_over", "default-ring", algorithm="ring"),
        **_same("default-trix3", algorithm="trinaryx3"),
    },
    "alltoall": {
        **_same("default-modified-bruck", algorithm="bruck", parameters=_RADIX_2),
        **_same("default-pairwise", algorithm="pairwise_exchange", parameters=_SHIFT),
    },
    "broadcast": {
        **_same("binomial_ompi", "default-binomial", algorithm="tree", parameters=_BINOMIAL),
        **_same("knomial_ompi", algorithm="tree", parameters=_K_NOMIAL),
        **_same("binary_ompi", "default-binary-tree", algorithm="tree", parameters=_BINARY),
        **_same("scatter_allgather_ompi", algorithm="scatter_doubling_allgather"),
        **_same("scatter_allgather_ring_ompi", algorithm="scatter_ring_allgather"),
        **_same("default-trinaryx3", algorithm="trinaryx3"),
    },
    "gather": {
        **_same("default-basic-linear", algorithm="linear"),
        **_same("default-binomial", algorithm="binomial"),
    },
    "reduce": {
        **_same("binomial_mpich", "default-binomial", algorithm="binomial"),
        **_same("rabenseifner_mpich", algorithm="rabenseifner"),
        **_same("default-linear", algorithm="linear"),
        **_same("default-trinaryx3", algorithm="trinaryx3"),
    },
    "reduce_scatter": {
        **_same("recursive_halving_ompi", "recursive_halving_over", algorithm="recursive_halving"),
        **_same("default-recursive-halving", algorithm="recursive_halving"),
        **_same("ring_ompi", "ring_over", "default-ring", algorithm="ring"),
    },
    "scatter": {
        **_same("default-basic-linear", algorithm="linear"),
    },
}
"""The counterparts in Hocket. Similar programs without a counterpart:

| name | difference |
|---|---|
| broadcast `default-basic-linear` | FJMPI ran its default |
| broadcast and reduce `default-chain`, `default-pipeline` | unknown chains and segments of FJMPI |
| broadcast `default-trinaryx6`, allreduce `default-trix6` | six trees; Hocket has three |
| allreduce `default-basic_linear` | the result goes to all ranks at once |
| allreduce `default-nonoverlapping` | a reduce and a broadcast, chosen by the library |
| reduce `default-binary` | unknown segments |
| alltoall `default-linear` | all sends at once, over unknown interfaces of the node |
| scatter `default-binomial` | sends to the nearest child first; Hocket to the farthest |
| `BINE..`, `RECDOUB..`, `RING..`, `bine_..` | PICO's own; some use another transport and several interfaces |
"""

_SMALL_MPICH_BYTES = 2048
_SEGMENTS = ((64 << 10, 4 << 10), (512 << 10, 16 << 10))
_BROADCAST_SEGMENTS = ((64 << 10, 4 << 10), (4 << 20, 16 << 10))
_LAST_SEGMENT = 64 << 10
"""FJMPI's segments of Trinaryx3: pairs of the most elements and the bytes; above all pairs, this many bytes."""


def _read(text: str, file: str, _: Facts) -> Reading:
    rules = [
        _measurement(_check_cells(dict(zip(head.names, cells, strict=False)), where), where)
        for head, cells, where in rows_of(text, file, _COLUMNS)
    ]
    return Reading(
        tuple(one for one, is_known in rules if is_known), tuple(one for one, is_known in rules if not is_known)
    )


def _check_cells(cells: Mapping[str, str], where: tuple[str, int]) -> Mapping[str, str]:
    missing = [name for name in _COLUMN_NAMES if not cells[name]]
    if missing:
        raise at(*where, f"{missing[0]}: is empty, expected a value")
    return cells


def _measurement(cells: Mapping[str, str], where: tuple[str, int]) -> tuple[Measurement, bool]:
    """Return the measurement of a line, and whether it has a counterpart."""
    try:
        collective = find_collective(cells["collective"])
    except Error as error:
        raise at(*where, str(error)) from None
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
    program = _PROGRAMS.get(collective, {}).get(name)
    if program is None:
        return None
    algorithm, parameters = program
    elements = total // _ELEMENT_BYTES
    if algorithm == "trinaryx3":
        return algorithm, {"segment": _segment(collective, elements)}
    if collective == "allreduce":
        if name == "recursive_doubling_mpich" and total > _SMALL_MPICH_BYTES:
            return None  # the times are the times of Rabenseifner's algorithm
        if algorithm == "ring" and elements < ranks:
            return "recursive_doubling", _NONE  # in Open MPI, and in FJMPI, which is based on it
    return algorithm, parameters


def _segment(collective: str, elements: int) -> int:
    steps = _BROADCAST_SEGMENTS if collective == "broadcast" else _SEGMENTS
    return next((segment for most, segment in steps if elements <= most), _LAST_SEGMENT)


FORMAT = Format(
    "pico",
    "the CSV of PICO",
    _COLUMNS.title,
    _read,
    cuts=partial(cut_rows_of, columns=_COLUMNS),
    tables=partial(tables_in, columns=_COLUMNS),
)
