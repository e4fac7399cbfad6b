"""Count the calls from Python into the compiled module during one command.

    tools/crossings.py [--most N] simulate allreduce ring --ranks 16 --size 64KiB

Prints each function, class and method with the number of its calls; reading a field is no call. Exits with status 1 if
there are more than N calls. What does not depend on the command (the catalogue and the facts of collectives) is read
before.
"""

from __future__ import annotations

import sys
from collections import Counter
from types import FrameType
from typing import Any

from hocket import _native
from hocket.cli import main
from hocket.definitions.library import catalogue

COMMAND = ("simulate", "allreduce", "ring", "--ranks", "16", "--size", "64KiB", "--json")

calls: Counter[str] = Counter()


class Counting:
    """A class of the compiled module that counts its new objects."""

    def __init__(self, kind: type) -> None:
        """Count the objects of a class."""
        self.kind = kind

    def __call__(self, *arguments: object, **keywords: object) -> object:
        """Count and return a new object."""
        calls[self.kind.__name__] += 1
        return self.kind(*arguments, **keywords)

    def __instancecheck__(self, value: object) -> bool:
        """Return whether a value is an object of the class."""
        return isinstance(value, self.kind)

    def __getattr__(self, name: str) -> object:
        """Return an attribute of the class."""
        attribute: object = getattr(self.kind, name)
        return attribute


def note(_frame: FrameType, event: str, function: Any) -> None:
    """Count a call of a function or a method of the compiled module."""
    if event != "c_call":
        return
    owner = type(getattr(function, "__self__", None))
    if getattr(function, "__module__", None) == _native.__name__:
        calls[function.__name__] += 1
    elif owner.__module__ == _native.__name__:
        calls[f"{owner.__name__}.{function.__name__}"] += 1


def run(arguments: list[str]) -> int:
    """Run the command and print the calls; return the exit status."""
    most = None
    if arguments[:1] == ["--most"]:
        most, arguments = int(arguments[1]), arguments[2:]
    catalogue()
    for name, kind in list(vars(_native).items()):
        if isinstance(kind, type) and not issubclass(kind, Exception):
            setattr(_native, name, Counting(kind))
    sys.argv = ["hocket", *(arguments or COMMAND)]
    sys.setprofile(note)
    try:
        main()
    except SystemExit as end:
        if end.code:
            return int(end.code)
    finally:
        sys.setprofile(None)
    print(*(f"{number} {name}" for name, number in calls.items()), sep="\n", file=sys.stderr)
    limit = "" if most is None else f", at most {most}"
    print(f"{calls.total()} calls from Python into the compiled module{limit}", file=sys.stderr)
    return int(most is not None and calls.total() > most)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
