"""`hocket rules convert`: a tuning file in another format."""

from __future__ import annotations

import click

from hocket import files
from hocket.cli.options import Read, rank_counts_option
from hocket.cli.rules.options import from_option, print_notes
from hocket.files import writable
from hocket.tuning_files import FORMATS, converted, format_of, read, written

__all__ = ["convert"]


@click.command()
@click.argument("source", type=click.Path())
@click.argument("target", type=Read(writable, name="FILE"))
@from_option
@click.option("--to", "target_format", help=f"The format of TARGET, likewise: {', '.join(FORMATS)}.")
@rank_counts_option
def convert(
    source: str, target: str, source_format: str | None, target_format: str | None, ranks: tuple[int, ...] | None
) -> None:
    """Write the rules of the file SOURCE as the file TARGET, in another format.

    SOURCE may also be the name of defaults, such as mpich-5.0. What the other format does not have is said on stderr,
    and left to the library. Where a file cannot be exact for all numbers of ranks, it is so for those of --ranks.
    """
    format = format_of(target, target_format, "--to")
    found = converted(read(source, source_format), format.library, ranks=ranks)
    files.write(target, written(found.rules, format))
    print_notes(found.notes)
