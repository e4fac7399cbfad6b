"""On nodes with several ranks, Open MPI runs what the files say that Hocket writes, with the settings that it prints.

The nodes are this host under other names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

import hocket
from hocket.mpi.turns import Turns
from hocket.rules.tuning_files.activation import parameters_text, settings_of
from hocket.rules.tuning_files.form import Format
from hocket.rules.tuning_files.openmpi_han import FUNCTIONS_OF_HAN
from hocket.tuning.choice import DEFAULT, Choice, Decision, Point
from hocket.tuning.exporting import exporter_for
from hocket.tuning.measuring import own_choices, ways_of
from tests.conftest import Ran

from .conftest import Mpi
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
FUNCTIONS = [
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


@pytest.mark.parametrize("function", FUNCTIONS)
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


@pytest.mark.parametrize("function", FUNCTIONS)
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
