"""Options that several commands of `hocket rules` share."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from hocket.cli.command import command as make_command
from hocket.cli.printing import note
from hocket.definitions.libraries import BY_MACHINE, BY_NODES, DEFAULTS
from hocket.rules.tuning_files.formats import FORMATS

RANKS = (4, 16, 64)
"""The default numbers of ranks for comparing files."""
SIZES = tuple(8 * 16**step for step in range(6))
"""The default sizes for comparing files, in bytes."""

command = partial(
    make_command,
    fields={
        "formats": ", ".join(FORMATS),
        "libraries": "|".join((*DEFAULTS, *BY_MACHINE)),
        "by_machine": " and ".join(BY_MACHINE),
        "by_ranks": ", ".join((*BY_MACHINE, *BY_NODES)),
    },
)


def print_notes(notes: Iterable[str]) -> None:
    """Print notes about a result on stderr."""
    for each in notes:
        note(f"note: {each}")
