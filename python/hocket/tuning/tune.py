"""Tuning collectives in stages: races, more points where choices change, confirmation, and judgement."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from hocket.base.checks import among, instance, number, path, several, several_ranks, several_sizes, text
from hocket.base.parallel import ignore
from hocket.base.version import VERSION
from hocket.definitions.machine import Machine, MachineLike, as_machine
from hocket.rules.tuning_files.counterparts import library_of
from hocket.simulating.simulation import Trials
from hocket.tuning.candidates import USUAL_SIZES
from hocket.tuning.choice import needs_one_order
from hocket.tuning.guidelines import Violation, violations
from hocket.tuning.pairing import nominate, rivals
from hocket.tuning.planning import (
    Plan,
    conclude,
    decide_all,
    plan_of,
    points_to_refine,
    points_unsettled,
    tuned_collectives,
)
from hocket.tuning.records import Records
from hocket.tuning.report import Tuning
from hocket.tuning.simulating import Simulated, usual_trials
from hocket.tuning.work import CONFIRMING_END, JUDGING_END, RACING_END, REFINING_END, TRAINING_END, BySimulation, Work

_RECORDS, _GUIDELINES_FILE = "measurements.jsonl", "guidelines.jsonl"


def tune(
    collectives: Iterable[str] | str = (),
    *,
    ranks: Iterable[int] | int | str,
    sizes: Iterable[int | str] | int | str | None = None,
    machine: MachineLike = "cluster",
    library: str | None = None,
    tolerance: float = 0.03,
    trials: Trials | None = None,
    order: Literal["any", "fixed"] = "any",
    folder: str | Path | None = None,
    executor: Executor | None = None,
) -> Tuning:
    """Choose an algorithm for each collective on a machine, by simulation; `hocket tune` can also measure.

    >>> import hocket
    >>> print(hocket.tune("barrier", ranks=[4, 8], machine="cluster").rules, end="")
    barrier[ranks=4..9]: dissemination

    Args:
        collectives: Names of collectives; by default all that can be tuned.
        ranks: Numbers of ranks, also as a text such as "4-8,16".
        sizes: Sizes in bytes, or as texts such as "8B..1MiB"; each is rounded up to what the collective allows. The
            default is 8 B to 2 MiB.
        machine: A machine, the name of a preset, or the path of a machine file.
        library: Try only algorithms of this library, such as "openmpi-5.0".
        tolerance: The share by which a choice may be slower than the fastest.
        trials: The number of trials on a machine with noise.
        order: With "fixed", results of reductions must not depend on the size, to the last bit. The regrets then say
            what this costs.
        folder: The folder that keeps results and from which tuning resumes; by default none.
        executor: Who simulates, any of `concurrent.futures`; by default threads, one per processor.

    Raises:
        Error: A collective, machine, library or order is unknown; a number of ranks or a size is invalid; or the
            machine has no room for the ranks.
    """
    names = (collectives,) if isinstance(collectives, str) else several("collectives", collectives, str, "names")
    counts = several_ranks("ranks", [ranks] if isinstance(ranks, int) else ranks)
    sizes_bytes = USUAL_SIZES if sizes is None else several_sizes("sizes", sizes)
    share = number("tolerance", tolerance, "a share from 0 to below 1", is_right=lambda share: 0 <= share < 1)
    place = None if folder is None else path("folder", folder)
    on = as_machine(machine)
    repeated = usual_trials(on) if trials is None else instance("trials", trials, Trials, "hocket.Trials")
    name = None if library is None else library_of(text("library", library)).name
    is_fixed = among("order", order, ("any", "fixed")) == "fixed"
    evaluator = Simulated(on, replace(repeated, threads=1), name, is_fixed)  # run points, not trials, in parallel
    plan = plan_of(tuned_collectives(names), counts, sizes_bytes, order_is_fixed=is_fixed)
    return run_plan(plan, BySimulation(evaluator, executor), share, folder=place, machine=on)


def run_plan(
    plan: Plan,
    work: Work,
    tolerance: float,
    *,
    folder: str | Path | None,
    machine: Machine | None,
    on_begin: Callable[[Plan], object] = ignore,
) -> Tuning:
    """Run all stages of a plan, with times from a source; the tolerance and the folder are as in `tune`.

    The machine is the one that the source simulates, if there is one. `on_begin` is called before the first stage. A
    folder of something else is refused, and ranks for which the machine has no room; an Error says why a program fails.
    """
    plan = plan.with_points(work.switches(plan.training))
    with _open_records(folder, _RECORDS, work, machine) as records:
        on_begin(plan)
        plan_followed = _follow(plan, work, records, tolerance)
        left_out = len({*plan.training} - {*plan_followed.training})
        return conclude(plan_followed, records, work.about, tolerance, exporter=work.exporter, left_out=left_out)


def check_defaults(
    plan: Plan, work: Work, *, folder: str | Path | None, on_begin: Callable[[Plan], object] = ignore
) -> GuidelineCheck:
    """Measure the defaults of an MPI, and find the guidelines that they violate; refuse a folder of something else."""
    with _open_records(folder, _GUIDELINES_FILE, work, None) as records:
        on_begin(plan)
        work.do(plan.training, (), records, end_share=JUDGING_END)
        records_done = records.select(plan.training)
    undecided_count = sum(not one.is_decided for one in records_done)
    return GuidelineCheck(
        tuple(violations(records_done)), len(records_done), undecided_count, len(plan.training) - len(records_done)
    )


@dataclass(frozen=True)
class GuidelineCheck:
    """The result of checking the defaults of an MPI."""

    violations: tuple[Violation, ...]  # defaults that are slower than a guideline allows
    calls: int  # the number of measured calls
    undecided_calls: int  # the number of measured calls whose times are not known well enough
    left_out: int  # the number of calls that were not measured for lack of time

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "calls": self.calls,
            "left_out": self.left_out,
            "undecided": self.undecided_calls,
            "violations": [one.as_dict() for one in self.violations],
        }


@contextmanager
def _open_records(folder: str | Path | None, name: str, work: Work, machine: Machine | None) -> Iterator[Records]:
    """Give the records of a folder, or temporary ones; `about` describes the conditions of the measurements."""
    digest = {} if machine is None else {"digest": hashlib.sha256(machine.text.encode()).hexdigest()[:16]}
    about = {**work.about, **digest, "version": VERSION}
    with TemporaryDirectory() as passing, Records(Path(folder or passing) / name, about) as records:
        yield records


def _follow(plan: Plan, work: Work, records: Records, tolerance: float) -> Plan:
    """Find the times of a plan's points, and of more where choices change; confirm and judge; return the whole plan."""
    work.do(plan.training, (), records, end_share=TRAINING_END)
    plan = replace(plan, training=(), judging=()).with_points(
        point for point in plan.training if point in records.by_point
    )
    while more := points_to_refine(plan, records, tolerance):
        work.do(more, plan.training, records, end_share=REFINING_END, share=0.5)
        plan = plan.with_points(point for point in more if point in records.by_point)
        if not records.by_point.keys() >= set(more):
            break
    _confirm(plan, work, records, tolerance)
    while work.confirms and (more := points_unsettled(plan, records, tolerance)):
        work.do(more, plan.training, records, end_share=CONFIRMING_END, share=0.2)
        plan = plan.with_points(more)
        _confirm(plan, work, records, tolerance)
    decisions = decide_all(plan, records, tolerance)
    work.do(plan.judging, plan.training, records, end_share=RACING_END)
    judging = {one.point: rivals(one, decisions) for one in records.select(plan.judging)}
    work.pair(judging, records, end_share=JUDGING_END, keeps_slow=True)
    return plan


def _confirm(plan: Plan, work: Work, records: Records, tolerance: float) -> None:
    can_be = work.exporter.can_name if work.exporter else lambda *_: True
    points = [one for one in plan.training if not needs_one_order(one.collective, plan.order_is_fixed)]
    work.pair(nominate(records.select(points), tolerance, can_be), records, end_share=CONFIRMING_END)
