"""Whether measured times are good: the entry."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import replace
from os import PathLike, fspath
from typing import TypeAlias

from hocket.base.call import MeasuredAs
from hocket.base.checks import several
from hocket.base.files import read_text
from hocket.definitions.machine import Machine, MachineLike, as_machine
from hocket.judging.assessment import Assessment, CurveAssessment, Row
from hocket.judging.curves import Curve, curves_of
from hocket.judging.expecting import Expectation, expect
from hocket.judging.verdicts import findings_of
from hocket.measurements.formats import measurements_in
from hocket.measurements.measurement import DEFAULT, Facts, Measurement
from hocket.rules.tuning_files.counterparts import library_of


def _judge(curve: Curve, machine: Machine | None, library: str | None, executor: Executor | None) -> CurveAssessment:
    """Return a curve beside the times of a machine."""
    expectation = expect(curve, machine, library=library, executor=executor)
    rows = tuple(_row(expectation, size) for size in expectation.sizes_bytes)
    return CurveAssessment(curve, machine.name, rows, findings_of(expectation, rows))


def _row(expectation: Expectation, size_bytes: int) -> Row:
    fastest = expectation.fastest(size_bytes)
    low_s, high_s = expectation.between_s(fastest, size_bytes)
    ran = expectation.guess([size_bytes])
    return Row(
        size_bytes=size_bytes,
        measured_s=expectation.measured_s[size_bytes],
        expected_s=expectation.simulations[fastest, size_bytes].time_s.mean,
        low_s=low_s,
        high_s=high_s,
        fastest=fastest,
        limited_by=expectation.limit(size_bytes),
        bound_s=expectation.bound_s(size_bytes),
        guess=ran,
        guess_s=expectation.simulations[ran.programs[0], size_bytes].time_s.mean if ran.programs else None,
    )


Measured: TypeAlias = "str | PathLike[str] | Iterable[Measurement]"
"""The path of a file, a text of several lines, or measurements."""

PASTED = "text"
"""The name of a text that comes from no file, in errors."""


def judge(
    measured: Measured,
    *,
    machine: MachineLike | None = None,
    library: str | None = None,
    collective: str | None = None,
    algorithm: str | None = None,
    ranks: int | None = None,
    ranks_per_node: int | None = None,
    measured_as: MeasuredAs = "isolated",
    executor: Executor | None = None,
) -> Assessment:
    """Return whether measured times of collectives are good, what limits them, and which algorithms ran.

    Args:
        measured: The path of a benchmark's output, the text itself, or measurements.
        machine: The machine; without one, times are judged by themselves and by what the text says of the machine.
        library: The library that ran, such as "openmpi-5.0", if it is known.
        collective: The collective, where the text does not name it.
        algorithm: The algorithm that ran, if it is known.
        ranks: Number of ranks, where the text does not tell it.
        ranks_per_node: Ranks on a node, where the text does not tell it.
        measured_as: How the times of a plain table were measured.
        executor: Who simulates.

    Raises:
        Error: The text has no measurements or does not tell what it must; or the machine cannot run such calls.

    Examples:
        >>> import hocket
        >>> text = '''
        ... # OSU MPI Allreduce Latency Test v7.5
        ... # Size       Avg Latency(us)
        ... 65536                 390.20
        ... 262144               1100.00
        ... '''
        >>> found = hocket.judge(text, machine="lumi", ranks=128)
        >>> [(row.grade, row.fastest) for row in found.curves[0].rows]
        [('slow', 'sra_knomial radix=4'), ('slow', 'sra_knomial radix=4')]
    """
    facts = Facts(algorithm, ranks, (), measured_as, collective, ranks_per_node)
    loaded = None if machine is None else as_machine(machine)
    if isinstance(measured, str | PathLike):
        is_text = isinstance(measured, str) and "\n" in measured
        text, file = (str(measured), PASTED) if is_text else (read_text(measured), fspath(measured))
        return judge_text(text, file, facts, machine=loaded, library=library, executor=executor)
    measurements = several("measured", measured, Measurement, "hocket.Measurement")
    return _assess(measurements, loaded, library, executor)


def judge_text(
    text: str,
    file: str,
    facts: Facts,
    *,
    machine: Machine | None = None,
    library: str | None = None,
    executor: Executor | None = None,
) -> Assessment:
    """Judge the text of a file; as `judge`."""
    facts = replace(facts, algorithm=facts.algorithm or DEFAULT)
    return _assess(measurements_in(text, file, facts).measurements, machine, library, executor)


def _assess(
    measurements: Iterable[Measurement], machine: Machine | None, library: str | None, executor: Executor | None
) -> Assessment:
    library = None if library is None else library_of(library).name
    return Assessment(tuple(_judge(curve, machine, library, executor) for curve in curves_of(measurements)))
