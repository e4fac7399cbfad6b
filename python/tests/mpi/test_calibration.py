"""`hocket mpi calibrate`: lines through samples, and the machine file that says them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hocket
from hocket.mpi.calibration import calibrate, machine_file
from hocket.mpi.fits import break_after, line, resampled
from tests.conftest import Ran

from .conftest import Mpi

SIZES = [0, *(2**k for k in range(21))]
ALPHA_S, BETA_S = 2e-6, 1e-10


def samples_s(time_s: Callable[[int], float], noise: float = 0.02) -> dict[int, list[float]]:
    """Samples of each size: never shorter than the time, and some of them much longer."""
    random = np.random.default_rng(1)
    return {
        size: [time_s(size) * (1 + noise * random.exponential()) + 1e-4 * (random.random() < 0.1) for _ in range(60)]
        for size in SIZES
    }


def two_protocols(size: int) -> float:
    return ALPHA_S + BETA_S * size if size <= 8192 else 3 * ALPHA_S + BETA_S / 2 * size


def test_a_line_is_found_through_disturbed_samples() -> None:
    fitted = line(resampled(samples_s(lambda size: ALPHA_S + BETA_S * size)))
    assert fitted.start_s[0] == pytest.approx(ALPHA_S, rel=0.02)
    assert fitted.slope_s[0] == pytest.approx(BETA_S, rel=0.02)
    assert fitted.deviation < 0.02
    low, high = np.quantile(fitted.slope_s[1:], (0.025, 0.975))
    assert BETA_S * 0.99 < low < fitted.slope_s[0] < high < BETA_S * 1.03


def test_a_line_is_exact_without_noise_and_never_below_zero() -> None:
    exact = line(resampled({size: [ALPHA_S + BETA_S * size] for size in SIZES}))
    assert (exact.start_s[0], exact.slope_s[0]) == (pytest.approx(ALPHA_S, rel=1e-9), pytest.approx(BETA_S, rel=1e-9))
    falling = line(resampled({size: [1e-6 / (1 + k)] for k, size in enumerate(SIZES)}))
    assert falling.slope_s[0] == 0 and falling.start_s[0] > 0
    steep = line(resampled({size: [1e-9 * size**1.2 + 1e-12] for size in SIZES[1:]}))
    assert steep.start_s[0] == 0 and steep.slope_s[0] > 0


def test_a_break_is_found_where_there_is_one() -> None:
    assert break_after(resampled(samples_s(two_protocols))) == 8192
    assert break_after(resampled(samples_s(lambda size: ALPHA_S + BETA_S * size))) is None


def all_samples() -> list[dict[str, Any]]:
    kinds: dict[str, Callable[[int], float]] = {
        "half_round_trip": two_protocols,
        "exchange": lambda size: 1.25 * two_protocols(size),
        "send": lambda size: 0.4e-6 + 0.2e-10 * size,
        "receive": lambda size: 0.6e-6 + 0.4e-10 * size,
        "gap": lambda size: 0.5e-6 + BETA_S * size,
        "reduce": lambda size: 1e-10 * (size or 8),
        "copy": lambda size: 2e-11 * (size or 8),
    }
    return [
        {"kind": kind, "peer": 1, "bytes": size, "time_s": time_s}
        for kind, of in kinds.items()
        for size, times_s in samples_s(of, noise=0.001).items()
        for time_s in times_s
    ]


def test_the_models_are_fitted() -> None:
    found = calibrate(all_samples(), mpi="An MPI", hosts=["a", "a"])
    eager, rendezvous = found.ranges
    assert (eager.last_bytes, rendezvous.first_bytes, found.S_bytes) == (8192, 16384, 8192)
    assert rendezvous.beta_s.value == pytest.approx(BETA_S / 2, rel=0.02)
    assert found.exchange_factor.value == pytest.approx(1.25, rel=0.01)
    values = (
        found.o_send_s,
        found.o_receive_s,
        found.O_s,
        found.L_s,
        found.g_s,
        found.G_s,
        found.gamma_s,
        found.copy_s,
    )
    expected = (0.4e-6, 0.6e-6, 0.3e-10, 1e-6, 0.5e-6, BETA_S, 1e-10, 2e-11)
    assert [v.value for v in values] == pytest.approx(list(expected), rel=0.02)
    assert all(v.low <= v.value <= v.high for v in values)


@pytest.mark.parametrize("model", ["hockney", "loggp"])
def test_the_machine_file_is_one_that_simulate_takes(model: Any) -> None:
    text = machine_file(calibrate(all_samples(), mpi='An "MPI"', hosts=["a", "b"]), "mine", model, "mine.json")
    machine = hocket.Machine.parse(text)
    assert (machine.name, machine.model) == ("mine", model)
    assert machine.description.startswith("Measured on ")
    if model == "loggp":
        assert {key: machine.network[key] for key in ("L", "S")} == {"L": "1.000 us", "S": "8192 B"}
    call = hocket.Call(ranks=4, size_bytes=65536)
    assert hocket.simulate("allreduce/ring", call, machine=machine).time_s.mean > 0


def test_samples_that_are_missing_are_named() -> None:
    with pytest.raises(hocket.Error, match="there are no samples of copy"):
        calibrate([one for one in all_samples() if one["kind"] != "copy"], mpi="", hosts=[])


@pytest.mark.usefixtures("as_root")
def test_a_real_machine_is_measured(mpi: Mpi, hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    path = tmp_path / "here.toml"
    command = f"mpi calibrate -n 2 --time-limit 0 --most 64KiB --mpicc {mpi.installation.mpicc} --json -o {path}"
    found = hocket_command(*command.split()).json
    assert found["mpi"] == mpi.installation.library and len(found["hosts"]) == 2
    recorded = json.loads((tmp_path / "here.json").read_text())
    assert len(recorded["measurements"]) == found["samples"] > 1000
    assert {"half_round_trip", "copy"} <= {sample["kind"] for sample in recorded["measurements"]}
    assert all(sample["time_s"] > 0 for sample in recorded["measurements"])
    simulated = hocket_command(f"simulate allreduce ring --ranks 8 --size 64KiB --json --machine {path}").json
    assert simulated["machine"] == "here" and simulated["formula_s"] > 0


def test_samples_do_not_go_where_the_machine_does(
    mpi: Mpi, bad_input: Callable[..., str], as_root: None, tmp_path: Path
) -> None:
    message = bad_input(*f"mpi calibrate -n 2 -o {tmp_path}/here.json --mpicc {mpi.installation.mpicc}".split())
    assert message == f"--output: got {tmp_path}/here.json, expected another suffix: the samples go there"


def test_a_largest_message_must_be_large_enough(mpi: Mpi, bad_input: Callable[..., str], as_root: None) -> None:
    message = bad_input(*f"mpi calibrate -n 2 --most 1KiB --mpicc {mpi.installation.mpicc}".split())
    assert message == "--most: got 1 KiB, expected 64 KiB to less than 1 GiB"
