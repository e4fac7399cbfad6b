"""The messages of Chakra execution traces. They are made on first use, so that nothing else needs protobuf.

Source: schema/protobuf/et_def.proto of mlcommons/chakra, version 0.0.4; chakra_messages.csv has the fields that Hocket
reads or writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from hocket._native import Error
from hocket.base.files import read_rows


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
