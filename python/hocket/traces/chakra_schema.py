"""The messages of Chakra execution traces. They are made on first use, so that nothing else needs protobuf.

Source: schema/protobuf/et_def.proto of mlcommons/chakra, version 0.0.4. Only the fields that Hocket reads or writes are
declared here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from hocket._native import Error

_TYPES = "double float int32 int64 uint32 uint64 sint32 sint64 fixed32 fixed64 sfixed32 sfixed64 bool string"
_VALUES = {f"{name}_val": (3 + 2 * number, name) for number, name in enumerate(_TYPES.split())}
_VALUES["bool_list"] = (28, "BoolList")
"""The values of attributes. The list of each type has the number after that of its value; Hocket reads only lists of
truth values."""

_MESSAGES: Mapping[str, Mapping[str, tuple[int, str]]] = {
    "BoolList": {"values": (1, "bool*")},
    "AttributeProto": {"name": (1, "string"), **_VALUES},
    "GlobalMetadata": {"version": (1, "string"), "attr": (2, "AttributeProto*")},
    "IOInfo": {"values": (1, "string")},
    "Node": {
        "id": (1, "uint64"),
        "name": (2, "string"),
        "type": (3, "int32"),  # the schema has an enum here; the bytes are the same
        "ctrl_deps": (4, "uint64*"),
        "data_deps": (5, "uint64*"),
        "duration_micros": (7, "uint64"),
        "inputs": (8, "IOInfo"),
        "attr": (10, "AttributeProto*"),
    },
}


@cache
def classes() -> Mapping[str, Any]:
    """Return the classes of messages.

    Raises:
        Error: Protobuf is missing.
    """
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError as error:
        raise Error("Chakra's traces need protobuf: pip install 'hocket[chakra]'") from error
    package = "ChakraProtoMsg"
    descriptor = descriptor_pb2.FileDescriptorProto(name="hocket/et_def.proto", package=package, syntax="proto3")
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, fields in _MESSAGES.items():
        message = descriptor.message_type.add(name=name)
        for key, (number, kind) in fields.items():
            one = kind.removesuffix("*")
            field_added = message.field.add(name=key, number=number)
            field_added.label = kinds.LABEL_OPTIONAL if one == kind else kinds.LABEL_REPEATED
            field_added.type = kinds.TYPE_MESSAGE if one in _MESSAGES else kinds.Type.Value(f"TYPE_{one.upper()}")
            if one in _MESSAGES:
                field_added.type_name = f".{package}.{one}"
            if name == "AttributeProto" and key in _VALUES:
                field_added.oneof_index = 0
        if name == "AttributeProto":
            message.oneof_decl.add(name="value")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(descriptor)
    by_name = {name: pool.FindMessageTypeByName(f"{package}.{name}") for name in _MESSAGES}
    return {name: message_factory.GetMessageClass(message) for name, message in by_name.items()}
