"""Protocols of a machine file: sections [protocol.NAME] whose values take the place of others, by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from hocket import _native
from hocket._native import Error
from hocket.base.checks import hint, quote
from hocket.base.files import key_lines, parse_toml, toml

_SECTIONS = ("network", "node", "host")  # with "level", what a protocol has values of
_LEVEL = re.compile(r"level\[(\d+)\]")


def with_protocol(text: str, file: str, protocol: str) -> str:
    """Return the text of a machine file with the values of a protocol in place.

    Of comments it has only the first line. It has no sections [[discrepancy]]: these are of the file's own values. A
    protocol that the file does not have is refused, or a section or a level that a protocol cannot have.
    """
    values = parse_toml(text, file)
    protocols = values.pop("protocol", {})
    if protocol not in protocols:
        expected = hint(protocol, protocols) if protocols else "the file has no sections [protocol.NAME]"
        raise Error(f'{file}: no protocol "{protocol}", {expected}')
    values.pop("discrepancy", None)
    first = text.partition("\n")[0]
    heading = f"{first}\n" if first.startswith("#") else ""
    place = _Place(text, file, protocol)
    return heading + toml({**_replace(values, protocols[protocol], place), "name": f"{values['name']}:{protocol}"})


def check_protocols(text: str, file: str, protocols: Iterable[str]) -> None:
    """Check that a machine file is one with each of its protocols; an Error names file, line and key."""
    for protocol in protocols:
        changed_text = with_protocol(text, file, protocol)
        try:
            _native.Machine(changed_text, file)
        except Error as error:
            raise _Place(text, file, protocol).translate(error, parse_toml(changed_text, file)) from error


class _Place:
    """Where a protocol is in a file, for error messages."""

    def __init__(self, text: str, file: str, protocol: str) -> None:
        self._lines = key_lines(text)
        self._file = file
        self._path = f"protocol.{protocol}"

    def error(self, key: str, expected: str) -> Error:
        """Return the error for a key of the protocol, with its line if the file has the key."""
        path = f"{self._path}.{key}"
        line = f":{self._lines[path]}" if path in self._lines else ""
        return Error(f"{self._file}{line}: {path}: {expected}")

    def translate(self, error: Error, values: Mapping[str, Any]) -> Error:
        """Return the error for a key of the file with the protocol in place as one for a key of the protocol.

        Its line is one of a text that the user has not seen, with these values.
        """
        sentence = re.sub(rf"^{re.escape(self._file)}(:\d+)?: ", "", str(error))
        key, _, expected = sentence.partition(": ")
        key = _LEVEL.sub(lambda match: f"level.{values['level'][int(match[1])].get('name')}", key.strip("[]"))
        if f"{self._path}.{key}" in self._lines:
            return self.error(key, expected)
        return Error(f"{self._file}: {self._path}: {sentence}")


def _replace(values: Mapping[str, Any], changes: Mapping[str, Any], place: _Place) -> dict[str, Any]:
    """Return the values of a file with those of a protocol in place."""
    result = dict(values)
    for key, change in changes.items():
        if key not in (*_SECTIONS, "level"):
            raise place.error(key, f"unknown key, {hint(key, (*_SECTIONS, 'level'))}")
        if key == "level":
            result["level"] = _levels(values.get("level", []), _section(change, key, place), place)
        else:
            result[key] = _merge(values.get(key, {}), _section(change, key, place))
    return result


def _levels(levels: Iterable[Mapping[str, Any]], changes: Mapping[str, Any], place: _Place) -> list[dict[str, Any]]:
    """Return the levels with the values of a protocol in place, by their names."""
    names = [str(level["name"]) for level in levels if "name" in level]
    for name, change in changes.items():
        if name not in names:
            expected = hint(name, names) if names else "expected a section [[level]] with this name"
            raise place.error(f"level.{name}", f"unknown level, {expected}")
        _section(change, f"level.{name}", place)
    return [_merge(level, changes.get(str(level.get("name")), {})) for level in levels]


def _section(change: Any, key: str, place: _Place) -> Mapping[str, Any]:
    if not isinstance(change, dict):
        raise place.error(key, f"got {quote(change)}, expected a section")
    return change


def _merge(section: Any, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a section with other values, also within its sections."""
    result = dict(section) if isinstance(section, dict) else {}
    for key, change in changes.items():
        result[key] = _merge(result.get(key), change) if isinstance(change, dict) else change
    return result
