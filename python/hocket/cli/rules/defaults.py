"""`hocket rules defaults`: what a library chooses by default."""

from __future__ import annotations

import click

from hocket.cli import options
from hocket.cli.output import print_json
from hocket.cli.printing import put
from hocket.cli.rules.by_machine import given_machine, machine_option
from hocket.cli.rules.options import print_notes
from hocket.definitions.libraries import BY_MACHINE, DEFAULTS
from hocket.definitions.machine import Machine
from hocket.rules.nccl.defaults import SOURCE, rules_on
from hocket.rules.tuning_files.decisions import Defaults, defaults_of
from hocket.rules.tuning_files.form import Rules
from hocket.rules.tuning_files.formats import FORMATS, write_rules


@click.command()
@click.argument("library", metavar=f"[{'|'.join((*DEFAULTS, *BY_MACHINE))}]")
@machine_option
@click.option(
    "--ranks", "-n", type=options.RANK_COUNTS, help=f"For {' and '.join(BY_MACHINE)}: the rank counts, such as 8,16."
)
@options.as_json
def defaults(library: str, machine: Machine | None, ranks: tuple[int, ...] | None, as_json: bool) -> None:
    """Print the choices that LIBRARY makes without a tuning file, with their source."""
    if library not in BY_MACHINE:
        for option, value in (("--machine", machine), ("--ranks", ranks)):
            if value is not None:
                raise click.UsageError(f"{option}: expected none, as {library} does not decide by the machine")
        default_rules = defaults_of(library)
    else:
        default_rules = _on(given_machine(machine, library), ranks, library)
    if as_json:
        print_json(vars(default_rules))
        return
    print_notes([f"{default_rules.format} rules: {default_rules.source}"])
    put(default_rules.text)


def _on(machine: Machine, ranks: tuple[int, ...] | None, library: str) -> Defaults:
    if ranks is None:
        raise click.UsageError(f"--ranks: expected the numbers of ranks for which {library} decides")
    rules = Rules(library, tuple(rule for count in ranks for rule in rules_on(machine, count).rules))
    return Defaults(library, SOURCE, library, write_rules(rules, FORMATS[library]))
