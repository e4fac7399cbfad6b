"""Several jobs at once in a lab, measured and simulated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from hocket._native import Error
from hocket.base.version import VERSION
from hocket.mpi.benchmark import Part, PartTimes, deviation, time_together
from hocket.mpi.installation import Installation
from hocket.mpi.scene import Director
from hocket.simulating.faults import Faults
from hocket.simulating.jobs import Job
from hocket.simulating.scenes import Scene
from hocket.simulating.simulation import Trials
from hocket.simulating.together import JobTimes, Place, places, simulate_together
from hocket_lab.comparing import ComparedTime
from hocket_lab.gates import gates
from hocket_lab.laboratory import Lab


@dataclass(frozen=True)
class JobCompared:
    """A job: its text, its time alone, and its time together with the other jobs."""

    job: str
    alone: ComparedTime
    together: ComparedTime

    @property
    def slowdown(self) -> tuple[float, float]:
        """The time together over the time alone, measured and simulated."""
        alone, together = self.alone, self.together
        return together.measured_s / alone.measured_s, together.simulated_s / alone.simulated_s


@dataclass(frozen=True, kw_only=True)
class JobsCompared:
    """Jobs at once in a lab, compared with the simulator.

    Attributes:
        lab: A description of the lab.
        mpi: The MPI's own name and version.
        place: How the jobs were placed.
        seed: Seed of random places.
        jobs: The jobs.
        clock_error_s: The largest error of a common clock of all ranks, in the lab.
        faults: The faults of links, as texts.
        faults_late_s: How late a link changed at most; None without faults.
        version: Version of Hocket.
    """

    lab: str
    mpi: str
    place: Place
    seed: int
    jobs: tuple[JobCompared, ...]
    clock_error_s: float
    faults: tuple[str, ...]
    faults_late_s: float | None
    version: str

    @property
    def deviation(self) -> tuple[float, float, float]:
        """The deviation of measured from simulated times, as a share: median, ninth decile and maximum."""
        return deviation(time.ratio for job in self.jobs for time in (job.alone, job.together))


def compare_together(
    lab: Lab,
    installation: Installation,
    jobs: Sequence[Job],
    *,
    place: Place,
    seed: int,
    faults: Faults | None,
    limit_s: float,
) -> JobsCompared:
    """Time jobs at once in a lab, and each of them alone, and simulate the same.

    Raises:
        Error: The lab has a scale, and jobs have a cadence or links have faults; or as `simulate_together`,
            `time_together` and `gates`.
    """
    for job in jobs:
        lab.check_scene(Scene(cadence=job.cadence, faults=faults))
        _check(job)
    where = places(jobs, machine=lab.built, place=place, seed=seed)
    simulated = simulate_together(
        [job.text for job in jobs], machine=lab.built, place=place, faults=faults, trials=Trials(1, seed)
    )
    with gates(lab, faults) as director:
        times, clock_error_s = _timed(lab, installation, jobs, where, limit_s=limit_s, director=director)
    return JobsCompared(
        lab=lab.summary,
        mpi=installation.library,
        place=place,
        seed=seed,
        jobs=tuple(_compared(*job, lab) for job in zip(simulated.jobs, times, strict=True)),
        clock_error_s=clock_error_s,
        faults=simulated.faults,
        faults_late_s=None if director is None else director.late_s,
        version=VERSION,
    )


def _check(job: Job) -> None:
    """Check that a job can be measured beside others."""
    if job.call.ranks == 1:
        raise Error(f'job "{job.text}": got calls of 1 rank, expected 2 or more in a lab')
    if job.algorithm.collective.startswith("neighbor_"):
        raise Error(f'job "{job.text}": neighbourhood collectives are not measured at once with other jobs')


def _timed(
    lab: Lab,
    installation: Installation,
    jobs: Sequence[Job],
    where: Sequence[Sequence[int]],
    *,
    limit_s: float,
    director: Director | None,
) -> tuple[list[list[PartTimes]], float]:
    """Time jobs, each on its ranks; return the times of the calls of each job, and the largest error of the clocks.

    Each row or column of a job is a call of its own.
    """
    calls = [(number, members) for number, job in enumerate(jobs) for members in job.members]
    times, clock_error_s = time_together(
        installation,
        [Part(jobs[number].algorithm, jobs[number].call, jobs[number].cadence) for number, _ in calls],
        limit_s=limit_s,
        least_rounds=lab.LEAST_ROUNDS,
        launcher=partial(lab.command, places=[where[number][rank] for number, members in calls for rank in members]),
        director=director,
    )
    found: list[list[PartTimes]] = [[] for _ in jobs]
    for (number, _), one in zip(calls, times, strict=True):
        found[number].append(one)
    return found, clock_error_s


def _compared(simulated: JobTimes, calls: Sequence[PartTimes], lab: Lab) -> JobCompared:
    """Return a job, given its simulated times and the measured times of its calls."""
    return JobCompared(
        job=simulated.job,
        alone=ComparedTime.of(_slowest(call.alone_s for call in calls), simulated.alone_s.mean, lab),
        together=ComparedTime.of(_slowest(call.together_s for call in calls), simulated.time_s.mean, lab),
    )


def _slowest(calls_s: Iterable[Sequence[float]]) -> list[float]:
    """Return the time of the slowest call in each round."""
    return [max(round_s) for round_s in zip(*calls_s, strict=True)]
