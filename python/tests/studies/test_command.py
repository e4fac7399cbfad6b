"""`hocket study pacing`."""

from collections.abc import Callable
from pathlib import Path

from tests.conftest import Ran


def test_figures_and_claims_are_written(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    found = hocket_command(f"study pacing --quick --trials 2 --figure 2 --figure 4 --json -o {tmp_path}").json
    assert {claim["holds"] for claim in found["claims"]} <= {"yes", "no", "not measured"}
    names = {"torus_2d.csv", "overlaps.csv", "claims.csv", "figure-02.png", "figure-02.html", "figure-04.png"}
    assert names <= {path.name for path in tmp_path.iterdir()}


def test_trinaryx3(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    found = hocket_command(f"study trinaryx3 --quick --figure 13 --figure 15 --json -o {tmp_path}").json
    holds = {claim["claim"]: claim["holds"] for claim in found["claims"]}
    assert holds["Links that waited at 1 MiB: trinaryx3"] == "yes"
    assert holds["Computation, as a part of allreduce"] == "yes"
    assert {"breakdown.csv", "links.csv", "figure-13.png", "figure-15.html"} <= {p.name for p in tmp_path.iterdir()}


def test_multicast(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    found = hocket_command(f"study multicast --quick --figure 8 --figure 9 --figure 11 --json -o {tmp_path}").json
    holds = {claim["claim"]: claim["holds"] for claim in found["claims"]}
    assert holds.pop("8 MB: faster than the broadcast that the paper takes MPI_Bcast for") == "no"
    assert set(holds.values()) == {"yes"} and len(holds) == 6
    assert {"evaluation_8mb.csv", "figure-08.png", "figure-11.html"} <= {path.name for path in tmp_path.iterdir()}


def test_optical(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    found = hocket_command(f"study optical --quick --figure 4 --figure 6 --figure 7 --json -o {tmp_path}").json
    holds = {claim["claim"]: claim["holds"] for claim in found["claims"]}
    table_4 = "Table 4: 1 port (naive), 2, 3, 4; last release {}, Alltoall by blocks, even computing"
    assert holds[table_4.format("waited")] == "yes" and holds[table_4.format("merged")] == "no"
    assert holds["Figures 6 to 9 are equations (1) to (8)"] == "yes"


def test_options_that_make_no_sense_are_refused(bad_input: Callable[..., str], tmp_path: Path) -> None:
    assert "expected one of them" in bad_input(f"study pacing --quick --full -o {tmp_path}")
    assert "has no trials" in bad_input(f"study trinaryx3 --quick --trials 5 -o {tmp_path}")
    assert "expected a path" in bad_input("study", "pacing", "--output", "")
    assert not list(tmp_path.iterdir())
