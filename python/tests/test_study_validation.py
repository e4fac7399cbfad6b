"""`hocket study validation`: sources that are here agree, and others say why they are not here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hocket.studies import STUDIES
from hocket.studies.study import Rows, Work
from hocket.studies.validation import PYTHON_VARIABLE
from tests.conftest import Ran

STUDY = STUDIES["validation"]


def rows(name: str, scope: str) -> Rows:
    with ThreadPoolExecutor(1) as executor:
        return STUDY.compute(name, STUDY.scopes[scope], Work(executor, lambda: None))


@pytest.mark.parametrize(("name", "least"), [("formulas", 200), ("loggops", 10)])
def test_exact_forms_and_cases_by_hand_agree(name: str, least: int) -> None:
    found = rows(name, "default")
    assert len(found) >= least
    for row in found:
        assert row["hocket_s"] == pytest.approx(row["other_s"], rel=1e-9), row


def test_what_is_not_here_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(PYTHON_VARIABLE, "/bin/false")
    monkeypatch.setenv("PATH", str(tmp_path))
    data: Mapping[str, Rows] = {name: rows(name, "default") for name in ("simgrid", "mpi", "lab")}
    reasons = [row["note"] for found in data.values() for row in found]
    assert reasons[0] == f"not here: /bin/false has no SimGrid (pip install simgrid); {PYTHON_VARIABLE} names another"
    assert all("mpicc is not a program" in reason for reason in reasons[1:])
    assert {claim.holds for claim in STUDY.claims(data)} == {"not measured"}


def test_the_command_writes_data_and_pictures(tmp_path: Path, hocket_command: Callable[..., Ran]) -> None:
    ran = hocket_command(f"study validation --quick --output {tmp_path} --json")
    assert [claim["holds"] for claim in ran.json["claims"] if "orm" in claim["claim"]] == ["yes"]
    assert (tmp_path / "formulas.csv").read_text().startswith("case,size_bytes,hocket_s,other_s,note\n")
    assert (tmp_path / "figure-01.png").read_bytes().startswith(b"\x89PNG")
