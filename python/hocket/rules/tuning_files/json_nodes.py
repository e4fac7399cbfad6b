"""JSON with the line of every value, and with the members of objects as they are written, also repeated ones."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from hocket.rules.tuning_files.form import Place, quote_text

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[][{}]|[^][{}:,"\s]+')
_DEEPEST = 100
_EXPECTED = {
    "Expecting value": "a value",
    "Expecting property name enclosed in double quotes": "a name in quotes",
    "Expecting ':' delimiter": '":"',
    "Expecting ',' delimiter": '",", or the end of a list or an object',
    "Extra data": "the end of the file",
}
"""What is expected instead, by the errors of Python's JSON."""
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
    tokens = list(_tokens(text, file))
    try:
        json.loads(text, parse_int=str, parse_constant=str)
    except json.JSONDecodeError as error:
        got = json.dumps(text[error.pos : error.pos + 12]) if error.pos < len(text) else "the end"
        why = f"got {got}, expected {_EXPECTED[error.msg]}" if error.msg in _EXPECTED else error.msg
        raise Place(file, error.lineno).error(f"not JSON: {why}") from None
    left = iter(tokens)

    def node(place: Place, token: str) -> Node:
        value: Any
        if token == "{":
            names = takewhile(lambda each: each[1] != "}", left)
            value = tuple(Member(file, at.line, json.loads(name), node(*next(left))) for at, name in names)
        elif token == "[":
            value = [node(*each) for each in takewhile(lambda each: each[1] != "]", left)]
        elif token.removeprefix("-") in ("NaN", "Infinity"):  # numbers that only Python's JSON has
            raise place.error(f'not JSON: got "{token}", expected a value')
        elif len(token) > _MOST_DIGITS and not token.startswith('"'):
            raise place.error(f"got a number of more than {_MOST_DIGITS} digits, expected a shorter number")
        else:
            value = json.loads(token)
        return Node(file, place.line, value)

    return node(*next(left))


def _tokens(text: str, file: str) -> Iterator[tuple[Place, str]]:
    """Give the brackets and single values of a text, each with its place."""
    line, at, depth = 1, 0, 0
    for match in _TOKEN.finditer(text):
        line, at = line + text.count("\n", at, match.start()), match.start()
        depth += (match[0] in "[{") - (match[0] in "]}")
        if depth > _DEEPEST:
            raise Place(file, line).error(f"nested too deeply, expected at most {_DEEPEST} levels")
        yield Place(file, line), match[0]


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
