"""`hocket mpi install`: install the library for all users of a machine."""

from __future__ import annotations

from typing import Any

import click

from hocket.cli import options
from hocket.cli.mpi.options import installation_options, rules_options
from hocket.cli.output import print_facts, print_json
from hocket.cli.printing import say
from hocket.mpi import Installation
from hocket.mpi.installing import install as install_library
from hocket.mpi.launch import joined_rules


@click.command()
@click.option(
    "--prefix", required=True, type=click.Path(), help="The folder to install into; it can serve several MPIs."
)
@rules_options
@click.option("--job-logs", type=click.Path(), help="The folder for job logs; by default no logs are written.")
@click.option("--requires", help="The MPI's module, which users have to load first.")
@click.option("--name", help="Name and version of the MPI; by default such as mpich-5.0.2.")
@installation_options
@options.as_json
def install(
    installation: Installation,
    prefix: str,
    rules: tuple[str, ...],
    file: str | None,
    as_json: bool,
    **library_options: Any,
) -> None:
    """Install the library for one MPI, rules and a module file for all users of a machine.

    For an MPICH with two ABIs (mpicc and mpicc_abi) it installs a library for each; the name of the standard ABI's
    library ends with "-abi".
    """
    text = joined_rules(rules, file) if rules or file is not None else None

    def describe(one: Installation) -> dict[str, str]:
        library = install_library(one, prefix, rules=text, **library_options)
        paths = {what: str(path) for what, path in vars(library).items() if what != "name"}
        return {"mpi": one.library, **paths, "load": library.load}

    other = installation.other_abi()
    facts, facts_of_other = describe(installation), None if other is None else describe(other)
    if as_json:
        print_json({**facts, "other_abi": facts_of_other})
        return
    print_facts(facts.items())
    if facts_of_other is not None:
        say()
        print_facts(facts_of_other.items())
