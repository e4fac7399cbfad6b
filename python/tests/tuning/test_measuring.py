"""The choices that are measured or skipped, and the reports of MPI's own algorithms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hocket.definitions.machine import Machine
from hocket.mpi.installation import Installation
from hocket.mpi.jobs import JobEndedError
from hocket.mpi.launchers import Template
from hocket.mpi.turns import Turns, Way
from hocket.tuning.choice import DEFAULT, Choice, Estimate, Point
from hocket.tuning.measuring import MOMENTS, Measured, measure_points, own_choices, pair_points
from hocket.tuning.pairing import nominate, rivals
from hocket.tuning.planning import Plan, conclude, decide_all, plan_of
from hocket.tuning.records import PointRecord, Records
from hocket.tuning.simulating import Simulated

RING, LINEAR = Choice("catalogue", "ring"), Choice("catalogue", "linear")
POINT = Point("allreduce", 2, 64)
MPICH_ABOUT = "Variable to select\nauto - Internal\nnb       - Force nonblocking\nring - Force ring"
VARIABLES: list[dict[str, Any]] = [
    {"name": "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", "about": MPICH_ABOUT, "values": {}},
    {"name": "coll_tuned_bcast_algorithm", "about": "", "values": {"ignore": 0, "binomial": 6, "knomial": 7}},
    {"name": "coll_han_use_bcast_algorithm", "about": "", "values": {"default": 0, "intra": 1, "simple": 2}},
    {"name": "coll_tuned_reduce_scatter_algorithm", "about": "", "values": {"ignore": 0, "ring": 3}},
]


def measured(**more: Any) -> Measured:
    return Measured(Installation(Path("mpicc"), Template(("mpiexec",)), "an MPI"), 0.03, **more)


def test_the_mpis_own_algorithms_are_found_by_their_variables() -> None:
    own = own_choices(VARIABLES, POINT)
    assert [(one.name, one.parameters[0][1]) for one in own] == [("nb", 1), ("ring", 2)]
    device = {"name": "MPIR_CVAR_ALLREDUCE_DEVICE_COLLECTIVE", "about": "", "values": {}}
    assert [one.parameters[1:] for one in own_choices([*VARIABLES, device], POINT)] == [((device["name"], 0),)] * 2
    names = [one.name for one in own_choices(VARIABLES, Point("broadcast", 2, 16384))]
    assert names == ["binomial", "binomial in segments of 8192 B", "knomial", "han @intra", "han @simple"]
    assert own_choices(VARIABLES, Point("reduce_scatter", 2, 64)) == []  # reduce_scatter_block has other variables


def test_the_corrected_model_says_what_need_not_be_measured() -> None:
    by = measured(factor=4.0)
    said = {RING: 1.0, LINEAR: 5.0}
    assert by.far_behind(said) == {LINEAR: "the machine predicts 5 times the fastest, more than 4"}
    by.learn(PointRecord(POINT, {RING: Estimate.exact(2.0), LINEAR: Estimate.exact(5.0)}, predicted_s=said))
    assert by.far_behind(said) == {}  # measured 2 and 1 times the prediction
    assert by.corrected_s(RING, 1.0) == 2.0 and by.corrected_s(Choice("catalogue", "swing"), 1.0) == 1.5


def race_all(plan: Plan, machine: FakeMachine, records: Records, limit_s: float) -> None:
    by = machine.by()
    measure_points(plan.training, (), by, records, limit_s=limit_s)
    measure_points(plan.judging, plan.training, by, records, limit_s=limit_s)


def measure_all(plan: Plan, machine: FakeMachine, records: Records, limit_s: float) -> None:
    race_all(plan, machine, records, limit_s)
    known = [records.by_point[point] for point in plan.training]
    pair_points(nominate(known, 0.03, lambda *_: True), machine.by(), records, limit_s=limit_s)
    decisions = decide_all(plan, records, 0.03)
    judged = {p: rivals(records.by_point[p], decisions) for p in plan.judging if p in records.by_point}
    pair_points(judged, machine.by(), records, limit_s=limit_s, keeps_slow=True)


class FakeMachine:
    """Gives 1 us for the default, 2 us for `linear` and MPI's own, 0.5 us for others. One of MPI's own ends the job.

    Its clock advances by a millisecond with each round, and by waiting.

    Attributes:
        started: How many programs were started.
        begun_s: When points were begun.
        others_s: The time of the others.
        interrupts_after: The number of points after which the user presses Ctrl-C.
    """

    def __init__(self) -> None:
        self.started = 0
        self.begun_s: list[float] = []
        self.others_s = 0.5e-6
        self.interrupts_after: int | None = None
        self.now_s = 0.0

    def start(self, *_: object) -> Turns:
        self.started += 1
        return FakeTurns(self)

    def wait(self, time_s: float) -> None:
        self.now_s += time_s

    def by(self) -> Measured:
        return measured(start=self.start, clock=lambda: self.now_s, wait=self.wait)


class FakeTurns(Turns):
    """A program on the machine."""

    def __init__(self, machine: FakeMachine) -> None:
        self._machine = machine
        self.proving = None
        self._times: dict[int, float] = {}

    def __enter__(self) -> Turns:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def variables(self) -> list[dict[str, Any]]:
        return VARIABLES

    def begin(self, collective: str, size_bytes: int, ways: Iterable[Way]) -> dict[int, str]:
        if self._machine.interrupts_after is not None:
            self._machine.interrupts_after -= 1
            if self._machine.interrupts_after < 0:
                raise KeyboardInterrupt
        self._machine.begun_s.append(self._machine.now_s)
        self._times, ways = {}, list(ways)
        for way in ways:
            self.proving = way.number
            if way.text.endswith("ALGORITHM=1"):
                raise JobEndedError("mpiexec ended with status 9: assertion failed")
            is_slow = way.kind == "set" or way.text.endswith(" linear")
            self._times[way.number] = (
                1e-6 if way.text.endswith(" native") else 2e-6 if is_slow else self._machine.others_s
            )
        return {way.number: "it refuses" for way in ways if way.text.endswith(" swing")}

    def rounds(self, count: int, numbers: Sequence[int]) -> dict[int, list[float]]:
        self._machine.wait(1e-3 * count)
        return {number: [self._times[number]] * count for number in numbers}


@pytest.fixture
def fake() -> FakeMachine:
    return FakeMachine()


def test_an_algorithm_that_ends_the_program_is_left_out(fake: FakeMachine, tmp_path: Path) -> None:
    plan = plan_of(["allreduce"], [2], [64, 256], confirms=True)
    with Records(tmp_path / "records", {}) as records:
        measure_all(plan, fake, records, limit_s=10)
        tuning = conclude(plan, records, {}, 0.03)
    assert fake.started == 5  # first, after the ended job, at the held-out point, to confirm, to judge
    found = records.by_point[POINT]
    assert found.is_decided and found.times[DEFAULT].median_s == 1e-6
    assert found.omissions[Choice("mpi", "nb", (("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", 1),))].endswith(
        "ended the program"
    )
    (decision,) = tuning.decisions
    assert decision.choice.owner == "catalogue" and decision.sizes_bytes == (64, 257)
    assert [one.choice for one in tuning.own] == [DEFAULT]
    assert tuning.regret == (0.0, 0.0)


def test_an_algorithm_far_behind_at_both_neighbours_is_left_out_between(fake: FakeMachine, tmp_path: Path) -> None:
    plan = plan_of(["allreduce"], [2], [64, 256], confirms=True)
    with Records(tmp_path / "records", {}) as records:
        measure_all(plan, fake, records, limit_s=10)
    assert LINEAR in records.by_point[POINT].times
    (between,) = plan.judging
    assert records.by_point[between].omissions[LINEAR].startswith("more than 1.5 times the fastest at both")


def test_with_a_fixed_order_reductions_have_one_order_however_slow(fake: FakeMachine, tmp_path: Path) -> None:
    fake.others_s = 4e-6
    plan = plan_of(["allreduce", "broadcast"], [3], [64, 256], confirms=True, order_is_fixed=True)
    by = replace(fake.by(), order_is_fixed=True)
    with Records(tmp_path / "records", {}) as records:
        measure_points(plan.training, (), by, records, limit_s=10)
        measure_points(plan.judging, plan.training, by, records, limit_s=10)
        judged = {p: rivals(records.by_point[p], decide_all(plan, records, 0.03)) for p in plan.judging}
        pair_points(judged, by, records, limit_s=10, keeps_slow=True)
        tuning = conclude(plan, records, {}, 0.03)
    of_reduction = [one for one in records.by_point.values() if one.point.collective == "allreduce"]
    assert {c.owner for one in of_reduction for c in one.times} == {"default", "catalogue"}
    assert all(one.times.keys() == of_reduction[0].times.keys() and not one.omissions for one in of_reduction)
    assert [one.choice for one in tuning.decisions] == [LINEAR, DEFAULT]
    assert tuning.rules.startswith("order = fixed\nallreduce[ranks=3]: linear\nbroadcast[")
    assert {one.collective for one in tuning.own} == {"broadcast"}
    assert tuning.order_over_default == pytest.approx((2.0, 2.0))


def test_with_a_fixed_order_a_machine_leaves_out_what_is_slow_at_all_sizes(fake: FakeMachine, tmp_path: Path) -> None:
    plan = plan_of(["allreduce"], [8], [64, 1 << 20], confirms=True, order_is_fixed=True)
    by = replace(fake.by(), order_is_fixed=True, model=Simulated(Machine.load("cluster")), factor=2.0)
    with Records(tmp_path / "records", {}) as records:
        measure_points(plan.training, (), by, records, limit_s=10)
        measure_points(plan.judging, plan.training, by, records, limit_s=10)
        decisions = decide_all(plan, records, 0.03)
    small, *others = records.by_point.values()
    assert LINEAR in small.omissions and "everywhere, above 2" in small.omissions[LINEAR]
    doubling = Choice("catalogue", "recursive_doubling")
    best_s = min(small.predicted_s.values())
    assert small.predicted_s[doubling] == pytest.approx(best_s), "the fastest of small sizes, slow at large ones"
    assert all(
        one.predicted_s[doubling] > 2 * min(one.predicted_s.values()) for one in others if one.point.size_bytes > 1e6
    )
    for one in others:
        assert one.times.keys() == small.times.keys() >= {doubling, DEFAULT}
        assert one.omissions.keys() == small.omissions.keys()
    assert {one.choice.owner for one in next(iter(decisions.values()))} == {"catalogue"}


def test_measurements_that_are_interrupted_go_on(fake: FakeMachine, tmp_path: Path) -> None:
    plan = plan_of(["broadcast"], [2], [64, 256, 1024], confirms=True)
    file = tmp_path / "records"
    fake.interrupts_after = 2
    with pytest.raises(KeyboardInterrupt), Records(file, {}) as records:
        race_all(plan, fake, records, limit_s=10)
    assert len(file.read_text().splitlines()) == 1 + 2
    fake.interrupts_after = 3
    with Records(file, {}) as records:
        race_all(plan, fake, records, limit_s=10)
    with Records(file, {}) as again:
        assert again.by_point == records.by_point and len(again.by_point) == 5


def test_what_was_measured_beside_the_default_is_not_measured_again(fake: FakeMachine, tmp_path: Path) -> None:
    plan = plan_of(["broadcast"], [2], [64, 256], confirms=True)
    with Records(tmp_path / "records", {}) as records:
        measure_all(plan, fake, records, limit_s=10)
        confirmed = {point for point, found in records.by_point.items() if found.ratios}
        assert confirmed == {*plan.confirming, *plan.judging}
        fake.interrupts_after = 0
        measure_all(plan, fake, records, limit_s=10)
    with Records(tmp_path / "records", {}) as again:
        assert again.by_point == records.by_point


@pytest.mark.parametrize(("limit_s", "apart_s"), [(240, 5.0), (24, 1.0)])
def test_moments_are_apart_and_waiting_takes_up_to_half_of_the_time(
    fake: FakeMachine, tmp_path: Path, limit_s: float, apart_s: float
) -> None:
    with Records(tmp_path / "records", {}) as records:
        pair_points({POINT: [RING]}, fake.by(), records, limit_s=limit_s)
    assert [b - a for a, b in pairwise(fake.begun_s)] == pytest.approx([apart_s] * (MOMENTS - 1))


def test_points_but_the_very_first_are_left_out_when_the_time_is_over(fake: FakeMachine, tmp_path: Path) -> None:
    plan = plan_of(["broadcast"], [2], [64, 256], confirms=True)
    with Records(tmp_path / "records", {}) as records:
        race_all(plan, fake, records, limit_s=0)
        pair_points({plan.training[0]: [RING]}, fake.by(), records, limit_s=0)
        assert set(records.by_point) == {plan.training[0]} and not records.by_point[plan.training[0]].ratios


def test_without_time_everything_is_left_to_the_mpi(fake: FakeMachine, tmp_path: Path) -> None:
    plan = plan_of(["broadcast"], [2], [64], confirms=True)
    with Records(tmp_path / "records", {}) as records:
        measure_all(plan, fake, records, limit_s=0)
        tuning = conclude(plan, records, {}, 0.03)
    assert tuning.undecided_points == 1 and tuning.decisions[0].choice == DEFAULT
