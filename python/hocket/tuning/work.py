"""Sources of times for tuning: simulation of a machine, or measurement under an MPI."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property
from time import monotonic
from typing import Any, TypeAlias

from hocket.base.parallel import ProgressDisplay, no_display
from hocket.base.units import format_ranks
from hocket.rules.nccl.choosing import COLLNET
from hocket.simulating.question import Contender, Question
from hocket.tuning.candidates import call_at, refusals_of
from hocket.tuning.choice import Choice, Point
from hocket.tuning.exporting import Exporter, exporter_for
from hocket.tuning.measuring import MOMENTS, Measured, measure_points, pair_points
from hocket.tuning.records import Records
from hocket.tuning.simulating import Simulated, simulate_points

TRAINING_END, REFINING_END, CONFIRMING_END, RACING_END, JUDGING_END = 0.35, 0.45, 0.72, 0.85, 1.0
"""The ends of stages as shares of the time: first points, more where choices change, confirming, held-out, judging."""


@dataclass(frozen=True)
class BySimulation:
    """Simulation of a machine, which need not exist here."""

    settings: Simulated
    executor: Executor | None = None  # who simulates; by default threads, one per processor
    display: ProgressDisplay = no_display  # shows the progress of each stage

    confirms: bool = False
    exporter: None = None

    @property
    def about(self) -> dict[str, Any]:
        """The machine, and the number of trials."""
        machine, trials = self.settings.machine, self.settings.trials
        trial_facts = {"trials": trials.count, "seed": trials.seed} if machine.is_random else {}
        library = {} if self.settings.library is None else {"library": self.settings.library}
        return {"machine": machine.name, **library, **_order(self.settings), **trial_facts}

    def announcement(self, points: Sequence[Point]) -> str:
        """Return a description of the source."""
        machine, library = self.settings.machine, self.settings.library
        if library is None:
            return f"simulated on {machine.name}"
        ranks: dict[tuple[str, str], list[int]] = {}
        for collective, count in dict.fromkeys(point.row for point in points):
            for refusal in refusals_of(library, collective, count, machine).items():
                ranks.setdefault(refusal, []).append(count)
        without = "".join(
            f"; without {name} on {format_ranks(sorted(set(counts)))} ranks, which {why}"
            for (name, why), counts in ranks.items()
            if name not in COLLNET
        )
        return f"simulated on {machine.name}, only algorithms of {library}{without}"

    def efforts_s(self, points: Sequence[Point]) -> Sequence[float]:
        """Return the estimated seconds of each algorithm at each point on one core."""
        cells = [
            Contender(row, *each)
            for row, point in enumerate(points)
            for each in self.settings.calls(point, call_at(point))
        ]
        return Question(self.settings.machine, cells, trials=self.settings.trials).efforts_s()

    def switches(self, points: Sequence[Point]) -> Iterator[Point]:
        """Give points before and at each change of the library's default, which is one algorithm between them."""
        return self.settings.switches(points)

    def pair(self, *_: Any, **__: Any) -> None:
        """Do nothing: simulated times are exact."""

    def do(self, points: Sequence[Point], neighbors: Sequence[Point], records: Records, **_: Any) -> None:
        """Simulate all points, without a time limit."""
        with self.display("simulating", 2 * len(points)) as on_done:
            simulate_points(points, neighbors, self.settings, records, executor=self.executor, on_done=on_done)


@dataclass(frozen=True)
class ByMeasurement:
    """Measurement under an MPI, with a time limit."""

    settings: Measured
    hosts: str | None  # the hosts of the ranks, separated by commas; None for this host
    limit_s: float
    display: ProgressDisplay = no_display  # shows the progress of each stage
    begun_s: float = field(default_factory=monotonic)

    confirms: bool = True

    @property
    def about(self) -> dict[str, Any]:
        """The MPI and its hosts, and the machine that predicts what need not be measured."""
        model, library = self.settings.model, self.settings.installation.library
        machine = {} if model is None else {"machine": model.machine.name, "factor": self.settings.factor}
        return {"mpi": library, "hosts": self.hosts or "this host", **machine, **_order(self.settings)}

    def announcement(self, points: Sequence[Point]) -> str:
        """Return a description of the source, the time limit of each stage, and the number of choices."""
        counts = format_ranks({point.ranks for point in points})
        smallest_points = {point.row: point for point in sorted(points, reverse=True)}.values()
        most = 1 + max(len(self.settings.choices_at(point)) for point in smallest_points)
        library = self.settings.installation.library
        where = f"measured under {library} on {counts} ranks, in {_minutes(self.limit_s)} at most"
        raced_s, confirmed_s = self.limit_s * REFINING_END, self.limit_s * (CONFIRMING_END - REFINING_END)
        judged_s = self.limit_s * (JUDGING_END - CONFIRMING_END)
        stages = f"{_minutes(raced_s)} for races, {_minutes(confirmed_s)} to confirm, {_minutes(judged_s)} to judge"
        return f"{where}: {stages}; up to {most} algorithms with parameters, besides the MPI's own algorithms"

    def efforts_s(self, points: Sequence[Point]) -> Iterator[float]:
        """Give nothing, because the time limit is known."""
        return iter(())

    def switches(self, points: Sequence[Point]) -> Iterator[Point]:
        """Give nothing, as nobody tells where an MPI changes its algorithm."""
        return iter(())

    @cached_property
    def exporter(self) -> Exporter | None:
        """Writes the MPI's own tuning file, if Hocket knows its format."""
        return exporter_for(self.settings.installation.library)

    def do(
        self,
        points: Sequence[Point],
        neighbors: Sequence[Point],
        records: Records,
        *,
        end_share: float,
        share: float = 1.0,
    ) -> None:
        """Measure points, in a share of the remaining time; points are left out when it is over."""
        limit_s = share * self._left_s(end_share)
        with self.display("measuring", len(points)) as on_done:
            measure_points(points, neighbors, self.settings, records, limit_s=limit_s, on_done=on_done)

    def pair(
        self,
        choices_by_point: Mapping[Point, Sequence[Choice]],
        records: Records,
        *,
        end_share: float,
        keeps_slow: bool = False,
    ) -> None:
        """Measure choices beside the default until the time is over; for judging, slow choices get equal turns."""
        with self.display("beside the default", MOMENTS * len(choices_by_point)) as on_done:
            limit_s = self._left_s(end_share)
            pair_points(
                choices_by_point, self.settings, records, limit_s=limit_s, keeps_slow=keeps_slow, on_done=on_done
            )

    def _left_s(self, end_share: float) -> float:
        return max(self.begun_s + end_share * self.limit_s - monotonic(), 0.0)


Work: TypeAlias = BySimulation | ByMeasurement
"""A source of times, and of how decisions are confirmed."""


def _order(settings: Simulated | Measured) -> dict[str, str]:
    return {"order": "fixed"} if settings.order_is_fixed else {}


def _minutes(time_s: float) -> str:
    return f"{time_s / 60:.3g} min" if time_s >= 60 else f"{time_s:.3g} s"
