"""Messages before long work: how long it will take, or that it needs --yes."""

from __future__ import annotations

from collections.abc import Sequence

import click

from hocket.base.units import format_duration
from hocket.cli.printing import note

_LONG_S = 30.0
_TOO_LONG_S = 600.0

yes_option = click.option(
    "--yes", is_flag=True, help=f"Start even if it takes more than about {format_duration(_TOO_LONG_S)}."
)


def announce(efforts_s: Sequence[float], bound: str = "", *, jobs: int = 1, yes: bool) -> None:
    """Say how long some work takes in total, if it takes long, given the seconds of each piece on one core.

    `bound` is "up to " or "at least " if the seconds are a bound.

    Raises:
        UsageError: The work takes too long to start without --yes.
    """
    time_s = max([*efforts_s, sum(efforts_s) / jobs], default=0.0)
    if time_s > _TOO_LONG_S and not yes:
        limit = format_duration(_TOO_LONG_S)
        raise click.UsageError(
            f"this takes {bound}about {format_duration(time_s)}, expected at most {limit}, or --yes to start it anyway"
        )
    tell(time_s, bound)


def tell(time_s: float, bound: str = "") -> None:
    """Say about how long work takes, or takes up to or at least, if it takes long."""
    if time_s >= _LONG_S:
        note(f"this takes {bound}about {format_duration(time_s)}")
