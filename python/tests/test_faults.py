"""Faults of links, from Python and from the command line."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket
from tests.conftest import Ran

RING = 'name = "ring"\n[network]\nmodel = "links"\ntopology = "torus"\ndims = [4]\nlink_bandwidth = "1 GB/s"\n'
CALL = hocket.Call(ranks=4, size_bytes=4096)
SLOW, LOST = "link 0 -> 1, 0 us.., 50 %", "node 1, 0 us.., down"


@pytest.fixture
def ring(tmp_path: Path) -> str:
    path = tmp_path / "ring.toml"
    path.write_text(RING)
    return str(path)


def test_a_fault_is_the_same_on_the_command_line_and_in_python(hocket_command: Callable[..., Ran], ring: str) -> None:
    machine = hocket.Machine.load(ring)
    plain = hocket.simulate("allreduce/ring", CALL, machine=machine)
    slow = hocket.simulate("allreduce/ring", CALL, machine=machine, faults=SLOW)
    # In each of 6 steps, 1024 B pass the slow link, at 0.5 GB/s.
    assert (plain.time_s.mean, slow.time_s.mean) == (pytest.approx(6 * 1024e-9), pytest.approx(6 * 2048e-9))
    assert (plain.faults, slow.faults, slow.records()[0]["faults"]) == ((), (SLOW,), SLOW)
    line = ["simulate", "allreduce", "ring", "--ranks", "4", "--size", "4096", "--machine", ring]
    told = hocket_command(*line, "--faults", " link 0 ->  1,0 us.., 50 %", "--json").json
    assert told["time_s"]["mean"] == slow.time_s.mean
    both = [*line, "--faults", f"{SLOW}; link 1 -> 2, 0..1 us, 1 %"]
    found = hocket.simulate("allreduce/ring", CALL, machine=machine, faults=[SLOW, "link 1 -> 2, 0..1 us, 1 %"])
    assert hocket_command(*both, "--json").json["time_s"]["mean"] == found.time_s.mean
    assert hocket_command(*both).out.count("fault") == 2


def test_what_cannot_end_is_a_row(hocket_command: Callable[..., Ran], ring: str) -> None:
    compare = ["compare", "allreduce", "--ranks", "4", "--sizes", "64B,4KiB", "--machine", ring]
    some = hocket_command(*compare, "--faults", "link 0 -> 1, 1 us.., down")
    assert "cannot end" in some.out
    assert "loss" in some.out
    found = hocket.compare("allreduce", ranks=4, sizes=[64, 4096], machine=ring, faults="link 0 -> 1, 1 us.., down")
    told = hocket_command(*compare, "--faults", "link 0 -> 1, 1 us.., down", "--json").json
    for size_bytes in (64, 4096):
        losses = found.losses(size_bytes)
        ended = [loss for loss in losses if loss.time_s is not None]
        assert [loss.algorithm for loss in ended] == [loss.algorithm for loss in losses[: len(ended)]]
        assert len(losses) == sum(one.size_bytes == size_bytes for one in found.without_faults)
        assert [one["ratio"] for one in told["losses"] if one["size_bytes"] == size_bytes] == [
            loss.ratio for loss in losses
        ]
    every = hocket_command(*compare, "--faults", LOST)
    assert every.out.count("cannot end:") == every.out.count("from rank")
    assert not hocket.compare("allreduce", ranks=4, sizes=64, machine=ring, faults=LOST).simulations
    (row, *_) = csv.DictReader(hocket_command(*compare, "--faults", SLOW, "--csv").out.splitlines())
    assert float(row["time_mean_s"]) >= float(row["time_without_faults_s"])


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        ("node 9, 0 us.., down", "faults: got node 9, expected numbers from 0 to 3"),
        (["link 0 -> 2, 0 us.., down"], "expected a link of this torus, in which 0 has links to 1, 3"),
        (["node 1"], 'faults: got "node 1", expected a link or a node, its times'),
        (3, "faults: got 3, expected"),
        ([3], "faults: got"),
        (LOST, "cannot end: the message of 1024 B from rank 0 to rank 1 waits for ever, from 0 us on, for link 0 -> 1"),
    ],
)
def test_wrong_faults_are_refused(faults: Any, expected: str, ring: str) -> None:
    with pytest.raises(hocket.Error, match=r"^[^\n]+$") as refused:
        hocket.simulate("allreduce/ring", CALL, machine=ring, faults=faults)
    assert expected in str(refused.value)


def test_a_machine_without_links_has_no_faults(hocket_command: Callable[..., Ran]) -> None:
    refused = hocket_command("simulate allreduce ring --ranks 4 --size 64", "--faults", SLOW)
    assert refused.status == 2
    assert "got the model hockney, expected a machine with links" in refused.err
    unread = hocket_command("simulate allreduce ring --ranks 4 --size 64", "--faults", "link 0, now, down")
    assert unread.status == 2
    assert "--faults: got" in unread.err


@given(
    st.one_of(
        st.text(max_size=40),
        st.tuples(
            st.sampled_from(["link 0 -> 1", "link 0 <-> (1)", "node 3", "node", "link ->", ""]),
            st.sampled_from(["20..80 us", "20 us..", "80..20 us", "..", "1e9 s..", "-1 us.."]),
            st.sampled_from(["down", "10 %", "0 %", "101%", "nan %", "up", ""]),
        ).map(", ".join),
    )
)
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    machine = hocket.Machine.parse(RING)
    try:
        hocket.simulate("barrier/dissemination", hocket.Call(ranks=4, size_bytes=0), machine=machine, faults=text)
    except hocket.Error as error:
        assert "\n" not in str(error)
        assert str(error).startswith(("faults: ", "cannot end: "))


def test_faults_are_an_axis_of_sweeps(tmp_path: Path, ring: str) -> None:
    spec = tmp_path / "grid.toml"
    spec.write_text(
        f'collective = "allreduce"\nranks = 4\nsizes = 4096\nmachine = "{ring}"\n'
        f'faults = ["", "{SLOW}", "{SLOW}; node 2, 1..9 us, 10 %", "{LOST}"]\n[algorithms.ring]\n'
    )
    rows = hocket.sweep(hocket.Grid.load(str(spec))).rows
    assert [row.faults for row in rows] == ["", SLOW, f"{SLOW}; node 2, 1..9 us, 10 %", LOST]
    times_s = [row.time_mean_s for row in rows[:3]]
    assert times_s[0] < times_s[1] < times_s[2]
    assert rows[3].refusal.startswith("cannot end: ")
    spec.write_text(spec.read_text().replace("1..9 us", "9..1 us"))
    with pytest.raises(hocket.Error, match=r"faults: .*expected a link or a node"):
        hocket.Grid.load(str(spec))


def test_pictures_name_the_scene(hocket_command: Callable[..., Ran], tmp_path: Path, ring: str) -> None:
    for sizes in ("8B,4KiB", "4KiB"):
        line = [f"compare allreduce ring --ranks 4 --sizes {sizes} --machine", ring, "--plot", tmp_path / "p.svg"]
        for options in (["--faults", SLOW], ["--faults", SLOW, "--arrivals", "one rank, 0..5 us"]):
            assert hocket_command(*line, *options).status == 0
            words = (tmp_path / "p.svg").read_text().replace("&gt;", ">")
            assert all(text in words for text in options[1::2]), sizes
    line = ["simulate allreduce ring --ranks 4 --size 4KiB --machine", ring, "--plot", tmp_path / "p.svg"]
    assert hocket_command(*line, "--faults", SLOW, "--cadence", "2 calls").status == 0
    words = (tmp_path / "p.svg").read_text().replace("&gt;", ">")
    assert f"fault: {SLOW}" in words and "cadence: 2 calls" in words


def test_where_nothing_can_end_there_is_one_line(hocket_command: Callable[..., Ran], tmp_path: Path, ring: str) -> None:
    line = ["compare allreduce ring --ranks 4 --sizes 8B,4KiB --machine", ring, "--faults", LOST]
    for late in ([], ["--arrivals", "one rank, 0..5 us"]):
        found = hocket_command(*line, *late, "--plot", tmp_path / "none.svg")
        assert (found.status, found.err.count("\n")) == (2, 1) and "nothing to draw" in found.err
    words = ["report", tmp_path / "none.html", *line[0].split()[1:], *line[1:]]
    told = hocket_command(*words, "--verify-ranks", "1-3")
    assert told.status in (0, 2) and "Traceback" not in told.err


def test_faults_are_part_of_a_scene(hocket_command: Callable[..., Ran], tmp_path: Path, ring: str) -> None:
    line = ["simulate allreduce ring --ranks 4 --size 4096 --machine", ring, "--json"]
    scene = tmp_path / "scene.toml"
    for text, faults in (
        (f'"{SLOW}"', [SLOW]),
        (f'["{SLOW}", "node 2, 1..9 us, 10 %"]', [SLOW, "node 2, 1..9 us, 10 %"]),
    ):
        scene.write_text(f'arrivals = "rank 1, 2 us"\nfaults = {text}\n')
        options = ["--faults", "; ".join(faults)]
        told = hocket_command(*line, "--scene", scene).json
        assert told == hocket_command(*line, "--arrivals", "rank 1, 2 us", *options).json
        assert told["faults"] == faults
        compared = hocket.compare("allreduce/ring", ranks=4, sizes=4096, machine=ring, scene=str(scene))
        assert compared.times_s[4096, "ring"] == told["time_s"]["mean"]
        assert compared.without_faults[0].arrivals == "rank 1, 2 us"
    refused = hocket_command(*line, "--scene", scene, "--faults", SLOW)
    assert (refused.status, refused.err) == (
        2,
        "hocket: error: --faults: expected none, as the file of --scene has faults\n",
    )
    for text in ("faults = 3", "faults = [3]", 'faults = "node 1"'):
        with pytest.raises(hocket.Error, match=r"^scene:1: faults: got (3|.node 1.), expected a (text|link)"):
            hocket.Scene.parse(text)


def test_faults_of_a_cadence_count_from_its_first_call(ring: str) -> None:
    # A call takes 6 steps of 1024 B; the link is slow during the second call only.
    call_s = 6 * 1024e-9
    slow = "link 0 -> 1, 6.144..18.432 us, 50 %"
    found = hocket.simulate("allreduce/ring", CALL, machine=ring, cadence="3 calls", faults=slow)
    assert found.repeated is not None
    assert found.repeated.calls_s == pytest.approx([call_s, 2 * call_s, call_s])
    assert found.repeated.isolated_s.mean == pytest.approx(call_s)
    imb = hocket.simulate("allreduce/ring", CALL, machine=ring, measured_as="imb", faults=SLOW)
    assert imb.time_s.mean == pytest.approx(2 * call_s)


def test_jobs_at_once_have_faults_together_and_alone(hocket_command: Callable[..., Ran], ring: str) -> None:
    jobs = ["allreduce ring 4KiB, 4 ranks"]
    found = hocket.simulate_together(jobs, machine=ring, faults=SLOW)
    slow_s = hocket.simulate("allreduce/ring", CALL, machine=ring, faults=SLOW).time_s.mean
    assert (found.faults, found.jobs[0].time_s.mean, found.jobs[0].alone_s.mean) == ((SLOW,), slow_s, slow_s)
    assert hocket_command("together", *jobs, "--machine", ring, "--faults", SLOW, "--json").json["faults"] == [SLOW]
    assert f"fault: {SLOW}" in hocket_command("together", *jobs, "--machine", ring, "--faults", SLOW).out
    lost = hocket_command("together", *jobs, "--machine", ring, "--faults", LOST)
    assert (lost.status, "cannot end: " in lost.err) == (2, True)
