"""`hocket rules defaults`: what a library chooses by default."""

from __future__ import annotations

import click

from hocket.cli import options
from hocket.cli.output import print_json
from hocket.cli.printing import put
from hocket.cli.rules.options import print_notes
from hocket.definitions.libraries import DEFAULTS
from hocket.rules.tuning_files.decisions import defaults_of


@click.command()
@click.argument("library", metavar=f"[{'|'.join(DEFAULTS)}]")
@options.as_json
def defaults(library: str, as_json: bool) -> None:
    """Print the choices that LIBRARY makes without a tuning file, with their source."""
    default_rules = defaults_of(library)
    if as_json:
        print_json(vars(default_rules))
        return
    print_notes([f"{default_rules.format} rules: {default_rules.source}"])
    put(default_rules.text)
