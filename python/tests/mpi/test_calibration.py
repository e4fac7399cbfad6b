"""`hocket mpi calibrate`: lines through samples, and the resulting machine file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hocket
from hocket.fitting.calibrating import fit_columns, overheads
from hocket.mpi.calibration import calibrate, line, parts_of, resample
from hocket.mpi.machine_files import machine_file
from tests.conftest import Ran

from .conftest import Mpi

SIZES = [0, *(2**k for k in range(21))]
ALPHA_S, BETA_S = 2e-6, 1e-10


def samples_s(time_s: Callable[[int], float], noise: float = 0.02) -> dict[int, list[float]]:
    """Samples of each size: at least the time, and some of them much longer."""
    random = np.random.default_rng(1)
    return {
        size: [time_s(size) * (1 + noise * random.exponential()) + 1e-4 * (random.random() < 0.1) for _ in range(60)]
        for size in SIZES
    }


def two_protocols(size: int) -> float:
    return ALPHA_S + BETA_S * size if size <= 8192 else 3 * ALPHA_S + BETA_S / 2 * size


def test_a_line_is_found_through_disturbed_samples() -> None:
    fit = line(resample(samples_s(lambda size: ALPHA_S + BETA_S * size)))
    assert fit.start_s[0] == pytest.approx(ALPHA_S, rel=0.02)
    assert fit.slope_s[0] == pytest.approx(BETA_S, rel=0.02)
    assert fit.deviation < 0.02
    low, high = np.quantile(fit.slope_s[1:], (0.025, 0.975))
    assert BETA_S * 0.99 < low < fit.slope_s[0] < high < BETA_S * 1.03


def test_a_line_is_exact_without_noise_and_never_below_zero() -> None:
    exact = line(resample({size: [ALPHA_S + BETA_S * size] for size in SIZES}))
    assert (exact.start_s[0], exact.slope_s[0]) == (pytest.approx(ALPHA_S, rel=1e-9), pytest.approx(BETA_S, rel=1e-9))
    falling = line(resample({size: [1e-6 / (1 + k)] for k, size in enumerate(SIZES)}))
    assert falling.slope_s[0] == 0 and falling.start_s[0] > 0
    steep = line(resample({size: [1e-9 * size**1.2 + 1e-12] for size in SIZES[1:]}))
    assert steep.start_s[0] == 0 and steep.slope_s[0] > 0


def test_ranges_are_found_where_lines_change() -> None:
    parts = parts_of([resample(samples_s(two_protocols))])
    assert parts == [slice(0, SIZES.index(8192) + 1), slice(SIZES.index(8192) + 1, len(SIZES))]
    assert len(parts_of([resample(samples_s(lambda size: ALPHA_S + BETA_S * size))])) == 1
    border = parts_of([resample(samples_s(lambda size: ALPHA_S + BETA_S * size))], 1000)
    assert border == [slice(0, SIZES.index(512) + 1), slice(SIZES.index(512) + 1, len(SIZES))]


def all_samples() -> list[dict[str, Any]]:
    kinds: dict[str, Callable[[int], float]] = {
        "one_way": two_protocols,
        "exchange": lambda size: (1.25 if size > 8192 else 1.0) * two_protocols(size),
        "send": lambda size: 0.4e-6 + 0.2e-10 * size,
        "receive": lambda size: 0.6e-6 + 0.4e-10 * size,
        "gap": lambda size: 0.5e-6 + BETA_S * size,
        "reduce": lambda size: 1e-10 * (size or 8),
        "copy": lambda size: 2e-11 * (size or 8),
    }
    limits = [{"kind": "eager_limit", "peer": 1, "bytes": 8192, "time_s": 0.0}] * 10
    return limits + [
        {"kind": kind, "peer": 1, "bytes": size, "time_s": time_s}
        for kind, of in kinds.items()
        for size, times_s in samples_s(of, noise=0.001).items()
        for time_s in times_s
    ]


def test_the_models_are_fitted() -> None:
    found = calibrate(all_samples(), mpi="An MPI", hosts=["a", "a"])
    level = found.between
    eager, rendezvous = level.ranges
    assert (eager.last_bytes, rendezvous.from_bytes, level.S_bytes, found.local) == (8192, 8193, 8192, None)
    assert level.both_ways.value == pytest.approx(1.25, rel=0.01)
    # alpha = L + o of both ranks. For n bytes the sender needs 0.2e-10 n, the receiver 0.4e-10 n, and the wire the
    # rest.
    values = [eager.alpha_s, eager.o_send_s, eager.o_receive_s, eager.L_s, eager.O_send_s, eager.O_receive_s, eager.G_s]
    expected = [2e-6, 0.4e-6, 0.6e-6, 1e-6, 0.2e-10, 0.4e-10, 0.6e-10]
    assert [value.value for value in values] == pytest.approx(expected, rel=0.02)
    assert all(value.low <= value.value <= value.high for value in values)
    # A rendezvous first sends a request: alpha of an eager message without the part of the receiver.
    assert level.request_s.value == pytest.approx(1.4e-6, rel=0.02)
    whole = rendezvous.L_s.value + rendezvous.o_send_s.value + rendezvous.o_receive_s.value + level.request_s.value
    assert whole == pytest.approx(3 * ALPHA_S, rel=0.02)
    assert (rendezvous.G_s.value, rendezvous.O_send_s.value) == (pytest.approx(BETA_S / 2, rel=0.02), 0)
    (work,) = found.work
    assert (work.reduce_s_per_byte.value, work.copy_s_per_byte.value) == pytest.approx((1e-10, 2e-11), rel=0.02)


def test_large_messages_have_a_bandwidth_though_noise_hides_it() -> None:
    """The eager limit leaves three sizes, whose times noise has made equal: they do not say what a byte takes."""
    limit = SIZES[-4]
    samples = [
        {**one, "bytes": limit}
        if one["kind"] == "eager_limit"
        else {**one, "time_s": 50e-6}
        if one["bytes"] > limit
        else one
        for one in all_samples()
    ]
    found = calibrate(samples, mpi="An MPI", hosts=["a", "a"])
    last = found.between.ranges[-1]
    assert last.from_bytes == limit + 1
    assert BETA_S / 3 < last.beta_s.value < 3 * BETA_S
    assert not hocket.Machine.parse(machine_file(found, "hidden", "loggp", None)).lacks_bandwidth


def test_hosts_and_messages_within_one_are_two_levels() -> None:
    far = [{**one, "peer": 2, "time_s": 3 * one["time_s"]} for one in all_samples()]
    found = calibrate([*all_samples(), *far], mpi="An MPI", hosts=["a", "a", "b", "b"])
    assert found.local is not None and found.ranks_per_host == 2
    ratio = found.between.alpha_s.value / found.local.alpha_s.value
    assert ratio == pytest.approx(3, rel=0.01)
    machine = hocket.Machine.parse(machine_file(found, "two", "loggp", None))
    near, between = (machine.quantities[f"network.{level}L_s"] for level in ("local.", ""))
    assert between == pytest.approx([3 * time_s for time_s in near], rel=0.02)
    call = hocket.Call(ranks=4, size_bytes=8)
    by_ring, by_pairs = (
        hocket.simulate(f"allgather/{name}", call, machine=machine).time_s.mean
        for name in ("ring", "neighbor_exchange")
    )
    assert 0 < by_pairs < by_ring


@pytest.mark.parametrize("model", ["hockney", "loggp"])
def test_the_machine_file_says_what_was_measured(model: Any) -> None:
    text = machine_file(calibrate(all_samples(), mpi='An "MPI"', hosts=["a", "b"]), "mine", model, "mine.json")
    machine = hocket.Machine.parse(text)
    assert (machine.name, machine.model) == ("mine", model)
    assert machine.description.startswith("Measured on ")
    send = hocket.simulate("broadcast/linear", hocket.Call(ranks=2, size_bytes=4096), machine=machine)
    if model == "loggp":
        assert send.time_s.mean == pytest.approx(two_protocols(4096), rel=0.02)
        # Large messages take longer if both ways are in use.
        exchange = hocket.simulate("allgather/ring", hocket.Call(ranks=2, size_bytes=1 << 20), machine=machine)
        copy_s = 2e-11 * (1 << 20)
        assert exchange.time_s.mean == pytest.approx(1.4e-6 + 1.25 * BETA_S / 2 * (1 << 20) + 0.6e-6 + copy_s, rel=0.02)
    assert send.time_s.mean > 0


def test_the_host_of_a_calibration_goes_with_a_topology() -> None:
    text = machine_file(calibrate(all_samples(), mpi="An MPI", hosts=["a", "b"]), "mine", "loggp", None)
    host = text[text.index("[host]") :]
    star = 'name = "star"\n[network]\nmodel = "links"\ntopology = "crossbar"\nnodes = 8\nlink_bandwidth = "1 GB/s"\n'
    machine = hocket.Machine.parse(star + host)
    call = hocket.Call(ranks=8, size_bytes=8)
    alone_s = hocket.simulate("gather/linear", call, machine=hocket.Machine.parse(star)).time_s.mean
    received_s = machine.quantities["host.o_receive_s"][0]
    assert hocket.simulate("gather/linear", call, machine=machine).time_s.mean > alone_s + 7 * received_s


def test_what_the_library_takes_is_found() -> None:
    messages = np.asarray([1.0, 1.0, 2.0, 4.0])
    base_s = np.asarray([1e-6, 2e-6, 2e-6, 4e-6])
    found = fit_columns(base_s + 3e-7 + 1e-7 * messages, base_s, messages)
    assert found == pytest.approx((3e-7, 1e-7), rel=1e-3)
    assert fit_columns(base_s - 3e-7 + 1e-6 * messages, base_s, messages)[0] == 0


def test_calls_go_as_messages_do_by_mpi_alone(mpi: Mpi) -> None:
    def launcher(installation: object, ranks: int, program: object, variables: Mapping[str, str]) -> list[str]:
        raise hocket.Error(f"shared memory is {variables['HOCKET_SHARED_MEMORY']}")

    with pytest.raises(hocket.Error, match="shared memory is off"):
        overheads(mpi.installation, launcher, 2, lambda extra_s: hocket.Machine.load("cluster"), lambda: None)


def test_samples_that_are_missing_are_named() -> None:
    with pytest.raises(hocket.Error, match="the program printed no samples of copy"):
        calibrate([one for one in all_samples() if one["kind"] != "copy"], mpi="", hosts=[])


@pytest.mark.usefixtures("as_root")
def test_a_real_machine_is_measured(mpi: Mpi, hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    path = tmp_path / "here.toml"
    command = f"mpi calibrate -n 2 --time-limit 0s --most 64KiB --mpicc {mpi.installation.mpicc} --json -o {path}"
    command += f" --plot {tmp_path}/here.png"
    found = hocket_command(*command.split()).json
    assert found["mpi"] == mpi.installation.library and len(found["hosts"]) == 2
    assert (tmp_path / "here.png").read_bytes().startswith(b"\x89PNG")
    recorded = json.loads((tmp_path / "here.json").read_text())
    assert len(recorded["measurements"]) == found["samples"] > 1000
    assert {"one_way", "copy"} <= {sample["kind"] for sample in recorded["measurements"]}
    assert all(sample["time_s"] > 0 for sample in recorded["measurements"] if sample["kind"] != "eager_limit")
    assert found["call_s"] >= 0 and found["message_s"] >= 0
    simulated = hocket_command(f"simulate allreduce ring --ranks 8 --size 64KiB --json --machine {path}").json
    assert simulated["machine"] == "here" and simulated["time_s"]["mean"] > 0


def test_samples_do_not_go_where_the_machine_does(
    mpi: Mpi, bad_input: Callable[..., str], as_root: None, tmp_path: Path
) -> None:
    message = bad_input(*f"mpi calibrate -n 2 -o {tmp_path}/here.json --mpicc {mpi.installation.mpicc}".split())
    assert message == f"--output: got {tmp_path}/here.json, expected another suffix, as the samples go to this file"


def test_a_largest_message_must_be_large_enough(mpi: Mpi, bad_input: Callable[..., str], as_root: None) -> None:
    message = bad_input(*f"mpi calibrate -n 2 --most 1KiB --mpicc {mpi.installation.mpicc}".split())
    assert message == "--most: got 1 KiB, expected 64 KiB to less than 1 GiB"
