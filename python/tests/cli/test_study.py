"""`hocket study pacing`."""

from collections.abc import Callable
from pathlib import Path

from tests.conftest import Ran


def test_figures_and_claims_are_written(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    found = hocket_command(f"study pacing --quick --trials 2 --figure 2 --figure 4 --json -o {tmp_path}").json
    assert {claim["holds"] for claim in found["claims"]} <= {"yes", "no", "not measured"}
    names = {"torus_2d.csv", "overlaps.csv", "claims.csv", "figure-02.png", "figure-02.html", "figure-04.png"}
    assert names <= {path.name for path in tmp_path.iterdir()}
