"""What the validation writes: a table for a page, and data."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from hocket.base.version import VERSION
from hocket_studies.validation.comparison import Comparison

COLUMNS = ("beside", "cases", "median", "interval", "worst", "not comparable, and why")
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Run:
    """When and where it was.

    Attributes:
        date: The day.
        processors: How many.
        model: What the system calls them.
        system: Its kernel.
        versions: Names and versions of all that took part.
    """

    date: str
    processors: int
    model: str
    system: str
    versions: dict[str, str]


def facts(comparisons: Iterable[Comparison]) -> Run:
    """Return when and where this is run, and what took part."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.*)", info.read_text()) if info.exists() else None
    versions = {"Hocket": VERSION, "Python": platform.python_version()}
    for one in comparisons:
        versions |= one.versions
    return Run(
        date.today().isoformat(),
        os.cpu_count() or 1,
        found[1] if found else platform.processor() or platform.machine(),
        f"{platform.system()} {platform.release()}",
        versions,
    )


def share(value: float | None) -> str:
    """Return a deviation for people."""
    if value is None:
        return "-"
    if value < _ROUNDING:
        return f"{value:.0e}" if value else "0"
    return f"{value:.2%}" if value < 0.1 else f"{value:.0%}"


def cells(one: Comparison) -> tuple[str, ...]:
    """Return a comparison as the cells of a table, in the order of `COLUMNS`."""
    if one.why_not is not None:
        return (one.source, "not run", "-", "-", "-", f"not run: {one.why_not}. {one.incomparable}")
    interval = " to ".join(map(share, one.interval)) if one.interval else "-"
    measured = f"; measured to {share(one.reach)}" if one.reach is not None else ""
    worst = f"{share(one.sizes[-1])} ({one.worst.name})" if one.worst else "-"
    about = f"{one.source}: {one.remark}{measured}" if one.remark else one.source
    return (about, str(len(one.cases)), share(one.median), interval, worst, one.incomparable)


def markdown(comparisons: Sequence[Comparison], run: Run) -> str:
    """Return the table as a page has it, below when and where it was made."""
    versions = ", ".join(f"{name} {text}" for name, text in run.versions.items())
    head = f"{run.date}; {run.processors} processors, {run.model}; {run.system}; {versions}."
    lines = [COLUMNS, ("---",) * len(COLUMNS), *map(cells, comparisons)]
    rows = (f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
    return "\n".join([head, "", *rows]) + "\n"


def as_data(comparisons: Sequence[Comparison], run: Run) -> dict[str, Any]:
    """Return all as plain data, with every case."""
    rows = [{**one.as_data(), "all_cases": [asdict(case) for case in one.cases]} for one in comparisons]
    return {"run": asdict(run), "rows": rows}
