"""Job logs that `HOCKET_JOB_LOG` asks for: reading and adding up. `docs/deploying.md` describes their lines."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hocket._native import Error
from hocket.base import files
from hocket.base.checks import among

_VERSION = 1
_LARGEST = (1 << 63) - 1
_ENDING = ".jsonl"


@dataclass(frozen=True)
class LogEntry:
    """Similar calls of one job."""

    collective: str  # the collective, such as "allreduce"
    function: str  # the function that the program called, such as "MPI_Iallreduce"
    algorithm: str | None  # the algorithm that answered; None if the calls were left to MPI
    rule: str | None  # the rule that chose it
    reason: str | None  # why the calls were left to MPI
    ranks: int | None  # number of ranks of the communicator; None if unknown
    # The smallest size of the class, which ends below twice this size; 0 is the class of size 0. None if not all ranks
    # know the size.
    size_from_bytes: int | None
    calls: int  # number of calls; a call counts once for all its ranks
    bytes: int  # bytes that the ranks passed to these calls, added up over the ranks
    time_s: float | None  # time inside the calls, added up over the ranks; None if not measured


@dataclass(frozen=True)
class JobLog:
    """The log of one job."""

    file: str  # the file of the log
    hocket: str  # the version of Hocket
    mpi: str | None  # the MPI's own name and version
    program: str | None  # the program's file
    user: str | None  # the user who ran it
    host: str | None  # the host of rank 0
    job: str | None  # the number of the job in the batch system
    rules: str | None  # the file of rules
    start: str | None  # time of MPI's initialisation, in UTC, such as "2026-11-24T03:18:22Z"
    elapsed_s: float  # seconds from MPI's initialisation to its finalisation
    ranks: int  # number of ranks of MPI_COMM_WORLD
    nodes: int  # number of their nodes
    entries: tuple[LogEntry, ...]  # its calls


_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "str": ("a text", lambda value: isinstance(value, str)),
    "int": ("a whole number from 0 on", lambda value: type(value) is int and 0 <= value <= _LARGEST),
    "float": ("a time in seconds", lambda value: type(value) in (int, float) and 0 <= value < math.inf),
}


def log_files(paths: Iterable[str | PathLike[str]]) -> list[str]:
    """Return job logs, and those in folders and their subfolders, in order; refuse a folder that has none."""
    log_paths: list[str] = []
    for path in paths:
        if not Path(path).is_dir():
            log_paths.append(fspath(path))
            continue
        try:
            inside = sorted(str(file) for file in Path(path).rglob(f"*{_ENDING}"))
        except OSError as error:
            raise files.unreadable(fspath(path), error) from error
        if not inside:
            raise Error(f"{fspath(path)}: contains no job logs, expected files that end in {_ENDING}")
        log_paths += inside
    return list(dict.fromkeys(log_paths))


def read_job_log(path: str | PathLike[str]) -> JobLog:
    """Read a job log, a regular file only: anyone may put files where jobs write their logs.

    An Error says what is wrong: file, line, what was expected.
    """
    name = fspath(path)
    lines = files.read_text(path, only_regular=True).splitlines()
    if not lines:
        raise Error(f"{name}: is empty, expected a job log")
    about = files.parse_object(lines[0], f"{name}:1")
    if about.get("hocket_job_log") != _VERSION:
        raise Error(f"{name}:1: expected a job log, which begins with hocket_job_log = {_VERSION}")
    values = _check(about, JobLog, f"{name}:1")
    entries = tuple(_entry(line, f"{name}:{number}") for number, line in enumerate(lines[1:], start=2))
    return JobLog(file=name, entries=entries, **values)


def _entry(line: str, where: str) -> LogEntry:
    entry = LogEntry(**_check(files.parse_object(line, where), LogEntry, where))
    if (entry.algorithm is None) == (entry.reason is None):
        raise Error(f"{where}: expected an algorithm, or the reason why calls were left to MPI")
    return entry


def _check(data: Mapping[str, Any], kind: type, where: str) -> dict[str, Any]:
    """Return the values of a dataclass's fields. Unknown values are ignored: a later Hocket may have written them."""
    values = {}
    for name, annotation in kind.__annotations__.items():
        if name in ("file", "entries"):  # these are no values of a line
            continue
        of, *optional = annotation.split(" | ")
        expected, is_right = _KINDS[of]
        value = data.get(name)
        if not (is_right(value) or (value is None and optional)):
            raise Error(f"{where}: {name}: expected {expected}{' or null' if optional else ''}")
        values[name] = value
    return values


GROUPS: Mapping[str, Callable[[JobLog, LogEntry], Any]] = MappingProxyType(
    {
        "collective": lambda _, entry: entry.collective,
        "function": lambda _, entry: entry.function,
        "size": lambda _, entry: entry.size_from_bytes,
        "ranks": lambda _, entry: entry.ranks,
        "algorithm": lambda _, entry: entry.algorithm,
        "rule": lambda _, entry: entry.rule,
        "reason": lambda _, entry: entry.reason,
        "program": lambda log, _: log.program,
        "user": lambda log, _: log.user,
        "mpi": lambda log, _: log.mpi and " ".join(log.mpi.partition(",")[0].split()),
        "rules": lambda log, _: log.rules,
    }
)
"""The criteria by which calls are grouped, each a function of a log and one of its entries."""


@dataclass
class Use:
    """Calls added up."""

    jobs: int = 0  # number of jobs that have such calls
    calls: int = 0  # number of calls; a call counts once for all its ranks
    bytes: int = 0  # bytes that the ranks passed to these calls
    time_s: float = 0.0  # time inside the calls, added up over the ranks, where it was measured
    timed_calls: int = 0  # the number of calls of single ranks whose times are in `time_s`

    @property
    def mean_s(self) -> float | None:
        """The mean time inside a call."""
        return self.time_s / self.timed_calls if self.timed_calls else None


@dataclass(frozen=True)
class ReportRow:
    """The calls of one group."""

    group: Mapping[str, Any]  # the values of the group's criteria, by the names of `GROUPS`
    use: Use  # its calls
    share: float  # its share of the time inside all calls


@dataclass
class Report:
    """Job logs, added up."""

    criteria: Sequence[str]  # the criteria of grouping, names of `GROUPS`
    jobs: int = 0  # number of logs
    first: str | None = None  # start of the first job; None if no log says it
    last: str | None = None  # start of the last job
    rank_s: float = 0.0  # time between MPI's initialisation and finalisation, added up over the ranks of all jobs
    _uses: defaultdict[tuple[Any, ...], Use] = field(default_factory=lambda: defaultdict(Use))

    def __post_init__(self) -> None:
        for name in self.criteria or [""]:
            among("by", name, GROUPS)

    def add(self, log: JobLog) -> None:
        """Add the log of a job."""
        self.jobs += 1
        self.rank_s += log.elapsed_s * log.ranks
        dates = [date for date in (self.first, self.last, log.start) if date is not None]
        self.first, self.last = min(dates, default=None), max(dates, default=None)
        seen = set()
        for entry in log.entries:
            key = tuple(GROUPS[name](log, entry) for name in self.criteria)
            use = self._uses[key]
            use.jobs += key not in seen
            use.calls += entry.calls
            use.bytes += entry.bytes
            if entry.time_s is not None:
                use.time_s += entry.time_s
                use.timed_calls += entry.calls * (entry.ranks or 0)
            seen.add(key)

    @property
    def time_s(self) -> float:
        """The time inside all calls, added up over the ranks."""
        return sum(use.time_s for use in self._uses.values())

    @property
    def rows(self) -> tuple[ReportRow, ...]:
        """The groups, sorted by time, the longest first."""
        total_s = self.time_s
        ordered = sorted(self._uses.items(), key=lambda item: (-item[1].time_s, -item[1].calls, str(item[0])))
        return tuple(
            ReportRow(dict(zip(self.criteria, key, strict=True)), use, use.time_s / total_s if total_s else 0.0)
            for key, use in ordered
        )
