"""Messages before long work: how long it will take, or that it needs --yes."""

from __future__ import annotations

from collections.abc import Iterable
from time import monotonic

import click

from hocket.base.units import format_duration
from hocket.cli.printing import note

_LONG_S = 30.0
TOO_LONG_S = 600.0
_MOST_S_TO_REFUSE = 1.0


def announce(efforts_s: Iterable[float], bound: str = "", *, jobs: int = 1, yes: bool) -> None:
    """Say how long some work takes in total, if it takes long, given the seconds of each piece on one core.

    `bound` is "up to " or "at least " if the seconds are a bound. Work that takes too long to start without --yes is
    refused soon, also if its other pieces have not been estimated then.
    """
    begin_s = monotonic()
    longest_s = total_s = time_s = 0.0
    more = ""
    for effort_s in efforts_s:
        longest_s, total_s = max(longest_s, effort_s), total_s + effort_s
        time_s = max(longest_s, total_s / jobs)
        if time_s > TOO_LONG_S and not yes and monotonic() - begin_s > _MOST_S_TO_REFUSE:
            more = " or more"
            break
    if time_s > TOO_LONG_S and not yes:
        time_text, limit = f"{bound}about {format_duration(time_s)}{more}", format_duration(TOO_LONG_S)
        raise click.UsageError(f"this takes {time_text}, expected at most {limit}, or --yes to start it anyway")
    tell(time_s, bound)


def tell(time_s: float, bound: str = "") -> None:
    """Say about how long work takes, or takes up to or at least, if it takes long."""
    if time_s >= _LONG_S:
        note(f"this takes {bound}about {format_duration(time_s)}")
