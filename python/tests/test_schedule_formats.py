"""The formats of schedules: written schedules are read again, and the catalogue as MSCCL XML is right."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hocket
from hocket.schedules.formats import FORMATS, format_for, format_of, load, save
from hocket.schedules.msccl import COLLECTIVES, Msccl
from hocket.schedules.msccl_verification import verify_msccl
from hocket.schedules.msccl_writing import as_msccl
from tests.foreign.astra_sim import read_by_astra_sim
from tests.foreign.loggopsim import read_by_loggopsim, read_by_txt2bin
from tests.foreign.rccl import read_by_rccl

CLUSTER = hocket.Machine.load("cluster")
RING = hocket.record("allreduce/ring", hocket.Call(ranks=4, size_bytes=4096))

WRITTEN = [algorithm for algorithm in hocket.catalogue() if algorithm.collective in COLLECTIVES]
REASONS = (
    r"a message has \d+, expected at most 71|has a (send|recv) without data|has \d+ steps in a thread block"
    r"|fit only \d+ chunks, expected at most 32768"
)
"""Why MSCCL XML may refuse an algorithm: spans that fit no chunks, messages that only synchronise, too many steps."""


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_written_is_read_again(tmp_path: Path, name: str) -> None:
    files = save(RING, tmp_path / "x", format=name, machine=CLUSTER)
    assert [path.name for path in sorted(tmp_path.iterdir())] == sorted(Path(file).name for file in files)
    assert format_of(files[0]).name == name
    read = load(files[0], size_bytes=4096 if FORMATS[name].is_sized else None)
    found, wanted = (hocket.simulate(each, machine=CLUSTER) for each in (read, RING))
    assert (found.ranks, found.message_bytes) == (4, wanted.message_bytes)
    if name == "mscclpp":  # each message has a signal before it, that its memory is ready
        assert found.messages == 2 * wanted.messages
        return
    assert found.messages == wanted.messages
    assert found.time_s.mean == pytest.approx(wanted.time_s.mean, rel=0.02 if name != "chakra" else 0.3)  # whole us


SOME = [
    RING,
    hocket.record("barrier/dissemination", hocket.Call(ranks=5, size_bytes=0)),
    hocket.record("alltoall/linear", hocket.Call(ranks=3, size_bytes=96, parameters={"sends": "together"})),
    hocket.record("broadcast/binomial", hocket.Call(ranks=1, size_bytes=8)),
    hocket.record("allreduce/rabenseifner", hocket.Call(ranks=6, size_bytes=1000)),
    hocket.Schedule.of(
        "starts",
        {
            "format": 1,
            "element_bytes": 1,
            "scratch": [0],
            "ranks": [
                [
                    {"action": {"compute": {"time_s": 1e-6}}},
                    {"action": {"compute": {"time_s": 0.0}}, "after_start": [0]},
                    {"action": {"compute": {"time_s": 1e-9}}, "after": [0], "after_start": [1]},
                ]
            ],
        },
    ),
]
"""Schedules with empty messages, with ranks that do nothing, and with waits for starts."""


@pytest.mark.parametrize("schedule", SOME, ids=lambda schedule: schedule.name)
def test_goal_is_read_by_loggopsim(schedule: hocket.Schedule) -> None:
    text = schedule.as_bytes("goal", machine=CLUSTER).decode()
    assert ("irequires" in text) == (schedule.name == "starts")
    assert read_by_txt2bin(text) == read_by_loggopsim(schedule.as_bytes("goal_binary", machine=CLUSTER))


@pytest.mark.parametrize("schedule", SOME, ids=lambda schedule: schedule.name)
def test_chakra_is_read_by_astra_sim(tmp_path: Path, schedule: hocket.Schedule) -> None:
    files = save(schedule, tmp_path / "x", format="chakra", machine=CLUSTER)
    read_by_astra_sim([Path(file).read_bytes() for file in files])


def test_astra_sim_has_no_larger_tags(tmp_path: Path) -> None:
    span = {"buffer": "input", "offset": 0, "len": 8}
    send, receive = (
        ({"action": {"send": {"to": 1, "tag": 1 << 31, "data": span}}},),
        ({"action": {"recv": {"from": 0, "tag": 1 << 31, "into": span}}},),
    )
    data = {"format": 1, "element_bytes": 1, "scratch": [0, 0], "ranks": [send, receive]}
    with pytest.raises(hocket.Error, match=r"^x cannot be written in chakra: got tag 2147483648, expected tags up to"):
        save(hocket.Schedule.of("x", data), tmp_path / "x", format="chakra")


@pytest.mark.parametrize("name", FORMATS)
def test_the_end_of_a_name_tells_the_format_to_write(name: str) -> None:
    assert format_for(f"a{FORMATS[name].ending}").name == name
    assert format_for("a").name == "goal"


def test_a_size_is_for_formats_that_leave_it_open(tmp_path: Path) -> None:
    save(RING, tmp_path / "x.xml")
    save(RING, tmp_path / "x.json")
    with pytest.raises(hocket.Error, match=r"x\.xml: MSCCL XML contains no size, expected --size"):
        load(tmp_path / "x.xml")
    with pytest.raises(hocket.Error, match=r"x\.json: a schedule in json contains its sizes"):
        load(tmp_path / "x.json", size_bytes=8)


@pytest.mark.parametrize("some_ranks", [(2, 3, 5, 8), pytest.param((4, 6, 7, 9, 16), marks=pytest.mark.long)])
@pytest.mark.parametrize("algorithm", WRITTEN, ids=lambda a: a.label)
def test_the_catalogue_as_msccl_is_right_and_as_fast(algorithm: hocket.Algorithm, some_ranks: tuple[int, ...]) -> None:
    written = [_written(algorithm, ranks, False) for ranks in some_ranks]
    if algorithm.collective in ("allreduce", "allgather"):
        written += [_written(algorithm, ranks, True) for ranks in {2, 5, 8} & {*some_ranks}]
    assert any(written) or "redundant" in algorithm.name  # programs with `first` have no schedule


def _written(algorithm: hocket.Algorithm, ranks: int, in_place: bool) -> bool:
    """Check a call whose size blocks or segments divide; return whether one can be written."""
    refusals = []
    for size_bytes in (5040 * 16, 64 * 1024):
        whole = algorithm.collective in ("allreduce", "reduce_scatter")
        call = hocket.Call(ranks=ranks, size_bytes=size_bytes if whole else size_bytes // 16, in_place=in_place)
        try:
            schedule = hocket.record(algorithm, call)
        except hocket.Error:
            return False
        try:
            content = as_msccl(schedule)
        except hocket.Error as error:
            refusals.append(str(error))
            continue
        assert verify_msccl(content, slots=2).counterexamples == ()
        assert content.in_place == in_place
        text = content.as_xml()
        read_by_rccl(text)
        read = content.schedule(call.size_bytes * (1 if whole else ranks))
        found, wanted = (
            hocket.simulate(read, machine=CLUSTER),
            hocket.simulate(algorithm, call, machine=CLUSTER),
        )
        assert (found.messages, found.message_bytes) == (wanted.messages, wanted.message_bytes)
        assert 0.9 < found.time_s.mean / wanted.time_s.mean < 1.002  # MSCCL does not wait for the end of sends
        return True
    assert all(re.search(REASONS, refusal) for refusal in refusals), refusals
    return False


def test_msccl_is_read_as_it_was_written(tmp_path: Path) -> None:
    """A step of MSCCL waits for one other step: a task that waits for several has nops before it."""
    content = as_msccl(hocket.record("alltoall/linear", hocket.Call(ranks=5, size_bytes=64)))
    (tmp_path / "x").write_text(content.as_xml())
    assert Msccl.load(tmp_path / "x") == content
    content = as_msccl(hocket.record("allreduce/trivance", hocket.Call(ranks=9, size_bytes=9 * 64)))
    (tmp_path / "x").write_text(content.as_xml())
    assert Msccl.load(tmp_path / "x") == content
    blocks = [block.steps for gpu in content.gpus for block in gpu.values()]
    nops = [(steps[at], steps[at + 1]) for steps in blocks for at, step in enumerate(steps) if step.kind == "nop"]
    assert nops and all(nop.after is not None and then.after is not None for nop, then in nops)


def _recorded(label: str, **more: Any) -> hocket.Schedule:
    return hocket.record(label, hocket.Call(**{"ranks": 4, "size_bytes": 4096, **more}))


def _alone(*actions: Mapping[str, Any]) -> hocket.Schedule:
    """An allreduce of one rank."""
    data = {"format": 1, "element_bytes": 1, "scratch": [0], "ranks": [[{"action": action} for action in actions]]}
    return hocket.Schedule.of("alone", data, collective="allreduce")


def _sends(ranks: int, tags: int) -> hocket.Schedule:
    """An allreduce in which rank 0 sends to all others with several tags."""
    span = {"offset": 0, "len": 8}
    pairs = [(peer, tag) for peer in range(1, ranks) for tag in range(tags)]
    sends = [{"action": {"send": {"to": peer, "tag": tag, "data": span | {"buffer": "input"}}}} for peer, tag in pairs]
    receive = {"from": 0, "into": span | {"buffer": "result"}}
    receives = [[{"action": {"recv": {**receive, "tag": tag}}} for tag in range(tags)] for _ in range(1, ranks)]
    data = {"format": 1, "element_bytes": 1, "scratch": [0] * ranks, "ranks": [sends, *receives]}
    return hocket.Schedule.of("sends", data, collective="allreduce")


COPY = {
    "copy": {
        "source": {"buffer": "input", "offset": 0, "len": 8},
        "target": {"buffer": "result", "offset": 0, "len": 8},
    }
}


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        (_recorded("broadcast/binomial"), "got a schedule of broadcast, expected allreduce, allgather, reduce_scatter"),
        (hocket.Schedule.of("ring", RING.data), "got a schedule of an unknown collective"),
        (
            replace(_recorded("reduce_scatter/ring"), collective="allgather"),
            "it uses 1024 elements of input and 256 of result, which does not fit allgather",
        ),
        (_recorded("reduce_scatter/ring", in_place=True), "got reduce_scatter in place"),
        (_recorded("reduce_scatter/ring", size_bytes=4097), "got 4097 elements, expected blocks of the same size"),
        (_recorded("allreduce/ring", size_bytes=4097), "a message has 1024, expected at most 71"),
        (_recorded("alltoall/linear", ranks=40), "gpu 0 has 39 peers on a channel, expected at most 32"),
        (_alone(*[COPY] * 65), "gpu 0 has 65 steps in a thread block, expected at most 64"),
        (_sends(32, 5), "gpu 0 has 155 thread blocks, expected at most 128"),
        (_recorded("allgather/k_ring", size_bytes=0), "does not say which data its messages carry"),
        (_alone(COPY, {"compute": {"time_s": 1.0}}), "rank 0 computes, expected messages, copies and reductions only"),
    ],
    ids=lambda value: None if isinstance(value, str) else "",
)
def test_what_msccl_cannot_say_is_refused(schedule: hocket.Schedule, message: str) -> None:
    with pytest.raises(hocket.Error) as refusal:
        as_msccl(schedule)
    assert message in str(refusal.value) and "\n" not in str(refusal.value)
    assert str(refusal.value).startswith(f"{schedule.name} cannot be written as MSCCL XML: ")


def test_computing_that_takes_no_time_is_passed() -> None:
    assert [len(block.steps) for block in as_msccl(_alone({"compute": {"time_s": 0.0}}, COPY)).gpus[0].values()] == [1]
