"""Verification: whether an algorithm is right, and a counterexample if it is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

from hocket import _native
from hocket._native import Error
from hocket.base.call import Call
from hocket.base.checks import function, json_text, mapping, several, several_ranks, whole
from hocket.base.parallel import do_all, ignore
from hocket.base.results import Result
from hocket.base.units import format_count, format_ranks
from hocket.definitions.calls import GAP, complete, declared_by, element_size, guarded, numbers, refusal, told, worded
from hocket.definitions.library import Algorithm, Parameter, algorithms_named, as_algorithm, is_collective


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
        shown = [finding.ranks for finding in self.findings if finding.counterexamples] or [
            finding.ranks for finding in self.findings if not finding.refused
        ]
        result = "ok" if self.ok else "WRONG"
        where = f"P = {format_ranks(shown)}" if shown else "no rank count"
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
        """Calls that went wrong, the smallest rank counts first."""
        found = [counterexample for finding in self.findings for counterexample in finding.counterexamples]
        return tuple(sorted(found, key=lambda counterexample: int(counterexample["ranks"])))

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """Rank counts that were not checked because the algorithm refuses them."""
        return tuple(Refusal(f.collective, f.algorithm, f.ranks, f.refused) for f in self.findings if f.refused)

    def records(self) -> list[dict[str, Any]]:
        """Return one row for each finding, with the number of counterexamples."""
        return [{**vars(finding), "counterexamples": len(finding.counterexamples)} for finding in self.findings]

    def _digest(self) -> list[dict[str, Any]]:
        """Return the rows for a notebook: counterexamples if there are any, else all findings."""
        wrong = [{"ranks": one["ranks"], "counterexample": one["message"].strip()} for one in self.counterexamples]
        return wrong or self.records()


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
    work = planned(algorithms, ranks, parameters=parameters, count=count, root=root, element_bytes=element_bytes)
    return work.done(executor=executor, on_done=on_done)


def planned(
    algorithms: Iterable[Algorithm],
    ranks: Iterable[int] | str,
    *,
    parameters: Mapping[str, float | str] | None = None,
    count: int | None = None,
    root: int | None = None,
    element_bytes: int = 1,
) -> Verification:
    """Return the planned verification of algorithms, each with the parameters that it declares; see `verify`."""
    rank_counts = several_ranks("ranks", ranks)
    wanted = {
        "count": None if count is None else whole("count", count),
        "root": None if root is None else whole("root", root),
        "element_bytes": element_size(element_bytes),
    }
    known = several("algorithms", algorithms, Algorithm, "algorithms")
    given = {} if parameters is None else mapping("parameters", parameters)
    asked = [(one, {"parameters": _values_to_try(one, given, element_bytes), **wanted}) for one in known]
    return Verification(tuple(_Task(one, number, options) for one, options in asked for number in rank_counts))


@dataclass(frozen=True)
class _Task:
    algorithm: Algorithm
    ranks: int
    wanted: dict[str, Any]

    @property
    def request(self) -> dict[str, Any]:
        whose = {"collective": self.algorithm.collective, "algorithm": self.algorithm.name, "ranks": self.ranks}
        return {**whose, **self.wanted}


@dataclass(frozen=True)
class Verification:
    """A planned verification: several algorithms, each at several rank counts."""

    tasks: tuple[_Task, ...]

    def efforts_s(self) -> list[float]:
        """Return the estimated seconds on one core for each algorithm and rank count.

        Algorithms written in Python are left out: their time is not known.
        """
        requests = [task.request for task in self.tasks if task.algorithm.program is None]
        return [_native.verification_effort_s(json_text("request", request)) for request in requests]

    def done(self, *, executor: Executor | None = None, on_done: Callable[[], object] = ignore) -> Verdict:
        """Run the verification; see `verify`."""
        function("on_done", on_done)
        tasks = self.tasks
        largest_first = sorted(range(len(tasks)), key=lambda index: -tasks[index].ranks)
        found = do_all(
            _check, [tasks[index] for index in largest_first], executor=executor, on_done=lambda *_: on_done()
        )
        in_order = sorted(zip(largest_first, found, strict=True), key=lambda pair: pair[0])
        verdict = Verdict(tuple(finding for _, finding in in_order))
        if not verdict.checked:
            raise Error(
                verdict.refusals[0].sentence
                if verdict.refusals
                else "nothing to verify, expected at least one rank count"
            )
        return verdict


def _values_to_try(algorithm: Algorithm, given: Mapping[str, float | str], element_bytes: int) -> dict[str, list[int]]:
    """Return the values to try of each numeric parameter: the given one, or else those that the parameter lists."""
    given = declared_by(algorithm, given)
    complete(algorithm, given)

    def completed(parameter: Parameter) -> list[int]:
        name = parameter.name
        values = (given[name],) if name in given else parameter.values_to_try
        found = [complete(algorithm, {name: value}, element_bytes=element_bytes) for value in values]
        return list(dict.fromkeys(numbers(algorithm, one)[name] for one in found))

    return {parameter.name: completed(parameter) for parameter in algorithm.parameters if parameter.unit != GAP}


def _check(task: _Task) -> Finding:
    algorithm = task.algorithm

    def refuses(**call: Any) -> str | None:
        return refusal(algorithm, Call(**call))

    of_program = () if algorithm.program is None else (algorithm.program, refuses, partial(told, algorithm))
    request_text = json_text("request", task.request)
    answer = json.loads(guarded(algorithm, lambda: _native.verify(request_text, *of_program)))
    counterexamples = [_worded(algorithm, counterexample) for counterexample in answer["counterexamples"]]
    return finding(algorithm.collective, algorithm.name, task.ranks, {**answer, "counterexamples": counterexamples})


def finding(collective: str, algorithm: str, ranks: int, answer: Mapping[str, Any]) -> Finding:
    """Return the compiled module's findings at one rank count."""
    counterexamples = tuple(answer["counterexamples"])
    return Finding(
        **{**answer, "counterexamples": counterexamples}, collective=collective, algorithm=algorithm, ranks=ranks
    )


def _worded(algorithm: Algorithm, counterexample: Mapping[str, Any]) -> dict[str, Any]:
    """Return a counterexample with the words of switches in place of their numbers."""
    call = counterexample["call"]
    return {**counterexample, "call": {**call, "parameters": worded(algorithm, call["parameters"])}}
