"""Execution plans of MSCCL++: reading, the check of signals, races and results, time, and writing."""

from __future__ import annotations

import copy
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hocket
from hocket.schedules.formats import load, verify_file
from hocket.schedules.mscclpp import Operand, Operation, Plan
from hocket.schedules.mscclpp_tasks import schedule_of
from hocket.schedules.mscclpp_verification import verify_plan
from hocket.schedules.mscclpp_writing import as_plan
from tests import mscclpp_plans as plans
from tests.mscclpp_plans import Json, block, gpu, operations, plan, write

CLUSTER = hocket.Machine.load("cluster")
SYNCHRONISATION = ("signal", "wait", "rlxsignal", "rlxwait", "flush", "sem_acquire", "sem_release", "barrier")


def _faults(path: Path, content: Json) -> list[tuple[str, str]]:
    return [(one["kind"], one["message"]) for one in verify_file(write(path, content)).counterexamples]


def _mutants(content: Json, names: tuple[str, ...]) -> Iterator[tuple[str, Json]]:
    """Give copies of a plan without one of its operations of these names, also in pipelines."""
    for at in range(len(operations(content))):
        mutant = copy.deepcopy(content)
        ops, number = operations(mutant)[at]
        for inner in reversed(range(len(ops[number].get("ops", ())))):
            smaller = copy.deepcopy(content)
            of, same = operations(smaller)[at]
            if of[same]["ops"].pop(inner)["name"] in names:
                yield f"op {same}.{inner}", smaller
        if (name := ops.pop(number)["name"]) in names:
            yield f"op {number} ({name})", mutant


@pytest.mark.parametrize("name", plans.ALL)
def test_right_plans_are_right(tmp_path: Path, name: str) -> None:
    assert _faults(tmp_path, plans.ALL[name]()) == []


@pytest.mark.parametrize("name", plans.ALL)
def test_each_lost_synchronisation_is_found(tmp_path: Path, name: str) -> None:
    lost = [*_mutants(plans.ALL[name](), SYNCHRONISATION)]
    assert [what for what, mutant in lost if not _faults(tmp_path, mutant)] == []


@pytest.mark.parametrize("name", ["exchange", "reads", "gets"])
def test_each_lost_nop_is_found(tmp_path: Path, name: str) -> None:
    lost = [*_mutants(plans.ALL[name](), ("nop",))]
    assert lost
    for _, mutant in lost:
        assert "race" in {kind for kind, _ in _faults(tmp_path, mutant)}


@pytest.mark.parametrize("name", plans.ALL)
def test_each_other_chunk_is_found(tmp_path: Path, name: str) -> None:
    """Every operand that reads or writes the next chunk instead of its own is a fault."""
    content = plans.ALL[name]()
    for at in range(len(operations(content))):
        ops, number = operations(content)[at]
        for key in ("src_buff", "dst_buff"):
            for which in range(len(ops[number].get(key, ()))):
                mutant = copy.deepcopy(content)
                of, same = operations(mutant)[at]
                of[same][key][which]["index"] += 1
                try:
                    faults = _faults(tmp_path, mutant)
                except hocket.Error as error:
                    assert "expected at most" in str(error)
                    continue
                assert faults, (same, key, which)


def test_a_lost_signal_is_a_deadlock_that_names_the_wait(tmp_path: Path) -> None:
    content = plans.exchange()
    ops = content["gpus"][0]["threadblocks"][0]["ops"]
    del ops[[number for number, one in enumerate(ops) if one["name"] == "signal"][1]]
    ((kind, message),) = _faults(tmp_path, content)
    assert kind == "deadlock"
    assert message.splitlines() == [
        "deadlock: gpu 1",
        "  expected every thread block to reach its end",
        "  got      1 of 2 thread blocks waiting for ever",
        "  gpu 1, threadblock 0, op 7 (wait) waits for signal 1 on memory channel 0 between gpus 1 and 0, "
        "of which gpu 0 sends 1",
    ]


def test_a_race_names_both_operations_and_the_chunks(tmp_path: Path) -> None:
    content = plans.exchange()
    del content["gpus"][1]["threadblocks"][0]["ops"][7]
    messages = dict(_faults(tmp_path, content))
    assert messages["race"].splitlines() == [
        "race: output[0..1] of gpu 1",
        "  expected signals, packets or barriers that order its uses",
        "  got      two uses that may happen at the same time",
        "  gpu 0, threadblock 0, op 4 (put) writes",
        "  gpu 1, what comes after the call",
    ]
    assert messages["left-over signal"].splitlines()[1:] == [
        "  expected gpu 1 to wait for every signal of gpu 0 on memory channel 0 between gpus 1 and 0",
        "  got      1 signal left over, which the next call takes for its own",
    ]


def test_a_wrong_result_names_what_it_has(tmp_path: Path) -> None:
    content = plans.gets()
    content["gpus"][0]["threadblocks"][0]["ops"][3]["src_buff"][0]["index"] = 1
    wrong = [message for kind, message in _faults(tmp_path, content) if kind == "wrong result"]
    assert wrong[0].splitlines() == [
        "wrong result: output[0..1] of gpu 0",
        "  expected input[0] of gpus 0-1",
        "  got      input[0] of gpu 0 + input[1] of gpu 1",
    ]


def test_a_signal_before_the_threads_have_met_does_not_cover_their_puts(tmp_path: Path) -> None:
    content = plans.exchange()
    ops = content["gpus"][0]["threadblocks"][0]["ops"]
    ops[5], ops[6] = ops[6], ops[5]
    assert any("op 4 (put) writes" in message for _, message in _faults(tmp_path, content))


def test_a_relaxed_signal_does_not_show_data(tmp_path: Path) -> None:
    content = plans.exchange()
    ops = content["gpus"][0]["threadblocks"][0]["ops"]
    ops[6]["name"] = "rlxsignal"
    ((kind, message),) = _faults(tmp_path, content)
    assert kind == "race"
    assert message.splitlines()[1:3] == [
        "  expected a signal that shows what was written",
        "  got      relaxed signals or packets between its uses only",
    ]
    ops[6]["name"], ops[0]["name"] = "signal", "rlxsignal"
    assert _faults(tmp_path, content) == []


def test_calls_that_share_scratch_memory_race(tmp_path: Path) -> None:
    """With packets, a fast GPU writes into the scratch memory of a slow one, which still reads the last call's."""
    blocks = [block("ppkt <i0+1 >@0:0+1 memory", memory=[0], remote=[0]), block("upkt <s0+1 >o0+1")]
    gpus = [gpu((1, 1, 1), blocks, memory=[1 - rank], remote=[(1 - rank, "s")]) for rank in range(2)]
    content = plan("sendrecv", gpus, protocol="LL")
    faults = _faults(tmp_path, content)
    assert len(faults) == 2
    assert all("in one call and in a later one" in message for _, message in faults)
    assert _faults(tmp_path, {**content, "use_double_scratch_buffer": True}) == []


def test_blocks_that_share_a_signal_know_only_one_of_its_senders(tmp_path: Path) -> None:
    """Two blocks put and signal on one channel; a wait for the first signal may see either."""
    put = "signal c1 memory; wait c1 memory; nop; put <i{0}+1 >@0:{0}+1 memory; nop; signal c0 memory"
    blocks = [block(put.format(n), memory=[0, n + 1], remote=[0]) for n in range(2)]
    root = gpu((2, 2, 0), [*blocks, block("copy <i0+2 >o0+2")], memory=[1, 1, 1], remote=[(1, "o")])
    ready = "signal c1,2 memory; wait c1,2 memory"
    both = gpu((2, 2, 0), [block(f"{ready}; wait c0 memory; wait c0 memory", memory=[0, 1, 2])], memory=[0, 0, 0])
    assert _faults(tmp_path, plan("broadcast", [root, both])) == []
    early = block(f"{ready}; wait c0 memory; nop; copy <o0+1 >s0+1; wait c0 memory", memory=[0, 1, 2])
    races = _faults(tmp_path, plan("broadcast", [root, gpu((2, 2, 1), [early], memory=[0, 0, 0])]))
    assert [kind for kind, _ in races] == ["race"]


def test_long_chunks_go_through_a_reused_scratch_buffer(tmp_path: Path) -> None:
    """A pipeline that a later copy reads is right for chunks that fit the scratch buffer: 64 MiB for 4 chunks."""
    gpus = []
    for rank in range(2):
        text = """
            signal c0 memory; wait c0 memory; nop
            pipeline 4194304 1 {put <i0+1 >@0:0+1 memory}
            nop; signal c0 memory; wait c0 memory; nop
            copy <s0+1 >o0+1
        """
        one = block(text, memory=[0], remote=[0])
        gpus.append(gpu((1, 1, 4), [one], memory=[1 - rank], remote=[(1 - rank, "s")]))
    content = plan("sendrecv", gpus, reuse_resources=True)
    faults = _faults(tmp_path, content)
    assert {kind for kind, _ in faults} == {"wrong result"}
    assert all("in calls whose chunks are longer than 16 MiB" in message for _, message in faults)
    assert _faults(tmp_path, {**content, "max_message_size": 16 << 20}) == []
    assert _faults(tmp_path, {**content, "reuse_resources": False}) == []


def test_channels_read_by_themselves(tmp_path: Path) -> None:
    """A put by a port channel reads its source later: the block may write there only after a flush."""
    content = plans.ports()
    ops = content["gpus"][0]["threadblocks"][0]["ops"]
    ops[-1:] = [*block("copy <i0+1 >o0+1; copy <i0+1 >i1+1; nop")["ops"]]
    assert _faults(tmp_path, content) == []
    del ops[3]
    assert any("pws) reads" in message for _, message in _faults(tmp_path, content))


def test_packets_that_are_put_before_they_are_written_race(tmp_path: Path) -> None:
    """The thread that orders a put by a port channel does not wait for the other threads' packets."""

    def content(middle: str) -> Json:
        blocks = [
            block(f"cpkt <i0+1 >s0+1 {middle}; ppkt <s0+1 >@0:1+1 c0 port", port=[0], remote=[0]),
            block("upkt <s1+1 >o0+1"),
        ]
        gpus = [gpu((1, 1, 2), blocks, port=[1 - rank], remote=[(1 - rank, "s")]) for rank in range(2)]
        return plan("sendrecv", gpus, protocol="LL", use_double_scratch_buffer=True)

    assert {kind for kind, _ in _faults(tmp_path, content(""))} == {"race"}
    assert _faults(tmp_path, content("; nop")) == []


def test_thread_blocks_that_share_operations_need_every_signal(tmp_path: Path) -> None:
    """Halves of two chunks are not the halves of each: a block reads what another block of the sender has written."""

    def blocks(rank: int, size: int) -> list[Json]:
        copies = [f"copy <i{chunk}+{size} >s{chunk}+{size} g{{0}}/2" for chunk in range(0, 2, size)]
        gets = "; ".join(f"get <@0:{chunk}+1 >o{chunk}+1 memory g{{0}}/2" for chunk in range(2))
        both = "signal c0 memory; wait c0 memory"
        text = f"{'; '.join(copies)}; nop; {both}; nop; {gets}; nop; {both}"
        return [block(text.format(part), memory=[part], remote=[0]) for part in range(2)]

    def content(size: int) -> Json:
        remote = [[(1, "s")], [(0, "s")]]
        gpus = [gpu((2, 2, 2), blocks(rank, size), memory=[1 - rank] * 2, remote=remote[rank]) for rank in range(2)]
        return plan("sendrecv", gpus)

    assert _faults(tmp_path, content(1)) == []
    assert {kind for kind, _ in _faults(tmp_path, content(2))} == {"race"}


def test_parts_of_different_lengths(tmp_path: Path) -> None:
    """Quarters of two chunks are halves of one, unless a chunk is an odd number of pieces."""

    def blocks(rank: int) -> list[Json]:
        texts = []
        for part in range(4):
            both = "signal c0 memory; wait c0 memory"
            get = f"get <@0:{part // 2}+1 >o{part // 2}+1 memory g{part % 2}/2"
            texts.append(f"copy <i0+2 >s0+2 g{part}/4; nop; {both}; nop; {get}; nop; {both}")
        return [block(text, memory=[part], remote=[0]) for part, text in enumerate(texts)]

    gpus = [gpu((2, 2, 2), blocks(rank), memory=[1 - rank] * 4, remote=[(1 - rank, "s")]) for rank in range(2)]
    faults = _faults(tmp_path, plan("sendrecv", gpus))
    assert {kind for kind, _ in faults} == {"race"}
    assert all("in calls whose chunks have parts of different lengths" in message for _, message in faults)


class _Chance:
    """Executes a plan in a random order, one whole operation after another: an independent, weaker check."""

    def __init__(self, content: Plan, seed: int) -> None:
        self._plan, self._random = content, random.Random(seed)
        self._signals: Counter[Any] = Counter()
        self._memory: dict[Any, Counter[Any] | None] = {}
        for rank in range(content.ranks):
            for chunk in range(content.input_chunks):
                self._memory[self._place(Operand(rank, "i", chunk, 1), 0)] = Counter({(rank, chunk): 1})
        self._left = {(g, n): list(ops) for g, of in enumerate(content.gpus) for n, ops in enumerate(of.blocks)}

    def results(self) -> list[list[Counter[Any] | None]] | None:
        """Return the chunks of all outputs; None for a deadlock."""
        while any(self._left.values()):
            going = [key for key, ops in self._left.items() if ops and self._can(ops[0])]
            if not going:
                return None
            self._do(self._left[self._random.choice(going)].pop(0))
        chunks = range(self._plan.output_chunks)
        return [
            [self._memory.get(self._place(Operand(rank, "o", chunk, 1), 0)) for chunk in chunks]
            for rank in range(self._plan.ranks)
        ]

    def _place(self, operand: Operand, at: int) -> Any:
        buffer, first = self._plan.resolve(operand.gpu, operand.buffer)
        return operand.gpu, buffer, operand.has_packets, first + operand.index + at

    def _can(self, operation: Operation) -> bool:
        if operation.form is None:
            return "wait" not in operation.name or all(self._signals[end] > 0 for end in operation.channels)
        places = [self._place(one, at) for one in operation.sources if one.has_packets for at in range(one.size)]
        return all(place in self._memory for place in places)

    def _do(self, operation: Operation) -> None:
        form = operation.form
        if "wait" in operation.name:
            self._signals.subtract(operation.channels)
        elif "signal" in operation.name or (form and form.has_signal):
            self._signals.update(end.other_end() for end in operation.channels)
        for at in range(operation.targets[0].size if form else 0):
            values = [self._memory.get(self._place(one, at)) for one in operation.sources]
            if form and form.is_reduction:
                values = [sum((value or Counter({None: 1}) for value in values), Counter())]
            for number, one in enumerate(operation.targets):
                self._memory[self._place(one, at)] = values[min(number, len(values) - 1)]


@pytest.mark.parametrize("name", ["exchange", "reads", "packets", "ports", "gets"])
def test_what_goes_wrong_by_chance_is_found(tmp_path: Path, name: str) -> None:
    """Of every plan that lacks an operation, no random order is wrong unless the check has found a fault."""
    names = ("nop", *SYNCHRONISATION, "put", "get", "rres", "re", "copy", "ppkt", "respkt", "upkt", "pws")
    content = plans.ALL[name]()
    right = _Chance(Plan.load(write(tmp_path, content)), 0).results()
    wrong = 0
    for what, mutant in _mutants(content, names):
        read = Plan.load(write(tmp_path, mutant))
        if any(_Chance(read, seed).results() != right for seed in range(20)):
            wrong += 1
            assert verify_plan(read).counterexamples, what
    assert wrong


def _change(content: Json, *path: Any, to: Any) -> Json:
    changed: Any = copy.deepcopy(content)
    at = changed
    for key in path[:-1]:
        at = at[key]
    if to is None:
        del at[path[-1]]
    else:
        at[path[-1]] = to
    return dict(changed)


OP = ("gpus", 0, "threadblocks", 0, "ops")
SWITCH = [{"switch_channel_id": 0, "index": 0, "size": 1}]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("collective",), "custom", "collective: got 'custom', expected allreduce, allgather, reduce_scatter, "),
        (("collective",), None, "collective is missing, expected a collective"),
        (("inplace",), 1, "inplace: got 1, expected true or false"),
        (("protocol",), "LL128", "protocol: got 'LL128', expected Simple, LL"),
        (("gpus",), [], "gpus: got 0 GPUs, expected 1 to 65536"),
        (("gpus",), {}, "gpus: got {}, expected an array"),
        (("gpus", 1), 7, "gpu 1: got 7, expected an object"),
        (("gpus", 0, "inputChunks"), 1, "is in an older form of plans, whose GPUs have inputChunks"),
        (("gpus", 1, "id"), 0, "gpu 1: id: got 0, expected 1, as GPUs are numbered in order"),
        (("gpus", 1, "input_chunks"), 2, "GPUs have different input_chunks or output_chunks"),
        (("gpus", 0, "channels", 0, "connected_to"), [0], "connected_to: got 0, expected another GPU"),
        (("gpus", 0, "remote_buffers", 0, "type"), "x", "remote buffer 0: type: got 'x', expected i, o, s"),
        ((*OP, 0, "name"), "glres", "op 0: glres: uses a switch channel (NVLS), expected memory and port channels"),
        ((*OP, 0, "name"), "fly", "op 0: name: got 'fly', expected put, pws"),
        ((*OP, 0, "channel_type"), "none", "op 0: channel_type: got none, expected memory or port"),
        ((*OP, 0, "channel_ids"), [5], "op 0: channel_ids: got 5, expected one of the 1 memory channels of its block"),
        ((*OP, 0, "channel_ids"), [1e99], "op 0: channel_ids: got 1e+99, expected a whole number from 0 to 65536"),
        ((*OP, 3, "src_buff"), SWITCH, "op 3, src_buff 0: uses a switch channel (NVLS)"),
        ((*OP, 3, "src_buff"), [], "op 3: src_buff: got 0 buffers, expected 1"),
        ((*OP, 4, "channel_type"), "none", "op 4: put: channel_type: got none, expected memory or port"),
        ((*OP, 4, "dst_buff", 0, "size"), 2, "put: got a source and a target of different sizes"),
        ((*OP, 4, "dst_buff", 0, "index"), 10**30, "dst_buff 0: index: got 1" + "0" * 30 + ", expected a whole number"),
        ((*OP, 4, "dst_buff", 0, "buffer_id"), 3, "buffer_id: got 3, expected one of the 1 of its block"),
        ((*OP, 4, "dst_buff", 0, "index"), 2, "put: got output chunks 2 to 2 of gpu 1, expected at most 2 chunks"),
        ((*OP, 4, "dst_buff", 0), {"type": "o"}, "got no buffer_id, expected buffer_id, a buffer of another GPU"),
        (
            (*OP, 4, "tbg_info"),
            {"tb_id": 2, "tbg_size": 2},
            "tbg_info: tb_id: got 2, expected a whole number from 0 to 1",
        ),
    ],
)
def test_refusals_name_the_place(tmp_path: Path, path: tuple[Any, ...], value: Any, message: str) -> None:
    file = write(tmp_path, _change(plans.exchange(), *path, to=value))
    with pytest.raises(hocket.Error) as error:
        Plan.load(file)
    assert str(error.value).startswith(str(file))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "content",
    [
        plan("allreduce", [gpu((60000, 60000, 0), [block("nop")])] * 60),
        plan("allreduce", [gpu((1, 1, 0), [block("nop")] * 30)] * 400),
        plan("allreduce", [gpu((1, 1, 1), [block("pipeline 1 1 {nop}; pipeline 1099511627776 1 {nop}")])]),
        plan("allreduce", [gpu((900, 900, 900), [block("copy <i0+900 >s0+900;" * 3000)])]),
    ],
    ids=["chunks", "blocks", "units", "operations"],
)
def test_plans_that_are_too_large_are_refused_at_once(tmp_path: Path, content: Json) -> None:
    with pytest.raises(hocket.Error, match="too many parts of chunks, operations or thread blocks to check"):
        verify_file(write(tmp_path, content))


def test_any_change_is_an_error_of_one_line_or_a_verdict(tmp_path: Path) -> None:
    chance = random.Random(7)
    values = ["", "x", "s", "wait", [], {}, [0], [{}], -1, 0, 1, 3, 1.5, 10**30, None, True, [[[]]]]
    for _ in range(600):
        content: Any = copy.deepcopy(chance.choice([*plans.ALL.values()])())
        for _ in range(chance.randrange(1, 4)):
            at = content
            while isinstance(at, dict | list) and at:
                key = chance.choice([*at] if isinstance(at, dict) else range(len(at)))
                if not isinstance(at[key], dict | list) or chance.random() < 0.1:
                    at[key] = chance.choice(values)
                    break
                at = at[key]
        file = write(tmp_path, content)
        try:
            read = Plan.load(file)
            verify_plan(read)
            schedule_of(read, read.chunks * read.alignment_bytes * 12)
        except hocket.Error as error:
            assert "\n" not in str(error)


def test_truncated_files_are_errors_of_one_line(tmp_path: Path) -> None:
    text = json.dumps(plans.relay())
    file = tmp_path / "plan.json"
    for end in range(0, len(text) - 1, 37):
        file.write_text(text[:end])
        with pytest.raises(hocket.Error) as error:
            verify_file(file)
        assert str(file) in str(error.value)


def test_time_of_an_exchange(tmp_path: Path) -> None:
    """Two messages without data, and one with the chunk in each direction."""
    schedule = load(write(tmp_path, plans.exchange()), size_bytes=1 << 20)
    run = hocket.simulate(schedule, machine=CLUSTER)
    assert (run.messages, run.message_bytes) == (4, 1 << 20)
    one, other = (
        hocket.simulate("allgather/ring", hocket.Call(ranks=2, size_bytes=size), machine=CLUSTER)
        for size in (0, 1 << 19)
    )
    assert run.time_s.mean == pytest.approx(one.time_s.mean + other.time_s.mean, rel=0.05)


@pytest.mark.parametrize(
    ("name", "messages", "size_bytes"),
    [
        ("reads", 3 * 2 * 4, 2 * 3 * 2 * 16),  # two signals, a request and an answer; answers, and sums with signals
        ("packets", 2 * 2, 2 * 2 * 2 * 16),  # packets take twice the room
        ("ports", 2 * 2, 2 * 16),
        ("gets", 2 * 4, 2 * 16),
        ("relay", 1 + 1 + 1, 32),
        ("meeting", 2 * 2, 2 * 16),
    ],
)
def test_messages_of_a_schedule(tmp_path: Path, name: str, messages: int, size_bytes: int) -> None:
    read = Plan.load(write(tmp_path, plans.ALL[name]()))
    run = hocket.simulate(schedule_of(read, read.chunks * 16), machine=CLUSTER)
    assert (run.messages, run.message_bytes) == (messages, size_bytes)


def test_iterations_of_a_pipeline_are_messages(tmp_path: Path) -> None:
    read = Plan.load(write(tmp_path, plans.relay()))
    run = hocket.simulate(schedule_of(read, 32 * 10), machine=CLUSTER)
    assert (run.messages, run.message_bytes) == (2 + 10, 320)


def test_schedules_that_cannot_be_said(tmp_path: Path) -> None:
    content = plans.relay()
    with pytest.raises(hocket.Error, match="operations, expected at most"):
        schedule_of(Plan.load(write(tmp_path, content)), "1GiB")
    content = plans.exchange()
    with pytest.raises(hocket.Error, match="got 100 B, expected a multiple of 32 B: the plan has 2 chunks"):
        schedule_of(Plan.load(write(tmp_path, content)), 100)
    with pytest.raises(hocket.Error, match="contains no size, expected --size"):
        load(tmp_path / "plan.json")
    ops = content["gpus"][0]["threadblocks"][0]["ops"]
    ops.pop(6)
    with pytest.raises(hocket.Error, match=r"deadlock: gpu 1, threadblock 0, op 7 \(wait\) waits for signal 1"):
        schedule_of(Plan.load(write(tmp_path, content)), 32)
    content["gpus"][1]["threadblocks"][0]["ops"].pop(7)
    with pytest.raises(hocket.Error, match="gpu 0 puts data to gpu 1 without a signal afterwards"):
        schedule_of(Plan.load(write(tmp_path, content)), 32)


CATALOGUE = [
    algorithm.label
    for algorithm in hocket.catalogue()
    if algorithm.collective in ("allreduce", "allgather", "reduce_scatter", "alltoall")
]


@pytest.mark.parametrize("label", CATALOGUE)
@pytest.mark.parametrize("ranks", [2, 4])
def test_recorded_programs_are_right_plans(tmp_path: Path, label: str, ranks: int) -> None:
    """Every program of the catalogue that fits a thread block is a right plan; losing a signal or a wait is found."""
    try:
        schedule = hocket.record(label, hocket.Call(ranks=ranks, size_bytes=64 * ranks**2))
        content = json.loads(as_plan(schedule))
    except hocket.Error as error:
        assert re.search(
            "operations in a thread block, expected at most 64|cannot be recorded: rank 0 uses first", str(error)
        )
        return
    assert _faults(tmp_path, content) == []
    mutants = [*_mutants(content, ("signal", "wait"))]
    assert [what for what, mutant in mutants[:: max(len(mutants) // 6, 1)] if not _faults(tmp_path, mutant)] == []


def test_a_recorded_ring_of_four(tmp_path: Path) -> None:
    schedule = hocket.record("allreduce/ring", hocket.Call(ranks=4, size_bytes=4096))
    file = tmp_path / "ring.plan"
    file.write_text(as_plan(schedule))
    assert verify_file(file).ok
    run, of_program = (hocket.simulate(one, machine=CLUSTER) for one in (load(file, size_bytes=4096), schedule))
    assert run.message_bytes == of_program.message_bytes
    assert run.messages == 2 * of_program.messages  # each has a ready signal
    assert of_program.time_s.mean < run.time_s.mean < 2.2 * of_program.time_s.mean


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: hocket.record("allreduce/ring", hocket.Call(ranks=16, size_bytes=4096)),
            "operations in a thread block",
        ),
        (
            lambda: hocket.record("broadcast/binomial", hocket.Call(ranks=4, size_bytes=64)),
            "got a schedule of broadcast",
        ),
    ],
)
def test_schedules_that_no_plan_can_express(make: Callable[[], hocket.Schedule], message: str) -> None:
    with pytest.raises(hocket.Error, match=message):
        as_plan(make())
