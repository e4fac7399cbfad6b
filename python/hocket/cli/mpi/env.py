"""`hocket mpi env`: print variables for your own launcher."""

from __future__ import annotations

import shlex

from hocket.cli.mpi.options import command
from hocket.cli.output import print_json
from hocket.cli.printing import say
from hocket.mpi import Installation, environment, saved_rules


@command()
def env(rules: tuple[str, ...], file: str | None, log: str | None, installation: Installation, as_json: bool) -> None:
    """Print the environment variables that make a program follow the rules, for your own launcher."""
    variables = environment(installation, saved_rules(rules, file), log)
    if as_json:
        print_json(variables)
        return
    for name, value in variables.items():
        say(f"export {name}={shlex.quote(value)}" if value else f"unset {name}")
