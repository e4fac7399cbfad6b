"""Options of several commands of `hocket mpi`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

import click

from hocket.cli.options import OneOf
from hocket.mpi import Installation
from hocket.mpi.installation import KINDS
from hocket.mpi.launch import LOGS, note_for_root, on_hosts

__all__ = [
    "found_installation",
    "installation_options",
    "launch_options",
    "measuring_options",
    "rule_options",
    "rules_options",
    "working",
]

F = TypeVar("F", bound=Callable[..., Any])


def installation_options(command: F) -> F:
    """Add --mpi, --mpicc and --mpiexec; the command is given `installation`."""

    @click.option("--mpi", type=OneOf(list(KINDS)), help="An MPI of this kind, of those on the path.")
    @click.option("--mpicc", help="The compiler wrapper of the MPI; by default the first on the path.")
    @click.option("--mpiexec", help="Its launcher; by default the one beside the wrapper.")
    @wraps(command)
    def found(*arguments: Any, mpi: str | None, mpicc: str | None, mpiexec: str | None, **more: Any) -> Any:
        return command(*arguments, installation=found_installation(mpi, mpicc, mpiexec), **more)

    return found  # type: ignore[return-value]


def found_installation(mpi: str | None, mpicc: str | None, mpiexec: str | None) -> Installation:
    """Return the MPI that --mpi, --mpicc and --mpiexec name.

    Raises:
        Error: There is none.
    """
    if mpi is None:
        return Installation.find(mpicc, mpiexec)
    if mpicc or mpiexec:
        raise click.UsageError("--mpi: expected neither --mpicc nor --mpiexec beside it")
    return Installation.named(mpi)


def launch_options(command: F) -> F:
    """The same of commands that start programs: what Open MPI would refuse is said before."""

    @wraps(command)
    def noted(*arguments: Any, installation: Installation, **more: Any) -> Any:
        note = note_for_root(installation)
        if note is not None:
            click.echo(f"hocket: {note}", err=True)
        return command(*arguments, installation=installation, **more)

    return installation_options(noted)  # type: ignore[return-value]


def measuring_options(command: F) -> F:
    """The same of commands that measure, and --hosts; the command is given `launcher`, too."""

    @click.option("--hosts", help="The hosts of the ranks, separated by commas; by default this one.")
    @wraps(command)
    def placed(*arguments: Any, hosts: str | None, **more: Any) -> Any:
        return command(*arguments, launcher=on_hosts(hosts), **more)

    return launch_options(placed)  # type: ignore[return-value]


@contextmanager
def working(label: str) -> Iterator[None]:
    """Say on stderr what goes on, if that is a terminal."""
    from rich.console import Console

    with Console(stderr=True).status(label):
        yield


def rules_options(command: F) -> F:
    """Add --rule and --rules."""
    options = (
        click.option(
            "--rule",
            "rules",
            multiple=True,
            help="Which algorithm calls get, as 'allreduce[size=64KiB..]: ring'; may be given several times.",
        ),
        click.option("--rules", "file", help="A file of rules, tried after those of --rule, or mpich-5 or openmpi-5."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def rule_options(command: F) -> F:
    """Add --rule, --rules and --log."""
    log = click.option(
        "--log", type=OneOf(LOGS), help="Calls by algorithm, and calls left to MPI: counts, or every call."
    )
    return rules_options(log(command))
