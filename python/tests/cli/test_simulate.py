"""`hocket simulate`."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import hocket
from hocket.words.simulations import formula
from tests.conftest import Ran

LINE = "simulate allreduce recursive_doubling --ranks 1024 --size 8B"


def test_json_has_the_keys_that_other_tools_rely_on(hocket_command: Callable[..., Ran]) -> None:
    found = hocket_command(f"{LINE} --machine cluster --json").json
    assert {
        "collective": "allreduce",
        "algorithm": "recursive_doubling",
        "ranks": 1024,
        "size_bytes": 8,
        "machine": "cluster",
        "seed": 0,
        "trials": 1,
        "messages": 10240,
        "message_bytes": 81920,
        "formula_is_exact": True,
        "formula_is_bound": True,
        "parameters": {},
        "version": hocket.__version__,
    }.items() <= found.items()
    time_s = 10 * (1e-6 + 8e-10 + 8e-10)  # log2 P (alpha + n beta + n gamma)
    assert {name: found["time_s"][name] for name in ("mean", "min", "max", "stderr")} == pytest.approx(
        {"mean": time_s, "min": time_s, "max": time_s, "stderr": 0.0}
    )
    assert found["time_s"]["quantiles"]["0.5"] == pytest.approx(time_s)
    assert found["time_s"]["histogram"]["counts"] == [1]
    assert found["formula_s"] == pytest.approx(time_s)
    assert found["engine"] == "symmetry"


@pytest.mark.parametrize("engine", ["symmetry", "dataflow", "events"])
def test_the_engine_asked_for_is_the_one_that_runs(hocket_command: Callable[..., Ran], engine: str) -> None:
    assert hocket_command(f"{LINE} --engine {engine} --json").json["engine"] == engine


def test_people_see_units(hocket_command: Callable[..., Ran]) -> None:
    out = hocket_command(LINE).out
    for part in ("10.02 us", "exact for this call", "8 B", "10240, 80 KiB in all"):
        assert part in out


def test_a_formula_that_does_not_hold_is_told() -> None:
    call, cluster = hocket.Call(ranks=8, size_bytes=8, element_bytes=1), hocket.Machine.load("cluster")
    found = hocket.simulate("allreduce/ring", call)
    assert formula(found, cluster) == [("formula", "14.00 us, exact for this call")]
    half_s = found.time_s.mean / 2
    wrong = "7.001 us, declared as {}, but the time is 2 times as long"
    for is_exact, said in ((True, "exact for this call"), (False, "an upper bound for this call")):
        twice = replace(found, formula_s=half_s, formula_is_exact=is_exact)
        assert formula(twice, cluster) == [("formula", wrong.format(said))]
        assert formula(twice, hocket.Machine.load("jitter-paper")) == [("formula", f"7.001 us, {said}, without noise")]
    above = replace(found, formula_s=2 * found.time_s.mean, formula_is_exact=False)
    assert "declared" not in formula(above, cluster)[0][1]
    assert "declared" in formula(replace(above, formula_is_exact=True), cluster)[0][1]
    assert formula(replace(found, formula_s=None), cluster) == []
    on_few_ports = replace(found, formula_s=half_s, formula_is_exact=False, formula_is_bound=False)
    assert formula(on_few_ports, cluster) == [("formula", "7.001 us, an approximation for this call")]


def test_options_reach_the_call(hocket_command: Callable[..., Ran]) -> None:
    found = hocket_command(
        "simulate broadcast binomial --ranks 6 --size 96B --root 5 --element 8B --in-place --json"
    ).json
    assert (found["root"], found["element_bytes"], found["in_place"]) == (5, 8, True)


def test_a_barrier_has_no_size(hocket_command: Callable[..., Ran]) -> None:
    assert hocket_command("simulate barrier dissemination --ranks 8 --json").json["size_bytes"] == 0
    names = [
        line.split("  ")[0] for line in hocket_command("simulate barrier dissemination --ranks 8").out.splitlines()
    ]
    assert names[1:4] == ["time", "formula", "first rank ends"]


def test_a_parameter_is_read_by_its_unit(hocket_command: Callable[..., Ran]) -> None:
    line = "simulate broadcast chain --ranks 8 --size 1MiB --param segment=16KiB"
    assert hocket_command(f"{line} --json").json["parameters"] == {"segment": 16384}
    assert "segment = 16 KiB" in hocket_command(line).out


def test_the_parameters_told_are_those_simulated(hocket_command: Callable[..., Ran]) -> None:
    line = "simulate broadcast chain --ranks 8 --size 1KiB --element 8B --param segment="
    given, used = hocket_command(f"{line}20B --json").json, hocket_command(f"{line}16B --json").json
    assert given == used
    assert given["parameters"] == {"segment": 16}


def test_a_precondition_refused_is_one_line(bad_input: Callable[..., str]) -> None:
    message = bad_input("simulate allgather recursive_doubling --ranks 6 --size 8B")
    assert "needs a power of two" in message and "(P = 6)" in message


def test_a_timeline_is_written_at_once(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    ran = hocket_command("simulate allreduce ring --ranks 4 --size 4KiB --timeline", path)
    assert f"timeline: {path}" in ran.out
    assert {row["pid"] for row in json.loads(path.read_text())["traceEvents"]} == {0, 1, 2, 3}
    assert [child.name for child in tmp_path.iterdir()] == ["out.json"]


def test_an_unwritable_timeline_is_one_line(bad_input: Callable[..., str], tmp_path: Path) -> None:
    assert "cannot be written: it is a directory" in bad_input(f"{LINE} --timeline", tmp_path)


def test_a_recorded_schedule_is_simulated(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    path = tmp_path / "ring.goal"
    hocket_command("record allreduce ring --ranks 4 --size 4KiB -o", path)
    found = hocket_command("simulate schedule", path, "--json").json
    assert (found["collective"], found["algorithm"], found["ranks"]) == ("schedule", "ring.goal", 4)
    assert (found["messages"], found["formula_s"]) == (24, None)


def test_a_malformed_schedule_is_one_line_with_its_place(bad_input: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "bad.goal"
    path.write_text("num_ranks 2\nrank 0 {\nl1: sned 8b to 1\n}\n")
    assert f"{path}:3: " in bad_input("simulate schedule", path)


def test_trials_do_not_depend_on_how_they_are_run() -> None:
    call = hocket.Call(ranks=16, size_bytes=8, parameters={"T": 2})
    simulate = partial(hocket.simulate, "allreduce/redundant_butterfly", call, machine="jitter-paper")
    all_s = simulate(trials=hocket.Trials(100, seed=5)).times_s
    assert simulate(trials=hocket.Trials(100, seed=5, threads=1)).times_s == all_s
    assert simulate(trials=hocket.Trials(60, seed=5, first=40)).times_s == all_s[40:]
    assert simulate(trials=hocket.Trials(100, seed=5), engine="events").times_s == all_s
    assert simulate(trials=hocket.Trials(100, seed=6)).times_s != all_s


def test_noise_that_meets_no_operation_is_said(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    path, noise = (
        tmp_path / "quiet.toml",
        '[noise.os]\nmodel = "periodic"\nperiod = "1 ms"\nduration = "50 us"\noverlap = "arrival"\n',
    )
    path.write_text(hocket.Machine.load("cluster").text + noise)
    said = "all took the same time, as no operation met noise"
    line = f"-n 8 --size 64 --machine {path}"
    assert f"9, seed 0: {said}" in hocket_command(f"simulate broadcast binomial {line} --trials 9").out
    assert said in " ".join(hocket_command(f"compare broadcast binomial chain {line}").out.split())
    assert "95 %" in hocket_command(f"simulate allreduce ring -n 8 --size 4MB --machine {path} --trials 9").out


def test_trials_stop_when_the_interval_is_narrow() -> None:
    call = hocket.Call(ranks=64, size_bytes=8)
    simulate = partial(hocket.simulate, "allreduce/recursive_doubling", call, machine="jitter-paper")
    found = simulate(trials=hocket.Trials(100_000, until_interval=0.02))
    low, high = found.time_s.interval
    assert (high - low) / 2 <= 0.02 * found.time_s.mean
    assert found.trials in {64 * 2**k for k in range(12)}
    assert simulate(trials=hocket.Trials(100, until_interval=1e-9)).trials == 100


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--until-ci", "0"], 'got "0", expected a share'),
        (["--until-ci", "x%"], 'got "x%", expected a share'),
        (["--trials", "0"], "--trials"),
        (["--seed", "-1"], "--seed"),
        (["--param", "T=5"], "needs T <= log2 P"),
        (["--param", "hosts=3"], "needs one or two hosts"),
        (["--param", "hosts=auto"], "no automatic value"),
    ],
)
def test_bad_trials_and_parameters_are_refused_in_one_line(arguments: list[str], words: str) -> None:
    command = ["simulate", "allreduce", "redundant_butterfly", "--ranks", "16", "--size", "8B", *arguments]
    run = subprocess.run([sys.executable, "-m", "hocket", *command], capture_output=True, text=True)
    assert run.returncode == 2
    assert words in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1


def test_gaps_that_nobody_could_leave_are_refused(bad_input: Callable[..., str]) -> None:
    assert "parameter gap: got" in bad_input("simulate alltoall bruck --ranks 4 --size 8B --param gap=wide")
    assert "model hockney" in bad_input("simulate alltoall bruck --ranks 4 --size 8B --param gap=auto")
    assert "unknown parameter" in bad_input("simulate allreduce ring --ranks 4 --size 8B --param gap=auto")


TORUS = """name = "mine"
[network]
model = "links"
topology = "torus"
dims = [3, 2]
link_bandwidth = "1 GB/s"
"""


def test_nothing_is_written_unless_all_can_be(bad_input: Callable[..., str], tmp_path: Path) -> None:
    schedule, timeline, links = (tmp_path / name for name in ("one.goal", "timeline.json", "links.csv"))
    schedule.write_text("num_ranks 1\nrank 0 {\nl0: calc 1\n}\n")
    for subject in ("allreduce ring --ranks 4 --size 8B", f"schedule {schedule}"):
        bad_input(f"simulate {subject} --timeline {timeline} --links {links}")
        assert not timeline.exists()


COUNTED = """
import hocket

@hocket.algorithm("broadcast")
def counted(r, c):
    if r.rank == c.root:
        with open("began", "a") as began:
            began.write("once\\n")
        yield r.join(*(r.send(peer, c.result(r)) for peer in range(1, r.size)))
    else:
        yield r.recv(c.root, c.result(r))
"""


def test_links_and_timeline_are_of_the_one_simulation(
    hocket_command: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "links.toml").write_text(TORUS)
    (tmp_path / "counted.py").write_text(COUNTED)
    line = "simulate broadcast counted --load counted.py --ranks 6 --size 8B --machine links.toml --json"
    hocket_command(line)
    alone = (tmp_path / "began").read_text()
    found = hocket_command(f"{line} --links {tmp_path}/links.csv --timeline {tmp_path}/timeline.json").json
    assert (tmp_path / "began").read_text() == 2 * alone
    assert len((tmp_path / "links.csv").read_text().splitlines()) == 1 + found["links"]["used_links"]
    assert (tmp_path / "timeline.json").exists()


def test_a_timeline_and_links_do_not_go_to_one_file(bad_input: Callable[..., str], tmp_path: Path) -> None:
    machine, both = tmp_path / "torus.toml", tmp_path / "both"
    machine.write_text(TORUS)
    line = f"simulate allreduce ring --ranks 6 --size 8B --machine {machine} --timeline {both}"
    assert "expected two files" in bad_input(f"{line} --links {tmp_path}/./both")
    assert not both.exists()


def test_a_schedule_takes_no_options_of_a_call(bad_input: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "one.goal"
    path.write_text("num_ranks 1\nrank 0 {\nl0: calc 1\n}\n")
    for option in ("--param gap=auto", "--root 1", "--element 8B", "--in-place"):
        assert "expected none of --root" in bad_input(f"simulate schedule {path} {option}")


def test_a_torus_of_another_size_is_told(bad_input: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "torus.toml"
    path.write_text(TORUS)
    message = bad_input(f"simulate allreduce trinaryx3 --ranks 4 --size 8B --machine {path}")
    assert "the torus of machine mine is 3 x 2, and no X, Y or Z was given (P = 4)" in message


@pytest.mark.parametrize(("ending", "begins"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("html", b"<!DOCTYPE html>")])
def test_links_are_drawn_where_the_file_is_a_picture(
    hocket_command: Callable[..., Ran], tmp_path: Path, ending: str, begins: bytes
) -> None:
    machine, picture = tmp_path / "torus.toml", tmp_path / f"links.{ending}"
    machine.write_text(TORUS)
    ran = hocket_command(f"simulate allreduce ring --ranks 6 --size 8KiB --machine {machine} --links {picture}")
    assert ran.out.endswith(f"links: {picture}\n")
    content = picture.read_bytes().lstrip()
    assert content.startswith(begins)
    if ending == "svg":
        assert b">allreduce ring, 6 ranks, 8 KiB, elements of 4 B, machine mine<" in content
        assert re.search(rb">[\d.]+ us<", content)


def test_links_that_cannot_be_drawn_are_refused(bad_input: Callable[..., str], tmp_path: Path) -> None:
    machine, picture = tmp_path / "torus.toml", tmp_path / "links.png"
    machine.write_text(TORUS)
    line = f"simulate allreduce ring --ranks 6 --size 8B --links {picture}"
    assert bad_input(line) == ("links: machine cluster has no topology, expected a machine with a topology")
    assert (
        bad_input(f"{line} --machine {machine} --plot {picture}")
        == f"--links and --plot: got {picture} twice, expected two files"
    )
    machine.write_text(TORUS.replace("[3, 2]", "[100, 100]"))
    assert bad_input(f"{line} --machine {machine}").startswith("a map of 40000 links, expected at most 30000")
    assert not picture.exists()


def test_links_over_time_are_written_as_their_file_ends(
    hocket_command: Callable[..., Ran], bad_input: Callable[..., str], tmp_path: Path
) -> None:
    machine = tmp_path / "torus.toml"
    machine.write_text(TORUS)
    line = f"simulate allreduce ring --ranks 6 --size 8KiB --machine {machine} --links-over-time"
    ran = hocket_command(f"{line} {tmp_path}/load.csv --json")
    header, *rows = (tmp_path / "load.csv").read_text().splitlines()
    assert header == "link,bytes,start_s,end_s"
    assert len({row.split(",")[0] for row in rows}) == ran.json["links"]["used_links"]
    assert hocket_command(f"{line} {tmp_path}/load.svg").out.endswith(f"links over time: {tmp_path}/load.svg\n")
    content = (tmp_path / "load.svg").read_text()
    assert "allreduce ring, 6 ranks, 8 KiB, elements of 4 B, machine mine, " in content and content.count(">+x<") == 6
    both = f"{tmp_path}/both.html"
    assert bad_input(f"{line} {both} --links {both}").endswith("twice, expected two files")
    assert bad_input(line.replace(str(machine), "cluster"), both).startswith("passages: machine cluster has no")
    machine.write_text(TORUS.replace("[3, 2]", "[100, 100]"))
    assert bad_input(f"{line} {both}").startswith("a map of 40000 links, expected at most 30000")
    assert not Path(both).exists()


def test_what_a_schedule_puts_on_links_is_what_its_program_does(
    hocket_command: Callable[..., Ran], tmp_path: Path
) -> None:
    (tmp_path / "torus.toml").write_text(TORUS)
    call, machine = "allreduce ring --ranks 6 --size 6000B", f"--machine {tmp_path}/torus.toml"
    hocket_command(f"record {call} -o {tmp_path}/ring.json")
    for option in ("--links", "--links-over-time"):
        hocket_command(f"simulate {call} {machine} {option} {tmp_path}/program.csv")
        hocket_command(f"simulate schedule {tmp_path}/ring.json {machine} {option} {tmp_path}/schedule.csv")
        assert (tmp_path / "program.csv").read_text() == (tmp_path / "schedule.csv").read_text(), option


@pytest.mark.parametrize("line", ["allreduce ring --size 8B", "broadcast binomial --size 8B"])
def test_symmetry_is_refused_where_ranks_differ(hocket_command: Callable[..., Ran], line: str) -> None:
    ran = hocket_command(f"simulate {line} --ranks 16 --engine symmetry")
    assert (ran.status, ran.out) == (2, "")
    assert "the symmetry engine does not apply: it is for programs whose ranks" in ran.err


@pytest.mark.parametrize("call", ["reduce_scatter ring", "exscan chain", "allgather ring", "alltoall linear"])
@pytest.mark.parametrize("scene", [("--measured-as", "imb"), ("--cadence", "2 calls")])
def test_calls_in_a_row_are_in_place_too(hocket_command: Callable[..., Ran], call: str, scene: tuple[str, str]) -> None:
    line = f"simulate {call} --ranks 4 --size 64 --in-place --json"
    assert hocket_command(line, *scene).json["time_s"]["mean"] > 0


def test_the_estimate_is_of_the_engine_that_runs(bad_input: Callable[..., str]) -> None:
    line = "simulate alltoall linear --ranks 200000 --size 1KiB --engine"
    assert "--yes" in bad_input(f"{line} dataflow") and "--yes" in bad_input(f"{line} events")


def test_one_rank_is_not_1_ranks(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    call = "allreduce ring --ranks 1 --size 8B"
    for line in (f"simulate {call}", f"compare {call}", f"record {call} --output {tmp_path}/s.goal"):
        assert "1 rank" in (said := hocket_command(line).out) and "1 ranks" not in said


def test_the_map_of_a_job_takes_the_place_of_the_machines(
    hocket_command: Callable[..., Ran], bad_input: Callable[..., str], tmp_path: Path
) -> None:
    machine, hosts = tmp_path / "m.toml", tmp_path / "job.hosts"
    machine.write_text(
        'name = "m"\n[network]\nmodel = "hockney"\nlatency = "2 us"\nbandwidth = "1 GB/s"\nranks_per_node = 2\n'
        'local.latency = "0.5 us"\nlocal.bandwidth = "1 GB/s"\n'
    )
    hosts.write_text("0: a\n1: a\n2: a\n3: b\n")
    line = f"simulate broadcast chain --ranks 4 --size 0B --machine {machine}"
    times_s = [
        hocket_command(f"{line} {option} --json").json["time_s"]["mean"]
        for option in ("", "--map block", "--map cyclic", f"--map {hosts}")
    ]
    assert times_s == pytest.approx([3e-6, 3e-6, 6e-6, 3e-6])
    refused = bad_input(f"{line.replace('--ranks 4', '--ranks 5')} --map {hosts}")
    assert refused == "ranks: got 5, expected at most 4, the ranks that the map lists"
    hosts.write_text("0: a\n2: a\n")
    refused = bad_input(f"{line} --map {hosts}")
    assert refused == f'{hosts}:2: got "2: a", expected each of the ranks 0 to 1 once'
    refused = bad_input(f"{line} --map cylic")
    assert refused == 'map: got "cylic", expected "block", "cyclic" or the path of a file of hosts'
