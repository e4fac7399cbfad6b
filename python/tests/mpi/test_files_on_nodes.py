"""On nodes with several ranks, Open MPI runs what the files say that Hocket writes, with the settings that it prints.

The nodes are this host under other names.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

import hocket
from hocket.mpi.launch import environment_of_crowd
from hocket.mpi.turns import Turns
from hocket.rules.tuning_files.activation import parameters_text, settings_of
from hocket.rules.tuning_files.checking import findings
from hocket.rules.tuning_files.form import Format
from hocket.rules.tuning_files.formats import FORMATS, read
from hocket.rules.tuning_files.openmpi_classic import FUNCTIONS
from hocket.rules.tuning_files.openmpi_han import COMPONENTS, FUNCTIONS_OF_HAN
from hocket.tuning.choice import DEFAULT, Choice, Decision, Point
from hocket.tuning.exporting import exporter_for
from hocket.tuning.measuring import own_choices, ways_of
from tests.conftest import Ran
from tests.tuning_files.test_formats import BAD

from .conftest import AS_ROOT, SECONDS, Mpi
from .test_library_messages import COLLECTIVES, Case, Sent, are_alike, recorded, sent

RULES = """
allgather: ring
allreduce: ring
barrier: dissemination
broadcast: chain, segment=8KiB
gather: linear
reduce: chain, segment=8KiB
scatter: linear
"""
"""Algorithms that neither HAN nor tuned takes by itself for the cases below."""
NODES = (2, 2)
SIZES_BYTES = (1024, 40_000, 100_000)
ONE_OF_ALL = [
    pytest.param(function, marks=() if function == "allreduce" else pytest.mark.real_mpi)
    for function in FUNCTIONS_OF_HAN
]

pytestmark = pytest.mark.mpi


def cases(function: str) -> list[Case]:
    sizes_bytes = (0,) if function == "barrier" else SIZES_BYTES
    return [Case(function, sum(NODES), 0, size_bytes) for size_bytes in sizes_bytes]


def skip_others(mpi: Mpi) -> None:
    if not mpi.installation.library.startswith("Open MPI v5.0"):
        pytest.skip(f"{mpi.installation.library} is not Open MPI 5.0")


def sent_on_nodes(mpi: Mpi, function: str, settings: Mapping[str, str]) -> list[Sent]:
    """Return the messages of each case under variables."""
    skip_others(mpi)
    variables = {"OMPI_MCA_coll": "han,tuned,basic,libnbc,self,inter", **settings}
    found = sent(mpi, cases(function), variables, NODES)
    return [each for each in found if each is not None]


def in_any_order(messages: list[Sent]) -> list[dict[int, list[tuple[int, int]]]]:
    return [{rank: sorted(own) for rank, own in each.items()} for each in messages]


def flat(function: str) -> list[Sent]:
    """Return the messages of the algorithm of the rules, which knows no nodes."""
    chosen = [hocket.choose(RULES, case.collective, case.call) for case in cases(function)]
    return [recorded(*each) for each in chosen if each is not None]


def are_the_same(function: str, one: list[Sent], other: list[Sent]) -> list[bool]:
    pairs = zip(in_any_order(one), in_any_order(other), cases(function), strict=True)
    return [are_alike(a, b, case) for a, b, case in pairs]


@pytest.mark.parametrize("function", ONE_OF_ALL)
def test_a_converted_file_runs_with_the_settings_that_are_printed(
    open_mpi: Mpi, hocket_command: Callable[..., Ran], tmp_path: Path, function: str
) -> None:
    rules, file = tmp_path / "a.rules", tmp_path / "a.openmpi-5.0.conf"
    rules.write_text(RULES)
    note = hocket_command(f"rules convert {rules} {file}").err
    printed = dict(re.findall(r"(OMPI_MCA_\w+)=(\S+)", note))
    assert all(are_the_same(function, sent_on_nodes(open_mpi, function, printed), flat(function)))
    below = {name: value for name, value in printed.items() if "han" not in name}
    assert not any(are_the_same(function, sent_on_nodes(open_mpi, function, below), flat(function)))


def of_tuned(function: str, number: int, segment: int | None = None) -> Choice:
    """Return an algorithm of tuned as measurements set it."""
    name = f"coll_tuned_{function}_algorithm"
    more = ((f"{name}_segmentsize", segment),) if segment else ()
    return Choice("mpi", "any name", ((name, number), *more))


def of_han(function: str, number: int) -> Choice:
    """Return an algorithm of HAN as measurements set it."""
    return Choice("mpi", "any name", ((f"coll_han_use_{function}_algorithm", number),))


FLAT = {
    **{
        "allgather": of_tuned("allgather", 4),
        "allreduce": of_tuned("allreduce", 4),
        "bcast": of_tuned("bcast", 3, 8192),
    },
    **{"gather": of_tuned("gather", 1), "reduce": of_tuned("reduce", 3, 8192), "scatter": of_tuned("scatter", 1)},
    "barrier": of_tuned("barrier", 4),
}
"""The algorithms of the rules as tuned has them."""
SIMPLE = 2
"""The number of HAN's algorithm `simple`."""


@pytest.mark.parametrize("function", ONE_OF_ALL)
def test_files_of_measurements_run_where_han_stays_on(open_mpi: Mpi, tmp_path: Path, function: str) -> None:
    """Short calls get an algorithm of tuned, longer ones what HAN does by itself, the longest an algorithm of HAN."""
    ranks, (short, _, long) = (sum(NODES), sum(NODES) + 1), SIZES_BYTES
    collective = COLLECTIVES.get(function, function)
    decisions = [Decision(collective, ranks, (short, short + 1), FLAT[function]),
                 Decision(collective, ranks, (long, long + 1), of_han(function, SIMPLE))]  # fmt: skip
    if function == "barrier":
        decisions = [Decision("barrier", ranks, (0, 1), FLAT[function]), Decision("reduce", ranks, (0, 1), DEFAULT)]
    exporter = exporter_for("Open MPI v5.0.11")
    assert exporter is not None
    files: dict[str, Format] = {}
    for format, text in exporter.texts(decisions, has_levels=True).items():
        (file := tmp_path / f"own.{format.name}.conf").write_text(text)
        files[str(file)] = format
    assert len(files) == 2
    parameters = tmp_path / "own.mca-params.conf"
    parameters.write_text(parameters_text(settings_of(files, [function])) or "")
    found = sent_on_nodes(open_mpi, function, {"OMPI_MCA_mca_base_param_files": str(parameters)})
    by_default, of_rules = sent_on_nodes(open_mpi, function, {}), flat(function)
    simple = by_default
    if function != "barrier":
        simple = sent_on_nodes(open_mpi, function, {f"OMPI_MCA_coll_han_use_{function}_algorithm": "simple"})
    asked = [of_rules[0], *by_default[1:2], *simple[2:]]
    assert all(are_the_same(function, found, asked)), found
    assert not are_the_same(function, by_default, of_rules)[0]
    is_in_segments = function in ("allreduce", "bcast", "reduce")  # by default; in `simple` it is whole
    assert (are_the_same(function, by_default, simple)[-1]) != is_in_segments


@pytest.mark.usefixtures("as_root")
def test_algorithms_of_tuned_are_measured_without_han(open_mpi: Mpi) -> None:
    """On two ranks alone there is `two_proc`: HAN would call it for two nodes, and on four ranks the MPI refuses it."""
    skip_others(open_mpi)

    def on_nodes(_: object, ranks: int, program: Sequence[str], variables: Mapping[str, str]) -> list[str]:
        assert ranks == sum(NODES)
        return [*open_mpi.on_nodes(*NODES), "env", *(f"{name}={value}" for name, value in variables.items()), *program]

    with Turns(open_mpi.installation, sum(NODES), on_nodes) as turns:
        point = Point("barrier", sum(NODES), 0)
        numbers = {choice: number for number, choice in enumerate([DEFAULT, *own_choices(turns.variables(), point)])}
        refused = turns.begin("barrier", 0, ways_of(point, numbers))
        assert {"han @simple", "bruck", "two_proc"} <= {choice.name for choice in numbers}
        assert [choice.name for choice, number in numbers.items() if number in refused] == ["two_proc"]
        ran = {number for number in numbers.values() if number not in refused}
        assert turns.rounds(1, sorted(ran)).keys() == ran
    with Turns(open_mpi.installation, 2) as turns:
        assert not [one["name"] for one in turns.variables() if "han" in one["name"]]


def watched(mpi: Mpi, nodes: Sequence[int], calls: Sequence[str], settings: Mapping[str, str]) -> list[list[str]]:
    """Return the look-ups and runs of tuned on rank 0, each as the words of a line."""
    watcher = mpi.compiled("tuning_choices.c", "-shared", "-fPIC", "-ldl")
    line = [*mpi.on_nodes(*nodes), "env", f"LD_PRELOAD={watcher}", mpi.compiled("tuning_calls.c"), *calls]
    env = {**os.environ, **AS_ROOT, **environment_of_crowd(64), **settings}
    ran = subprocess.run(line, capture_output=True, text=True, timeout=SECONDS, env=env, check=False)
    assert ran.returncode == 0, ran.stderr
    return [said.split() for said in ran.stderr.splitlines() if re.match("(rule|run) ", said)]


@pytest.mark.real_mpi
def test_lint_names_the_lines_that_communicators_of_han_follow(open_mpi: Mpi, tmp_path: Path) -> None:
    """Each line has a segment of its own, which tells that it was looked up, and leaves the call to the library."""
    skip_others(open_mpi)
    nodes, per_node = (2, 2, 2), 2
    rows = [(function, ranks) for function in FUNCTIONS_OF_HAN for ranks in (per_node, len(nodes))]
    parts = {(f, n): f"{n} 1\n0 0 0 {number} 0\n" for number, (f, n) in enumerate(rows, 1)}
    text = f"rule-file-version-2\n{len(FUNCTIONS_OF_HAN)}\n" + "".join(
        f"{FUNCTIONS.index(f)} 3 0 1 0 0 0 0 0\n{parts[f, per_node]}{parts[f, len(nodes)]}" for f in FUNCTIONS_OF_HAN
    )
    file = tmp_path / "a.openmpi-5.0.conf"
    file.write_text(text)
    settings = settings_of({str(file): FORMATS["openmpi-5.0"]}, [])
    variables = {f"OMPI_MCA_{name}": value for name, value in settings.items()}
    calls = [word for function in FUNCTIONS_OF_HAN for size in ("200", "1000000") for word in (function, size)]
    found = watched(open_mpi, nodes, calls, variables)
    # Calls of a few bytes make communicators.
    segments = {int(each[3]) for each in found if each[0] == "rule" and (each[2] == "0" or int(each[2]) > 99)} - {0}
    file.write_text(re.sub(r"(?m)^0 0 0 (\d+) 0$", r"0 1 0 \1 0", text))
    rules, jobs = read(file), {"ranks": sum(nodes), "ranks_per_node": per_node}
    lines = {each.line for each in findings(rules, "openmpi-5.0", **jobs) if each.kind == "inner communicator"}
    by_line = {rule.line: dict(rule.choice.parameters).get("seg_size") for rule in rules.rules if rule.choice}
    assert {by_line[line] for line in lines} == segments


@pytest.mark.real_mpi
@pytest.mark.parametrize("component", COMPONENTS)
def test_lint_names_components_that_take_no_calls(open_mpi: Mpi, tmp_path: Path, component: str) -> None:
    skip_others(open_mpi)
    file = tmp_path / "a.openmpi-5.0-han.conf"
    file.write_text(f"1 barrier 1 intra_node 1 1 1 0 {component}")
    settings = settings_of({str(file): FORMATS["openmpi-5.0-han"]}, [])
    variables = {f"OMPI_MCA_{name}": value for name, value in settings.items()}
    by_tuned = sum(each[:2] == ["run", "barrier"] for each in watched(open_mpi, NODES, ["barrier", "0"], variables))
    kinds = [each.kind for each in findings(read(file), "openmpi-5.0-han")]
    # Before and after the barrier between the nodes there is one in each node.
    assert by_tuned == (3 if kinds == ["passed over"] or component == "tuned" else 1)


TAKEN_BY_HAN = (
    'got "@simple", ',
    "the end of the file, acc",
    "1 message size, 2 f",
    "appears twice",
    "too early, expected ]",
)
"""Errors that HAN does not see: it skips words, ignores what follows the last rule, and takes the last of two."""


@pytest.mark.real_mpi
def test_han_stumbles_where_hocket_refuses_a_file(open_mpi: Mpi, tmp_path: Path) -> None:
    skip_others(open_mpi)
    file = tmp_path / "a.openmpi-5.0-han.conf"
    # Without more words Open MPI drops a file in silence.
    settings = {**settings_of({str(file): FORMATS["openmpi-5.0-han"]}, []), "coll_han_verbose": "5"}
    env = {**os.environ, **AS_ROOT, **{f"OMPI_MCA_{name}": value for name, value in settings.items()}}
    program = [open_mpi.compiled("tuning_calls.c"), "barrier", "0"]
    for format, text, message in BAD:
        if format == "openmpi-5.0-han":
            file.write_text(text)
            said = subprocess.run(program, capture_output=True, text=True, timeout=SECONDS, env=env, check=True).stderr
            is_dropped = "could not fully read dynamic rules file" in said
            assert is_dropped != any(each in message for each in TAKEN_BY_HAN), (text, said)
