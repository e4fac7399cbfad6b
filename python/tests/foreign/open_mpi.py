"""Open MPI's rules of the component tuned: classic files and JSON; and those of the component han."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

FUNCTIONS = (
    *("allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "alltoallw", "barrier", "bcast", "exscan"),
    *("gather", "gatherv", "reduce", "reduce_scatter", "reduce_scatter_block", "scan", "scatter", "scatterv"),
    *("neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw"),
)
"""By their numbers in classic files."""
_NAMES = {"reduce_scatter": "reducescatter", "reduce_scatter_block": "reducescatterblock"}
_MOST_INT = (1 << 31) - 1
_MOST_LONG = (1 << 63) - 1
_PLACEMENTS = ("any", "one-per-node", "single-node")
_VALUES = ("faninout", "seg_size", "reqs")


@dataclass(frozen=True)
class Sizes:
    """What calls of some sizes get: an algorithm by number or name, and the values of its parameters."""

    first: int
    last: int
    algorithm: int | str
    values: tuple[int, ...]


@dataclass(frozen=True)
class Entry:
    """What some communicators get."""

    first: int
    last: int
    sizes: Sequence[Sizes]
    placement: str = "any"


Table = Mapping[str, Sequence[Entry]]


def chosen(table: Table, function: str, ranks: int, size_bytes: int, placement: str = "any") -> Sizes | None:
    """Return what a call gets: of the first entry for its communicator, the first rule for its size."""
    for entry in table.get(function, ()):
        if entry.first <= ranks <= entry.last and entry.placement in ("any", placement):
            return next((each for each in entry.sizes if each.first <= size_bytes <= each.last), None)
    return None


def read_classic(text: str, *, version: int, is_up_to: bool) -> Table:
    """Read a classic file; whether an entry is for numbers of ranks up to its own depends on the version.

    A number as C writes it: a leading 0 would be octal. The comments begin with `#`.

    Source: `ompi_coll_tuned_read_rules_config_file_classic` in `ompi/mca/coll/tuned/coll_tuned_dynamic_file.c`, and
    `ompi_coll_base_file_getnext_long` in `ompi/mca/coll/base/coll_base_util.c` in open-mpi/ompi.
    """
    assert text.startswith("rule-file-version-2\n") == (version == 2)
    lines = [line.partition("#")[0].split() for line in text.split("\n")[version - 1 :]]
    numbers = [word for line in lines for word in line]
    assert all(re.fullmatch(r"0|[1-9]\d*", word) and int(word) <= _MOST_LONG for word in numbers)
    left = [int(word) for word in numbers][::-1]
    table: dict[str, list[Entry]] = {}
    count = left.pop()
    assert count <= len(FUNCTIONS)
    for _ in range(count):
        function = FUNCTIONS[left.pop()]
        assert function not in table
        found = [(left.pop(), _sizes(left, version)) for _ in range(left.pop())]
        marks = [ranks for ranks, _ in found]
        assert max(marks, default=0) <= _MOST_INT
        assert marks[: -1 if is_up_to else None] == sorted(set(marks[: -1 if is_up_to else None]))
        starts = [0, *(marks[:-1] if is_up_to else marks[1:])]
        lasts = [*(start - 1 for start in starts[1:]), _MOST_INT]
        table[function] = [Entry(*span, sizes) for *span, (_, sizes) in zip(starts, lasts, found, strict=False)]
    assert not left
    return table


def _sizes(left: list[int], version: int) -> list[Sizes]:
    rows = [[left.pop() for _ in range(3 + version)] for _ in range(left.pop())]
    starts = [row[0] for row in rows]
    assert starts[0] == 0 and starts == sorted(set(starts))
    assert all(value <= _MOST_INT for row in rows for value in row[1:])
    lasts = [*(start - 1 for start in starts[1:]), _MOST_LONG]
    return [Sizes(row[0], last, row[1], tuple(row[2:])) for row, last in zip(rows, lasts, strict=True)]


HAN_ALGORITHMS = {
    **dict.fromkeys(("allgather", "bcast", "gather", "scatter"), ("default", "intra", "simple")),
    **dict.fromkeys(("allreduce", "reduce"), ("default", "intra", "simple", "reproducible")),
    **{"allgatherv": (), "barrier": ("default", "simple")},
}


def read_han(text: str) -> dict[tuple[str, str], Table]:
    """Read a file of han as its loops do; return the table of each function and level.

    Source: `mca_coll_han_init_dynamic_rules` in `ompi/mca/coll/han/coll_han_dynamic_file.c` in open-mpi/ompi.
    """
    left = [word for line in text.split("\n") for word in line.partition("#")[0].split()][::-1]
    tables: dict[tuple[str, str], Table] = {}
    count = int(left.pop())
    assert count > 0
    for _ in range(count):
        function = left.pop()
        assert function in FUNCTIONS
        for _ in range(int(left.pop())):
            level = left.pop()
            assert level in ("intra_node", "inter_node", "global_communicator")
            assert (function, level) not in tables
            found = [(int(left.pop()), _han_sizes(left, function)) for _ in range(int(left.pop()))]
            marks = [ranks for ranks, _ in found]
            assert not marks or (marks[0] == 1 and marks == sorted(set(marks)))
            lasts = [*(mark - 1 for mark in marks[1:]), _MOST_INT]
            tables[function, level] = {
                function: [Entry(first, last, sizes) for (first, sizes), last in zip(found, lasts, strict=False)]
            }
    assert not left
    return tables


def _han_sizes(left: list[str], function: str) -> list[Sizes]:
    found = []
    for _ in range(int(left.pop())):
        size, component = int(left.pop()), left.pop()
        assert component in ("self", "basic", "libnbc", "tuned", "sm", "adapt", "han")
        if component == "han" and left and left[-1].startswith("@"):
            algorithm = left.pop()[1:]
            assert algorithm in HAN_ALGORITHMS[function]
            component = f"han @{algorithm}"
        found.append((size, component))
    assert not found or found[0][0] <= 1
    lasts = [*(size - 1 for size, _ in found[1:]), _MOST_LONG]
    return [Sizes(size, last, component, ()) for (size, component), last in zip(found, lasts, strict=False)]


def read_json(text: str, algorithms: Mapping[str, Sequence[str]]) -> Table:
    """Read the JSON of Open MPI 6.0; a name of an algorithm that the collective lacks disables its rule.

    Source: `ompi_coll_tuned_read_rules_json` in `ompi/mca/coll/tuned/coll_tuned_dynamic_file.c`, and
    `docs/tuning-apps/tuned_dynamic_file_schema.json` in open-mpi/ompi.
    """
    top = json.loads(text)
    assert top.keys() == {"rule_file_version", "module", "collectives"}
    assert (top["rule_file_version"], top["module"]) == (3, "tuned")
    by_name = {_NAMES.get(function, function): function for function in FUNCTIONS}
    return {
        by_name[name]: [_entry(each, algorithms[by_name[name]]) for each in entries]
        for name, entries in top["collectives"].items()
    }


def _entry(entry: Mapping[str, object], names: Sequence[str]) -> Entry:
    assert entry.keys() <= {"comm_size_min", "comm_size_max", "comm_rank_distribution", "rules"}
    first, last = (_whole(entry.get(f"comm_size_{end}", default)) for end, default in (("min", 0), ("max", _MOST_INT)))
    assert first <= _MOST_INT and last <= _MOST_INT
    placement = entry.get("comm_rank_distribution", "any")
    assert isinstance(placement, str) and placement in _PLACEMENTS and isinstance(entry["rules"], list)
    return Entry(first, last, [_rule(rule, names) for rule in entry["rules"]], placement)


def _rule(rule: Mapping[str, object], names: Sequence[str]) -> Sizes:
    assert rule.keys() <= {"msg_size_min", "msg_size_max", "alg", *_VALUES}
    algorithm = rule["alg"]
    assert algorithm in names if isinstance(algorithm, str) else _whole(algorithm) == algorithm
    assert isinstance(algorithm, int | str)
    first, last = (_whole(rule.get(f"msg_size_{end}", default)) for end, default in (("min", 0), ("max", _MOST_LONG)))
    return Sizes(first, last, algorithm, tuple(_whole(rule.get(name, 0)) for name in _VALUES))


def _whole(value: object) -> int:
    assert type(value) is int and 0 <= value <= _MOST_LONG
    return value
