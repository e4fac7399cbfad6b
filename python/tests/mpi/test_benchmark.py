"""`hocket mpi bench`: the right algorithm runs with a right result; reports its median."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import hocket
from hocket.definitions.library import COLLECTIVES
from hocket.mpi.benchmark import Measurement
from hocket.mpi.installation import Installation
from tests.conftest import Ran

from .conftest import Mpi

pytestmark = pytest.mark.usefixtures("as_root")


def test_a_median_and_its_interval() -> None:
    samples = [float(k) for k in range(101)]
    found = Measurement.of("ring", 8, 203, samples[::-1])
    # The order statistics at 50 +- 1.96 sqrt(101) / 2.
    assert (found.median_s, found.low_s, found.high_s) == (50, 40, 60)
    assert (found.p90_s, found.p99_s) == (90, 99)  # 91 and 100 of the 101 samples do not exceed them
    few = Measurement.of("ring", 8, 7, [2.0, 1.0, 3.0])
    assert (few.low_s, few.p90_s, few.p99_s) == (1.0, 3.0, 3.0)


def run(mpi: Mpi, hocket_command: Callable[..., Ran], words: str) -> Ran:
    return hocket_command(*f"mpi bench --mpicc {mpi.installation.mpicc} --time-limit 0s {words}".split())


def check(mpi: Mpi, hocket_command: Callable[..., Ran], collective: str, ranks: int) -> None:
    sizes = "" if collective == "barrier" else f"--sizes {8 * ranks},{1024 * ranks}"
    found = run(mpi, hocket_command, f"{collective} -n {ranks} {sizes} --json").json
    names = [algorithm.name for algorithm in hocket.algorithms(collective)]
    assert found["algorithms"] == [*names, "native"]
    measured = {(one["algorithm"], one["size_bytes"]) for one in found["measurements"]}
    refused = {(one["algorithm"], one["size_bytes"]) for one in found["not_measured"]}
    assert ("native", found["measurements"][0]["size_bytes"]) in measured
    assert len(measured) + len(refused) == len(found["algorithms"]) * (1 if collective == "barrier" else 2)
    assert not measured & refused
    for one in found["measurements"]:
        assert 0 < one["low_s"] <= one["median_s"] <= one["high_s"]
        assert len(one["samples_s"]) >= 10
    for name, calls in found["proving_calls"].items():
        assert calls == sum(name == algorithm for algorithm, _ in measured)
    for one in found["not_measured"]:
        assert one["sentence"].startswith(f"{collective} {one['algorithm']} "), one


@pytest.mark.parametrize("collective", ["allreduce", "alltoall"])
def test_every_algorithm_is_timed(mpi: Mpi, hocket_command: Callable[..., Ran], collective: str) -> None:
    check(mpi, hocket_command, collective, 3)


@pytest.mark.real_mpi
@pytest.mark.parametrize("ranks", [2, 5, 8])
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_every_collective_is_timed(mpi: Mpi, hocket_command: Callable[..., Ran], collective: str, ranks: int) -> None:
    if mpi.is_intel_mpi and collective == "neighbor_alltoall":
        pytest.skip("MPI_Neighbor_alltoall of Intel MPI 2021.18 is wrong where a neighbour occurs twice")
    check(mpi, hocket_command, collective, ranks)


def test_a_machine_is_compared_drawn_and_recorded(mpi: Mpi, hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    machine = tmp_path / "quiet.toml"
    machine.write_text(
        'name = "quiet"\n[network]\nmodel = "hockney"\nlatency = "1 us"\nbandwidth = "1 GB/s"\n'
        '[node]\nreduce_bandwidth = "1 GB/s"\n'
    )
    plot, output = tmp_path / "out.png", tmp_path / "out.json"
    words = f"allreduce ring native -n 2 --sizes 800B --machine {machine} --plot {plot} --output {output}"
    out = run(mpi, hocket_command, words).out
    assert "over native" in out and "over quiet" in out and "deviation from quiet: median " in out
    assert "the library counted one proving call per size: ring 1, native 1" in out
    assert plot.read_bytes().startswith(b"\x89PNG")
    (predicted,) = json.loads(output.read_text())["predictions"]
    # Two exchanges of half the vector, and a reduction of half of it: 2 (1 + 0.4) + 0.4 us.
    assert predicted["time_s"] == pytest.approx(3.2e-6) and predicted["formula_s"] == pytest.approx(3.2e-6)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("allreduce -n 2 --sizes 12B", "--sizes: got 12 B, expected multiples of 8 B, as allreduce adds doubles"),
        ("allreduce native -n 2 --sizes 8B", "algorithms: got native, expected at least one algorithm of"),
        ("allreduce rign -n 2 --sizes 8B", 'unknown allreduce algorithm "rign", did you mean ring?'),
        ("broadcast -n 2 --sizes 8B --root 2", "--root: got 2, expected a rank below 2"),
        (
            "broadcast chain -n 2 --sizes 8B --param segment=0",
            "--param:1: broadcast chain: parameter segment = 0, expected at least 1",
        ),
        ("allreduce -n 2", "--sizes is missing, expected sizes such as 8B..8MiB"),
    ],
)
def test_bad_input_is_one_line(mpi: Mpi, bad_input: Callable[..., str], words: str, expected: str) -> None:
    assert bad_input(*f"mpi bench --mpicc {mpi.installation.mpicc} {words}".split()).startswith(expected)


def test_an_mpi_is_found_by_its_product(
    mpi: Mpi, monkeypatch: pytest.MonkeyPatch, bad_input: Callable[..., str]
) -> None:
    wrapper = mpi.installation.mpicc
    product, other = mpi.installation.product, "mvapich"
    monkeypatch.setenv("PATH", f"{wrapper.parent}{os.pathsep}{os.environ['PATH']}")
    assert Installation.of_product(product).product == product
    folder = wrapper.parent if wrapper.name == "mpicc" else Path("/nowhere")
    monkeypatch.setattr(os, "get_exec_path", lambda: [str(folder)])
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    run = "mpi bench barrier -n 2"
    assert bad_input(f"{run} --mpi {other}").startswith("--mpi: no MVAPICH on the path")
    assert bad_input(f"{run} --mpi {product} --mpicc mpicc") == "--mpi: cannot be combined with --mpicc"
