"""Recording how the operating system of this machine interrupts programs, on every processor."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hocket._native import Error
from hocket.mpi.installation import Installation, cached_build
from hocket.mpi.jobs import end
from hocket.mpi.launchers import Template

_BOUNDS_S = (1e-5, 1e-4, 1e-3, float("inf"))
"""Timer interrupts, kernel work, daemons and other programs differ by about a power of ten."""


@dataclass(frozen=True)
class Recording:
    """The interruptions of a program on one processor."""

    processor: int
    length_s: float
    quantum_s: float  # the shortest time between two looks at the clock; shorter interruptions are not seen
    events: tuple[tuple[float, float], ...]  # start and duration of each interruption, in seconds, in order

    @property
    def share(self) -> float:
        """The share of time that interruptions took."""
        return sum(duration for _, duration in self.events) / self.length_s

    @property
    def period_s(self) -> float | None:
        """The mean time from one interruption to the next."""
        return self.length_s / len(self.events) if self.events else None


@dataclass(frozen=True)
class Kinds:
    """Interruptions of similar duration, on all processors."""

    least_s: float  # the shortest duration, inclusive
    most_s: float  # the longest duration, exclusive
    events: int
    period_s: float  # the mean time between them on a processor
    duration_s: float  # their mean duration
    share: float  # the share of time that they took


def record(processors: Sequence[int], *, length_s: float, threshold_s: float) -> tuple[Recording, ...]:
    """Record several processors, by their numbers, at the same time.

    A quantum of work that takes longer than the shortest one, by more than the threshold, counts as interrupted.

    Raises:
        Error: There is no C compiler, or a processor cannot be used.
    """
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        raise Error("no C compiler found, expected cc on the path, or the environment variable CC")
    plain = Installation(Path(compiler), Template(()), "none")
    program = str(cached_build(plain, "hocket-noise", "measuring/noise.c", []))
    arguments = [f"{length_s:g}", f"{threshold_s * 1e9:.0f}"]
    jobs = [
        subprocess.Popen([program, str(number), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for number in processors
    ]
    try:
        return tuple(_recording(*job.communicate(), job.returncode) for job in jobs)
    finally:
        for job in jobs:
            end(job)


def _recording(out: str, errors: str, status: int) -> Recording:
    if status:
        raise Error(errors.strip() or f"hocket-noise ended with status {status}")
    *events, last = map(json.loads, out.splitlines())
    events_s = tuple((event["start_s"], event["duration_s"]) for event in events)
    return Recording(last["processor"], last["length_s"], last["quantum_s"], events_s)


def by_duration(recordings: Sequence[Recording]) -> tuple[Kinds, ...]:
    """Return interruptions grouped by duration."""
    watched_s = sum(one.length_s for one in recordings)
    durations = [duration for one in recordings for _, duration in one.events]
    kinds = []
    for least_s, most_s in zip((0.0, *_BOUNDS_S), _BOUNDS_S, strict=False):
        own = [duration for duration in durations if least_s <= duration < most_s]
        if own:
            count, taken_s = len(own), sum(own)
            kinds.append(Kinds(least_s, most_s, count, watched_s / count, taken_s / count, taken_s / watched_s))
    return tuple(kinds)


def noise_trace(recordings: Sequence[Recording]) -> tuple[str, float]:
    """Return the noise trace for the simulator and its length; the recordings of the processors follow each other."""
    lines = ["# start  duration, in seconds: recorded by hocket mpi noise"]
    begin_s = 0.0
    for one in recordings:
        lines.append(f"# processor {one.processor}, {one.length_s:.6f} s from {begin_s:.6f} s on")
        lines += [f"{begin_s + start_s:.9f} {duration_s:.9f}" for start_s, duration_s in one.events]
        begin_s += one.length_s
    return "\n".join(lines) + "\n", begin_s
