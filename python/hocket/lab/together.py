"""Several jobs at once in a lab, measured beside simulated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from hocket.lab.comparing import Beside, beside
from hocket.lab.gates import gates
from hocket.lab.laboratory import Lab
from hocket.mpi.benchmark import Measurement, deviation
from hocket.mpi.installation import Installation
from hocket.mpi.together import Part, time_together
from hocket.simulating.faults import Faults
from hocket.simulating.jobs import Job
from hocket.simulating.scenes import Scene
from hocket.simulating.simulation import Trials
from hocket.simulating.together import Place, places, simulate_together


@dataclass(frozen=True)
class JobBeside:
    """A job: its text, its time alone, and its time beside the other jobs."""

    job: str
    alone: Beside
    together: Beside

    @property
    def slowdown(self) -> tuple[float, float]:
        """The time beside the other jobs over the time alone, measured and simulated."""
        alone, together = self.alone, self.together
        return together.measured_s / alone.measured_s, together.simulated_s / alone.simulated_s


@dataclass(frozen=True)
class JobsCompared:
    """Jobs at once in a lab, compared with the simulator.

    Attributes:
        lab: A description of the lab.
        mpi: The MPI's own name and version.
        place: How the jobs were placed.
        jobs: The jobs.
        clock_error_s: The largest error of a common clock of all ranks, in the lab.
        faults: The faults of links, as texts.
        faults_late_s: How late a link changed at most; None without faults.
    """

    lab: str
    mpi: str
    place: Place
    jobs: tuple[JobBeside, ...]
    clock_error_s: float
    faults: tuple[str, ...]
    faults_late_s: float | None

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
    machine = lab.built
    where = places(jobs, machine=machine, place=place, seed=seed)
    trials = Trials(1, seed)
    simulated = simulate_together(
        [job.text for job in jobs], machine=machine, place=place, faults=faults, trials=trials
    )
    # Each row or column of a job is a call of its own.
    owners = [(number, members) for number, job in enumerate(jobs) for members in job.members]
    ranks = [where[number][rank] for number, members in owners for rank in members]
    parts = [Part(jobs[number].algorithm, jobs[number].call, jobs[number].cadence) for number, _ in owners]
    with gates(lab, faults) as director:
        times, clock_error_s = time_together(
            installation,
            parts,
            limit_s=limit_s,
            least_rounds=lab.LEAST_ROUNDS,
            launcher=partial(lab.command, places=ranks),
            director=director,
        )
    found = []
    for number, (job, seen) in enumerate(zip(jobs, simulated.jobs, strict=True)):
        mine = [one for one, (owner, _) in zip(times, owners, strict=True) if owner == number]
        alone = beside(_slowest([one.alone_s for one in mine]), seen.alone_s.mean, lab)
        together = beside(_slowest([one.together_s for one in mine]), seen.time_s.mean, lab)
        found.append(JobBeside(job.text, alone, together))
    late_s = None if director is None else director.late_s
    of_lab = (lab.summary, installation.library, place)
    return JobsCompared(*of_lab, tuple(found), clock_error_s, simulated.faults, late_s)


def _slowest(calls_s: Sequence[Sequence[float]]) -> Measurement:
    """Return the times of the slowest of some calls in each round."""
    slowest_s = [max(round_s) for round_s in zip(*calls_s, strict=True)]
    return Measurement.of("", 0, len(slowest_s), slowest_s)
