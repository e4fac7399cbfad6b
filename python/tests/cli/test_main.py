"""Every command: one line for bad input, exit statuses, signals and pipes."""

import contextlib
import io
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hocket
from hocket.base.checks import one_line
from hocket.base.version import commit
from hocket.cli import main
from tests.conftest import Ran
from tests.processes import needs_proc, until_at_work

COMMAND = [sys.executable, "-m", "hocket"]
COMMANDS = ("list", "show", "verify", "simulate", "compare", "sweep", "record", "machines")


def test_without_a_command_the_help_is_shown(hocket_command: Callable[..., Ran]) -> None:
    ran = hocket_command("")
    assert ran.status == 0
    for command in COMMANDS:
        assert command in ran.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_takes_json(hocket_command: Callable[..., Ran], command: str) -> None:
    ran = hocket_command(f"{command} --help")
    assert (ran.status, ran.err) == (0, "")
    assert "--json" in ran.out


def test_the_version_is_the_packages_and_tells_the_commit(hocket_command: Callable[..., Ran]) -> None:
    assert hocket_command("--version").out == f"hocket {hocket.__version__} (commit {commit()})\n"
    assert re.fullmatch("[0-9a-f]{12,}(-dirty)?|unknown", commit())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("simulat", 'unknown command "simulat", did you mean simulate?'),
        ("list --colour", 'unknown option "--colour", expected one that `hocket list --help` lists'),
        ("list --jsn", 'unknown option "--jsn", did you mean --json?'),
        ("list --json=1", "--json: got a value, expected none"),
        ("list --load", "--load: got no value, expected one"),
        ("list allreduce ring", 'got "ring" as well, expected only hocket list [COLLECTIVE]'),
        ("compare", "COLLECTIVE is missing, expected hocket compare COLLECTIVE [ALGORITHM]..."),
        ("compare allreduce", "--ranks is missing, expected --ranks P (number of ranks)"),
        ("mpi run true", "--ranks is missing, expected --ranks P (number of ranks)"),
        ("mpi calibrate -n 1", '--ranks: got "1", expected a number of ranks, at least 2'),
        (
            "mpi trace -n 2 --simgrid /dev/null true",
            "--simgrid: /dev/null: cannot be written: /dev/null is not",
        ),
        ("serve --port 65536", '--port: got "65536", expected a whole number from 0 to 65535'),
        ("simulate allreduce ring --trials x", '--trials: got "x", expected a whole number, at least 1'),
        ("tune --factor 1", '--factor: got "1", expected a number above 1'),
        ("mpi run -n 2 --load mine.py ./app", 'unknown option "--load"'),
        ("mpi trace -n 2 --load mine.py ./app", 'unknown option "--load"'),
        ("list --load nowhere.py", "nowhere.py: no such file"),
        ("simulate allreduce rign --ranks 4 --size 8B", 'unknown allreduce algorithm "rign", did you mean ring?'),
        ("simulate allredcue ring --ranks 4 --size 8B", 'unknown collective "allredcue", did you mean allreduce?'),
        ("simulate allreduce ring --ranks 0 --size 8B", '--ranks: got "0", expected a number of ranks, at least 1'),
        ("simulate allreduce ring --ranks 4 --size 8X", '--size: got "8X", expected a whole number of bytes'),
        ("simulate allreduce ring --ranks 4", "--size is missing, expected a size such as 64KiB"),
        ("simulate allreduce ring --size 8B", "--ranks is missing, expected the number of ranks"),
        (
            "simulate allreduce ring --ranks 4 --size 8B --machine clutser",
            '--machine: no machine "clutser", did you mean cluster?',
        ),
        ("simulate allreduce ring --ranks 4 --size 8B --param a", '--param: got "a", expected NAME=VALUE'),
        ("simulate allreduce ring --ranks 4 --size 8B --param a=1", 'unknown parameter "a"'),
        ("simulate broadcast binomial --ranks 4 --size 8B --root 4", "root: got 4, expected a rank below 4"),
        ("simulate schedule", "expected schedule FILE"),
        ("simulate schedule nowhere.goal", "nowhere.goal: No such file or directory"),
        ("simulate schedule nowhere.goal --ranks 4", "expected neither --ranks nor --size"),
        ("verify", "expected COLLECTIVE, COLLECTIVE ALGORITHM, or --all"),
        ("verify allreduce --all", "got --all and a name, expected one of them"),
        ("verify allreduce ring --ranks 0-4", '--ranks: got "0-4", expected rank counts of at least 1'),
        ("compare allreduce --ranks 4", "--sizes is missing, expected sizes such as 8B..64MiB"),
        ("compare allreduce --ranks 4 --sizes 8B..4B", '--sizes: got "8B..4B", expected'),
        ("compare allreduce rign --ranks 4 --sizes 8B", 'unknown allreduce algorithm "rign", did you mean ring?'),
        ("compare allreduce --ranks 4 --sizes 8B --plot x.pdf", 'got "x.pdf", expected a file that ends in .png or'),
        ("sweep", "SPEC is missing, expected hocket sweep SPEC | plot TABLE"),
        ("sweep nowhere.toml", "nowhere.toml: No such file or directory"),
        ("sweep nowhere.toml --output x.txt", '--output: got "x.txt", expected a file that ends in .csv or .parquet'),
        ("sweep nowhere.toml --executor slurm", '--executor: got "slurm", expected local, mpi, dask or dask=ADDRESS'),
        ("sweep nowhere.toml --executor mpi=x", '--executor: got "mpi=x", expected local, mpi, dask or dask=ADDRESS'),
        ("record allreduce ring --ranks 4 --size 8B --format pdf", "--format: got 'pdf', expected one of "),
        ("show binomial", "several algorithms are named binomial, expected one of "),
        ("simulate allreduce --ranks 4 --size 8B", "allreduce is a collective, expected also one of its algorithms"),
        ("show allreduce --ranks 4", "--ranks: does not apply to a collective, expected one of its algorithms"),
        ("show alreduce", 'unknown algorithm "alreduce", did you mean allreduce?'),
        ("show allreduce ring --ranks 99999999999", "--ranks: got 99999999999, expected at most 64 for a picture"),
        ("simulate allreduce ring --ranks 4 --size 8B --element 0", "--element: got 0 B, expected at least 1 B"),
        ("simulate allreduce ring --ranks 4 --size 8B --trials 5", "--trials: got 5, but machine cluster has no noise"),
        ("simulate allreduce ring --ranks 4 --size 8B --until-ci 1%", "--until-ci: got 0.01, but machine cluster has"),
        ("compare allreduce --ranks 4 --sizes 8B --trials 5", "--trials: got 5, but machine cluster has no noise"),
        (
            "simulate broadcast chain --ranks 4 --size 8B --param segment=8B --param segment=9B",
            "--param: got segment twice, expected each parameter once",
        ),
        ("verify broadcast chain --param segment=8B --param segment=8B", "--param: got segment twice"),
        ("machines clutser", 'no machine "clutser", did you mean cluster?'),
    ],
)
def test_bad_input_is_one_line_and_exit_status_2(bad_input: Callable[..., str], line: str, message: str) -> None:
    assert message in bad_input(line)


ENDLESS = """
name = "endless"
[network]
model = "hockney"
latency = "1e308 s"
bandwidth = "1 GB/s"
[node]
reduce_bandwidth = "1e-300 B/s"
"""
NOISY = """[noise.os]
model = "poisson"
interval = "1 ms"
duration = "1 us"
"""


@pytest.mark.parametrize("noise", ["", NOISY])
@pytest.mark.parametrize(
    "line",
    [
        "simulate allreduce ring --size 8B",
        "simulate allreduce ring --size 8B --engine events",
        "compare allreduce --sizes 8B..64B",
        "record allreduce ring --size 8B",
    ],
)
def test_times_beyond_what_a_number_holds_are_refused(
    bad_input: Callable[..., str], tmp_path: Path, line: str, noise: str
) -> None:
    machine = tmp_path / "endless.toml"
    machine.write_text(ENDLESS + noise)
    assert re.search(
        r"endless exceeds .*, expected shorter|at most 2\^53 ns", bad_input(f"{line} --ranks 4 --machine", machine)
    )


LINES = (
    "simulate allreduce ring --ranks 4 --size 8B",
    "compare broadcast chain binomial --ranks 2 --sizes 8B..64B",
    "show broadcast chain --ranks 4",
    "record allreduce ring --ranks 4 --size 8B",
    "explain allreduce ring --ranks 4 --size 8B",
)
WORDS = [
    *("allreduce", "broadcast", "ring", "chain", "schedule", "cluster", "--ranks", "--size", "--sizes", "--machine"),
    *("--param", "--root", "--json", "--in-place", "--element", "--engine", "--help", "segment=1B", "events", "x", ""),
    *("0", "2", "4", "-1", "8B", "8B..64B", "1-3", "1e9", "3\n4", "é", "."),
]


@st.composite
def nearly_right_lines(draw: st.DrawFn) -> list[str]:
    """Draw a command line, up to two words of which are replaced, left out or added."""
    command, *words = draw(st.sampled_from(LINES)).split()
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(words)))
        words[place : place + draw(st.integers(0, 1))] = draw(st.lists(st.sampled_from(WORDS), max_size=1))
    return [command, *words]


def test_whatever_is_typed_the_answer_is_a_result_or_one_line() -> None:
    statuses = set()

    @given(nearly_right_lines())
    @settings(max_examples=100)
    def check(words: list[str]) -> None:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(words)
        statuses.add(status)
        if status == 0:
            assert err.getvalue() == ""
        else:
            assert (status, out.getvalue()) == (2, "")
            assert re.fullmatch(r"hocket: error: .+\n", err.getvalue())

    check()
    assert statuses == {0, 2}


def test_an_empty_name_is_no_machine(bad_input: Callable[..., str]) -> None:
    assert 'no machine ""' in bad_input("simulate allreduce ring --ranks 4 --size 8B --machine", "")


def test_bytes_that_are_no_text_are_one_line(bad_input: Callable[..., str]) -> None:
    bad_input("simulate allreduce ring --ranks 4 --size", "\udcff")


@pytest.mark.parametrize(
    "line",
    [
        "simulate allreduce ring --ranks 4 --size 8B --timeline",
        "simulate allreduce ring --ranks 4 --size 8B --links",
        "simulate schedule nowhere.goal --timeline",
        "replay nowhere.hktrace --timeline",
        "compare allreduce --ranks 4 --sizes 8B --plot",
        "record allreduce ring --ranks 4 --size 8B --output",
        "record allreduce ring --ranks 4 --size 8B -o",
        "sweep nowhere.toml --output",
        "study jitter --quick --output",
        "mpi noise --output",
        "mpi bench allreduce -n 2 --sizes 8B --output",
        "mpi bench allreduce -n 2 --sizes 8B --plot",
        "mpi calibrate -n 2 --output",
        "mpi trace -n 2 --output",
    ],
)
def test_a_folder_that_is_not_there_is_refused_before_the_work(
    bad_input: Callable[..., str], tmp_path: Path, line: str
) -> None:
    name = {"sweep": "out.csv", "compare": "out.png"}.get(line.split()[0], "out.html")
    message = bad_input(line, tmp_path / "missing" / name)
    assert f"cannot be written: there is no folder {tmp_path}/missing" in message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["compare"], ["simulate"], ["replay"], ["verify"], ["record"], ["mpi", "bench"]])
def test_help_speaks_of_options_that_are_there(hocket_command: Callable[..., Ran], command: list[str]) -> None:
    text = hocket_command(" ".join([*command, "--help"])).out
    names = re.findall(r"^  (?:-\w, )?(--[\w-]+(?:, --[\w-]+)*)", text, flags=re.MULTILINE)
    there = {name for line in names for name in line.split(", ")}
    assert set(re.findall(r"--[a-z][\w-]+", text)) <= there


@pytest.mark.parametrize("output", ["-", "/dev/stdout"])
def test_what_goes_to_stdout_is_what_was_asked_for(output: str) -> None:
    def run(line: str) -> str:
        return subprocess.run([*COMMAND, *line.split()], capture_output=True, text=True, check=True).stdout

    record = "record broadcast linear --ranks 3 --size 8B"
    assert run(f"{record} --output {output}") == run(record)
    assert run(f"{record} --format json -o {output}").startswith('{"format":1')
    timeline = run(f"simulate broadcast linear --ranks 3 --size 8B --timeline {output}")
    assert timeline.startswith('{"traceEvents": ') and timeline.count("\n") == 1


def without_reader(line: str) -> tuple[int, str]:
    """Return the exit status and the stderr of a command whose stdout nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as stdout:
        ran = subprocess.run([*COMMAND, *line.split()], stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)
    return ran.returncode, ran.stderr


@pytest.mark.parametrize(
    "line",
    [
        "record broadcast linear --ranks 3 --size 8B -o /dev/stdout",
        "simulate broadcast linear --ranks 3 --size 8B --timeline -",
    ],
)
def test_nobody_who_reads_a_file_on_stdout_is_exit_status_141(line: str) -> None:
    assert without_reader(line) == (141, "")


def test_a_closed_pipe_is_silent() -> None:
    words = " ".join([*COMMAND, "compare", "allreduce", "--ranks", "4", "--sizes", "1B..1GiB", "--json"])
    ran = subprocess.run(["bash", "-c", f"{words} | head -1"], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("{\n", "")


@pytest.mark.parametrize("line", ["", "--help", "--version", "list", "simulate --help"])
def test_nobody_who_reads_is_exit_status_141(line: str) -> None:
    assert without_reader(line) == (141, "")


@pytest.mark.parametrize("line", ["--help", "list", "list --json", "simulate allreduce ring --ranks 4 --size 8B"])
def test_a_closed_stdout_is_bad_input(line: str) -> None:
    script = f"{' '.join(COMMAND)} {line} >&-"
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (2, "hocket: error: stdout is closed, expected an open stdout\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no such device")
def test_a_full_disk_is_exit_status_2() -> None:
    def status(line: str, redirection: str) -> tuple[int, str]:
        script = f"{' '.join(COMMAND)} {line} {redirection}"
        ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
        return ran.returncode, ran.stderr

    assert status("verify allreduce nosuch --ranks 4", "2>/dev/full") == (2, "")
    for line in ("list", "list --json", "record broadcast linear --ranks 3 --size 8B"):
        said = "hocket: error: stdout: cannot be written: No space left on device\n"
        assert status(line, ">/dev/full") == (2, said)


@needs_proc
@pytest.mark.parametrize(
    "line",
    [
        "simulate allreduce ring --ranks 20000 --size 1MiB",
        "compare allreduce ring --ranks 20000 --sizes 1MiB..64MiB",
        "verify allreduce ring --ranks 300-400",
    ],
)
def test_control_c_is_one_line_and_exit_status_130(line: str) -> None:
    with subprocess.Popen(
        [*COMMAND, *line.split()],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background shell ignores SIGINT
    ) as ran:
        until_at_work(ran, used_s=1.0)
        ran.send_signal(signal.SIGINT)
        out, err = ran.communicate(timeout=20)
    *announced, last = err.splitlines()
    assert (ran.returncode, out, last) == (130, "", "hocket: interrupted")
    assert all(line.startswith("hocket: this takes about ") for line in announced) and len(announced) <= 1


@pytest.mark.parametrize("module", ["click", "hocket.base.checks", "hocket.simulating.simulation"])
def test_control_c_while_modules_load_is_exit_status_130(module: str) -> None:
    words = ["simulate", "allreduce", "ring", "--ranks", "20000", "--size", "1MiB"]
    with subprocess.Popen(
        [sys.executable, "-X", "importtime", *COMMAND[1:], *words],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as ran:
        assert ran.stderr is not None
        assert any(line.endswith(f" {module}\n") for line in ran.stderr)
        ran.send_signal(signal.SIGINT)
        out, err = ran.communicate(timeout=20)
    assert (ran.returncode, out) == (130, "")
    assert "Traceback" not in err and err.endswith("hocket: interrupted\n")


def test_control_c_within_text_that_is_executed_is_exit_status_130(tmp_path: Path) -> None:
    (tmp_path / "interrupted.py").write_text(
        "import sys, types, hocket.cli\n"
        "text = 'raise KeyboardInterrupt'\n"
        "sys.modules['hocket.cli.run'] = types.SimpleNamespace(run=lambda _: exec(text))\n"
        "sys.exit(hocket.cli.main([]))\n"
    )
    words = [sys.executable, "-m", "interrupted"]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "hocket: interrupted\n")


def test_control_c_where_exceptions_are_ignored_is_exit_status_130(tmp_path: Path) -> None:
    (tmp_path / "interrupted.py").write_text(
        "import signal, sys, time, types, hocket.cli\n"
        "class Ignoring:\n"
        "    def __del__(self): signal.raise_signal(signal.SIGINT)\n"
        "def run(_):\n"
        "    Ignoring()\n"
        "    time.sleep(60)\n"
        "sys.modules['hocket.cli.run'] = types.SimpleNamespace(run=run)\n"
        "sys.exit(hocket.cli.main([]))\n"
    )
    words = [sys.executable, "-m", "interrupted"]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=30)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "hocket: interrupted\n")


@pytest.mark.parametrize("raised", [ImportError("numpy is broken"), RuntimeError("half loaded")])
def test_what_an_interrupted_package_raises_is_an_interruption(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], raised: Exception
) -> None:
    def interrupted(_: object) -> int:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise raised

    monkeypatch.setattr("hocket.cli.run.run", interrupted)
    before = signal.getsignal(signal.SIGINT)
    assert main(["list"]) == 130
    assert capsys.readouterr().err == "hocket: interrupted\n"
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(("engine", "trials"), [("dataflow", 20_000), ("events", 100)])
def test_trials_show_progress_on_a_terminal(engine: str, trials: int) -> None:
    ours, theirs = pty.openpty()
    words = f"simulate allreduce ring --ranks 64 --size 1MiB --machine jitter-paper --trials {trials} --engine"
    subprocess.run([*COMMAND, *words.split(), engine], stderr=theirs, stdout=subprocess.PIPE, check=True)
    os.close(theirs)
    shown = ""
    with contextlib.suppress(OSError):  # the terminal has ended
        while piece := os.read(ours, 4096):
            shown += piece.decode(errors="replace")
    os.close(ours)
    assert "simulating" in shown and re.search(r"\b[1-9]\d?%", shown)


def test_progress_is_shown_on_a_terminal_only() -> None:
    ours, theirs = pty.openpty()
    line = [*COMMAND, "compare", "allreduce", "--ranks", "64", "--sizes", "8B..1MiB", "--json"]
    ran = subprocess.run(line, stderr=theirs, stdout=subprocess.PIPE, check=True)
    os.close(theirs)
    assert b"simulating" in os.read(ours, 100_000)
    os.close(ours)
    assert ran.stdout.startswith(b"{")
    assert subprocess.run(line, capture_output=True, check=True).stderr == b""


def test_listing_imports_nothing_heavy() -> None:
    code = "import sys, hocket.cli; hocket.cli.main(['list']); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"numpy", "altair", "vl_convert"} & set(loaded.splitlines()[-1].split())


def test_files_to_load_may_stand_in_the_environment(
    hocket_command: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        text = f'import hocket\n@hocket.algorithm("barrier")\ndef {name}(r, c):\n    yield r.compute(0.0)\n'
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setenv("HOCKET_LOAD", os.pathsep.join(str(tmp_path / f"{name}.py") for name in ("one", "two")))
    listed = [entry["name"] for entry in hocket_command("list barrier --json").json]
    assert listed[-2:] == ["one", "two"]


@pytest.mark.parametrize(
    "words",
    [
        "{} ring",
        "allreduce {}",
        "allreduce ring -n {}",
        "allreduce ring -n 8 --seed {}",
        "allreduce ring -n 8 --size 8B --timeline a/{}",
    ],
)
def test_long_bad_texts_are_cut(bad_input: Callable[..., str], words: str) -> None:
    said = bad_input("simulate", *words.format("x" * 10_000).split())
    assert f"{'x' * 57}" in said and "x…" in said and "x" * 61 not in said


def test_what_stands_between_texts_in_quotes_is_whole() -> None:
    line = f'got "a", {"expected " * 9}"b\\"c" in {"path/" * 40}x.toml:3: "{"d" * 61}"'
    assert one_line(line) == line.replace("d" * 61, "d" * 60 + "…")
