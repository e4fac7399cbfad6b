"""`hocket lab down`: remove labs."""

from __future__ import annotations

from hocket._native import Error
from hocket.cli.printing import say
from hocket_lab import building
from hocket_lab.commands.options import command
from hocket_lab.laboratory import down as remove
from hocket_lab.laboratory import is_in_use, labs


@command()
def down(names: tuple[str, ...]) -> None:
    """Remove the named labs, or all that no command uses, and end the programs that run there.

    Without names, it also removes the labs of commands that were killed.
    """
    building.check_host()
    known = labs()
    for name in names:
        if name not in known:
            raise Error(f"lab {name}: is not up")
    for name in names or [name for name in known if not is_in_use(name)]:
        remove(name)
        say(f"lab {name}: removed")
