"""Whether algorithms are right."""

import pytest

import hocket
from hocket.typing import Call, Rank, Steps


@pytest.mark.parametrize("algorithm", hocket.catalogue(), ids=lambda a: a.label)
def test_every_algorithm_of_the_catalogue_is_right(algorithm: hocket.Algorithm) -> None:
    verdict = hocket.verify(algorithm, [1, 2, 3, 6, 7, 8])
    assert verdict.ok, verdict.counterexamples[0]["message"]
    assert verdict.checked > 0


def test_findings_are_in_the_order_asked_for() -> None:
    verdict = hocket.verify_all([hocket.find("allreduce/ring"), hocket.find("broadcast/binomial")], [3, 1, 2])
    assert [(f.label, f.ranks) for f in verdict.findings] == [
        (label, ranks) for label in ("allreduce/ring", "broadcast/binomial") for ranks in (3, 1, 2)
    ]
    assert verdict.checked == sum(finding.checked for finding in verdict.findings)


def test_every_rank_count_is_reported_when_it_is_done() -> None:
    done: list[None] = []
    hocket.verify("allreduce/ring", range(1, 8), on_done=lambda: done.append(None))
    assert len(done) == 7


def test_a_refused_rank_count_is_no_counterexample() -> None:
    @hocket.algorithm("barrier", refuses=lambda call: "needs even P: it pairs ranks" if call.ranks % 2 else None)
    def pairs(r: Rank, c: Call) -> Steps:
        """Linear: everybody tells rank 0, and rank 0 tells everybody."""
        nothing = r.scratch(0)
        if r.rank == 0:
            yield r.join(*(r.recv(peer, nothing) for peer in range(1, r.size)))
            yield r.join(*(r.send(peer, nothing) for peer in range(1, r.size)))
        else:
            yield r.send(0, nothing)
            yield r.recv(0, nothing)

    verdict = hocket.verify(pairs, range(1, 5))
    assert verdict.ok
    assert [(refusal.ranks, refusal.sentence) for refusal in verdict.refusals] == [
        (1, "barrier pairs needs even P: it pairs ranks (P = 1)"),
        (3, "barrier pairs needs even P: it pairs ranks (P = 3)"),
    ]


def test_without_any_call_there_is_no_verdict() -> None:
    with pytest.raises(hocket.Error, match=r"^allgather recursive_doubling needs a power of two .*\(P = 3\)$"):
        hocket.verify("allgather/recursive_doubling", [3, 5])
    with pytest.raises(hocket.Error, match=r"^nothing to verify, expected rank counts$"):
        hocket.verify("allgather/ring", [])
    with pytest.raises(hocket.Error, match=r"^ranks: got '4', expected a whole number$"):
        hocket.verify("allgather/ring", ["4"])  # type: ignore[list-item]
    with pytest.raises(hocket.Error, match=r"^ranks: got 4, expected several rank counts such as \[4\]$"):
        hocket.verify("allgather/ring", 4)  # type: ignore[arg-type]


def test_counterexamples_have_the_fewest_ranks_first() -> None:
    @hocket.algorithm("broadcast")
    def deaf(r: Rank, c: Call) -> Steps:
        """Nobody sends anything."""
        yield r.compute(0.0)

    verdict = hocket.verify(deaf, [5, 2, 3])
    assert not verdict.ok
    assert [counterexample["ranks"] for counterexample in verdict.counterexamples] == [2, 3, 5]
    assert verdict.counterexamples[0]["algorithm"] == "deaf"


def test_an_unknown_parameter_is_refused() -> None:
    with pytest.raises(hocket.Error, match='unknown parameter "colour"'):
        hocket.verify("allreduce/ring", [2], parameters={"colour": 1})
