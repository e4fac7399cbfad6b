"""NCCL's tuner file, as the example of a plugin that comes with NCCL reads it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_LINE_BYTES = 256  # with the end of the line and of the text
_FUNCTIONS = {"broadcast", "reduce", "allgather", "reducescatter", "allreduce"}
_ALGORITHMS = {"tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"}
_PROTOCOLS = {"ll", "ll128", "simple"}
_ANY = -1


@dataclass(frozen=True)
class Line:
    """A line: sizes in bytes, the last one among them, and numbers of which -1 is any."""

    function: str
    first: int
    last: int
    algorithm: str
    protocol: str
    channels: int
    nodes: int
    ranks: int
    pipe_operations: int = _ANY
    registered: int = _ANY


def read_by_nccl(text: str) -> Sequence[Line]:
    """Read the lines. The plugin takes unknown words for others, and leaves out lines of another length.

    Source: `loadConfig` in `plugins/tuner/example/plugin.c` in NVIDIA/nccl.
    """
    assert text.endswith("\n")
    found = []
    for line in text.split("\n"):
        assert len(line.encode()) + 2 <= _LINE_BYTES
        if line and not line.startswith("#"):
            fields = line.split(",")
            assert 8 <= len(fields) <= 10 and "" not in fields, line
            assert fields[0] in _FUNCTIONS and fields[3] in _ALGORITHMS and fields[4] in _PROTOCOLS, line
            assert all(re.fullmatch(r"-1|\d+", field) for field in fields[5:]), line
            assert all(field.isdecimal() and int(field) < 1 << 64 for field in fields[1:3]), line
            numbers = [int(field) for field in fields[5:]]
            assert all(number < 1 << 31 for number in numbers), line
            found.append(Line(fields[0], int(fields[1]), int(fields[2]), fields[3], fields[4], *numbers))
    return found
