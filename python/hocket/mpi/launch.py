"""Starting a program with the library preloaded."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeGuard

from hocket._native import Error, check_rules
from hocket.base import files
from hocket.base.processors import processors
from hocket.mpi.installation import Installation, build, own_folder
from hocket.mpi.launchers import number_of_nodes
from hocket.rules.choosing import rules_text

Launcher: TypeAlias = Callable[[Installation, int, Sequence[str], Mapping[str, str]], list[str]]
"""Returns the command that runs a program on a number of ranks, as `command` does."""

LOGS = ("summary", "calls")
"""The values of HOCKET_LOG."""

_CROWD_ENVIRONMENT = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
    "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
"""For more ranks than processors: MPICH must yield while it waits, and Open MPI must not refuse."""

_KILL_BAD_EXIT = "SLURM_KILL_BAD_EXIT"
_ENV = shutil.which("env") or "env"  # by its path, as a launcher may pass on no PATH
_AS_ROOT = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")


def joined_rules(rules: Sequence[str], file: str | None = None) -> str:
    """Return the text of valid rules: `rules` first, then of `file`, a path or a library's name; refuse others."""
    check_rules("\n".join(rules), "--rule")
    text = "".join(f"{rule}\n" for rule in rules)
    if file is not None:
        more = rules_text(file)
        check_rules(more, file)
        text += more
        check_rules(text, f"--rule and {file} together")
    return text


def saved_rules(rules: Sequence[str], file: str | None = None) -> Path | None:
    """Check rules and return a file with them, as in `joined_rules`; None if there are no rules."""
    text = joined_rules(rules, file)
    if not text:
        return None
    path = own_folder() / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.rules"
    files.write(str(path), text)
    return path


def environment(installation: Installation, rules: Path | None, log: str | None = None) -> dict[str, str]:
    """Return the environment variables that make a program follow the rules; an empty variable counts as not set."""
    library = build(installation)
    others = [path for path in os.environ.get("LD_PRELOAD", "").split() if Path(path).name != library.name]
    preload = " ".join([str(library), *others])
    return {"LD_PRELOAD": preload, "HOCKET_RULES": str(rules) if rules else "", "HOCKET_LOG": log or ""}


def note_for_root(installation: Installation) -> str | None:
    """Return a note on starting programs as root, if Open MPI refuses it because a variable is not set."""
    is_refused = installation.family == "openmpi" and installation.launcher.is_of_mpi and os.geteuid() == 0
    missing = [name for name in _AS_ROOT if os.environ.get(name) != "1"]
    if not (is_refused and missing):
        return None
    return (
        f"Open MPI refuses to run as root: set {' '.join(f'{name}=1' for name in missing)}, "
        "or give its mpiexec --allow-run-as-root"
    )


def environment_of_crowd(ranks: int) -> Mapping[str, str]:
    """Return environment variables for more ranks than processors on this machine; empty if there are not more."""
    is_crowd = ranks > processors()
    return {name: value for name, value in _CROWD_ENVIRONMENT.items() if is_crowd and name not in os.environ}


def command(
    installation: Installation,
    ranks: int,
    program: Sequence[str],
    variables: Mapping[str, str],
    *,
    hosts: str | None = None,
) -> list[str]:
    """Return the command that runs a program on a number of ranks; only the program sees the variables.

    The program ends if its job has another number of ranks. No program is refused, and ranks that cannot be placed.
    """
    if not program:
        raise Error("no program, expected a program after --")
    settings = [f"{name}={value}" for name, value in {**variables, "HOCKET_RANKS": str(ranks)}.items()]
    by_shell = ["sh", "-c", 'exec "$0" "$@"'] if "=" in program[0] else []  # else env takes the name for a variable
    return [*installation.launcher.fill(ranks, hosts, installation.family), _ENV, *settings, *by_shell, *program]


def on_hosts(hosts: str | None) -> Launcher:
    """Return the launcher for hosts, separated by commas, or for where the MPI's launcher puts the ranks."""
    return partial(command, hosts=hosts) if hosts else command


def _is_on_hosts(launcher: Launcher) -> TypeGuard[partial[list[str]]]:
    return isinstance(launcher, partial) and launcher.func is command


def is_here(installation: Installation, launcher: Launcher) -> bool:
    """Return whether a launcher starts all ranks by one process of this host, which this process can see."""
    return launcher is command and installation.launcher.is_here


def is_crowded(installation: Installation, launcher: Launcher, ranks: int) -> bool:
    """Return whether a node may have more ranks than processors, if all nodes are like this host."""
    hosts = launcher.keywords["hosts"] if _is_on_hosts(launcher) else None
    spreads = hosts or (launcher is command and not installation.launcher.is_here)
    nodes = (number_of_nodes(hosts) or 1) if spreads else 1
    return -(-ranks // nodes) > processors()


def launcher_environment(installation: Installation, launcher: Launcher, ranks: int) -> Mapping[str, str]:
    """Return the environment of a launcher's process; that of a lab gives its ranks their own.

    Crowded ranks need settings of their MPI. Of Slurm it asks to end a job of which a rank has failed, as other
    launchers do; without it, the other ranks would wait for ever.
    """
    if launcher is not command and not _is_on_hosts(launcher):
        return {}
    crowd = environment_of_crowd(ranks) if is_crowded(installation, launcher, ranks) else {}
    return {**crowd, _KILL_BAD_EXIT: os.environ.get(_KILL_BAD_EXIT, "1")}
