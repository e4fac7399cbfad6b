"""The terms of tuning: points, choices at points, and decisions over ranges of ranks and sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hocket._native import Error
from hocket.base.units import format_bytes, format_choice, format_count
from hocket.definitions.library import COLLECTIVES, NATIVE_NAME, REDUCTIONS

Owner = Literal["default", "catalogue", "mpi", "composition"]
"""The owner of a choice: the MPI by default, Hocket's catalogue, the MPI when told, or a composition of other calls."""


@dataclass(frozen=True, order=True)
class Point:
    """A call to decide for."""

    collective: str
    ranks: int
    size_bytes: int

    @property
    def row(self) -> tuple[str, int]:
        """The collective and ranks: points of a row differ in size alone."""
        return self.collective, self.ranks

    def __str__(self) -> str:
        return f"{self.collective} on {format_count(self.ranks, 'rank')}, {format_bytes(self.size_bytes)}"


@dataclass(frozen=True, order=True)
class Choice:
    """A way to do a collective."""

    owner: Owner  # the owner of the algorithm
    name: str  # the owner's name for it
    # Values of its parameters that differ from the defaults; for the MPI's own algorithms, the variables that choose
    # them.
    parameters: tuple[tuple[str, int | str], ...] = ()

    def __str__(self) -> str:
        if self.owner == "mpi":
            return f"MPI's {self.name}"
        return format_choice(self.name, self.parameters, ", ")

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"owner": self.owner, "name": self.name, "parameters": dict(self.parameters)}


DEFAULT = Choice("default", NATIVE_NAME)  # the MPI's own choice


def choice_of(data: Mapping[str, Any]) -> Choice:
    """Return a choice from plain data, as `Choice.as_dict` gives it."""
    return Choice(data["owner"], data["name"], tuple(data["parameters"].items()))


@dataclass(frozen=True)
class Estimate:
    """The median time of a choice, with its confidence interval."""

    median_s: float
    low_s: float
    high_s: float

    @classmethod
    def exact(cls, time_s: float) -> Estimate:
        """Return the estimate of a time that is exactly known."""
        return cls(time_s, time_s, time_s)


@dataclass(frozen=True)
class Decision:
    """A choice for ranges of ranks and sizes. A range includes its first value and excludes its second one."""

    collective: str
    ranks: tuple[int, int]
    sizes_bytes: tuple[int, int]
    choice: Choice

    def holds(self, point: Point) -> bool:
        """Return whether it applies to a call."""
        return (
            self.collective == point.collective
            and self.ranks[0] <= point.ranks < self.ranks[1]
            and self.sizes_bytes[0] <= point.size_bytes < self.sizes_bytes[1]
        )

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        ranges = {"ranks": list(self.ranks), "sizes_bytes": list(self.sizes_bytes)}
        return {**vars(self), **ranges, "choice": self.choice.as_dict()}


def needs_one_order(collective: str, order_is_fixed: bool) -> bool:
    """Return whether all choices of a number of ranks must combine in one order: with a fixed order, for reductions.

    The MPI's default is then no choice, so no gain over it needs to be confirmed.
    """
    return order_is_fixed and collective in REDUCTIONS


def choice_at(decisions: Iterable[Decision], point: Point) -> Choice:
    """Return the choice of decisions for a call; without a decision it is the MPI's default."""
    return next((one.choice for one in decisions if one.holds(point)), DEFAULT)


def rule_of(collective: str, choice: Choice, conditions: str = "") -> str:
    """Return a rule for a choice of the catalogue, or the MPI's default; refuse others, which rules cannot express."""
    if choice.owner not in ("default", "catalogue"):
        raise Error(f"{choice}: got a choice of {choice.owner}, expected a choice that rules can express")
    return f"{collective}{conditions}: {choice}"


def rules_of(decisions: Iterable[Decision], *, order_is_fixed: bool = False) -> str:
    """Return decisions as rules, one per line; with a fixed order, reductions are decided at all sizes."""
    decision_list = list(decisions)
    lines = ["order = fixed"] if order_is_fixed else []
    for one, following in zip(decision_list, [*decision_list[1:], None], strict=True):
        facts = COLLECTIVES[one.collective]
        sizes = f", size={_range(*one.sizes_bytes)}" if facts.has_size and facts.size_is_known else ""
        if needs_one_order(one.collective, order_is_fixed):
            is_last = following is None or (following.collective, following.ranks) != (one.collective, one.ranks)
            sizes = "" if is_last else f", size=..{one.sizes_bytes[1]}"
        lines.append(rule_of(one.collective, one.choice, f"[ranks={_range(*one.ranks)}{sizes}]"))
    return "".join(f"{line}\n" for line in lines)


def _range(first: int, end: int) -> str:
    return str(first) if end == first + 1 else f"{first}..{end}"
