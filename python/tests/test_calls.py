"""Calls for the compiled module, and errors of programs."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import hocket
from hocket.definitions import calls
from hocket.typing import Call, Rank, Steps


def program(r: Rank, c: Call) -> Steps:
    yield r.compute(0.0)


SEGMENTED = hocket.Algorithm(
    "broadcast",
    "segmented",
    parameters=(hocket.Parameter("segment", unit="bytes", default=64, least=8), hocket.Parameter("fanout", default=2)),
    program=program,
)


def test_parameters_left_out_have_their_defaults() -> None:
    assert calls.complete(SEGMENTED, {"segment": 8}) == {"segment": 8, "fanout": 2}


def test_bytes_are_rounded_down_to_whole_elements() -> None:
    assert calls.complete(SEGMENTED, {"segment": 20}, element_bytes=8) == {"segment": 16, "fanout": 2}
    assert calls.complete(SEGMENTED, {"segment": 20}, element_bytes=32) == {"segment": 32, "fanout": 2}


def test_numbers_of_numpy_are_numbers() -> None:
    call = hocket.Call(ranks=np.int64(4), size_bytes=np.uint8(8), in_place=np.True_)
    assert hocket.simulate("allreduce/ring", call).ranks == 4


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("ranks", "4", "ranks: got '4', expected a whole number"),
        ("ranks", 1.5, "ranks: got 1.5, expected a whole number"),
        ("size_bytes", -1, "size_bytes: got -1, expected a whole number from 0"),
        ("size_bytes", 1 << 64, f"size_bytes: got {1 << 64}, expected a whole number from 0"),
        ("root", None, "root: got None, expected a whole number"),
        ("element_bytes", 0, "element_bytes: got 0, expected at least 1"),
        ("in_place", "yes", "in_place: got 'yes', expected True or False"),
        ("parameters", "abc", "parameters: got 'abc', expected a mapping from names to values"),
        ("parameters", {"segment": None}, "parameter segment: got None, expected a whole number"),
    ],
)
def test_a_value_of_a_wrong_type_is_refused_by_name(field: str, value: Any, message: str) -> None:
    with pytest.raises(hocket.Error, match=f"^{re.escape(message)}"):
        hocket.simulate("broadcast/chain", hocket.Call(**{"ranks": 4, "size_bytes": 8, field: value}))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"what": 3}, "algorithm: got 3, expected an algorithm or a label"),
        ({"machine": 3}, "machine: got 3, expected the name of a preset or"),
        ({"engine": "fast"}, "engine: got 'fast', expected one of auto, symmetry, dataflow, events"),
    ],
)
def test_whatever_else_is_of_a_wrong_type_is_refused_by_name(given: dict[str, Any], message: str) -> None:
    with pytest.raises(hocket.Error, match=f"^{message}"):
        hocket.simulate(**{"what": "broadcast/chain", "call": hocket.Call(ranks=4, size_bytes=8), **given})


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"segmnt": 8}, 'broadcast segmented: unknown parameter "segmnt", did you mean segment?'),
        ({"segment": 7}, "broadcast segmented: parameter segment = 7, expected at least 8"),
    ],
)
def test_a_parameter_that_is_not_taken_is_refused(parameters: dict[str, int], message: str) -> None:
    with pytest.raises(hocket.Error, match=message):
        calls.complete(SEGMENTED, parameters)


def test_of_parameters_for_many_each_takes_its_own() -> None:
    assert calls.declared_values(SEGMENTED, {"segment": 8, "colour": 3}) == {"segment": 8}


def test_a_precondition_sees_the_values_of_all_parameters() -> None:
    picky = hocket.Algorithm(
        "broadcast",
        "picky",
        parameters=SEGMENTED.parameters,
        program=program,
        refuses=lambda call: f"needs less than {call.parameters['fanout']} ranks",
    )
    with pytest.raises(hocket.Error, match=r"^broadcast picky needs less than 2 ranks \(P = 3\)$"):
        calls.prepare(picky, hocket.Call(ranks=3, size_bytes=8))


def test_a_precondition_that_fails_is_one_line() -> None:
    picky = hocket.Algorithm("broadcast", "picky", program=program, refuses=lambda call: "no" * (1 // call.root))
    with pytest.raises(hocket.Error, match=r"test_calls\.py:\d+: broadcast/picky: ZeroDivisionError: "):
        calls.prepare(picky, hocket.Call(ranks=3, size_bytes=8))
    with pytest.raises(hocket.Error, match=r"test_calls\.py:\d+: broadcast/picky: ZeroDivisionError: "):
        hocket.verify(picky, [3])


def test_an_error_does_not_keep_the_frames_of_the_program() -> None:
    def fail() -> None:
        raise KeyError("oops")

    with pytest.raises(hocket.Error, match="broadcast/mine: KeyError: 'oops'") as caught:
        calls.guard(hocket.Algorithm("broadcast", "mine", program=program), fail)
    assert caught.value.__context__ is None and caught.value.__cause__ is None


def test_a_defect_of_the_library_stays_what_it_is() -> None:
    def fail() -> None:
        raise KeyError("oops")

    with pytest.raises(KeyError):
        calls.guard(hocket.find("broadcast/chain"), fail)


def test_sizes_may_be_texts() -> None:
    call = hocket.Call(ranks=4, size="1MiB", element_bytes="4B", parameters={"segment": "64KiB"})  # type: ignore[arg-type]
    assert (call.size_bytes, call.element_bytes) == (1 << 20, 4)
    assert replace(call, ranks=8).size_bytes == 1 << 20
    assert hocket.simulate("broadcast/chain", call).parameters["segment"] == 1 << 16
    for sizes in ({}, {"size": 8, "size_bytes": 8}):
        expected = r"^call: got (no size|size and size_bytes), expected either size or size_bytes$"
        with pytest.raises(hocket.Error, match=expected):
            hocket.Call(ranks=4, **sizes)
