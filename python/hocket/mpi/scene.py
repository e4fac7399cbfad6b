"""What ranks do in a sample of a benchmark: a call, a call for which ranks are late, or calls in a cadence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from hocket import _native
from hocket.mpi.jobs import lines_of, parse_line

_MOST_DRAWS = 16
_MOST_TIMES = 8192  # a program's argument has room for more than this


class Director(Protocol):
    """Changes a real network in each sample, from its start on."""

    def begin(self) -> float:
        """Prepare a sample; return its start, in seconds of the monotonic clock."""

    def end(self, *, is_missed: bool) -> None:
        """Undo the changes, as the sample has ended; it is repeated if ranks missed its start, but not too often."""


def play(
    line: Sequence[str],
    variables: Mapping[str, str],
    program: Path,
    on_measured: Callable[[dict[str, Any]], object],
    *,
    director: Director | None,
) -> float | None:
    """Run a program that plays scenes, by this command line; pass on what it measures.

    The result is the largest error of the clocks; None if the program compares none. An Error says why it failed.
    """
    clock_error_s: float | None = None

    def take(text: str) -> str | None:
        nonlocal clock_error_s
        value = parse_line(text, program.name, "a measurement")
        if "asks" in value:
            assert director is not None
            if value["asks"] == "end":
                director.end(is_missed=value["is_missed"])
                return None
            return f"{director.begin():.6f}"
        if "clock_error_s" in value:
            clock_error_s = value["clock_error_s"]
        else:
            on_measured(value)
        return None

    lines_of(line, variables, take, asks=director is not None)
    return clock_error_s


@dataclass(frozen=True)
class BenchScene:
    """A scene for `bench.c` or `jobs.c`."""

    argument: str = "none"
    is_nonblocking: bool = False  # whether the calls are nonblocking

    def rule_of(self, collective: str) -> str:
        """Return the name of a collective in rules: that of its nonblocking form if the calls are."""
        return f"i{collective}" if self.is_nonblocking else collective

    def argument_with(self, director: Director | None) -> str:
        """Return the argument of the scene, in which a director may tell the start of each sample."""
        return f"director:{self.argument}" if director else self.argument


def draws(ranks: int) -> int:
    """Return the number of drawn arrivals that a benchmark plays: trials of seed 0, fewer for thousands of ranks."""
    return min(_MOST_DRAWS, max(_MOST_TIMES // ranks, 1))


def bench_scene(arrivals: str | Sequence[float] | None, cadence: str | None, ranks: int) -> BenchScene:
    """Return the scene of these arrivals, or of this cadence; refuse both, and arrivals of another number of ranks."""
    scene = _native.Scene(arrivals, cadence)
    if arrivals is not None:
        patterns = draws(ranks) if scene.is_drawn else 1
        times_s = scene.arrival_times_s(ranks, patterns)
        times_text = ",".join(f"{time_s:.9g}" for trial_s in times_s for time_s in trial_s)
        return BenchScene(f"late:{patterns}:{times_text}")
    if scene.cadence is not None:
        calls, every_s, at_a_time, computing_s, parts = scene.cadence
        every = -1 if every_s is None else every_s
        return BenchScene(
            f"cadence:{calls}:{every:.9g}:{at_a_time}:{computing_s:.9g}:{parts}",
            is_nonblocking=at_a_time > 1 or parts > 0,
        )
    return BenchScene()
