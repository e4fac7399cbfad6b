"""The command line: `hocket`."""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Sequence
from io import TextIOWrapper

import click

from hocket._native import Error
from hocket.cli.app import ClosedPipeError, InterruptedByUserError, hocket

__all__ = ["main"]

_BAD_INPUT = 2
_INTERRUPTED = 130  # 128 + SIGINT, as shells have it
_CLOSED_PIPE = 141  # 128 + SIGPIPE


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 2 for bad input, after one line that says what is wrong."""
    if sys.stderr is None:  # closed by the caller
        sys.stderr = io.StringIO()
    if sys.stdout is None:
        return _bad_input("stdout is closed, expected somewhere to print to")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        status = hocket.main(arguments, prog_name="hocket", standalone_mode=False)
        sys.stdout.flush()
    except InterruptedByUserError:
        return _interrupted()
    except (ClosedPipeError, BrokenPipeError):
        return _closed_pipe()
    except click.ClickException as error:
        return _bad_input(error.format_message())
    except (Error, UnicodeError) as error:
        return _bad_input(str(error))
    except OSError as error:
        return _bad_input(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    return int(status or 0)


def _bad_input(message: str) -> int:
    print(f"hocket: error: {' '.join(message.split())}", file=sys.stderr)
    return _BAD_INPUT


def _interrupted() -> int:
    print("hocket: interrupted", file=sys.stderr, flush=True)
    if threading.active_count() > 1:
        os._exit(_INTERRUPTED)  # work that still runs in other threads would be waited for
    return _INTERRUPTED


def _closed_pipe() -> int:
    """Leave silently; what is still buffered goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _CLOSED_PIPE
