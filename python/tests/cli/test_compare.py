"""`hocket compare`."""

import csv
import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import hocket
from hocket.examples import ring_allreduce
from hocket.words.comparisons import INTERVALS_NOTE, ONE_SAMPLE
from tests.conftest import Ran

LINE = "compare allreduce --ranks 16 --sizes 8B..2MiB:64"


def test_the_table_marks_the_best_and_names_it_per_size(hocket_command: Callable[..., Ran]) -> None:
    rows = hocket_command(LINE).out.splitlines()
    assert rows[0] == "allreduce on 16 ranks, elements of 4 B, machine cluster"
    assert rows[1] == "use recursive_doubling to 512 B, rabenseifner above: the fastest at each size"
    assert rows[2].split() == ["size", "fastest", "second", "third", "lower", "bound"]
    assert rows[4] == " recursive_doubling +4, then multi_lane, then hierarchical"
    assert rows[5].split() == ["8", "B", "4.006", "us", "1.25x", "1.25x", "4.000", "us", "1.00x"]
    sizes = [row.split()[:2] for row in rows[5:] if row.endswith("x")]
    assert sizes == [["8", "B"], ["512", "B"], ["32", "KiB"], ["2", "MiB"]]
    assert all(len(row) <= 80 for row in rows if set(row.strip()) != {"─"})


def test_json_has_a_result_for_each_size_and_algorithm(hocket_command: Callable[..., Ran]) -> None:
    found = hocket_command(f"{LINE} --json").json
    assert found["sizes_bytes"] == [8, 512, 32768, 2097152]
    assert len(found["results"]) == 4 * len(found["algorithms"])
    assert found["best"][0]["first_bytes"] == 8 and found["best"][-1]["last_bytes"] == 2097152
    assert found["not_compared"] == [] and found["plot"] is None
    for bound in found["bounds"]:
        call = hocket.Call(ranks=16, size_bytes=bound.pop("size_bytes"))
        known = hocket.bound("allreduce", call)
        assert bound == {**vars(known), "time_s": known.time_s}


def test_jobs_do_not_change_the_result(hocket_command: Callable[..., Ran]) -> None:
    assert hocket_command(f"{LINE} --json --jobs 1").out == hocket_command(f"{LINE} --json --jobs 4").out


def test_only_the_algorithms_named_are_compared(hocket_command: Callable[..., Ran]) -> None:
    found = hocket_command("compare allreduce ring --ranks 4 --sizes 8B --json").json
    assert found["algorithms"] == ["ring"]


def test_an_algorithm_that_refuses_is_told_with_its_sentence(hocket_command: Callable[..., Ran]) -> None:
    out = hocket_command("compare allgather --ranks 6 --sizes 8B,1KiB").out
    told = out.partition("not compared\n")[2]
    assert "recursive_doubling: allgather recursive_doubling needs a power of two" in told


TORUS = """
name = "small-torus"
[network]
model = "links"
topology = "torus"
dims = [2, 2, 2]
link_bandwidth = "4 GB/s"
link_latency = "100 ns"
"""


def test_algorithms_for_tori_are_compared_on_tori_or_by_name(
    hocket_command: Callable[..., Ran], tmp_path: Path
) -> None:
    (tmp_path / "torus.toml").write_text(TORUS)
    tori = {"edge_disjoint_trees", "swing_torus", "torus_bucket", "trinaryx3", "trinaryx3_overlapped"}
    assert tori == {a.name for a in hocket.algorithms("allreduce") if a.topology == "torus"}
    line = "compare allreduce --ranks 8 --sizes 8B --json"
    assert not tori & set(hocket_command(line).json["algorithms"])
    assert tori < set(hocket_command(f"{line} --machine", tmp_path / "torus.toml").json["algorithms"])
    named = hocket_command("compare allreduce ring swing_torus --ranks 8 --sizes 8B").out
    assert " swing_torus: X = 2, Y = 2, Z = 2\n" in named
    flat = hocket_command("compare allreduce swing_torus --ranks 4 --sizes 8B --param Y=4").out
    assert " swing_torus: X = 1, Y = 4\n" in flat


def test_all_times_are_told_in_blocks_of_sizes(hocket_command: Callable[..., Ran]) -> None:
    ran = hocket_command(f"{LINE} --all --defaults")
    found = hocket_command(f"{LINE} --json --defaults").json
    named = {algorithm.name for algorithm in hocket.algorithms("allreduce")}
    rows = [row for row in ran.out.splitlines() if row.split()[:1] and row.split()[0] in named]
    assert [row.split()[0] for row in rows] == found["algorithms"]
    assert all(row.count(" us") + row.count(" ms") == 4 for row in rows)
    assert sum(row.count("*") for row in rows) == sum(
        len(best["algorithms"])
        * sum(best["first_bytes"] <= size <= best["last_bytes"] for size in found["sizes_bytes"])
        for best in found["best"]
    )
    assert " mpich-5.0 " in ran.out and " lower bound " in ran.out


def test_csv_has_all_numbers(hocket_command: Callable[..., Ran], bad_input: Callable[..., str]) -> None:
    line = "compare allgather --ranks 6 --sizes 8B,1KiB --defaults"
    rows = list(csv.DictReader(hocket_command(f"{line} --csv").out.splitlines()))
    found = hocket_command(f"{line} --json").json
    assert len(rows) == sum(len(found[name]) for name in ("results", "defaults", "not_compared"))
    assert [float(row["time_mean_s"]) for row in rows[: len(found["results"])]] == [
        result["time_s"]["mean"] for result in found["results"]
    ]
    assert {row["library"] for row in rows} == {"", "mpich-5.0", "openmpi-5.0"}
    assert all(float(row["lower_bound_s"]) > 0 for row in rows[: len(found["results"])])
    assert bad_input(f"{line} --csv --json") == "--csv: cannot be combined with --json"


def test_a_row_tells_how_sure_its_time_is(hocket_command: Callable[..., Ran]) -> None:
    out = hocket_command("compare allreduce ring linear --ranks 8 --sizes 8B --machine jitter-paper --trials 9").out
    assert re.search(r"^ 8 B +[\d.]+ us +±\d+% +[\d.]+x$", out, re.MULTILINE)


def test_with_noise_trials_go_on_until_the_fastest_is_known(hocket_command: Callable[..., Ran]) -> None:
    line = "compare allreduce --ranks 16 --sizes 8B,512B --machine jitter-paper --seed 3"
    out = hocket_command(line).out
    assert f"{INTERVALS_NOTE}; 16" in " ".join(out.split())
    assert re.search(r"^ 8 B +[\d.]+ us +±\d+% +[\d.]+x ", out, re.MULTILINE)
    once = hocket_command(f"{line} --trials 1").out
    assert f"{ONE_SAMPLE}; 1 trial, seed 3" in " ".join(once.split())
    found = hocket_command(f"{line} --until-ci 5% --json").json["results"]
    assert all(one["time_s"]["interval"][1] <= 1.05 * one["time_s"]["mean"] for one in found)


def test_a_wrong_program_is_not_ranked(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text('import hocket\n\n@hocket.algorithm("barrier")\ndef lazy(r, c):\n    yield r.compute(1e-9)\n')
    out = hocket_command("compare barrier --ranks 8 --load", path).out
    assert "lazy: wrong at P = 2-5, as `hocket verify barrier lazy` shows" in out
    assert "lazy" not in out.partition("not compared")[0]


def test_a_barrier_is_compared_without_sizes(hocket_command: Callable[..., Ran]) -> None:
    assert hocket_command("compare barrier --ranks 8 --json").json["sizes_bytes"] == [0]


def test_an_algorithm_written_in_python_takes_part(hocket_command: Callable[..., Ran]) -> None:
    found = hocket_command("compare allreduce --ranks 4 --sizes 4KiB --json --load", ring_allreduce.__file__).json
    times_s = {result["algorithm"]: result["time_s"]["mean"] for result in found["results"]}
    assert times_s["chunked_ring"] == times_s["ring"]


def test_a_picture_is_written_and_named_last(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    for ending in ("png", "html"):
        path = tmp_path / f"out.{ending}"
        ran = hocket_command(f"{LINE} --plot", path)
        assert ran.out.endswith(f"\nplot: {path}\n")
        assert path.stat().st_size > 20_000


def test_a_picture_of_nothing_is_refused_ahead(bad_input: Callable[..., str], tmp_path: Path) -> None:
    assert "0 B only" in bad_input("compare barrier --ranks 8 --plot", tmp_path / "out.png")


def test_few_simulations_of_many_trials_share_the_threads(
    hocket_command: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []
    compare = hocket.compare

    def counting(*given: object, trials: hocket.Trials, **more: object) -> hocket.Comparison:
        threads.append(trials.threads)
        return compare(*given, trials=trials, **more)  # type: ignore[arg-type]

    monkeypatch.setattr("hocket.cli.compare.compare_algorithms", counting)
    line = "compare allreduce ring linear --ranks 4 --sizes 8B --machine jitter-paper --trials 9 --jobs"
    assert hocket_command(f"{line} 7 --json").out == hocket_command(f"{line} 1 --json").out
    assert threads == [3, 1]


WAITING = """
import os, time, hocket

@hocket.algorithm("broadcast")
def waiting(r, c):
    size = len(c.result(r))
    open(f"began-{size}", "w").close()
    while size in (16, 32) and not os.path.exists("go"):  # programs are verified with other sizes
        time.sleep(0.01)
    if r.rank == c.root:
        yield r.join(*(r.send(peer, c.result(r)) for peer in range(r.size) if peer != c.root))
    else:
        yield r.recv(c.root, c.result(r))
    yield r.compute(1e-6)
"""


@contextmanager
def comparing(
    folder: Path, *more: str, names: str = "waiting linear", stderr: int = subprocess.PIPE
) -> Iterator["subprocess.Popen[str]"]:
    """Run `hocket compare` with an algorithm that waits for a file at all sizes but the first."""
    (folder / "waiting.py").write_text(WAITING)
    line = f"compare broadcast {names} --load waiting.py --ranks 2 --sizes 8B,16B,32B --jobs 2"
    with subprocess.Popen(
        [sys.executable, "-m", "hocket", *line.split(), *more],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background shell ignores SIGINT
    ) as ran:
        too_late = threading.Timer(60, ran.kill)
        too_late.start()
        try:
            yield ran
        finally:
            too_late.cancel()
            ran.kill()


def interrupted(folder: Path, *more: str) -> str:
    """Interrupt a comparison of 6 simulations when its bar shows that 4 of them are known: all that do not wait."""
    ours, theirs = pty.openpty()
    with comparing(folder, *more, stderr=theirs) as ran:
        os.close(theirs)
        shown_until(" 67%", ours)
        ran.send_signal(signal.SIGINT)
        out, _ = ran.communicate(timeout=60)
        assert ran.returncode == 130
        before, after = shown_until("hocket: interrupted", ours)
        assert "Traceback" not in before and after == "\r\n"
    os.close(ours)
    return out


def shown_until(text: str, terminal: int) -> tuple[str, str]:
    """Return what a terminal shows before a text, and after it."""
    shown, plain = b"", ""
    while text not in plain:
        shown += os.read(terminal, 10_000)
        plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode(errors="replace"))
    before, _, after = plain.partition(text)
    return before, after


def test_a_row_is_printed_as_soon_as_it_is_known(tmp_path: Path) -> None:
    with comparing(tmp_path) as ran:
        assert ran.stdout is not None
        rows = [ran.stdout.readline().split() for _ in range(5)]
        assert rows[3:] == [
            ["linear,", "then", "waiting"],
            ["8", "B", "1.001", "us", "2.00x", "1.001", "us", "1.00x"],
        ]
        (tmp_path / "go").touch()
        assert ran.stdout.readline().split() == ["16", "B", "1.002", "us", "2.00x", "1.002", "us", "1.00x"]
        ran.communicate(timeout=60)


def test_an_interrupted_comparison_prints_what_it_knows(tmp_path: Path) -> None:
    out = interrupted(tmp_path, "--plot", "out.png")
    rows = [row.split() for row in out.splitlines()]
    assert rows[3:7] == [
        ["linear,", "then", "waiting"],
        ["8", "B", "1.001", "us", "2.00x", "1.001", "us", "1.00x"],
        ["linear,", "as", "far", "as", "it", "is", "known"],
        ["16", "B", "1.002", "us", "-", "1.002", "us", "1.00x"],
    ]
    assert out.endswith("\nuse linear: the fastest\n\n? not known yet: 2 of 6 simulations\n")
    assert not (tmp_path / "out.png").exists()


def test_an_interrupted_comparison_is_still_one_json_document(tmp_path: Path) -> None:
    found = json.loads(interrupted(tmp_path, "--json"))
    assert [(one["size_bytes"], one["algorithm"]) for one in found["results"]] == [
        (8, "waiting"),
        (8, "linear"),
        (16, "linear"),
        (32, "linear"),
    ]
    assert found["missing"] == [
        {"algorithm": "waiting", "size_bytes": 16},
        {"algorithm": "waiting", "size_bytes": 32},
    ]
    assert [(best["first_bytes"], best["last_bytes"]) for best in found["best"]] == [(8, 8)]


def test_the_bar_shows_the_remaining_time_from_the_first_piece_on(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    with comparing(tmp_path, names="waiting", stderr=theirs) as ran:
        os.close(theirs)
        shown = ""
        while "%" not in shown.partition(" 33%")[2]:
            shown += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", os.read(ours, 10_000).decode())
        (tmp_path / "go").touch()
        ran.communicate(timeout=60)
    os.close(ours)
    assert re.search(r"simulating \S+ +33% 0:0\d:\d\d", shown)


def test_an_unwritable_picture_is_one_line(bad_input: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "cannot be written" in bad_input(f"{LINE} --plot", tmp_path / "file" / "out.png")


def test_defaults_stand_beside_the_algorithms_with_their_factor(
    hocket_command: Callable[..., Ran], tmp_path: Path
) -> None:
    line = f"compare broadcast binomial chain --ranks 16 --sizes 8B,4MiB --defaults --plot {tmp_path}/a.html"
    rows = hocket_command(line).out.splitlines()
    assert rows[2].split()[-4:] == ["mpich", "openmpi", "lower", "bound"]
    assert rows[5].split()[-5:-3] == ["1.00x", "1.50x"]
    assert "  8 B: tree, shape=k_nomial, 1.50 times the fastest" in rows
    page = (tmp_path / "a.html").read_text()
    assert "mpich-5.0 without tuning" in page and "openmpi-5.0 without tuning" in page
    found = hocket_command(f"{line} --json").json
    assert [(one["library"], one["size_bytes"], one["algorithm"]) for one in found["defaults"]][:2] == [
        ("mpich-5.0", 8, "binomial"),
        ("openmpi-5.0", 8, "tree"),
    ]
    assert found["defaults"][1]["times_the_fastest"] == pytest.approx(1.5)  # 2 levels of 3 messages, 4 rounds


def test_links_of_all_algorithms_are_drawn_the_fastest_first(
    hocket_command: Callable[..., Ran], tmp_path: Path
) -> None:
    machine, links, plot = (tmp_path / name for name in ("torus.toml", "links.svg", "plot.png"))
    machine.write_text(TORUS)
    line = f"compare allreduce swing_torus ring linear --ranks 8 --sizes 64KiB --machine {machine}"
    ran = hocket_command(f"{line} --links {links} --plot {plot} --json")
    assert (ran.json["links"], ran.json["plot"]) == (str(links), str(plot))
    drawn = re.findall(r">(\w+), [\d.]+ us<", links.read_text())
    times_s = {result["algorithm"]: result["time_s"]["mean"] for result in ran.json["results"]}
    assert drawn == sorted(times_s, key=lambda name: times_s[name])
    assert f"links: {links}\n" in hocket_command(f"{line} --links {links}").out
    of_all = hocket_command(
        f"compare allreduce --ranks 8 --sizes 64KiB --machine {machine} --links {links} --json"
    ).json
    fastest = sorted(of_all["results"], key=lambda result: float(result["time_s"]["mean"]))[:3]
    assert re.findall(r">(\w+), [\d.]+ us<", links.read_text()) == [result["algorithm"] for result in fastest]


def test_links_that_cannot_be_compared_are_refused(bad_input: Callable[..., str], tmp_path: Path) -> None:
    machine, links = tmp_path / "torus.toml", tmp_path / "links.png"
    machine.write_text(TORUS)
    line = f"compare allreduce ring linear --ranks 8 --machine {machine} --links"
    assert bad_input(f"{line} {links} --sizes 8B,1KiB") == "--links: got 2 sizes, expected one"
    assert bad_input(f"{line} {links} --sizes 8B --plot {tmp_path}/./links.png").endswith("expected two files")
    assert bad_input(f"{line} {tmp_path}/links.gif --sizes 8B").endswith("ends in .png or .html or .svg")
    assert bad_input(f"compare allreduce --ranks 8 --sizes 8B --links {links}") == (
        "--links: machine cluster has no topology, expected a machine with a topology"
    )
    machine.write_text(TORUS.replace("[2, 2, 2]", "[16, 16, 16]"))
    assert bad_input(f"{line} {links} --sizes 8B").startswith("a map of 49152 links, expected at most 30000")
    assert not links.exists()


def test_the_defaults_of_other_libraries_stand_beside_the_algorithms(
    hocket_command: Callable[..., Ran], bad_input: Callable[..., str]
) -> None:
    line = "compare allreduce recursive_multiplying ring --ranks 16 --sizes 8B,4MiB"
    out = " ".join(hocket_command(f"{line} --defaults-of ucc").out.split())
    assert "ucc-1 without tuning 8 B: knomial, 1.50 times the fastest" in out
    assert "4 MiB: sra_knomial, " in out
    both = hocket_command(f"{line} --defaults --defaults-of mpich,ucc-1 --json").json
    assert [one["library"] for one in both["defaults"][:3]] == ["mpich-5.0", "openmpi-5.0", "ucc-1"]
    expected = (
        '--defaults-of: unknown defaults "gloo", expected one of mpich-5.0, openmpi-5.0, openmpi-4.1, ucc-1, nccl-2'
    )
    assert bad_input(f"{line} --defaults-of gloo").startswith(expected)


OSU = "# OSU MPI Allreduce Latency Test v7.3\n# Size       Avg Latency(us)\n8                       5.00\n64    6.00\n"


def test_measured_times_stand_beside_simulated_ones(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    for name in ("ring", "own"):
        (tmp_path / name).write_text(OSU)
    line = f"compare allreduce ring --ranks 4 --sizes 8 --measured-as osu --measured {tmp_path}/ring"
    line += (
        f" --measured {tmp_path}/own --measured-algorithm ring --measured-algorithm default --plot {tmp_path}/a.html"
    )
    found = hocket_command(f"{line} --json").json
    simulated_s = found["results"][0]["time_s"]["mean"]
    assert found["measured"] == [
        {"algorithm": "ring", "size_bytes": 8, "measured_s": pytest.approx(5e-6), "simulated_s": simulated_s},
        {"algorithm": "ring", "size_bytes": 64, "measured_s": pytest.approx(6e-6), "simulated_s": None},
        {"algorithm": "default", "size_bytes": 8, "measured_s": pytest.approx(5e-6), "simulated_s": None},
        {"algorithm": "default", "size_bytes": 64, "measured_s": pytest.approx(6e-6), "simulated_s": None},
    ]
    page = (tmp_path / "a.html").read_text()
    assert "ring, measured" in page and "default, measured" in page
    rows = [row.split() for row in hocket_command(line).out.splitlines()]
    assert ["ring", "8", "B", "5.000", "us", "6.003", "us", "1.20"] in rows  # 6 rounds of 1 us, up to 4 B each
    assert ["default", "64", "B", "6.000", "us", "-", "-"] in rows
    isolated = " ".join(hocket_command(line.replace("--measured-as osu", "")).out.split())
    assert "times were measured as osu, and simulated as isolated: --measured-as osu simulates them alike" in isolated


def test_measured_times_that_do_not_fit_are_refused(bad_input: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "osu").write_text(OSU)
    (tmp_path / "times.csv").write_text("collective,algorithm,ranks,size_bytes,time_s\nallreduce,ring,8,8,1e-5\n")
    line = f"compare allreduce ring --ranks 4 --sizes 8 --measured {tmp_path}"
    assert "osu: does not name the algorithm, expected --measured-algorithm" in bad_input(f"{line}/osu")
    assert bad_input(f"{line}/times.csv") == "measured: got no time of allreduce on 4 ranks, expected at least one"
    assert "No such file" in bad_input(f"{line}/nothing")
    alone = "compare allreduce ring --ranks 4 --sizes 8 --measured-algorithm ring"
    assert bad_input(alone) == "--measured-algorithm: got ring, expected --measured beside it"


def test_the_choice_of_nccl_is_simulated_where_the_machine_tells_it(hocket_command: Callable[..., Ran]) -> None:
    line = "compare allreduce ring recursive_doubling --ranks 8 --sizes 1KiB --defaults-of nccl --json"
    (found,) = hocket_command(f"{line} --machine gpu-cluster").json["defaults"]
    assert (found["library"], found["choice"]) == ("nccl-2", "ring, protocol=ll, channels=1")
    assert found["time_s"] is not None
    (elsewhere,) = hocket_command(f"{line} --machine cluster").json["defaults"]
    assert elsewhere["sentence"] == "cluster.toml: section [gpu] is missing, by which nccl-2 decides"


def test_the_choice_of_nccl_has_the_costs_of_its_protocol(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    line = "compare allreduce ring --ranks 8 --sizes 1KiB --defaults-of nccl"
    (found,) = hocket_command(f"{line} --machine gpu-cluster --json").json["defaults"]
    parameters = hocket.find(f"allreduce/{found['algorithm']}"), hocket.Call(ranks=8, size_bytes=1024)
    (alike,) = hocket.compare(parameters[:1], [parameters[1]], machine="gpu-cluster:LL").simulations
    assert (found["costs"], found["time_s"]) == ("at the costs of LL", alike.time_s.mean)
    assert (
        "ring, protocol=ll, channels=1, at the costs of LL, 0." in hocket_command(f"{line} --machine gpu-cluster").out
    )
    plain = tmp_path / "plain.toml"
    plain.write_text(hocket.Machine.load("gpu-cluster").text.partition("[protocol")[0])
    (without,) = hocket_command(f"{line} --machine {plain} --json").json["defaults"]
    assert (without["choice"], without["costs"]) == (found["choice"], "at the machine's own costs")
    assert without["time_s"] > found["time_s"]


def test_a_choice_of_nccl_with_simple_has_the_costs_of_the_machine(hocket_command: Callable[..., Ran]) -> None:
    line = "compare allgather ring --ranks 16 --sizes 64MiB --machine gpu-cluster --defaults-of nccl --json"
    (found,) = hocket_command(line).json["defaults"]
    assert ("protocol=simple" in found["choice"], found["costs"]) == (True, "")
