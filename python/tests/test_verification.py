"""Verification of algorithms."""

import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hocket
from hocket.definitions.verification import plan
from hocket.typing import Call, Rank, Span, Steps


@pytest.mark.parametrize("algorithm", hocket.catalogue(), ids=lambda a: a.label)
def test_every_algorithm_of_the_catalogue_is_right(algorithm: hocket.Algorithm) -> None:
    verdict = hocket.verify(algorithm, [1, 2, 3, 6, 7, 8])
    assert verdict.ok, verdict.counterexamples[0]["message"]
    assert verdict.checked > 0


def test_findings_are_in_the_order_asked_for() -> None:
    verdict = hocket.verify([hocket.find("allreduce/ring"), hocket.find("broadcast/binomial")], [3, 1, 2])
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
    with pytest.raises(hocket.Error, match=r"^nothing to verify, expected at least one rank count$"):
        hocket.verify("allgather/ring", [])
    with pytest.raises(hocket.Error, match=r"^ranks: got '4', expected a whole number$"):
        hocket.verify("allgather/ring", ["4"])  # type: ignore[list-item]
    assert hocket.verify("allreduce/ring", "1-3").checked == hocket.verify("allreduce/ring", [1, 2, 3]).checked
    with pytest.raises(hocket.Error, match=r'^ranks: got "4x", expected rank counts such as 1-64'):
        hocket.verify("allreduce/ring", "4x")
    with pytest.raises(hocket.Error, match=r"^ranks: got 4, expected a list of rank counts such as \[4\]$"):
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


@hocket.algorithm(
    "broadcast", parameters=[hocket.Parameter("segment", unit="bytes", default=65536, meaning="bytes per segment")]
)
def misplaced(r: Rank, c: Call) -> Steps:
    """Linear: each later segment is put where the first one belongs."""
    result, segment = c.result(r), c.parameter("segment")
    for start in range(0, len(result), segment):
        length = min(segment, len(result) - start)
        if r.rank == c.root:
            piece = result.part(start, length)
            yield r.join(*(r.send(peer, piece) for peer in range(r.size) if peer != c.root))
        else:
            yield r.recv(c.root, result.part(0, length))


def test_small_values_of_a_parameter_in_bytes_are_tried() -> None:
    verdict = hocket.verify(misplaced, [2])
    assert verdict.counterexamples[0]["call"]["parameters"] == {"segment": 1}
    assert hocket.verify(misplaced, [2], parameters={"segment": 1 << 20}).ok, "one segment"


def test_a_parameter_says_which_values_are_tried() -> None:
    seen: set[tuple[int, int]] = set()

    def note(call: hocket.Call) -> str | None:
        seen.add((int(call.parameters["fanout"]), int(call.parameters["depth"])))
        return "has no depth of 9" if call.parameters["depth"] == 9 else None

    parameters = [hocket.Parameter("fanout", default=2), hocket.Parameter("depth", default=5, tries=[9])]

    @hocket.algorithm("barrier", parameters=parameters, refuses=note)
    def alone(r: Rank, c: Call) -> Steps:
        """Right for one rank."""
        yield r.compute(0.0)

    assert hocket.verify(alone, [1]).checked == 5
    assert seen == {(fanout, depth) for fanout in (1, 2, 3) for depth in (5, 9)} | {(5, 5), (2, 7)}
    seen.clear()
    assert hocket.verify(alone, [1], parameters={"fanout": 7}).checked == 2
    assert seen == {(7, 5), (7, 9), (7, 7)}


def test_values_to_try_obey_the_parameter() -> None:
    @hocket.algorithm("barrier", parameters=[hocket.Parameter("fanout", least=2, default=2, tries=(1,))])
    def alone(r: Rank, c: Call) -> Steps:
        """Right for one rank."""
        yield r.compute(0.0)

    with pytest.raises(hocket.Error, match=r"^barrier alone: parameter fanout = 1, expected at least 2$"):
        hocket.verify(alone, [1])


def test_every_parameter_of_the_catalogue_has_values_to_try() -> None:
    # Parameters of composed algorithms, except `group`, have their own tests.
    of_parts = {algorithm for algorithm in hocket.catalogue() if any(p.name == "outer" for p in algorithm.parameters)}
    # Tori with more than three axes have their own tests.
    further_axes = {"W", "V", "U"}
    parameters = [
        parameter
        for algorithm in hocket.catalogue()
        for parameter in algorithm.parameters
        if (algorithm not in of_parts or parameter.name == "group") and parameter.name not in further_axes
    ]
    assert all(len(parameter.values_to_try) > 1 for parameter in parameters if parameter.unit != "gap")
    segments = [parameter.values_to_try for parameter in parameters if parameter.name == "segment"]
    assert segments and set(segments) == {(65536, 3), (1 << 20, 3), (1 << 40, 3)}


def test_a_count_a_root_and_an_element_are_tried_alone() -> None:
    def call(found: hocket.Verdict) -> tuple[object, ...]:
        call = found.counterexamples[0]["call"]
        return call["count"], call["root"], call["element_bytes"], call["parameters"]

    found = hocket.verify(misplaced, [3], count=500, root=2, element_bytes=8)
    assert call(found) == (500, 2, 8, {"segment": 8})
    assert hocket.verify("broadcast/chain", [5], count=500, root=3, parameters={"segment": 7}).checked == 1
    assert hocket.verify("allreduce/ring", [5], count=1000).checked == 2
    assert hocket.verify("barrier/dissemination", [5], count=1000).checked == 1


def test_a_count_or_a_root_that_does_not_go_is_refused() -> None:
    with pytest.raises(hocket.Error, match=r"^root: got 3, expected a rank below 2$"):
        hocket.verify("broadcast/chain", [2], root=3)
    assert [refusal.ranks for refusal in hocket.verify("broadcast/chain", [3, 4], root=3).refusals] == [3]
    with pytest.raises(hocket.Error, match=r"^root: got 1, but allreduce has no root$"):
        hocket.verify("allreduce/ring", [4], root=1)
    for count in (1 << 20, 1 << 62):
        with pytest.raises(
            hocket.Error, match=rf"^count: got {count}, expected at most 16777216 elements in the buffers"
        ):
            hocket.verify("alltoall/bruck", [8], count=count)
    with pytest.raises(hocket.Error, match=r"^count: got -1, expected a whole number"):
        hocket.verify("allreduce/ring", [4], count=-1)
    with pytest.raises(hocket.Error, match=r"^element_bytes: got 0, expected at least 1$"):
        hocket.verify("allreduce/ring", [4], element_bytes=0)


def test_a_barrier_has_to_synchronise() -> None:
    @hocket.algorithm("barrier")
    def lonely(r: Rank, c: Call) -> Steps:
        """Everybody computes."""
        yield r.compute(0.0)

    found = hocket.verify(lonely, range(1, 5)).counterexamples
    assert [counterexample["ranks"] for counterexample in found] == [2, 3, 4]
    assert (found[0]["kind"], found[0]["at_ranks"]) == ("barrier left too early", (0, 1))


def test_the_input_may_not_be_written() -> None:
    @hocket.algorithm("allreduce", refuses=lambda call: None if call.ranks == 1 else "needs one rank")
    def scribbling(r: Rank, c: Call) -> Steps:
        """Copies forth and back."""
        yield r.copy(c.input(r), c.result(r))
        yield r.copy(c.result(r), c.input(r))

    found = hocket.verify(scribbling, [1]).counterexamples[0]
    assert (found["kind"], found["at_ranks"], found["span"]) == ("write to the input", (0,), "input[0..1]")
    with pytest.raises(
        hocket.Error, match=r"^rank 0: copy writes input\[0..3\], expected a program that only reads the input$"
    ):
        hocket.run(scribbling, [np.arange(3)])
    assert hocket.run(scribbling, [np.arange(3)], in_place=True)[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("verb", ["compute", "copy", "connect", "disconnect", "first"])
def test_a_program_without_end_is_stopped(verb: str) -> None:
    @hocket.algorithm("barrier")
    def endless(r: Rank, c: Call) -> Steps:
        """Never ends."""
        spans = c.input(r)
        steps = {
            "compute": lambda: r.compute(0),
            "copy": lambda: r.copy(spans, spans),
            "connect": lambda: r.connect(0),
            "disconnect": lambda: r.disconnect(0),
            "first": lambda: r.first(r.compute(0), r.compute(0)),
        }
        while True:
            yield steps[verb]()

    found = hocket.verify(endless, [1]).counterexamples[0]
    assert (found["kind"], found["expected"]) == (
        "program without end",
        "rank 0 to reach its end within 20010 steps",
    )


@pytest.mark.parametrize("world", ["verify", "run", "simulate", "record"])
def test_steps_of_nothing_without_end_are_stopped(world: str) -> None:
    @hocket.algorithm("allreduce")
    def idle(r: Rank, c: Call) -> Steps:
        """Waits for nothing."""

        def nothing() -> Steps:
            yield r.join()

        while True:
            yield nothing()

    with pytest.raises(
        hocket.Error, match=r"rank \d yielded 1000000 empty steps in a row, expected the program to end$"
    ):
        in_world(world, idle)


@pytest.mark.parametrize("world", ["run", "simulate", "record"])
def test_steps_without_end_are_stopped(world: str) -> None:
    @hocket.algorithm("allreduce")
    def restless(r: Rank, c: Call) -> Steps:
        """Goes on and on."""
        while True:
            yield r.sendrecv(r.rank ^ 1, c.input(r), r.rank ^ 1, c.result(r))

    with pytest.raises(
        hocket.Error, match=r"restless: rank \d took \d+ steps and still runs, expected the program to end$"
    ):
        in_world(world, restless)


@pytest.mark.parametrize("world", ["verify", "run", "simulate", "record"])
@pytest.mark.parametrize("what", ["result", "input", "scratch", "step", "branch"])
def test_what_belongs_to_another_rank_is_refused_in_every_world(what: str, world: str) -> None:
    ranks: list[Rank] = []

    @hocket.algorithm("allreduce")
    def borrowed(r: Rank, c: Call) -> Steps:
        """Works with what belongs to the rank that started first."""
        ranks.append(r)
        first = ranks[0]
        theirs = {"result": c.result(first), "input": c.input(first), "scratch": first.scratch(len(c.result(r)))}
        if what == "step":
            yield first.compute(0)
        elif what == "branch":
            yield r.join(first.compute(0))
        elif what == "input":
            yield r.copy(theirs[what], c.result(r))
        else:
            yield r.copy(c.input(r), theirs[what].part(0, len(theirs[what])))

    place = r"a step" if what in ("step", "branch") else rf"{what}\[\d+..\d+\]"
    place_of_another = rf"{place} of rank \d, expected a step or span of the same rank and run$"
    expected = rf"test_verification.py:\d+: (allreduce/borrowed: )?rank \d uses {place_of_another}"
    with pytest.raises(hocket.Error, match=expected):
        in_world(world, borrowed)


def test_a_span_of_another_run_is_refused() -> None:
    spans: list[Span] = []

    @hocket.algorithm("broadcast", refuses=lambda call: None if call.ranks == 1 else "needs one rank")
    def remembers(r: Rank, c: Call) -> Steps:
        """Keeps its first span."""
        spans.append(c.result(r))
        yield r.send(0, spans[0])
        yield r.recv(0, spans[0])

    (found,) = hocket.verify(remembers, [1]).counterexamples
    assert found["got"].endswith(
        "rank 0 uses result[0..0] of another run, expected a step or span of the same rank and run"
    )


def in_world(world: str, algorithm: hocket.Algorithm) -> None:
    """Run an allreduce of two ranks in a world; raise the finding of the verify world."""
    if world == "verify":
        (found,) = hocket.verify(algorithm, [2]).counterexamples
        raise hocket.Error(found["got"])
    elif world == "run":
        hocket.run(algorithm, [np.arange(3), np.arange(3)])
    elif world == "simulate":
        hocket.simulate(algorithm, hocket.Call(ranks=2, size_bytes=24))
    else:
        hocket.record(algorithm, hocket.Call(ranks=2, size_bytes=24))


def test_orders_of_messages_are_counted() -> None:
    @hocket.algorithm("gather")
    def from_any(r: Rank, c: Call) -> Steps:
        """Linear: the root takes the blocks in the order in which they come."""
        if r.rank != c.root:
            yield r.send(c.root, c.input(r))
            return
        result, scratch = c.result(r), r.scratch(max(map(c.count, range(r.size))))
        yield r.copy(c.input(r), c.block(result, r.rank))
        for _ in range(r.size - 1):
            got = yield r.recv_any(scratch)
            yield r.copy(scratch.part(0, got.length), c.block(result, got.source))

    three = hocket.verify(from_any, [3], count=1, root=0).findings[0]
    assert (three.exploration, three.checked, three.orders) == ("exhaustive", 2, 2 * 2 * 2)
    many = hocket.verify(from_any, [12], count=1, root=0).findings[0]
    assert many.exploration == "sampled"
    assert 100 < many.orders < 10_000
    assert hocket.verify("allreduce/ring", [4], count=1).findings[0].orders == 2 * 2


@pytest.mark.parametrize(
    ("collective", "mistake", "told"),
    [
        ("broadcast", lambda r, c: r.send(-1, c.result(r)), "rank -1 does not exist, expected a rank from 0 to 2"),
        ("broadcast", lambda r, c: r.recv(r.size, c.result(r)), "rank 3 does not exist, expected a rank from 0 to 2"),
        ("broadcast", lambda r, c: r.recv(10**30, c.result(r)), "rank 100000000000000000000000… does not exist"),
        (
            "broadcast",
            lambda r, c: r.send(0, c.result(r), tag=-1),
            "tag: got -1, expected a whole number from 0 to 4294967295",
        ),
        (
            "broadcast",
            lambda r, c: r.copy(c.result(r).part(-1, 0), c.result(r)),
            r"part\(-1, 0\): expected an offset and a length within",
        ),
        ("broadcast", lambda r, c: r.copy(c.result(r)[1], c.result(r)), r"span: got \[1\], expected elements"),
        (
            "broadcast",
            lambda r, c: r.copy(c.result(r)[::2], c.result(r)),
            r"span: got \[slice.*\], expected elements such as \[2:5\]",
        ),
        (
            "broadcast",
            lambda r, c: r.copy(c.result(r).chunk(1, 0), c.result(r)),
            r"chunks 1 to 1 \+ 1: expected chunks within the 0 of the span",
        ),
        (
            "broadcast",
            lambda r, c: r.copy(c.result(r), r.scratch(99)),
            "got spans of 0 and 99 elements, expected equal lengths",
        ),
        ("broadcast", lambda r, c: r.scratch(-1), r"scratch: got -1 elements, expected 0 to 2\^40"),
        ("broadcast", lambda r, c: {}[r.rank], r"KeyError: 1"),
        ("broadcast", lambda r, c: 1 // (r.rank - 1), r"ZeroDivisionError: .*"),
        (
            "gatherv",
            lambda r, c: c.count(0),
            "gatherv: rank 1 asks for blocks of other ranks, expected its own block: MPI .*",
        ),
        ("scatterv", lambda r, c: c.block(c.result(r), 1), "scatterv: rank 1 asks for blocks of other ranks, .*"),
    ],
)
def test_a_mistake_of_a_python_program_is_a_finding(
    collective: str, mistake: Callable[[Rank, Call], Any], told: str
) -> None:
    @hocket.algorithm(collective)
    def mistaken(r: Rank, c: Call) -> Steps:
        """Rank 1 makes a mistake in its second step."""
        yield r.compute(0.0)
        if r.rank == 1:
            yield mistake(r, c)

    verdict = hocket.verify([mistaken, hocket.find("barrier/dissemination")], [3])
    (found,) = verdict.counterexamples
    assert (found["kind"], found["ranks"], found["at_ranks"], found["step"]) == ("exception", 3, (1,), 2)
    assert found["call"]["root"] == 0
    assert re.match(rf".*test_verification\.py:\d+: {told}", found["got"])
    assert verdict.findings[1].checked > 0


def test_a_program_that_does_something_else_when_run_again_is_a_finding() -> None:
    started: list[int] = []

    @hocket.algorithm("barrier", refuses=lambda call: None if call.ranks == 3 else "needs three ranks")
    def counting(r: Rank, c: Call) -> Steps:
        """Every fourth rank that starts, of whatever run, is late."""
        started.append(r.rank)
        if len(started) % 4 == 0:
            yield r.compute(1.0)
        others = [peer for peer in range(3) if peer != r.rank]
        nothing = r.scratch(0)
        yield r.join(*(r.send(peer, nothing) for peer in others), *(r.recv(peer, nothing) for peer in others))

    verdict = hocket.verify(counting, [2, 3])
    (found,) = verdict.counterexamples
    assert found["kind"] == "other steps when run again"
    assert "when run again: compute" in found["message"]
    assert [finding.exploration for finding in verdict.findings] == [None, "sampled"]


@pytest.mark.parametrize("raised", [KeyboardInterrupt, MemoryError])
def test_an_interruption_is_no_finding(raised: type[BaseException]) -> None:
    @hocket.algorithm("barrier")
    def interrupted(r: Rank, c: Call) -> Steps:
        """Is interrupted."""
        yield r.compute(0.0)
        raise raised

    with pytest.raises((KeyboardInterrupt, hocket.Error)) as stopped:
        hocket.verify(interrupted, [2])
    assert raised.__name__ in repr(stopped.value)


SHARING = '''
import hocket

CHOSEN = {}


@hocket.algorithm("broadcast", refuses=lambda c: "needs root 0" if c.root else None)
def sharing(r, c):
    """Linear: the tag of all messages is the number of the first rank that begins."""
    tag = CHOSEN.setdefault("tag", r.rank)
    if r.rank == 0:
        yield r.join(*(r.send(peer, c.result(r), tag) for peer in range(1, r.size)))
    else:
        yield r.recv(0, c.result(r), tag)
'''


def test_ranks_that_share_global_variables_are_a_finding(program_file: Callable[[str], Any]) -> None:
    (sharing,) = hocket.load(program_file(SHARING))
    found = hocket.verify(sharing, [2, 3, 5]).counterexamples
    assert [(one["ranks"], one["kind"]) for one in found] == [(2, "ranks share state"), (3, "ranks share state")]
    assert found[0]["got"] == "deadlock with global variables of its own: 1 of 2 ranks waiting for ever"
    (alone,) = hocket.load(program_file(SHARING.replace("CHOSEN = {}", 'CHOSEN = {"tag": 5}')))
    assert hocket.verify(alone, [1, 2, 3]).ok


@pytest.mark.parametrize("is_joined", [False, True])
def test_another_order_of_the_same_steps_is_a_finding(is_joined: bool) -> None:
    runs: list[int] = []

    @hocket.algorithm("gather", refuses=lambda call: "needs root 0" if call.root else None)
    def flipping(r: Rank, c: Call) -> Steps:
        """Linear: the root receives in another order in every second run."""
        if r.rank != 0:
            yield r.send(0, c.input(r))
            return
        runs.append(r.rank)
        yield r.copy(c.input(r), c.block(c.result(r), 0))
        receives = [r.recv(peer, c.block(c.result(r), peer)) for peer in range(1, r.size)][:: (-1) ** len(runs)]
        if is_joined:
            yield r.join(*receives)
        else:
            yield receives[0]
            yield receives[1]

    (found,) = hocket.verify(flipping, [3], count=2).counterexamples
    assert (found["kind"], found["at_ranks"]) == ("other steps when run again", (0,))
    assert found["got"] == "the same 4 steps, in another order when run again"
    assert found["details"] == (
        "step 2 at first: recv result[4..6] from rank 2",
        "step 2 when run again: recv result[2..4] from rank 1",
    )


def test_branches_that_timing_interleaves_are_no_finding() -> None:
    @hocket.algorithm("alltoall")
    def branching(r: Rank, c: Call) -> Steps:
        """Linear: a branch for each peer has several steps, some of them branches."""
        blocks, own = dict(c.sends(r)), dict(c.receives(r))

        def with_peer(peer: int) -> Steps:
            copied, arrived = r.scratch(len(blocks[peer])), r.scratch(len(own[peer]))
            yield r.copy(blocks[peer], copied)
            yield r.join(r.send(peer, copied), r.recv(peer, arrived))
            yield r.copy(arrived, own[peer])

        yield r.join(*(with_peer((r.rank + distance) % r.size) for distance in range(r.size)))

    assert hocket.verify(branching, range(1, 8)).ok


@pytest.mark.parametrize(
    ("collective", "ranks", "goes_wrong"),
    [
        ("broadcast", 5, lambda r, c: len(c.result(r)) == r.size - 1),
        ("broadcast", 5, lambda r, c: len(c.result(r)) == r.size + 1),
        ("broadcast", 2, lambda r, c: len(c.result(r)) > 65536),
        ("broadcast", 3, lambda r, c: len(c.result(r)) > 65536),
        ("broadcast", 40, lambda r, c: c.root not in (0, 1, 20, 39)),
        ("broadcast", 5, lambda r, c: c.parameter("fanout") == 5),
        (
            "allgather",
            5,
            lambda r, c: len({c.count(i) for i in range(r.size)}) > 2 and max(map(c.count, range(r.size))) > 3,
        ),
        ("allgather", 6, lambda r, c: sorted(c.count(block) for block in range(r.size))[-2:] == [1, 25]),
        ("alltoallv", 6, lambda r, c: max(len(span) for _, span in c.sends(r)) == 25),
        ("neighbor_alltoall", 6, lambda r, c: max((len(span) for _, span in c.sends(r)), default=0) == 25),
    ],
)
def test_a_bug_that_few_calls_show_is_found(
    collective: str, ranks: int, goes_wrong: Callable[[Rank, Call], bool]
) -> None:
    @hocket.algorithm(collective, parameters=[hocket.Parameter("fanout", tries=())])
    def planted(r: Rank, c: Call) -> Steps:
        """Linear: everybody sends to everybody, except in some calls."""
        if goes_wrong(r, c):
            raise ValueError("planted")
        if collective == "broadcast":
            sends, receives = [], []
            if r.rank == c.root:
                sends = [(peer, c.result(r)) for peer in range(r.size) if peer != r.rank]
            else:
                receives = [(c.root, c.result(r))]
        elif collective == "allgather":
            yield r.copy(c.input(r), c.block(c.result(r), r.rank))
            others = [peer for peer in range(r.size) if peer != r.rank]
            sends = [(peer, c.block(c.result(r), r.rank)) for peer in others]
            receives = [(peer, c.block(c.result(r), peer)) for peer in others]
        else:
            copies = [(peer, span, r.scratch(len(span))) for peer, span in c.sends(r)]
            yield r.join(*(r.copy(span, scratch) for _, span, scratch in copies))
            sends, receives = [(peer, scratch) for peer, _, scratch in copies], c.receives(r)
        yield r.join(*(r.send(*one) for one in sends), *(r.recv(*one) for one in receives))

    (found,) = hocket.verify(planted, [ranks]).counterexamples
    assert found["got"].endswith("ValueError: planted")


def test_large_rank_counts_are_drawn_where_a_call_is_short() -> None:
    binomial, linear = hocket.find("broadcast/binomial"), hocket.find("alltoall/linear")
    work = plan([binomial, linear], [2], is_drawn=True)
    ranks = [task.ranks for task in work.tasks if task.algorithm is binomial]
    assert ranks == [2, *sorted(ranks[1:3]), 129] and all(34 <= number <= 128 for number in ranks[1:3])
    assert ranks == [task.ranks for task in plan([binomial], [2], is_drawn=True).tasks]
    assert 129 not in [task.ranks for task in work.tasks if task.algorithm is linear]
    assert {finding.ranks: finding.checked for finding in work.run().findings if finding.label == binomial.label} == {
        2: 11,
        **dict.fromkeys(ranks[1:], 1),
    }


@pytest.mark.parametrize(
    ("ranks", "wrong_from", "count"), [(2, 13, 13), (2, 1000, 1000), (3, 65_000, 65_000), (6, 13, 13)]
)
def test_a_counterexample_has_the_fewest_elements(ranks: int, wrong_from: int, count: int) -> None:
    @hocket.algorithm("allgather", refuses=lambda call: None if call.size_bytes != 5 else "is not for 5 B")
    def lossy(r: Rank, c: Call) -> Steps:
        """Linear: long blocks lose an element on their way."""
        yield r.copy(c.input(r), c.block(c.result(r), r.rank))
        for distance in range(1, r.size):
            source = (r.rank - distance) % r.size
            block = c.block(c.result(r), source)
            into = block if len(block) < wrong_from else block[:-1]
            data = c.input(r) if len(c.input(r)) < wrong_from else c.input(r)[:-1]
            yield r.sendrecv((r.rank + distance) % r.size, data, source, into)

    (found,) = hocket.verify(lossy, [ranks]).counterexamples
    assert (found["kind"], found["call"]["count"]) == ("wrong result", count)
    if ranks == 2:
        (found,) = hocket.verify(lossy, [2], count=65_537).counterexamples
        assert found["call"]["count"] == 65_537, "the number that was asked for"


def test_the_smallest_counterexample_comes_first() -> None:
    @hocket.algorithm("allreduce", refuses=lambda call: None if call.size_bytes else "needs elements")
    def picky(r: Rank, c: Call) -> Steps:
        """Is wrong for many elements on two ranks, and for one element on three."""
        yield r.copy(c.input(r), c.result(r))
        if len(c.result(r)) >= (12 if r.size == 2 else 1):
            raise ValueError("planted")
        for distance in range(1, r.size):
            scratch, source = r.scratch(len(c.input(r))), (r.rank - distance) % r.size
            yield r.sendrecv((r.rank + distance) % r.size, c.input(r), source, scratch)
            yield r.reduce(source, scratch, c.result(r))

    found = hocket.verify(picky, [2, 3]).counterexamples
    assert [(one["ranks"], one["call"]["count"]) for one in found] == [(3, 1), (2, 12)]


@hocket.algorithm("allreduce", refuses=lambda call: None if call.commutative else "needs a commutative operator")
def by_element(r: Rank, c: Call) -> Steps:
    """Exchange: one element after the other."""
    result, scratch = c.result(r), r.scratch(len(c.result(r)))
    yield r.copy(c.input(r), result)
    for at in range(len(result)):
        yield r.sendrecv(1 - r.rank, result[at : at + 1], 1 - r.rank, scratch[at : at + 1])
        yield r.reduce(1 - r.rank, scratch[at : at + 1], result[at : at + 1])


@hocket.algorithm("broadcast")
def all_at_once(r: Rank, c: Call) -> Steps:
    """Linear: all elements side by side."""
    elements = [c.result(r)[at : at + 1] for at in range(len(c.result(r)))]
    if r.rank == c.root:
        yield r.join(*(r.send(1 - r.rank, one, tag) for tag, one in enumerate(elements)))
    else:
        yield r.join(*(r.recv(c.root, one, tag) for tag, one in enumerate(elements)))


@pytest.mark.parametrize(
    "program", [by_element, pytest.param(all_at_once, marks=pytest.mark.long)], ids=lambda program: program.name
)
def test_a_program_that_takes_a_step_per_element_is_checked_on_fewer(program: hocket.Algorithm) -> None:
    start_s = time.process_time()
    work = plan([program], [2])
    (effort_s,) = work.efforts_s()[-1:]
    (finding,) = work.run().findings
    assert (finding.counterexamples, finding.calls_left) == ((), 0)
    assert finding.fewer_elements is not None
    most, count = finding.fewer_elements
    assert most == 65_537 and 100 < count < 20_000
    assert time.process_time() - start_s < 30
    assert 0.3 < effort_s < 60


def test_an_end_of_time_leaves_calls_unchecked() -> None:
    work = plan([by_element, hocket.find("broadcast/binomial")], [2])
    (own, other) = work.run(most_s=0.05).findings
    assert own.calls_left > 0 and own.checked > 0 and not own.counterexamples
    assert own.checked + own.calls_left == work.run().findings[0].checked
    assert (other.calls_left, other.fewer_elements) == (0, None)


def test_a_finding_names_the_line_of_the_verb(program_file: Callable[[str], Any]) -> None:
    file = program_file(
        '''import hocket

@hocket.algorithm("broadcast")
def hasty(r, c):
    """Chain: nobody waits."""
    steps = []
    if r.rank > 0:
        steps.append(r.recv(r.rank - 1, c.result(r)))
    if r.rank + 1 < r.size:
        steps.append(r.send(r.rank + 1, c.result(r)))
    yield r.join(*steps)
'''
    )
    (hasty,) = hocket.load(file)
    (found,) = hocket.verify(hasty, [3], root=0).counterexamples
    first = file.read_text().splitlines().index("        steps.append(r.recv(r.rank - 1, c.result(r)))") + 1
    assert found["kind"] == "buffer race"
    assert found["details"] == (
        f"step 1: recv result[0..1] from rank 0 ({file}:{first})",
        f"step 2: send result[0..1] to rank 2 ({file}:{first + 2})",
    )


FORGETFUL = '''
import hocket

@hocket.algorithm("allgather", refuses=lambda c: None if c.ranks > 1 else "needs two ranks")
def forgetful(r, c):
    """Linear: a step is made and not taken."""
    block = c.block(c.result(r), r.rank)
    yield r.copy(c.input(r), block)
    for distance in range(1, r.size):
        to, source = (r.rank + distance) % r.size, (r.rank - distance) % r.size
        LINES
'''


@pytest.mark.parametrize(
    ("lines", "kind", "detail"),
    [
        (
            "r.sendrecv(to, block, source, c.block(c.result(r), source))",
            "forgotten yield",
            "the step of {place} made and never yielded",
        ),
        (
            "r.send(to, block); yield r.recv(source, c.block(c.result(r), source))",
            "deadlock",
            "made and not yielded: the step of {place}, on rank 0",
        ),
    ],
)
def test_a_forgotten_yield_is_named(program_file: Callable[[str], Any], lines: str, kind: str, detail: str) -> None:
    file = program_file(FORGETFUL.replace("LINES", lines))
    (forgetful,) = hocket.load(file)
    (found,) = hocket.verify(forgetful, [2]).counterexamples
    line = next(number for number, text in enumerate(file.read_text().splitlines(), 1) if lines in text)
    assert found["kind"] == kind
    assert detail.format(place=f"{file}:{line}") in (found["got"], *found["details"])


def test_the_branch_of_a_race_that_loses_is_no_forgotten_yield() -> None:
    @hocket.algorithm("barrier", refuses=lambda call: None if call.ranks == 1 else "needs one rank")
    def racing(r: Rank, c: Call) -> Steps:
        """The first of two waits."""
        yield r.first(r.compute(0.0), r.compute(1.0))

    assert hocket.verify(racing, [1]).ok


def test_operands_that_overlap_are_a_finding() -> None:
    @hocket.algorithm("allreduce", refuses=lambda call: None if call.ranks == 1 else "needs one rank")
    def shifting(r: Rank, c: Call) -> Steps:
        """Shifts the vector within a buffer, and back."""
        scratch, count = r.scratch(len(c.result(r)) + 1), len(c.result(r))
        yield r.copy(c.input(r), scratch[:count])
        yield r.copy(scratch[:count], scratch[1:])
        yield r.copy(scratch[1:], c.result(r))

    (found,) = hocket.verify(shifting, [1]).counterexamples
    assert (found["kind"], found["call"]["count"], found["step"]) == ("overlapping operands", 2, 2)
    assert found["got"] == "scratch[0..2] and scratch[1..3], which share scratch[1..2]"
