"""`hocket sweep --plot` and `hocket sweep plot`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hocket

SPEC = """
ranks = [3, 4]
sizes = ["8B", "1KiB"]
[algorithms]
"allreduce/ring" = {}
"allgather/neighbor_exchange" = {}
"""
BEGINS = {".png": b"\x89PNG", ".svg": b"<svg", ".html": b"<!DOCTYPE html>"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("spec.toml").write_text(SPEC)


@pytest.fixture
def table() -> None:
    hocket.sweep("spec.toml", output="table.csv")


def test_a_sweep_draws_its_table(hocket_command: Callable[..., Any]) -> None:
    ran = hocket_command("sweep spec.toml --output table.csv --plot table.svg")
    assert ran.out.splitlines() == ["spec.toml: 8 simulations, 2 refused", "table: table.csv", "plot: table.svg"]
    assert Path("table.svg").read_bytes().startswith(BEGINS[".svg"])
    assert hocket_command("sweep --plot table.svg spec.toml --json").json["plot"] == "table.svg"


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("ending", BEGINS)
def test_a_table_is_drawn_anew(hocket_command: Callable[..., Any], ending: str) -> None:
    ran = hocket_command(f"sweep plot table.csv -o table{ending}")
    assert ran.out.splitlines() == ["table.csv: 8 simulations, 2 refused", f"plot: table{ending}"]
    assert Path(f"table{ending}").read_bytes().lstrip().startswith(BEGINS[ending])


@pytest.mark.usefixtures("table")
def test_what_is_drawn_can_be_chosen(hocket_command: Callable[..., Any]) -> None:
    ran = hocket_command("sweep plot table.csv -o table.svg --x ranks --color size_bytes --facet collective --json")
    assert ran.json == {
        **{"table": "table.csv", "rows": 8, "refused": 2, "plot": "table.svg"},
        "version": hocket.__version__,
    }
    assert all(word in Path("table.svg").read_text() for word in ("1 KiB", ">ranks<", "allgather"))


def test_a_spec_named_plot_is_swept_by_its_path(hocket_command: Callable[..., Any]) -> None:
    Path("plot").write_text(SPEC)
    assert hocket_command("sweep ./plot").out.startswith("./plot: 8 simulations, 2 refused\n")
    assert hocket_command("sweep plot --help").out.startswith("Usage: hocket sweep plot [OPTIONS] TABLE\n")


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("sweep plot table.csv", "--output is missing, expected --output FILE (the picture)"),
        ("sweep plot -o x.png", "TABLE is missing, expected hocket sweep plot TABLE"),
        ("sweep plot table.csv -o x.gif", '--output: got "x.gif", expected a file that ends in .png or .html or .svg'),
        ("sweep plot table.csv -o x.png --x time", "x: got 'time', expected one of size_bytes, ranks"),
        ("sweep plot nowhere.csv -o x.png", "nowhere.csv: No such file or directory"),
        ("sweep plot spec.toml -o x.png", 'got "spec.toml", expected a file that ends in .csv or .parquet'),
        ("sweep spec.toml table.csv", 'got "table.csv" as well, expected only hocket sweep SPEC | plot TABLE'),
        ("sweep nowhere.toml --plot x.gif", '--plot: got "x.gif", expected a file that ends in .png or .html or .svg'),
    ],
)
def test_bad_input(bad_input: Callable[..., str], line: str, message: str) -> None:
    assert bad_input(line) == message
    assert not Path("x.png").exists()
