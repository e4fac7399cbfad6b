"""MPICH's selection tree, `MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE`."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

_NUMBER = re.compile(r"(comm_size|avg_msg_size|total_msg_size|count|comm_avg_ppn)(<=|<)(\d{1,10})")
_WORDS = {
    *(f"is_{what}={word}" for what in ("multi_threaded", "commutative", "op_built_in") for word in ("yes", "no")),
    *(
        f"is_{what}={word}"
        for what in ("sendbuf_inplace", "block_regular", "node_consecutive")
        for word in ("yes", "no")
    ),
    *("comm_type=intra", "comm_type=inter", "comm_size=pow2", "comm_size=node_comm_size", "count<pow2"),
    *(f"comm_hierarchy={what}" for what in ("parent", "node_roots", "node", "flat")),
}
_MAY_END = re.compile(r"is_|comm_type=|comm_hierarchy=")
_ASKED_OF = {
    "avg_msg_size": {"allreduce", "bcast", "reduce", "alltoall"},
    "total_msg_size": {
        *("allreduce", "bcast", "reduce", "alltoall", "alltoallv", "alltoallw", "allgather", "allgatherv"),
        *("gather", "scatter", "reduce_scatter", "reduce_scatter_block"),
    },
    "count": {"bcast", "allreduce", "reduce", "allgather", "allgatherv", "reduce_scatter", "reduce_scatter_block"},
    "is_commutative": {"allreduce", "reduce", "reduce_scatter", "reduce_scatter_block"},
    "is_op_built_in": {"allreduce", "reduce"},
    "is_sendbuf_inplace": {"alltoall", "alltoallv", "alltoallw"},
    "is_block_regular": {"reduce_scatter"},
}
"""Questions about the call, and the functions that have an answer; for others they end the program."""
_MOST_INT = (1 << 31) - 1


def read_by_mpich(text: str, functions: Collection[str], algorithms: Collection[str]) -> None:
    """Read a tree as MPICH does, which ends the program at anything that it does not know.

    Questions are asked in order. Only those of yes or no may be the last; all others need one that is always true
    behind them, and nothing is asked behind that one. A leaf is an object whose first name is an algorithm.

    Source: `parse_json_tree`, `validate_tree`, and `MPIR_Csel_search` with what it calls, in
    `src/mpi/coll/src/csel.c` in pmodels/mpich.
    """
    tree = json.loads(text, object_pairs_hook=_distinct)
    assert {key.removeprefix("collective=") for key in tree} == set(functions)
    for key, inner in tree.items():
        _assert_valid(inner, key.removeprefix("collective="), algorithms)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len(dict(pairs)) == len(pairs), pairs
    return dict(pairs)


def _assert_valid(tree: Mapping[str, Any], function: str, algorithms: Collection[str]) -> None:
    keys = list(tree)
    assert keys, function
    if keys[0].startswith("algorithm="):
        assert len(keys) == 1 and keys[0].removeprefix("algorithm=") in algorithms, keys
        assert all(re.fullmatch(r"\w+=\w+", name) and value == {} for name, value in tree[keys[0]].items()), tree
        return
    for place, key in enumerate(keys):
        is_last = place == len(keys) - 1
        number = _NUMBER.fullmatch(key)
        assert number or key in _WORDS or key == "any" or key.endswith("=any"), key
        assert number is None or int(number[3]) <= _MOST_INT, key
        is_any = key == "any" or key.endswith("=any")
        assert not is_any or is_last, keys
        assert is_any or not is_last or _MAY_END.match(key), keys
        asked = re.split("[<=]", key)[0]
        assert is_any or function.removeprefix("i") in _ASKED_OF.get(asked, (function.removeprefix("i"),)), (
            function,
            key,
        )
        _assert_valid(tree[key], function, algorithms)
