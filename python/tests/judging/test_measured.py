"""How often the judge is right on measured curves beside presets; `pytest -m long -s` on this file prints the counts.

Each count is of curves of even and of odd places. The judge is told only that times are of NCCL where they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from hocket.base.units import format_bytes
from hocket.judging import judge as judging
from hocket.judging.assessment import CurveAssessment
from hocket.judging.curves import Curve
from hocket.judging.expecting import Expectation, expect
from hocket.rules.nccl.table import LIBRARY
from tests.judging.measured import CHANGES, Change, healthy_curves, named_curves, odd_place, preset, worse

SUBJECTS: dict[Change, tuple[str, ...]] = {
    "none": (),
    "latency": ("latency", "TCP sockets"),
    "rate": ("bandwidth",),
    "one size": ("one size",),
}
LEAST: dict[Change, tuple[int, int]] = {"none": (26, 26), "latency": (24, 22), "rate": (22, 23), "one size": (23, 25)}
"""How many curves of even and odd places are judged right."""


def is_right(change: Change, curve: Curve, found: CurveAssessment) -> bool:
    """Return whether a healthy curve is not called slow, or a cause or hint names the change, and the odd size."""
    if change == "none":
        return found.verdict.kind != "slow"
    size = format_bytes(curve.measurements[odd_place(curve)].size_bytes)
    return any(
        one.subject in SUBJECTS[change] and (change != "one size" or one.sentence.startswith(f"{size} "))
        for one in found.findings
    )


def expectations() -> Iterator[tuple[Curve, Expectation]]:
    """Give the healthy curves with what their presets take."""
    for curve in healthy_curves():
        machine = preset(curve.first)
        yield curve, expect(curve, machine, library=LIBRARY if "gpu.generation" in machine.quantities else None)


@pytest.mark.long
def test_healthy_curves_are_seldom_called_slow_and_causes_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    right, total = Counter[tuple[Change, int]](), Counter[tuple[Change, int]]()
    for place, (curve, expectation) in enumerate(expectations()):
        for change in CHANGES:
            if (slowed := worse(curve, change)) is not None:
                monkeypatch.setattr(judging, "expect", lambda few, *_, e=expectation, **__: replace(e, curve=few))
                judged = judging.judge(slowed.measurements, machine=expectation.machine, library=expectation.library)
                (found,) = judged.curves
                right[change, place % 2] += is_right(change, slowed, found)
                total[change, place % 2] += 1
    for change in CHANGES:
        counts = [f"{right[change, half]} of {total[change, half]}" for half in (0, 1)]
        print(f"{change}: {' and '.join(counts)} right")
    assert {change: (right[change, 0], right[change, 1]) for change in CHANGES} == LEAST


@pytest.mark.long
def test_names_of_algorithms_are_right_or_not_told() -> None:
    outcomes = Counter[tuple[str, int]]()
    for place, curve in enumerate(named_curves()):
        one = curve.first
        blind = tuple(replace(each, algorithm="default", parameters={}) for each in curve.measurements)
        expectation = expect(Curve(blind, blind), preset(one))
        ran = expectation.guess(expectation.sizes_bytes)
        names = {name for label in ran.programs for name in (label, label.split()[0])}
        is_named = bool({one.label, one.algorithm, str(one.parameters.get("shape"))} & names)
        outcomes["not told" if not ran.is_told else "right" if is_named else "wrong", place % 2] += 1
    print({outcome: count for outcome, count in sorted(outcomes.items())})
    assert outcomes["wrong", 0] + outcomes["wrong", 1] == 0
    assert (outcomes["right", 0], outcomes["right", 1]) == (4, 13)


@pytest.mark.parametrize(
    ("system", "collective", "ranks", "change", "subject", "kind"),
    [
        ("fugaku", "allgather", 8, "rate", "bandwidth", "slow"),
        ("lumi", "allgather", 16, "rate", "bandwidth", "slow"),
        ("fugaku", "reduce_scatter", 8, "latency", "latency", "hint"),
    ],
)
def test_a_cause_and_an_algorithm_that_takes_as_long_are_both_told(
    system: str, collective: str, ranks: int, change: Change, subject: str, kind: str
) -> None:
    curve = next(
        curve
        for curve in healthy_curves()
        if (curve.first.system, curve.first.collective, curve.first.ranks) == (system, collective, ranks)
    )
    slowed = worse(curve, change)
    assert slowed is not None
    machine = preset(curve.first)
    healthy, found = (judging.judge(each.measurements, machine=machine).curves[0] for each in (curve, slowed))
    assert subject not in {one.subject for one in healthy.findings}
    (cause,) = (one for one in found.findings if one.subject == subject)
    assert cause.kind == kind and "; or it runs " in cause.sentence
