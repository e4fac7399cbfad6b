"""NCCL's tuner configuration, `NCCL_TUNER_CONFIG_FILE` of the example plugin: one line for each range of sizes.

A line is `collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks`; -1 is any. The first line that
fits decides. A number of ranks is one number or any, so that a range of ranks becomes a line for each.

Source: `ext-tuner/example/README.md` of NCCL 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hocket._native import Error
from hocket.rules.tuning_files.form import Format, Rule, Rules, Span
from hocket.rules.tuning_files.grid import rows

_LIBRARY = "nccl-2"
_NAMES = {"bcast": "broadcast", "reduce_scatter": "reducescatter"}
_LARGEST = (1 << 32) - 1  # stands for any size
_MOST_LINES = 4096
_LEAST_RANKS = 2


def _write(rules: Rules) -> str:
    head = ["# collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks"]
    lines = [line for function in rules.functions for line in _lines(rules.of(function), function)]
    if len(lines) > _MOST_LINES:
        raise Error(f"{len(lines)} lines for NCCL, expected at most {_MOST_LINES}: it has one for each number of ranks")
    return "\n".join([*head, *lines]) + "\n"


def _lines(rules: Sequence[Rule], function: str) -> Iterator[str]:
    left_out: Span | None = None
    for row in rows(rules):
        if row.ranks.last is not None and row.ranks.last < _LEAST_RANKS:
            continue
        choices = [(sizes, choice) for sizes, choice in row.choices if choice is not None]
        if len(choices) < len(row.choices):
            left_out = left_out or row.ranks
        if row.ranks.last is None and choices and left_out and left_out != row.ranks:
            raise Error(
                f"{function}: ranks {row.ranks} have no end, and calls on {left_out} are left to NCCL: a line for all "
                "ranks would take these, too; expected a rule for every number of ranks, or ranges with an end"
            )
        counts = [-1] if row.ranks.last is None else range(max(row.ranks.first, _LEAST_RANKS), row.ranks.last + 1)
        if len(counts) > _MOST_LINES:
            raise Error(f"{function}: ranks {row.ranks} need a line each, expected at most {_MOST_LINES}")
        for count in counts:
            for sizes, choice in choices:
                last = _LARGEST if sizes.last is None else sizes.last
                name = _NAMES.get(function, function)
                yield f"{name},{sizes.first},{last},{choice.algorithm},simple,-1,-1,{count}"


FORMATS = (Format(_LIBRARY, _LIBRARY, None, _write, endings=(".csv",)),)
