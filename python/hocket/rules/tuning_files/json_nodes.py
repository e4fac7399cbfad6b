"""JSON with the line of every value, and with the members of objects as they are written, also repeated ones."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hocket._native import Error
from hocket.rules.tuning_files.form import Place, quote_text

_BLANK = re.compile(r"[ \t\n\r]*")
_VALUE = re.compile(r'"|true|false|null|-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?')
_DECODER = json.JSONDecoder()
_DEEPEST = 100
_INFINITE = ("inf", "Inf", "INF")
_MANY = 20  # this many names are too long for an error
_MOST_DIGITS = 18  # certain to fit 64 bits


@dataclass(frozen=True)
class Member(Place):
    """A name and a value of an object, and the line of the name."""

    name: str
    node: Node


@dataclass(frozen=True)
class Node(Place):
    """A value, and the line on which it begins. The value of an object is a tuple of its members."""

    value: str | float | bool | list[Node] | tuple[Member, ...] | None

    def __str__(self) -> str:
        """Return the beginning of the value for an error."""
        if isinstance(self.value, (list, tuple)):
            return "a list" if isinstance(self.value, list) else "an object"
        return json.dumps(self.value)[:40]


def parse(text: str, file: str) -> Node:
    """Return the value of a text; refuse what is no JSON, is nested too deeply, or has a number of too many digits."""
    reader = _Reader(text, file)
    node = reader.value(0)
    reader.skip_blanks()
    if reader.place < len(text):
        raise reader.expected("the end of the file")
    return node


class Object:
    """An object whose members have known names; in errors it is called `what`.

    Raises:
        Error: It is no object, or a member has another name, or a name twice.
    """

    def __init__(self, node: Node, what: str, names: Sequence[str]) -> None:
        if not isinstance(node.value, tuple):
            raise node.error(f"{what} is not an object, expected an object with {', '.join(names)}")
        self._node, self.line = node, node.line
        self.members = {member.name: member for member in node.value}
        for member in node.value:
            if member.name not in names:
                expected = ", ".join(names) if len(names) < _MANY else "an MPI function in small letters"
                raise member.error(f"unknown {quote_text(member.name)} in {what}, expected {expected}")
            if (last := self.members[member.name]) is not member:
                raise last.error(f'"{member.name}" appears twice in {what}, expected it once')

    def node(self, name: str) -> Node:
        """Return the value of a member that must be there."""
        if name not in self.members:
            raise self._node.error(f'"{name}" is missing')
        return self.members[name].node

    def word(self, name: str, words: Sequence[str], default: str | None = None) -> str:
        """Return a member that is one of some words; without a default it must be there."""
        if default is not None and name not in self.members:
            return default
        node = self.node(name)
        if node.value not in words:
            raise node.error(f'"{name}": got {node}, expected {" or ".join(words)}')
        return str(node.value)

    def number(self, name: str, most: int | None = None) -> int | None:
        """Return a number, or None if it is missing or infinite."""
        if name not in self.members:
            return None
        node = self.node(name)
        if most is None and node.value in _INFINITE:
            return None
        if type(node.value) is not int or not 0 <= node.value <= (most or node.value):
            expected = f"a whole number up to {most}" if most else 'a whole number or "inf"'
            raise node.error(f'"{name}": got {node}, expected {expected}')
        return node.value

    def items(self, name: str) -> list[Node]:
        """Return the values of a member that is a list."""
        node = self.node(name)
        if not isinstance(node.value, list):
            raise node.error(f'"{name}": expected a list')
        return node.value


class _Reader:
    def __init__(self, text: str, file: str) -> None:
        self.place = 0
        self._text, self._file = text, file
        self._line_ends = [match.start() for match in re.finditer("\n", text)]

    @property
    def line(self) -> int:
        return bisect_left(self._line_ends, self.place) + 1

    def error(self, message: str) -> Error:
        return Place(self._file, self.line).error(message)

    def expected(self, what: str) -> Error:
        got = json.dumps(self._text[self.place : self.place + 12]) if self.place < len(self._text) else "the end"
        return self.error(f"not JSON: got {got}, expected {what}")

    def skip_blanks(self) -> None:
        match = _BLANK.match(self._text, self.place)
        assert match is not None  # it also matches nothing
        self.place = match.end()

    def take(self, sign: str) -> bool:
        """Skip blanks, and `sign` if it follows; return whether it does."""
        self.skip_blanks()
        is_next = self._text.startswith(sign, self.place)
        self.place += len(sign) * is_next
        return is_next

    def value(self, depth: int) -> Node:
        self.skip_blanks()
        line = self.line
        if depth > _DEEPEST:
            raise self.error(f"nested too deeply, expected at most {_DEEPEST} levels")
        if self.take("{"):
            return Node(self._file, line, tuple(self.items("}", lambda: self.member(depth + 1))))
        if self.take("["):
            return Node(self._file, line, self.items("]", lambda: self.value(depth + 1)))
        return Node(self._file, line, self.single())

    def items(self, end: str, item: Callable[[], Node | Member]) -> list:  # type: ignore[type-arg]
        nodes: list[Node | Member] = []
        if self.take(end):
            return nodes
        while True:
            nodes.append(item())
            if self.take(end):
                return nodes
            if not self.take(","):
                raise self.expected(f'"," or "{end}"')

    def member(self, depth: int) -> Member:
        self.skip_blanks()
        line = self.line
        if not self._text.startswith('"', self.place):
            raise self.expected("a name in quotes")
        name = str(self.single())
        if not self.take(":"):
            raise self.expected('":"')
        return Member(self._file, line, name, self.value(depth))

    def single(self) -> str | float | bool | None:
        """Return a value that is neither a list nor an object."""
        match = _VALUE.match(self._text, self.place)
        if match is None:
            raise self.expected("a value")
        if len(match[0]) > _MOST_DIGITS:
            raise self.error(f"got a number of more than {_MOST_DIGITS} digits, expected a shorter number")
        try:
            value: str | float | bool | None
            value, self.place = _DECODER.raw_decode(self._text, self.place)
        except json.JSONDecodeError as error:
            raise self.error(f"not JSON: {error.msg}") from None
        return value
