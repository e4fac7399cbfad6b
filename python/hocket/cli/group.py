"""A group of commands. Each command is loaded when it runs, because its imports take longer than printing help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import groupby
from typing import Any

import click

from hocket.base.checks import unknown
from hocket.base.files import read_rows


def commands_of(group: str) -> list[dict[str, str]]:
    """Return the commands of a group; of none, those of `hocket` itself."""
    return [row for row in read_rows(__file__, "commands.csv") if row["group"] == group]


class Group(click.Group):
    """Commands in modules of a package, of the same names; a stand-in represents each command until it runs.

    The rows have the section of help where each command is, its name, and its summary.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        package: str,
        rows: Sequence[Mapping[str, str]],
        **more: Any,
    ) -> None:
        stand_ins = [click.Command(row["command"], help=row["summary"]) for row in rows]
        super().__init__(name, sorted(stand_ins, key=lambda each: str(each.name)), **more)
        self._package = package
        self._rows = rows

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Print help if there are no words."""
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write all summaries in full."""
        width = max(len(row["command"]) for row in self._rows)
        for title, rows in groupby(self._rows, key=lambda row: row["section"]):
            with formatter.section(title):
                formatter.write_dl([(row["command"].ljust(width), row["summary"]) for row in rows])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the words name, loaded, and the words after its name."""
        if args[0] not in self.commands and not args[0].startswith("-"):
            raise click.UsageError(str(unknown("command", args[0], self.commands)), ctx)
        name, stand_in, rest = super().resolve_command(ctx, args)
        return name, stand_in and self.load(str(name)), rest

    def load(self, name: str) -> click.Command:
        """Load and return a command."""
        commands = vars(import_module(f"{self._package}.{name}")).values()
        return next(each for each in commands if isinstance(each, click.Command) and each.name == name)


class CommandGroup(Group):
    """A group that is also a command: its argument comes first, unless a subcommand is named there."""

    allow_extra_args = False
    allow_interspersed_args = True

    def __init__(self, name: str | None = None, **more: Any) -> None:
        super().__init__(name, invoke_without_command=True, **more)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Read the words of a subcommand, or the group's own words."""
        if args and args[0] in self.commands:
            return self.load(args[0]).make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)
