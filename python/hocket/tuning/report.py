"""The report of `hocket tune`: decisions with their times, and held-out sizes with regrets, as JSON and as Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import isfinite
from pathlib import Path
from statistics import median
from typing import Any

from hocket.base import files
from hocket.base.units import format_bytes, format_count, format_time
from hocket.base.version import VERSION
from hocket.rules.tuning_files.activation import parameters_text, settings_of
from hocket.rules.tuning_files.form import Format
from hocket.tuning.choice import DEFAULT, Choice, Decision, Estimate, Point, choice_at, needs_one_order, rules_of
from hocket.tuning.deciding import Regret, Times
from hocket.tuning.exporting import PARAMETERS_FILE, Exporter, algorithm_of_han, file_name, function_of
from hocket.tuning.pairing import BY_RULES, OWN, SECOND_DEFAULT, noise_of, ratio
from hocket.tuning.records import PointRecord

RULES_FILE = "hocket.rules"  # the file name of the rules among the results


@dataclass(frozen=True)
class Tuning:
    """The decisions, and their quality.

    Attributes:
        about: The source of the times: the names of the MPI and of the machine.
        tolerance: The share by which a choice may be slower than the fastest.
        decisions: The decisions that Hocket's rules express.
        records: The findings at the points of races.
        own: The decisions among the algorithms of the MPI alone, which Hocket's rules cannot express.
        confirming: The findings at the points where decisions were confirmed.
        regrets: The regrets of the decisions at held-out sizes.
        own_regrets: The regrets of the decisions among the algorithms of the MPI alone.
        judging_noise: The noise at held-out sizes: the share by which the default seems to differ from itself.
        left_out: The number of points that were not measured for lack of time.
        order_is_fixed: Whether results of reductions do not depend on the size.
        exporter: Writes the MPI's own tuning file, if there is an MPI with such a file.
    """

    about: Mapping[str, Any]
    tolerance: float
    decisions: tuple[Decision, ...]
    records: tuple[PointRecord, ...]
    own: tuple[Decision, ...] = ()
    confirming: tuple[PointRecord, ...] = ()
    regrets: tuple[Regret, ...] = ()
    own_regrets: tuple[Regret, ...] = ()
    judging_noise: float = 0.0
    left_out: int = 0
    order_is_fixed: bool = False
    exporter: Exporter | None = None

    @property
    def rules(self) -> str:
        """The decisions as Hocket's rules."""
        return rules_of(self.decisions, order_is_fixed=self.order_is_fixed)

    @cached_property
    def own_files(self) -> Mapping[Format, str]:
        """The MPI's own tuning files as text, by format."""
        choices = {(one.point.collective, choice) for one in self.records for choice in (*one.times, *one.omissions)}
        has_levels = any(algorithm_of_han(*each) for each in choices)
        return self.exporter.texts(self.own, has_levels=has_levels) if self.exporter else {}

    def own_settings(self, folder: str) -> Mapping[str, str]:
        """Return the parameters with which the MPI takes its own tuning files from a folder."""
        functions = {function_of(one.collective) for one in self.own if one.choice != DEFAULT}
        return settings_of({f"{folder}/{file_name(each)}": each for each in self.own_files}, functions)

    def write(self, folder: str | Path) -> None:
        """Write rules, decisions, report and the MPI's own tuning files; remove earlier ones that no longer apply.

        Raises:
            Error: A file cannot be written; then none is written.
        """
        place = Path(folder)
        source = ", ".join(f"{name} {value}" for name, value in self.about.items() if value)
        rules = f"# By hocket tune {VERSION}: {source}.\n{self.rules}"
        decisions = json.dumps({**self.as_dict(), "version": VERSION}, indent=2) + "\n"
        texts = {RULES_FILE: rules, "decisions.json": decisions, "report.md": markdown(self)}
        texts |= {file_name(format): text for format, text in self.own_files.items()}
        if self.own_files and (parameters := parameters_text(self.own_settings(str(folder)))):
            texts[PARAMETERS_FILE] = parameters
        files.write_all({str(place / name): text for name, text in texts.items()})
        for name in {*(self.exporter.file_names if self.exporter else ())} - texts.keys():
            (place / name).unlink(missing_ok=True)

    @property
    def noise(self) -> float:
        """The share by which the default seems to differ from itself where decisions were confirmed."""
        return noise_of(self.confirming)

    @property
    def gains(self) -> list[Outcome]:
        """The confirmed and the refused choices by point: those that rules express, and the MPI's own."""
        families = ((BY_RULES, self.decisions), (OWN, self.own))
        return [
            outcome
            for one in self.confirming
            for owners, decisions in families
            if (outcome := _outcome(one, owners[1], choice_at(decisions, one.point))) is not None
        ]

    @property
    def regret(self) -> tuple[float, float] | None:
        """The median and the worst regret of held-out sizes."""
        return _middle_and_worst(one.share for one in self.regrets)

    @property
    def order_over_default(self) -> tuple[float, float] | None:
        """The median and the worst time with the fixed order over the MPI's default, for reductions of held-out sizes.

        None if the order is not fixed, or if there is no time of the default.
        """
        return _middle_and_worst(
            one.time_s / one.default_s
            for one in self.regrets
            if one.default_s and needs_one_order(one.point.collective, self.order_is_fixed)
        )

    @property
    def undecided_points(self) -> int:
        """The number of points whose times were not known well enough in the end."""
        return sum(not one.is_decided for one in self.records)

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data; the times are in the measurements."""
        middle, worst = self.regret or (None, None)
        order_middle, order_worst = self.order_over_default or (None, None)
        return {
            **self.about,
            "tolerance": self.tolerance,
            "noise": self.noise,
            "noise_held_out": self.judging_noise,
            "decisions": [one.as_dict() for one in self.decisions],
            "own_decisions": [one.as_dict() for one in self.own],
            "points": len(self.records),
            "undecided": self.undecided_points,
            "left_out": self.left_out,
            "beside_default": [one.as_dict() for one in self.gains],
            "held_out": [_regret(one) for one in self.regrets],
            "own_held_out": [_regret(one) for one in self.own_regrets],
            "median_regret": middle,
            "worst_regret": worst,
            "median_order_over_default": order_middle,
            "worst_order_over_default": order_worst,
            "beyond_noise": sum(one.is_beyond_noise for one in self.regrets),
            "slower_than_default": sum(one.is_slower_than_default for one in self.regrets),
        }


def _middle_and_worst(shares: Iterable[float]) -> tuple[float, float] | None:
    ordered = sorted(shares)
    return (median(ordered), ordered[-1]) if ordered else None


def _regret(one: Regret) -> dict[str, Any]:
    values = {name: value for name, value in vars(one).items() if name != "point"}
    choices = {"choice": one.choice.as_dict(), "best": one.best.as_dict()}
    return {**vars(one.point), **values, **choices, "regret": one.share}


@dataclass(frozen=True)
class Outcome:
    """A choice that was measured beside the default: the one that was taken, or else the one that seemed fastest."""

    record: PointRecord
    choice: Choice
    is_taken: bool

    @property
    def over_default(self) -> Estimate:
        """The ratio of its time to the default's."""
        return ratio(self.record, self.choice)

    def why_not(self, noise: float) -> str:
        """Return why it was not taken."""
        if not isfinite(self.over_default.high_s):
            return "measured at too few moments"
        if self.over_default.high_s >= 1 - noise:
            return "the gain is within the noise"
        return "faster by less than the tolerance, or at too few sizes"

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        one = self.over_default
        return {
            **vars(self.record.point),
            "choice": self.choice.as_dict(),
            "is_taken": self.is_taken,
            "over_default": one.median_s,
            "low": one.low_s,
            "high": one.high_s if isfinite(one.high_s) else None,
            "moments": len(self.record.ratios[self.choice]),
        }


def _outcome(record: PointRecord, owner: str, choice: Choice) -> Outcome | None:
    """Return the result for an owner's choices at a point; None if none was measured beside the default."""
    measured = [one for one, ratios in record.ratios.items() if one.owner == owner and ratios]
    if choice in measured:
        return Outcome(record, choice, True)
    fastest = min(measured, key=lambda one: (ratio(record, one).median_s, one), default=None)
    return None if fastest is None else Outcome(record, fastest, False)


def markdown(tuning: Tuning) -> str:
    """Return the report as Markdown."""
    source = "\n".join(f"- {name}: {value}" for name, value in tuning.about.items() if value)
    parts = [f"# What hocket tune decided\n\n{source}\n- tolerance: {tuning.tolerance:.1%}\n"]
    parts.append(f"## Rules\n\n```text\n{tuning.rules}```\n")
    if any(SECOND_DEFAULT in one.ratios for one in tuning.confirming):
        parts.append(f"## Beside the default\n\n{_beside_default(tuning)}")
    if any(one.choice != DEFAULT for one in tuning.own):
        rows = [
            (one.collective, _range(one.ranks), " to below ".join(map(format_bytes, one.sizes_bytes)), str(one.choice))
            for one in tuning.own
        ]
        table = _table(("collective", "ranks", "size", "choice"), rows)
        parts.append(f"## Among the algorithms of the MPI alone\n\nNo rule of Hocket names these.\n\n{table}")
    records_in_order = sorted(tuning.records, key=lambda one: one.point)
    for collective, records in groupby(records_in_order, key=lambda one: one.point.collective):
        parts.append(f"## {collective}\n\n{_times([*records])}")
    parts.append(f"## Held-out sizes\n\n{_regrets_text(tuning.regrets, tuning.judging_noise)}")
    if tuning.order_over_default:
        parts.append(f"## What the fixed order costs\n\n{order_cost(tuning.order_over_default).capitalize()}.\n")
    if tuning.own_regrets:
        parts.append(f"## Held-out sizes, the MPI alone\n\n{_regrets_text(tuning.own_regrets, tuning.judging_noise)}")
    return "\n".join(parts)


def order_cost(over_default: tuple[float, float]) -> str:
    """Return what `Tuning.order_over_default` says, in words."""
    what = "reductions with the fixed order over the default, at held-out sizes"
    return f"{what}: median {over_default[0]:.2f}, worst {over_default[1]:.2f}"


def _times(records: Sequence[PointRecord]) -> str:
    """Return the fastest choices of each point beside the default, and the machine's prediction for the fastest."""
    has_machine = any(one.predicted_s for one in records)
    columns = ["ranks", "size", "fastest", "time", "next", "time over fastest", "default over fastest"]
    columns += ["machine says", "fastest over that", "not measured"] if has_machine else []
    rows = []
    for one in records:
        ordered = sorted(one.times, key=lambda choice: (one.times[choice].median_s, choice))
        row = [str(one.point.ranks), format_bytes(one.point.size_bytes), *_fastest(one.times, ordered)]
        rows.append([*row, *_against_machine(one, ordered)] if has_machine else row)
    return _table(columns, rows)


def _fastest(times: Times, ordered: Sequence[Choice]) -> list[str]:
    if not ordered:
        return ["-"] * 5
    best = ordered[0]
    others = [choice for choice in ordered[1:] if times[choice] != times[best]]
    low_s, high_s = times[best].low_s, times[best].high_s
    interval = f"{format_time(low_s)} to {format_time(high_s)}" if isfinite(high_s) else "too few samples"
    time = f"{format_time(times[best].median_s)} ({interval})"
    after = [str(others[0]), _ratio(times, others[0], best)] if others else ["-", "-"]
    return [str(best), time, *after, _ratio(times, DEFAULT, best) if DEFAULT in times else "-"]


def _ratio(times: Times, choice: Choice, best: Choice) -> str:
    """Return a ratio of times, with the interval of its possible values."""
    one, other = times[choice], times[best]
    if not (other.low_s > 0 and isfinite(one.high_s)):
        return "-"
    return f"{one.median_s / other.median_s:.2f} ({one.low_s / other.high_s:.2f} to {one.high_s / other.low_s:.2f})"


def _against_machine(record: PointRecord, ordered: Sequence[Choice]) -> list[str]:
    best = next((choice for choice in ordered if choice in record.predicted_s), None)
    if best is None:
        return ["-", "-", str(len(record.omissions))]
    prediction_s = record.predicted_s[best]
    ratio_text = f"{record.times[best].median_s / prediction_s:.2f}" if prediction_s > 0 else "-"
    return [f"{best}: {format_time(prediction_s)}", ratio_text, str(len(record.omissions))]


def _beside_default(tuning: Tuning) -> str:
    """Return where choices win and by how much; where the default stays, and why."""
    gains, noise = tuning.gains, tuning.noise
    silent = sum(
        not (one.ratios.keys() - {SECOND_DEFAULT} or needs_one_order(one.point.collective, tuning.order_is_fixed))
        for one in tuning.records
    )
    sentence = (
        f"The default differs from itself by no more than {noise:.1%} at 95% of the sizes. At "
        f"{format_count(silent, 'call')} nothing seemed faster than the default."
    )
    rows_taken = [_row(one) for one in gains if one.is_taken]
    left = [[*_row(one), one.why_not(noise)] for one in gains if not one.is_taken]
    columns = ("collective", "ranks", "size", "choice", "time over default")
    tables = [f"Taken:\n\n{_table(columns, rows_taken)}"] if rows_taken else []
    tables += [f"Left to the default:\n\n{_table((*columns, 'why'), left)}"] if left else []
    return "\n".join([f"{sentence}\n", *tables])


def _call(point: Point, choice: Choice) -> list[str]:
    return [point.collective, str(point.ranks), format_bytes(point.size_bytes), str(choice)]


def _row(one: Outcome) -> list[str]:
    ratio = one.over_default
    interval = f"{ratio.low_s:.3f} to {ratio.high_s:.3f}" if isfinite(ratio.high_s) else "measured at too few moments"
    return [*_call(one.record.point, one.choice), f"{ratio.median_s:.3f} ({interval})"]


def _regrets_text(regrets: Sequence[Regret], noise: float) -> str:
    ends = _middle_and_worst(one.share for one in regrets)
    if ends is None:
        return "None.\n"
    middle, worst = ends
    slower = sum(one.is_slower_than_default for one in regrets)
    noisy = sum(one.is_beyond_noise for one in regrets)
    rows = [
        (
            *_call(one.point, one.choice),
            str(one.best),
            f"{one.share:.1%}",
            f"{one.time_s / one.default_s:.2f}" if one.default_s else "-",
        )
        for one in regrets
    ]
    columns = ("collective", "ranks", "size", "choice", "fastest", "regret", "time over default")
    sentence = (
        f"Regret: median {middle:.1%}, worst {worst:.1%}, beyond the noise at {noisy} of {len(regrets)}; slower than "
        f"the default beyond the noise at {slower}."
    ) + (f" The default differs from itself by no more than {noise:.1%} at 95% of these sizes." if noise else "")
    return f"{sentence}\n\n{_table(columns, rows)}"


def _range(bounds: tuple[int, int]) -> str:
    return str(bounds[0]) if bounds[1] == bounds[0] + 1 else f"{bounds[0]} to below {bounds[1]}"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
