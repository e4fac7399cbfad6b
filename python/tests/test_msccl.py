"""MSCCL XML: reading, the check of its data flow, and its time."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket
from hocket.schedules.formats import format_of
from hocket.schedules.msccl import Msccl
from hocket.schedules.msccl_verification import verify_msccl


def _step(number: int, kind: str, source: str, target: str, *, after: str = "-1 -1", waiters: int = 0) -> str:
    depid, deps = after.split()
    return (
        f'<step s="{number}" type="{kind}" srcbuf="{source[0]}" srcoff="{source[1:]}" dstbuf="{target[0]}" '
        f'dstoff="{target[1:]}" cnt="1" depid="{depid}" deps="{deps}" hasdep="{waiters}"/>'
    )


def _ring_allreduce(ranks: int) -> str:
    """The ring in place, one thread block per GPU: P-1 reducing and P-1 gathering steps, of which P-2 are fused."""
    gpus = []
    for gpu in range(ranks):
        steps = [("s", gpu)]
        steps += [("rrs", (gpu - hop) % ranks) for hop in range(1, ranks - 1)]
        steps += [("rrcs", (gpu + 1) % ranks)]
        steps += [("rcs", (gpu - hop) % ranks) for hop in range(ranks - 2)]
        steps += [("r", (gpu + 2) % ranks)]
        rows = "\n".join(_step(n, kind, f"i{chunk}", f"o{chunk}") for n, (kind, chunk) in enumerate(steps))
        block = f'<tb id="0" send="{(gpu + 1) % ranks}" recv="{(gpu - 1) % ranks}" chan="0">\n{rows}\n</tb>'
        gpus.append(f'<gpu id="{gpu}" i_chunks="{ranks}" o_chunks="{ranks}" s_chunks="0">\n{block}\n</gpu>')
    return _algo("allreduce", ranks, ranks, "\n".join(gpus), in_place=1)


def _algo(collective: str, ranks: int, chunks: int, gpus: str, *, in_place: int = 0) -> str:
    return (
        f'<algo name="test" proto="Simple" nchannels="1" nchunksperloop="{chunks}" ngpus="{ranks}" '
        f'coll="{collective}" inplace="{in_place}">\n{gpus}\n</algo>\n'
    )


def _exchange(*, first: str = "", wait: str = "-1 -1", offsets: tuple[int, int] = (1, 0), receive: bool = True) -> str:
    """An allgather of two GPUs: each copies and sends its chunk, and receives the other in another thread block."""
    gpus = []
    for gpu in range(2):
        other = 1 - gpu
        sends = [_step(0, "cpy", "i0", f"o{gpu}"), _step(1, "s", "i0", "o0", after=wait if gpu == 0 else "-1 -1")]
        receives = [_step(0, "r", "i0", f"o{offsets[gpu]}", waiters=1)] if receive or gpu == 0 else []
        gpus.append(
            f'<gpu id="{gpu}" i_chunks="1" o_chunks="2" s_chunks="0">\n{first}'
            f'<tb id="0" send="{other}" recv="-1" chan="0">\n' + "\n".join(sends) + "\n</tb>\n"
            f'<tb id="1" send="-1" recv="{other}" chan="0">\n' + "\n".join(receives) + "\n</tb>\n</gpu>"
        )
    return _algo("allgather", 2, 2, "\n".join(gpus))


def _load(path: Path, text: str) -> Msccl:
    file = path / "test.xml"
    file.write_text(text)
    return Msccl.load(file)


def _message(path: Path, text: str, **more: int) -> str:
    return "\n".join(found["message"] for found in verify_msccl(_load(path, text), **more).counterexamples)


@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
@pytest.mark.parametrize("slots", [None, 2])
def test_ring_is_right(tmp_path: Path, ranks: int, slots: int | None) -> None:
    content = _load(tmp_path, _ring_allreduce(ranks))
    assert verify_msccl(content, slots=slots).counterexamples == ()


def test_exchange_is_right(tmp_path: Path) -> None:
    assert _message(tmp_path, _exchange()) == ""


def test_ring_takes_the_time_of_the_catalogues(tmp_path: Path) -> None:
    """2(P-1) successive messages of n/P, and P-1 reductions of n/P."""
    machine = hocket.Machine.load("cluster")
    schedule = _load(tmp_path, _ring_allreduce(4)).schedule(1 << 20)
    call = hocket.Call(ranks=4, size_bytes=1 << 20)
    ours = hocket.simulate(schedule, machine=machine)
    theirs = hocket.simulate("allreduce/ring", call, machine=machine)
    assert ours.messages == theirs.messages == 4 * 2 * 3
    assert ours.time_s.mean == pytest.approx(theirs.time_s.mean, rel=0.05)


def test_missing_receive_is_found(tmp_path: Path) -> None:
    message = _message(tmp_path, _exchange(receive=False))
    assert "got      a message of 1 chunk from gpu 0 (channel 0) left over" in message
    assert "gpu 0, thread block 0, step 1 (s, line 5) sent it: send i[0..1] to gpu 1" in message


def test_wrong_offset_is_found(tmp_path: Path) -> None:
    message = _message(tmp_path, _exchange(offsets=(0, 0)))
    assert message.startswith("buffer race (eager sends): gpu 0")
    assert "gpu 0, thread block 0, step 0 (cpy, line 4): copy i[0..1] to o[0..1]" in message
    assert "gpu 0, thread block 1, step 0 (r, line 8): recv o[0..1] from gpu 1" in message


def test_a_result_that_is_never_written_is_found(tmp_path: Path) -> None:
    silent = _exchange().replace(_step(0, "cpy", "i0", "o0"), _step(0, "nop", "i0", "o0"))
    message = _message(tmp_path, silent)
    assert message.startswith("wrong result (eager sends): gpu 0, result[0..1]")
    assert "expected chunk 0 of gpu 0\n  got      nothing: it was never written\n  missing: chunk 0 of gpu 0" in message


def test_ends_of_a_connection_that_disagree_are_refused(tmp_path: Path) -> None:
    receive = _step(2, "r", "i0", "o0")
    longer = _ring_allreduce(2).replace(receive, receive.replace('cnt="1"', 'cnt="2"'))
    with pytest.raises(
        hocket.Error, match=r"step 2 \(r, line \d+\): receives 2 chunks, but gpu .* sends 1, expected as many"
    ):
        verify_msccl(_load(tmp_path, longer))


def test_steps_of_a_gpu_that_wait_for_each_other_are_refused(tmp_path: Path) -> None:
    text = _exchange(wait="1 0").replace(
        _step(0, "r", "i0", "o1", waiters=1), _step(0, "r", "i0", "o1", after="0 1", waiters=1)
    )
    text = text.replace(_step(1, "s", "i0", "o0", after="1 0"), _step(1, "s", "i0", "o0", after="1 0", waiters=1))
    with pytest.raises(hocket.Error, match="waits in a cycle of steps, expected no cycles"):
        verify_msccl(_load(tmp_path, text))


def test_cyclic_wait_is_found(tmp_path: Path) -> None:
    text = _exchange(wait="1 0")
    assert _message(tmp_path, text) == ""  # gpu 1 sends first
    text = text.replace(_step(1, "s", "i0", "o0"), _step(1, "s", "i0", "o0", after="1 0"))
    assert _message(tmp_path, text) == (
        "deadlock (eager sends): gpu 0\n"
        "  expected every gpu to reach its end\n"
        "  got      2 of 2 gpus waiting for ever\n"
        "  gpu 0, thread block 1, step 0 (r, line 8) waits: recv o[1..2] from gpu 1\n"
        "  gpu 1, thread block 1, step 0 (r, line 17) waits: recv o[0..1] from gpu 0"
    )


def test_twice_counted_input_is_found(tmp_path: Path) -> None:
    wrong = _ring_allreduce(2).replace(_step(2, "r", "i0", "o0"), _step(2, "rrc", "o0", "o0"))
    message = _message(tmp_path, wrong)
    assert "doubled: chunk 0 of gpu 0" in message
    assert (
        "the copy of its output" in message and "; its source in gpu 0, thread block 0, step 2 (rrc, line " in message
    )


def test_full_connections_can_block(tmp_path: Path) -> None:
    """Two GPUs send twice before they receive: a connection with one slot blocks."""
    gpus = ""
    for gpu in range(2):
        steps = [("s", "i0", "o0"), ("s", "i1", "o0"), ("r", "i0", f"o{2 - 2 * gpu}"), ("r", "i0", f"o{3 - 2 * gpu}")]
        steps += [("cpy", "i0", f"o{2 * gpu}"), ("cpy", "i1", f"o{2 * gpu + 1}")]
        rows = "\n".join(_step(n, *step) for n, step in enumerate(steps))
        gpus += f'<gpu id="{gpu}" s_chunks="0"><tb id="0" send="{1 - gpu}" recv="{1 - gpu}" chan="0">{rows}</tb></gpu>'
    text = _algo("allgather", 2, 4, gpus)
    assert _message(tmp_path, text) == ""
    assert "waits: a free slot to gpu 1, channel 0" in _message(tmp_path, text, slots=1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('coll="allgather"', 'coll="broadcast"', ":1: coll: got 'broadcast', expected allreduce"),
        ("<algo", '<!DOCTYPE a [<!ENTITY b "c">]><algo', ":1: got a document type"),
        ('type="r"', 'type="q"', ":8: type: got 'q', expected nop, s, r"),
        ('dstoff="1"', 'dstoff="7"', ": dstoff 7 with cnt 1, expected chunks within the 2 of buffer o"),
        ('cnt="1"', 'cnt="99999999999999"', ":4: cnt: got '99999999999999', expected a whole number"),
        ('send="1"', 'send="2"', ":3: send: got '2', expected a whole number from -1 to 1"),
        ('send="1"', 'send="-1"', ":5: s: the thread block's send is -1, expected another GPU"),
        ('depid="-1"', 'depid="5"', ":4: depid 5, deps -1: gpu 0 has no such step"),
        ('ngpus="2"', 'ngpus="1"', "expected a whole number from -1 to 0"),
        ("</algo>", "", ": no element found, expected MSCCL XML"),
        ("<gpu", "<cpu", ":2: got <cpu>, expected gpu in <algo>"),
        ('i_chunks="1"', 'i_chunks="two"', ":2: i_chunks: got 'two', expected a whole number from 0"),
        ('i_chunks="1"', 'i_chunks="0"', ": srcoff 0 with cnt 1, expected chunks within the 0 of buffer i"),
        ('o_chunks="2"', 'o_chunks="1"', ": dstoff 1 with cnt 1, expected chunks within the 1 of buffer o"),
        ('chan="0"', 'chan="1"', ":3: chan: got '1', expected a whole number from -1 to 0"),
        ('nchannels="1"', 'nchannels="0"', ":1: nchannels: got '0', expected a whole number from 1"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(hocket.Error) as error:
        _load(tmp_path, _exchange().replace(old, new, 1))
    assert message in str(error.value).replace('"', "'")


def test_control_characters_of_names_are_escaped(tmp_path: Path) -> None:
    assert (
        _load(tmp_path, _exchange().replace('name="test"', 'name="a&#x9b;31m&#10;b\u202e"')).name
        == r"a\u009b31m\nb\u202e"
    )


def test_the_channel_of_a_connection_may_be_left_open_once(tmp_path: Path) -> None:
    text = _exchange().replace('chan="0"', 'chan="-1"', 1)
    assert verify_msccl(_load(tmp_path, text)).ok
    block = '<tb id="7" send="1" recv="-1" chan="0"></tb>'
    with pytest.raises(hocket.Error, match="expected one thread block for each direction of a connection"):
        _load(tmp_path, text.replace("</gpu>", block + "</gpu>", 1))


def test_sizes_are_multiples_of_the_chunks(tmp_path: Path) -> None:
    content = _load(tmp_path, _exchange())
    for size_bytes in (0, 3):
        with pytest.raises(hocket.Error, match="expected a multiple of the schedule's 2 chunks"):
            content.schedule(size_bytes)


@given(st.data())
def test_any_damage_is_one_line_or_a_verdict(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    text = bytearray(_ring_allreduce(3).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.sampled_from(b'0123456789-ions<>"/ \xff'))
    file = tmp_path_factory.mktemp("damage") / "damaged.xml"
    file.write_bytes(bytes(text))
    try:
        content = Msccl.load(file)
        verdict = verify_msccl(content)
        content.schedule(content.chunks)
    except hocket.Error as error:
        assert "\n" not in str(error)
    else:
        assert verdict.checked == 1


def test_told_apart_by_content(tmp_path: Path) -> None:
    file = tmp_path / "schedule.goal"
    file.write_text(" \n" + _exchange())
    assert format_of(file).name == "msccl"
    file.write_text("num_ranks 1\n")
    assert format_of(file).name == "goal"
