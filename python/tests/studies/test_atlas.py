"""`hocket study atlas`: real machines, fitted and judged."""

import csv
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

import hocket
from hocket.definitions.machine import presets
from hocket_studies import STUDIES, atlas
from hocket_studies.atlas import MACHINES
from tests.conftest import Ran


@pytest.mark.long
def test_a_machine_is_fitted_and_judged(
    hocket_command: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    few = {"quick": replace(STUDIES["atlas"].scopes["quick"], points=16)}
    monkeypatch.setitem(STUDIES, "atlas", replace(STUDIES["atlas"], scopes=few))
    found = hocket_command(f"study atlas --quick --figure 3 --figure 4 --figure 10 -o {tmp_path}")
    assert found.status == 0, found.err
    with (tmp_path / "lumi.csv").open() as file:
        rows = list(csv.DictReader(file))
    ranks = {(row["fitted_to"], row["use"], int(row["ranks"])) for row in rows if row["use"] != "not used"}
    assert ranks == {
        *(("4 and 8 ranks", "fitted", count) for count in (4, 8)),
        ("4 and 8 ranks", "held out", 16),
        ("4 ranks", "held out", 8),
    }
    with (tmp_path / "lumi-choices.csv").open() as file:
        assert all(float(row["regret"]) >= 1 for row in csv.DictReader(file))
    table = (tmp_path / "atlas.md").read_text().splitlines()
    assert all(line.count("|") == 13 for line in table)
    assert sum("**all**" in line for line in table) == 2
    held_out = (tmp_path / "held-out.md").read_text().splitlines()
    assert all(line.count("|") == 13 for line in held_out)
    calls = [line.split("|")[3:8:4] for line in held_out if "**all**" in line]
    assert sorted((int(ranks), int(count)) for ranks, count in calls) == [(8, 27), (16, 53)]
    preset = hocket.Machine.load(tmp_path / "lumi.toml")
    assert (
        preset.quantities["network.link_latency_s"] == hocket.Machine.load("lumi").quantities["network.link_latency_s"]
    )
    assert preset.discrepancies[-1].calls == 80 and preset.discrepancies[-1].ranks == 16
    for number in ("04", "10"):
        assert (tmp_path / f"figure-{number}.png").read_bytes().startswith(b"\x89PNG")


def test_a_tile_is_how_far_off_an_algorithm_is_at_a_size_and_ranks() -> None:
    judged = hocket.fit(atlas._MEASURED / "pico.csv", machine="lumi", only=["system=lumi"], hold_out=["ranks>8"])
    rows = [{**asdict(cell), "fitted_to": "4 and 8 ranks"} for cell in judged.cells]
    (tiles,) = atlas._draw_residuals(rows, "LUMI").to_dict()["datasets"].values()
    assert {tile["job"] for tile in tiles} == {"4 ranks", "8 ranks", "16 ranks, held out"}
    assert sorted(tile["residual"] for tile in tiles) == sorted(cell.residual for cell in judged.cells)


def test_the_noise_floor_is_of_pairs_of_the_same_call() -> None:
    floors = atlas._floors()
    assert floors["system=lumi", "below 64 KiB"] == pytest.approx(0.24, abs=0.01)  # several jobs
    assert floors["system=lumi", "from 64 KiB"] == pytest.approx(0.03, abs=0.01)
    assert floors["system=leonardo", "below 64 KiB"] < 0.02  # one job, two names


@pytest.mark.parametrize("name", MACHINES)
def test_a_fitted_machine_is_a_preset(name: str) -> None:
    assert name in presets()
    ranges = Path(atlas.__file__).parent / "measured" / f"{name}.toml"
    assert hocket.Machine.load(name).model == "links" and ".." in ranges.read_text()
