"""Verification: whether an algorithm is right, and a counterexample if it is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import accumulate, compress, takewhile
from itertools import count as count_from
from math import isqrt
from random import Random
from time import monotonic
from typing import Any

from hocket import _native
from hocket._native import Error
from hocket.base.call import Call
from hocket.base.checks import function, mapping, several, several_ranks, text, whole
from hocket.base.parallel import do_all, ignore
from hocket.base.results import Result
from hocket.base.units import format_count, format_ranks
from hocket.definitions.authoring import with_own_globals
from hocket.definitions.calls import complete, declared_values, element_size, guard, locate_error, refusal
from hocket.definitions.library import GAP, Algorithm, Parameter, algorithms_named, as_algorithm, is_collective

_MOST_RANKS_APART = 4  # up to this many ranks, a Python file is also run once for each rank

_SHORT_S = 0.006  # a call at a drawn rank count is estimated to take less


@dataclass(frozen=True)
class Refusal:
    """A rank count that an algorithm refuses, and the precondition it gives."""

    collective: str
    algorithm: str
    ranks: int
    sentence: str


@dataclass(frozen=True)
class Finding:
    """The findings at one rank count.

    Attributes:
        collective: The collective.
        algorithm: The algorithm.
        ranks: Number of ranks.
        checked: Number of calls that were checked.
        exploration: How message orders were explored: "deterministic", "exhaustive" or "sampled"; None if no call
            was checked.
        orders: Number of message orders that were tried, in all calls and under both protocols together.
        overtaking: Number of messages received before an earlier message of the same pair with another tag, which is
            legal.
        counterexamples: Calls that went wrong; "message" explains how, in several lines.
        refused: The precondition, if every call was refused.
        fewer_elements: A number of elements that takes too long, and the number that was checked instead, if any.
        calls_left: Number of calls that were not checked because they take too long.
    """

    collective: str
    algorithm: str
    ranks: int
    checked: int
    exploration: str | None
    orders: int
    overtaking: int
    counterexamples: tuple[Mapping[str, Any], ...]
    refused: str | None
    fewer_elements: tuple[int, int] | None = None
    calls_left: int = 0

    @property
    def label(self) -> str:
        """The collective and the algorithm, as in "allreduce/ring"."""
        return f"{self.collective}/{self.algorithm}"


@dataclass(frozen=True, repr=False)
class Verdict(Result):
    """The result of a verification: one finding for each algorithm and rank count."""

    findings: tuple[Finding, ...]

    def __repr__(self) -> str:
        return f"<Verdict {self.title}>"

    @property
    def title(self) -> str:
        """Whether all is right or at which rank counts not, the algorithms, and the number of checked calls."""
        labels = list(dict.fromkeys(finding.label for finding in self.findings))
        what = labels[0] if len(labels) == 1 else f"{len(labels)} algorithms"
        wrong = [finding.ranks for finding in self.findings if finding.counterexamples]
        ranks = wrong or [finding.ranks for finding in self.findings if not finding.refused]
        result = "ok" if self.ok else "WRONG"
        where = f"P = {format_ranks(ranks)}" if ranks else "no rank count"
        return f"{result}: {what}, {where}, {format_count(self.checked, 'call')} checked"

    @property
    def ok(self) -> bool:
        """Whether no call went wrong."""
        return not self.counterexamples

    @property
    def checked(self) -> int:
        """Number of calls that were checked."""
        return sum(finding.checked for finding in self.findings)

    @property
    def counterexamples(self) -> tuple[Mapping[str, Any], ...]:
        """Calls that went wrong, the smallest products of ranks and elements first."""
        return tuple(sorted((one for finding in self.findings for one in finding.counterexamples), key=_size))

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """Rank counts that were not checked because the algorithm refuses them."""
        return tuple(Refusal(f.collective, f.algorithm, f.ranks, f.refused) for f in self.findings if f.refused)

    def records(self) -> list[dict[str, Any]]:
        """Return one row for each finding, with the number of counterexamples."""
        return [{**vars(finding), "counterexamples": len(finding.counterexamples)} for finding in self.findings]

    def _notebook_rows(self) -> list[dict[str, Any]]:
        """Return the rows for a notebook: counterexamples if there are any, else all findings."""
        wrong = [{"ranks": one["ranks"], "counterexample": one["message"].strip()} for one in self.counterexamples]
        return wrong or self.records()


def _size(counterexample: Mapping[str, Any]) -> tuple[int, int]:
    """Return the number of elements of all ranks, and of ranks; a schedule has no elements."""
    ranks, call = counterexample["ranks"], counterexample["call"]
    counts = call["count"] if call else 0
    if isinstance(counts, int):
        return counts * ranks, ranks
    return sum(sum(c) if isinstance(c, Sequence) else c for c in counts), ranks


def verify(
    algorithms: Algorithm | str | Iterable[Algorithm],
    ranks: Iterable[int] | str,
    *,
    parameters: Mapping[str, float | str] | None = None,
    count: int | None = None,
    root: int | None = None,
    element_bytes: int = 1,
    executor: Executor | None = None,
    on_done: Callable[[], object] = ignore,
) -> Verdict:
    """Check algorithms at every root, count and operator, in place and not, for each rank count.

    Args:
        algorithms: An algorithm, or its label such as "allreduce/ring"; a collective for all its algorithms; or several
            algorithms. Each takes only the parameters that it declares.
        ranks: The rank counts, also as a text such as "1-8,16".
        parameters: Values of the algorithm's parameters. For the others, all combinations of the default and the values
            that the parameter lists to try are checked.
        count: Number of elements that `size_bytes` of a call counts; by default 0, 1 and a few more, and blocks of
            several sizes. A barrier has none.
        root: The root; by default every root, or a few if there are many.
        element_bytes: Size of an element; it affects parameters that count bytes.
        executor: The executor that does the work; by default threads, one per processor.
        on_done: Called after each rank count.

    Raises:
        Error: The algorithm is unknown; it does not have a parameter or refuses its value; the count is too large; or
            the algorithm refuses all rank counts.
    """
    if isinstance(algorithms, str) and is_collective(algorithms):
        algorithms = algorithms_named(algorithms, ())
    elif isinstance(algorithms, str | Algorithm):
        algorithms = (as_algorithm(algorithms),)
        complete(algorithms[0], {} if parameters is None else parameters)
    work = plan(algorithms, ranks, parameters=parameters, count=count, root=root, element_bytes=element_bytes)
    return work.run(executor=executor, on_done=on_done)


def plan(
    algorithms: Iterable[Algorithm],
    ranks: Iterable[int] | str,
    *,
    parameters: Mapping[str, float | str] | None = None,
    count: int | None = None,
    root: int | None = None,
    element_bytes: int = 1,
    is_drawn: bool = False,
) -> Verification:
    """Return the planned verification of algorithms, each with the parameters that it declares; see `verify`.

    If `is_drawn`, one call each is added at a few drawn rank counts, for the algorithms where it is short.
    """
    rank_counts = several_ranks("ranks", ranks)
    common_values = {
        "count": None if count is None else whole("count", count),
        "root": None if root is None else whole("root", root),
        "element_bytes": element_size(element_bytes),
    }
    algorithm_list = several("algorithms", algorithms, Algorithm, "algorithms")
    parameter_values = {} if parameters is None else mapping("parameters", parameters)
    tasks: list[_Task] = []
    for one in algorithm_list:
        options = {**_values_to_try(one, parameter_values, element_bytes), **common_values}
        tasks += [_Task(one, number, {**options, "is_one": False}) for number in rank_counts]
        if is_drawn:  # a few large rank counts, always the same for an algorithm
            numbers = (*sorted(Random(one.label).sample(range(34, 129), 2)), 129)
            drawn_tasks = [_Task(one, number, {**options, "is_one": True}) for number in numbers]
            tasks += [task for task in drawn_tasks if task.effort_s < _SHORT_S]
    return Verification(tuple(tasks))


@dataclass(frozen=True)
class _Task:
    algorithm: Algorithm
    ranks: int
    settings: dict[str, Any]
    end_s: float | None = None
    """When the work ends, by the monotonic clock."""

    @property
    def request(self) -> dict[str, Any]:
        collective, name = self.algorithm.collective, text("algorithm", self.algorithm.name)
        most_s = None if self.end_s is None else max(0.0, self.end_s - monotonic())
        subject = {"collective": collective, "algorithm": name, "ranks": self.ranks}
        return {"subject": subject, "most_s": most_s, **self.settings}

    @property
    def place(self) -> tuple[bool, int]:
        """Its place in the order of work."""
        is_of_catalogue = self.algorithm.program is None
        return is_of_catalogue, -self.ranks if is_of_catalogue else self.ranks

    @property
    def program(self) -> tuple[Any, ...]:
        """The program of an algorithm written in Python, as the compiled module takes it; empty for others."""
        algorithm = self.algorithm
        if algorithm.program is None:
            return ()
        return algorithm.program, lambda **call: refusal(algorithm, Call(**call)), partial(locate_error, algorithm)

    @cached_property
    def effort_s(self) -> float:
        """The estimated seconds on one core. A program written in Python is run on a few calls."""
        return guard(self.algorithm, lambda: _native.verification_effort_s(self.request, *self.program))


@dataclass(frozen=True)
class Verification:
    """A planned verification: several algorithms, each at several rank counts."""

    tasks: tuple[_Task, ...]

    def efforts_s(self) -> list[float]:
        """Return the estimated seconds on one core for work that can be done in parallel.

        This is one algorithm at one rank count. Algorithms in Python are one piece, as they share the interpreter.
        """
        of_catalogue = [task.effort_s for task in self.tasks if task.algorithm.program is None]
        return [*of_catalogue, sum(task.effort_s for task in self.tasks if task.algorithm.program is not None)]

    def within(self, most_s: float) -> Verification:
        """Return this verification without the largest rank counts of Python programs, which would take too long."""
        own = sorted((task for task in self.tasks if task.algorithm.program is not None), key=lambda task: task.ranks)
        sums_s = accumulate(task.effort_s for task in own)
        short = {id(task) for task, _ in takewhile(lambda pair: pair[1] <= most_s, zip(own, sums_s, strict=False))}
        is_kept = [task.algorithm.program is None or id(task) in short or task is own[0] for task in self.tasks]
        return replace(self, tasks=tuple(compress(self.tasks, is_kept)))

    def run(
        self, *, executor: Executor | None = None, on_done: Callable[[], object] = ignore, most_s: float | None = None
    ) -> Verdict:
        """Run the verification; see `verify`. Programs in Python end after `most_s` seconds, even if calls are left."""
        function("on_done", on_done)
        end_s = None if most_s is None else monotonic() + most_s
        tasks = [task if task.algorithm.program is None else replace(task, end_s=end_s) for task in self.tasks]
        # Programs in Python begin with few ranks, as they may not come to an end; others keep all processors busy.
        order = sorted(range(len(tasks)), key=lambda index: tasks[index].place)
        findings = do_all(_check, [tasks[index] for index in order], executor=executor, on_done=lambda *_: on_done())
        in_order = sorted(zip(order, findings, strict=True), key=lambda pair: pair[0])
        verdict = Verdict(tuple(finding for _, finding in in_order))
        if not verdict.checked:
            raise Error(
                verdict.refusals[0].sentence
                if verdict.refusals
                else "no call was checked in time, expected fewer ranks, or a shorter program"
                if any(finding.calls_left for finding in verdict.findings)
                else "nothing to verify, expected at least one rank count"
            )
        return verdict


def _values_to_try(
    algorithm: Algorithm, fixed_values: Mapping[str, float | str], element_bytes: int
) -> dict[str, dict[str, Any]]:
    """Return the values of parameters to combine: the given one, or else those that the parameter lists.

    A number that is not given also has a prime, which is tried alone.
    """
    fixed_values = declared_values(algorithm, fixed_values)
    complete(algorithm, fixed_values)

    def completed(name: str, values: Iterable[int | float | str]) -> list[int | str]:
        completions = [complete(algorithm, {name: value}, element_bytes=element_bytes) for value in values]
        return list(dict.fromkeys(one[name] for one in completions))

    parameters = {parameter.name: parameter for parameter in algorithm.parameters if parameter.unit != GAP}
    combined = {
        name: completed(name, (fixed_values[name],) if name in fixed_values else parameter.values_to_try)
        for name, parameter in parameters.items()
    }
    primes = {name: _prime(parameter) for name, parameter in parameters.items() if name not in fixed_values}
    prime_values = {name: completed(name, [prime])[0] for name, prime in primes.items() if prime is not None}
    return {"parameters": combined, "extra": {name: v for name, v in prime_values.items() if v not in combined[name]}}


def _prime(parameter: Parameter) -> int | None:
    """Return the smallest prime from 5 on that a number may have and that is not tried anyway; None for a switch."""
    if parameter.unit == "choice":
        return None
    return next(
        number
        for number in count_from(max(5, parameter.least))
        if number not in parameter.values_to_try and all(number % divisor for divisor in range(2, isqrt(number) + 1))
    )


def _check(task: _Task) -> Finding:
    algorithm = task.algorithm
    program = task.program
    if program and task.ranks <= _MOST_RANKS_APART:
        program += (with_own_globals(algorithm, task.ranks),)
    return guard(algorithm, lambda: Finding(**_native.verify(task.request, *program)))
