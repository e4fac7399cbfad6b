"""Chakra execution traces as JSON: what Chakra's jsonizer makes of protobuf messages, and workload graphs.

The jsonizer writes a JSON object for each message, one after the other: the metadata, then the nodes, with the names of
the schema in camel case, numbers of 64 bits as texts, and without what is zero. A workload graph is one object with a
list of nodes, whose attributes are keys of the node.

Source: in mlcommons/chakra, src/jsonizer/jsonizer.py and src/feeder/json_node.cpp; for JSON of messages, protobuf.dev,
"ProtoJSON format".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hocket._native import Error
from hocket.base import checks
from hocket.base.kinds import KINDS
from hocket.traces.lines import Lines

_KIND_NAMES = "INVALID METADATA MEM_LOAD MEM_STORE COMP COMM_SEND COMM_RECV COMM_COLL"
_KINDS = tuple(f"{name}_NODE" for name in _KIND_NAMES.split())  # the NodeTypes, by their numbers
_BEGINS = next(kind.pattern for kind in KINDS if kind.what == "a Chakra trace as JSON")
_GRAPH = "workload_graph"
_GRAPH_KEYS = ("Id", "Name", "NodeType", "data_deps", "ctrl_deps", "runtime")
_MESSAGE_KEYS = ("id", "name", "type", "dataDeps", "ctrlDeps", "durationMicros")
_CHUNK_BYTES = 1 << 20
_MOST = (1 << 64) - 1


def begins(first: bytes) -> bool:
    """Return whether first bytes begin a trace as JSON."""
    return _BEGINS.match(first) is not None


def values_of(lines: Lines) -> Iterator[dict[str, Any]]:
    """Give the values of each node, by the names that `hocket.traces.chakra.Node` has for them.

    An Error names the file, and the number of the object, if it is no JSON, or a node lacks what it needs.
    """
    for number, content in _objects(lines):
        if _GRAPH in content:
            for position, value in enumerate(_list(content, _GRAPH, lines), 1):
                lines.number = position
                node = _mapping(value, lines)
                if "Id" not in node:
                    raise _error(lines, "Id: missing, expected the number of the node")
                attributes = {key: value for key, value in node.items() if key not in _GRAPH_KEYS}
                yield _node(node, _GRAPH_KEYS, attributes, lines)
        elif number > 1 or "type" in content:
            yield _of_message(content, lines)


def _objects(lines: Lines) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Give the objects of a file, which follow each other, with their numbers."""
    content = b"".join(iter(lambda: lines.read(_CHUNK_BYTES), b""))
    lines.number = 1
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise _error(lines, "cannot be decoded, expected JSON in UTF-8") from None
    decoder, at = json.JSONDecoder(), _after_space(text, 0)
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            raise _error(lines, "cannot be decoded, expected a JSON object") from None
        yield lines.number, _mapping(value, lines)
        lines.number, at = lines.number + 1, _after_space(text, at)


def _after_space(text: str, at: int) -> int:
    space = re.compile(r"\s+").match(text, at)
    return space.end() if space else at


def _of_message(message: Mapping[str, Any], lines: Lines) -> dict[str, Any]:
    attributes = {}
    for attribute in _list(message, "attr", lines):
        fields = {key: value for key, value in _mapping(attribute, lines).items() if key != "name"}
        for key, value in fields.items():
            attributes[str(attribute.get("name", ""))] = _value(key, value)
    inputs = _mapping(message.get("inputs", {}), lines)
    return {**_node(message, _MESSAGE_KEYS, attributes, lines), "values": str(inputs.get("values", ""))}


def _node(
    content: Mapping[str, Any], keys: Sequence[str], attributes: Mapping[str, Any], lines: Lines
) -> dict[str, Any]:
    """Return the values of a node; `keys` are those of its number, name, kind, two sorts of edges, and duration."""
    number, name, kind, after, control, duration = keys
    return {
        "id": _whole(content, number, lines),
        "name": str(content.get(name, "")),
        "kind": _kind(content.get(kind, 0), lines),
        "after": _ids(content, after, lines),
        "control": _ids(content, control, lines),
        "duration_us": _whole(content, duration, lines),
        "attributes": attributes,
        "line": lines.number,
    }


def _value(key: str, value: Any) -> Any:
    """Return the value of an attribute: numbers of 64 bits are texts, lists objects."""
    if isinstance(value, dict):
        return value.get("values", [])
    return int(value) if isinstance(value, str) and "int" in key and re.fullmatch("-?[0-9]{1,20}", value) else value


def _kind(value: Any, lines: Lines) -> int:
    if value in _KINDS:
        return _KINDS.index(value)
    if type(value) is int and 0 <= value < len(_KINDS):
        return value
    raise _error(lines, f"type: got {checks.quote(value)}, expected a type such as COMP_NODE")


def _ids(keys: Mapping[str, Any], key: str, lines: Lines) -> tuple[int, ...]:
    return tuple(_whole({key: value}, key, lines) for value in _list(keys, key, lines))


def _whole(keys: Mapping[str, Any], key: str, lines: Lines) -> int:
    value = _value("int", keys.get(key, 0))
    if type(value) is not int or not 0 <= value <= _MOST:
        raise _error(lines, f"{key}: got {checks.quote(keys[key])}, expected a whole number from 0 to {_MOST}")
    return value


def _list(keys: Mapping[str, Any], key: str, lines: Lines) -> list[Any]:
    value = keys.get(key, [])
    if not isinstance(value, list):
        raise _error(lines, f"{key}: got {checks.quote(value)}, expected a list")
    return value


def _mapping(value: Any, lines: Lines) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _error(lines, f"got {checks.quote(value)}, expected a JSON object")
    return value


def _error(lines: Lines, message: str) -> Error:
    return Error(f"{lines.name}, object {lines.number}: {message}")
