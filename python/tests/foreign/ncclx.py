"""NCCLX's tuner files, CSV and JSON, as NCCLX reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_FUNCTIONS = {"broadcast", "reduce", "allgather", "reducescatter", "allreduce"}
_ALGORITHMS = {"tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"}
_PROTOCOLS = {"ll", "ll128", "simple"}
_LEAST_FIELDS, _MOST_FIELDS = 7, 8
_RANGE = re.compile(r"([(\[])\s*(\d*)\s*,\s*(\d*)\s*([)\]])")
_ALL = (0, (1 << 63) - 1)


@dataclass(frozen=True)
class Line:
    """A rule: the first and the last number of bytes per rank, of nodes and of ranks per node."""

    function: str
    bytes_per_rank: tuple[int, int]
    algorithm: str
    protocol: str
    channels: int
    nodes: tuple[int, int]
    ranks_per_node: tuple[int, int]
    chunk_bytes: int


def read_csv(text: str) -> Sequence[Line]:
    """Read the lines. One that NCCLX cannot read ends the communicator with an error.

    Source: `loadConfigCsv`, `splitCsvLine` and `buildConfig` in `comms/ncclx/meta/tuner` in meta-pytorch/torchcomms.
    """
    lines = [line.strip() for line in text.splitlines()]
    return [_line(_fields(line)) for line in lines if line and not line.startswith("#")]


def read_json(text: str) -> Sequence[Line]:
    """Read the rules of JSON, by `loadConfigJson` and `parseJsonRule` there."""
    return [_line(_columns(rule["filter"], rule["config"])) for rule in json.loads(text)["rules"]]


def chosen(lines: Sequence[Line], function: str, nodes: int, ranks_per_node: int, size_bytes: int) -> Line | None:
    """Return the first rule for a call, by `matchesCollective` there."""
    numbers = (size_bytes // (nodes * ranks_per_node), nodes, ranks_per_node)
    for line in lines:
        ranges = (line.bytes_per_rank, line.nodes, line.ranks_per_node)
        fits = all(first <= number <= last for (first, last), number in zip(ranges, numbers, strict=True))
        if line.function == function and fits:
            return line
    return None


def _fields(line: str) -> Sequence[str]:
    fields, depth = [""], 0
    for letter in line:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            fields.append("")
        else:
            fields[-1] += letter
    return [field.strip() for field in fields]


def _columns(conditions: Mapping[str, Any], values: Mapping[str, Any]) -> Sequence[str]:
    ranges = ("bytesPerRank", "nNodes", "nLocalRanks")
    assert all(type(conditions.get(name, "")) in (int, str) for name in ranges)
    assert all(type(values.get(name, 0)) is int for name in ("channels", "chunkSize"))
    size, nodes, ranks_per_node = (str(conditions.get(name, "")) for name in ranges)
    words = (values["algorithm"], values["protocol"], str(values.get("channels", "")))
    return [conditions["collective"], size, *words, nodes, ranks_per_node, str(values.get("chunkSize", ""))]


def _line(fields: Sequence[str]) -> Line:
    assert _LEAST_FIELDS <= len(fields) <= _MOST_FIELDS, fields
    function, size, algorithm, protocol, channels, nodes, ranks_per_node, *chunk = fields
    assert function in _FUNCTIONS and algorithm in _ALGORITHMS and protocol in _PROTOCOLS, fields
    sizes = [_range(text) for text in (size, nodes, ranks_per_node)]
    chunk_bytes = int(chunk[0] or 0) if chunk else 0
    assert chunk_bytes >= 0
    return Line(function, sizes[0], algorithm, protocol, int(channels or -1), sizes[1], sizes[2], chunk_bytes)


def _range(text: str) -> tuple[int, int]:
    if text in ("", "*"):
        return _ALL
    found = _RANGE.fullmatch(text)
    if found is None:
        return int(text), int(text)
    opening, first, last, closing = found.groups()
    assert not first or not last or int(first) <= int(last), text
    return int(first) + (opening == "(") if first else 0, int(last) - (closing == ")") if last else _ALL[1]
