"""`hocket lab down`: labs are removed."""

from __future__ import annotations

import click

from hocket._native import Error
from hocket.lab import building
from hocket.lab.laboratory import down as remove
from hocket.lab.laboratory import is_in_use, labs

__all__ = ["down"]


@click.command()
@click.argument("names", nargs=-1)
def down(names: tuple[str, ...]) -> None:
    """Remove labs, and end what runs there: those named, or all that no command uses.

    A command that was killed may have left a lab of its own behind; without names it is removed, too.
    """
    building.check_host()
    known = labs()
    for name in names:
        if name not in known:
            raise Error(f"lab {name}: is not up")
    for name in names or [name for name in known if not is_in_use(name)]:
        remove(name)
        click.echo(f"lab {name}: removed")
