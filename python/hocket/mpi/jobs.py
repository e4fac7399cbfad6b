"""MPI jobs that a command starts and waits for."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

from hocket._native import Error

_MOST_SECONDS_TO_END = 10.0
_SIGNAL_STATUS = 128  # plus the number of the signal, as in shells
_PR_SET_PDEATHSIG = 1


class JobEndedError(Error):
    """A job ended before it answered."""


def wait_for(command: Sequence[str], variables: Mapping[str, str]) -> int:
    """Run a job with free use of stdin and stdout; return its exit status, as a shell does.

    On an interruption, and on SIGTERM, the job ends first. It also ends if this process is killed.
    """
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(_SIGNAL_STATUS + number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    job = None
    try:
        job = subprocess.Popen(command, env={**os.environ, **variables}, preexec_fn=lambda: _end_with_parent(mask))
        # Now that the job is known, a signal can end it.
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        status = job.wait()
        return status if status >= 0 else _SIGNAL_STATUS - status
    except BaseException:
        if job is not None:
            end(job)
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGTERM, before)


def _end_with_parent(mask: set[int]) -> None:
    """Have the kernel end this process, by SIGTERM, with the thread that began it; hear the signals again."""
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    with suppress(OSError, AttributeError):  # only Linux has it
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def lines_of(
    command: Sequence[str], variables: Mapping[str, str], on_line: Callable[[str], str | None], *, asks: bool = False
) -> None:
    """Run a job, and pass on each line that it prints. On an interruption, end the job first.

    A job that asks reads what `on_line` returns, as a line. If it fails, an Error says why, if Hocket's part of it
    does.
    """
    has_printed = False
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        job = _start(command, variables, errors, subprocess.PIPE if asks else subprocess.DEVNULL)
        assert job.stdout is not None
        try:
            for line in job.stdout:
                has_printed = True
                answer = on_line(line.rstrip("\n"))
                if answer is not None and job.stdin is not None:
                    with suppress(OSError):  # the job has ended; its status says why
                        job.stdin.write(f"{answer}\n")
                        job.stdin.flush()
            _close_input(job)
            status = job.wait()
        except BaseException:
            end(job)
            raise
        finally:
            _close_input(job)
            job.stdout.close()
        errors.seek(0)
        text = errors.read()
    problem = _problem_in(text)
    if problem is not None and (status or not has_printed):
        raise Error(problem)
    os.write(2, text.encode())
    if status:
        raise Error(f"{command[0]} ended with status {status}")


def _problem_in(errors: str) -> str | None:
    """Return what the preloaded library, or a program of Hocket, says is wrong; None if it says nothing."""
    lines = (line.strip() for line in errors.splitlines())
    return next((line.removeprefix("hocket: ") for line in lines if line.startswith("hocket: ")), None)


def _start(command: Sequence[str], variables: Mapping[str, str], errors: IO[str], stdin: int) -> subprocess.Popen[str]:
    """Start a job that prints lines."""
    environment = {**os.environ, **variables}
    return subprocess.Popen(command, env=environment, stdin=stdin, stdout=subprocess.PIPE, stderr=errors, text=True)


def parse_line(line: str, program: str, expected: str) -> dict[str, Any]:
    """Return the object of JSON that a program has printed on a line; say what was expected instead of another line."""
    try:
        data = json.loads(line)
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise Error(f"{program}: got {line[:60]!r}, expected {expected}")
    return data


class Dialogue:
    """A job that reads orders, one per line, and answers some by a line. On an interruption, the job is ended first."""

    def __init__(self, command: Sequence[str], variables: Mapping[str, str]) -> None:
        self._command, self._variables = command, variables

    def __enter__(self) -> Dialogue:
        self._errors = tempfile.TemporaryFile("w+", errors="replace")
        self._job = _start(self._command, self._variables, self._errors, subprocess.PIPE)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        assert self._job.stdout is not None
        _close_input(self._job)
        try:
            if kind is None:
                with suppress(subprocess.TimeoutExpired):
                    self._job.wait(_MOST_SECONDS_TO_END)
        finally:
            end(self._job)
            self._job.stdout.close()
            self._errors.close()

    def tell(self, order: str) -> None:
        """Give an order; a JobEndedError if the job has ended."""
        assert self._job.stdin is not None
        try:
            self._job.stdin.write(f"{order}\n")
            self._job.stdin.flush()
        except OSError:
            raise self._ended() from None

    def answer(self) -> str:
        """Return the next line that the job prints; a JobEndedError with its last line if it ends instead."""
        assert self._job.stdout is not None
        answer = self._job.stdout.readline()
        if not answer.endswith("\n"):
            raise self._ended()
        return answer.rstrip("\n")

    def _ended(self) -> JobEndedError:
        status = self._job.wait()
        self._errors.seek(0)
        text = self._errors.read()
        problem = _problem_in(text)
        if problem is not None:
            return JobEndedError(problem)
        last_line = (text.strip().splitlines() or ["no error message"])[-1].strip()
        return JobEndedError(f"{self._command[0]} ended with status {status}: {last_line}")


def _close_input(job: subprocess.Popen[str]) -> None:
    """Close what a job reads; what it has not read is lost."""
    if job.stdin is not None:
        with suppress(OSError):
            job.stdin.close()


def end(job: subprocess.Popen[Any]) -> None:
    """End a job that may still run."""
    job.terminate()
    try:
        job.wait(_MOST_SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        job.kill()
        job.wait()
