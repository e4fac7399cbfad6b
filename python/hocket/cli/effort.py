"""What commands say before long work: how long it will take, or that they do not begin it without --yes."""

from __future__ import annotations

from collections.abc import Sequence

import click

from hocket.base.units import format_duration

__all__ = ["announce", "tell", "yes_option"]

_LONG_S = 30.0
_TOO_LONG_S = 600.0

yes_option = click.option(
    "--yes", is_flag=True, help=f"Begin also what takes more than about {format_duration(_TOO_LONG_S)}."
)


def announce(efforts_s: Sequence[float], *, jobs: int = 1, yes: bool) -> None:
    """Say how long some pieces of work take together, if that is long.

    Args:
        efforts_s: How long each takes on one core, in seconds.
        jobs: How many are worked on at a time.
        yes: Whether the user agrees to wait.

    Raises:
        UsageError: They take longer than anybody waits unasked, and the user does not agree.
    """
    time_s = max([*efforts_s, sum(efforts_s) / jobs], default=0.0)
    if time_s > _TOO_LONG_S and not yes:
        limit = format_duration(_TOO_LONG_S)
        raise click.UsageError(
            f"this takes about {format_duration(time_s)}, expected at most {limit}, or --yes to begin it all the same"
        )
    tell(time_s)


def tell(time_s: float, up_to: str = "") -> None:
    """Say about how long work takes, or may take at most, if that is long."""
    if time_s >= _LONG_S:
        click.echo(f"hocket: this takes {up_to}about {format_duration(time_s)}", err=True)
