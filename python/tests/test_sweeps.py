"""Sweeps: their order, their table, interruptions and errors."""

import csv
import io
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import hocket
from hocket.simulating.question import Answer, Question
from hocket.simulating.sweeps import unfinished_cells
from hocket.simulating.sweeps.cell import simulate_cell
from hocket.simulating.sweeps.journal import Journal
from tests.conftest import Ran

COMMAND = [sys.executable, "-m", "hocket", "sweep"]

SMALL = """
collective = "allgather"
ranks = [2, 6, 8]
sizes = ["1KiB", "8B"]
machine = ["jitter-paper", "mine.toml"]
trials = 10
seed = 3
[algorithms]
ring = {}
recursive_doubling = {}
[noises.as-is]
[noises.none.noise]
os = { model = "none" }
network = { model = "none" }
"""

MINE = """
name = "mine"
[network]
model = "hockney"
latency = "2 us"
bandwidth = "1 GB/s"
"""

LONG = """
collective = "allreduce"
ranks = 32
sizes = "8B..64KiB"
machine = "jitter-paper"
trials = 2000
[algorithms]
ring = {}
redundant_butterfly = { T = [0, 1, 6] }
"""
"""Slow enough to be interrupted: some tens of milliseconds for each cell."""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a small grid, in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(MINE)
    return write(tmp_path, SMALL)


def write(folder: Path, text: str) -> Path:
    path = folder / "spec.toml"
    path.write_text(text)
    return path


def records(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_rows_are_in_the_order_of_the_grid(spec: Path) -> None:
    rows = hocket.sweep(spec).rows
    assert [(r.algorithm, r.ranks, r.size_bytes, r.machine, r.noise) for r in rows] == [
        (algorithm, ranks, size_bytes, machine, noise)
        for algorithm in ("ring", "recursive_doubling")
        for ranks in (2, 6, 8)
        for size_bytes in (8, 1024)
        for machine in ("jitter-paper", "mine")
        for noise in ("as-is", "none")
    ]


def test_a_row_is_what_simulate_says(spec: Path) -> None:
    row = hocket.sweep(spec).rows[0]
    found = hocket.simulate(
        "allgather/ring", hocket.Call(ranks=2, size_bytes=8), machine="jitter-paper", trials=hocket.Trials(10, seed=3)
    )
    assert (row.time_mean_s, row.time_stderr_s) == (found.time_s.mean, found.time_s.stderr)
    assert (row.time_interval_low_s, row.time_interval_high_s) == found.time_s.interval
    assert (row.time_q05_s, row.time_q50_s) == (found.time_s.quantiles["0.05"], found.time_s.quantiles["0.5"])
    assert (row.seed, row.trials, row.engine) == (3, 10, found.engine)
    assert (row.messages, row.message_bytes, row.version) == (found.messages, found.message_bytes, hocket.__version__)


def test_a_refusal_is_a_row(spec: Path) -> None:
    refused = [row for row in hocket.sweep(spec).rows if row.refusal]
    assert {(row.algorithm, row.ranks) for row in refused} == {("recursive_doubling", 6)}
    assert len(refused) == 8
    assert refused[0].refusal is not None and "needs a power of two of ranks" in refused[0].refusal
    assert (refused[0].trials, refused[0].time_mean_s, refused[0].messages, refused[0].engine) == (0, None, None, None)


def test_parameters_are_combined_and_have_columns(tmp_path: Path) -> None:
    text = """
    ranks = "4-5"
    sizes = 8
    [algorithms]
    "allreduce/redundant_butterfly" = { T = [1, 0, 1], hosts = 2 }
    "broadcast/chain" = { segment = ["4KiB", 1] }
    "barrier/dissemination" = {}
    """
    table = hocket.sweep(write(tmp_path, text))
    assert [row.parameters for row in table.rows[::2]] == [
        {"T": 1, "hosts": 2},
        {"T": 0, "hosts": 2},
        {"segment": 4096},
        {"segment": 1},
        {},
    ]
    first, *_, last = records(table.as_csv())
    assert (first["parameters"], first["param_T"], first["param_segment"]) == ("T=1 hosts=2", "1", "")
    assert (last["algorithm"], last["size_bytes"], last["parameters"], last["param_T"]) == (
        "dissemination",
        "0",
        "",
        "",
    )


CHOOSING = """
ranks = 32
sizes = ["8B", "256KiB", "4MiB"]
[algorithms]
"broadcast/chain" = {}
"broadcast/tree" = { segment = "64KiB" }
"""


def test_a_cell_has_the_values_of_a_comparison(tmp_path: Path) -> None:
    rows = hocket.sweep(write(tmp_path, CHOOSING)).rows
    compared = hocket.compare(["broadcast/chain"], ranks=32, sizes=["8B", "256KiB", "4MiB"]).simulations
    chain, tree = rows[:3], rows[3:]
    assert [(row.parameters, row.time_mean_s) for row in chain] == [(c.parameters, c.time_s.mean) for c in compared]
    assert len({row.parameters["segment"] for row in chain}) == 3
    assert {row.by_formula for row in chain} == {"segment"}
    assert {row.parameters["segment"] for row in tree} == {64 << 10}
    assert {row.by_formula for row in tree} == {"shape radix"}
    assert all(row.values(by_formula=False) == {"segment": 64 << 10} for row in tree)


def test_values_by_formula_are_beside_the_times(tmp_path: Path, hocket_command: Callable[..., Ran]) -> None:
    out = hocket_command("sweep", write(tmp_path, CHOOSING)).out
    assert " broadcast/chain, cluster\n" in out and " broadcast/tree, segment = 65536, cluster\n" in out
    assert re.search(r"^ +32 +256 KiB +[\d.]+ us +1 +segment = \d+$", out, re.MULTILINE)


def test_csv_tells_numbers_to_the_last_bit(spec: Path) -> None:
    table = hocket.sweep(spec)
    for record, row in zip(records(table.as_csv()), table.rows, strict=True):
        assert (float(record["time_mean_s"]) if record["time_mean_s"] else None) == row.time_mean_s
        assert record["refusal"] == (row.refusal or "")


def noisy(tmp_path: Path, noises: str, machine: str = "jitter-paper") -> list[hocket.Machine]:
    text = f'ranks = 2\nsizes = 8\nmachine = "{machine}"\n[algorithms]\n"allreduce/ring" = {{}}\n{noises}'
    return [cell.setting.machine for cell in hocket.Grid.load(write(tmp_path, text)).cells]


def test_a_noise_changes_keys_replaces_models_and_removes_sections(tmp_path: Path) -> None:
    as_is, longer, other, none, slower = noisy(
        tmp_path,
        """
        [noises.as-is]
        [noises.longer.noise.os]
        duration = "50 us"
        [noises.other.noise.os]
        model = "poisson"
        interval = "1 ms"
        duration = "1 us"
        [noises.none.noise]
        os = { model = "none" }
        network = { model = "none" }
        [noises.slower.network]
        latency = "9 us"
        """,
    )
    assert as_is == hocket.Machine.load("jitter-paper")
    assert longer.noise["os"] == {**as_is.noise["os"], "duration": "50 us"}
    assert longer.noise["network"] == as_is.noise["network"]
    assert other.noise["os"] == {"model": "poisson", "interval": "1 ms", "duration": "1 us"}
    assert none.noise == {}
    assert slower.network == {**as_is.network, "latency": "9 us"}
    assert {machine.name for machine in (as_is, longer, other, none, slower)} == {"jitter-paper"}


def test_a_recording_is_beside_the_spec_and_belongs_to_the_key(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "mine.toml").write_text(MINE)
    (tmp_path / "events.txt").write_text("0.001 0.0001\n")
    text = (
        'ranks = 2\nsizes = 8\nmachine = "sub/mine.toml"\n[algorithms]\n"allreduce/ring" = {}\n'
        '[noises.recorded.noise.os]\nmodel = "trace"\nfile = "events.txt"\nlength = "1 s"\n'
    )
    (cell,) = hocket.Grid.load(write(tmp_path, text)).cells
    (tmp_path / "events.txt").write_text("0.001 0.0002\n")
    (changed,) = hocket.Grid.load(tmp_path / "spec.toml").cells
    assert cell.key != changed.key


def test_a_key_tells_cells_apart(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = hocket.Grid.load(spec).cells
    assert len({cell.key for cell in cells}) == len(cells)
    assert [cell.key for cell in hocket.Grid.load(spec).cells] == [cell.key for cell in cells]
    key = cells[0].key
    for other in (
        replace(cells[0], trials=replace(cells[0].trials, seed=4)),
        replace(cells[0], trials=replace(cells[0].trials, until_interval=0.1)),
        replace(cells[0], variant=replace(cells[0].variant, parameters={"T": 1})),
    ):
        assert other.key != key
    monkeypatch.setattr("hocket.simulating.sweeps.cell.VERSION", "another")
    assert hocket.Grid.load(spec).cells[0].key != key


def test_cells_travel(spec: Path) -> None:
    cell = hocket.Grid.load(spec).cells[0]
    assert pickle.loads(pickle.dumps(simulate_cell))(pickle.loads(pickle.dumps(cell))) == simulate_cell(cell)


PROGRAM = '''
import hocket

@hocket.algorithm("barrier", parameters=[hocket.Parameter("rounds")])
def idle(r, c):
    """Idle."""
    yield r.compute(1e-6 * c.parameter("rounds"))
'''


def test_algorithms_in_python_files_do_on_any_executor(tmp_path: Path) -> None:
    (tmp_path / "idle.py").write_text(PROGRAM)
    path = write(tmp_path, 'load = "idle.py"\nranks = 2\n[algorithms]\nidle = { rounds = [1, 3] }\n')
    table = hocket.sweep(path)
    assert [row.time_mean_s for row in table.rows] == pytest.approx([1e-6, 3e-6])
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        assert hocket.sweep(path, executor=executor) == table


def test_the_table_does_not_depend_on_who_does_the_work(spec: Path) -> None:
    texts = []
    for jobs in (1, 4):
        with ThreadPoolExecutor(jobs) as executor:
            texts.append(hocket.sweep(spec, executor=executor).as_csv())
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        texts.append(hocket.sweep(spec, executor=executor).as_csv())
    assert len(set(texts)) == 1


def test_jobs_do_not_change_the_file(spec: Path, hocket_command: Callable[..., Ran]) -> None:
    for jobs in (1, 4):
        assert hocket_command(f"sweep spec.toml --output {jobs}.csv --jobs {jobs}").status == 0
    assert Path("1.csv").read_bytes() == Path("4.csv").read_bytes()
    assert sorted(os.listdir()) == ["1.csv", "4.csv", "mine.toml", "spec.toml"]


def test_the_command_tells_the_table(spec: Path, hocket_command: Callable[..., Ran]) -> None:
    heading, columns, _, *rows = hocket_command("sweep spec.toml").out.splitlines()
    assert heading == "spec.toml: 48 simulations, 8 refused"
    assert columns.split() == ["ranks", "size", "time", "trials"]
    assert sum(re.match(r" +\d+  ", row) is not None for row in rows) == 48
    assert "±" in rows[1] and "needs a power of two" in "\n".join(rows).partition("refused (-)")[2]
    told = hocket_command("sweep spec.toml --json").json
    assert (told["spec"], told["output"], told["version"]) == ("spec.toml", None, hocket.__version__)
    assert hocket.Row(**told["rows"][0]) == hocket.sweep(spec).rows[0]


def test_a_grid_is_one_question(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Counting(Question):
        def answer(self, *some: Any, **more: Any) -> list[Answer]:
            asked.append(len(self.cells))
            return super().answer(*some, **more)

    monkeypatch.setattr("hocket.simulating.sweeps.cell.Question", Counting)
    hocket.sweep(spec)
    assert asked == [48]


class InThisThread(Executor):
    """It works in this thread, and counts the calls that it was given."""

    def __init__(self) -> None:
        self.calls = 0

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **_: Any) -> "Future[Any]":
        self.calls += 1
        future: Future[Any] = Future()
        future.set_result(work(*arguments))
        return future


def test_a_finished_cell_is_not_simulated_again(spec: Path) -> None:
    whole = hocket.sweep(spec)
    with pytest.raises(KeyboardInterrupt):
        hocket.sweep(spec, output="table.csv", executor=ThreadPoolExecutor(1), on_done=stop_after(7))
    journal = Path("table.csv.partial.jsonl")
    assert len(journal.read_text().splitlines()) == 7
    counting = InThisThread()
    assert hocket.sweep(spec, output="table.csv", executor=counting) == whole
    assert counting.calls == 48 - 7
    assert not journal.exists()
    assert Path("table.csv").read_text() == whole.as_csv()


def stop_after(cells: int) -> Callable[[], None]:
    """Return a function that raises KeyboardInterrupt after some cells."""
    left = iter(range(cells - 1))

    def on_done() -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt

    return on_done


def test_lines_of_other_sweeps_and_broken_ones_are_ignored(spec: Path) -> None:
    whole = hocket.sweep(spec)
    key, row = hocket.Grid.load(spec).cells[0].key, whole.rows[0]
    lines = [
        json.dumps({"key": "of another sweep", "row": vars(row)}),
        json.dumps({"key": key, "row": {"algorithm": "ring"}}),
        json.dumps([key]),
        "\0\0",
        json.dumps({"key": key, "row": vars(replace(row, noise="cut off"))})[:-5],
    ]
    Path("table.csv.partial.jsonl").write_text("\n".join(lines))
    assert hocket.sweep(spec, output="table.csv") == whole


@pytest.mark.parametrize("cut", [0, 20], ids=["whole lines", "a line cut off"])
def test_a_sweep_that_was_killed_goes_on_to_the_same_bytes(tmp_path: Path, cut: int) -> None:
    write(tmp_path, LONG)
    whole = hocket.sweep(tmp_path / "spec.toml")
    journal = tmp_path / "table.csv.partial.jsonl"
    ran = start(tmp_path, lines=10)
    ran.kill()
    assert ran.wait(timeout=20) == -signal.SIGKILL
    assert not (tmp_path / "table.csv").exists()
    os.truncate(journal, journal.stat().st_size - cut)
    finished = len(journal.read_bytes().splitlines())
    assert 9 <= finished < len(whole.rows)
    subprocess.run([*COMMAND, "spec.toml", "--output", "table.csv"], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "table.csv").read_text() == whole.as_csv()
    assert sorted(os.listdir(tmp_path)) == ["spec.toml", "table.csv"]


def test_control_c_leaves_the_journal(tmp_path: Path) -> None:
    write(tmp_path, LONG)
    ran = start(tmp_path, lines=3)
    ran.send_signal(signal.SIGINT)
    out, err = ran.communicate(timeout=20)
    assert (ran.returncode, out) == (130, "")
    assert re.fullmatch(r"hocket: \d+ of \d+ simulations are kept, run the same .*\nhocket: interrupted\n", err)
    assert sorted(os.listdir(tmp_path)) == ["spec.toml", "table.csv.partial.jsonl"]


def start(folder: Path, *, lines: int) -> "subprocess.Popen[str]":
    """Start a sweep and wait until it has done some cells."""
    journal = folder / "table.csv.partial.jsonl"
    ran = subprocess.Popen(
        [*COMMAND, "spec.toml", "--output", "table.csv"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background shell ignores SIGINT
    )
    limit_s = time.monotonic() + 60
    while not journal.exists() or journal.read_bytes().count(b"\n") < lines:
        assert ran.poll() is None and time.monotonic() < limit_s
        time.sleep(0.001)
    return ran


def test_a_sweep_that_cannot_begin_leaves_nothing(spec: Path, bad_input: Callable[..., str]) -> None:
    assert "spec.toml: No such file" in bad_input("sweep other/spec.toml --output table.csv")
    assert "is not a directory" in bad_input("sweep spec.toml --output spec.toml/table.csv")
    assert sorted(os.listdir()) == ["mine.toml", "spec.toml"]


def test_parquet_needs_its_package(spec: Path, bad_input: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    message = bad_input("sweep spec.toml --output table.parquet")
    assert "pyarrow cannot be used here" in message and "`pip install pyarrow`" in message


@pytest.mark.parametrize(("executor", "package"), [("mpi", "mpi4py"), ("dask", "distributed")])
def test_an_executor_needs_its_package(
    spec: Path, bad_input: Callable[..., str], monkeypatch: pytest.MonkeyPatch, executor: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, "mpi4py.futures", None)
    message = bad_input(f"sweep spec.toml --executor {executor} --output table.csv")
    assert f"{package} cannot be used here" in message and f"`pip install {package}`" in message
    assert sorted(os.listdir()) == ["mine.toml", "spec.toml"]


def test_a_table_has_another_ending_refused(spec: Path) -> None:
    with pytest.raises(hocket.Error, match=r'got "table\.txt", expected a file that ends in \.csv or \.parquet'):
        hocket.sweep(spec, output="table.txt")


@pytest.mark.parametrize(
    "change",
    [
        lambda row: row.update(version="0.0.9"),
        lambda row: row.pop("version"),
        lambda row: row.pop("time_q99_s"),
        lambda row: row.pop("by_formula"),
        lambda row: row.update(later=1),
    ],
)
def test_a_row_of_another_hocket_is_simulated_again(
    change: Callable[[dict[str, Any]], object], spec: Path, tmp_path: Path
) -> None:
    row = hocket.sweep(spec).rows[0]
    with Journal(str(tmp_path / "journal")) as journal:
        journal.add({"key": "key", "row": asdict(row)})
    with Journal(str(tmp_path / "journal")) as journal:
        assert journal.rows == {"key": row}
    entry = json.loads((tmp_path / "journal").read_text())
    change(entry["row"])
    (tmp_path / "journal").write_text(json.dumps(entry) + "\n")
    with Journal(str(tmp_path / "journal")) as journal:
        assert journal.rows == {}


def test_a_line_of_a_journal_that_is_nested_too_deeply_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_text("[" * 100_000 + "\n")
    with Journal(str(path)) as journal:
        assert journal.rows == {}


def test_what_is_kept_is_not_done_again(tmp_path: Path) -> None:
    grid = hocket.Grid.parse('ranks = [2, 3]\nsizes = "8B"\n[algorithms]\n"allreduce/ring" = {}')
    output = tmp_path / "table.csv"
    assert unfinished_cells(grid, output=output) == grid.cells
    with Journal(f"{output}.partial.jsonl") as journal:
        journal.add({"key": grid.cells[0].key, "row": asdict(simulate_cell(grid.cells[0]))})
    assert unfinished_cells(grid, output=output) == grid.cells[1:]
    assert unfinished_cells(grid) == grid.cells
