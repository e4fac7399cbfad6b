"""`hocket study atlas`: real machines, fitted and judged."""

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import hocket
from hocket.definitions.machine import presets
from hocket_studies import STUDIES, atlas
from hocket_studies.atlas import MACHINES
from tests.conftest import Ran


def test_a_machine_is_fitted_and_judged(
    hocket_command: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    few = {"quick": replace(STUDIES["atlas"].scopes["quick"], points=16)}
    monkeypatch.setitem(STUDIES, "atlas", replace(STUDIES["atlas"], scopes=few))
    found = hocket_command(f"study atlas --quick --figure 3 --figure 4 -o {tmp_path}")
    assert found.status == 0, found.err
    with (tmp_path / "lumi.csv").open() as file:
        rows = list(csv.DictReader(file))
    ranks = {use: {int(row["ranks"]) for row in rows if row["use"] == use} for use in ("fitted", "held out")}
    assert ranks == {"fitted": {4, 8}, "held out": {16}}
    with (tmp_path / "lumi-choices.csv").open() as file:
        assert all(float(row["regret"]) >= 1 for row in csv.DictReader(file))
    table = (tmp_path / "atlas.md").read_text().splitlines()
    assert all(line.count("|") == 13 for line in table)
    assert sum("**all**" in line for line in table) == 2
    assert (tmp_path / "figure-04.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", MACHINES)
def test_a_fitted_machine_is_a_preset(name: str) -> None:
    assert name in presets()
    ranges = Path(atlas.__file__).parent / "measured" / f"{name}.toml"
    assert hocket.Machine.load(name).model == "links" and ".." in ranges.read_text()
