"""Whether an algorithm is right, and if not, why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from hocket import _native
from hocket._native import Error
from hocket.call import Call
from hocket.checks import function, mapping, several, shown, whole
from hocket.library import Algorithm, as_algorithm
from hocket.parallel import do_all, ignore
from hocket.requests import ask, complete, declared_by, numbers, refusal

__all__ = ["Finding", "Refusal", "Verdict", "verify", "verify_all"]


@dataclass(frozen=True)
class Refusal:
    """A rank count that an algorithm does not take, and the precondition that says so."""

    collective: str
    algorithm: str
    ranks: int
    sentence: str


@dataclass(frozen=True)
class Finding:
    """What one rank count showed.

    Attributes:
        collective: The collective.
        algorithm: The algorithm.
        ranks: Number of ranks.
        checked: Calls that were checked.
        exploration: How message orders were explored: "deterministic", "exhaustive" or "sampled".
        overtaking: Messages received before an earlier one of the same pair that had another tag: legal.
        counterexamples: Calls that went wrong; "message" says how, in several lines.
        refused: The precondition, when every call was refused.
    """

    collective: str
    algorithm: str
    ranks: int
    checked: int
    exploration: str
    overtaking: int
    counterexamples: tuple[Mapping[str, Any], ...]
    refused: str | None

    @property
    def label(self) -> str:
        """The collective and the algorithm, as in "allreduce/ring"."""
        return f"{self.collective}/{self.algorithm}"


@dataclass(frozen=True)
class Verdict:
    """What a verification found, one finding for each algorithm and rank count."""

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether no call went wrong."""
        return not self.counterexamples

    @property
    def checked(self) -> int:
        """Calls that were checked."""
        return sum(finding.checked for finding in self.findings)

    @property
    def counterexamples(self) -> tuple[Mapping[str, Any], ...]:
        """Calls that went wrong, fewest ranks first."""
        found = [counterexample for finding in self.findings for counterexample in finding.counterexamples]
        return tuple(sorted(found, key=lambda counterexample: int(counterexample["ranks"])))

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """Rank counts that were not checked, because the algorithm does not take them."""
        return tuple(Refusal(f.collective, f.algorithm, f.ranks, f.refused) for f in self.findings if f.refused)


def verify(
    algorithm: Algorithm | str,
    ranks: Iterable[int],
    *,
    parameters: Mapping[str, float | str] | None = None,
    executor: Executor | None = None,
    on_done: Callable[[], object] = ignore,
) -> Verdict:
    """Check an algorithm at every root, count and operator, in place and not, for each of some rank counts.

    Args:
        algorithm: An algorithm, or its label such as "allreduce/ring".
        ranks: The rank counts.
        parameters: Values of the algorithm's parameters; those left out have their defaults.
        executor: Who does the work; one thread per processor by default.
        on_done: Called after each rank count.

    Raises:
        Error: An unknown algorithm, a parameter or its value that the algorithm does not take, or rank counts that it
            does not take, all of them.
    """
    algorithm = as_algorithm(algorithm)
    complete(algorithm, {} if parameters is None else parameters)
    return verify_all([algorithm], ranks, parameters=parameters, executor=executor, on_done=on_done)


def verify_all(
    algorithms: Iterable[Algorithm],
    ranks: Iterable[int],
    *,
    parameters: Mapping[str, float | str] | None = None,
    executor: Executor | None = None,
    on_done: Callable[[], object] = ignore,
) -> Verdict:
    """Check several algorithms, each with those of the parameters that it declares; otherwise as `verify`."""
    if not isinstance(ranks, Iterable):
        raise Error(f"ranks: got {shown(ranks)}, expected several rank counts such as [{shown(ranks)}]")
    counts = tuple(whole("ranks", count) for count in ranks)
    known = several("algorithms", algorithms, Algorithm, "algorithms")
    given = {} if parameters is None else mapping("parameters", parameters)
    tasks = [_Task(algorithm, count, given) for algorithm in known for count in counts]
    function("on_done", on_done)
    largest_first = sorted(range(len(tasks)), key=lambda index: -tasks[index].ranks)
    found = do_all(_check, [tasks[index] for index in largest_first], executor=executor, on_done=lambda *_: on_done())
    in_order = sorted(zip(largest_first, found, strict=True), key=lambda pair: pair[0])
    verdict = Verdict(tuple(finding for _, finding in in_order))
    if not verdict.checked:
        raise Error(verdict.refusals[0].sentence if verdict.refusals else "nothing to verify, expected rank counts")
    return verdict


@dataclass(frozen=True)
class _Task:
    algorithm: Algorithm
    ranks: int
    parameters: dict[str, float | str]


def _check(task: _Task) -> Finding:
    algorithm = task.algorithm
    request = {
        "collective": algorithm.collective,
        "algorithm": algorithm.name,
        "ranks": task.ranks,
        "parameters": numbers(complete(algorithm, declared_by(algorithm, task.parameters))),
    }

    def refuses(**call: Any) -> str | None:
        return refusal(algorithm, Call(**call))

    answer = ask(_native.verify, request, algorithm, refuses)
    return Finding(
        collective=algorithm.collective,
        algorithm=algorithm.name,
        ranks=task.ranks,
        checked=answer["checked"],
        exploration=answer["exploration"],
        overtaking=answer["overtaking"],
        counterexamples=tuple(answer["counterexamples"]),
        refused=answer["refused"],
    )
