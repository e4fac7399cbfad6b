"""Options that several commands of `hocket rules` share."""

from __future__ import annotations

from collections.abc import Iterable

import click

from hocket._native import Error
from hocket.base.units import parse_count
from hocket.cli.options import Read
from hocket.cli.printing import note
from hocket.rules.tuning_files.formats import FORMATS

RANKS = (4, 16, 64)
"""The default numbers of ranks for comparing files."""
SIZES = tuple(8 * 16**step for step in range(6))
"""The default sizes for comparing files, in bytes."""
_NAMES = ", ".join(FORMATS)


def _count(text: str) -> int:
    count = parse_count(text)
    if count < 1:
        raise Error(f'got "{text}", expected a number of ranks, at least 1')
    return count


from_option = click.option("--from", "source_format", help=f"The format, unless the file's name tells it: {_NAMES}.")
function_option = click.option(
    "--collective", type=Read(lambda text: text.lower(), name="NAME"), help="The MPI function, such as bcast."
)

per_node_option = click.option(
    "--ranks-per-node",
    type=Read(_count, name="K"),
    default=1,
    show_default=True,
    help="How many ranks each node has, for files that ask for nodes.",
)


def print_notes(notes: Iterable[str]) -> None:
    """Print notes about a result on stderr."""
    for each in notes:
        note(f"note: {each}")
