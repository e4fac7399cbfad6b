"""A call is left to MPI only for values that MPI requires to agree on all ranks."""

from __future__ import annotations

import re

import pytest

from .conftest import ROOT

PRELOAD = ROOT / "mpi" / "preload"
OWN = ("address", "input", "result", "is_refused", "is_missing", "is_absent", "wrong", "code", "in_place")
"""The values of a call that may differ between ranks."""


def functions(name: str) -> dict[str, str]:
    """Return the functions of a C file by name, without comments."""
    text = re.sub(r"/\*.*?\*/", "", (PRELOAD / name).read_text(), flags=re.DOTALL)
    found = re.findall(r"^(?:static )?[\w ]+[ *](\w+)\([^;{]*\)\n(\{\n.*?^\})", text, re.DOTALL | re.MULTILINE)
    return dict(found)


def test_descriptions_of_calls_leave_none_to_mpi() -> None:
    for name, body in functions("collectives.c").items():
        assert name == "begin" or "reason" not in body, name


def test_reasons_are_given_by_two_functions() -> None:
    givers = {
        function
        for file in (PRELOAD / "shim").glob("*.c")
        for function, body in functions(f"shim/{file.name}").items()
        if re.search(r"\bcall->reason = ", body)
    }
    assert givers == {"prepare", "leave"}


@pytest.mark.parametrize("function", ["reason_of", "is_of_neighbors", "take_operation"])
def test_no_reason_comes_from_what_a_rank_gives_by_itself(function: str) -> None:
    body = functions("shim/operation.c")[function]
    assert not [name for name in OWN if re.search(rf"->{name}\b", body)], body


@pytest.mark.parametrize("judge", ["shim_error_of", "shim_is_memory"])
def test_own_arguments_are_judged_in_one_place(judge: str) -> None:
    bodies = {
        f"{file.name}: {name}": body
        for file in PRELOAD.rglob("*.c")
        for name, body in functions(str(file.relative_to(PRELOAD))).items()
    }
    assert [place for place, body in bodies.items() if f"{judge}(" in body] == ["collectives.c: check_view"]
