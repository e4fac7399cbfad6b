"""What `hocket tune` tells: decisions with their times, held-out sizes with their regrets, as JSON and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import median
from typing import Any

from hocket.tuning.choice import DEFAULT, Choice, Decision, rules_of
from hocket.tuning.deciding import Regret, Times
from hocket.tuning.records import Found
from hocket.units import format_bytes, format_time

__all__ = ["Tuning", "markdown", "rules_file"]


@dataclass(frozen=True)
class Tuning:
    """What was decided, and how good that is.

    Attributes:
        about: Where the times are from: the names of the MPI and of the machine.
        tolerance: The share by which a choice may be slower than the fastest.
        decisions: What Hocket's rules say.
        own: The same among the algorithms of the MPI alone, which no rule of Hocket can name.
        found: What is known of the points that were decided from.
        regrets: How good the decisions are at the sizes that were held out.
    """

    about: Mapping[str, Any]
    tolerance: float
    decisions: tuple[Decision, ...]
    own: tuple[Decision, ...]
    found: tuple[Found, ...]
    regrets: tuple[Regret, ...]

    @property
    def regret(self) -> tuple[float, float] | None:
        """The median and the worst regret of the sizes that were held out."""
        shares = [one.share for one in self.regrets]
        return (median(shares), max(shares)) if shares else None

    @property
    def undecided(self) -> int:
        """How many points were left before their times were known well enough."""
        return sum(not one.is_decided for one in self.found)

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data; the times are in the measurements."""
        middle, worst = self.regret or (None, None)
        return {
            **self.about,
            "tolerance": self.tolerance,
            "decisions": [one.as_dict() for one in self.decisions],
            "own_decisions": [one.as_dict() for one in self.own],
            "points": len(self.found),
            "undecided": self.undecided,
            "held_out": [_regret(one) for one in self.regrets],
            "median_regret": middle,
            "worst_regret": worst,
            "slower_than_default": sum(one.is_slower_than_default for one in self.regrets),
        }


def _regret(one: Regret) -> dict[str, Any]:
    return {
        **vars(one.point),
        "choice": one.choice.as_dict(),
        "best": one.best.as_dict(),
        "time_s": one.time_s,
        "best_s": one.best_s,
        "default_s": one.default_s,
        "regret": one.share,
        "is_slower_than_default": one.is_slower_than_default,
    }


def rules_file(tuning: Tuning, version: str) -> str:
    """Return the rules, behind a line that says where they are from."""
    source = ", ".join(f"{name} {value}" for name, value in tuning.about.items() if value)
    return f"# By hocket tune {version}: {source}.\n{rules_of(tuning.decisions)}"


def markdown(tuning: Tuning) -> str:
    """Return the report."""
    source = "\n".join(f"- {name}: {value}" for name, value in tuning.about.items() if value)
    parts = [f"# What hocket tune decided\n\n{source}\n- tolerance: {tuning.tolerance:.1%}\n"]
    parts.append(f"## Rules\n\n```text\n{rules_of(tuning.decisions)}```\n")
    if any(one.choice != DEFAULT for one in tuning.own):
        rows = [(one.collective, _range(one.ranks), _sizes(one), str(one.choice)) for one in tuning.own]
        table = _table(("collective", "ranks", "size", "choice"), rows)
        parts.append(f"## Among the algorithms of the MPI alone\n\nNo rule of Hocket names these.\n\n{table}")
    for collective, found in _by_collective(tuning.found):
        parts.append(f"## {collective}\n\n{_times(found)}")
    parts.append(f"## Held-out sizes\n\n{_held_out(tuning)}")
    return "\n".join(parts)


def _by_collective(found: Iterable[Found]) -> list[tuple[str, list[Found]]]:
    groups: dict[str, list[Found]] = {}
    for one in sorted(found, key=lambda each: each.point):
        groups.setdefault(one.point.collective, []).append(one)
    return list(groups.items())


def _times(found: Sequence[Found]) -> str:
    """Return the fastest choices of each point beside the default, and what the machine says of the fastest."""
    has_machine = any(one.predicted_s for one in found)
    columns = ["ranks", "size", "fastest", "time", "next", "time over fastest", "default over fastest"]
    columns += ["machine says", "fastest over that", "not measured"] if has_machine else []
    rows = []
    for one in found:
        ordered = sorted(one.times, key=lambda choice: (one.times[choice].median_s, choice))
        row = [str(one.point.ranks), format_bytes(one.point.size_bytes), *_fastest(one.times, ordered)]
        rows.append([*row, *_against_machine(one, ordered)] if has_machine else row)
    return _table(columns, rows)


def _fastest(times: Times, ordered: Sequence[Choice]) -> list[str]:
    if not ordered:
        return ["-"] * 5
    best = ordered[0]
    others = [choice for choice in ordered[1:] if times[choice] != times[best]]
    time = f"{format_time(times[best].median_s)} ({_interval(times, best)})"
    after = [str(others[0]), _ratio(times, others[0], best)] if others else ["-", "-"]
    return [str(best), time, *after, _ratio(times, DEFAULT, best) if DEFAULT in times else "-"]


def _interval(times: Times, choice: Choice) -> str:
    low_s, high_s = times[choice].low_s, times[choice].high_s
    return f"{format_time(low_s)} to {format_time(high_s)}" if isfinite(high_s) else "too few samples"


def _ratio(times: Times, choice: Choice, best: Choice) -> str:
    """Return a time over another, with the interval from the least to the most that it may be."""
    one, other = times[choice], times[best]
    if not (other.low_s > 0 and isfinite(one.high_s)):
        return "-"
    return f"{one.median_s / other.median_s:.2f} ({one.low_s / other.high_s:.2f} to {one.high_s / other.low_s:.2f})"


def _against_machine(found: Found, ordered: Sequence[Choice]) -> list[str]:
    best = next((choice for choice in ordered if choice in found.predicted_s), None)
    if best is None:
        return ["-", "-", str(len(found.skipped))]
    said = found.predicted_s[best]
    over = f"{found.times[best].median_s / said:.2f}" if said > 0 else "-"
    return [f"{best}: {format_time(said)}", over, str(len(found.skipped))]


def _held_out(tuning: Tuning) -> str:
    if tuning.regret is None:
        return "None.\n"
    middle, worst = tuning.regret
    slower = sum(one.is_slower_than_default for one in tuning.regrets)
    rows = [
        (
            one.point.collective,
            str(one.point.ranks),
            format_bytes(one.point.size_bytes),
            str(one.choice),
            str(one.best),
            f"{one.share:.1%}",
            f"{one.time_s / one.default_s:.2f}" if one.default_s else "-",
        )
        for one in tuning.regrets
    ]
    columns = ("collective", "ranks", "size", "choice", "fastest", "regret", "time over default")
    said = f"Regret: median {middle:.1%}, worst {worst:.1%}; slower than the default beyond the noise at {slower}."
    return f"{said}\n\n{_table(columns, rows)}"


def _range(bounds: tuple[int, int]) -> str:
    return str(bounds[0]) if bounds[1] == bounds[0] + 1 else f"{bounds[0]} to below {bounds[1]}"


def _sizes(decision: Decision) -> str:
    low, end = decision.sizes_bytes
    return f"{format_bytes(low)} to below {format_bytes(end)}"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
