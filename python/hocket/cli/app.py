"""The commands, and their common options."""

from __future__ import annotations

import click

from hocket.base.version import VERSION, commit
from hocket.cli.group import Group, commands_of


class _Commands(Group):
    def load(self, name: str) -> click.Command:
        """Load and return a command, of Hocket or of a package beside it."""
        from hocket.cli.packages import COMMANDS, load_command

        return load_command(name) if name in COMMANDS else super().load(name)


@click.group(
    cls=_Commands,
    package="hocket.cli",
    rows=commands_of(""),
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(f"{VERSION} (commit {commit()})", message="%(prog)s %(version)s")
def hocket() -> None:
    """Collective-communication algorithms: written once, then verified, priced, simulated and run."""
