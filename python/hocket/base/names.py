"""Names that are looked up in a list: the known one, or which may be meant."""

from __future__ import annotations

from collections.abc import Iterable

from hocket import _native
from hocket._native import Error
from hocket.base.checks import shown

__all__ = ["among", "hint", "unknown"]


def hint(name: str, known: Iterable[str]) -> str:
    """Return what to say of a name that is none of those known: which are near it, or else what they are."""
    return _native.hint(name.encode(errors="replace").decode(), list(known))


def unknown(what: str, name: str, known: Iterable[str]) -> Error:
    """Return the error of a name of something that is not known."""
    return Error(f'unknown {what} "{name}", {hint(name, known)}')


def among(what: str, value: object, known: Iterable[str]) -> str:
    """Return a value that is one of some names.

    Raises:
        Error: It is another name, or of another type.
    """
    names = list(known)
    if isinstance(value, str) and value in names:
        return value
    raise Error(f"{what}: got {shown(value)}, {hint(value if isinstance(value, str) else '', names)}")
