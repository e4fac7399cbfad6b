"""Options that several commands of `hocket mpi` share."""

from __future__ import annotations

from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from hocket.cli.options import F, OneOf
from hocket.cli.output import tell_people
from hocket.cli.printing import note
from hocket.definitions.mpi_products import PRODUCTS
from hocket.mpi import Installation
from hocket.mpi.launch import LOGS, Launcher, note_for_root, on_hosts

if TYPE_CHECKING:
    from hocket.cli.packages import Lab


def installation_options(command: F) -> F:
    """Add the options of `mpi_options`; pass `installation` to the command."""

    @mpi_options
    @wraps(command)
    def with_installation(mpi: str | None, mpicc: str | None, launcher: str | None, **more: Any) -> Any:
        return command(installation=found_installation(mpi, mpicc, launcher), **more)

    return with_installation  # type: ignore[return-value]


def mpi_options(command: F) -> F:
    """Add --mpi, --mpicc and --launcher, from which `found_installation` finds the MPI."""
    mpi = click.option("--mpi", type=OneOf(list(PRODUCTS)), help="The MPI to use; it is looked up on the path.")
    mpicc = click.option("--mpicc", help="The compiler wrapper of the MPI; by default the first on the path.")
    launcher = click.option(
        "--launcher",
        help="How ranks are started, such as 'srun --mpi=pmi2 -n {ranks}'; by default as HOCKET_LAUNCHER says, by the "
        "launcher of the allocation, or by the mpiexec beside the wrapper.",
    )
    return mpi(mpicc(launcher(command)))


def found_installation(mpi: str | None, mpicc: str | None, launcher: str | None) -> Installation:
    """Return the MPI that --mpi, --mpicc and --launcher choose, and say what is special about it.

    Raises:
        Error: There is no such MPI.
    """
    if mpi is None:
        installation = Installation.find(mpicc, launcher)
    elif mpicc:
        raise click.UsageError("--mpi: cannot be combined with --mpicc")
    else:
        installation = Installation.of_product(mpi, launcher)
    if installation.note is not None:
        note(installation.note)
    return replace(installation, on_compiling=tell_people)


lab_option = click.option(
    "--lab", help="Run in a lab: the name of one that is up, or a machine file to build one for this command."
)
hosts_option = click.option("--hosts", help="The hosts of the ranks, separated by commas; by default this host.")


def measuring_options(command: F) -> F:
    """Add the options of the MPI, --hosts and --lab; pass `installation`, `launcher` and `lab` to the command."""

    @hosts_option
    @lab_option
    @wraps(command)
    def with_launcher(installation: Installation, hosts: str | None, lab: str | None, **more: Any) -> Any:
        launcher, entered_lab = launcher_for(installation, hosts, lab)
        return command(installation=installation, launcher=launcher, lab=entered_lab, **more)

    return installation_options(with_launcher)  # type: ignore[return-value]


def launcher_for(installation: Installation, hosts: str | None, lab: str | None) -> tuple[Launcher, Lab | None]:
    """Return the launcher for hosts, or for a lab, and the lab, which exists until the command ends.

    Raises:
        Error: There is no such lab, or it cannot be built.
    """
    if lab is None:
        say_what_root_lacks(installation)
        return on_hosts(hosts), None
    if hosts is not None:
        raise click.UsageError("--hosts: cannot be combined with --lab")
    from hocket.cli.packages import in_lab

    entered_lab = click.get_current_context().with_resource(in_lab(lab))
    return entered_lab.command, entered_lab


def say_what_root_lacks(installation: Installation) -> None:
    """Say what Open MPI needs to start programs as root."""
    if (lack := note_for_root(installation)) is not None:
        note(lack)


def rules_options(command: F) -> F:
    """Add --rule and --rules."""
    rule = click.option(
        "--rule",
        "rules",
        multiple=True,
        help="A rule, such as 'allreduce[size=64KiB..]: ring'; may be given several times.",
    )
    file = click.option(
        "--rules", "file", help="A file of rules, or mpich-5.0 or openmpi-5.0; --rule takes precedence."
    )
    return rule(file(command))


def rule_options(command: F) -> F:
    """Add --rule, --rules and --log."""
    log = click.option(
        "--log", type=OneOf(LOGS), help="Log calls by algorithm and calls left to MPI: counts, or every call."
    )
    return rules_options(log(command))
