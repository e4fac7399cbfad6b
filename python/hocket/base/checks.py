"""Checks of values that callers give, and errors that name the value; for unknown names, with suggestions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from operator import index
from os import PathLike, fspath
from typing import Any, TypeVar

from hocket import _native
from hocket._native import Error
from hocket.base.error import printable
from hocket.base.units import parse_ranks, parse_share, parse_sizes

T = TypeVar("T")

_MOST_SHOWN = 60
_SAFE = re.compile(r"[^\n\t]+")


memory = _native.check_memory
"""Raise an error if this many more bytes do not fit into memory. Arguments: what needs the bytes, and how many."""


def quote(value: object) -> str:
    """Return a value as one short line."""
    try:
        line = " ".join(repr(value).split())
    except Exception:
        line = f"a value of type {type(value).__name__}"
    return line if len(line) <= _MOST_SHOWN else f"{line[:_MOST_SHOWN]}…"


def one_line(message: str) -> str:
    """Return a message as one line, in which long texts in quotes and very long words are cut."""
    return _native.one_line(message.encode(errors="replace").decode())


def printable_lines(text: str) -> str:
    """Return the printable lines of a text; tabs are control characters that harm nobody."""
    return _SAFE.sub(lambda match: printable(match[0]), text)


@contextmanager
def within(place: str) -> Iterator[None]:
    """Put the place of a value before the message of an error."""
    try:
        yield
    except Error as error:
        raise Error(f"{place}: {error}") from None


def instance(what: str, value: Any, kind: type[T], expected: str) -> T:
    """Return a value of the expected type; refuse others."""
    if not isinstance(value, kind):
        raise Error(f"{what}: got {quote(value)}, expected {expected}")
    return value


def several(what: str, values: Any, kind: Any, expected: str) -> tuple[Any, ...]:
    """Return several values of the expected type; refuse what is no collection of such."""
    if not isinstance(values, Iterable) or isinstance(values, str | bytes):
        raise Error(f"{what}: got {quote(values)}, expected a list of {expected}")
    return tuple(instance(what, value, kind, expected) for value in values)


def mapping(what: str, value: Any) -> dict[str, Any]:
    """Return a mapping from names; refuse others."""
    pairs: Mapping[Any, Any] = instance(what, value, Mapping, "a mapping from names to values")  # type: ignore[type-abstract]
    return {text(f"{what}: a name", name): entry for name, entry in pairs.items()}


def function(what: str, value: Any) -> Callable[..., Any]:
    """Return a value that can be called; refuse others."""
    return instance(what, value, Callable, "a function")  # type: ignore[arg-type]


def text(what: str, value: Any) -> str:
    """Return a text of valid Unicode; refuse others."""
    if isinstance(value, str) and value.isascii():
        return value
    try:
        value_text = instance(what, value, str, "a text")
        value_text.encode()
    except UnicodeEncodeError:
        raise Error(f"{what}: got {quote(value)}, expected Unicode text") from None
    return value_text


def path(what: str, value: Any) -> str:
    """Return a path as text; refuse what is none."""
    path_text = fspath(value) if isinstance(value, str | PathLike) else None
    if not isinstance(path_text, str) or not path_text or "\0" in path_text:
        raise Error(f"{what}: got {quote(value)}, expected a path")
    return path_text


def whole(what: str, value: Any, *, limit: int = 1 << 63) -> int:
    """Return a whole number as a Python int; refuse negative ones, and those not below `limit`, a power of two."""
    if type(value) is int and 0 <= value < limit:
        return value
    try:
        whole_number = None if is_truth(value) else index(value)
    except TypeError:
        whole_number = None
    if whole_number is None:
        raise Error(f"{what}: got {quote(value)}, expected a whole number")
    if not 0 <= whole_number < limit:
        raise Error(f"{what}: got {whole_number}, expected a whole number from 0 to 2^{limit.bit_length() - 1} - 1")
    return whole_number


def size_bytes(what: str, value: Any) -> int:
    """Return a size in bytes, given as a number, or as a text such as "64KiB"; refuse what is none."""
    if not isinstance(value, str):
        return whole(what, value)
    with within(what):
        return _native.parse_bytes(text(what, value))


def several_sizes(what: str, values: Any) -> tuple[int, ...]:
    """Return sizes in bytes, each once: of numbers, texts such as "64KiB" and "8B..64MiB", or only one of these."""
    size_texts = values if isinstance(values, Iterable) and not isinstance(values, str) else [values]
    size_lists = [
        parse_sizes(text(what, value)) if isinstance(value, str) else (whole(what, value),) for value in size_texts
    ]
    return tuple(dict.fromkeys(chain.from_iterable(size_lists)))


def several_ranks(what: str, values: Any) -> tuple[int, ...]:
    """Return rank counts: of numbers, or of a text such as "1-64" or "1-8,16,32"; refuse others."""
    if isinstance(values, str):
        with within(what):
            return parse_ranks(values)
    if not isinstance(values, Iterable):
        raise Error(f"{what}: got {quote(values)}, expected a list of rank counts such as [{quote(values)}]")
    return tuple(whole(what, value) for value in values)


def share(what: str, value: Any, expected: str = "a share between 0 and 1") -> float:
    """Return a share between 0 and 1, given as a number or as a text such as "1%"; refuse others."""
    if isinstance(value, str):
        return parse_share(value)
    return number(what, value, expected, is_right=lambda share: 0 < share < 1)


def number(what: str, value: Any, expected: str, *, is_right: Callable[[float], bool]) -> float:
    """Return a number as a Python int or float; refuse NaN, and one that does not meet the condition."""
    if type(value) is float and is_right(value):
        return value
    try:
        real_number = None if is_truth(value) or isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        real_number = None
    if real_number is None or not is_right(real_number):
        raise Error(f"{what}: got {quote(value)}, expected {expected}")
    return real_number


def truth(what: str, value: Any) -> bool:
    """Return a truth value as a Python bool; refuse others."""
    if not is_truth(value):
        raise Error(f"{what}: got {quote(value)}, expected True or False")
    return bool(value)


def is_truth(value: object) -> bool:
    """Return whether a value is a truth value of Python or NumPy. These also pass as numbers; Hocket refuses that."""
    return type(value).__name__ in ("bool", "bool_")


def json_text(what: str, value: Any) -> str:
    """Return plain data as JSON; refuse what cannot be written so."""
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise Error(f"{what}: cannot be written as JSON: {error}") from None


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
