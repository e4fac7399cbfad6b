"""Measured times beside a machine: texts whose times are those of the machine, slower, or of a known algorithm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import hocket
from hocket.judging.assessment import Assessment

SIZES = [8 << step for step in range(0, 20, 2)]
RANKS = 16


def osu(times_us: Sequence[float], title: str = "Allreduce", sizes: Sequence[int] = SIZES) -> str:
    """Return the output of an OSU micro-benchmark."""
    rows = [f"{size:<10}{time_us:>20.2f}" for size, time_us in zip(sizes, times_us, strict=True)]
    return "\n".join([f"# OSU MPI {title} Latency Test v7.5", "# Size       Avg Latency(us)", *rows, ""])


def simulated_us(algorithm: str, *, machine: str = "cluster") -> list[float]:
    calls = [hocket.Call(ranks=RANKS, size_bytes=size) for size in SIZES]
    return [
        hocket.simulate(f"allreduce/{algorithm}", call, machine=machine, measured_as="osu").time_s.mean * 1e6
        for call in calls
    ]


def judged(times_us: Sequence[float], **options: Any) -> Assessment:
    return hocket.judge(osu(times_us), machine="cluster", ranks=RANKS, **options)


def test_times_of_the_fastest_algorithms_are_fine() -> None:
    best = hocket.compare("allreduce", ranks=RANKS, sizes=SIZES, machine="cluster", measured_as="osu")
    times_us = [min(time_s for (of, _), time_s in best.times_s.items() if of == size) * 1e6 for size in SIZES]
    found = judged(times_us)
    assert {row.grade for row in found.curves[0].rows} == {"fine"}
    assert found.curves[0].verdict.kind == "fine"
    assert found.title.startswith("Allreduce on 16 ranks is as fast as machine cluster can do it: 1.00 times")


@pytest.mark.parametrize("factor", [1.0, 1.2])
def test_the_algorithm_that_ran_is_named_with_the_one_that_is_better(factor: float) -> None:
    found = judged([factor * time_us for time_us in simulated_us("linear")], library="openmpi-5.0")
    verdict = found.curves[0].verdict
    assert verdict.kind == "slow"
    assert "it runs like linear" in verdict.sentence
    assert "% of the time" in verdict.sentence
    assert "linear" in found.curves[0].rows[-1].guess.programs
    tuning = [one.sentence for one in found.curves[0].findings if one.subject == "what to do"]
    assert tuning == [
        sentence
        for sentence in tuning
        if sentence.startswith("hocket tune allreduce --ranks 16") and sentence.endswith("--library openmpi-5.0")
    ]


@pytest.mark.parametrize(("version", "is_named"), [("5.0.3", True), ("4.1.6", False)])
def test_han_is_named_beside_a_machine_where_times_are_slow(version: str, is_named: bool, tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text(f"openmpi/{version}\n{osu(simulated_us('linear', machine='dual-socket'))}")
    found = hocket.judge(tmp_path / "out.txt", machine="dual-socket", ranks=RANKS, ranks_per_node=2)
    assert any("coll_han_priority 0" in one.sentence for one in found.curves[0].findings) == is_named


@pytest.mark.parametrize("machine", ["gpu-cluster:LL", "{folder}/gpus.toml:LL"])
def test_times_are_judged_by_a_machine_with_its_protocol(machine: str, tmp_path: Path) -> None:
    (tmp_path / "gpus.toml").write_text(hocket.Machine.load("gpu-cluster").text.replace('"gpu-cluster"', '"gpus"'))
    name = machine.format(folder=tmp_path)
    times_us = simulated_us("linear", machine=name)
    found = hocket.judge(osu(times_us), machine=name, ranks=RANKS, ranks_per_node=8, library="openmpi-5.0")
    assert found.curves[0].machine in ("gpu-cluster:LL", "gpus:LL")
    tuning = [one.sentence for one in found.curves[0].findings if "hocket tune" in one.sentence]
    assert tuning
    assert all(f"--machine {name} --library" in sentence for sentence in tuning)


def test_times_that_no_algorithm_explains_have_a_cause_below_the_library() -> None:
    times_us = [
        max(map(float, column)) * 50 for column in zip(simulated_us("linear"), simulated_us("ring"), strict=True)
    ]
    found = judged(times_us)
    sentences = [one.sentence for one in found.curves[0].findings]
    assert "no algorithm of the catalogue takes so long" in sentences[0]
    assert any("look for the cause below the library" in sentence for sentence in sentences)


def test_slow_large_sizes_alone_are_named_as_a_range() -> None:
    times_us = simulated_us("recursive_doubling")[:3] + [5 * each for each in simulated_us("ring")[3:]]
    verdict = judged(times_us).curves[0].verdict
    assert "from 512 B to" in verdict.sentence
    assert "Fine elsewhere" in verdict.sentence


def test_much_shorter_times_are_of_another_machine() -> None:
    verdict = judged([time_us / 20 for time_us in simulated_us("ring")]).curves[0].verdict
    assert verdict.kind == "fast"
    assert "another machine" in verdict.sentence


def test_text_path_and_measurements_are_judged_alike(tmp_path: Any) -> None:
    text = osu(simulated_us("ring"))
    (tmp_path / "out.txt").write_text(text)
    of_text = hocket.judge(text, machine="cluster", ranks=RANKS)
    assert hocket.judge(tmp_path / "out.txt", machine="cluster", ranks=RANKS).records() == of_text.records()
    measurements = [one for curve in of_text.curves for one in curve.curve.measurements]
    assert hocket.judge(measurements, machine="cluster").records() == of_text.records()


@pytest.mark.parametrize(
    ("text", "options", "sentence"),
    [
        ("no rows\nat all\n", {}, "text: unknown format"),
        (osu([], sizes=[]), {"ranks": 4}, "text: has no measurements"),
        (osu([1.0], sizes=[8]), {}, "text: does not contain the number of ranks"),
        (osu([1.0], sizes=[8]), {"ranks": 4, "library": "mpi"}, "unknown library"),
        (osu([1.0], sizes=[8]), {"ranks": 4, "machine": "nowhere"}, 'no machine "nowhere"'),
        (osu([1.0], sizes=[8]), {"ranks": 4, "ranks_per_node": 2}, "machine cluster has 1 rank on a node"),
    ],
)
def test_what_cannot_be_judged_is_refused_in_one_line(text: str, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(hocket.Error, match=r"^[^\n]*$") as refusal:
        hocket.judge(text, **{"machine": "cluster", **options})
    assert sentence in str(refusal.value)


def test_the_command_reads_pasted_text_and_prints_the_verdict_first(
    hocket_command: Callable[..., Any], tmp_path: Any
) -> None:
    (tmp_path / "out.txt").write_text("> my run:\n```\n" + osu(simulated_us("linear")) + "```\n")
    shown = hocket_command("judge", str(tmp_path / "out.txt"), *["--ranks", "16", "--machine", "cluster"])
    assert shown.out.startswith("Allreduce on 16 ranks is ")
    told = hocket_command("judge", str(tmp_path / "out.txt"), *["--ranks", "16", "--machine", "cluster", "--json"]).json
    assert told["verdict"].startswith("Allreduce on 16 ranks is ")
    assert [row["size_bytes"] for row in told["curves"][0]["sizes"]] == SIZES


@pytest.mark.parametrize("row", ["4194304 nan", "4194304 0.00", "4194304 -1.0"])
def test_a_row_that_makes_no_sense_is_named_and_not_guessed(row: str) -> None:
    rows = "\n".join([*(f"{size} {9 + size / 1e4:.2f}" for size in SIZES), row])
    with pytest.raises(hocket.Error, match=r"^text:13: latency: got .*, expected a number above zero$"):
        hocket.judge(f"# OSU MPI Allreduce Latency Test v7.4\n# Size Avg Latency(us)\n{rows}\n", ranks=64)


@pytest.mark.parametrize(("name", "value"), [("algorithm", "nonsense"), ("collective", "nonsense")])
def test_unknown_names_of_the_user_are_refused_without_a_machine(name: str, value: str) -> None:
    with pytest.raises(hocket.Error, match=value):
        hocket.judge(osu([9.0] * len(SIZES)), **{"ranks": 4, name: value})


def test_a_barrier_has_a_time_but_no_size() -> None:
    found = hocket.judge("# OSU MPI Barrier Latency Test v7.4\n# Avg Latency(us)\n 12.34\n", ranks=64)
    assert found.title == "Barrier on 64 ranks takes 12.34 us: only beside a machine can that be judged."


def test_one_rank_sends_nothing() -> None:
    found = hocket.judge(osu([9.0] * len(SIZES)), ranks=1)
    assert "sends nothing" in found.title


def test_advice_on_nccl_is_for_nccl() -> None:
    text = "$ mpirun -np 64 --map-by ppr:32:node ./osu_allreduce\n" + osu([9 + size / 1e3 for size in SIZES])
    assert not any("NCCL" in one.sentence for one in hocket.judge(text).curves[0].findings)


_IMB = """# Benchmarking {}
# #processes = 16
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            4         1000         4.71         4.72         4.71
         1024         1000        12.71        12.72        12.71
      4194304           10       3980.1       3990.2       3985.1
"""


def test_curves_of_processors_say_once_what_is_not_known_and_nothing_of_gpus() -> None:
    found = hocket.judge("$ mpirun -np 16 IMB-MPI1\n" + _IMB.format("Allreduce") + _IMB.format("Bcast"))
    sentences = [one.sentence for each in (*found.curves, found) for one in each.findings]
    assert len(found.curves) == 2
    assert len(sentences) == len({*sentences})
    assert any("network cards" in sentence for sentence in sentences)
    assert not any("GPU" in sentence or "Mpirun binds" in sentence for sentence in sentences)


def test_a_collective_that_nccl_tests_lack_has_no_bus_bandwidth() -> None:
    curve = hocket.judge(_IMB.format("Alltoallv")).curves[0]
    assert "It has no bus bandwidth" in curve.verdict.sentence
    assert not any("GB/s of bus bandwidth" in one.sentence for one in curve.findings)


def test_sizes_that_are_faster_than_expected_are_not_called_fine() -> None:
    times_us = [each / 20 for each in simulated_us("recursive_doubling")[:3]]
    verdict = judged(times_us + [20 * each for each in simulated_us("ring")[3:]]).curves[0].verdict
    assert "Faster than expected from 8 B to 128 B" in verdict.sentence
    assert "Fine elsewhere" not in verdict.sentence


def test_fewer_ranks_on_a_node_are_judged_beside_a_machine_of_such_nodes() -> None:
    few, many = (
        hocket.judge(osu(simulated_us("ring")), machine="gpu-cluster", ranks=RANKS, ranks_per_node=count)
        for count in (2, 8)
    )
    assert few.curves[0].rows[-1].expected_s > 1.5 * many.curves[0].rows[-1].expected_s
    with pytest.raises(hocket.Error, match=r"has 8 ranks on a node, the times are of 16"):
        hocket.judge(osu(simulated_us("ring")), machine="gpu-cluster", ranks=32, ranks_per_node=16)


def test_a_program_at_three_times_its_times_is_named_as_itself_or_not_at_all() -> None:
    found = judged([3 * each for each in simulated_us("recursive_doubling")]).curves[0]
    named = [row.guess.programs[0] for row in found.rows if row.guess.is_told]
    assert {*named} <= {"recursive_doubling"}


@pytest.mark.parametrize("tolerance", ["0", "100%", "1.5", "-1%", "x"])
def test_a_tolerance_that_is_refused_has_its_bounds(
    bad_input: Callable[..., str], tmp_path: Any, tolerance: str
) -> None:
    (tmp_path / "out.txt").write_text(osu([9.0] * len(SIZES)))
    files = [str(tmp_path / "out.txt")] * 2
    message = bad_input("judge", *files, "--ranks", "4", "--tolerance", tolerance)
    assert f'--tolerance: got "{tolerance}", expected a share above 0% and below 100%' in message
