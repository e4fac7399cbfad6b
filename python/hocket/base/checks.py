"""Checks of values that callers give: each function returns a valid value, or raises an error that names the value."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
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


def instance(what: str, value: Any, kind: type[T], expected: str) -> T:
    """Return a value if it has the expected type.

    Raises:
        Error: The value has another type.
    """
    if not isinstance(value, kind):
        raise Error(f"{what}: got {quote(value)}, expected {expected}")
    return value


def several(what: str, values: Any, kind: Any, expected: str) -> tuple[Any, ...]:
    """Return several values that have the expected type.

    Raises:
        Error: The argument is not a collection, or one of its values has another type.
    """
    if not isinstance(values, Iterable) or isinstance(values, str | bytes):
        raise Error(f"{what}: got {quote(values)}, expected a list of {expected}")
    return tuple(instance(what, value, kind, expected) for value in values)


def mapping(what: str, value: Any) -> dict[str, Any]:
    """Return a mapping from names.

    Raises:
        Error: The value is not a mapping, or a key is not a name.
    """
    pairs: Mapping[Any, Any] = instance(what, value, Mapping, "a mapping from names to values")  # type: ignore[type-abstract]
    return {text(f"{what}: a name", name): entry for name, entry in pairs.items()}


def function(what: str, value: Any) -> Callable[..., Any]:
    """Return a value if it can be called.

    Raises:
        Error: The value cannot be called.
    """
    return instance(what, value, Callable, "a function")  # type: ignore[arg-type]


def text(what: str, value: Any) -> str:
    """Return a text.

    Raises:
        Error: The value has another type, or is not valid Unicode.
    """
    if isinstance(value, str) and value.isascii():
        return value
    try:
        value_text = instance(what, value, str, "a text")
        value_text.encode()
    except UnicodeEncodeError:
        raise Error(f"{what}: got {quote(value)}, expected Unicode text") from None
    return value_text


def path(what: str, value: Any) -> str:
    """Return a path as text.

    Raises:
        Error: The value is not a path.
    """
    path_text = fspath(value) if isinstance(value, str | PathLike) else None
    if not isinstance(path_text, str) or not path_text or "\0" in path_text:
        raise Error(f"{what}: got {quote(value)}, expected a path")
    return path_text


def whole(what: str, value: Any, *, limit: int = 1 << 63) -> int:
    """Return a whole number as a Python int.

    Raises:
        Error: The value is not a whole number, is negative, or is not below `limit`, a power of two.
    """
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
    """Return a size in bytes, given as a number, or as a text such as "64KiB".

    Raises:
        Error: The value is not a size.
    """
    if not isinstance(value, str):
        return whole(what, value)
    try:
        return _native.parse_bytes(text(what, value))
    except Error as error:
        raise Error(f"{what}: {error}") from None


def several_sizes(what: str, values: Any) -> tuple[int, ...]:
    """Return sizes in bytes, each once. Input: numbers, texts such as "64KiB" and "8B..64MiB", or only one of these.

    Raises:
        Error: One of them is not a size.
    """
    size_texts = values if isinstance(values, Iterable) and not isinstance(values, str) else [values]
    size_lists = [
        parse_sizes(text(what, value)) if isinstance(value, str) else (whole(what, value),) for value in size_texts
    ]
    return tuple(dict.fromkeys(chain.from_iterable(size_lists)))


def several_ranks(what: str, values: Any) -> tuple[int, ...]:
    """Return rank counts. Input: numbers, or a text such as "1-64" or "1-8,16,32".

    Raises:
        Error: They are not that.
    """
    if isinstance(values, str):
        try:
            return parse_ranks(values)
        except Error as error:
            raise Error(f"{what}: {error}") from None
    if not isinstance(values, Iterable):
        raise Error(f"{what}: got {quote(values)}, expected a list of rank counts such as [{quote(values)}]")
    return tuple(whole(what, value) for value in values)


def share(what: str, value: Any, expected: str = "a share between 0 and 1") -> float:
    """Return a share, given as a number or as a text such as "1%".

    Raises:
        Error: As `number` or `parse_share`, or it is not between 0 and 1.
    """
    if isinstance(value, str):
        return parse_share(value)
    return number(what, value, expected, is_right=lambda share: 0 < share < 1)


def number(what: str, value: Any, expected: str, *, is_right: Callable[[float], bool]) -> float:
    """Return a number as a Python int or float.

    Raises:
        Error: The value is not a number, is NaN, or does not meet the condition.
    """
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
    """Return a truth value as a Python bool.

    Raises:
        Error: The value is neither True nor False.
    """
    if not is_truth(value):
        raise Error(f"{what}: got {quote(value)}, expected True or False")
    return bool(value)


def is_truth(value: object) -> bool:
    """Return whether a value is a truth value of Python or NumPy. These also pass as numbers; Hocket refuses that."""
    return type(value).__name__ in ("bool", "bool_")


def json_text(what: str, value: Any) -> str:
    """Return plain data as JSON.

    Raises:
        Error: The data cannot be written as JSON.
    """
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise Error(f"{what}: cannot be written as JSON: {error}") from None
