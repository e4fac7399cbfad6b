"""`hocket lab status`: list the labs of this host."""

from __future__ import annotations

from hocket._native import Error
from hocket.cli.output import print_json, print_table
from hocket.cli.printing import say
from hocket_lab import building
from hocket_lab.commands.options import command
from hocket_lab.laboratory import Lab, labs


@command()
def status(as_json: bool) -> None:
    """List the labs of this host."""
    building.check_host()
    found = [{"name": name, "what": _what(name), "processes": len(building.processes(name))} for name in labs()]
    if as_json:
        print_json(found)
    elif found:
        rows = [[str(lab["name"]), str(lab["what"]), str(lab["processes"])] for lab in found]
        print_table(["lab", "what", "processes"], rows, right=["processes"])
    else:
        say("no lab is up")


def _what(name: str) -> str:
    try:
        return Lab.find(name).summary
    except Error:
        return "parts of an incomplete lab; hocket lab down removes them"
