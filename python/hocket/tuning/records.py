"""The findings at points, in a file that survives an interruption: a line of JSON for each finished point."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from pathlib import Path
from typing import Any

from hocket._native import Error
from hocket.base.files import make_folder, parse_object
from hocket.base.line_file import LineFile
from hocket.tuning.choice import Choice, Estimate, Point, choice_of

_FORMAT = 4


@dataclass(frozen=True)
class PointRecord:
    """The findings at a point."""

    point: Point
    times: Mapping[Choice, Estimate]  # the times of choices: measured, or simulated if nothing was measured
    # The samples of each measured choice, one per call.
    samples_s: Mapping[Choice, tuple[float, ...]] = field(default_factory=dict)
    predicted_s: Mapping[Choice, float] = field(default_factory=dict)  # the machine's predictions for choices
    omissions: Mapping[Choice, str] = field(default_factory=dict)  # choices that were not measured, with reasons
    is_decided: bool = True  # whether the times are known well enough for a decision
    is_simulated: bool = False  # whether the times are simulated; then nothing is confirmed
    # For choices that were measured again beside the default: the ratio of their time to its time, at each moment.
    ratios: Mapping[Choice, tuple[float, ...]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            **vars(self.point),
            "is_decided": self.is_decided,
            "is_simulated": self.is_simulated,
            "choices": [
                {
                    **choice.as_dict(),
                    "median_s": one.median_s,
                    "low_s": one.low_s,
                    "high_s": one.high_s if isfinite(one.high_s) else None,
                    "predicted_s": self.predicted_s.get(choice),
                    "samples_s": list(self.samples_s.get(choice, ())),
                }
                for choice, one in self.times.items()
            ],
            "not_measured": [
                {**choice.as_dict(), "predicted_s": self.predicted_s.get(choice), "reason": reason}
                for choice, reason in self.omissions.items()
            ],
            "beside_default": [{**choice.as_dict(), "ratios": list(ratios)} for choice, ratios in self.ratios.items()],
        }

    @staticmethod
    def of(data: Mapping[str, Any]) -> PointRecord:
        """Return the findings from plain data."""
        choices_data, others = data["choices"], data["not_measured"]
        return PointRecord(
            point=Point(data["collective"], data["ranks"], data["size_bytes"]),
            times={choice_of(one): _estimate(one) for one in choices_data},
            samples_s={choice_of(one): tuple(one["samples_s"]) for one in choices_data if one["samples_s"]},
            predicted_s={choice_of(one): one["predicted_s"] for one in (*choices_data, *others) if one["predicted_s"]},
            omissions={choice_of(one): one["reason"] for one in others},
            is_decided=data["is_decided"],
            is_simulated=data["is_simulated"],
            ratios={choice_of(one): tuple(one["ratios"]) for one in data["beside_default"]},
        )


def _estimate(data: Mapping[str, Any]) -> Estimate:
    """Return an estimate from plain data. JSON has no infinity: with too few samples, an interval has no upper end."""
    high_s = data["high_s"]
    return Estimate(data["median_s"], data["low_s"], inf if high_s is None else high_s)


class Records:
    """The finished points, and the file that keeps them.

    The first line of the file says what the file is about: the source of the times. A file with another source is
    refused. The file and its folder are made if necessary. Work that fails before the first point is done leaves
    nothing behind.
    """

    def __init__(self, path: str | Path, about: Mapping[str, Any]) -> None:
        self.by_point: dict[Point, PointRecord] = {}
        self._file = LineFile(path)
        self._header = {"hocket": "tune", **about, "format": _FORMAT}

    def __enter__(self) -> Records:
        folder = self._file.path.parent
        self._is_new_folder = not folder.exists()
        make_folder(folder)
        self._file.__enter__()
        try:
            self._read()
        except BaseException:
            self._file.__exit__()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and not self.by_point:
            self._file.remove()
            if self._is_new_folder:
                self._file.path.parent.rmdir()
        self._file.__exit__()

    def select(self, points: Iterable[Point]) -> list[PointRecord]:
        """Return the findings at those points that are finished."""
        return [self.by_point[point] for point in points if point in self.by_point]

    def add(self, record: PointRecord) -> None:
        """Add a point."""
        self.by_point[record.point] = record
        self._file.add(record.as_dict())

    def _read(self) -> None:
        lines = self._file.lines
        if first := lines[0] if lines else self._file.cut_off:
            self._check(first)
        if not lines:
            self._file.add(self._header)
        for number, line in enumerate(lines[1:], start=2):
            where = f"{self._file.path}:{number}"
            try:
                rules = PointRecord.of(parse_object(line, where))
            except (KeyError, TypeError, AttributeError):
                raise Error(
                    f"{where}: got {line[:60].decode(errors='replace')!r}, expected the measurements of a call"
                ) from None
            self.by_point[rules.point] = rules

    def _check(self, first: bytes) -> None:
        try:
            header = parse_object(first, str(self._file.path))
        except Error:
            header = {}
        if header != self._header:
            raise Error(
                f"{self._file.path}: got measurements of {_header_text(header)}, expected {_header_text(self._header)}"
            )


def _header_text(header: Mapping[str, Any]) -> str:
    if header.get("hocket") != "tune":
        return "something else"
    return ", ".join(f"{name} {value}" for name, value in header.items() if name != "hocket")
