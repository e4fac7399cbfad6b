"""Whether measured times are good: the entry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from itertools import groupby
from os import PathLike, fspath
from typing import NamedTuple, TypeAlias

from hocket._native import Error
from hocket.base.call import MeasuredAs
from hocket.base.checks import several
from hocket.base.files import read_text
from hocket.base.units import from_to
from hocket.definitions.machine import Machine, MachineLike, as_machine
from hocket.judging.assessment import Assessment, CurveAssessment, Row
from hocket.judging.curves import Curve, curves_of
from hocket.judging.expecting import Expectation, expect
from hocket.judging.finding import Finding
from hocket.judging.verdicts import findings_of
from hocket.measurements.formats import measurements_in
from hocket.measurements.measurement import DEFAULT, Facts, Measurement, Reading
from hocket.rules.tuning_files.counterparts import library_of


def _judge(curve: Curve, machine: Machine | None, library: str | None, executor: Executor | None) -> CurveAssessment:
    """Return a curve beside the times of a machine."""
    part = curve.thin(_MOST_SIZES)
    expectation = expect(part, machine, library=library, executor=executor)
    rows = tuple(_row(expectation, size) for size in expectation.sizes_bytes)
    return CurveAssessment(
        curve, machine.name, rows, (*findings_of(expectation, rows), *_omissions(curve, expectation))
    )


def _omissions(curve: Curve, expectation: Expectation) -> Iterator[Finding]:
    """Give what was not looked at."""
    sizes, number = len(expectation.curve.measurements), len(curve.measurements)
    if sizes < number:
        yield Finding("unknown", f"{sizes} of {number} sizes are judged, spread evenly", "sizes")
    if expectation.left_out:
        names = ", ".join(expectation.left_out)
        yield Finding("unknown", f"{names:.200}: not simulated, as it would take too long", "algorithm")


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
        limit=expectation.limit(size_bytes),
        bound_s=expectation.bound_s(size_bytes),
        guess=ran,
        guess_s=expectation.simulations[ran.programs[0], size_bytes].time_s.mean if ran.programs else None,
    )


_MOST_SIZES = 64

Measured: TypeAlias = "str | PathLike[str] | Iterable[Measurement]"
"""The path of a file, a text of several lines, or measurements."""

TEXT_NAME = "text"
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
    model = None if machine is None else as_machine(machine)
    if isinstance(measured, str | PathLike):
        is_text = isinstance(measured, str) and "\n" in measured
        text = Text(str(measured), TEXT_NAME, facts) if is_text else Text(read_text(measured), fspath(measured), facts)
        return judge_texts([text], machine=model, library=library, executor=executor)
    measurements = several("measured", measured, Measurement, "hocket.Measurement")
    return _assess(measurements, model, library, executor)


class Text(NamedTuple):
    """The output of a benchmark.

    Attributes:
        text: The text.
        file: The name of its file.
        facts: What it does not tell.
    """

    text: str
    file: str
    facts: Facts


def runs_of(texts: Iterable[Text]) -> tuple[Measurement, ...]:
    """Return the measurements of some texts.

    Raises:
        Error: A text has no measurements, or does not tell what it must.
    """
    return tuple(one for text in texts for one in _reading(text).measurements)


def _reading(text: Text) -> Reading:
    facts = replace(text.facts, algorithm=text.facts.algorithm or DEFAULT)
    return measurements_in(text.text, text.file, facts)


def judge_texts(
    texts: Sequence[Text],
    *,
    machine: Machine | None = None,
    library: str | None = None,
    executor: Executor | None = None,
) -> Assessment:
    """Judge the runs of some texts; as `judge`. Of times that were measured several times, the median is judged."""
    return _assess(runs_of(texts), machine, library, executor)


def _assess(
    measurements: Iterable[Measurement], machine: Machine | None, library: str | None, executor: Executor | None
) -> Assessment:
    library = None if library is None else library_of(library).name
    curves = curves_of(measurements)
    if not curves:
        raise Error("nothing to judge, expected times of a collective that Hocket has")
    outcomes = [_try(curve, machine, library, executor) for curve in curves]
    judgements = tuple(one for one in outcomes if isinstance(one, CurveAssessment))
    refusals = [one for one in outcomes if isinstance(one, Error)]
    if not judgements:
        raise refusals[0]
    return Assessment(judgements, tuple(Finding("unknown", str(one), "not judged") for one in refusals))


def _try(
    curve: Curve, machine: Machine | None, library: str | None, executor: Executor | None
) -> CurveAssessment | Error:
    try:
        return _judge(curve, machine, library, executor)
    except Error as error:
        return error


def changes_of_algorithms(before: Assessment, after: Assessment) -> tuple[Finding, ...]:
    """Return where another algorithm runs after than before, as far as both can be told."""
    earlier = {one.curve.title: one for one in before.curves}
    return tuple(
        finding
        for one in after.curves
        if one.curve.title in earlier
        for finding in _switches(earlier[one.curve.title], one)
    )


def _switches(before: CurveAssessment, after: CurveAssessment) -> Iterator[Finding]:
    ran = {row.size_bytes: row.guess for row in before.rows}
    pairs = [(row.size_bytes, ran[row.size_bytes], row.guess) for row in after.rows if row.size_bytes in ran]
    for (old, new), group in groupby(pairs, key=lambda pair: (pair[1].programs, pair[2].programs)):
        sizes = [(size, one.is_told and other.is_told) for size, one, other in group]
        if all(is_told for _, is_told in sizes) and not set(old) & set(new):
            where = from_to(sizes[0][0], sizes[-1][0])
            yield Finding("cause", f"{after.curve.title}, {where}: {new[0]} runs, before it was {old[0]}", "algorithm")
