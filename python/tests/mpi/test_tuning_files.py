"""Real MPIs choose the algorithms of the tuning files that Hocket writes.

Open MPI: a preloaded library prints what its component `tuned` looks up in the file, and what it runs. MPICH: a rank
with too short a message makes a call fail, and the error names the running algorithm.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from hocket.mpi import command
from hocket.mpi.launch import environment_of_crowd
from hocket.mpi.turns import Turns
from hocket.rules.tuning_files.conversion import convert_rules
from hocket.rules.tuning_files.counterparts import LIBRARIES
from hocket.rules.tuning_files.deciding import deciding_rule, situation
from hocket.rules.tuning_files.decisions import default_rules
from hocket.rules.tuning_files.form import Choice, Rule, Rules, measured
from hocket.rules.tuning_files.formats import FORMATS, read
from hocket.rules.tuning_files.mpich_json import DEVICE, LIBRARY, SHARED_MEMORY, default_tree
from hocket.tuning.choice import Decision, Point
from hocket.tuning.exporting import exporter_for, file_name
from hocket.tuning.measuring import own_choices

from .conftest import AS_ROOT, PROGRAMS, SECONDS, Mpi

RULES = """
allgather[total=..1KiB]: bruck
allgather: ring
allreduce[ranks=..4, size=..1KiB]: ring
allreduce[size=..1KiB]: recursive_doubling
allreduce: rabenseifner
alltoall[total=..1KiB]: bruck
alltoall[total=..4KiB]: linear, window=2
alltoall: pairwise_exchange, pairing=shift
alltoallv[ranks=..4]: linear
alltoallv: pairwise_exchange
barrier: dissemination
broadcast[size=..8]: native
broadcast[size=..1KiB]: binomial
broadcast[size=..2KiB]: scatter_ring_allgather
broadcast: chain, segment=512
exscan: recursive_doubling
gather[total=..1KiB]: binomial
gather: linear
reduce[size=..1KiB]: binomial
reduce[size=..2KiB]: binary_tree, segment=1KiB
reduce: chain, segment=512
reduce_scatter[size=..1KiB]: recursive_halving
reduce_scatter: ring
scan: recursive_doubling
scatter[total=..1KiB]: binomial
scatter: linear
"""
SIZES = (7, 8, 255, 256, 341, 342, 1023, 1024, 2047, 2048)
RANKS = (2, 3, 4)


def run(mpi: Mpi, ranks: int, program: Sequence[str], variables: dict[str, str]) -> str:
    """Run a program; return its output."""
    settings = {**os.environ, **AS_ROOT, **environment_of_crowd(64)}
    line = command(mpi.installation, ranks, program, variables)
    ran = subprocess.run(line, capture_output=True, text=True, timeout=SECONDS, env=settings, check=False)
    return ran.stdout + ran.stderr


def only_open_mpi(mpi: Mpi) -> None:
    if "v5.0." not in mpi.installation.library or not mpi.is_open_mpi:
        pytest.skip(f"{mpi.installation.library} is not Open MPI 5.0")


def only_mpich(mpi: Mpi) -> None:
    if mpi.is_open_mpi or not re.search(r"\b5\.0\.", mpi.installation.library):
        pytest.skip(f"{mpi.installation.library} is not MPICH 5.0")


def choices_of_open_mpi(mpi: Mpi, folder: Path, file: Path, ranks: int, calls: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the look-ups and runs of Open MPI, each as the words of a line."""
    watcher = folder / "choices.so"
    if not watcher.exists():
        source = PROGRAMS / "tuning_choices.c"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", source, "-o", watcher, "-ldl"], check=True)
    variables = {
        "LD_PRELOAD": str(watcher),
        "OMPI_MCA_coll_tuned_priority": "100",
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_dynamic_rules_filename": str(file),
    }
    said = run(mpi, ranks, [mpi.compiled("tuning_calls.c"), *calls], variables)
    return [tuple(line.split()) for line in said.splitlines() if re.match(r"(rule|run|base) ", line)]


def check_open_mpi(mpi: Mpi, folder: Path, file: Path, format: str, functions: Sequence[str]) -> int:
    """Compare the choices of Open MPI with the file; return for how many calls the file chose."""
    rules = read(file, format)
    chosen = 0
    for ranks in RANKS:
        asked = [(function, size) for function in functions for size in SIZES]
        words = [word for function, size in asked for word in (function, str(size))]
        told = [line for line in choices_of_open_mpi(mpi, folder, file, ranks, words) if line[0] in ("rule", "run")]
        for function, size in asked:
            size = size // ranks * ranks if function.startswith("reduce_scatter") else size
            rule = deciding_rule(rules, situation(function, ranks, size))
            choice = rule.choice if rule else None
            _, number, counted, _ = told.pop(0)
            assert rule is not None
            assert int(counted) == measured(rule.measure, size, ranks), f"what a size of {function} counts"
            assert int(number) == number_of(rules, function, choice), (function, ranks, size, choice)
            if choice is None:
                while told and told[0][0] == "run":  # Open MPI's own choice, maybe by other collectives
                    told.pop(0)
                continue
            _, ran, algorithm, *values = told.pop(0)
            given = dict(choice.parameters)
            parameters = [str(given.get(name, 0)) for name in ("faninout", "seg_size", "reqs")]
            assert (ran, algorithm, values) == (function, number, parameters[: len(values)]), (function, ranks, size)
            while told and told[0][0] == "run":  # collectives inside the algorithm
                told.pop(0)
            chosen += 1
        assert told == []
    return chosen


def number_of(rules: Rules, function: str, choice: Choice | None) -> int:
    known = LIBRARIES[rules.library].find(function, choice.algorithm) if choice else None
    return known.number or 0 if known else 0


@pytest.mark.real_mpi
@pytest.mark.parametrize("format", ["openmpi-4.1", "openmpi-5.0"])
def test_open_mpi_chooses_what_a_file_says(mpi: Mpi, tmp_path: Path, format: str) -> None:
    only_open_mpi(mpi)
    source = tmp_path / "all.rules"
    source.write_text(RULES)
    file = tmp_path / "rules.conf"
    file.write_text(FORMATS[format].write(convert_rules(read(source), FORMATS[format].library).rules))
    functions = list(LIBRARIES[format].algorithms)
    assert set(read(file, format).functions) == set(functions)
    # Version 1 of the format cannot give a window, so that alltoall is left to the library.
    assert check_open_mpi(mpi, tmp_path, file, format, functions) > 0.8 * len(RANKS) * len(SIZES) * len(functions)


@pytest.mark.real_mpi
def test_open_mpi_takes_the_numbers_of_ranks_as_hocket_reads_them(mpi: Mpi, tmp_path: Path) -> None:
    only_open_mpi(mpi)
    for number, entries in enumerate([(3, 4), (2, 3, 4), (4, 3, 2), (4, 2), (1, 3), (3,), (100, 3)]):
        file = tmp_path / f"{number}.conf"
        lines = [f"{ranks}\n2\n0 {place + 1} 0 0\n512 6 0 0" for place, ranks in enumerate(entries)]
        file.write_text("\n".join(["1", "7", str(len(entries)), *lines]) + "\n")
        assert check_open_mpi(mpi, tmp_path, file, "openmpi-5.0", ["bcast"]) == len(RANKS) * len(SIZES)


@pytest.mark.real_mpi
@pytest.mark.parametrize("function", LIBRARIES["openmpi-5.0"].algorithms)
def test_open_mpi_has_the_algorithms_that_the_table_names(mpi: Mpi, tmp_path: Path, function: str) -> None:
    """Compare the numbers and names of each function with the list of Open MPI."""
    only_open_mpi(mpi)
    info = mpi.installation.mpicc.with_name("ompi_info")
    if not info.exists():
        pytest.skip("no ompi_info")
    line = [info, "--param", "coll", "tuned", "--level", "9", "--parsable"]
    said = subprocess.run(line, capture_output=True, text=True, check=True, env={**os.environ, **AS_ROOT}).stdout
    known = dict(re.findall(rf"coll_tuned_{function}_algorithm:enumerator:value:(\d+):(\S+)", said))
    assert known, said[:1000]
    ours = {str(each.number): each.name for each in LIBRARIES["openmpi-5.0"].algorithms[function]}
    assert ours == {number: name for number, name in known.items() if number != "0"}


@pytest.mark.real_mpi
def test_open_mpi_decides_by_itself_what_the_defaults_say(mpi: Mpi, tmp_path: Path) -> None:
    only_open_mpi(mpi)
    file = tmp_path / "empty.conf"
    file.write_text("0\n")
    rules = default_rules("openmpi-5.0")
    functions = ("allgather", "allreduce", "alltoall", "alltoallv", "gather", "reduce", "reduce_scatter", "scatter")
    compared = 0
    for ranks in RANKS:
        for function in functions:
            for size in (4, 600, 20000, 1 << 20):
                size = size // ranks * ranks if function == "reduce_scatter" else size
                told = choices_of_open_mpi(mpi, tmp_path, file, ranks, [function, str(size)])
                ran, number = next((line[1:3] for line in told if line[:2] == ("run", function)), (function, "0"))
                known = LIBRARIES["openmpi-5.0"].find(ran, number)
                call = situation(function, ranks, 0 if function == "alltoallv" else size, element_bytes=1)
                rule = deciding_rule(rules, call)
                if known is None or known.hocket is None or rule is None or rule.choice is None:
                    continue  # no counterpart
                if known.name == "recursive_doubling" and ranks == 3 and function == "allgather":
                    continue  # Open MPI itself runs bruck here, as the defaults do
                assert rule.choice.algorithm == known.hocket, (function, ranks, size, known)
                compared += 1
    assert compared > 40


SHORT = {
    ("allreduce", "ring"): "allreduce_intra_recursivedoubling",
    ("allreduce", "segmented_ring"): "allreduce_intra_recursivedoubling",
    ("allreduce", "rabenseifner"): "allreduce_intra_basic_linear",
    ("bcast", "scatter_allgather"): "bcast_intra_basic_linear",
    ("bcast", "scatter_allgather_ring"): "bcast_intra_basic_linear",
    ("reduce", "rabenseifner"): "reduce_intra_basic_linear",
}


@pytest.mark.real_mpi
def test_open_mpi_runs_another_algorithm_for_fewer_elements_than_ranks(mpi: Mpi, tmp_path: Path) -> None:
    only_open_mpi(mpi)
    known = {
        (function, each.name)
        for function, algorithms in LIBRARIES["openmpi-5.0"].algorithms.items()
        for each in algorithms
        if each.short
    }
    assert known == set(SHORT)
    for (function, name), instead in SHORT.items():
        file = tmp_path / f"{function}-{name}.conf"
        format = FORMATS["openmpi-5.0"]
        file.write_text(format.write(Rules("openmpi-5.0", (Rule(function, Choice(name)),))))
        told = choices_of_open_mpi(mpi, tmp_path, file, 4, [function, "1"])
        assert ("base", instead) in told, (function, name, told)


UNNAMED = "several messages at once"
# Errors of a wait for several messages, by the interface of MPICH and by the standard ABI, under which the library
# confuses the number of the error.
WAITING = ("See the MPI_ERROR field", "Invalid MPI_Request")


def algorithms_of_mpich(mpi: Mpi, file: Path, ranks: int, function: str, size: int) -> set[str]:
    """Return the algorithms that errors of too short messages name."""
    found: set[str] = set()
    for option in ("-s", "-l") * 5:
        if found and option == "-s":
            break  # repeat: a process may end before it prints
        variables = {"MPIR_CVAR_DEVICE_COLLECTIVES": "none", "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": str(file)}
        said = run(mpi, ranks, [mpi.compiled("tuning_calls.c"), option, function, str(size)], variables)
        named = re.findall(r"^(MPIR_\w+)\(\d+\)", said, re.MULTILINE)
        found |= {name for name in named if not name.endswith(("_auto", "_impl", "_Wait"))}
        if any(text in said for text in WAITING):
            found.add(UNNAMED)
    return found


MPICH_RULES = """
allgather[total=..1KiB, ranks=power_of_two]: recursive_doubling
allgather[total=..1KiB]: bruck, radix=3
allgather: ring
allreduce[ranks=..4, size=..1KiB]: ring
allreduce[size=..1KiB]: recursive_doubling
allreduce[size=..2KiB]: recursive_multiplying, radix=3
allreduce: rabenseifner
alltoall[size=..1KiB]: bruck
alltoall[size=..2000]: pairwise_exchange
alltoall: linear, window=32
broadcast[size=..8]: native
broadcast[size=..1KiB]: binomial
broadcast: scatter_ring_allgather
exscan: recursive_doubling
gather: binomial
reduce[size=..1KiB]: binomial
reduce: rabenseifner
reduce_scatter[size=..1KiB]: recursive_halving
reduce_scatter: pairwise
scan: recursive_doubling
scatter: binomial
scatterv: linear
"""


@pytest.mark.real_mpi
def test_mpich_chooses_what_a_file_says(mpi: Mpi, tmp_path: Path) -> None:
    """No error names a wrong algorithm, and errors name each algorithm at least once.

    Errors of the two algorithms that wait for all their messages at once name none.
    """
    only_mpich(mpi)
    source = tmp_path / "all.rules"
    source.write_text(MPICH_RULES)
    file = tmp_path / "rules.json"
    made = convert_rules(read(source), "mpich-5.0").rules
    file.write_text(FORMATS["mpich-5.0"].write(made))
    rules = read(file, "mpich-5.0")
    chosen: set[str] = set()
    named: set[str] = set()
    silent: set[str] = set()
    for function in made.functions:
        for ranks in RANKS:
            for size in (240, 1200, 3000):
                size = size // ranks * ranks if function.startswith("reduce_scatter") else size
                rule = deciding_rule(rules, situation(function, ranks, size))
                assert rule is not None and rule.choice is not None
                seen = algorithms_of_mpich(mpi, file, ranks, function, size)
                own = {name for name in seen if re.match(f"MPIR_{function}_(intra|allcomm)_", name, re.IGNORECASE)}
                assert own <= {rule.choice.algorithm}, (function, ranks, size, seen)
                if not own and UNNAMED not in seen:
                    silent.add(rule.choice.algorithm)
                chosen.add(rule.choice.algorithm)
                named |= own
    assert silent <= {"MPIR_Allreduce_intra_recursive_multiplying"}  # no error in its last exchange
    assert {name for name in chosen - named} == {"MPIR_Alltoall_intra_scattered", "MPIR_Allgather_intra_k_brucks"}
    assert {rule.choice.algorithm for rule in made.rules if rule.choice} <= chosen


@pytest.mark.real_mpi
def test_an_mpi_takes_what_a_tuning_among_its_own_algorithms_writes(mpi: Mpi, as_root: None, tmp_path: Path) -> None:
    exporter = exporter_for(mpi.installation.library)
    if exporter is None:
        pytest.skip(f"no format of {mpi.installation.library} is known")
    with Turns(mpi.installation, 2) as turns:
        variables = turns.variables()
    point = Point("broadcast", 2, 2048)
    names = ("binomial", "scatter_recursive_doubling_allgather", "scatter_allgather")
    own = [choice for choice in own_choices(variables, point) if exporter.can_name(point, choice)]
    if not own:
        pytest.skip(f"{mpi.installation.library} has no variables that name its own algorithms")
    short, long = (choice for choice in own if choice.name in names)
    decisions = [
        Decision("broadcast", (2, 3), sizes, choice) for sizes, choice in [((8, 1024), short), ((1024, 4096), long)]
    ]
    text = exporter.text(decisions)
    assert text is not None
    file = tmp_path / file_name(exporter.format)
    file.write_text(text)
    if mpi.is_open_mpi:
        assert check_open_mpi(mpi, tmp_path, file, exporter.format.name, ["bcast"]) > 0
        return
    for size, name in ((512, short.name), (2048, long.name)):
        seen = algorithms_of_mpich(mpi, file, 2, "bcast", size)
        assert {one for one in seen if "Bcast_intra" in one} == {f"MPIR_Bcast_intra_{name}"}


@pytest.mark.real_mpi
@pytest.mark.parametrize("function", LIBRARIES["mpich-5.0"].algorithms)
def test_mpich_takes_a_file_of_every_algorithm_of_the_table(mpi: Mpi, tmp_path: Path, function: str) -> None:
    """MPICH ends the program if it does not know an algorithm."""
    only_mpich(mpi)
    for known in LIBRARIES["mpich-5.0"].algorithms[function]:
        if known.name.endswith("_nb"):
            continue
        file = tmp_path / f"{known.name}.json"
        given = {**known.own, **{name: 3 for name in (*known.parameter_names, *known.asks)}}
        parameters = tuple((name, "kary" if name == "tree_type" else value) for name, value in given.items())
        rule = Rule(function, Choice(known.name, parameters), conditions=known.needs)
        file.write_text(FORMATS["mpich-5.0"].write(Rules("mpich-5.0", (rule,))))
        variables = {"MPIR_CVAR_DEVICE_COLLECTIVES": "none", "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": str(file)}
        said = run(
            mpi,
            2,
            [mpi.compiled("tuning_calls.c"), "barrier" if "inplace" in known.name else function, "64"],
            variables,
        )
        assert said == "", (known.name, said)


@pytest.mark.real_mpi
def test_mpich_takes_less_as_at_most_where_a_message_was_asked_for(mpi: Mpi, tmp_path: Path) -> None:
    only_mpich(mpi)
    ring, binomial = "MPIR_Bcast_intra_scatter_ring_allgather", "MPIR_Bcast_intra_binomial"
    asked = f'"comm_size<3": {{"algorithm={ring}": {{}}}}, "comm_size=any": {{"algorithm={binomial}": {{}}}}'
    late = f'"avg_msg_size<=100000": {{{asked}}}, "avg_msg_size=any": {{"algorithm={binomial}": {{}}}}'
    for number, tree in enumerate((asked, late)):
        file = tmp_path / f"{number}.mpich-5.0.json"
        bcast = json.loads(f'{{"comm_type=intra": {{{tree}}}}}')
        file.write_text(json.dumps({**default_tree(), "collective=bcast": bcast}))
        for ranks in (2, 3, 4):
            rule = deciding_rule(read(file), situation("bcast", ranks, 5000))
            assert rule is not None and rule.choice is not None
            assert rule.choice.algorithm in algorithms_of_mpich(mpi, file, ranks, "bcast", 5000)
            assert (rule.choice.algorithm == ring) == (ranks < 3 or (ranks == 3 and number == 1))


@pytest.mark.real_mpi
@pytest.mark.parametrize("name", [LIBRARY, DEVICE, SHARED_MEMORY])
def test_the_own_tree_of_mpich_is_that_in_its_library(mpi: Mpi, name: str) -> None:
    only_mpich(mpi)
    libraries = mpi.installation.mpicc.parent.parent / "lib"
    content = next(libraries.glob("libmpi.so.*")).read_bytes()
    trees = [json.loads(text) for text in re.findall(rb'\{"collective=[ -~]+', content)]
    assert default_tree(name) in trees and len(trees) == 3
