"""`hocket verify`."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

import hocket
from hocket.definitions.verification import plan
from hocket.examples import ring_allreduce
from tests.conftest import Ran

WRONG = '''
@hocket.algorithm("allreduce")
def lossy(r, c):
    """Recursive doubling that forgets the last step."""
    result = c.result(r)
    scratch = r.scratch(len(result))
    yield r.copy(c.input(r), result)
    step = 1
    while 2 * step < r.size:
        yield r.sendrecv(r.rank ^ step, result, r.rank ^ step, scratch)
        yield r.reduce(r.rank ^ step, scratch, result)
        step *= 2
'''


def test_a_right_algorithm_is_ok(hocket_command: Callable[..., Ran]) -> None:
    ran = hocket_command("verify allreduce ring --ranks 1-8,11")
    assert ran.status == 0
    assert ran.out.startswith("allreduce/ring: ok, P = 1-8, 11, ")
    assert ran.out.splitlines()[-1].startswith("ok: ")


def test_json_has_the_keys_that_other_tools_rely_on(hocket_command: Callable[..., Ran]) -> None:
    found = hocket_command("verify allreduce ring --ranks 1-6 --json").json
    assert found["ok"] is True and found["counterexamples"] == [] and found["checked"] > 6


def test_a_collective_alone_means_all_its_algorithms(hocket_command: Callable[..., Ran]) -> None:
    rows = hocket_command("verify allreduce --ranks 1-4").out.splitlines()
    for algorithm in hocket.algorithms("allreduce"):
        assert any(row.startswith(f"{algorithm.label}: ok") for row in rows)


def test_all_means_the_catalogue_and_what_is_loaded(hocket_command: Callable[..., Ran]) -> None:
    ran = hocket_command("verify --all --ranks 1-4 --load", ring_allreduce.__file__)
    assert ran.status == 0
    for label in ("allreduce/chunked_ring", *(algorithm.label for algorithm in hocket.catalogue())):
        assert f"{label}: ok" in ran.out


def test_a_wrong_algorithm_has_a_counterexample_to_read(
    hocket_command: Callable[..., Ran], program_file: Callable[[str], Path]
) -> None:
    ran = hocket_command("verify lossy --ranks 2,4,8 --load", program_file(WRONG))
    assert ran.status == 1
    assert ran.out.startswith("allreduce/lossy: WRONG, P = 2, 4, 8, ")
    for part in ("\nallreduce/lossy, P = 2, ", "\n  expected ", "\n  got "):
        assert part in ran.out
    assert ran.out.splitlines()[-1].startswith("wrong: ")


def test_a_wrong_algorithm_is_wrong_in_json_too(
    hocket_command: Callable[..., Ran], program_file: Callable[[str], Path]
) -> None:
    ran = hocket_command("verify lossy --ranks 4 --json --load", program_file(WRONG))
    assert ran.status == 1
    assert ran.json["ok"] is False
    assert {"collective", "algorithm", "ranks", "kind", "message"} <= ran.json["counterexamples"][0].keys()


SEGMENTED = '''
@hocket.algorithm("broadcast", parameters=[hocket.Parameter("segment", unit="bytes", default=65536)])
def misplaced(r, c):
    """Linear: each later segment is put where the first one belongs."""
    result, segment = c.result(r), c.parameter("segment")
    for start in range(0, len(result), segment):
        length = min(segment, len(result) - start)
        if r.rank == c.root:
            yield r.join(*(r.send(peer, result.part(start, length)) for peer in range(r.size) if peer != c.root))
        else:
            yield r.recv(c.root, result.part(0, length))
'''


def test_small_segments_are_tried_unless_a_value_is_given(
    hocket_command: Callable[..., Ran], program_file: Callable[[str], Path]
) -> None:
    ran = hocket_command("verify misplaced --ranks 2 --load", program_file(SEGMENTED))
    assert ran.status == 1
    assert "broadcast/misplaced, P = 2, 2 elements, root 0, segment = 1 B\n" in ran.out
    # All calls have one segment of 1 MiB, so that only a smaller one could be misplaced.
    assert hocket_command("verify misplaced --ranks 2 --param segment=1MiB --load", program_file(SEGMENTED)).status == 0


def test_a_count_a_root_and_an_element_can_be_chosen(
    hocket_command: Callable[..., Ran], program_file: Callable[[str], Path]
) -> None:
    ran = hocket_command(
        "verify misplaced --ranks 3 --count 1000 --root 2 --element 8B --load", program_file(SEGMENTED)
    )
    facts = "broadcast/misplaced, P = 3, 1000 elements, root 2, elements of 8 B, segment = 8 B"
    assert f"{facts} wrong result" in " ".join(ran.out.split())
    ran = hocket_command("verify broadcast binomial --ranks 1-4 --root 2")
    assert ran.out.startswith("broadcast/binomial: ok, P = 3-4, 13 calls, deterministic; not for P = 1-2\n")


def test_what_is_no_count_root_or_element_is_bad_input(bad_input: Callable[..., str]) -> None:
    assert bad_input("verify broadcast chain --count x").startswith('--count: got "x", expected a whole number')
    assert bad_input("verify broadcast chain --root -1").startswith('--root: got "-1", expected a whole number')
    assert "--element: got 0 B" in bad_input("verify broadcast chain --element 0B")
    assert "root: got 7, expected a rank below 4" in bad_input("verify broadcast chain --ranks 4 --root 7")
    assert "expected at most 16777216 elements" in bad_input("verify broadcast chain --ranks 4 --count 999999999999")


RECEIVED_TWICE = "num_ranks 2 rank 0 { a: recv 8b from 1 b: send 8b to 1 b requires a } rank 1 { "
SCHEDULES = {
    "deadlock": f"{RECEIVED_TWICE} a: recv 8b from 0 b: send 8b to 0 b requires a }}",
    "deadlock (rendezvous sends)": "num_ranks 2 rank 0 { a: send 8b to 1 b: recv 8b from 1 b requires a } "
    "rank 1 { a: send 8b to 0 b: recv 8b from 0 b requires a }",
    "left-over message": "num_ranks 2 rank 0 { send 8b to 1 }",
    "message longer than its receive": "num_ranks 2 rank 0 { a: send 8b to 1 b: send 4b to 1 b requires a } "
    "rank 1 { a: recv 4b from 0 b: recv 8b from 0 b requires a }",
    "expected messages of at most 4 B from rank 0": "num_ranks 2 rank 0 { send 8b to 1 } rank 1 { recv 4b from 0 }",
    "at most 4 B from rank 1": "num_ranks 2 rank 0 { recv 4b from -1 } rank 1 { send 8b to 0 }",
    "order: rank 0 takes a message of rank 2": "num_ranks 3 "
    "rank 0 { a: recv 8b from -1 b: recv 8b from 2 b requires a } rank 1 { send 8b to 0 } rank 2 { send 8b to 0 }",
    "order of messages depends on timing": "num_ranks 2 rank 0 { send 8b to 1 c: calc 1 d: send 9b to 1 d requires c } "
    "rank 1 { a: recv 8b from 0 b: recv 9b from 0 b requires a }",
    # Rank 0 receives the message of rank 2 first, and then waits for another one.
    "exhaustive, 2 orders of messages": "num_ranks 3 rank 0 { a: recv 8b from -1 b: recv 8b from 2 b requires a } "
    "rank 1 { send 8b to 0 } rank 2 { send 8b to 0 }",
}


@pytest.mark.parametrize(("found", "text"), SCHEDULES.items(), ids=SCHEDULES)
def test_what_is_wrong_with_a_schedule_is_found(
    hocket_command: Callable[..., Ran], tmp_path: Path, found: str, text: str
) -> None:
    (tmp_path / "wrong.goal").write_text(text)
    ran = hocket_command("verify schedule", tmp_path / "wrong.goal")
    assert ran.status == 1
    assert ran.out.startswith("schedule wrong.goal: WRONG, ") and found in ran.out
    told = hocket_command("verify schedule", tmp_path / "wrong.goal", "--json").json
    assert (told["ok"], len(told["counterexamples"])) == (False, 1)


def test_sends_that_never_wait_do_not_deadlock(
    hocket_command: Callable[..., Ran], bad_input: Callable[..., str], tmp_path: Path
) -> None:
    hint = "if the sends of the tool that wrote the file never wait, use --sends buffered"
    file = tmp_path / "waits.goal"
    file.write_text(SCHEDULES["deadlock (rendezvous sends)"])
    assert hocket_command("verify schedule", file).out.endswith(f"\n  {hint}\n")
    assert hocket_command("verify schedule --sends buffered", file).status == 0
    for machine in ("cluster", "fugaku", "loggp-infiniband"):
        ran = hocket_command(f"simulate schedule --sends buffered --machine {machine}", file)
        assert ran.status == 0, ran
    assert bad_input("simulate schedule", file).endswith(f"; {hint}")
    file.write_text(SCHEDULES["deadlock"])
    ran = hocket_command("verify schedule --sends buffered", file)
    assert ran.status == 1 and hint not in ran.out


def test_a_recorded_schedule_is_right(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    hocket_command("record allreduce ring --ranks 7 --size 1000B -o", tmp_path / "ring.goal")
    ran = hocket_command("verify schedule", tmp_path / "ring.goal")
    assert (ran.status, ran.out) == (
        0,
        "schedule ring.goal: ok, 7 ranks, deterministic; messages only: GOAL has no data\n",
    )


def test_a_message_that_does_not_fit_is_not_simulated(bad_input: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "cut.goal").write_text("num_ranks 2 rank 0 { send 8b to 1 } rank 1 { recv 4b from 0 }")
    expected = "cut.goal: rank 0 sends 8 B to rank 1 (tag 0), which receives at most 4 B: truncated"
    assert bad_input("simulate schedule", tmp_path / "cut.goal") == expected


def test_a_schedule_is_verified_without_further_options(bad_input: Callable[..., str]) -> None:
    expected = "a schedule is a file, expected no option but --sends and --json"
    assert expected in bad_input("verify schedule ring.goal --ranks 4")
    for words in ("verify allreduce ring", "verify trace some", "simulate allreduce ring --ranks 4 --size 8"):
        expected = "--sends: got buffered, expected waiting, except for a schedule"
        assert expected in bad_input(f"{words} --sends buffered")
    assert "got 0 files, expected schedule FILE" in bad_input("verify schedule")


def test_orders_of_messages_are_told(hocket_command: Callable[..., Ran]) -> None:
    command = "verify allreduce redundant_butterfly --ranks 2 --count 1 --param T=1 --param hosts=2"
    found = hocket_command(f"{command} --json").json
    assert found["exploration"] == "sampled" and found["orders"] > found["checked"]
    assert f", sampled, {found['orders']} orders of messages, " in " ".join(hocket_command(command).out.split())


def test_rank_counts_that_are_refused_are_told(hocket_command: Callable[..., Ran]) -> None:
    ran = hocket_command("verify allgather recursive_doubling --ranks 1-8")
    assert ran.status == 0
    assert "not for P = 3, 5-7" in ran.out


def test_only_refused_rank_counts_are_bad_input(bad_input: Callable[..., str]) -> None:
    assert "needs a power of two" in bad_input("verify allgather recursive_doubling --ranks 3,6")


def test_the_order_of_reductions_is_told(hocket_command: Callable[..., Ran]) -> None:
    words = "verify allreduce --ranks 2 --count 1"
    out = hocket_command(words).out.splitlines()
    for name, line in (
        ("ring", "  order: depends on the element or the size"),
        ("rabenseifner", "  order: recursive_doubling, for all elements and sizes"),
    ):
        (found,) = [number for number, text in enumerate(out) if text.startswith(f"allreduce/{name}: ")]
        assert out[found + 1] == line
    combining = {one["algorithm"]: one["order"] for one in hocket_command(f"{words} --json").json["combining"]}
    assert (combining["ring"], combining["rabenseifner"]) == (None, "recursive_doubling")
    assert "order" not in hocket_command("verify broadcast binomial --ranks 2 --count 1").out


SLOW = '''
@hocket.algorithm("gather")
def from_any(r, c):
    """Linear: the root takes the blocks in the order in which they come."""
    if r.rank != c.root:
        yield r.send(c.root, c.input(r))
        return
    result, scratch = c.result(r), r.scratch(max(map(c.count, range(r.size))))
    yield r.copy(c.input(r), c.block(result, r.rank))
    for _ in range(r.size - 1):
        got = yield r.recv_any(scratch)
        yield r.copy(scratch.part(0, got.length), c.block(result, got.source))
'''


def test_default_rank_counts_of_a_slow_program_take_a_minute(program_file: Callable[[str], Path]) -> None:
    (slow,) = hocket.load(program_file(SLOW))
    ring = hocket.find("allgather/ring")
    work = plan([slow, ring], range(1, 34), is_drawn=True)
    short = work.within(0.5)
    left = [task.ranks for task in short.tasks if task.algorithm is slow]
    assert left == [*range(1, len(left) + 1)] and len(left) < 20
    assert [task for task in short.tasks if task.algorithm is ring] == [t for t in work.tasks if t.algorithm is ring]
    assert sum(task.effort_s for task in short.tasks if task.algorithm is slow) <= 0.5 or left == [1]
    start_s = time.process_time()
    assert plan([slow], left).run().ok
    assert time.process_time() - start_s < 30
