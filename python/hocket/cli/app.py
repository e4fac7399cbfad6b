"""The commands, and what holds for all of them."""

from __future__ import annotations

from typing import Any

import click

from hocket.cli.compare import compare
from hocket.cli.list import list_algorithms
from hocket.cli.machines import machines
from hocket.cli.record import record
from hocket.cli.show import show
from hocket.cli.simulate import simulate
from hocket.cli.sweep import sweep
from hocket.cli.verify import verify
from hocket.version import version

__all__ = ["ClosedPipeError", "InterruptedByUserError", "hocket"]


class InterruptedByUserError(Exception):
    """The user pressed Ctrl-C."""


class ClosedPipeError(Exception):
    """Whoever read the output has gone."""


class _Commands(click.Group):
    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what is neither its result nor its error gets a name before click prints anything."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise InterruptedByUserError from None
        except BrokenPipeError:
            raise ClosedPipeError from None


@click.group(cls=_Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version(), message="%(prog)s %(version)s")
@click.pass_context
def hocket(ctx: click.Context) -> None:
    """Collective-communication algorithms: written once, then verified, priced, simulated and run."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


for command in (compare, list_algorithms, machines, record, show, simulate, sweep, verify):
    hocket.add_command(command)
