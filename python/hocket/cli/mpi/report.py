"""`hocket mpi report`: show what jobs called, and which algorithms answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hocket._native import Error
from hocket.base.checks import unknown
from hocket.base.units import format_bytes, format_count, format_time
from hocket.cli.command import command
from hocket.cli.output import answer, print_facts, print_table, progress, with_version
from hocket.cli.printing import note, say
from hocket.cli.values import Read
from hocket.mpi.job_logs import GROUPS, Report, ReportRow, log_files, read_job_log

_NUMBERS = ("jobs", "calls", "data", "time", "share", "per call")
_UNKNOWN = "-"


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in GROUPS:
            raise unknown("column", name, GROUPS)
    return names


@command(fields={"groups": ", ".join(GROUPS)}, criteria=Read(_names, name="NAMES"))
def report(logs: tuple[str, ...], criteria: tuple[str, ...], top: int, skip_damaged: bool, as_json: bool) -> None:
    """Add up job logs that programs wrote under HOCKET_JOB_LOG, given as files or folders.

    Rows are sorted by the time inside their calls, added up over all ranks.
    """
    paths = log_files(logs)
    totals, left = Report(criteria), Report(("function", "reason"))
    skipped_count = 0
    with progress("reading", len(paths)) as bar:
        for path in paths:
            try:
                log = read_job_log(path)
            except Error as error:
                if not skip_damaged:
                    raise
                skipped_count += 1
                with bar.hide():
                    note(f"skipped: {error}")
            else:
                totals.add(log)
                left.add(log)
            bar()
    reasons = [row for row in left.rows if row.group["reason"] is not None]
    entry = {
        "jobs": totals.jobs,
        "skipped": skipped_count,
        **{name: getattr(totals, name) for name in ("first", "last", "rank_s", "time_s")},
        "by": list(totals.criteria),
        "rows": [_row(row) for row in totals.rows],
        "left_to_mpi": [_row(row) for row in reasons],
    }
    answer(with_version(entry), _print, totals, reasons, skipped_count, top, as_json=as_json)


def _row(row: ReportRow) -> dict[str, Any]:
    names = {("size_from_bytes" if name == "size" else name): value for name, value in row.group.items()}
    use = row.use
    return {
        **names,
        "jobs": use.jobs,
        "calls": use.calls,
        "bytes": use.bytes,
        "time_s": use.time_s if use.timed_calls else None,
        "mean_s": use.mean_s,
        "share": row.share,
    }


def _print(totals: Report, reasons: list[ReportRow], omissions: int, top: int) -> None:
    if omissions:
        say(f"{format_count(omissions, 'file')} skipped")
    if not totals.jobs:
        return
    say(format_count(totals.jobs, "job"), bold=True)
    facts = [
        ("began", totals.first if totals.first == totals.last else f"{totals.first} to {totals.last}"),
        ("ranks", f"{_hours(totals.rank_s)} from MPI_Init to MPI_Finalize"),
        ("collectives", f"{_hours(totals.time_s)}, {totals.time_s / totals.rank_s:.1%}" if totals.rank_s else "none"),
    ]
    print_facts([(name, value) for name, value in facts if value])
    _print_rows(totals.criteria, totals.rows, top)
    if reasons:
        say("\nleft to MPI", bold=True)
        _print_rows(("function", "reason"), tuple(reasons), top)


def _hours(time_s: float) -> str:
    """Return a time added up over all ranks, in hours."""
    return f"{time_s / 3600:.4g} rank hours" if time_s >= 3600 else f"{time_s:.4g} rank seconds"


def _print_rows(names: Sequence[str], rows: tuple[ReportRow, ...], top: int) -> None:
    if not rows:
        return
    cells = [[*(_cell(name, row.group[name]) for name in names), *_numbers(row)] for row in rows[:top]]
    print_table([*names, *_NUMBERS], cells, right=["size", "ranks", *_NUMBERS])
    if rest := rows[top:]:
        share = sum(row.share for row in rest)
        say(f"{format_count(len(rest), 'more row')} with {share:.1%} of the time: see --top and --json")


def _cell(name: str, value: Any) -> str:
    if name == "algorithm":
        return value or "left to MPI"
    if value is None:
        return _UNKNOWN
    if name != "size":
        return str(value)
    return f"{format_bytes(value)}.." if value else "0 B"


def _numbers(row: ReportRow) -> list[str]:
    use = row.use
    is_timed = use.timed_calls > 0
    return [
        str(use.jobs),
        str(use.calls),
        format_bytes(use.bytes),
        format_time(use.time_s) if is_timed else _UNKNOWN,
        f"{row.share:.1%}" if is_timed else _UNKNOWN,
        format_time(use.mean_s) if use.mean_s is not None else _UNKNOWN,
    ]
