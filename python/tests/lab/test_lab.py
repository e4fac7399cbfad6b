"""Labs: real MPI programs over links with the bandwidth of the machine, which carry the bytes of the simulation."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hocket import Call, simulate
from hocket.definitions.machine import Machine
from hocket.mpi import Installation
from hocket_lab import building
from hocket_lab.laboratory import Lab, labs, temporary
from tests.conftest import Ran

from .conftest import STAR, TORUS, text

COMPARE = "lab compare {collective} {names} -n {ranks} --lab {machine} --size {size} --time-limit 0s --mpicc {mpicc}"


CARDS = """name = "two-cards"
[network]
model = "links"
topology = "crossbar"
nodes = 2
ranks_per_node = 4
link_bandwidth = "5 MB/s"
link_latency = "30 us"
sharing = "fair"
[network.local]
L = "20 us"
o = "20 us"
G = "1 ns/B"
[node]
ports = 8
software_latency = "50 us"
[node.cards]
count = 2
bandwidth = "2.5 MB/s"
"""

BEFORE = set(labs())


def left() -> set[str]:
    """The names of labs that tests have left behind, even in part."""
    return set(labs()) - BEFORE


def compared(
    hocket_command: Callable[..., Ran],
    installation: Installation,
    machine: Path,
    collective: str,
    ranks: int,
    names: str,
    more: str = "",
) -> Ran:
    words = COMPARE.format(
        collective=collective, names=names, ranks=ranks, machine=machine, size="32KiB", mpicc=installation.mpicc
    )
    found = hocket_command(f"{words} {more}")
    assert not left()
    return found


def words_of_chain(machine: Path, installation: Installation) -> list[str]:
    """The command for 256 KiB along a chain of 8 ranks."""
    mpicc = installation.mpicc
    return COMPARE.format(
        collective="broadcast", names="chain", ranks=8, machine=machine, size="256KiB", mpicc=mpicc
    ).split()


@pytest.mark.mpi
@pytest.mark.usefixtures("can_build")
@pytest.mark.parametrize(("topology", "ranks"), [(TORUS, 9), (STAR, 8)], ids=["torus", "star"])
def test_links_carry_the_bytes_of_the_simulator(
    tmp_path: Path, hocket_command: Callable[..., Ran], installation: Installation, topology: str, ranks: int
) -> None:
    machine = tmp_path / "machine.toml"
    machine.write_text(text(topology))
    for collective, names in (("allreduce", "ring recursive_doubling"), ("alltoall", "pairwise_exchange")):
        found = compared(hocket_command, installation, machine, collective, ranks, names, "--json").json
        assert [point["algorithm"] for point in found["points"]] == names.split()
        for link in found["links"]:
            assert link["dropped_packets"] == 0
            # The difference is MPI's headers and the barriers between samples.
            assert 0 <= link["measured_bytes"] - link["simulated_bytes"] <= 0.05 * link["simulated_bytes"] + 30_000
        for point in found["points"]:
            if point["algorithm"] == "ring":  # each step waits for the previous one
                assert point["measured_s"] > 0.9 * point["simulated_s"], "faster than its links"


@pytest.mark.real_mpi
@pytest.mark.mpi
@pytest.mark.usefixtures("can_build")
def test_a_table_a_picture_and_times_of_the_machine(
    tmp_path: Path, hocket_command: Callable[..., Ran], installation: Installation, torus: Path
) -> None:
    torus.write_text(text(TORUS, bandwidth="5 GB/s"))
    picture = tmp_path / "a.png"
    more = f"--scale 1/1000 --plot {picture}"
    found = compared(hocket_command, installation, torus, "allreduce", 9, "ring", more)
    assert found.status == 0
    assert "18 cables of 40 Mbit/s each way, shared fairly, scale 1/1000" in found.out
    # 16 steps of 32 KiB / 9, over one or two links of 5 GB/s.
    assert " us" in found.out and " ms" not in found.out
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.real_mpi
@pytest.mark.mpi
@pytest.mark.usefixtures("can_build")
def test_a_scene_is_measured_and_simulated(
    hocket_command: Callable[..., Ran], installation: Installation, star: Path
) -> None:
    words = words_of_chain(star, installation)
    late = hocket_command(*words, "--arrivals", "rank 7, 1 s", "--json").json
    (point,) = late["points"]
    # All ranks but the last have all bytes when it comes. It takes them over one link of 5 MB/s, which takes 52 ms.
    assert point["simulated_s"] == pytest.approx(0.052, rel=0.2)
    # TCP takes in some of them before the rank has come.
    assert 0.02 < point["measured_s"] < 0.2
    steady = hocket_command(*words, "--cadence", "4 calls, every 300 ms", "--json").json
    (point,) = steady["points"]
    assert point["simulated_interval_s"] == pytest.approx(0.3)
    assert point["measured_interval_s"] == pytest.approx(0.3, rel=0.2)
    for link in steady["links"]:
        assert 0 <= link["measured_bytes"] - link["simulated_bytes"] <= 0.05 * link["simulated_bytes"] + 30_000
    refused = hocket_command(*words, "--cadence", "4 calls", "--scale", "1/2")
    assert refused.status == 2 and "got scale 1/2, expected 1, as the times of a scene" in refused.err
    assert not left()


@pytest.mark.real_mpi
@pytest.mark.mpi
@pytest.mark.usefixtures("can_build")
def test_a_link_is_slow_or_down_during_a_call(
    hocket_command: Callable[..., Ran], installation: Installation, star: Path
) -> None:
    words = words_of_chain(star, installation)
    # Without faults, the segments pass the chain in 131 ms; the second link takes 52 ms for all of them.
    for fault, more_s in (("link 1 -> 8, 30..330 ms, down", 0.3), ("link 1 -> 8, 0 ms.., 20 %", 0.25)):
        found = hocket_command(*words, "--faults", fault, "--json").json
        (point,) = found["points"]
        assert point["simulated_s"] == pytest.approx(0.131 + more_s, rel=0.2)
        assert point["measured_s"] > 0.85 * point["simulated_s"], "the link carries on"
        assert found["faults"] == [fault]
        assert (found["faults_late_s"] > 0) == ("0 ms.." not in fault), "only a change after the start can be late"
        for link in found["links"]:
            assert link["dropped_packets"] == 0
    # Nobody needs the link from the last rank: the end of a sample is told although it is down.
    unused = hocket_command(*words, "--faults", "link 7 -> 8, 0 ms.., down")
    assert "fault: link 7 -> 8, 0 ms.., down" in unused.out
    ended = hocket_command(*words, "--faults", "link 1 -> 8, 0 ms.., down")
    assert ended.status == 2 and "waits for ever" in ended.err
    assert not left()


@pytest.mark.real_mpi
@pytest.mark.mpi
@pytest.mark.usefixtures("can_build")
def test_jobs_at_once_meet_on_the_links_of_the_simulator(
    tmp_path: Path, hocket_command: Callable[..., Ran], installation: Installation
) -> None:
    machine = tmp_path / "tree.toml"
    machine.write_text(text('topology = "fat_tree"\ndown = [2, 2]\nup = [1, 1]').replace("rendezvous", "eager"))
    command = f"lab together --lab {machine} --time-limit 0s --mpicc {installation.mpicc}".split()
    jobs = ["broadcast linear 256KiB, 2 ranks, nodes 0 2", "alltoall pairwise_exchange 128KiB, 2 ranks, nodes 1 3"]
    found = hocket_command(*command, *jobs, "--json").json
    first, second = found["jobs"]
    assert [first["job"], second["job"]] == jobs
    # Both send over the only link between the switches, where 256 KiB take 52 ms and 128 KiB 26 ms.
    for job, alone_s, together_s in ((first, 0.052, 0.079), (second, 0.026, 0.052)):
        for what, expected_s in (("alone", alone_s), ("together", together_s)):
            assert job[what]["simulated_s"] == pytest.approx(expected_s, rel=0.1)
        assert job["together"]["measured_s"] > 1.3 * job["alone"]["measured_s"], "they wait for each other"
    for wrong, expected in (
        ("neighbor_allgather linear 1KiB, 4 ranks", "neighbourhood collectives are not measured"),
        ("allreduce ring 1KiB, 1 rank", "got calls of 1 rank, expected 2 or more"),
    ):
        refused = hocket_command(*command, wrong)
        assert refused.status == 2 and refused.err.count("\n") == 1 and expected in refused.err
    rows = "allreduce ring 8KiB, rows of 2x2, 3 calls, every 20 ms, 2 at a time"
    told = hocket_command(*command, rows, "--faults", "node 0, 5..45 ms, down").out
    assert "allreduce ring" in told and "fault: node 0, 5..45 ms, down" in told and "slowdown" in told
    odd = hocket_command(*command, "allreduce ring 9B, 2 ranks")
    assert odd.status == 2 and "got 9 B, expected multiples of 8 B" in odd.err
    scaled = hocket_command(*command, "allreduce ring 8B, 2 ranks, 4 calls", "--scale", "1/2")
    assert scaled.status == 2 and "got scale 1/2, expected 1, as the times of a scene" in scaled.err
    assert not left()


SHARED = '[network.local]\nL = "5 us"\no = "2 us"\ng = "0 us"\nG = "0.5 ns"\n'


@pytest.mark.mpi
@pytest.mark.usefixtures("can_build")
@pytest.mark.parametrize(("nodes", "ranks_per_node"), [(4, 2), (8, 1)])
def test_groups_are_the_nodes_of_the_lab(
    tmp_path: Path, hocket_command: Callable[..., Ran], installation: Installation, nodes: int, ranks_per_node: int
) -> None:
    machine = tmp_path / "nodes.toml"
    own = f"ranks_per_node = {ranks_per_node}" if ranks_per_node > 1 else ""
    machine.write_text(text(f'topology = "crossbar"\nnodes = {nodes}', own) + (SHARED if own else ""))
    found = compared(hocket_command, installation, machine, "allreduce", 8, "hierarchical ring", "--json").json
    for point in found["points"]:
        assert point["measured_s"] > 0.85 * point["simulated_s"], "other groups than the simulated ones"


@pytest.mark.mpi
@pytest.mark.usefixtures("can_build")
def test_ranks_of_a_node_need_costs_of_their_messages(
    tmp_path: Path, hocket_command: Callable[..., Ran], installation: Installation
) -> None:
    machine = tmp_path / "nodes.toml"
    machine.write_text(text(STAR, "ranks_per_node = 2"))
    refused = compared(hocket_command, installation, machine, "allreduce", 8, "ring")
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert "got ranks_per_node 2 without [network.local], expected the cost" in refused.err


@pytest.mark.real_mpi
@pytest.mark.mpi
@pytest.mark.usefixtures("can_build")
@pytest.mark.parametrize("keys", ["", 'of_rank = "round_robin"\n', 'stripe_from = "64 KiB"\n'])
def test_ranks_use_the_cards_that_the_machine_says(
    tmp_path: Path, hocket_command: Callable[..., Ran], installation: Installation, keys: str
) -> None:
    machine = tmp_path / "cards.toml"
    machine.write_text(CARDS + keys)
    words = f"lab compare allreduce ring recursive_doubling -n 8 --lab {machine} --size 1MiB --time-limit 0s --json"
    found = hocket_command(f"{words} --mpicc {installation.mpicc}")
    if installation.product != "openmpi":
        assert (found.status, found.err.count("\n")) == (2, 1)
        assert "got a lab of nodes with 2 cards, expected Open MPI for these" in found.err
        return
    for point in found.json["points"]:
        assert 0.95 < point["measured_s"] / point["simulated_s"] < 1.15, point
    assert not left()


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"5 MB/s"', '"4 MB/s"', "expected for a lab a crossbar whose link_bandwidth is at least the bandwidth of all"),
        ('"crossbar"\nnodes = 2', '"torus"\ndims = [2]', "expected for a lab a crossbar"),
        (
            "count = 2",
            'count = 2\nstripe_from = "1 MiB"',
            'expected "64 KiB" in a lab, from which Open MPI cuts messages',
        ),
        ("ranks_per_node = 4", "ranks_per_node = 3", "got 2 cards and ranks_per_node 3, expected as many ranks for"),
    ],
)
def test_cards_that_a_lab_cannot_have(
    tmp_path: Path, bad_input: Callable[..., str], old: str, new: str, why: str
) -> None:
    machine = tmp_path / "cards.toml"
    machine.write_text(CARDS.replace(old, new))
    assert why in bad_input(f"lab up {machine} --name none")


@pytest.mark.mpi
@pytest.mark.usefixtures("can_build")
def test_algorithms_that_the_machine_does_not_suit_are_left_out(
    hocket_command: Callable[..., Ran], installation: Installation, star: Path
) -> None:
    found = compared(hocket_command, installation, star, "allreduce", 8, "ring torus_bucket", "--json")
    assert [point["algorithm"] for point in found.json["points"]] == ["ring"]
    ((name, why),) = found.json["not_measured"]
    assert name == "torus_bucket" and "but machine small is a crossbar" in why
    only = compared(hocket_command, installation, star, "allreduce", 8, "torus_bucket")
    assert (only.status, only.out) == (2, "") and why in only.err


@pytest.mark.real_mpi
@pytest.mark.usefixtures("can_build")
def test_a_calibration_finds_the_bandwidth_of_the_links(
    tmp_path: Path, hocket_command: Callable[..., Ran], installation: Installation
) -> None:
    star, found = tmp_path / "star.toml", tmp_path / "found.toml"
    star.write_text(text(STAR, bandwidth="12.5 MB/s"))
    words = f"mpi calibrate -n 2 --lab {star} --time-limit 0s --mpicc {installation.mpicc} -o {found}"
    assert hocket_command(words).status == 0
    assert not left()
    machine = Machine.load(str(found))
    size_bytes = 192 * 1024  # much more than the 5 KB that a shaper passes at once
    send = simulate("broadcast/linear", Call(ranks=2, size_bytes=size_bytes), machine=machine)
    assert 0.8 < send.time_s.mean * 12.5e6 / size_bytes < 1.5


@pytest.mark.real_mpi
@pytest.mark.mpi
def test_a_program_runs_in_a_lab_that_is_up(
    tmp_path: Path, hocket_command: Callable[..., Ran], installation: Installation, torus: Path, names: list[str]
) -> None:
    first, second = names
    assert hocket_command(f"lab up {torus} --name {first}").out.startswith(f"lab {first}: small, 9 nodes, 18 cables")
    assert hocket_command(f"lab up {torus} --name {second}").status == 0
    again = hocket_command(f"lab up {torus} --name {first}")
    assert (again.status, again.err) == (
        2,
        f"hocket: error: lab {first}: exists already, at least in part; hocket lab down {first} removes it\n",
    )
    script = tmp_path / "host.sh"
    script.write_text(f'#!/bin/sh\nhostname > {tmp_path}/of-$(hostname)\n[ "$(hostname)" != node8 ]\n')
    script.chmod(0o755)
    run = [sys.executable, "-m", "hocket", "mpi", "run", "-n", "9", "--lab", first]
    run += ["--mpicc", str(installation.mpicc), "--", str(script)]
    ran = subprocess.run(run, capture_output=True, text=True, timeout=100, check=False)
    assert ran.returncode == 1, ran.stderr
    assert sorted(file.name for file in tmp_path.glob("of-*")) == [f"of-node{node}" for node in range(9)]
    status = {lab["name"]: lab for lab in hocket_command("lab status --json").json}
    assert status[first]["processes"] == 0 and status[second]["what"].startswith("small, 9 nodes")
    assert hocket_command(f"lab down {first}").out == f"lab {first}: removed\n"
    assert left() == {second}


@pytest.mark.usefixtures("can_build")
def test_streams_keep_links_busy_whatever_the_host_is_set_to() -> None:
    netns = pytest.importorskip("pyroute2").netns
    with temporary(Machine.parse(text(STAR))) as lab:
        netns.pushns(building.vertex_namespace(lab.name, 0))
        try:
            settings = Path("/proc/sys/net/ipv4")
            found = [(settings / name).read_text().strip() for name in ("tcp_congestion_control", "tcp_sack")]
        finally:
            netns.popns()
    assert found == ["reno", "0"]


@pytest.mark.usefixtures("can_build")
@pytest.mark.parametrize("sharing", ["fair", "queue"])
def test_pairs_of_nodes_have_queues_of_their_own_where_sharing_is_fair(sharing: str) -> None:
    pyroute2 = pytest.importorskip("pyroute2")
    machine = text(STAR).replace('sharing = "fair"', f'sharing = "{sharing}"')
    with temporary(Machine.parse(machine)) as lab, building.datagrams(lab.name, 0) as sender:
        for _ in range(3):
            sender.sendto(bytes(1000), (building.data_address(5), 9))
        for vertex, cable, pairs in (
            (0, 0, [(0, node) for node in range(1, 8)]),
            (8, 5, [(node, 5) for node in range(8) if node != 5]),
        ):
            with pyroute2.NetNS(building.vertex_namespace(lab.name, vertex)) as ns:
                index = ns.link_lookup(ifname=f"c{cable}")[0]
                sent = {each["handle"]: packets_of(each) for each in ns.get_classes(index)}
            assert sent[building.DATA_CLASS] == 3
            queues = [sent[handle] for handle in sorted(sent) if handle > building.DATA_QUEUES]
            assert queues == ([3 * (pair == (0, 5)) for pair in pairs] if sharing == "fair" else [])


def packets_of(traffic_class: Any) -> int:
    return int(traffic_class.get_attr("TCA_STATS2").get_attr("TCA_STATS_BASIC")["packets"])


def test_a_command_ends_when_an_interface_goes_down(
    hocket_command: Callable[..., Ran], installation: Installation, star: Path, names: list[str]
) -> None:
    name = names[0]
    hocket_command(f"lab up {star} --name {name}")
    line = [sys.executable, "-m", "hocket", "mpi", "run", "-n", "8", "--lab", name]
    job = subprocess.Popen(
        [*line, "--mpicc", str(installation.mpicc), "--", "sleep", "1000"], stderr=subprocess.PIPE, text=True
    )
    end = time.monotonic() + 60
    while len(building.processes(name)) < 16:  # a proxy and a sleep per node
        assert time.monotonic() < end and job.poll() is None
        time.sleep(0.1)
    netns = pytest.importorskip("pyroute2").NetNS
    with netns(building.vertex_namespace(name, 3)) as ns:
        ns.link("set", index=ns.link_lookup(ifname="c3")[0], state="down")
    _, said = job.communicate(timeout=30)
    assert job.returncode == 2 and not building.processes(name)
    assert said.splitlines()[-1] == (
        f"hocket: error: lab {name}: interface c3 of node 3 is down, expected all interfaces up"
    )


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_nothing_is_left_of_a_command_that_is_ended(
    hocket_command: Callable[..., Ran], installation: Installation, torus: Path, names: list[str], kind: signal.Signals
) -> None:
    line = [sys.executable, "-m", "hocket", "mpi", "run", "-n", "9", "--lab", str(torus)]
    job = subprocess.Popen([*line, "--mpicc", str(installation.mpicc), "--", "sleep", "1000"])
    lab = f"of-{job.pid}"
    end = time.monotonic() + 60
    while len(building.processes(lab)) < 18:  # a proxy and a sleep per node
        assert time.monotonic() < end and job.poll() is None
        time.sleep(0.1)
    job.send_signal(kind)
    job.wait(30)
    if kind == signal.SIGKILL:
        assert lab in left()
        hocket_command(f"lab down {lab}")
    assert lab not in left() and not building.processes(lab)


@pytest.mark.usefixtures("can_build")
def test_a_lab_is_up_once_it_is_whole(hocket_command: Callable[..., Ran], names: list[str], torus: Path) -> None:
    name, seen = names[0], []

    def interrupt() -> None:
        seen.extend(lab["what"] for lab in hocket_command("lab status --json").json if lab["name"] == name)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Lab.up(name, Machine.load(torus), on_done=interrupt)
    assert seen == ["parts of an incomplete lab; hocket lab down removes them"]
    assert name not in left()


def test_bad_input_builds_nothing(
    bad_input: Callable[..., str],
    installation: Installation,
    names: list[str],
    torus: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = names[0]
    assert bad_input(f"lab up cluster --name {name}").endswith(
        "has no links, expected the network model links, packets or circuits"
    )
    assert "for example with --scale 1/1000" in bad_input(f"lab up k_computer --name {name}")
    assert "--scale: got" in bad_input(f"lab up {torus} --name {name} --scale 2")
    assert "--scale: got" in bad_input(f"lab up {torus} --name {name} --scale 1/0")
    for bad in ("a/b", "..", "-", "--all", "a" * 41):
        assert "--name: got" in bad_input(f"lab up {torus} --name={bad}")
    run = f"mpi run --mpicc {installation.mpicc}"
    assert f"lab {name}: is not up" in bad_input(f"{run} -n 2 --lab {name} -- true")
    assert f"lab {name}: is not up" in bad_input(f"lab down {name}")
    compare = f"lab compare allreduce --size 8B -n 2 --mpicc {installation.mpicc}"
    assert "has its own scale, expected a machine file" in bad_input(f"{compare} --lab {name} --scale 1/2")
    bench = f"mpi bench allreduce --size 8B -n 2 --mpicc {installation.mpicc}"
    assert "--hosts: cannot be combined with --lab" in bad_input(f"{bench} --lab {name} --hosts a,b")
    tapered = torus.with_name("tapered.toml")
    tapered.write_text(text(TORUS).replace('"5 MB/s"', '["5 MB/s", "2 MB/s"]'))
    assert "link_bandwidth: got a list, expected one rate" in bad_input(f"lab up {tapered} --name {name}")
    assert "expected at least 1000 B/s" in bad_input(f"lab up {torus} --name {name} --scale 1/1000000")
    assert "expected at least 1000 B/s" in bad_input(f"{compare} --lab {torus} --scale 1e-400")
    assert "got rank 9, expected a rank below 9" in bad_input(f"{run} -n 10 --lab {torus} -- true")
    assert "no program, expected a program after --" in bad_input(f"{run} -n 9 --lab {torus}")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert bad_input(f"lab up {torus} --name {name}") == "hocket lab: needs root to create network namespaces"
    assert not left()


@pytest.mark.mpi
@pytest.mark.usefixtures("can_build")
def test_three_ways_to_tune_are_judged(
    hocket_command: Callable[..., Ran], installation: Installation, star: Path
) -> None:
    line = f"lab tune scan -n 3 --sizes 8B,1KiB --time-limit 0.1s --lab {star} --mpicc {installation.mpicc} --json"
    found = hocket_command(line).json
    assert [way["way"] for way in found["ways"]] == ["simulation", "measurement", "both"]
    assert all(0 <= way["median_regret"] <= way["ninth_regret"] <= way["worst_regret"] for way in found["ways"])
    assert all(way["points"] == 2 and way["cost_s"] > 0 for way in found["ways"])
    for point in found["points"]:
        assert len(point["times_s"]) == len({str(choice) for choice in point["choices"].values()})
