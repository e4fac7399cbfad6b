"""Every kind of finding, in every call of every collective, is printed."""

import pytest

import hocket
from hocket.typing import Call, Rank, Steps
from hocket.words.verdicts import counterexample_text

COLLECTIVES = sorted({algorithm.collective for algorithm in hocket.catalogue()})


def nothing(r: Rank, c: Call) -> Steps:
    """Do nothing."""
    yield r.compute(0)


def raises(r: Rank, c: Call) -> Steps:
    """Fail."""
    yield r.compute(0)
    raise ValueError("no")


def deaf(r: Rank, c: Call) -> Steps:
    """Wait for a message that nobody sends."""
    yield r.recv(1 - r.rank, r.scratch(1))


def left_over(r: Rank, c: Call) -> Steps:
    """Send a message that nobody receives."""
    yield r.send(1 - r.rank, r.scratch(1))


def too_long(r: Rank, c: Call) -> Steps:
    """Send more than the receive takes."""
    yield r.sendrecv(1 - r.rank, r.scratch(2), 1 - r.rank, r.scratch(1))


def racing(r: Rank, c: Call) -> Steps:
    """Write the same element twice at the same time."""
    one, other = r.scratch(1), r.scratch(1)
    yield r.join(r.copy(one, other), r.copy(one, other))


def unwritten(r: Rank, c: Call) -> Steps:
    """Combine what was never written."""
    yield r.combine(r.scratch(1), r.scratch(1), "left")


def endless(r: Rank, c: Call) -> Steps:
    """Never end."""
    while True:
        yield r.compute(0)


def ambiguous(r: Rank, c: Call) -> Steps:
    """Send two messages of which timing decides which is first."""

    def late() -> Steps:
        yield r.compute(0)
        yield r.send(1 - r.rank, r.scratch(1))

    yield r.join(late(), late())


def scribbling(r: Rank, c: Call) -> Steps:
    """Write to the input."""
    span = c.input(r)
    yield r.copy(r.scratch(len(span)), span)


KINDS = {
    nothing: {"wrong result", "barrier left too early"},
    raises: {"exception"},
    deaf: {"deadlock"},
    left_over: {"left-over message"},
    too_long: {"message longer than its receive"},
    racing: {"buffer race"},
    unwritten: {"undefined operand"},
    endless: {"program without end"},
    ambiguous: {"order of messages depends on timing"},
    scribbling: {"write to the input", "wrong result", "barrier left too early"},
}


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_every_kind_of_finding_is_printed_for_every_collective(collective: str) -> None:
    for program, kinds in KINDS.items():
        found = hocket.verify(hocket.algorithm(collective)(program), [2]).counterexamples[0]
        assert found["kind"] in kinds
        assert counterexample_text(found, hocket.Algorithm(collective, program.__name__))


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_a_finding_is_printed_for_every_call(collective: str) -> None:
    """One call after the other is the first that is not refused."""
    texts: list[str] = []

    def refuses(call: hocket.Call) -> str | None:
        seen.append(call)
        return "comes before" if len(seen) <= len(texts) else None

    wrong = hocket.algorithm(collective, refuses=refuses)(raises)
    while True:
        seen: list[hocket.Call] = []
        try:
            (found,) = hocket.verify(wrong, [3]).counterexamples
        except hocket.Error:
            break
        texts.append(counterexample_text(found, wrong))
        assert texts[-1].startswith(f"{collective}/raises, P = 3, ")
    assert len(texts) == len(seen) > 0
