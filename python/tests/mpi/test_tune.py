"""`hocket tune` under real MPIs: rules that the library accepts, and resumed measurements."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hocket.definitions.library import COLLECTIVES_OF_KNOWN_SIZE, algorithms
from hocket.mpi import Installation
from hocket.mpi.turns import Turns
from hocket.tuning.candidates import candidates, of_any_machine
from hocket.tuning.choice import DEFAULT, Point
from hocket.tuning.guidelines import compositions
from hocket.tuning.measuring import own_choices, ways_of
from tests.conftest import Ran

from .conftest import Mpi

pytestmark = pytest.mark.usefixtures("as_root")


def line(mpi: Mpi, words: str) -> str:
    return f"tune --mpicc {mpi.installation.mpicc} {words} -o"


def test_rules_are_decided_from_measurements(mpi: Mpi, hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    words = line(mpi, "barrier broadcast -n 2 --sizes 8B,2KiB --time-limit 1s")
    found = hocket_command(words, tmp_path, "--json").json
    assert found["mpi"] == mpi.installation.library and found["points"] + found["left_out"] >= 3
    header, *points = map(json.loads, (tmp_path / "measurements.jsonl").read_text().splitlines())
    assert header["mpi"] == found["mpi"]
    sizes = [(one["collective"], one["size_bytes"]) for one in points]
    asked = [("barrier", 0), ("broadcast", 8), ("broadcast", 2048)]
    assert sizes[: len(asked) - found["left_out"]] == asked[: len(asked) - found["left_out"]]
    for one in points:
        assert DEFAULT.as_dict() in [{key: each[key] for key in DEFAULT.as_dict()} for each in one["choices"]]
        assert all(0 <= each["low_s"] <= each["median_s"] for each in one["choices"])
    program = mpi.compiled("traced.c")
    ran = mpi.run(
        2, [program], [rule for rule in (tmp_path / "hocket.rules").read_text().splitlines() if rule[0] != "#"]
    )
    assert ran.status == 0, ran.errors
    before = (tmp_path / "measurements.jsonl").read_bytes()
    hocket_command(words.replace("1s", "0s"), tmp_path)
    assert (tmp_path / "measurements.jsonl").read_bytes().startswith(before)


def test_with_a_fixed_order_only_choices_that_have_one_are_measured(
    mpi: Mpi, hocket_command: Callable[..., Ran], tmp_path: Path
) -> None:
    words = line(mpi, "allreduce broadcast -n 3 --sizes 8B,64KiB --time-limit 2s --order fixed")
    found = hocket_command(words, tmp_path, "--json").json
    assert found["order"] == "fixed" and found["points"] + found["left_out"] >= 4
    fixed = {each.name for each in algorithms("allreduce") if each.order} | {"native"}
    points = map(json.loads, (tmp_path / "measurements.jsonl").read_text().splitlines()[1:])
    measured = [{each["name"] for each in one["choices"]} for one in points if one["collective"] == "allreduce"]
    assert measured and all({"native", "linear"} <= names <= fixed for names in measured)
    rules = tmp_path / "hocket.rules"
    assert "order = fixed\nallreduce[ranks=3" in rules.read_text()
    assert hocket_command("rules lint", rules).out.startswith("ok: ")
    judged = [one for one in found["held_out"] if one["collective"] == "allreduce"]
    assert found["worst_order_over_default"] == max((one["time_s"] / one["default_s"] for one in judged), default=None)
    assert not judged or "## What the fixed order costs" in (tmp_path / "report.md").read_text()


def test_a_machine_says_what_need_not_be_measured(mpi: Mpi, hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    words = line(mpi, "allgather -n 4 --sizes 64KiB --time-limit 0s --machine cluster --factor 1.2")
    found = hocket_command(words, tmp_path, "--json").json
    assert found["machine"] == "cluster" and found["factor"] == 1.2
    (point,) = map(json.loads, (tmp_path / "measurements.jsonl").read_text().splitlines()[1:])
    assert any("the machine predicts" in one["reason"] for one in point["not_measured"])
    assert any(one["predicted_s"] for one in point["choices"])
    assert "machine says" in (tmp_path / "report.md").read_text()


def test_every_way_runs_and_is_right(mpi: Mpi) -> None:
    with Turns(mpi.installation, 3) as turns:
        for collective in ("allreduce", "barrier"):
            check(turns, mpi.installation, collective, 3)


@pytest.mark.real_mpi
@pytest.mark.parametrize("ranks", [2, 5])
@pytest.mark.parametrize("collective", COLLECTIVES_OF_KNOWN_SIZE)
def test_every_way_of_every_collective_runs_and_is_right(mpi: Mpi, collective: str, ranks: int) -> None:
    with Turns(mpi.installation, ranks) as turns:
        check(turns, mpi.installation, collective, ranks)


def test_defaults_are_checked_against_guidelines(mpi: Mpi, hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    words = line(mpi, "allreduce scan -n 2 --sizes 8B,1KiB --time-limit 2s --check")
    found = hocket_command(words, tmp_path, "--json").json
    assert found["calls"] + found["left_out"] == 4 and not (tmp_path / "hocket.rules").exists()
    points = list(map(json.loads, (tmp_path / "guidelines.jsonl").read_text().splitlines()[1:]))
    names = {each["name"] for one in points for each in one["choices"] if each["owner"] == "composition"}
    expected = {"reduce + broadcast", "reduce_scatter + allgather", "exscan + reduce_local"}
    assert names == expected or (found["left_out"] and names < expected)


def test_a_check_needs_no_folder(mpi: Mpi, hocket_command: Callable[..., Ran]) -> None:
    words = f"tune --mpicc {mpi.installation.mpicc} allreduce -n 2 --sizes 8B --time-limit 0s --check --json"
    found = hocket_command(words).json
    assert (found["calls"], found["left_out"], found["folder"]) == (1, 0, None)


def test_compositions_do_what_their_collectives_do(mpi: Mpi) -> None:
    with Turns(mpi.installation, 3) as turns:
        for collective in COLLECTIVES_OF_KNOWN_SIZE:
            point = Point(collective, 3, 0 if collective == "barrier" else 240)
            numbers = {choice: number for number, choice in enumerate(compositions(collective))}
            assert turns.begin(collective, point.size_bytes, ways_of(point, numbers)) == {}, collective


ORDERS = """
import signal, sys, time
from hocket.mpi import Installation
from hocket.mpi.turns import Turns
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the tests run in the background, which ignores it
with Turns(Installation.find(sys.argv[1]), 2) as turns:
    turns.variables()
    print("ready", flush=True)
    time.sleep(60)
"""


def processes_for(orderer: int) -> list[str]:
    """Return the command lines of a job that measures for a process, and of its launcher."""
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().split(b"\0")
        except OSError:
            continue  # the process has ended
        if words[-2:-1] == [str(orderer).encode()] and any(word.endswith(b"/hocket-tune") for word in words):
            lines.append(b" ".join(words).decode())
    return lines


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_the_program_ends_with_the_process_that_gives_orders(mpi: Mpi, sign: signal.Signals) -> None:
    line = [sys.executable, "-c", ORDERS, str(mpi.installation.mpicc)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as orderer:
        assert orderer.stdout is not None and orderer.stdout.readline() == "ready\n"
        assert len(processes_for(orderer.pid)) >= 3
        os.kill(orderer.pid, sign)
        end_s = time.monotonic() + 30
        while processes_for(orderer.pid) and time.monotonic() < end_s:
            time.sleep(0.1)  # the process stays a zombie meanwhile
        assert processes_for(orderer.pid) == []


def check(turns: Turns, installation: Installation, collective: str, ranks: int) -> None:
    point = Point(collective, ranks, 0 if collective == "barrier" else 1920 * ranks)
    own = own_choices(turns.variables(), point)
    choices = [DEFAULT, *candidates(of_any_machine(point), point), *own]
    refused = turns.begin(collective, point.size_bytes, ways_of(point, {c: n for n, c in enumerate(choices)}))
    assert not [choices[number] for number in refused if choices[number].owner != "mpi"]
    taken = [number for number in range(len(choices)) if number not in refused]
    samples_s = turns.rounds(2, taken)
    lists_none = "MPICH Version:\t4.0" in installation.library or installation.product == "intelmpi"
    assert bool(own) != lists_none
    assert samples_s.keys() == set(taken)
    assert all(len(samples) == 2 and min(samples) > 0 for samples in samples_s.values())
