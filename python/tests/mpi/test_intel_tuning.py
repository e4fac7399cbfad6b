"""Intel MPI does what written variables say: its messages are those of the algorithms that they name.

A recorder in place of libfabric records the destination and the bytes of each message of each rank, in order.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

import pytest

from hocket.rules.tuning_files.counterparts import LIBRARIES, Counterpart
from hocket.rules.tuning_files.deciding import deciding_rule, situation
from hocket.rules.tuning_files.form import ANY, Choice, Rule, Rules, Span
from hocket.rules.tuning_files.formats import FORMATS, read
from hocket.rules.tuning_files.translation import perform, to_hocket

from .conftest import Mpi
from .test_library_messages import Case, Sent, are_alike, recorded, sent

pytestmark = pytest.mark.real_mpi

LIBRARY = LIBRARIES["intelmpi-2021"]
SIZES_BYTES = (800, 1608)
"""On both sides of the threshold in written files."""
OF_POWERS_OF_TWO = {
    *((function, "recursive_doubling") for function in ("allgather", "allgatherv", "bcast")),
    ("reduce", "rabenseifner"),
}
"""On other numbers of ranks another algorithm runs, or odd ranks are folded into even ones."""


@pytest.fixture(scope="module")
def recorder(intel_mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorder, which takes the other functions of libfabric from the real library."""
    folder = tmp_path_factory.mktemp("recorder")
    (folder / "versions").write_text("FABRIC_1.1 { global: fi_fabric; recorder_*; local: *; };\n")
    libraries = intel_mpi.installation.mpicc.parents[1] / "lib"
    source, target = Path(__file__).parent / "programs/recorder_ofi.c", folder / "librecorder_ofi.so"
    linking = ["-Wl,--version-script=versions", "-Wl,--no-as-needed", f"-L{libraries}", "-l:libfabric.so.1"]
    line = ["cc", "-shared", "-fPIC", "-O1", source, "-o", target, *linking, f"-Wl,-rpath,{libraries}"]
    subprocess.run(line, check=True, capture_output=True, cwd=folder)
    return target


def variables_of(file: Path, intel_mpi: Mpi, recorder: Path) -> dict[str, str]:
    """Return the variables of a file as a shell sets them, and those that make all messages go by the recorder."""
    line = f"source {shlex.quote(str(file))}; env"
    shown = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True).stdout
    root = intel_mpi.installation.mpicc.parents[1]
    return {
        **dict(re.findall(r"^(I_MPI_ADJUST_\w+)=(.*)$", shown, re.MULTILINE)),
        **{"I_MPI_ROOT": str(root), "LD_LIBRARY_PATH": str(root / "lib"), "I_MPI_PIN": "0"},
        **{"I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp", "I_MPI_OFI_LIBRARY": str(recorder)},
    }


def pairs(function: str, ranks: int) -> Iterator[tuple[Counterpart, Counterpart]]:
    """Give the algorithms that are compared, in pairs: one for short messages and one for long ones."""
    known = [
        each
        for each in LIBRARY.algorithms[function]
        if each.hocket and not (ranks & (ranks - 1) and (function, each.name) in OF_POWERS_OF_TWO)
    ]
    for number in range(0, len(known), 2):
        yield known[number], known[(number + 1) % len(known)]


def files(ranks: int) -> Iterator[Rules]:
    """Give rules that name every algorithm of Hocket's."""
    for some in zip_longest(*(pairs(function, ranks) for function in LIBRARY.algorithms)):
        rules: list[Rule] = []
        for function, pair in zip(LIBRARY.algorithms, some, strict=True):
            measure = LIBRARY.measures[function]
            threshold = 1000 // (ranks if measure == "share" else 1)
            spans = [Span(0, threshold), Span(threshold + 1)] if measure != "nothing" else [ANY]
            for span, each in zip(spans, pair or (), strict=False):
                rules.append(Rule(function, Choice(each.name), sizes=span, measure=measure))
        yield Rules(LIBRARY.name, tuple(rules))


def simulated(case: Case, rules: Rules) -> tuple[str, Sent]:
    """Return the algorithm that rules name for a case, and its messages."""
    own = situation(case.function, case.ranks, case.size_bytes, element_bytes=case.call.element_bytes)
    rule = deciding_rule(rules, own)
    assert rule is not None and rule.choice is not None
    ours = to_hocket(case.function, perform(rules, rule.choice, own).choice, rules.library).choice
    assert ours is not None
    call = replace(case.call, parameters=dict(ours.parameters))
    return rule.choice.algorithm, recorded(f"{case.collective}/{ours.algorithm}", call)


def without_own(real: Sent) -> Sent:
    """Return messages without those of ranks to themselves."""
    return {rank: [(to, bytes_) for to, bytes_ in own if to != rank] for rank, own in real.items()}


@pytest.mark.parametrize("ranks", [4, 5, 8])
def test_written_variables_choose_by_size(intel_mpi: Mpi, recorder: Path, tmp_path: Path, ranks: int) -> None:
    compared: set[tuple[str, str]] = set()
    for number, rules in enumerate(files(ranks)):
        file = tmp_path / f"{number}.intelmpi-2021.sh"
        file.write_text(FORMATS[rules.library].write(rules))
        wanted = [
            Case(function, ranks, 1, 0 if function == "barrier" else size)
            for function in rules.functions
            for size in ((8 * ranks, 1600 * ranks) if function.startswith("reduce_scatter") else SIZES_BYTES)
        ]
        variables = variables_of(file, intel_mpi, recorder)
        for case, real in zip(wanted, sent(intel_mpi, wanted, variables, recorder=recorder), strict=True):
            assert real is not None
            name, messages = simulated(case, read(file))
            is_other_order = (case.function, name) == ("scatter", "shumilin")
            own = without_own(real)
            if is_other_order:
                own = {rank: sorted(each) for rank, each in own.items()}
            if name == "shumilin" and case.function == "bcast":  # its segments follow a message of 8 bytes
                own = {rank: [one for one in each if one[1] != 8] for rank, each in own.items()}
            assert are_alike(own, messages, case), f"{case}: {name}\n{own}\n{messages}"
            compared.add((case.function, name))
    assert len(compared) > 30


VALUES = (
    "2:100-200;1",
    "2:0-100@2;1:0-100@4;8",
    "2:0-100@4;1:101-200@4;8",
    "1;2:0-200",
    "2:0-96,200;5:5-1",
    "5:0-200@3;2",
)
"""Values with sizes that the library reads otherwise than they look."""


@pytest.mark.parametrize("nodes", [(), (2, 2), (1, 1, 1, 1)], ids=["one node", "2+2", "1+1+1+1"])
@pytest.mark.parametrize("value", VALUES)
def test_values_are_read_as_they_are_explained(
    intel_mpi: Mpi, recorder: Path, tmp_path: Path, value: str, nodes: tuple[int, ...]
) -> None:
    file = tmp_path / "some.intelmpi-2021.sh"
    file.write_text(f"export I_MPI_ADJUST_ALLREDUCE='{value}'\n")
    wanted = [Case("allreduce", 4, 0, size) for size in (8, 96, 104, 200, 208, 1000)]
    variables = variables_of(file, intel_mpi, recorder)
    for case, real in zip(wanted, sent(intel_mpi, wanted, variables, nodes, recorder=recorder), strict=True):
        assert real is not None
        name, messages = simulated(case, read(file))
        assert are_alike(without_own(real), messages, case), f"{case}: {name}\n{real}\n{messages}"


@pytest.mark.parametrize(
    ("value", "warning"),
    [
        ("2:0-100;33", "Incorrect algorithm: ALLREDUCE=33, will be ignored"),
        ("2:0-100;ring", "Incorrect adjust value: ALLREDUCE=2:0-100;ring, will be ignored"),
        ("2:0-max", "Incorrect adjust value: ALLREDUCE=2:0-max, will be ignored"),
    ],
)
def test_what_is_wrong_is_ignored(intel_mpi: Mpi, tmp_path: Path, value: str, warning: str) -> None:
    root = intel_mpi.installation.mpicc.parents[1]
    settings = {"I_MPI_ROOT": str(root), "LD_LIBRARY_PATH": str(root / "lib"), "I_MPI_ADJUST_ALLREDUCE": value}
    line = [str(intel_mpi.installation.mpiexec), "-n", "2", intel_mpi.compiled("alone.c"), "1", "1"]
    ran = subprocess.run(line, capture_output=True, text=True, env={**os.environ, **settings}, check=True)
    assert warning in ran.stdout + ran.stderr
