"""Parsing the values of options."""

import click
import pytest

import hocket
from hocket.cli import options

SEGMENTED = hocket.Algorithm("broadcast", "segmented", parameters=(hocket.Parameter("segment", unit="bytes"),))
TREE = hocket.Algorithm("broadcast", "tree", parameters=(hocket.Parameter("fanout"),))


def test_a_parameter_is_read_by_the_unit_that_is_declared() -> None:
    texts = [("segment", "64KiB"), ("fanout", "4")]
    assert options.values_of(texts, [SEGMENTED, TREE]) == {"segment": 65536, "fanout": 4}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("fanout", "4B", 'parameter fanout: got "4B", expected a whole number'),
        ("segment", "4X", 'parameter segment: got "4X", expected a whole number of bytes'),
        ("colour", "4", 'unknown parameter "colour", expected one of fanout, segment'),
    ],
)
def test_a_value_of_another_unit_is_refused(name: str, text: str, message: str) -> None:
    with pytest.raises(hocket.Error, match=message):
        options.values_of([(name, text)], [SEGMENTED, TREE])


def test_an_algorithm_is_named_in_one_word_or_two() -> None:
    among = [SEGMENTED, TREE]
    for names in (["tree"], ["broadcast/tree"], ["broadcast", "tree"]):
        assert options.one_algorithm(names, among) is TREE
    with pytest.raises(click.UsageError, match="got 3 names"):
        options.one_algorithm(["broadcast", "tree", "tree"], among)


def test_an_option_that_this_use_needs_is_asked_for() -> None:
    assert options.required(0, "--size", "a size") == 0
    with pytest.raises(click.UsageError, match="--size is missing, expected a size"):
        options.required(None, "--size", "a size")
