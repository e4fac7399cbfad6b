"""What Open MPI runs for vectors with fewer elements than ranks, at every door."""

from __future__ import annotations

import pytest

from hocket.base.call import Call
from hocket.definitions.machine import as_machine
from hocket.rules.tuning_files.checking import findings
from hocket.rules.tuning_files.conversion import convert_rules
from hocket.rules.tuning_files.counterparts import LIBRARIES
from hocket.rules.tuning_files.deciding import library_decision, situation
from hocket.rules.tuning_files.decisions import default_rules
from hocket.rules.tuning_files.form import Choice, Rule, Rules
from hocket.rules.tuning_files.formats import FORMATS
from hocket.rules.tuning_files.translation import perform
from hocket.tuning.comparing import differences

LINEAR = "basic_linear"
MACHINE = as_machine("cluster")


@pytest.mark.parametrize(
    ("function", "algorithm", "ranks", "fewest", "other"),
    [
        ("allreduce", "ring", 6, 6, "recursive_doubling"),
        ("allreduce", "segmented_ring", 6, 6, "recursive_doubling"),
        ("allreduce", "rabenseifner", 6, 4, LINEAR),
        ("reduce", "rabenseifner", 6, 4, "linear"),
        ("bcast", "scatter_allgather", 6, 6, LINEAR),
        ("bcast", "scatter_allgather_ring", 6, 6, LINEAR),
    ],
)
def test_another_algorithm_runs_below_a_number_of_elements(
    function: str, algorithm: str, ranks: int, fewest: int, other: str
) -> None:
    choice = Choice(algorithm)
    rules = Rules("openmpi-5.0", (Rule(function, choice),))

    def runs(elements: int) -> str:
        there = situation(function, ranks, 8 * elements, element_bytes=8)
        return perform(rules, choice, there).choice.algorithm

    assert [runs(fewest - 1), runs(fewest)] == [other, algorithm]
    assert [found.kind for found in findings(rules, "openmpi-5.0", ranks_per_node=1)] == ["other algorithm"]


def test_what_open_mpi_does_without_a_file_is_priced_as_what_it_runs() -> None:
    """Its table says rabenseifner for 32 KiB on 4096 ranks and more."""
    few, enough = (Call(ranks=8192, size_bytes=32768, element_bytes=element) for element in (8, 4))
    short, long = (library_decision("openmpi-5.0", "allreduce", call) for call in (few, enough))
    assert short.equivalent is not None
    assert long.equivalent is not None
    assert (short.choice, short.equivalent[0].name) == ("linear", "linear")
    assert (long.choice, long.equivalent[0].name) == ("rabenseifner", "rabenseifner")


def test_rules_of_libraries_know_what_runs_in_place_of_their_algorithms() -> None:
    """The line before an algorithm says what runs for few elements, on the same ranks."""
    for function, known in LIBRARIES["openmpi-5.0"].algorithms.items():
        short = {
            each.hocket: each.short for each in known if each.short and each.hocket != "ring_or_recursive_doubling"
        }
        names = {each.name: each.hocket for each in known}
        rules = default_rules("openmpi-5.0").of(function)
        for number, rule in enumerate(rules):
            if rule.choice and (other := short.get(rule.choice.algorithm)):
                before = [each for each in rules[:number] if each.ranks == rule.ranks and each.conditions]
                assert [(each.choice, each.conditions) for each in before[-1:]] == [
                    (Choice(str(names[other.name])), ((other.condition, "yes"),))
                ], rule


def test_files_are_compared_by_what_runs() -> None:
    """Both files run linear for 16 bytes, and differ for 32 bytes."""
    one, two = (Rules("openmpi-5.0", (Rule("bcast", Choice(name)),)) for name in ("basic_linear", "scatter_allgather"))
    found = list(differences(one, two, MACHINE, functions=["bcast"], ranks=[32], sizes=[16, 32]))
    assert [each.size_bytes for each in found] == [32]


def test_conversions_say_what_becomes_of_few_elements() -> None:
    """Open MPI runs linear in place of rabenseifner by itself; in place of a ring, it runs another algorithm."""

    def notes(text: str, library: str) -> list[str]:
        read_hocket = FORMATS["hocket"].read
        return list(convert_rules(read_hocket(text, "a"), library).notes)

    few, many = "allreduce[elements=..power_of_two]: linear", "allreduce[elements=power_of_two..]: rabenseifner"
    assert notes(f"{few}\nallreduce: rabenseifner", "openmpi-5.0") == []
    limit = "the largest power of two of ranks"
    assert notes(many, "openmpi-5.0") == [f"allreduce: rules for at least as many elements as {limit} also get fewer"]
    assert notes("reduce[elements=..ranks]: linear", "openmpi-5.0") == [
        "reduce: rules for fewer elements than ranks are left out"
    ]
