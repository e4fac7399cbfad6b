"""Calls as requests, and what comes back when a program fails."""

import pytest

import hocket
from hocket import requests
from hocket.typing import Call, Rank, Steps

SEGMENTED = hocket.Algorithm(
    "broadcast",
    "segmented",
    parameters=(hocket.Parameter("segment", unit="bytes", default=64, least=8), hocket.Parameter("fanout", default=2)),
)


def program(r: Rank, c: Call) -> Steps:
    yield r.compute(0.0)


def test_parameters_left_out_have_their_defaults() -> None:
    assert requests.complete(SEGMENTED, {"segment": 8}) == {"segment": 8, "fanout": 2}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"segmnt": 8}, 'broadcast/segmented: unknown parameter "segmnt", expected segment, fanout'),
        ({"segment": 7}, "broadcast/segmented: parameter segment = 7, expected at least 8"),
    ],
)
def test_a_parameter_that_is_not_taken_is_refused(parameters: dict[str, int], message: str) -> None:
    with pytest.raises(hocket.Error, match=message):
        requests.complete(SEGMENTED, parameters)


def test_of_parameters_for_many_each_takes_its_own() -> None:
    assert requests.declared_by(SEGMENTED, {"segment": 8, "colour": 3}) == {"segment": 8}


def test_a_precondition_sees_the_values_of_all_parameters() -> None:
    picky = hocket.Algorithm(
        "broadcast",
        "picky",
        parameters=SEGMENTED.parameters,
        refuses=lambda call: f"needs less than {call.parameters['fanout']} ranks",
    )
    with pytest.raises(hocket.Error, match=r"^broadcast picky needs less than 2 ranks \(P = 3\)$"):
        requests.call_request(picky, hocket.Call(ranks=3, size_bytes=8))


def test_a_precondition_that_fails_is_one_line() -> None:
    picky = hocket.Algorithm("broadcast", "picky", program=program, refuses=lambda call: "no" * (1 // call.root))
    with pytest.raises(hocket.Error, match=r"test_requests\.py:\d+: broadcast/picky: ZeroDivisionError: "):
        requests.call_request(picky, hocket.Call(ranks=3, size_bytes=8))
    with pytest.raises(hocket.Error, match=r"test_requests\.py:\d+: broadcast/picky: ZeroDivisionError: "):
        hocket.verify(picky, [3])


def test_an_error_does_not_keep_the_frames_of_the_program() -> None:
    def fail() -> None:
        raise KeyError("oops")

    with pytest.raises(hocket.Error, match="broadcast/mine: KeyError: 'oops'") as caught:
        requests.guarded(hocket.Algorithm("broadcast", "mine", program=program), fail)
    assert caught.value.__context__ is None and caught.value.__cause__ is None


def test_a_defect_of_the_library_stays_what_it_is() -> None:
    def fail() -> None:
        raise KeyError("oops")

    with pytest.raises(KeyError):
        requests.guarded(SEGMENTED, fail)
