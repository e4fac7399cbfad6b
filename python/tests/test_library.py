"""The catalogue, and finding algorithms by name."""

import re
from pathlib import Path

import pytest

import hocket
from hocket.definitions import library


def test_the_catalogue_says_what_each_algorithm_is() -> None:
    for algorithm in hocket.catalogue():
        assert algorithm.collective in library.COLLECTIVES
        assert algorithm.header.startswith(algorithm.summary)
        assert "Source: " in algorithm.header
        assert algorithm.cost and algorithm.messages
        assert "fn program(" in algorithm.listing
        assert algorithm.program is None


def test_the_registry_and_the_header_have_the_collectives_in_the_order_of_the_compiled_module() -> None:
    assert tuple(dict.fromkeys(algorithm.collective for algorithm in hocket.catalogue())) == tuple(library.COLLECTIVES)
    header = (Path(hocket.__file__).parent / "mpi" / "native" / "include" / "hocket.h").read_text()
    (names,) = re.findall(r"enum hocket_collective \{(.*?)\}", header, re.DOTALL)
    assert tuple(re.findall(r"hocket_(\w+)", names.lower())) == tuple(library.COLLECTIVES)


def test_labels_are_unique() -> None:
    labels = [algorithm.label for algorithm in hocket.catalogue()]
    assert len(labels) == len(set(labels))


def test_an_algorithm_is_found_by_its_label_or_by_a_clear_name() -> None:
    assert hocket.find("allreduce/recursive_doubling").label == "allreduce/recursive_doubling"
    clear = next(a for a in hocket.catalogue() if sum(b.name == a.name for b in hocket.catalogue()) == 1)
    assert hocket.find(clear.name) == clear


def test_collectives_go_by_the_names_of_mpi_too() -> None:
    assert hocket.find("bcast/chain") == hocket.find("broadcast/chain")
    assert hocket.algorithms("reduce_scatter_block") == hocket.algorithms("reduce_scatter")
    with pytest.raises(hocket.Error, match="bcast is a collective, expected also one of its algorithms: "):
        hocket.find("bcast")


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("allreduce/rign", 'unknown allreduce algorithm "rign", did you mean ring?'),
        ("allredcue/ring", 'unknown collective "allredcue", did you mean allreduce?'),
        ("allreduce/zzzzz", "expected one of .*ring"),
        ("binomial", "several algorithms are named binomial, expected one of barrier/binomial, "),
        ("allreduce", "allreduce is a collective, expected also one of its algorithms: "),
        ("", 'unknown algorithm ""'),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(label: str, message: str) -> None:
    with pytest.raises(hocket.Error, match=message):
        hocket.find(label)


def test_algorithms_of_a_collective_are_all_or_those_named() -> None:
    every = hocket.algorithms("allreduce")
    assert {a.collective for a in every} == {"allreduce"}
    assert library.algorithms_named("allreduce", []) == every
    assert [a.name for a in library.algorithms_named("allreduce", ["ring", "ring"])] == ["ring"]


def test_the_catalogue_cannot_be_called() -> None:
    with pytest.raises(TypeError, match="allreduce/ring is not written in Python"):
        hocket.find("allreduce/ring")(None, None)
