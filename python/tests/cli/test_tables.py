"""Every table fits 80 columns and cuts no word or number, for all names of the catalogue."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

import hocket
from hocket.cli.mpi.bench import print_bench
from hocket.definitions.library import COLLECTIVES
from hocket.definitions.machine import Machine
from hocket.mpi.benchmark import Bench, Measurement, Prediction
from hocket_lab.commands.compare import print_compared
from hocket_lab.comparing import Compared, Point
from tests.conftest import TRACE, Ran

MOST = 80
LARGEST = max(COLLECTIVES, key=lambda collective: len(hocket.algorithms(collective)))
NAMES = tuple(algorithm.name for algorithm in hocket.algorithms(LARGEST))
SIZES = (8, 2**20 - 1, 2**31)
PROGRAM = """
@hocket.algorithm("allreduce")
def an_algorithm_whose_name_is_as_long_as_people_make_them(r, c):
    yield r.copy(c.input(r), c.result(r))
"""
GRID = f"""
collective = "{LARGEST}"
ranks = [4]
sizes = ["8B", "1MiB"]
machine = ["cluster", "jitter-paper"]
trials = 2
[noises.none]
[noises.interrupts.noise.os]
model = "poisson"
interval = "10 us"
duration = "5 us"
[algorithms]
{"".join(f"{name} = {{}}{chr(10)}" for name in NAMES)}
"""
OUTPUT = """# OSU MPI Allreduce Latency Test v7.5
# Size       Avg Latency(us)
4                      30.10
16384                 110.00
1048576              1500.00
"""
LINES = [
    "list",
    "machines",
    *(f"compare {LARGEST} {' '.join(NAMES)} --ranks 16 --sizes 8B..16MiB:16 {more}" for more in ("", "--all")),
    "judge out.txt --machine lumi --ranks 64",
    "judge out.txt other.txt --ranks 64",
    f"compare {LARGEST} --ranks 6 --sizes 8B..1GiB:64 --defaults",
    f"compare {LARGEST} --ranks 6 --sizes 8B..1GiB:64 --defaults --all",
    f"compare {LARGEST} --ranks 16 --sizes 8B,1000001B --machine jitter-paper --trials 3 --defaults",
    f"compare {LARGEST} --ranks 6 --sizes 0B,8B --load mine.py",
    f"compare {LARGEST} ring --ranks 6 --sizes 0B,8B",
    "sweep grid.toml",
    "explain allreduce redundant_butterfly --ranks 8 --size 1MiB",
    "rules explain openmpi-5.0 --ranks 8 --size 8B",
    "rules diff mpich-5.0 openmpi-5.0 --ranks 16",
    f"replay {TRACE}",
    "show machine marenostrum5-gpu",
    "show machine leonardo",
    f"simulate {LARGEST} redundant_butterfly --ranks 16 --size 1MiB --machine jitter-paper --trials 100",
    f"compare {LARGEST} --ranks 8 --sizes 8B..1GiB:4096 --machine leonardo --defaults",
    f"verify {LARGEST} --ranks 2",
]


@pytest.mark.parametrize("line", LINES)
def test_a_table_fits(
    hocket_command: Callable[..., Ran],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    program_file: Callable[[str], Path],
    line: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grid.toml").write_text(GRID)
    for name in ("out.txt", "other.txt"):
        (tmp_path / name).write_text(OUTPUT)
    program_file(PROGRAM)
    check(monkeypatch, lambda: hocket_command(line).out)


@pytest.mark.parametrize("every", [False, True])
def test_a_benchmark_fits(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, every: bool) -> None:
    names = (*NAMES, "native")
    found = Bench(LARGEST, 64, "an MPI", names, MEASURED, (), dict.fromkeys(names, 3))
    predictions = tuple(Prediction(name, size, 1.234e-6 * (1 + size), 1e-6, None) for name in names for size in SIZES)

    def printed() -> str:
        print_bench(found, predictions, Machine.load("cluster"), {}, every=every)
        return capsys.readouterr().out

    check(monkeypatch, printed)


def test_a_lab_beside_the_simulator_fits(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    points = tuple(
        Point(
            algorithm=one.algorithm,
            size_bytes=one.size_bytes,
            measured_s=one.median_s,
            low_s=one.low_s,
            high_s=one.high_s,
            samples=5,
            simulated_s=9.999e-5,
        )
        for one in MEASURED
    )
    found = Compared("a lab", LARGEST, 64, "an MPI", points, (), ())

    def printed() -> str:
        print_compared(found, {})
        return capsys.readouterr().out

    check(monkeypatch, printed)


MEASURED = tuple(
    Measurement(name, size, median, 0.8 * median, 1.123 * median, 2 * median, 9 * median, 30, (median,))
    for number, name in enumerate((*NAMES, "native"))
    for size in SIZES
    for median in [(1 + number) * 9.999e-7 * (1 + size / 1000)]
)


def check(monkeypatch: pytest.MonkeyPatch, printed: Callable[[], str]) -> None:
    """Compare the output on a terminal of 80 columns with the output to a pipe, which is as wide."""
    monkeypatch.setenv("COLUMNS", str(MOST))
    piped = printed()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    shown = click.unstyle(printed())
    assert words(shown) == words(piped)
    for text in (shown, piped):
        assert [line for line in text.splitlines() if len(line) > MOST and not is_one_word(line)] == []


def words(text: str) -> set[str]:
    return {word.strip(",") for word in text.split() if set(word) != {"─"}}


def is_one_word(line: str) -> bool:
    """Return whether the longest word makes the line so long."""
    return max(map(len, line.split())) + 8 > MOST


def test_every_command_prints_its_tables_by_the_one_writer() -> None:
    for path in Path(hocket.__file__).parent.joinpath("cli").rglob("*.py"):
        imported = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        assert path.name == "output.py" or not any(node.module == "rich.table" for node in imported), path
