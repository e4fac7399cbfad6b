"""MPI jobs that a command starts and waits for."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hocket._native import Error

__all__ = ["end", "lines_of", "wait_for"]

_MOST_SECONDS_TO_END = 10.0


def wait_for(command: Sequence[str], variables: Mapping[str, str]) -> int:
    """Run a job that reads and prints as it likes; return its exit status. When interrupted, it is ended first."""
    job = subprocess.Popen(command, env={**os.environ, **variables})
    try:
        return job.wait()
    except BaseException:
        end(job)
        raise


def lines_of(command: Sequence[str], variables: Mapping[str, str], on_line: Callable[[str], None]) -> None:
    """Run a job, and hand on each line that it prints. When interrupted, it is ended first.

    Raises:
        Error: It fails; the last line of what it says is in the message.
    """
    job = subprocess.Popen(
        command, env={**os.environ, **variables}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    try:
        assert job.stdout is not None
        for line in job.stdout:
            on_line(line.rstrip("\n"))
        status = job.wait()
    except BaseException:
        end(job)
        raise
    if status:
        raise Error(f"{command[0]} ended with status {status}")


def end(job: subprocess.Popen[Any]) -> None:
    """End a job that may still run."""
    job.terminate()
    try:
        job.wait(_MOST_SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        job.kill()
        job.wait()
