"""Converted rules decide alike, as far as the other format can express them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

import hocket
from hocket.rules.tuning_files.conversion import convert_rules
from hocket.rules.tuning_files.counterparts import LIBRARIES
from hocket.rules.tuning_files.deciding import deciding_rule, situation
from hocket.rules.tuning_files.form import Choice, Rule, Rules, Span
from hocket.rules.tuning_files.formats import FORMATS
from hocket.rules.tuning_files.hocket_rules import collective_of
from hocket.rules.tuning_files.translation import to_hocket, translate

from . import strategies

EXACT_RANKS = [2, 3, 4, 5, 8, 9, 16, 64, 65, 1024]
SIZES = [0, 1, 100, 1024, 4096, 65536, 1 << 20]


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_counterpart_is_an_algorithm_of_the_catalogue_and_comes_back(library: str) -> None:
    for function, algorithms in LIBRARIES[library].algorithms.items():
        for known in algorithms:
            assert bool(known.hocket) != bool(known.what), f"{function} {known.name}: a counterpart, or what it is"
            if known.hocket is None:
                continue
            found = collective_of(function)
            assert found is not None
            algorithm = hocket.find(f"{found[0]}/{known.hocket}")
            names = {parameter.name for parameter in algorithm.parameters}
            assert {*known.fixed, *known.parameter_names.values()} <= names
            own = {**known.own, **{name: 3 for name in known.parameter_names}}
            choice = Choice(known.name, tuple(own.items()))
            ours = to_hocket(function, choice, library).choice
            assert ours is not None
            assert translate(function, ours, "hocket", library).choice == choice


def test_the_defaults_of_mpich_are_those_that_come_with_hocket() -> None:
    read = FORMATS["hocket"].read
    known = read(hocket.LIBRARY_RULES["mpich-5.0"], "mpich-5.0")
    mpich = FORMATS["mpich-5.0"].read
    assert mpich is not None
    import json

    from hocket.rules.tuning_files.mpich_json import default_tree

    found = convert_rules(mpich(json.dumps(default_tree()), "own"), "hocket").rules
    for function in known.functions:
        for ranks in (*range(2, 18), 100, 1024):
            for size in (1, 8, 9, 256, 257, 2048, 2049, 12288, 12289, 32768, 32769, 524288, 524289, 1 << 22):
                if function == "alltoallv" and size > 1:
                    continue
                call = situation(function, ranks, size)
                one, two = deciding_rule(known, call), deciding_rule(found, call)
                assert one is not None and two is not None and one.choice == two.choice, call


@settings(max_examples=30)
@given(strategies.hocket_rules(is_simple=True))
def test_what_is_converted_decides_the_same_where_it_is_exact(rules: Rules) -> None:
    for library in ("openmpi-5.0", "mpich-5.0", "openmpi-6.0"):
        found = convert_rules(rules, library).rules
        for function in found.functions:
            ours = "allgather" if function == "allgatherv" else function.removesuffix("_block")
            for ranks in EXACT_RANKS:
                for size in SIZES:
                    source = deciding_rule(rules, situation(ours, ranks, 0 if function == "barrier" else size))
                    target = deciding_rule(found, situation(function, ranks, 0 if function == "barrier" else size))
                    expected = source.choice if source else None
                    words = expected and translate(function, expected, "hocket", library)
                    wanted = words.choice if words else None
                    got = target.choice if target else None
                    needs = words.counterpart.needs if words and words.counterpart else ()
                    if dict(needs).get("count<pow2") and situation(function, ranks, size).elements < ranks:
                        continue  # MPICH is wrong here
                    if words and words.counterpart and words.counterpart.needs_power_of_two and ranks & (ranks - 1):
                        continue
                    assert got == wanted, (library, function, ranks, size)


def test_what_has_no_counterpart_is_said() -> None:
    rules = Rules("hocket", (Rule("allreduce", Choice("swing"), sizes=Span(0, 99)), Rule("allreduce", Choice("ring"))))
    found = convert_rules(rules, "openmpi-5.0")
    assert found.notes == ("allreduce: openmpi-5.0 has no swing, left to the library",)
    assert [rule.choice for rule in found.rules.rules] == [None, Choice("ring")]
    back = convert_rules(
        Rules("openmpi-5.0", (Rule("allreduce", Choice("segmented_ring", (("seg_size", 8),))),)), "hocket"
    )
    assert back.rules.rules == ()
    assert back.notes == (
        "allreduce: segmented_ring (a ring whose blocks go in segments) has no counterpart in Hocket, "
        "left to the library",
    )


def test_a_fixed_order_is_kept_by_rules_of_hocket_only() -> None:
    rules = FORMATS["hocket"].read(
        "order = fixed\nallreduce[size=..4KiB]: recursive_doubling\nallreduce: rabenseifner\n", "file"
    )
    assert rules.order_is_fixed
    assert [rule.function for rule in rules.rules] == ["allreduce", "allreduce", "iallreduce", "iallreduce"]
    assert FORMATS["hocket"].write(rules).startswith("order = fixed\nallreduce[size=..4KiB]: recursive_doubling\n")
    found = convert_rules(rules, "openmpi-5.0")
    assert not found.rules.order_is_fixed
    assert "order = fixed is left out: with the algorithms of openmpi-5.0, sums may depend on the size" in found.notes


def test_between_versions_of_a_library_numbers_stay() -> None:
    rules = Rules("openmpi-5.0", (Rule("allgather", Choice("bruck")), Rule("allreduce", Choice("ring"))))
    found = convert_rules(rules, "openmpi-6.0").rules.rules
    assert [str(rule.choice) for rule in found] == ["bruck-k-fanout", "ring"]
    sparbit = convert_rules(
        Rules("openmpi-5.0", (Rule("allgather", Choice("sparbit"), measure="total"),)), "openmpi-4.1"
    )
    assert sparbit.notes == ("allgather: openmpi-4.1 has no sparbit, left to the library",)


def test_han_takes_what_runs_by_levels_and_leaves_flat_algorithms_to_tuned() -> None:
    rules = FORMATS["hocket"].read(
        "allreduce[size=64KiB..]: ring\nallreduce: hierarchical\nbarrier: dissemination\nallgather: pat\nscan: chain\n",
        "file",
    )
    found = convert_rules(rules, "openmpi-5.0-han")
    choices = [(rule.function, str(rule.sizes), str(rule.choice)) for rule in found.rules.rules]
    assert choices == [
        *[("allreduce", "0..65535", "han"), ("allreduce", "65536..", "tuned"), ("barrier", "any", "tuned")],
        *[("allgather", "any", "None"), ("allgatherv", "any", "None")],
    ]
    assert found.notes[-1] == "scan: left out, as openmpi-5.0-han has no rules for it" and found.left == 2
    of_tuned = Rules("openmpi-5.0", (Rule("gather", Choice("linear_sync"), measure="total"),))
    assert [str(rule.choice) for rule in convert_rules(of_tuned, "openmpi-5.0-han").rules.rules] == ["tuned"]
