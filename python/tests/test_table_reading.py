"""Tables of sweeps, read back from files, and invalid files."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import hocket

GRID = """
ranks = [4, 5]
sizes = ["8B", "64KiB"]
seed = 18446744073709551615
[algorithms]
"allreduce/recursive_doubling" = {}
"allreduce/redundant_butterfly" = { T = [0, 3] }
"allgather/neighbor_exchange" = {}
"barrier/dissemination" = {}
"""
HEADER = (
    "algorithm,collective,ranks,size_bytes,machine,noise,seed,trials,time_mean_s,refusal,version,parameters,param_T"
)
LINE = "ring,allreduce,4,8,cluster,,0,1,1e-06,,0.1.0,T=1,1"


@pytest.fixture(scope="module")
def table() -> hocket.Table:
    return hocket.sweep(hocket.Grid.parse(GRID))


def test_csv_is_read_back(table: hocket.Table, tmp_path: Path) -> None:
    table.write(tmp_path / "table.csv")
    assert hocket.Table.load(tmp_path / "table.csv") == table


def test_a_table_that_pandas_wrote_is_read(table: hocket.Table, tmp_path: Path) -> None:
    """pandas writes whole numbers as 112.0 if the column has empty cells."""
    table.to_pandas().to_csv(tmp_path / "table.csv", index=False)
    assert ".0," in (tmp_path / "table.csv").read_text()
    assert hocket.Table.load(tmp_path / "table.csv") == table


class ArrowError(Exception):
    """Replaces the exception of pyarrow."""


def read_by_polars(file: str) -> Any:
    """Replaces the class of pyarrow, as far as reading a table needs it."""
    import polars

    try:
        frame = polars.read_parquet(file)
    except polars.exceptions.PolarsError as error:
        raise ArrowError(str(error)) from error
    return SimpleNamespace(
        metadata=SimpleNamespace(num_rows=len(frame)), read=lambda: SimpleNamespace(to_pylist=frame.to_dicts)
    )


@pytest.fixture
def fake_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", SimpleNamespace(ArrowException=ArrowError))
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", SimpleNamespace(ParquetFile=read_by_polars))


@pytest.mark.usefixtures("fake_pyarrow")
def test_parquet_is_read_back(tmp_path: Path) -> None:
    table = hocket.sweep(hocket.Grid.parse(GRID.replace("18446744073709551615", "3")))
    table.to_polars().write_parquet(tmp_path / "table.parquet")
    assert hocket.Table.load(tmp_path / "table.parquet") == table


@pytest.mark.usefixtures("fake_pyarrow")
def test_what_is_no_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "table.parquet").write_text("no table")
    with pytest.raises(hocket.Error, match=r"table\.parquet: not a Parquet file that can be read: "):
        hocket.Table.load(tmp_path / "table.parquet")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", " no rows, expected the table of a sweep"),
        (HEADER + "\n", " no rows, expected the table of a sweep"),
        ("a,b\n1,2\n", " no column algorithm, expected the table of a sweep"),
        (f"{HEADER},speed\n{LINE},1\n", ' got a column "speed", expected the table of a sweep'),
        (f"{HEADER}\n{LINE}\n{LINE},1\n", " row 2: got more cells than columns"),
        (f"{HEADER}\n{LINE}\nring,allreduce\n", " row 2: ranks: got None, expected a whole number from 0 to 2^64 - 1"),
        (f"{HEADER}\n{LINE.replace(',4,', ',four,')}\n", " row 1: ranks: got 'four', expected a whole number"),
        (f"{HEADER}\n{LINE.replace(',4,', ',-4,')}\n", " row 1: ranks: got '-4', expected a whole number"),
        (f"{HEADER}\n{LINE.replace(',4,', ',4.5,')}\n", " row 1: ranks: got '4.5', expected a whole number"),
        (f"{HEADER}\n{LINE.replace(',4,', ',' + '9' * 5000 + ',')}\n", " row 1: ranks: got '999"),
        (f"{HEADER}\n{LINE.replace('1e-06', 'nan')}\n", " row 1: time_mean_s: got 'nan', expected a finite number"),
        (f'{HEADER}\n{LINE}\n"ring"x{LINE}\n', "3: not CSV: "),
        (
            f"{HEADER}\n{LINE.replace('1e-06', '')}\n",
            " row 1: time_mean_s is empty, expected a value, as the call was not refused",
        ),
        (
            f"{HEADER},trials\n{LINE},2\n",
            " row 1: time_interval_low_s is empty, expected a value, as the call was not refused",
        ),
    ],
)
def test_what_is_no_table_is_refused_in_one_line(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad_input: Callable[..., str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_text(text)
    told = bad_input("sweep plot table.csv -o table.png")
    assert told.startswith("table.csv:" + message)
    assert not Path("table.png").exists()
