"""`hocket study landscape`: the best algorithm of each case."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hocket


def test_the_fastest_is_the_fastest_and_a_library_is_no_faster(
    hocket_command: Callable[..., Any], tmp_path: Path
) -> None:
    folder = tmp_path / "maps"
    done = hocket_command("study", "landscape", "--quick", "--figure", "2", "-o", str(folder))
    assert done.status == 0, done.err
    with (folder / "allreduce.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 * 2 * 2
    for row in rows:
        assert float(row["over_bound"]) >= 1
        assert float(row["time_s"]) <= float(row["second_s"])
        for library in hocket.LIBRARY_RULES:
            is_known = row["machine"] != "two-level cluster"
            assert bool(row[library]) == is_known
            assert not is_known or float(row[f"{library}_over_best"]) >= 1
    table = (folder / "landscape.md").read_text().splitlines()
    assert [line.count("|") for line in table] == [7] * (2 + 4)
    assert (folder / "figure-02.png").read_bytes().startswith(b"\x89PNG")
