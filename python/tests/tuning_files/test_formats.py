"""Every format: written files are read again, documented files are read, bad files give one line."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hocket
from hocket.rules.tuning_files.conversion import convert_rules
from hocket.rules.tuning_files.counterparts import LIBRARIES
from hocket.rules.tuning_files.deciding import deciding_rule, situation, verdicts
from hocket.rules.tuning_files.form import Choice, Rule, Rules, Span, measured
from hocket.rules.tuning_files.formats import FORMATS, format_of, read, write_rules
from hocket.rules.tuning_files.mpich_json import default_tree, default_tree_functions, known_names
from hocket.rules.tuning_files.nccl_csv import FUNCTIONS
from hocket.rules.tuning_files.openmpi_han import FUNCTIONS_OF_HAN, LEVEL, calls_by_level
from tests.foreign import intel_mpi, ncclx, open_mpi, ucc
from tests.foreign.mpich import read_by_mpich
from tests.foreign.nccl import read_by_nccl, read_by_rccl_tuner

from . import strategies

SIZES = [0, 1, 8, 9, 1000, 4096, 65536, 1 << 20]
RANKS = [1, 2, 3, 4, 7, 8, 33, 64, 4097]
few = settings(max_examples=40)


def again(rules: Rules, name: str) -> Rules:
    format = FORMATS[name]
    return format.read(write_rules(rules, format), "again")


@given(strategies.hocket_rules())
def test_hocket_rules_are_read_as_they_were_written(rules: Rules) -> None:
    assert again(rules, "hocket") == rules


@few
@given(strategies.tables("openmpi-4.1", has_requests=False))
def test_classic_files_of_version_1_are_read_as_they_were_written(rules: Rules) -> None:
    assert again(rules, "openmpi-4.1") == rules


@few
@given(strategies.tables("openmpi-5.0", has_requests=True))
def test_classic_files_of_version_2_are_read_as_they_were_written(rules: Rules) -> None:
    assert again(rules, "openmpi-5.0") == rules


@few
@given(strategies.tables("openmpi-6.0", has_requests=True))
def test_classic_files_for_the_new_meaning_are_read_as_they_were_written(rules: Rules) -> None:
    assert again(rules, "openmpi-6.0-classic") == rules


@few
@given(strategies.tables("openmpi-6.0", has_requests=True, placements=["any", "one-per-node", "single-node"]))
def test_json_of_open_mpi_decides_as_it_was_written(rules: Rules) -> None:
    read_again = again(rules, "openmpi-6.0")
    assert again(read_again, "openmpi-6.0") == read_again
    same_decisions(rules, read_again)


@few
@pytest.mark.parametrize("name", ["openmpi-4.1", "openmpi-5.0", "openmpi-6.0-classic", "openmpi-6.0"])
@given(data=st.data())
def test_open_mpi_decides_as_the_rules_do(name: str, data: st.DataObject) -> None:
    library = FORMATS[name].library
    is_json, version = name == "openmpi-6.0", 1 if name == "openmpi-4.1" else 2
    placements = ["any", "one-per-node", "single-node"] if is_json else []
    rules = data.draw(strategies.tables(library, has_requests=version == 2, placements=placements))
    text, known = write_rules(rules, FORMATS[name]), LIBRARIES[library]
    names = {function: [each.name for each in algorithms] for function, algorithms in known.algorithms.items()}
    table = (
        open_mpi.read_json(text, names)
        if is_json
        else open_mpi.read_classic(text, version=version, is_up_to=name.startswith("openmpi-6"))
    )
    for function, ranks, size in product(rules.functions, RANKS, SIZES):
        call = situation(function, ranks, size)
        rule = deciding_rule(rules, call)
        ours = rule.choice if rule else None
        found = open_mpi.chosen(
            table, function, ranks, measured(known.measures[function], size, ranks, call.element_bytes), call.placement
        )
        theirs = known.find(function, str(found.algorithm)) if found else None
        assert (ours.algorithm if ours else None) == (theirs.name if theirs else None), (call, found)
        if ours and found:
            assert dict(zip(("faninout", "seg_size", "reqs"), found.values, strict=False)) == {
                **dict.fromkeys(("faninout", "seg_size", "reqs")[: len(found.values)], 0),
                **dict(ours.parameters),
            }


@few
@given(
    strategies.levels_of_han().filter(lambda rules: bool(rules.rules)),
    st.sampled_from([(8, 2), (12, 4), (64, 8), (6, 3)]),
)
def test_han_decides_at_each_level_as_the_rules_do(rules: Rules, job: tuple[int, int]) -> None:
    text = write_rules(rules, FORMATS["openmpi-5.0-han"])
    read_again = again(rules, "openmpi-5.0-han")
    assert again(read_again, "openmpi-5.0-han") == read_again
    tables = open_mpi.read_han(text)
    assert tables.keys() == {(rule.function, dict(rule.conditions)[LEVEL]) for rule in rules.rules}
    for (function, level), size in product(tables, SIZES):
        (call,) = calls_by_level(situation(function, job[0], size, ranks_per_node=job[1]), [level])
        ranks = {"intra_node": job[1], "inter_node": job[0] // job[1]}.get(level, job[0])
        asked = measured(LIBRARIES["openmpi-5.0-han"].measures[function], size, ranks)
        theirs = open_mpi.chosen(tables[function, level], function, ranks, asked)
        is_asked = level != "global_communicator" or function in FUNCTIONS_OF_HAN
        for some in (rules, read_again):
            rule = deciding_rule(some, call)
            ours = rule.choice.algorithm if rule and rule.choice else None
            assert ours == (theirs.algorithm if theirs and is_asked else None), call


@few
@given(strategies.trees())
def test_trees_of_mpich_are_read_as_they_were_written(rules: Rules) -> None:
    read_again = again(rules, "mpich-5.0")
    for function in rules.functions:
        assert read_again.of(function) == rules.of(function)


@few
@given(strategies.scores())
def test_scores_of_ucc_decide_for_it_and_for_us_as_the_rules_do(rules: Rules) -> None:
    read_again = again(rules, "ucc-1")
    assert again(read_again, "ucc-1") == read_again
    same_decisions(rules, read_again)
    for ranks in RANKS:
        table = ucc.read_by_ucc(write_rules(rules, FORMATS["ucc-1"]), ranks) if rules.rules else {}
        for function, memory, size in product(rules.functions, ("host", "cuda", "rocm"), SIZES):
            call = situation(function, ranks, size)
            rule = deciding_rule(rules, replace(call, conditions={**call.conditions, "memory": memory}))
            is_named = rule is not None and rule.choice is not None and function not in ("barrier", "gather")
            measure = LIBRARIES["ucc-1"].measures[function]
            algorithm = ucc.chosen(table, function, memory, measured(measure, size, ranks, call.element_bytes))
            assert algorithm == (rule.choice.algorithm if is_named else "" if rule and rule.choice else None)


@few
@given(strategies.adjustments())
def test_variables_of_intel_mpi_decide_for_it_and_for_us_as_the_rules_do(rules: Rules) -> None:
    read_again = again(rules, "intelmpi-2021")
    assert not any(rule.meant_calls for rule in read_again.rules)
    same_decisions(rules, read_again)
    trees = intel_mpi.trees(write_rules(rules, FORMATS["intelmpi-2021"]))
    for (function, tree), ranks, size in product(trees.items(), RANKS, SIZES):
        rule = deciding_rule(rules, situation(function, ranks, size))
        known = LIBRARIES["intelmpi-2021"].algorithms[function]
        measure = LIBRARIES["intelmpi-2021"].measures[function]
        asked = None if measure == "nothing" else measured(measure, size, ranks)
        preset = str(intel_mpi.chosen(tree, ranks, asked))
        name = next((each.name for each in known if str(each.number) == preset), preset)
        assert (rule.choice.algorithm if rule and rule.choice else "0") in (name, preset), (function, ranks, size)


VALUES = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.lists(st.sampled_from(["0-8", "9", "100-50", "7-4096", "@4", "0-8@2-7", "9@8", "1000@5-2"]), max_size=2),
    ),
    min_size=1,
    max_size=5,
).map(lambda entries: ";".join(f"{preset}:{','.join(conditions)}".rstrip(":") for preset, conditions in entries))


@given(VALUES)
def test_any_value_of_intel_mpi_is_read_as_it_reads_it(value: str) -> None:
    read_intel_mpi = FORMATS["intelmpi-2021"].read
    rules = read_intel_mpi(f"export I_MPI_ADJUST_ALLREDUCE='{value}'", "any")
    names = {each.name: str(each.number) for each in LIBRARIES["intelmpi-2021"].algorithms["allreduce"]}
    for ranks, size in product(RANKS, SIZES):
        rule = deciding_rule(rules, situation("allreduce", ranks, size))
        preset = names[rule.choice.algorithm] if rule and rule.choice else "0"
        assert preset == str(intel_mpi.chosen(intel_mpi.tree(value), ranks, size)), (ranks, size)


def test_ucc_cannot_tell_a_single_size() -> None:
    knomial = Choice("knomial")
    for more in ((), (Rule("bcast", knomial, sizes=Span(10)),)):
        alone = Rules("ucc-1", (Rule("bcast", knomial, sizes=Span(8, 8)), *more))
        with pytest.raises(hocket.Error, match=r"^bcast: got a rule for 8 bytes alone, which UCC refuses"):
            write_rules(alone, FORMATS["ucc-1"])
    rest = (Rule("bcast", Choice("dbt"), sizes=Span(8, 8)), Rule("bcast", knomial))
    assert write_rules(Rules("ucc-1", rest), FORMATS["ucc-1"]) == (
        "bcast:0-7:inf:@knomial#bcast:7-8:inf:@dbt#bcast:8-inf:inf:@knomial\n"
    )


def test_documented_scores_of_ucc_are_read() -> None:
    """The example of UCC's user guide, and further forms of its description."""
    read_ucc = FORMATS["ucc-1"].read
    guide = read_ucc("allreduce:cuda:inf#alltoall:0\n", "ucc").rules
    assert guide == (
        Rule("allreduce", None, conditions=(("memory", "cuda"),)),
        Rule("alltoall", None, measure="total"),
    )
    many = read_ucc("allreduce,bcast:0-4K,1m-INF:host:[2-16]:@knomial", "ucc").rules
    assert [(rule.function, rule.sizes) for rule in many] == [
        (function, sizes) for function in ("allreduce", "bcast") for sizes in (Span(0, 4096), Span(1 << 20))
    ]
    assert all(rule.ranks == Span(2, 16) and rule.choice == Choice("knomial") for rule in many)


def test_nccl_gets_a_line_for_each_number_of_ranks() -> None:
    ring = Choice("ring")
    rules = Rules("nccl-2", (Rule("allreduce", ring, Span(4, 5), sizes=Span(0, 99)), Rule("bcast", ring)))
    assert write_rules(rules, FORMATS["nccl-2"]).splitlines()[1:] == [
        "allreduce,0,99,ring,simple,-1,-1,4",
        "allreduce,0,99,ring,simple,-1,-1,5",
        "broadcast,0,18446744073709551615,ring,simple,-1,-1,-1",
    ]
    with pytest.raises(
        hocket.Error, match=r"^allreduce: ranks 8\.\. have no end, and calls on 0\.\.7 are left to NCCL"
    ):
        write_rules(Rules("nccl-2", (Rule("allreduce", ring, Span(8)),)), FORMATS["nccl-2"])
    with pytest.raises(hocket.Error, match="need a line each"):
        write_rules(Rules("nccl-2", (Rule("allreduce", ring, Span(8, 8000)),)), FORMATS["nccl-2"])


@few
@given(st.sampled_from(["nccl-2", "rccl-2"]).flatmap(strategies.nccl_lines))
def test_lines_of_nccl_and_rccl_are_read_as_they_were_written(rules: Rules) -> None:
    read_again = again(rules, rules.library)
    for function in rules.functions:
        assert read_again.of(function) == rules.of(function)
    read_by_library = {"nccl-2": read_by_nccl, "rccl-2": read_by_rccl_tuner}[rules.library]
    lines = read_by_library(write_rules(rules, FORMATS[rules.library]))
    assert [(line.ranks, line.nodes, line.algorithm) for line in lines] == [
        (rule.ranks.last or -1, rule.nodes.last or -1, rule.choice.algorithm)
        for function in rules.functions
        for rule in rules.of(function)
        if rule.choice
    ]


@few
@given(strategies.ncclx_lines())
def test_lines_of_ncclx_are_read_as_they_were_written(rules: Rules) -> None:
    assert again(rules, "ncclx-2") == rules
    assert again(rules, "ncclx-2.json") == rules
    lines = ncclx.read_csv(write_rules(rules, FORMATS["ncclx-2"]))
    assert ncclx.read_json(write_rules(rules, FORMATS["ncclx-2.json"])) == lines
    for (name, function), (nodes, per_node), size in product(FUNCTIONS.items(), [(1, 8), (2, 4), (7, 3)], SIZES):
        line = ncclx.chosen(lines, name, nodes, per_node, size * nodes * per_node)
        calls = (rule for rule in rules.of(function) if nodes in rule.nodes and per_node in rule.ranks_per_node)
        rule = next((each for each in calls if size in each.sizes), None)
        assert (line and line.algorithm) == (rule and rule.choice and rule.choice.algorithm)


NCCL = """# Single-node, small allreduce: use tree algorithm, registered buffers only
allreduce,0,65536,tree,simple,2,1,-1,-1,1

# 4-node, 32-rank setup: medium allreduce, single pipeline op, non-registered buffers
allreduce,65537,1048576,ring,simple,4,4,32,1,0

# Any topology: large allreduce with LL128, multiple pipeline ops, any buffer type
allreduce,1048577,4294967295,ring,ll128,-1,-1,-1,4,-1

# Single-node broadcast: prefer tree, any pipeOps, registered buffers (backward compatible)
broadcast,0,32768,tree,simple,-1,1,-1

# Multi-node broadcast: optimized for non-registered buffers, single pipeline op
broadcast,32769,4294967295,ring,simple,2,-1,-1,1,0
"""
"""The example of NCCL 2.30, plugins/tuner/example/README.md."""


def test_the_documented_lines_of_nccl_are_read() -> None:
    read_nccl = FORMATS["nccl-2"].read
    rules = read_nccl(NCCL, "nccl_tuner.conf").rules
    assert [rule.line for rule in rules] == [2, 5, 8, 11, 14]
    assert rules[1] == Rule(
        "allreduce",
        Choice("ring", (("protocol", "simple"), ("channels", 4))),
        Span(32, 32),
        sizes=Span(65537, 1048576),
        nodes=Span(4, 4),
        conditions=(("numPipeOps", "1"), ("regBuff", "0")),
    )
    headings = "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff\n"
    assert read_nccl(headings, "nccl_tuner.conf").rules == ()
    assert read_nccl("reduce,0,-1,ring,ll,-1,-1,-1\r\n", "any").rules[0].sizes == Span()


NCCLX = """# the examples of comms/ncclx/meta/tuner/README.md and docs/design.md in torchcomms
allgather,[8388608,16777216],ring,ll128,-1,*,*
allreduce,[1048576,268435456],ring,ll128,-1,2,8
allgather, [0,2097152], tree, simple, 4, 2, 8, 65536
"""


NCCLX_JSON = """{
  "rules": [
    {"filter": {"collective": "allreduce", "bytesPerRank": "[0,1048576]"},
     "config": {"algorithm": "ring", "protocol": "ll128"}},
    {"filter": {"collective": "allgather", "bytesPerRank": "[0,2097152]", "nNodes": 2, "nLocalRanks": "8"},
     "config": {"algorithm": "tree", "protocol": "simple", "channels": 4}},
    {"filter": {"collective": "reducescatter", "bytesPerRank": "(1048576,)", "nNodes": "(1,)"},
     "config": {"algorithm": "ring", "protocol": "simple", "chunkSize": 524288}}
  ]
}
"""
NCCLX_LINES = """allreduce,[0,1048576],ring,ll128,-1,*,*
allgather,[0,2097152],tree,simple,4,2,8
reducescatter,(1048576,),ring,simple,-1,(1,),*,524288
"""


def test_json_of_ncclx_says_what_its_lines_say(tmp_path: Path) -> None:
    for name, text in (("a.ncclx-2.json", NCCLX_JSON), ("a.ncclx-2.csv", NCCLX_LINES)):
        (tmp_path / name).write_text(text)
    in_json, in_lines = read(tmp_path / "a.ncclx-2.json"), read(tmp_path / "a.ncclx-2.csv")
    assert [rule.line for rule in in_json.rules] == [3, 5, 7]
    assert in_json == in_lines


def test_the_documented_lines_of_ncclx_are_read() -> None:
    read_ncclx = FORMATS["ncclx-2"].read
    rules = read_ncclx(NCCLX, "override.csv").rules
    assert [(rule.ranks, rule.nodes, rule.ranks_per_node) for rule in rules] == [
        (Span(), Span(), Span()), *[(Span(16, 16), Span(2, 2), Span(8, 8))] * 2,
    ]  # fmt: skip
    assert [(rule.sizes, rule.measure) for rule in rules[:2]] == [
        (Span(8388608, 16777216), "size"), (Span(1048576, 268435456), "share"),
    ]  # fmt: skip
    assert rules[2].choice == Choice("tree", (("protocol", "simple"), ("channels", 4), ("chunkSize", 65536)))


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("*", Span()), ("", Span()), ("5", Span(5, 5)), ("[2,4]", Span(2, 4)), ("(2,4)", Span(3, 3)),
        ("[2,4)", Span(2, 3)), ("(1,)", Span(2)), ("[2,)", Span(2)), ("(,4]", Span(0, 4)), ("[,4)", Span(0, 3)),
        ("( 1 , 4 ]", Span(2, 4)), ("(4,4)", Span(1, 0)), ("[0,0)", Span(1, 0)),
    ],
)  # fmt: skip
def test_intervals_of_ncclx(text: str, span: Span) -> None:
    read_ncclx = FORMATS["ncclx-2"].read
    rules = read_ncclx(f"reduce,{text},ring,ll,-1,*,*\n", "any")
    assert rules.rules[0].sizes == span
    assert again(rules, "ncclx-2") == rules


@settings(max_examples=15)
@given(strategies.hocket_rules(is_simple=True))
def test_trees_of_mpich_decide_the_same_when_they_are_written_again(rules: Rules) -> None:
    tree = again(convert_rules(rules, "mpich-5.0").rules, "mpich-5.0")
    same_decisions(tree, again(tree, "mpich-5.0"))


def same_decisions(one: Rules, two: Rules) -> None:
    for function in one.functions:
        for ranks in RANKS:
            for size in SIZES:
                call = situation(function, ranks, size)
                choices = [rule and rule.choice for rule in (deciding_rule(one, call), deciding_rule(two, call))]
                assert choices[0] == choices[1], (call, choices)


FOREIGN = {
    **dict.fromkeys(("openmpi-4.1", "openmpi-5.0", "openmpi-6.0-classic"), open_mpi.read_classic),
    "openmpi-5.0-han": open_mpi.read_han,
    "openmpi-6.0": open_mpi.read_json,
    "mpich-5.0": read_by_mpich,
    "intelmpi-2021": intel_mpi.trees,
    "ucc-1": ucc.read_by_ucc,
    "nccl-2": read_by_nccl,
    "rccl-2": read_by_rccl_tuner,
    "ncclx-2": ncclx.read_csv,
    "ncclx-2.json": ncclx.read_json,
}
"""The readers of other tools that the tests above give what Hocket writes."""


def test_every_format_of_another_tool_is_read_by_its_rules() -> None:
    assert FOREIGN.keys() == FORMATS.keys() - {"hocket"}


@few
@given(
    strategies.trees()
    | strategies.hocket_rules(is_simple=True).map(lambda rules: convert_rules(rules, "mpich-5.0").rules)
)
def test_mpich_takes_written_trees(rules: Rules) -> None:
    read_by_mpich(write_rules(rules, FORMATS["mpich-5.0"]), default_tree_functions(), known_names())


def test_the_last_question_about_a_number_is_any() -> None:
    choice = Choice(LIBRARIES["mpich-5.0"].algorithms["allreduce"][0].name)
    rules = Rules("mpich-5.0", (Rule("allreduce", choice, conditions=(("comm_avg_ppn<8", "yes"),)),))
    text = write_rules(rules, FORMATS["mpich-5.0"])
    read_by_mpich(text, default_tree_functions(), known_names())
    assert "comm_avg_ppn=any" in text


def test_the_own_tree_of_mpich_decides_the_same_when_it_is_written_again() -> None:
    text = json.dumps(default_tree(), indent=1)
    read_by_mpich(text, default_tree_functions(), known_names())
    own = FORMATS["mpich-5.0"].read(text, "own")
    same_decisions(own, again(own, "mpich-5.0"))


CLASSIC = """rule-file-version-2
1   # num of collectives
3   # collective ID
1   # number of comm sizes
#=====================
64   # comm size
14   # number of rules
# Bytes   alg topo segs reqs
#----------------------
0            0 0 0 0
512000       4 0 0 64
1536000      4 0 0 64
3072000      4 0 0 64
6144000      4 0 0 64
12288000     4 0 0 16
24576000     4 0 0 16
49152000     4 0 0 16
98304000     4 0 0 16
196608000    4 0 0 8
393216000    4 0 0 8
786432000    4 0 0 1
1572864000   4 0 0 1
2621440000   0 0 0 0
"""
"""The example of Open MPI's documentation, docs/tuning-apps/collectives/tuned.rst."""

JSON = """{
    "$schema": "tuned_schema.json",
    "rule_file_version" : 3,
    "module" : "tuned",
    "collectives" : {
        "allreduce" :
        [
            {
                "comm_size_min" : 64,
                "comm_size_max" : 128,
                "rules" : [
                    { "msg_size_min" : 512, "msg_size_max" : 511999, "alg" : 2 },
                    { "msg_size_min" : 512000, "msg_size_max" : "inf", "alg" : "recursive_doubling", "reqs" : 8 }
                ]
            }
        ]
    }
}
"""
"""The example of the same page, without the comma behind the last member that JSON does not allow."""


def test_the_documented_classic_file_is_read() -> None:
    read_classic = FORMATS["openmpi-5.0"].read
    rules = read_classic(CLASSIC, "tuned.conf")
    assert len(rules.rules) == 14
    assert rules.rules[1] == Rule(
        "alltoall", Choice("linear_sync", (("reqs", 64),)), sizes=Span(512000, 1535999), measure="total"
    )
    assert (rules.rules[1].line, rules.rules[0].choice, rules.rules[13].sizes) == (11, None, Span(2621440000))


def test_the_documented_json_is_read() -> None:
    read_json = FORMATS["openmpi-6.0"].read
    rules = read_json(JSON, "tuned.json")
    ranks = Span(64, 128)
    assert rules.rules == (
        Rule("allreduce", Choice("nonoverlapping"), ranks, sizes=Span(512, 511999)),
        Rule("allreduce", Choice("recursive_doubling", (("reqs", 8),)), ranks, sizes=Span(512000)),
        Rule("allreduce", None, ranks),
    )
    assert [rule.line for rule in rules.rules] == [12, 13, 8]


MEANING = "1\n2\n3\n64 1\n0 1 0 0\n100 1\n0 3 0 0\n105 1\n0 4 0 0\n"


@pytest.mark.parametrize(
    ("name", "ranks"),
    [
        ("openmpi-4.1", [Span(0, 99), Span(100, 104), Span(105)]),
        ("openmpi-5.0", [Span(0, 99), Span(100, 104), Span(105)]),
        ("openmpi-6.0-classic", [Span(0, 63), Span(64, 99), Span(100)]),
    ],
)
def test_what_numbers_of_ranks_mean_depends_on_the_version(name: str, ranks: list[Span]) -> None:
    read_classic = FORMATS[name].read
    assert [rule.ranks for rule in read_classic(MEANING, "a").rules] == ranks


COMPONENTS = "expected the name of a component: self, basic, libnbc, tuned, sm, adapt, han"
BAD = [
    ("hocket", "allreduce: ring\nallreduce: rings\n", "bad:2: unknown allreduce algorithm"),
    ("openmpi-5.0", "", "bad:1: the file ends too early, expected the number of collectives"),
    ("openmpi-5.0", "rule-file-version-7\n", "bad:1: version 7 of the file, expected 1 or 2"),
    ("openmpi-5.0", "1\n99\n", 'bad:2: got "99", expected the ID of a collective, a whole number up to 21'),
    ("openmpi-5.0", "1\n2\n1\n4\n1\n8 1 0 0\n", "bad:6: the first message size is 8, expected 0"),
    ("openmpi-5.0", "1\n2\n1\n4\n1\n0 x 0 0\n", 'bad:6: got "x", expected the ID of an algorithm'),
    ("openmpi-5.0", "1\n2\n1\n4\n1\n0 1 0\n", "bad:6: the file ends too early, expected the segment size"),
    ("openmpi-5.0", "1 2 1 4 1\n0 1 0 0 5\n", 'bad:2: got "5", expected the end'),
    ("openmpi-5.0", "1\n7\n1\n2\n3\n0 6 0 0\n9 6 0 0\n", "bad:5: promises 3 message sizes, 2 follow"),
    ("openmpi-5.0", "1\n7\n2\n2\n2\n0 6 0 0\n4\n1\n0 6 0 0\n", "bad:5: promises 2 message sizes, 1 follows"),
    ("openmpi-5.0", "2\n2 0\n2 0\n", "bad:3: allreduce appears twice, expected each collective once"),
    ("openmpi-5.0-han", "", "bad:1: the file ends too early, expected the number of collectives"),
    ("openmpi-5.0-han", "# none\n0\n", 'bad:2: got "0", expected the number of collectives, at least 1'),
    ("openmpi-5.0-han", "1\nallreduces\n", 'bad:2: unknown collective "allreduces", did you mean allreduce?'),
    ("openmpi-5.0-han", "1\n7 1\n3\n", 'bad:3: unknown level "3", expected one of intra_node, inter'),
    ("openmpi-5.0-han", "1\nbcast 1\ninter 1\n", 'bad:3: unknown level "inter", did you mean inter_node?'),
    ("openmpi-5.0-han", "1 bcast 1 2 1\n8 1\n", "bad:2: got a communicator of 8 ranks, expected 1 first, and no 0"),
    ("openmpi-5.0-han", "1 bcast 1 2 1 1 1\n8 han\n", "bad:2: the first message size is 8, expected 0"),
    ("openmpi-5.0-han", "1 bcast 1 2 1 1 1\n0 3\n", 'bad:2: got "3", expected the name of a component: self, basic,'),
    ("openmpi-5.0-han", "1 bcast 1 2 1 1 1\n0 tune\n", 'bad:2: got "tune", expected the name of a component: self'),
    ("openmpi-5.0-han", "1 bcast 1 2 1 1 1\n0\nhan@simple\n", f'bad:3: got "han@simple", {COMPONENTS}, and a blank'),
    (
        "openmpi-5.0-han",
        "1 bcast 1 2 1 1 1 0 han\n@\ntree",
        'bad:3: unknown algorithm of HAN for bcast "tree", expected one of default, intra, simple',
    ),
    ("openmpi-5.0-han", "1 bcast 1 2 1 1 2\n0 tuned\n@simple 9 han", 'bad:3: got "@simple", expected a message size'),
    ("openmpi-5.0-han", "1 bcast 1 2 1 1 1 0 han\n5 han\n", 'bad:2: got "5", expected the end of the file, acc'),
    ("openmpi-5.0-han", "1 bcast 1 2 1 1\n3\n0 han\n9 tuned\n", "bad:2: promises 3 message sizes, 2 follow"),
    ("openmpi-5.0-han", "1 bcast 1 2 1 1\n1\n0 han\n9 tuned\n", "bad:2: promises 1 message size, 2 follow"),
    ("openmpi-5.0-han", "1 bcast 2 2 0\n2 0", "bad:2: global_communicator appears twice, expected each level once"),
    ("openmpi-5.0-han", "1 bcast 1 0 1 1 1 0 tuned [4\n5", "bad:2: the file ends too early, expected ] after the len"),
    ("openmpi-6.0", "{", "bad:1: not JSON: got the end, expected a name in quotes"),
    ("openmpi-6.0", "[" * 5000, "bad:1: nested too deeply, expected at most 100 levels"),
    ("openmpi-6.0", '{\n"a": 1}', 'bad:2: unknown "a" in the file, expected $schema, rule_file_version'),
    ("openmpi-6.0", '{"module": "tuned"}', 'bad:1: "rule_file_version" is missing'),
    ("openmpi-6.0", '{"rule_file_version":\n4}', 'bad:2: "rule_file_version": got 4, expected 3'),
    ("openmpi-6.0", JSON.replace('"alg" : 2', '"algo" : 2'), 'bad:12: unknown "algo" in a rule of allreduce'),
    (
        "openmpi-6.0",
        JSON.replace("512,", "true,"),
        'bad:12: "msg_size_min": got true, expected a whole number or "inf"',
    ),
    ("openmpi-6.0", JSON.replace('"reqs"', '"alg"'), 'bad:13: "alg" appears twice'),
    (
        "intelmpi-2021",
        "\nI_MPI_ADJUST_BCASTS=1",
        'bad:2: got "I_MPI_ADJUST_BCASTS", expected I_MPI_ADJUST_ with a collective, = and a value: did you mean BCAST',
    ),
    (
        "intelmpi-2021",
        "I_MPI_FABRICS=ofi",
        'bad:1: got "I_MPI_FABRICS", expected I_MPI_ADJUST_ with a collective, = and',
    ),
    ("intelmpi-2021", "I_MPI_ADJUST_BCAST='1", 'bad:1: got "I_MPI_ADJUST_BCAST=\'1", expected the end of a quotation'),
    (
        "intelmpi-2021",
        "-genv I_MPI_ADJUST_SCAN 1\nI_MPI_ADJUST_SCAN=2",
        "bad:2: I_MPI_ADJUST_SCAN appears twice, first in line 1, expected it once",
    ),
    *(
        (
            "intelmpi-2021",
            f"I_MPI_ADJUST_BCAST='1:0-9;{entry}'",
            f'bad:1: I_MPI_ADJUST_BCAST: got "{entry}", expected a p',
        )
        for entry in ("bruck", "2:0-1K", "2:0-max", "2:9-", "2:0-9,", "2:5:6", "-1", "2 :0-9", "2:0-2147483648", "2:@")
    ),
    ("ucc-1", "allreduce", 'bad:1: got "allreduce", expected a score or an algorithm'),
    ("ucc-1", "allreduce:@ring#\nbcasts:@ring", 'bad:2: got "bcasts", expected functions, sizes as 0-4K'),
    ("nccl-2", "allreduce,0,1,ring,ll\n", "bad:1: got 5 fields, expected 8 to 10: collective,min_bytes,"),
    ("nccl-2", "#\nbcast,0,1,ring,ll,1,1,1\n", 'bad:2: unknown collective "bcast", for which NCCL takes allreduce,'),
    ("nccl-2", "reduce,0,1,Ring,ll,1,1,1\n", 'bad:1: unknown algorithm "Ring", for which NCCL takes allreduce, ring'),
    ("nccl-2", "reduce,0,1,ring,LL,1,1,1\n", 'bad:1: unknown protocol "LL", for which NCCL takes'),
    ("nccl-2", "reduce,0,1M,ring,ll,1,1,1\n", 'bad:1: max_bytes: got "1M", expected a size in bytes'),
    ("nccl-2", "reduce,-1,1,ring,ll,1,1,1\n", 'bad:1: min_bytes: got "-1", which is the largest size'),
    ("nccl-2", "reduce,0,,1,ring,ll,1,1,1\n", "bad:1: an empty field, which moves the fields after it up"),
    ("nccl-2", "reduce,0,1,ring,ll,0,1,1\n", 'bad:1: channels: got "0", expected -1 or a number from 1 on'),
    ("nccl-2", "reduce,0,1,ring,ll,1,1,0\n", 'bad:1: nRanks: got "0", expected -1 or a number from 1 on'),
    ("nccl-2", "reduce,0,1,ring,ll,1,1,1,x\n", 'bad:1: numPipeOps: got "x", expected -1 or a whole number'),
    ("nccl-2", "reduce,0,1,ring,ll,1,1,1,1,1,spx\n", "bad:1: got 11 fields, expected 8 to 10"),
    ("nccl-2", "," * 300, "bad:1: longer than 254 bytes, expected a shorter line"),
    ("rccl-2", "reduce,0,1,ring,LL,1,1,1\n", 'bad:1: unknown protocol "LL", for which RCCL leaves the line out'),
    ("rccl-2", "reduce,0,1,ring,ll,1,1,1,1,1,dpx\n", 'bad:1: unknown partitionMode "dpx", for which RCCL leaves'),
    ("ncclx-2.json", "[]", "bad:1: the file is not an object, expected an object with rules"),
    ("ncclx-2.json", '{"rules": {}}', 'bad:1: "rules": expected a list'),
    ("ncclx-2.json", '{"rules": [{"filter": {"collective": "reduce"}}]}', 'bad:1: "config" is missing'),
    (
        "ncclx-2.json",
        '{"rules": [{"filter": {"nodes": 2}, "config": {}}]}',
        'bad:1: unknown "nodes" in filter, expected c',
    ),
    ("ncclx-2.json", '{"rules": [\n{"filter": {}, "config": {}}]}', 'bad:2: unknown collective "", for which NCCLX'),
    (
        "ncclx-2.json",
        '{"rules": [{"filter": {"collective": "reduce"}, "config": {"channels": [4]}}]}',
        "bad:1: channels: got a list, expected a text or a whole number",
    ),
    ("ncclx-2", "reduce,[4,2],ring,ll,1,1,1\n", 'bad:1: bytesPerRank: got "[4,2]", expected *, a number, or an'),
    ("ncclx-2", "reduce,*,ring,ll,1,1,-1\n", 'bad:1: nLocalRanks: got "-1", expected *, a number, or an interval'),
    ("ncclx-2", "reduce,*,ring,ll,-1,*,*,-1\n", 'bad:1: chunkSize: got "-1", for which NCCLX refuses the file'),
    ("ncclx-2", "reduce,*,ring,ll,-1,*,*,-1,-1,0\n", "bad:1: got 10 fields, expected 7 or 8: collective,bytesPerRank"),
    ("mpich-5.0", '{"comm_size=any": {}}', 'bad:1: got "comm_size=any", expected "collective="'),
    ("mpich-5.0", '{"collective=bcasts": {}}', 'bad:1: unknown collective "bcasts"'),
    ("mpich-5.0", '{"collective=bcast":\n{}}', "bad:1: bcast: an empty object, expected an algorithm in it"),
    (
        "mpich-5.0",
        '{"collective=bcast": {\n"x=1": {}}}',
        'bad:2: unknown question "x=1", expected a question of MPICH 5.0',
    ),
    (
        "mpich-5.0",
        '{"collective=bcast": {\n"comm_size<=4": {"algorithm=A": {}}}}',
        'bad:2: bcast: some calls have no algorithm, expected "=any" as the last question',
    ),
    (
        "mpich-5.0",
        '{"collective=bcast": {"comm_size=any": {"algorithm=A": {}},\n"comm_size<=4": {"algorithm=A": {}}}}',
        'bad:2: "comm_size<=4" is never reached, as the question before it is always true',
    ),
    (
        "mpich-5.0",
        '{"collective=scan": {"avg_msg_size<=4": {"algorithm=A": {}}}}',
        "bad:1: scan: got avg_msg_size, which makes MPICH end the program, expected another question",
    ),
    ("mpich-5.0", '{"collective=bcast": {"algorithm=A": {"k": {}}}}', 'bad:1: got "k", expected a parameter such as'),
]


@pytest.mark.parametrize(("name", "text", "message"), BAD)
def test_a_bad_file_is_told_of_with_its_line(name: str, text: str, message: str) -> None:
    with pytest.raises(hocket.Error) as error:
        FORMATS[name].read(text, "bad")
    assert str(error.value).startswith(message), error.value


PIECES = (
    *(*'{}[]":,=0123456789 \n#abc<', "allreduce,", "ring,ll,", "-1", "[0,", "*,", "(,4]", "reduce:@", ",1,1,1"),
    *("1 bcast 1 2 1 1 1 0 han @", "tuned", "han", "I_MPI_ADJUST_BCAST", "1:0-5@4;", "'"),
)


@given(st.sampled_from(sorted(FORMATS)), st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_any_text_is_rules_or_one_line(name: str, text: str) -> None:
    try:
        FORMATS[name].read(text, "any")
    except hocket.Error as error:
        assert str(error).startswith("any:") and "\n" not in str(error)


def test_a_file_tells_its_format_by_its_name(tmp_path: Path) -> None:
    for name in FORMATS:
        assert format_of(tmp_path / f"a.{name}.conf", None, "--to").name == name
        assert format_of(tmp_path / f"b.{name}", None, "--to").name == name
    for file, name in {"my.rules": "hocket", "rccl_tuner_gfx950.csv": "rccl-2", "nccl_tuner.conf": "nccl-2"}.items():
        assert format_of(file, None, "--to").name == name
    assert format_of("a.ncclx-2.csv", None, "--to").name == "ncclx-2"
    assert format_of("a.ncclx-2.json", None, "--to").name == "ncclx-2.json"
    assert format_of("any.csv", None, "--to").name == "nccl-2"
    with pytest.raises(hocket.Error, match="the file name does not contain the format and version, expected one of"):
        format_of("tuned.json", None, "--to")
    with pytest.raises(hocket.Error, match=r"--to: got 'openmpi-3.0', did you mean openmpi-"):
        format_of("tuned.json", "openmpi-3.0", "--to")


def test_the_rule_that_decides_is_the_last_of_those_tried(tmp_path: Path) -> None:
    file = tmp_path / "a.rules"
    file.write_text(
        "# long\nallreduce[size=64KiB.., ranks=8..]: ring\nallgather: recursive_doubling\nallreduce: swing\n"
    )
    found = list(verdicts(read(file), situation("allreduce", 64, 32 << 10)))
    too_short = "the call has 32768 bytes, the line is for 65536.."
    assert [(each.rule.line, each.why_not) for each in found] == [(2, too_short), (4, "")]
    refused = list(verdicts(read(file), situation("allgather", 6, 8)))
    assert [each.why_not for each in refused] == ["recursive_doubling refuses the call"]


def test_hocket_rules_with_two_measures_fit_no_other_file(tmp_path: Path) -> None:
    path = tmp_path / "two.rules"
    path.write_text("barrier: dissemination\nallgather[size=..1KiB, total=..4KiB]: ring\n")
    with pytest.raises(hocket.Error, match=r"^.*two\.rules:2: got both size and total, expected one of them"):
        FORMATS["hocket"].read(path.read_text(), str(path))  # type: ignore[misc]
