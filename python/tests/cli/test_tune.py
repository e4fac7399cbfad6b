"""`hocket tune` by simulation only."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hocket
from hocket.simulating.question import Answer, Contender, Question
from hocket.traces import write
from tests.conftest import Ran
from tests.tuning.test_tracing import program, trace_of


def test_rules_choose_what_is_fastest_and_a_report_says_so(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    out = hocket_command("tune allreduce broadcast -n 8 --sizes 8B..8KiB:32 --machine cluster -o", tmp_path).out
    assert out.startswith(
        "6 calls to decide, 4 others to judge the decisions, more calls where decisions change: simulated on cluster\n"
    )
    assert "held-out calls: median " in out
    assert out.endswith(f"rules, decisions, report and measurements: {tmp_path}/\n")
    assert "## Held-out sizes" in (tmp_path / "report.md").read_text()
    found = json.loads((tmp_path / "decisions.json").read_text())
    assert found["machine"] == "cluster"
    assert found["median_regret"] <= found["worst_regret"] < 0.2
    assert {one["collective"] for one in found["decisions"]} == {"allreduce", "broadcast"}
    rules = (tmp_path / "hocket.rules").read_text()
    for size in (8, 256, 2048, 8192):
        call = hocket.Call(ranks=8, size_bytes=size, element_bytes=8)
        algorithm, chosen = hocket.choose(rules, "allreduce", call)  # type: ignore[misc]
        time_s = hocket.simulate(algorithm, chosen).time_s.mean
        best_s = min(hocket.compare(hocket.algorithms("allreduce")[:4], [call]).times_s.values())
        assert time_s <= 1.03 * best_s


def test_an_interrupted_tuning_goes_on(
    hocket_command: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "tune allreduce -n 4 --sizes 8B..8KiB:32 --machine cluster -o"
    hocket_command(line, tmp_path / "whole")
    records = tmp_path / "whole/measurements.jsonl"
    lines = records.read_text().splitlines(keepends=True)
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut/measurements.jsonl").write_text("".join(lines[:3]) + lines[3][:40])
    simulated: list[Contender] = []

    class Counting(Question):
        def answer(self, *given: Any, **more: Any) -> list[Answer]:
            simulated.extend(self.cells)
            return super().answer(*given, **more)

    monkeypatch.setattr("hocket.tuning.simulating.Question", Counting)
    hocket_command(line, tmp_path / "cut")
    some = len(simulated)
    assert (tmp_path / "cut/hocket.rules").read_text() == (tmp_path / "whole/hocket.rules").read_text()
    assert (tmp_path / "cut/decisions.json").read_text() == (tmp_path / "whole/decisions.json").read_text()
    assert sorted((tmp_path / "cut/measurements.jsonl").read_text().splitlines()) == sorted(
        each.rstrip("\n") for each in lines
    )
    hocket_command(line, tmp_path / "cut")
    assert 0 < some == len(simulated)


def test_the_same_again_is_the_same(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    machine = tmp_path / "noisy.toml"
    machine.write_text(
        'name = "noisy"\n[network]\nmodel = "hockney"\nlatency = "1 us"\nbandwidth = "1 GB/s"\n'
        '[noise.os]\nmodel = "poisson"\ninterval = "100 us"\nduration = "10 us"\n'
    )
    line = "tune barrier allreduce -n 4,8 --sizes 8B,1KiB --trials 16 --seed 5 --json --machine"
    first = hocket_command(line, machine, "-o", tmp_path / "a", "--jobs", "1").json
    again = hocket_command(line, machine, "-o", tmp_path / "b", "--jobs", "3").json
    assert {**first, "folder": ""} == {**again, "folder": ""}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("alltoallv -n 2 --machine cluster", "alltoallv cannot be tuned, expected some of allgather, "),
        ("allreduce -n 0 --machine cluster", '--ranks: got "0", expected rank counts of at least 1'),
        ("allreduce -n 2 --machine cluster --trials 9", "--trials: got 9, but machine cluster has no noise"),
        ("allreduce -n 2 --machine cluster --tolerance 2", '--tolerance: got "2", expected a share'),
        ("alreduce -n 2 --machine cluster", 'unknown collective "alreduce", did you mean allreduce?'),
    ],
)
def test_bad_input_writes_nothing(bad_input: Callable[..., str], tmp_path: Path, words: str, expected: str) -> None:
    assert bad_input(f"tune {words} -o", tmp_path / "out").startswith(expected)
    assert not (tmp_path / "out").exists()


def test_measurements_of_something_else_are_refused(
    hocket_command: Callable[..., Ran], bad_input: Callable[..., str], tmp_path: Path
) -> None:
    hocket_command("tune barrier -n 4 --machine cluster -o", tmp_path)
    before = (tmp_path / "measurements.jsonl").read_bytes()
    message = bad_input("tune barrier -n 4 --machine k_computer -o", tmp_path)
    assert message.startswith(f"{tmp_path}/measurements.jsonl: got measurements of machine cluster")
    assert (tmp_path / "measurements.jsonl").read_bytes() == before
    (tmp_path / "measurements.jsonl").write_bytes(before.splitlines(keepends=True)[0] + b'{"collective": 3}\n')
    assert bad_input("tune barrier -n 4 --machine cluster -o", tmp_path).startswith(
        f"{tmp_path}/measurements.jsonl:2: got '{{\"collective\": 3}}', expected the measurements of a call"
    )


def test_a_trace_decides_what_is_tuned(
    hocket_command: Callable[..., Ran], bad_input: Callable[..., str], tmp_path: Path
) -> None:
    trace = tmp_path / "app.hktrace"
    write(trace, trace_of(program(8)))
    line = f"tune --trace {trace} --machine cluster --baseline openmpi-5.0 -o"
    out = hocket_command(line, tmp_path / "out").out
    assert "22 calls of 3 kinds" in out
    decided = json.loads((tmp_path / "out/decisions.json").read_text())
    kept = [one["rule"] for one in decided["rules"] if one["is_kept"]]
    assert (tmp_path / "out/hocket.rules").read_text().splitlines()[1:] == kept
    again = hocket_command(line, tmp_path / "again", "--json").json
    assert again == {**decided, "folder": f"{tmp_path}/again"}
    rules = (tmp_path / "out/hocket.rules").read_text()
    found = hocket.replay(trace, rules={"kept": rules, "baseline": hocket.LIBRARY_RULES["openmpi-5.0"]})
    assert found.time_s.mean == decided["kept_s"] < decided["baseline_s"]
    nothing = tmp_path / "nothing"
    for words, expected in (
        (f"alltoall --trace {trace} --machine cluster", f"{trace}: has no calls of the collectives to tune"),
        (f"-n 8 --trace {trace} --machine cluster", "--ranks: cannot be combined with --trace"),
        (f"--trace {trace}", "--machine is missing"),
        (
            "allreduce -n 4 --machine cluster --baseline mpich-5.0",
            "--baseline: got mpich-5.0, expected --trace beside it",
        ),
        ("allreduce --machine cluster", "--ranks is missing"),
    ):
        assert bad_input(f"tune {words} -o", nothing).startswith(expected)
        assert not nothing.exists()


def test_a_baseline_with_a_fixed_order_keeps_it(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    trace, baseline = tmp_path / "app.hktrace", tmp_path / "bine.rules"
    write(trace, trace_of(program(8)))
    baseline.write_text("order = fixed\nallreduce: bine\n")
    line = f"tune --trace {trace} --machine cluster --baseline {baseline} -o"
    out = hocket_command(line, tmp_path / "out").out
    assert "order        fixed, of the baseline too" in out
    assert "\n allreduce[ranks=8, size=..4393]: recursive_doubling; " in out
    assert "\n allreduce[ranks=8]: rabenseifner\n" in out
    assert json.loads((tmp_path / "out/decisions.json").read_text())["order"] == "fixed"
    said = hocket_command(line.replace(str(baseline), "mpich-5.0"), tmp_path / "no", "--order", "fixed")
    assert (said.status, said.err[:31]) == (2, "hocket: error: mpich-5.0:24: re") and not (tmp_path / "no").exists()


@pytest.mark.parametrize("library", ["openmpi-5.0", "mpich", "intelmpi", "ucc", "nccl", "rccl", "ncclx"])
def test_for_a_library_only_what_it_has_is_chosen(
    library: str, hocket_command: Callable[..., Ran], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    line = f"tune allreduce broadcast allgather -n 12,16 --sizes 8B..512KiB:16 --machine cluster --library {library} -o"
    found = hocket_command(line, out, "--json").json
    assert any(one["choice"]["owner"] == "catalogue" for one in found["decisions"])
    assert found["library"].startswith(library)
    target = tmp_path / f"own.{found['library']}.txt"
    converted = hocket_command(f"rules convert {out}/hocket.rules {target} --to {found['library']}")
    assert converted.status == 0 and "left to the library" not in converted.err
    assert hocket_command(f"rules lint {target} --from {found['library']}").status == 0


@pytest.mark.parametrize(("machine", "knows"), [("gpu-cluster", True), ("cluster", False)])
def test_the_choice_of_nccl_is_the_default_where_the_machine_tells_it(
    machine: str, knows: bool, hocket_command: Callable[..., Ran], tmp_path: Path
) -> None:
    line = f"tune allgather -n 8 --sizes 8B..2MiB:64 --machine {machine} --library nccl-2 -o {tmp_path}/out"
    assert hocket_command(line).status == 0
    records = [json.loads(each) for each in (tmp_path / "out" / "measurements.jsonl").read_text().splitlines()[1:]]
    owners = [{choice["owner"] for choice in each["choices"]} for each in records]
    assert all(("default" in each) == knows for each in owners)
    sizes = {each["size_bytes"] for each in records}
    assert ({578741, 578742} <= sizes) == knows, "on both sides of NCCL's switch from LL to LL128"


def test_intervals_end_where_a_library_switches(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    """Open MPI takes a binary tree below 16 KiB, and a linear one, which is slow, from 32 KiB on."""
    out = hocket_command(
        "tune broadcast -n 8 --sizes 8KiB,1MiB --machine cluster --library openmpi-5.0 -o", tmp_path
    ).out
    assert float(re.findall(r"worst ([0-9.]+)%", out)[0]) < 10
    found = [json.loads(row) for row in (tmp_path / "measurements.jsonl").read_text().splitlines()[1:]]
    assert {16383, 16384, 32767, 32768} <= {one["size_bytes"] for one in found}


def test_what_a_library_runs_by_itself_needs_a_gain(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    line = "tune allreduce -n 16 --sizes 8B..512KiB:16 --machine cluster --library openmpi-5.0 --json -o"
    found = hocket_command(line, tmp_path).json
    rows = [json.loads(row) for row in (tmp_path / "measurements.jsonl").read_text().splitlines()[1:]]
    for row in rows:
        times_s = {(one["owner"], one["name"]): one["median_s"] for one in row["choices"]}
        chosen = next(
            one["choice"]
            for one in found["decisions"]
            if one["sizes_bytes"][0] <= row["size_bytes"] < one["sizes_bytes"][1]
        )
        is_default = chosen["owner"] == "default"
        least_s, default_s = min(times_s.values()), times_s["default", "native"]
        is_acceptable = default_s <= least_s * (1 + found["tolerance"]) or row["size_bytes"] % 8 > 0
        is_the_same = times_s[chosen["owner"], chosen["name"]] == default_s
        assert is_default == is_acceptable or is_the_same, row


@pytest.mark.parametrize("line", ["--library mpich", "--machine cluster --mpi mpich --library ucc"])
def test_a_library_is_for_simulation_alone(line: str, hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    ran = hocket_command(f"tune allreduce -n 2 {line} -o", tmp_path / "out")
    assert ran.status == 2 and "expected --machine beside it and no option of an MPI" in ran.err


def test_with_a_fixed_order_each_number_of_ranks_has_one_order(
    hocket_command: Callable[..., Ran], tmp_path: Path
) -> None:
    line = "tune allreduce reduce --machine cluster -n 4,6 --sizes 8B..32KiB:64 --order fixed -o"
    assert "order = fixed\n" in hocket_command(line, tmp_path).out
    rules = (tmp_path / "hocket.rules").read_text()
    assert hocket_command("rules lint", tmp_path / "hocket.rules").out.startswith("ok: ")
    for ranks in (4, 5, 6):
        orders = set()
        for size in (8, 4096, 1 << 20, 1 << 30):
            found = hocket.choose(rules, "allreduce", hocket.Call(ranks=ranks, size_bytes=size, element_bytes=8))
            assert found is not None
            orders.add((found[0].order, tuple(found[1].parameters.items())))
        assert len(orders) == 1 and None not in next(iter(orders)), orders
    same = hocket.tune(["allreduce", "reduce"], ranks=[4, 6], sizes="8B..32KiB:64", order="fixed")
    assert same.rules in rules


@pytest.mark.parametrize("more", ["--mpi mpich -n 4", "--machine cluster --trace calls.json", "-n 4"])
def test_only_simulations_of_a_machine_go_elsewhere(bad_input: Callable[..., str], tmp_path: Path, more: str) -> None:
    told = bad_input(f"tune allreduce {more} --executor dask -o", tmp_path / "out")
    assert told == "--executor: got dask, expected --machine and no other source of times"


def test_what_contradicts_a_fixed_order_is_refused(bad_input: Callable[..., str], tmp_path: Path) -> None:
    for more in ("--machine cluster --library mpich", "--check"):
        assert "--order: got fixed" in bad_input(f"tune allreduce -n 4 --order fixed {more} -o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


OSU = "# OSU MPI Allreduce Latency Test v7.5\n# Size       Avg Latency(us)\n"
TIMES_US = {
    "recursive_doubling": {8: 5, 1024: 6, 65536: 100, 1 << 20: 2000},
    "ring": {8: 15, 1024: 16, 65536: 60, 1 << 20: 1000},
    "default": {8: 5.1, 1024: 9, 65536: 99, 1 << 20: 1500, 1 << 22: 9000},
}


def measured(folder: Path, *names: str) -> str:
    """Write the times of algorithms as OSU's benchmarks do, and return the options that name the files."""
    for name in names:
        lines = "".join(f"{size:<10d}{time_us:>10.2f}\n" for size, time_us in TIMES_US[name].items())
        (folder / name).write_text(OSU + lines)
    return " ".join(f"--measured {folder}/{name} --measured-algorithm {name}" for name in names)


def test_rules_from_measured_times(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    line = f"tune {measured(tmp_path, *TIMES_US)} -n 16 -o {tmp_path}/out"
    out = hocket_command(line).out
    assert out.startswith(
        "allreduce[ranks=16, size=8..1024]: native\n"
        "allreduce[ranks=16, size=1024..15775]: recursive_doubling\n"
        "allreduce[ranks=16, size=15775..1048577]: ring\n"
    )
    assert "no held-out call judges the decisions: all times were used for deciding" in out
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"decisions.json", "hocket.rules", "report.md"}
    found = hocket_command(f"{line} --sizes 64KiB,1MiB --json").json
    assert [one["choice"]["name"] for one in found["decisions"]] == ["ring"]
    assert found["measured"] == ", ".join(f"{tmp_path}/{name}" for name in TIMES_US)
    fixed = hocket_command(f"{line} --order fixed").out
    assert fixed.startswith("order = fixed\nallreduce[ranks=16]: recursive_doubling\n"), "the order of a ring depends"


def test_times_of_several_runs_are_an_interval() -> None:
    def runs(algorithm: str, *times_s: float) -> list[hocket.Measurement]:
        call = {"collective": "allreduce", "algorithm": algorithm, "ranks": 4, "size_bytes": 64}
        return [hocket.Measurement(**call, time_s=time_s, source="a.csv:1") for time_s in times_s]  # type: ignore[arg-type]

    apart = hocket.tune_measured([*runs("ring", 1.0, 1.1, 1.2), *runs("default", 1.3, 1.4, 1.5)])
    assert apart.rules == "allreduce[ranks=4, size=64]: ring\n"
    overlapping = hocket.tune_measured([*runs("ring", 1.0, 1.1, 1.4), *runs("default", 1.3, 1.4, 1.5)])
    assert overlapping.rules == "allreduce[ranks=4, size=64]: native\n"
    assert [one.median_s for one in overlapping.records[0].times.values()] == [1.1, 1.4]
    elsewhere = [replace(one, measured_as="osu") for one in runs("default", 1.0)]
    with pytest.raises(hocket.Error, match="got times with measured_as isolated and osu, expected one of them"):
        hocket.tune_measured([*runs("ring", 1.0), *elsewhere])
    with pytest.raises(hocket.Error, match="got no call with times of two algorithms, expected at least one"):
        hocket.tune_measured(runs("ring", 1.0, 2.0))
    with pytest.raises(hocket.Error, match="order: got fixed, but no algorithm with one order"):
        hocket.tune_measured([*runs("ring", 1.0), *runs("default", 2.0)], order="fixed")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("--machine cluster -n 16", "--machine: cannot be combined with --measured, whose files have all times"),
        ("--mpi mpich -n 16", "--mpi: cannot be combined with --measured"),
        ("", "ring: does not contain the number of ranks, expected --ranks"),
        ("-n 16", "measurements: got no call with times of two algorithms, expected at least one"),
        ("-n 16 --sizes 3B", "--measured: got no time of the calls to tune, expected times of at least two algorithms"),
    ],
)
def test_measured_times_that_decide_nothing_are_refused(
    more: str, told: str, bad_input: Callable[..., str], tmp_path: Path
) -> None:
    assert told in bad_input(f"tune {measured(tmp_path, 'ring')} {more} -o {tmp_path}/out")
    assert not (tmp_path / "out").exists()
