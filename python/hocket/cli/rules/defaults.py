"""`hocket rules defaults`: what a library chooses by default."""

from __future__ import annotations

from dataclasses import replace

import click

from hocket.cli.output import print_json
from hocket.cli.printing import put
from hocket.cli.rules.by_machine import given_machine
from hocket.cli.rules.options import command, print_notes
from hocket.definitions.libraries import BY_MACHINE, BY_NODES
from hocket.definitions.machine import Machine
from hocket.rules.nccl.defaults import SOURCE, rules_on
from hocket.rules.tuning_files.decisions import Defaults, defaults_of
from hocket.rules.tuning_files.form import Rules
from hocket.rules.tuning_files.formats import FORMATS, write_rules
from hocket.simulating.library_rules import rules_on_nodes


@command()
def defaults(
    library: str, machine: Machine | None, ranks: tuple[int, ...] | None, ranks_per_node: int, as_json: bool
) -> None:
    """Print the choices that LIBRARY makes without a tuning file, with their source."""
    if library in BY_MACHINE:
        machine = given_machine(machine, library)
        if ranks is None:
            raise click.UsageError(f"--ranks: expected the numbers of ranks for which {library} decides")
        rules = Rules(library, tuple(rule for count in ranks for rule in rules_on(machine, count).rules))
        default_rules = Defaults(library, SOURCE, library, write_rules(rules, FORMATS[library]))
    else:
        default_rules = defaults_of(library)
        for option, value, takers in (("--machine", machine, ()), ("--ranks", ranks, BY_NODES)):
            if value is not None and library not in takers:
                raise click.UsageError(f"{option}: expected none, as {library} does not decide by the machine")
        if ranks is not None:
            source = f"{default_rules.source}; for other nodes the component that takes calls there"
            text = rules_on_nodes(library, ranks, ranks_per_node)
            default_rules = replace(default_rules, source=source, text=text, format="hocket")
    if as_json:
        print_json(vars(default_rules))
        return
    print_notes([f"{default_rules.format} rules: {default_rules.source}"])
    put(default_rules.text)
