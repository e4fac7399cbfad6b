"""Fixtures for all tests."""

import json
import os
import re
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, reject, settings

import hocket
from hocket.cli import main
from tests.cpu_seconds import CpuSeconds

# Slow examples are no failure: the computer may be busy.
settings.register_profile("whatever_the_load", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("whatever_the_load")

# In the background of a script, the tests would ignore Ctrl-C, and so would the commands that they interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

MAY_BE_SKIPPED = (
    *("needs pyarrow", "mpif90.* is not there", "needs two MPIs"),
    *("needs groff", "needs tclsh", "there is no chromium", "^hocket lab: "),
    *("^no Open MPI, ", "^no Intel MPI, ", "^no header of ", "^no Slurm, "),
)
"""Reasons to skip a test although `HOCKET_TOOLS=all`: what neither the README asks for nor `make setup` installs."""

TRACE = Path(__file__).parents[2] / "studies" / "hocket_studies" / "ft-class-a-16-ranks.hktrace"
"""The trace of a real program."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a test fail that is skipped because a tool is missing."""
    report = yield
    check_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Let a file fail that is skipped because a module is missing."""
    report = yield
    check_skipped(report)
    return report


def check_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Let a skipped report fail unless there is a good reason."""
    if report.skipped and os.environ.get("HOCKET_TOOLS") == "all" and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if not any(re.search(allowed, reason) for allowed in MAY_BE_SKIPPED):
            report.outcome = "failed"
            report.longrepr = f"skipped: {reason}; expected all tools to be installed, as HOCKET_TOOLS=all says"


def pytest_configure(config: pytest.Config) -> None:
    """Count CPU seconds, also of the tests in other folders."""
    config.pluginmanager.register(CpuSeconds())


@dataclass(frozen=True)
class Ran:
    """The result of a command line."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.err == ""
        return json.loads(self.out)


@contextmanager
def refusals_rejected(algorithm: hocket.Algorithm) -> Iterator[None]:
    """Let hypothesis try another example if the algorithm, or a part of it, refuses the call by its precondition."""
    try:
        yield
    except hocket.Error as error:
        label, needs, _ = str(error).partition(" needs ")
        if needs and label.startswith(f"{algorithm.collective} {algorithm.name}"):
            reject()
        raise


@pytest.fixture
def hocket_command(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Runs a command line in this process, given as words or as one text."""

    def run(*words: object) -> Ran:
        texts = [str(word) for word in words]
        status = main(texts[0].split() + texts[1:])
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return run


@pytest.fixture
def bad_input(hocket_command: Callable[..., Ran]) -> Callable[..., str]:
    """Runs a command line that must fail with exit status 2 and one line; returns the message."""

    def run(*words: object) -> str:
        ran = hocket_command(*words)
        assert (ran.status, ran.out) == (2, "")
        prefix, _, message = ran.err.partition("hocket: error: ")
        assert prefix == ""
        assert message.count("\n") == 1 and message.endswith("\n")
        return message.rstrip("\n")

    return run


@pytest.fixture
def program_file(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a Python file for `--load`."""

    def write(text: str) -> Path:
        path = tmp_path / "mine.py"
        path.write_text("import hocket\n" + text)
        return path

    return write
