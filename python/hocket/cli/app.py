"""The commands, and their common options."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from hocket.cli.compare import compare
from hocket.cli.list import list_algorithms
from hocket.cli.machines import machines
from hocket.cli.mpi import mpi
from hocket.cli.record import record
from hocket.cli.replay import replay
from hocket.cli.show import show
from hocket.cli.simulate import simulate
from hocket.cli.study import study
from hocket.cli.sweep import sweep
from hocket.cli.verify import verify
from hocket.version import version

__all__ = ["ClosedPipeError", "InterruptedByUserError", "hocket"]


class InterruptedByUserError(Exception):
    """The user pressed Ctrl-C."""


class ClosedPipeError(Exception):
    """Whoever read the output has gone."""


@contextmanager
def _named() -> Iterator[None]:
    """What is neither the result of a command nor its error gets a name before click prints anything."""
    try:
        yield
    except KeyboardInterrupt:
        raise InterruptedByUserError from None
    except BrokenPipeError:
        raise ClosedPipeError from None


class _Commands(click.Group):
    def make_context(self, *arguments: Any, **more: Any) -> click.Context:
        """Read the command line; --help and --version print already here."""
        with _named():
            return super().make_context(*arguments, **more)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with _named():
            return super().invoke(ctx)


@click.group(cls=_Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version(), message="%(prog)s %(version)s")
@click.pass_context
def hocket(ctx: click.Context) -> None:
    """Collective-communication algorithms: written once, then verified, priced, simulated and run."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


for command in (compare, list_algorithms, machines, mpi, record, replay, show, simulate, study, sweep, verify):
    hocket.add_command(command)
