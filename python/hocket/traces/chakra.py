"""Chakra execution traces: the nodes of a rank's graph, as protobuf messages, each preceded by its length, or as JSON.

Source: in mlcommons/chakra, for lengths src/third_party/utils/protolib.py, for the fields of attributes
src/feeder/et_feeder_node.cpp, for messages schema/protobuf/et_def.proto, version 0.0.4: chakra_messages.csv has the
fields that Hocket reads or writes, chakra_json.py the forms in JSON.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from itertools import chain
from typing import Any
from warnings import warn

from hocket._native import Error
from hocket.base.files import read_rows
from hocket.base.units import format_count
from hocket.traces import chakra_json
from hocket.traces.lines import LONGEST_LINE, Budget, Lines, lines_of


@cache
def classes() -> Mapping[str, Any]:
    """Return the classes of messages, made on first use, as nothing else needs protobuf; an Error if it is missing."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError as error:
        raise Error("Chakra's traces need protobuf: pip install 'hocket[chakra]'") from error
    package = "ChakraProtoMsg"
    descriptor = descriptor_pb2.FileDescriptorProto(name="hocket/et_def.proto", package=package, syntax="proto3")
    kinds = descriptor_pb2.FieldDescriptorProto
    rows = read_rows(__file__, "chakra_messages.csv")
    messages = {name: descriptor.message_type.add(name=name) for name in dict.fromkeys(row["message"] for row in rows)}
    for row in rows:
        message, kind = messages[row["message"]], row["type"].removesuffix("*")
        field = message.field.add(name=row["field"], number=int(row["number"]))
        field.label = kinds.LABEL_OPTIONAL if kind == row["type"] else kinds.LABEL_REPEATED
        field.type = kinds.TYPE_MESSAGE if kind in messages else kinds.Type.Value(f"TYPE_{kind.upper()}")
        if kind in messages:
            field.type_name = f".{package}.{kind}"
        if row["oneof"]:
            field.oneof_index = 0
            if not message.oneof_decl:
                message.oneof_decl.add(name=row["oneof"])
    pool = descriptor_pool.DescriptorPool()
    pool.Add(descriptor)
    by_name = {name: pool.FindMessageTypeByName(f"{package}.{name}") for name in messages}
    return {name: message_factory.GetMessageClass(message) for name, message in by_name.items()}


METADATA, COMPUTE, SEND, RECEIVE, COLLECTIVE = 1, 4, 5, 6, 7
"""The NodeTypes that matter here; nodes of other types only take time."""

FIRST_BYTES = 1 << 12
"""The bytes of a file that suffice to detect a trace."""

_VERSION = "0.0.4"

_NUMBERS = {
    **dict.fromkeys(("comm_priority", "comm_src", "comm_dst", "comm_tag"), "int32_val"),
    **dict.fromkeys(("comm_size", "comm_type", "num_ops"), "int64_val"),
}
"""The fields of numbers: feeders before ASTRA-sim's third one read a number in another field as 0."""


@dataclass(frozen=True)
class Node:
    """A node of a rank's graph."""

    id: int
    name: str
    kind: int  # its NodeType
    after: Sequence[int] = ()  # the nodes for whose end it waits
    duration_us: int = 0  # its duration in microseconds
    attributes: Mapping[str, Any] = field(default_factory=dict)
    values: str = ""  # the values of its inputs, as text
    line: int = 0  # the number of its message in the file, counted from 1
    # As long as a file is read, the nodes of its control edges, which are not yet in `after`.
    control: Sequence[int] = ()

    @property
    def is_on_cpu(self) -> bool:
        """Whether the processor of the host executes it; some writers store the truth value as a number."""
        return self.attributes.get("is_cpu_op") in (True, 1)

    def whole(self, name: str, most: int, file: str, default: int | None = None, value: Any = None) -> int:
        """Return a numeric attribute; `value` stands for it if it is not None.

        An Error names file and node of one that is missing without a default, or no whole number from 0 to `most`.
        """
        value = self.attributes.get(name, default) if value is None else value
        if type(value) is not int or not 0 <= value <= most:
            got = "nothing" if value is None else repr(value)[:40]
            raise Error(f"{file}, node {self.id}: {name}: got {got}, expected a whole number from 0 to {most}")
        return value


def begins(first: bytes) -> bool:
    """Return whether first bytes begin a trace: a length and a message with version and attributes, or their JSON."""
    if chakra_json.begins(first):
        return True
    size, at = _varint(first, 0)
    end = at + size
    if not 0 < size <= LONGEST_LINE:
        return False
    while at < min(end, len(first)):
        if first[at] not in (0x0A, 0x12):  # fields 1 and 2 of GlobalMetadata
            return False
        size, at = _varint(first, at + 1)
        at += size
    return at == end or (at < end and len(first) >= FIRST_BYTES)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable length and its end; 0 and 0 if it is cut off."""
    value = 0
    for shift in range(0, 35, 7):
        if at >= len(data):
            break
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
    return 0, at


def graphs_of(first: str) -> dict[str, list[Node]]:
    """Return the nodes of each rank by its file, as `_in_order` sorts them, given the file of rank 0."""
    budget = Budget()
    return {file: _in_order(nodes_of(file, budget), file) for file in _files_of(first)}


def _files_of(first: str) -> list[str]:
    """Return the files of all ranks: the given PREFIX.0.et or PREFIX.0.json, and those beside it; refuse others."""
    parts = re.fullmatch(r"(?s)(.*)\.0\.(et|json)", first)
    if not parts:
        expected = "the trace of rank 0, PREFIX.0.et or PREFIX.0.json, in a folder with the other ranks"
        raise Error(f"{first}: got a Chakra trace, expected {expected}")
    paths = [first]
    while os.path.exists(name := f"{parts[1]}.{len(paths)}.{parts[2]}"):
        paths.append(name)
    return paths


def nodes_of(file: str, budget: Budget) -> list[Node]:
    """Read the nodes of a rank. Warns of edges from nodes that the trace lacks, and drops them.

    An Error names the file, and the number of the message, if the file is cut off or is not a trace.
    """
    with lines_of(file) as lines:
        is_json = chakra_json.begins(lines.read(FIRST_BYTES))
    with lines_of(file, budget) as lines:
        nodes = [Node(**values) for values in chakra_json.values_of(lines)] if is_json else list(_messages(lines))
    node_ids = {node.id for node in nodes}
    edges_dropped = [
        format_count(count, f"{kind} edge")
        for kind, edges in (("control", [node.control for node in nodes]), ("data", [node.after for node in nodes]))
        if (count := sum(earlier not in node_ids for earlier in chain.from_iterable(edges)))
    ]
    if edges_dropped:
        warn(f"{file}: dropped {' and '.join(edges_dropped)} from nodes that the trace does not have", stacklevel=2)
    return [
        replace(node, after=tuple(one for one in (*node.control, *node.after) if one in node_ids), control=())
        for node in nodes
    ]


def _messages(lines: Lines) -> Iterator[Node]:
    _message(lines, "GlobalMetadata")
    while (message := _message(lines, "Node")) is not None:
        yield _node(message, lines)


def _in_order(nodes: Sequence[Node], file: str) -> list[Node]:
    """Return nodes sorted by id, but each after the nodes it waits for; refuse equal ids, and cycles of waits."""
    by_id = {node.id: node for node in nodes}
    if len(by_id) != len(nodes):
        twice = next(node for node in nodes if by_id[node.id] is not node)
        raise Error(f"{file}, node {twice.id}: got this id twice, expected every id once")
    sorter = TopologicalSorter({node.id: node.after for node in nodes})
    with suppress(CycleError):  # some nodes then stay in `by_id`
        sorter.prepare()
    ready = sorted(sorter.get_ready())
    nodes_in_order = []
    while ready:
        number = heappop(ready)
        nodes_in_order.append(by_id.pop(number))
        sorter.done(number)
        for follower in sorter.get_ready():
            heappush(ready, follower)
    if by_id:
        raise Error(f"{file}, node {min(by_id)}: waits in a cycle of nodes, expected no cycles")
    return nodes_in_order


def encode(nodes: Sequence[Node]) -> bytes:
    """Return the content of a file; attributes are numbers, truth values, lists of truth values, or texts."""
    schema_classes = classes()
    messages = [schema_classes["GlobalMetadata"](version=_VERSION)]
    for node in nodes:
        message = schema_classes["Node"](id=node.id, name=node.name, type=node.kind, data_deps=node.after)
        message.duration_micros = node.duration_us
        for name, value in node.attributes.items():
            message.attr.add(name=name, **_value(name, value))
        if node.values:
            message.inputs.values = node.values
        messages.append(message)
    return b"".join(_length(len(text)) + text for text in (message.SerializeToString() for message in messages))


def _value(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"bool_list": classes()["BoolList"](values=value)}
    if isinstance(value, bool):
        return {"bool_val": value}
    return {_NUMBERS.get(name, "uint64_val") if isinstance(value, int) else "string_val": value}


def _length(size: int) -> bytes:
    lengths = []
    while size > 0x7F:
        lengths.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*lengths, size])


def _message(lines: Lines, kind: str) -> Any:
    """Return the next message of a file; None at its end."""
    head = lines.read(1)
    if not head:
        return None
    while head[-1] & 0x80 and len(head) < 5:
        head += lines.read(1) or b"\0"
    size, _ = _varint(head, 0)
    lines.number += 1
    where = f"{lines.name}, message {lines.number}"
    if size > LONGEST_LINE:
        raise Error(f"{where}: got {size} bytes, expected messages of at most {LONGEST_LINE} bytes")
    content = lines.read(size)
    if len(content) < size:
        raise Error(f"{where}: ends too early, expected {size} bytes")
    message = classes()[kind]()

    from google.protobuf.message import DecodeError

    try:
        message.ParseFromString(content)
    except DecodeError:
        raise Error(f"{where}: cannot be decoded, expected a Chakra {kind}") from None
    return message


def _node(message: Any, lines: Lines) -> Node:
    attributes = {}
    for attribute in message.attr:
        if value := attribute.WhichOneof("value"):
            attribute_value = getattr(attribute, value)
            attributes[attribute.name] = list(attribute_value.values) if value == "bool_list" else attribute_value
    return Node(
        id=message.id,
        name=message.name,
        kind=message.type,
        after=tuple(message.data_deps),
        control=tuple(message.ctrl_deps),
        duration_us=message.duration_micros,
        attributes=attributes,
        values=message.inputs.values,
        line=lines.number,
    )
