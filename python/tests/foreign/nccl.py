"""NCCL's tuner file, as the example of a plugin that comes with NCCL reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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
    return [Line(*line[:10]) for line in _lines(text, most_fields=10)]


def read_by_rccl_tuner(text: str) -> Sequence[Line]:
    """Read the lines. RCCL leaves out those with unknown words, with an empty field, or of another length.

    Source: `loadConfig` in `src/plugin/tuner/csv_tuner.cc` in ROCm/rccl.
    """
    lines = list(_lines(text, most_fields=12))
    assert all(partition in ("-1", "any", "spx", "cpx") for *_, partition, _ in lines)
    return [Line(*line[:10]) for line in lines]


def _lines(text: str, most_fields: int) -> Iterator[tuple[str | int, ...]]:
    """Give the fields of each line, with -1 for those that are missing; the last ones are words."""
    assert text.endswith("\n")
    for line in text.split("\n"):
        assert len(line.encode()) + 2 <= _LINE_BYTES
        if line and not line.startswith("#"):
            fields = line.split(",")
            assert 8 <= len(fields) <= most_fields and "" not in fields, line
            assert fields[0] in _FUNCTIONS and fields[3] in _ALGORITHMS and fields[4] in _PROTOCOLS, line
            numbers = [*fields[5:10], *["-1"] * (10 - len(fields))]
            assert all(re.fullmatch(r"-1|\d+", field) and int(field) < 1 << 31 for field in numbers), line
            assert all(field.isdecimal() and int(field) < 1 << 64 for field in fields[1:3]), line
            words = [*fields[10:], *["-1"] * 2][:2]
            yield fields[0], int(fields[1]), int(fields[2]), *fields[3:5], *map(int, numbers), *words
