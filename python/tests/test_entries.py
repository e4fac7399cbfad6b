"""Every way to ask for a call on a machine completes the call alike: on a torus that is no cube."""

from __future__ import annotations

from pathlib import Path

import pytest

import hocket

TORUS = """
name = "lopsided"
[network]
model = "links"
topology = "torus"
dims = [4, 2, 3]
link_bandwidth = "4 GB/s"
link_latency = "100 ns"
[node]
ports = 2
software_latency = "1 us"
"""
LABELS = [f"allreduce/{name}" for name in ("ring", "swing_torus", "torus_bucket", "trinaryx3")]


@pytest.mark.parametrize("label", LABELS)
def test_a_sweep_and_a_comparison_take_the_machines_torus(label: str, tmp_path: Path) -> None:
    machine = tmp_path / "lopsided.toml"
    machine.write_text(TORUS)
    call = hocket.Call(ranks=24, size_bytes=24000)
    try:
        time_s = hocket.simulate(label, call, machine=machine).time_s.mean
        refusal = ""
    except hocket.Error as error:
        refusal = str(error)
    text = f'ranks = 24\nsizes = "24000B"\nmachines = "lopsided.toml"\n[algorithms]\n"{label}" = {{}}\n'
    (row,) = hocket.sweep(hocket.Grid.parse(text, str(tmp_path / "grid.toml"))).rows
    assert (row.refusal or "") == refusal
    if not refusal:
        assert row.time_mean_s == time_s
        assert hocket.record(label, call, machine=machine) is not None
