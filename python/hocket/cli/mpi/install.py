"""`hocket mpi install`: install the library for all users of a machine."""

from __future__ import annotations

from typing import Any

from hocket.cli.mpi.options import command
from hocket.cli.output import print_facts, print_json
from hocket.cli.printing import say
from hocket.mpi import Installation
from hocket.mpi.installing import install as install_library
from hocket.mpi.launch import joined_rules


@command(library_options=("job_logs", "requires", "name"))
def install(
    prefix: str,
    rules: tuple[str, ...],
    file: str | None,
    library_options: dict[str, Any],
    installation: Installation,
    as_json: bool,
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
