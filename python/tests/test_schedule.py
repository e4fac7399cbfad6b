"""Schedules as data."""

import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import hocket

CALL = hocket.Call(ranks=8, size_bytes=8000)


@pytest.mark.parametrize("algorithm", hocket.catalogue(), ids=lambda a: a.label)
def test_a_recorded_schedule_takes_the_time_of_its_program(algorithm: hocket.Algorithm) -> None:
    if "redundant" in algorithm.name:
        with pytest.raises(hocket.Error, match="cannot be recorded: rank 0 uses first"):
            hocket.record(algorithm, CALL)
        return
    schedule = hocket.record(algorithm, CALL)
    assert hocket.simulate(schedule).time_s == hocket.simulate(algorithm, CALL).time_s


@pytest.mark.parametrize("algorithm", ["allreduce/ring", "broadcast/binomial", "gather/linear", "alltoall/linear"])
def test_a_schedule_meets_the_hosts_of_a_machine_as_its_program_does(algorithm: str) -> None:
    network = '[network]\nmodel = "links"\ntopology = "crossbar"\nnodes = 8\nlink_bandwidth = "1 GB/s"\n'
    host = '[host]\no_send = "1 us"\no_receive = "2 us"\ng = "3 us"\nS = "1 KiB"\nnew_peer = "4 us"\n'
    machine = hocket.Machine.parse(f'name = "hosts"\n{network}{host}')
    for call in (CALL, hocket.Call(ranks=8, size_bytes=80)):
        found = hocket.simulate(hocket.record(algorithm, call), machine=machine)
        assert found.times_s == pytest.approx(hocket.simulate(algorithm, call, machine=machine).times_s, rel=1e-12)


def test_json_comes_back_as_it_went(tmp_path: Path) -> None:
    schedule = hocket.record("allreduce/ring", CALL)
    path = tmp_path / "ring.json"
    path.write_text(schedule.as_json())
    assert hocket.Schedule.load(path).data == schedule.data


def test_a_schedule_is_its_data_wherever_it_goes() -> None:
    schedule = hocket.record("allreduce/ring", CALL)
    assert hocket.Schedule.of(schedule.name, schedule.data) == schedule
    assert pickle.loads(pickle.dumps(schedule)) == schedule
    assert hocket.record("allreduce/linear", CALL).content != schedule.content
    with pytest.raises(hocket.Error, match=r"^mine: format: got 9, expected 1$"):
        hocket.Schedule.of("mine", {**schedule.data, "format": 9})


def test_goal_comes_back_with_the_same_messages(tmp_path: Path) -> None:
    schedule = hocket.record("allreduce/ring", CALL)
    path = tmp_path / "ring.goal"
    path.write_text(schedule.as_goal(machine=hocket.Machine.load("cluster")))
    read = hocket.simulate(hocket.Schedule.load(path))
    program = hocket.simulate("allreduce/ring", CALL)
    assert (read.ranks, read.messages, read.message_bytes) == (8, program.messages, program.message_bytes)
    assert read.time_s.mean == pytest.approx(program.time_s.mean, rel=1e-2)  # GOAL counts whole nanoseconds
    assert (read.collective, read.algorithm, read.formula_s) == ("schedule", "ring.goal", None)


@pytest.mark.parametrize(("name", "form"), [("x.goal", "goal"), ("x.bin", "goal_binary"), ("x.json", "json")])
def test_a_file_is_written_in_the_form_of_its_name(
    tmp_path: Path, name: str, form: hocket.schedules.schedule.Form
) -> None:
    schedule = hocket.record("allreduce/ring", CALL)
    machine = hocket.Machine.load("cluster")
    for path, given in [(tmp_path / name, None), (tmp_path / "other", form)]:
        schedule.save(path, format=given, machine=machine)
        assert path.read_bytes() == schedule.as_bytes(form, machine=machine)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["other", name])
    read = hocket.Schedule.load(tmp_path / name)
    assert read.content == schedule.content if form == "json" else read.as_goal() == schedule.as_goal(machine=machine)


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    schedule = hocket.record("allreduce/ring", CALL)
    with pytest.raises(hocket.Error, match=r"none/x\.goal: cannot be written: No such file or directory"):
        schedule.save(tmp_path / "none" / "x.goal")
    with pytest.raises(hocket.Error, match=r"^format: got 'xml', expected one of goal, goal_binary, json$"):
        schedule.save(tmp_path / "x.goal", format="xml")  # type: ignore[arg-type]


def test_what_comes_through_a_pipe_is_read(tmp_path: Path) -> None:
    schedule = hocket.record("allreduce/ring", CALL)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(schedule.save, pipe, format="goal_binary")
        assert hocket.Schedule.load(pipe).as_goal() == schedule.as_goal()
        written.result()


def test_a_receive_from_any_rank_goes_both_ways(tmp_path: Path) -> None:
    (tmp_path / "any.goal").write_text("num_ranks 2\nrank 0 {\nrecv 8b from -1\n}\nrank 1 {\nsend 8b to 0\n}\n")
    schedule = hocket.Schedule.load(tmp_path / "any.goal")
    assert schedule.data["ranks"][0][0]["action"]["recv"]["from"] is None
    assert hocket.Schedule.of("any", schedule.data).content == schedule.content
    assert hocket.simulate(schedule).messages == 1


def test_goal_without_a_machine_reduces_in_no_time() -> None:
    schedule = hocket.record("allreduce/ring", CALL)
    assert len(schedule.as_goal()) < len(schedule.as_goal(machine=hocket.Machine.load("cluster")))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("bad.goal", "num_ranks 2\nrank 0 {\nl1: sned 8b to 1\n}\n", r"bad\.goal:3: "),
        ("bad.goal", "", r"bad\.goal"),
        ("bad.json", "{", r"bad\.json:1:1: "),
        ("bad.json", "[]", r"bad\.json"),
    ],
)
def test_a_malformed_file_is_refused_with_its_place(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(hocket.Error, match=message) as refusal:
        hocket.Schedule.load(path)
    assert "\n" not in str(refusal.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(hocket.Error, match=r"none\.goal: No such file or directory"):
        hocket.Schedule.load(tmp_path / "none.goal")
