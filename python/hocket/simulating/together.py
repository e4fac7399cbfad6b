"""Simulating several jobs at once: what each takes alone and beside the others, and on which links they meet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import count
from typing import Any, Literal, TypeAlias, get_args

from hocket import _native
from hocket._native import Error
from hocket.base.checks import among as one_of
from hocket.base.checks import quote, several
from hocket.base.parallel import do_all, ignore, workers
from hocket.base.results import Result
from hocket.base.units import format_count
from hocket.base.version import VERSION
from hocket.definitions.calls import guard, prepare
from hocket.definitions.library import Algorithm
from hocket.definitions.machine import Machine, MachineLike, as_machine
from hocket.simulating.effort import simulation_s
from hocket.simulating.faults import Faults, as_faults, join
from hocket.simulating.jobs import Job
from hocket.simulating.scenes import Scene
from hocket.simulating.simulation import ONE_TRIAL, Engine, OnTrials, Statistics, Trials, trials_request

Place: TypeAlias = Literal["contiguous", "scattered", "random"]
"""How jobs are placed on a machine.

- contiguous: one job after the other, in the order of the machine's ranks.
- scattered: the jobs take the ranks in turn: first one on each node, then the second one on each, and so on.
- random: as contiguous, in an order of the machine's ranks that is drawn anew in each trial.
"""


@dataclass(frozen=True)
class JobTimes:
    """The times of one of several jobs.

    Attributes:
        job: The text of the job.
        ranks: Number of its ranks.
        time_s: Time when its last rank ends, beside the other jobs, over the trials.
        alone_s: The same alone, on the same ranks. For rows or columns: the slowest of them, alone.
        slowdown: The ratio of the two, over the trials; 1 if the job takes no time alone.
        times_s: Time beside the other jobs, in each trial.
    """

    job: str
    ranks: int
    time_s: Statistics
    alone_s: Statistics
    slowdown: Statistics
    times_s: tuple[float, ...] = field(repr=False)

    @classmethod
    def of(cls, job: Job, times_s: Sequence[float], alone_s: Sequence[float]) -> JobTimes:
        """Return the times of a job, given those of each trial."""
        slowdown = [time_s / least_s if least_s > 0 else 1.0 for time_s, least_s in zip(times_s, alone_s, strict=True)]
        time, own_time, ratio = (Statistics.of(tuple(values)) for values in (times_s, alone_s, slowdown))
        return cls(job.text, job.ranks, time, own_time, ratio, tuple(times_s))


@dataclass(frozen=True)
class SharedLink:
    """A link that carries bytes of at least two calls.

    Attributes:
        link: The link's number.
        name: Its name.
        job_bytes: The bytes of each job on it, as when the job is alone.
        busy_s: How long the link was busy, with all jobs at once.
        waiting_s: Total time that messages or packets waited for the link.
    """

    link: int
    name: str
    job_bytes: tuple[float, ...]
    busy_s: float
    waiting_s: float


@dataclass(frozen=True)
class Together(Result):
    """The result of a simulation of several jobs at once.

    Attributes:
        jobs: The times of each job.
        machine: The machine's name.
        place: How the jobs were placed.
        faults: The faults of links, as texts.
        seed: Seed of the random numbers.
        trials: Number of trials.
        engine: The engine that ran.
        messages: Number of messages of all jobs together.
        message_bytes: Bytes of these messages.
        shared_links: The links on which calls meet in the first trial, the busiest first; None if messages do not share
            links.
        version: Version of Hocket.
    """

    jobs: tuple[JobTimes, ...]
    machine: str
    place: Place
    faults: tuple[str, ...]
    seed: int
    trials: int
    engine: str
    messages: int
    message_bytes: int
    shared_links: tuple[SharedLink, ...] | None = field(repr=False)
    version: str

    @property
    def title(self) -> str:
        """The number of jobs, and the machine."""
        return f"{format_count(len(self.jobs), 'job')} at once, machine {self.machine}, {self.place} places"

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain data, without single trials."""
        plain = asdict(self)
        for job in plain["jobs"]:
            del job["times_s"]
        return plain

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each job."""
        return [
            {
                "job": job.job,
                "ranks": job.ranks,
                "machine": self.machine,
                "place": self.place,
                "faults": join(self.faults),
                "seed": self.seed,
                "trials": self.trials,
                "alone_mean_s": job.alone_s.mean,
                "slowdown_mean": job.slowdown.mean,
                "slowdown_min": job.slowdown.min,
                "slowdown_max": job.slowdown.max,
                **job.time_s.columns(),
            }
            for job in self.jobs
        ]


def simulate_together(
    jobs: Iterable[str],
    *,
    machine: MachineLike = "cluster",
    place: Place = "contiguous",
    engine: Engine = "auto",
    faults: Faults | None = None,
    trials: Trials = ONE_TRIAL,
    among: Iterable[Algorithm] | None = None,
    on_trials: OnTrials = ignore,
) -> Together:
    """Simulate several jobs at once, and each of them alone on the same ranks of a machine.

    All jobs begin at the same time. A job is a text:

    - "allreduce ring 1MiB, 32 ranks" is one call;
    - "allreduce ring 1MiB segment=64KiB, 32 ranks" has values of parameters;
    - "allreduce ring 1MiB, rows of 4x8" is 4 calls of 8 ranks each, at once; "columns of 4x8" is 8 calls of 4 ranks.
      The ranks of the grid are numbered row by row;
    - "allreduce ring 1MiB, 32 ranks, nodes 0-15 20-35" fills these nodes;
    - "allreduce ring 1MiB, 32 ranks, 16 calls, every 100 us" has a cadence, as in `hocket.simulate`.

    Args:
        jobs: The texts of the jobs.
        machine: A machine, the name of a preset, or the path of a machine file.
        place: Where jobs go that do not name their nodes: "contiguous", "scattered" or "random".
        engine: The engine that keeps virtual time.
        faults: Links that are slow or down for a time, as in `hocket.simulate`; also for the jobs alone.
        trials: The trials on a machine with noise, or with random places; each has its own places.
        among: The algorithms that jobs name; by default the catalogue.
        on_trials: Called now and then with the number of finished trials.

    Raises:
        Error: A job is not understood, or its algorithm refuses it on its nodes; the machine is too small; there are
            no jobs; several trials are all alike, or are to run until an interval; or as `hocket.simulate`.

    Examples:
        >>> import hocket
        >>> found = hocket.simulate_together(["allreduce ring 8KiB, 4 ranks", "barrier dissemination, 8 ranks"])
        >>> [job.slowdown.mean for job in found.jobs]
        [1.0, 1.0]
    """
    loaded_machine = as_machine(machine)
    how = one_of("place", place, get_args(Place)), one_of("engine", engine, get_args(Engine))
    read = [Job.parse(job, among=among) for job in several("jobs", jobs, str, "texts")]
    if not read:
        raise Error("jobs: got none, expected one at least")
    requests = [
        {
            "call": prepare(job.algorithm, job.call, loaded_machine),
            "groups": job.members,
            "cadence": job.cadence,
            "nodes": job.nodes,
        }
        for job in read
    ]
    algorithms = [job.algorithm for job in read if job.algorithm.program is not None]
    failing = as_faults(faults)
    request = _trials(trials, is_drawn=place == "random" or loaded_machine.is_random)

    def run(trial: int) -> Any:
        request_of_trial = {**request, "first": trial, "count": 1}
        ask = partial(_native.simulate_together, loaded_machine.handle, requests, *how, request_of_trial, failing)
        for algorithm in algorithms:
            ask = partial(guard, algorithm, ask)  # an exception of a program written in Python names the program
        return ask()

    numbers = range(request["first"], request["first"] + request["count"])
    counter = count(1)
    with workers(request["threads"]) as executor:
        outcomes = do_all(run, numbers, executor=executor, on_done=lambda *_: on_trials(next(counter)))
    first = outcomes[0]
    shared_links = None if first["shared_links"] is None else [SharedLink(**link) for link in first["shared_links"]]
    return Together(
        jobs=tuple(
            JobTimes.of(job, [one["times_s"][number] for one in outcomes], [one["alone_s"][number] for one in outcomes])
            for number, job in enumerate(read)
        ),
        machine=loaded_machine.name,
        place=place,
        faults=tuple(failing),
        seed=request["seed"],
        trials=len(outcomes),
        engine=first["engine"],
        messages=first["messages"],
        message_bytes=first["message_bytes"],
        shared_links=None if shared_links is None else tuple(sorted(shared_links, key=lambda one: -one.busy_s)),
        version=VERSION,
    )


def places(jobs: Iterable[Job], *, machine: Machine, place: Place, seed: int) -> list[list[int]]:
    """Return the ranks of a machine that each job gets in the first trial; an Error if a job does not get its nodes."""
    demands = [(job.ranks, job.nodes) for job in jobs]
    return _native.places(machine.handle, demands, one_of("place", place, get_args(Place)), (seed, 0))


def effort_s(jobs: Sequence[Job], *, machine: Machine, place: Place, trials: Trials) -> float:
    """Return the estimated seconds of a simulation of jobs on one core, right to a factor of about three."""
    places(jobs, machine=machine, place=place, seed=0)
    for job in jobs:
        prepare(job.algorithm, job.call, machine)
    scenes = [Scene(cadence=job.cadence) for job in jobs]
    run = partial(simulation_s, machine=machine, engine="events")
    times_s = (job.groups * run(job.algorithm, job.call, scene=scene) for job, scene in zip(jobs, scenes, strict=True))
    return 2 * trials.count * sum(times_s)


def _trials(trials: Trials, *, is_drawn: bool) -> dict[str, Any]:
    request = trials_request(trials)
    if request["until_interval"] is not None:
        raise Error(f"until_interval: got {quote(trials.until_interval)}, expected None, as there are several times")
    if request["count"] > 1 and not is_drawn:
        raise Error(f"trials: got {request['count']}, expected 1, as neither places nor noise are drawn")
    return request
