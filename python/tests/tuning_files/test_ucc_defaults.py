"""What UCC chooses by itself."""

from __future__ import annotations

import pytest

from hocket.base.call import Call
from hocket.rules.tuning_files.deciding import deciding_rule, library_decision, situation
from hocket.rules.tuning_files.decisions import default_rules, defaults_of
from hocket.rules.tuning_files.formats import FORMATS
from hocket.rules.tuning_files.grid import ANCHORS
from tests.foreign.ucc import read_by_ucc

SIZES = (0, 1, 8, 64, 128, 129, 130, 512, 4096, 4097, 32768, 32769, 1 << 20)


def chosen(function: str, ranks: int, size: int) -> str | None:
    rule = deciding_rule(default_rules("ucc-1"), situation(function, ranks, size))
    return str(rule.choice) if rule else None


@pytest.mark.parametrize(
    ("function", "ranks", "size", "expected"),
    [
        ("allreduce", 16, 4096, "knomial"),  # allreduce:0-4k:@0#allreduce:4k-inf:@1
        ("allreduce", 16, 4097, "sra_knomial"),
        ("bcast", 2, 1 << 20, "knomial"),  # bcast:0-inf:[2-2]:@0#bcast:0-32k:[3-inf]:@0#bcast:32k-inf:[3-inf]:@1
        ("bcast", 3, 32769, "sag_knomial"),
        ("reduce", 3, 32769, "srg_knomial"),  # reduce:0-32K:@0#reduce:32K-inf:@2
        ("reduce_scatter", 3, 1 << 20, "ring"),  # reduce_scatter:@ring
        ("allgather", 8, 512, "knomial"),  # allgather:0-4k:@0#allgather:4k-inf:@%d, 8 * 512 = 4096
        ("allgather", 8, 513, "neighbor"),
        ("allgather", 7, 1024, "ring"),  # ring for odd teams
        ("alltoall", 7, 129, "bruck"),  # alltoall:host:0-%d:@bruck, 129 * ranks
        ("alltoall", 7, 130, "pairwise"),
        ("alltoallv", 63, 0, "pairwise"),  # alltoallv:host:[64-inf]:@hybrid
        ("alltoallv", 64, 0, "hybrid"),
        ("scatter", 8, 8, None),
    ],
)
def test_choices_are_those_of_the_strings_in_the_source(
    function: str, ranks: int, size: int, expected: str | None
) -> None:
    assert chosen(function, ranks, size) == expected


def test_the_printed_scores_decide_the_same_on_powers_of_two_and_one_more() -> None:
    read = FORMATS["ucc-1"].read
    text = defaults_of("ucc-1").text
    printed = read(text, "printed")
    for ranks in ANCHORS:
        assert read_by_ucc(text, ranks)
        for function in default_rules("ucc-1").functions:
            for size in SIZES:
                rule = deciding_rule(printed, situation(function, ranks, size))
                assert (str(rule.choice) if rule else None) == chosen(function, ranks, size), (function, ranks, size)


def test_what_the_catalogue_lacks_is_said() -> None:
    lacking = library_decision("ucc-1", "broadcast", Call(ranks=16, size_bytes=1 << 20))
    assert (lacking.choice, lacking.equivalent) == ("sag_knomial", None)
    assert (
        lacking.sentence == "bcast: sag_knomial (scatter and allgather by k-nomial trees) has no counterpart in Hocket"
    )
    long = library_decision("ucc-1", "allreduce", Call(ranks=16, size_bytes=1 << 20))
    assert long.equivalent is not None and long.equivalent[0].name == "sra_knomial"
    short = library_decision("ucc-1", "allreduce", Call(ranks=16, size_bytes=8))
    assert short.equivalent is not None and short.equivalent[0].name == "recursive_multiplying"
