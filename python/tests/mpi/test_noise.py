"""`hocket mpi noise`: interruptions of this machine's processors, as a trace for the simulator."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import hocket
from hocket.mpi.noise import Recording, by_duration, noise_trace
from tests.conftest import Ran

needs_a_compiler = pytest.mark.skipif(shutil.which(os.environ.get("CC", "cc")) is None, reason="no C compiler")

TICKS = Recording(0, 1.0, 1e-7, tuple((0.004 * tick, 2e-6) for tick in range(250)))
"""A timer interrupt every 4 ms."""
DAEMON = Recording(3, 1.0, 1e-7, ((0.1, 2e-6), (0.5, 5e-3)))


def test_shares_and_periods() -> None:
    assert TICKS.share == pytest.approx(250 * 2e-6) and TICKS.period_s == 0.004
    assert Recording(0, 1.0, 1e-7, ()).period_s is None
    short, long = by_duration([TICKS, DAEMON])
    assert (short.events, long.events) == (251, 1)
    assert (long.period_s, long.duration_s, long.share) == (2.0, 5e-3, 2.5e-3)
    assert short.period_s == pytest.approx(2 / 251) and short.duration_s == pytest.approx(2e-6)
    assert by_duration([Recording(0, 1.0, 1e-7, ())]) == ()


def test_the_trace_is_one_that_simulate_takes(tmp_path: Path) -> None:
    text, length_s = noise_trace([TICKS, DAEMON])
    assert length_s == 2.0 and "1.500000000 0.005000000\n" in text
    (tmp_path / "noise.txt").write_text(text)
    machine = tmp_path / "noisy.toml"
    machine.write_text(
        'name = "noisy"\n[network]\nmodel = "hockney"\nlatency = "1 us"\nbandwidth = "1 GB/s"\n'
        '[node]\nreduce_bandwidth = "1 MB/s"\n'
        f'[noise.os]\nmodel = "trace"\nfile = "noise.txt"\nlength = "{length_s} s"\n'
    )
    call = hocket.Call(ranks=2, size_bytes=1_000_000)
    found = hocket.simulate("reduce/linear", call, machine=machine, trials=hocket.Trials(2000))
    # A reduction of 1 s meets 126 events on average; events take 0.0005 + 0.005 s in 2 s.
    assert found.formula_s is not None
    assert found.time_s.mean - found.formula_s == pytest.approx((250 * 2e-6 + 2e-6 + 5e-3) / 2, rel=0.1)


@needs_a_compiler
def test_this_machine_is_recorded(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    path = tmp_path / "noise.txt"
    found = hocket_command(f"mpi noise --time 200ms --shortest 2us --json -o {path}").json
    assert [one["processor"] for one in found["processors"]] == sorted(os.sched_getaffinity(0))
    for one in found["processors"]:
        assert one["length_s"] >= 0.2 and 0 <= one["share"] < 1 and 0 < one["quantum_s"] < 1e-4
    lines = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
    assert len(lines) == sum(one["events"] for one in found["processors"]) == sum(k["events"] for k in found["kinds"])
    assert all(float(duration) >= 2e-6 for _, duration in lines)
    starts = [float(start) for start, _ in lines]
    assert starts == sorted(starts) and all(start <= found["length_s"] for start in starts)
    one = min(os.sched_getaffinity(0))
    out = hocket_command(f"mpi noise --time 10ms --processors {one}").out
    assert out.splitlines()[0].split() == ["processor", "events", "period", "duration", "longest", "share"]


def test_bad_input_is_one_line(bad_input: Callable[..., str]) -> None:
    assert bad_input("mpi noise --processors x") == '--processors: got "x", expected processors such as 0-3 or 0,2'
    assert bad_input("mpi noise --processors 99999").startswith('--processors: got "99999", expected processors of ')
    assert bad_input("mpi noise --time", "0 s") == "--time: got 0 s, expected more than 0 s and no more than an hour"
