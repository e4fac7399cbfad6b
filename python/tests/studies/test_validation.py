"""Hocket compared with other simulators and models."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from hocket._native import Error
from hocket.definitions.machine import Machine
from hocket.mpi import Installation
from hocket.mpi.launchers import Template
from hocket_lab.laboratory import Lab, temporary
from hocket_studies import STUDIES, Claim
from hocket_studies.validation.closed_forms import closed_forms
from hocket_studies.validation.comparison import Case, Comparison
from hocket_studies.validation.host import host
from hocket_studies.validation.laboratory import laboratory
from hocket_studies.validation.loggops import by_hand, loggopsim_output, loggopsim_published
from hocket_studies.validation.papers import numbers
from hocket_studies.validation.pictures import deviations
from hocket_studies.validation.report import COLUMNS, cells, facts, markdown
from hocket_studies.validation.simgrid_comparison import simgrid, simgrid_clusters
from tests.conftest import Ran
from tests.mpi.conftest import wrappers


@pytest.fixture(scope="module")
def closed() -> Comparison:
    return closed_forms()


def test_exact_closed_forms_are_exact(closed: Comparison) -> None:
    assert len(closed.cases) > 500 and closed.sizes[-1] < 1e-12
    assert "0 of them are above it" in closed.incomparable


def test_loggops_is_what_formulas_by_hand_say() -> None:
    found = by_hand()
    assert len(found.cases) > 50 and found.sizes[-1] < 1e-12


def test_loggopsim_charges_the_receive_elsewhere() -> None:
    # Two ranks, 8 B: 2 o + L + 7 G = 5542 ns in Hocket; LogGOPSim adds 7 G = 42 ns.
    case = next(
        case for case in loggopsim_published().cases if case.name == "allreduce/recursive_doubling, 2 ranks, 8 B"
    )
    assert case.hocket == pytest.approx(5542e-9) and case.other == pytest.approx(5584e-9)


def test_loggopsim_is_run_on_recorded_schedules(tmp_path: Path) -> None:
    program = tmp_path / "LogGOPSim"
    program.write_text('#!/bin/sh\ntest -s "$2" && echo "Host 0: 5542" && echo "Host 1: 5584"\n')
    program.chmod(0o755)
    found = loggopsim_output(str(program))
    assert found.why_not is None and all(case.other == pytest.approx(5584e-9) for case in found.cases)
    program.write_text("#!/bin/sh\necho nothing\n")
    assert "expected lines such as" in str(loggopsim_output(str(program)).why_not)


def test_simgrid_gets_messages_that_match_and_hosts_beside_the_same_links(tmp_path: Path) -> None:
    program, data = tmp_path / "python", tmp_path / "works.json"
    program.write_text(f"#!/bin/sh\ncat > {data}\necho '{json.dumps({'version': '4.1', 'times_s': [1.0] * 20})}'\n")
    program.chmod(0o755)
    found = simgrid_clusters(str(program))
    assert found.why_not is None and len(found.cases) == 20 and found.versions["SimGrid"] == "4.1"
    works = json.loads(data.read_text())
    for work in works:
        steps = [(rank, *step) for rank, steps in enumerate(work["steps"]) for step in steps]
        sends = [(rank, to) for rank, messages, _ in steps for to, _ in messages]
        receives = [(source, rank) for rank, _, sources in steps for source in sources]
        assert sends and sorted(sends) == sorted(receives)
    dragonfly, fat_tree = works[0]["hosts"], works[-1]["hosts"]
    assert fat_tree == list(range(32))
    # Router 0 of group 0 leads to group 1, as SimGrid's router 1; router 3 leads nowhere, as SimGrid's router 0.
    assert dragonfly[:8] == [2, 3, 4, 5, 6, 7, 0, 1]
    # In group 3, routers 0 to 2 lead to groups 0 to 2 in both.
    assert dragonfly[24:] == list(range(24, 32))


def test_what_is_not_there_is_not_run_with_a_reason() -> None:
    def build(_: Machine) -> AbstractContextManager[Lab]:
        raise AssertionError

    for found in (
        simgrid("/no/python"),
        simgrid_clusters("/no/python"),
        loggopsim_output(None),
        host(None, "no MPI"),
        laboratory(None, build, why_not="no MPI"),
    ):
        assert found.why_not and not found.cases and found.median is None
        row = cells(found)
        assert len(row) == len(COLUMNS) and row[1] == "not run" and found.why_not in row[-1]


def test_statistics_and_table() -> None:
    cases = tuple(Case(str(off), 1.0, 1.0 + off) for off in (0.0, 0.01, -0.02, 0.04, -0.5))
    found = Comparison("other | source", cases, "nothing", {"Other": "1"}, "remark")
    assert found.median == pytest.approx(0.02) and found.worst == cases[-1]
    low, high = found.interval or (1.0, 0.0)
    assert low <= 0.02 <= high <= 0.5
    table = markdown([found], facts([found])).splitlines()
    assert "Other 1" in table[0] and table[-1].startswith("| other \\| source: remark | 5 | 2.00% |")
    assert table[-1].replace("\\|", "").count("|") == len(COLUMNS) + 1
    assert len(deviations([found]).to_dict()["layer"]) == 2


@pytest.mark.parametrize(
    ("paper", "hocket", "pairs"),
    [
        ("2.67, 2.33 s", "2.50, 2.33 s", [(2.67, 2.5), (2.33, 2.33)]),
        ("47 %", "50%", [(47, 50)]),
        ("fig 8", "up to 7.6", []),
        ("> 0.6 s", "0.626 s", []),
        ("2^15", "-", []),
        ("1.4 GB/s", "2.99 GB/s", [(1.4, 2.99)]),
    ],
)
def test_numbers_of_a_claim_are_compared_if_they_are_alike(
    paper: str, hocket: str, pairs: list[tuple[float, float]]
) -> None:
    claim = Claim("claim", paper, hocket, "yes", "why")
    assert [(case.other, case.hocket) for case in numbers(claim)] == pairs


def test_command(
    hocket_command: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, closed: Comparison, tmp_path: Path
) -> None:
    monkeypatch.setattr("hocket_studies.validation.writing.closed_forms", lambda: closed)
    monkeypatch.setattr("hocket_studies.validation.writing.STUDIES", {"optical": STUDIES["optical"]})
    found = hocket_command(f"study validation --quick --json --simgrid-python /no/python -o {tmp_path}").json
    rows = {row["source"]: row for row in found["rows"]}
    assert rows["closed forms"]["worst"] < 1e-12 and rows["paper: optical"]["cases"] > 0
    assert rows["this host's MPI"]["not_run"] == rows["labs"]["not_run"] == "--quick measures nothing"
    assert {"validation.md", "validation.json", "validation.png", "validation.html"} == {
        path.name for path in tmp_path.iterdir()
    }


def test_options_of_other_studies_are_refused(bad_input: Callable[..., str], tmp_path: Path) -> None:
    assert "neither figures nor trials" in bad_input(f"study validation --trials 5 -o {tmp_path}")
    assert "are for study validation" in bad_input(f"study optical --simgrid-python python -o {tmp_path}")


@pytest.mark.real_mpi
def test_this_host_and_a_lab() -> None:
    found = wrappers()
    if not found:
        pytest.skip("no MPI, expected what `make setup` or `make test-mpi` installs")
    installation = Installation.find(found[0])
    measured = host(installation)
    assert measured.why_not is None and len(measured.cases) > 100 and (measured.median or 0) < 1
    built = laboratory(installation, temporary)
    if built.why_not:
        pytest.skip(built.why_not)
    assert len(built.cases) == 2 * 3 * 3 and (built.median or 0) < 0.3


def test_a_lab_that_cannot_be_built_is_not_run() -> None:
    def build(_: Machine) -> AbstractContextManager[Lab]:
        raise Error("hocket lab: needs root")

    installation = Installation(Path("mpicc"), Template(("mpiexec",)), "MPICH")
    assert laboratory(installation, build).why_not == "hocket lab: needs root"
