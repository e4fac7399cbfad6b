"""Looking up names in a list, with suggestions for unknown ones."""

from __future__ import annotations

from collections.abc import Iterable

from hocket import _native
from hocket._native import Error
from hocket.base.checks import quote


def hint(name: str, names: Iterable[str]) -> str:
    """Return a hint for an unknown name: the names that are similar, or else all known names."""
    return _native.hint(name.encode(errors="replace").decode(), list(names))


def unknown(what: str, name: str, names: Iterable[str]) -> Error:
    """Return the error for an unknown name."""
    return Error(f'unknown {what} "{name}", {hint(name, names)}')


def among(what: str, value: object, choices: Iterable[str]) -> str:
    """Return a value if it is one of the known names; refuse others."""
    names = list(choices)
    if isinstance(value, str) and value in names:
        return value
    raise Error(f"{what}: got {quote(value)}, {hint(value if isinstance(value, str) else '', names)}")
