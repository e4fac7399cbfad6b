"""Files of NCCL, RCCL and NCCLX: who decides, what cannot run, and conversions between them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket import Error
from hocket.rules.tuning_files.checking import findings
from hocket.rules.tuning_files.conversion import convert_rules
from hocket.rules.tuning_files.counterparts import ALGORITHMS, LIBRARIES, PROTOCOLS
from hocket.rules.tuning_files.deciding import deciding_rule, situation
from hocket.rules.tuning_files.form import Choice, Rule, Rules
from hocket.rules.tuning_files.formats import FORMATS
from hocket.rules.tuning_files.nccl_csv import FUNCTIONS
from hocket.rules.tuning_files.translation import passes_over, translate

from . import strategies
from .test_formats import NCCL

WITH_SIMPLE = {
    "nccl-2": {
        "allgather": ["ring", "collnet_direct", "nvls", "pat"],
        "allreduce": ["tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree"],
        "bcast": ["ring"],
        "reduce": ["ring"],
        "reduce_scatter": ["ring", "collnet_direct", "nvls", "pat"],
    },
    "rccl-2": {
        "allgather": ["ring", "pat"],
        "allreduce": ["tree", "ring"],
        "bcast": ["ring"],
        "reduce": ["ring"],
        "reduce_scatter": ["ring", "pat"],
    },
}
"""`algos_of_coll` of `src/device/generate.py` of NCCL 2.30 and RCCL. LL and LL128 go with rings and trees only."""


def runs(library: str, function: str, algorithm: str, protocol: str) -> bool:
    """Return whether the library has the algorithm for the function, with this protocol."""
    has = algorithm in WITH_SIMPLE[library][function]
    return has and (protocol == "simple" or algorithm in ("ring", "tree"))


def read(text: str, format: str) -> Rules:
    return FORMATS[format].read(text, "a")


def said(text: str, format: str) -> list[tuple[int, str, str]]:
    return [(found.line, found.kind, found.sentence) for found in findings(read(text, format), format)]


@pytest.mark.parametrize("library", WITH_SIMPLE)
def test_what_runs_is_what_the_library_is_built_with(library: str) -> None:
    for function in FUNCTIONS.values():
        for algorithm in ALGORITHMS:
            for protocol in PROTOCOLS:
                rule = Rule(function, Choice(algorithm, (("protocol", protocol),)))
                assert (passes_over(rule, library) == "") == runs(library, function, algorithm, protocol), rule


def test_a_tree_between_nodes_is_passed_over_on_one_node() -> None:
    rules = read("allreduce,0,1048576,nvls_tree,simple,-1,-1,-1,-1,-1\n", "nccl-2")
    calls = (situation("allreduce", 16, 1024, ranks_per_node=per_node) for per_node in (8, 16))
    assert [deciding_rule(rules, call) for call in calls] == [rules.rules[0], None]


def chosen_by_the_plugin(text: str, function: str, ranks: int, nodes: int, size: int) -> str | None:
    """Do what getCollInfo of NCCL's plugin does for a call without a group and with buffers that are not registered."""
    total = size * ranks if function == "allgather" else size
    for line in text.splitlines():
        fields = line.split(",")
        if line.startswith("#"):
            continue
        name, least, most, algorithm, protocol, channels, n_nodes, n_ranks, pipes, registered = [*fields, "-1", "-1"][
            :10
        ]
        fits = FUNCTIONS[name] == function and int(least) <= total <= int(most)
        asked = ((n_nodes, nodes), (n_ranks, ranks), (pipes, 1), (registered, 0))
        fits &= all(int(value) in (-1, actual) for value, actual in asked)
        is_refused = (
            (algorithm == "nvls_tree" and nodes == 1)
            or (algorithm == "pat" and ranks != nodes)
            or (algorithm.startswith("nvls") and ranks < 3 * nodes)
        )
        if fits and runs("nccl-2", function, algorithm, protocol) and not is_refused:
            return f"{algorithm} {protocol} {channels}"
    return None


@given(strategies.nccl_lines("nccl-2"), st.integers(2, 100), st.sampled_from([1, 2, 8]), st.integers(0, 1 << 21))
def test_explained_is_what_the_plugin_does(rules: Rules, ranks: int, per_node: int, size: int) -> None:
    text = FORMATS["nccl-2"].write(rules)
    rules = read(text, "nccl-2")
    for function in FUNCTIONS.values():
        call = situation(function, ranks, size, ranks_per_node=per_node)
        rule = deciding_rule(rules, call)
        given = {"channels": -1, **dict(rule.choice.parameters)} if rule and rule.choice else {}
        got = f"{rule.choice.algorithm} {given['protocol']} {given['channels']}" if rule and rule.choice else None
        expected = chosen_by_the_plugin(text, function, ranks, call.nodes, size)
        assert got == expected


def test_the_example_of_nccl_has_a_line_that_never_decides_and_ends_at_4_gib() -> None:
    at_the_end = "messages of 4 GiB and more are left to nccl-2, expected 18446744073709551615 as the largest size"
    assert said(NCCL, "nccl-2") == [
        (8, "gap", f"allreduce: {at_the_end}"),
        (11, "passed over", "bcast: nccl-2 has no tree for it, expected ring"),
        (14, "gap", f"bcast: {at_the_end}"),
    ]


@pytest.mark.parametrize(
    ("format", "text", "finding"),
    [
        (
            "nccl-2",
            "allreduce,0,-1,nvls,ll,-1,-1,-1",
            (1, "passed over", "allreduce: nvls has no ll, expected simple, or ring or tree with ll"),
        ),
        (
            "nccl-2",
            "\nallreduce,0,-1,collnet_chain,ll128,-1,-1,-1",
            (2, "passed over", "allreduce: collnet_chain has no ll128, expected simple, or ring or tree with ll128"),
        ),
        (
            "ncclx-2",
            "reducescatter,*,tree,simple,-1,*,*",
            (
                1,
                "passed over",
                "reduce_scatter: ncclx-2 has no tree for it, expected ring, pat, collnet_direct, nvls",
            ),
        ),
        (
            "nccl-2",
            "allgather,0,-1,pat,simple,-1,2,16",
            (1, "passed over", "allgather: pat takes one rank on each node"),
        ),
        (
            "ncclx-2",
            "allgather,*,pat,simple,-1,*,[2,8]",
            (1, "passed over", "allgather: pat takes one rank on each node"),
        ),
        (
            "nccl-2",
            "allreduce,0,-1,nvls,simple,-1,4,8",
            (1, "passed over", "allreduce: nvls takes 3 ranks and more on each node"),
        ),
        (
            "nccl-2",
            "allreduce,0,-1,nvls,simple,-1,4,32",
            (
                1,
                "needs a plugin",
                "allreduce: nvls needs a plugin of the network on several nodes; else the line is passed over",
            ),
        ),
        (
            "nccl-2",
            "allreduce,0,-1,collnet_direct,simple,-1,-1,-1",
            (
                1,
                "needs a plugin",
                "allreduce: collnet_direct needs a plugin of the network; else the line is passed over",
            ),
        ),
        (
            "nccl-2",
            "allreduce,0,-1,ring,simple,65,-1,-1",
            (1, "channels", "allreduce: got 65 channels, of which nccl-2 opens 64 at most"),
        ),
        (
            "rccl-2",
            "allreduce,0,-1,ring,simple,129,-1,-1",
            (1, "channels", "allreduce: got 129 channels, of which rccl-2 opens 128 at most"),
        ),
        (
            "nccl-2",
            "allreduce,0,-1,nvls_tree,simple,-1,1,-1",
            (1, "passed over", "allreduce: nvls_tree takes 2 nodes and more"),
        ),
        (
            "rccl-2",
            "allreduce,0,-1,nvls,simple,-1,-1,-1",
            (1, "passed over", "allreduce: rccl-2 has no nvls for it, expected ring, tree"),
        ),
        (
            "rccl-2",
            "reduce,0,-1,ring,simple,-1,-1,-1,-1,-1,cpx",
            (1, "not asked", "reduce: rccl-2 asks for partitionMode only if RCCL_CHIPLET_TUNER_ENABLE is 1"),
        ),
        (
            "nccl-2",
            "reduce,0,4096,ring,ll,-1,2,-1\nreduce,4096,8192,ring,simple,-1,2,-1",
            (2, "overlap", "reduce: sizes 4096 belong to line 1, as the first line decides"),
        ),
        (
            "ncclx-2",
            "reduce,[0,64],ring,ll,-1,2,8\nreduce,[66,),ring,simple,-1,2,8",
            (
                1,
                "gap",
                "reduce: sizes 65 on 16 ranks are left to ncclx-2, but smaller and larger sizes have rules",
            ),
        ),
        (
            "nccl-2",
            "reduce,0,-1,ring,ll,-1,-1,16\nreduce,8,9,ring,simple,-1,2,16",
            (2, "unreachable", "reduce: ring, protocol=simple: earlier lines decide all its calls"),
        ),
        (
            "ncclx-2",
            "reduce,*,ring,ll,-1,[2,4],*\nreduce,5,ring,simple,-1,[3,4],8",
            (2, "unreachable", "reduce: ring, protocol=simple: earlier lines decide all its calls"),
        ),
    ],
)
def test_what_lint_says(format: str, text: str, finding: tuple[int, str, str]) -> None:
    assert said(text, format) == [finding]


def test_a_line_that_is_passed_over_hides_no_other_line_and_fills_no_gap() -> None:
    text = "reduce,0,-1,tree,ll,-1,-1,-1\nreduce,0,9,ring,ll,-1,-1,-1\nreduce,20,-1,ring,ll,-1,-1,-1\n"
    assert [(line, kind) for line, kind, _ in said(text, "nccl-2")] == [(1, "passed over"), (2, "gap")]


def test_lines_for_other_nodes_hide_no_line_and_fill_no_gap() -> None:
    assert said("reduce,0,9,ring,ll,-1,2,16\nreduce,10,-1,ring,ll,-1,4,16\n", "nccl-2") == []
    assert said("reduce,0,-1,ring,ll,-1,2,16\nreduce,0,-1,ring,simple,-1,4,16\n", "nccl-2") == []
    gap = "reduce,0,9,ring,ll,-1,2,16\nreduce,10,19,ring,ll,-1,4,16\nreduce,20,-1,ring,ll,-1,2,16\n"
    assert [(line, kind) for line, kind, _ in said(gap, "nccl-2")] == [(1, "gap")]


def at_the_ends(rules: Sequence[Rule], ranks: int) -> set[int]:
    """Sizes that the ranks divide, around those where the ranges of rules begin and end."""
    ends = {end for rule in rules for end in (rule.sizes.first, rule.sizes.last or 0)}
    counts = {end // by + more for end in ends for by in (1, ranks, ranks * ranks) for more in (-1, 0, 1)}
    return {max(count, 0) * ranks for count in counts}


@settings(max_examples=60)
@given(
    st.sampled_from(["nccl-2", "rccl-2"]).flatmap(strategies.nccl_lines) | strategies.ncclx_lines(),
    st.sampled_from(["nccl-2", "rccl-2", "ncclx-2", "hocket"]),
    st.sampled_from([1, 8]),
)
def test_what_is_converted_decides_the_same_on_the_ranks_it_is_exact_for(rules: Rules, to: str, per_node: int) -> None:
    if {rules.library, to} <= {"nccl-2", "rccl-2"}:
        return  # these keep all lines
    exact = [8, 16, 24, 64]
    found = convert_rules(rules, to, ranks=exact, ranks_per_node=per_node).rules
    if to != "hocket":
        try:
            text = FORMATS[to].write(found)
        except Error as error:
            assert "have no end" in str(error)  # NCCL has no line for ranges of ranks without an end
            return
        found = read(text, to)
    for function in rules.functions:
        for ranks in exact:
            for size in at_the_ends(rules.of(function), ranks):
                call = situation(function, ranks, size, ranks_per_node=per_node)
                one, two = deciding_rule(rules, call), deciding_rule(found, call)
                words = translate(function, one.choice, rules.library, to).choice if one and one.choice else None
                assert (two.choice if two else None) == words, (call, one, two)


def test_bytes_per_rank_are_the_bytes_of_the_message_divided_and_rounded_down() -> None:
    # On 16 ranks, messages of 0..1000 bytes have 0..62 bytes per rank: 62 * 16 = 992, 63 * 16 = 1008.
    share = "allreduce,[0,62],ring,ll,-1,2,8"
    whole = read("allreduce,0,1000,ring,ll,-1,2,16\n", "nccl-2")
    found = convert_rules(whole, "ncclx-2", ranks=[16], ranks_per_node=8)
    assert FORMATS["ncclx-2"].write(found.rules).splitlines()[1:] == [share]
    # Those with 0..62 bytes per rank have 0..1007 bytes.
    back = convert_rules(read(share, "ncclx-2"), "nccl-2", ranks=[16], ranks_per_node=8)
    assert FORMATS["nccl-2"].write(back.rules).splitlines()[1:] == ["allreduce,0,1007,ring,ll,-1,2,16"]
    ours = convert_rules(read(share, "ncclx-2"), "hocket", ranks=[16], ranks_per_node=8)
    assert FORMATS["hocket"].write(ours.rules) == "allreduce[ranks=16, size=..1008]: multi_ring\n"


def test_between_nccl_and_rccl_lines_stay() -> None:
    rules = read("allreduce,0,9,nvls,simple,-1,1,-1\nallreduce,0,-1,tree,ll,4,2,16,1,0,cpx,2\n", "rccl-2")
    found = convert_rules(rules, "nccl-2")
    assert FORMATS["nccl-2"].write(found.rules).splitlines()[1:] == [
        "allreduce,0,9,nvls,simple,-1,1,-1",
        "allreduce,0,18446744073709551615,tree,ll,4,2,16,1,0",
    ]
    assert found.notes == ("allreduce: nccl-2 does not ask for partitionMode and localGroup",)
    back = convert_rules(found.rules, "rccl-2")
    assert [rule.choice.algorithm for rule in back.rules.rules if rule.choice] == ["tree"]
    assert back.notes == ("allreduce: rccl-2 has no nvls, left to the library",)


@pytest.mark.parametrize("library", ["nccl-2", "rccl-2", "ncclx-2"])
def test_algorithms_of_gpu_libraries_keep_their_names(library: str) -> None:
    names = {known.name for each in LIBRARIES[library].algorithms.values() for known in each}
    assert names <= set(ALGORITHMS)
