"""This host's MPI: its collectives measured, beside a machine file that was calibrated on it in the same run."""

from __future__ import annotations

from collections.abc import Iterator

from hocket._native import Error
from hocket.base.call import Call
from hocket.base.version import VERSION
from hocket.definitions.library import algorithms_named
from hocket.definitions.machine import Machine
from hocket.fitting.calibrating import calibrate_library
from hocket.fitting.predicting import predict
from hocket.mpi import Installation
from hocket.mpi.benchmark import bench
from hocket.mpi.launch import command
from hocket.mpi.machine_files import machine_file
from hocket_studies.validation.comparison import Case, Comparison, not_run

RANKS = 2
_NAME = "validation"
_COLLECTIVES = ("allreduce", "broadcast", "allgather", "alltoall", "reduce_scatter")
_SIZES_BYTES = tuple(1 << log2 for log2 in range(3, 24, 2))
_LEAST_BYTES = {"reduce_scatter": 16}
"""Two blocks of a double."""
_SHARE, _LIMIT_S = 0.05, 0.5
_CALIBRATION_S = 10.0
_INCOMPARABLE = (
    "algorithms named redundant_*: a simulated call ends when its result is complete, a real one when its redundant "
    "messages are done; more ranks than processors; what other programs on the host do meanwhile"
)


def host(installation: Installation | None, why_not: str = "") -> Comparison:
    """Compare with an MPI, if there is one; else `why_not` says why there is none."""
    source = "this host's MPI"
    if installation is None:
        return not_run(source, _INCOMPARABLE, why_not)
    versions = {"Hocket": VERSION, "MPI": installation.library}
    try:
        machine = _calibrated(installation)
        cases = tuple(case for name in _COLLECTIVES for case in _cases(installation, machine, name))
    except (Error, OSError) as error:
        return not_run(source, _INCOMPARABLE, error, versions)
    remark = f"{', '.join(_COLLECTIVES)}, {RANKS} ranks, 8 B to 8 MiB; machine calibrated in the same run"
    return Comparison(source, cases, _INCOMPARABLE, versions, remark)


def _calibrated(installation: Installation) -> Machine:
    """Measure messages and computing, and what Hocket's library takes itself."""
    most_bytes = _SIZES_BYTES[-1]
    calibration, _ = calibrate_library(
        installation, command, RANKS, most_bytes=most_bytes, limit_s=_CALIBRATION_S, model="loggp"
    )
    return Machine.parse(machine_file(calibration, _NAME, "loggp", None))


def _cases(installation: Installation, machine: Machine, collective: str) -> Iterator[Case]:
    """Measure the algorithms of a collective, and simulate them."""
    candidates = [one for one in algorithms_named(collective, ()) if not one.name.startswith("redundant_")]
    sizes = [max(size, _LEAST_BYTES.get(collective, 0)) for size in _SIZES_BYTES]
    call = Call(ranks=RANKS, size_bytes=0)
    found = bench(installation, candidates, call, sizes, share=_SHARE, limit_s=_LIMIT_S, only_by_mpi=True)
    said = {(one.algorithm, one.size_bytes): one.time_s for one in predict(found, candidates, call, machine)}
    for one in found.measurements:
        name = f"{collective}/{one.algorithm}, {one.size_bytes} B"
        yield Case(name, said[one.algorithm, one.size_bytes], one.median_s, one.reach)
