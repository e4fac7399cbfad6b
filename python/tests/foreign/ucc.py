"""UCC's scores, as its point-to-point layer reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_FUNCTIONS = {
    *("allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "barrier", "bcast", "fanin", "fanout"),
    *("gather", "gatherv", "reduce", "reduce_scatter", "reduce_scatterv", "scatter", "scatterv"),
}
_ALGORITHMS = {
    "allgather": {"knomial", "ring", "neighbor", "bruck", "sparbit", "linear", "linear_batched"},
    "allgatherv": {"knomial", "ring"},
    "allreduce": {"knomial", "sra_knomial", "dbt", "sliding_window"},
    "alltoall": {"pairwise", "bruck", "onesided"},
    "alltoallv": {"pairwise", "hybrid", "onesided"},
    "bcast": {"knomial", "sag_knomial", "dbt"},
    "reduce": {"knomial", "dbt", "srg_knomial"},
    "reduce_scatter": {"ring", "knomial"},
    "reduce_scatterv": {"ring"},
}
"""No other function takes an algorithm."""
MEMORIES = ("host", "cuda", "cuda_managed", "rocm", "rocm_managed")
_MOST = (1 << 64) - 1
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}

Table = Mapping[tuple[str, str], Sequence[tuple[int, int, str]]]
"""For each function and memory its ranges of sizes, each with an algorithm: "" for the layer's own choice."""


def read_by_ucc(text: str, team_size: int) -> Table:
    """Read `UCC_TL_UCP_TUNE` as UCC does for a team. One part that it refuses makes it refuse all.

    Source: `ucc_coll_score_alloc_from_str`, `ucc_coll_score_parse_str` and `coll_score_add_range` in
    `src/coll_score/ucc_coll_score.c`, `ucc_coll_type_from_str` and `ucc_mem_type_from_str` in
    `src/utils/ucc_coll_utils.c`, and `ucc_tl_ucp_alg_id_to_init` in `src/components/tl/ucp/tl_ucp_coll.c` in
    openucx/ucc.
    """
    table: dict[tuple[str, str], list[tuple[int, int, str]]] = {}
    for token in text.strip().split("#"):
        fields: dict[str, str] = {}
        for part in token.lower().split(":"):
            kind = _kind(part)
            assert kind not in fields, token
            fields[kind] = part
        teams = [_range(each) for each in fields.get("teams", f"[{team_size}-{team_size}]")[1:-1].split(",")]
        assert all(first <= last < 1 << 32 for first, last in teams), token
        if not any(first <= team_size <= last for first, last in teams) or not {"score", "algorithm"} & fields.keys():
            continue
        algorithm = fields.get("algorithm", "@")[1:]
        for function in fields["functions"].split(",") if "functions" in fields else sorted(_FUNCTIONS):
            assert not algorithm or algorithm in _ALGORITHMS.get(function, ()), token
            for memory in fields["memories"].split(",") if "memories" in fields else MEMORIES:
                ranges = table.setdefault((function, memory), [])
                for sizes in fields.get("sizes", f"0-{_MOST}").split(","):
                    first, last = _range(sizes, largest=_MOST)
                    assert first < last, token
                    assert all(last <= other[0] or other[1] <= first for other in ranges), token
                    ranges.append((first, last, algorithm))
                    ranges.sort()
    return table


def chosen(table: Table, function: str, memory: str, size_bytes: int) -> str | None:
    """Return the algorithm of a call, of the first range that contains its size.

    Source: `ucc_coll_score_map_lookup` in `src/coll_score/ucc_coll_score_map.c` in openucx/ucc.
    """
    ranges = table.get((function, memory), ())
    return next((algorithm for first, last, algorithm in ranges if first <= size_bytes <= last), None)


def _kind(part: str) -> str:
    words = part.split(",")
    if set(words) <= _FUNCTIONS:
        return "functions"
    if set(words) <= set(MEMORIES):
        return "memories"
    if part == "inf" or part.isdecimal():
        return "score"
    if part.startswith("[") and part.endswith("]"):
        return "teams"
    if part.startswith("@"):
        return "algorithm"
    assert all(word.count("-") == 1 for word in words), part
    return "sizes"


def _range(text: str, *, largest: int = (1 << 32) - 1) -> tuple[int, int]:
    first, _, last = text.partition("-")
    return _number(first, largest), _number(last or first, largest)


def _number(text: str, largest: int) -> int:
    found = re.fullmatch(r"(\d+)([bkmgt]?)b?|inf", text)
    assert found is not None, text
    return largest if text == "inf" else int(found[1]) * _UNITS[found[2]]
