"""Checks of tuning files."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.rules.tuning_files.checking import findings
from hocket.rules.tuning_files.form import Choice, Rule, Rules, Span
from hocket.rules.tuning_files.formats import FORMATS


def kinds(text: str, format: str) -> list[tuple[int, str]]:
    read = FORMATS[format].read
    return [(found.line, found.kind) for found in findings(read(text, "a"), format, ranks_per_node=1)]


def sentences(text: str, format: str) -> list[str]:
    read = FORMATS[format].read
    return [found.sentence for found in findings(read(text, "a"), format, ranks_per_node=1)]


def test_a_good_file_has_nothing_to_say() -> None:
    assert kinds("allreduce[size=64KiB.., ranks=8..]: ring\nallreduce: recursive_doubling\n", "hocket") == []
    assert kinds("1\n2\n1\n0\n2\n0 3 0 0\n65536 4 0 0\n", "openmpi-6.0-classic") == [(7, "other algorithm")]


def test_lines_that_never_decide_are_told() -> None:
    assert kinds("allreduce: ring\nallreduce[size=1..]: swing\n", "hocket") == [(2, "unreachable")]
    # Recursive doubling of an allgather refuses some calls; the next line gets them.
    assert kinds("allgather: recursive_doubling\nallgather: bruck\n", "hocket") == []
    two = "allreduce[ranks=..8]: ring\nallreduce[ranks=8..]: ring\nallreduce[ranks=4..16]: swing\n"
    assert kinds(two, "hocket") == [(3, "unreachable")]
    descending = "1\n7\n3\n4 1\n0 1 0 0\n8 1\n0 6 0 0\n2 1\n0 5 0 0\n"
    assert (7, "unreachable") in kinds(descending, "openmpi-5.0")


def test_sizes_that_are_left_out_between_others_are_told() -> None:
    text = "1\n7\n1\n4\n3\n0 6 0 0\n100 0 0 0\n200 6 0 0\n"
    assert kinds(text, "openmpi-5.0") == [(7, "gap")]
    assert sentences(text, "openmpi-5.0") == [
        "bcast: sizes 100..199 on 1 rank are left to openmpi-5.0, but smaller and larger sizes have rules"
    ]


@pytest.mark.parametrize(
    ("format", "text", "sentence"),
    [
        ("openmpi-5.0", "1\n2\n1\n0\n1\n0 7 0 0\n", "allreduce: openmpi-5.0 has no 7, which openmpi-6.0 has: the"),
        ("openmpi-4.1", "1\n0\n1\n0\n1\n0 7 0 0\n", "allgather: openmpi-4.1 has no 7, which openmpi-5.0 has: the call"),
        ("openmpi-5.0", "1\n5\n1\n0\n1\n0 1 0 0\n", "alltoallw: openmpi-5.0 takes no rules for it"),
        ("openmpi-5.0", "1\n3\n1\n0\n1\n0 5 0 0\n", "alltoall: two_proc takes 2 ranks only, openmpi-5.0 ends"),
        ("mpich-5.0", '{"collective=bcast": {"algorithm=MPIR_B": {}}}', "bcast: mpich-5.0 has no MPIR_B: MPICH ends"),
        (
            "mpich-5.0",
            '{"collective=allgather": {"algorithm=MPIR_Allgather_intra_recursive_doubling": {}}}',
            "allgather: MPIR_Allgather_intra_recursive_doubling takes only powers of two of ranks",
        ),
        (
            "openmpi-6.0",
            '{"rule_file_version": 3, "module": "tuned", '
            '"collectives": {"bcast": [{"rules": [{"alg": 3, "segsize": 8}]}]}}',
            'bcast: Open MPI reads no "segsize", expected "seg_size"',
        ),
    ],
)
def test_what_a_version_does_not_take_is_told(format: str, text: str, sentence: str) -> None:
    assert any(each.startswith(sentence) for each in sentences(text, format)), sentences(text, format)


def test_what_runs_for_fewer_elements_than_ranks_is_told_unless_messages_are_long() -> None:
    short, long = "1\n2\n1\n0\n1\n0 6 0 0\n", "1\n2\n2\n0\n2\n0 3 0 0\n1000 6 0 0\n9\n1\n0 3 0 0\n"
    assert sentences(short, "openmpi-5.0") == [
        "allreduce: with fewer elements than the largest power of two of ranks, openmpi-5.0 runs basic_linear instead "
        "of rabenseifner"
    ]
    assert kinds(long, "openmpi-5.0") == [(6, "meaning of ranks")]


def test_a_segment_size_in_the_place_of_the_fan_out_is_told() -> None:
    assert kinds("1\n7\n1\n2\n2\n0 2 32 0\n100 6 65536 0\n", "openmpi-5.0") == [(7, "fan-out")]
    # Here the fan-out is the radix.
    assert kinds("1\n0\n1\n2\n1\n0 2 64 0\n", "openmpi-6.0-classic") == []


def test_the_meaning_of_numbers_of_ranks_is_told_where_it_matters() -> None:
    text = "1\n7\n2\n4\n1\n0 6 0 0\n8\n1\n0 5 0 0\n"
    for format in ("openmpi-4.1", "openmpi-5.0", "openmpi-6.0-classic"):
        assert kinds(text, format) == [(6, "meaning of ranks")]
    assert kinds("1\n7\n1\n4\n1\n0 6 0 0\n", "openmpi-5.0") == []


BELOW_HAN = """5
2 1 0 1
0 4 0 0
3 1 0 1
0 2 0 0
6 1 4 1
0 4 0 0
11 2 0 1
0 0 0 0
4 2
0 5 0 0
65537 7 0 0
7 2 0 1
0 0 0 0
5 1
0 6 0 0
"""


@pytest.mark.parametrize(
    ("ranks", "per_node", "lines"),
    [
        (None, None, []),
        (None, 4, [7, 11]),  # of a node: barrier, reduce of one segment
        (20, 4, [7, 7, 11, 16]),  # between five nodes: barrier, broadcast
        (8, 1, None),
        (4, 4, None),
    ],
)
def test_what_han_leaves_of_a_file_is_told(ranks: int | None, per_node: int | None, lines: list[int] | None) -> None:
    rules = FORMATS["openmpi-5.0"].read(BELOW_HAN, "a")  # type: ignore[misc]
    found = findings(rules, "openmpi-5.0", ranks=ranks, ranks_per_node=per_node)
    asked = [one for one in found if one.kind == "not asked"]
    assert [one.line for one in asked] == ([] if lines is None else [3])
    assert all(one.sentence.startswith("allreduce, barrier, reduce, bcast: on several nodes with") for one in asked)
    assert [one.line for one in found if one.kind == "inner communicator"] == (lines or [])
    assert all(one.is_hint for one in found)


def test_of_rules_of_han_those_without_effect_are_told() -> None:
    level = "1 bcast 1 intra_node 1 1 5\n0 tuned\n1 han\n2 sm\n3 libnbc\n9 basic\n"
    assert kinds(level, "openmpi-5.0-han") == [(3, "passed over"), (4, "passed over"), (5, "passed over")]
    top = "1 bcast 1 global_communicator 2\n1 1\n0 han @simple\n9 2\n0 han\n9 tuned\n"
    assert kinds(top, "openmpi-5.0-han") == []
    assert kinds(top.replace("bcast", "allgatherv").replace(" @simple", ""), "openmpi-5.0-han")[0] == (3, "passed over")
    late = "1 bcast 1 global_communicator 3 1 1\n0 han\n9 1\n0 tuned\n4 1\n0 han\n"
    assert kinds(late, "openmpi-5.0-han") == [(4, "unreachable")]  # the last size that is not larger decides


SMALL = st.builds(
    lambda first, length: Span(first, None if length is None else first + length),
    st.integers(0, 5),
    st.none() | st.integers(-1, 4),
)
RULES = st.lists(
    st.builds(
        Rule,
        function=st.just("allreduce"),
        choice=st.sampled_from([None, Choice("ring"), Choice("recursive_doubling")]),
        ranks=SMALL,
        power_of_two=st.sampled_from([None, None, True]),
        sizes=SMALL,
        measure=st.sampled_from(["size", "size", "size", "nothing"]),
        placement=st.sampled_from(["any", "any", "single-node"]),
        conditions=st.sampled_from([(), (), (("is_commutative", "yes"),)]),
    ),
    max_size=7,
).map(lambda rules: [replace(rule, line=line) for line, rule in enumerate(rules, start=1)])
POINTS = range(15)  # beyond the ends of all small ranges


@given(RULES)
def test_a_line_never_decides_if_those_before_it_take_each_of_its_calls(rules: list[Rule]) -> None:
    expected = set()
    for place, rule in enumerate(rules):
        wider = [
            other
            for other in rules[:place]
            if other.measure == rule.measure
            and other.power_of_two in (None, rule.power_of_two)
            and other.placement in ("any", rule.placement)
            and set(other.conditions) <= set(rule.conditions)
        ]
        sizes = [size for size in POINTS if size in rule.sizes]
        calls = [(ranks, size) for ranks in POINTS if ranks in rule.ranks for size in sizes]
        if rule.measure == "nothing" and 0 not in sizes:
            calls = []
        is_end = rule.choice is None and rule.sizes == Span()
        if not is_end and all(any(ranks in o.ranks and size in o.sizes for o in wider) for ranks, size in calls):
            expected.add(rule.line)
    found = findings(Rules("openmpi-5.0", tuple(rules)), "openmpi-5.0", ranks_per_node=1)
    assert {each.line for each in found if each.kind == "unreachable"} == expected


@given(RULES)
def test_a_gap_is_what_no_line_gives_an_algorithm_between_sizes_that_have_one(rules: list[Rule]) -> None:
    expected, counted = set(), [r for r in rules if r.measure != "nothing" and not r.conditions]
    for ranks in POINTS:
        here = [r for r in counted if ranks in r.ranks]
        firsts = [next((r for r in here if size in r.sizes), None) for size in POINTS]
        chosen = [size for size in POINTS if (rule := firsts[size]) and rule.choice]
        for size in range(min(chosen, default=0), max(chosen, default=0)):
            if size not in chosen:
                rule = firsts[size]
                expected.add((max(ranks, 1), size, rule.line if rule else here[0].line))
    starts = {0, *(n for r in counted if not r.ranks.is_empty for n in (r.ranks.first, (r.ranks.last or 99) + 1))}
    told = set()
    for each in findings(Rules("openmpi-5.0", tuple(rules)), "openmpi-5.0", ranks_per_node=1):
        if each.kind == "gap":
            first, last, ranks = re.search(r"sizes (\d+)(?:\.\.(\d+))? on (\d+) ranks?", each.sentence).groups()  # type: ignore[union-attr]
            told |= {(int(ranks), size, each.line) for size in range(int(first), int(last or first) + 1)}
    assert told == {(ranks, size, line) for ranks, size, line in expected if ranks in {max(n, 1) for n in starts}}


def test_many_lines_take_no_more_than_seconds() -> None:
    random = Random(1)
    spans = [sorted(random.sample(range(1, 10_000), 4)) for _ in range(600)]
    text = "".join(f"allreduce[ranks={a}..{c}, size={b}..{d}]: ring\n" for a, b, c, d in spans)
    began_s = time.process_time()
    assert kinds(text, "hocket")
    assert time.process_time() - began_s < 5  # it takes about 0.5 s


ADJUSTMENTS = """\
export I_MPI_ADJUST_ALLREDUCE='2:100-200;1'
I_MPI_ADJUST_BARRIER=1:0-5;2 -genv I_MPI_ADJUST_BCAST "1:0-8@4; 3:9-16@4"
I_MPI_ADJUST_REDUCE="1;2:0-4;0"
I_MPI_ADJUST_SCAN='99:0-8;3'
"""


def test_what_intel_mpi_does_not_read_is_told() -> None:
    hints = [one for one in sentences(ADJUSTMENTS, "intelmpi-2021") if "instead of" in one]
    assert hints == [
        "allreduce: with fewer elements than the largest power of two of ranks, intelmpi-2021 runs recursive_doubling "
        "instead of rabenseifner"
    ]
    assert [one for one in sentences(ADJUSTMENTS, "intelmpi-2021") if one not in hints] == [
        "allreduce: rabenseifner: for sizes 100..200, ranks any; taken for sizes 0..200, ranks any: "
        "Intel MPI reads the last number of a range only",
        "bcast: ring: for sizes 9..16, ranks 4; taken for sizes any, ranks any: "
        "Intel MPI reads the last number of a range only",
        "barrier: dissemination: no call matches this line",
        "bcast: binomial: no call matches this line",
        "reduce: binomial: no call matches this line",
        "reduce: left to the library: no call matches this line",
        "scan: intelmpi-2021 has no 99: Intel MPI takes its basic logic, as for preset 0",
    ]
    assert sentences("I_MPI_ADJUST_SCAN='3:0-8;1'\n", "intelmpi-2021") == [], "3 has no name, but is a preset"
