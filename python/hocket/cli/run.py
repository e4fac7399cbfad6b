"""Running a command line: its exit status, and one line of error."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Any

import click

from hocket._native import Error
from hocket.base.checks import memory, one_line
from hocket.cli.app import ClosedPipeError, InterruptedByUserError, hocket

_BAD_INPUT = 2
_LEAST_BYTES = 1 << 26  # memory that a command needs by itself
_CLOSED_PIPE = 141  # 128 + SIGPIPE


def run(arguments: Sequence[str] | None) -> int:
    """Run a command line and return its exit status: 2 for bad input, after one line that says what is wrong.

    Raises:
        KeyboardInterrupt: The user pressed Ctrl-C.
    """
    if sys.stdout is None:  # closed by the caller
        return _bad_input("stdout is closed, expected an open stdout")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    showwarning = warnings.showwarning
    warnings.showwarning = _show_warning
    try:
        memory("hocket", _LEAST_BYTES)
        status = hocket.main(arguments, prog_name="hocket", standalone_mode=False)
        sys.stdout.flush()
    except InterruptedByUserError:
        raise KeyboardInterrupt from None
    except (ClosedPipeError, BrokenPipeError):
        return _closed_pipe()
    except click.ClickException as error:
        return _bad_input(error.format_message())
    except (Error, UnicodeError) as error:
        return _bad_input(str(error))
    except OSError as error:
        return _bad_input(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except MemoryError:
        return _bad_input("out of memory, expected a smaller call or fewer calls")
    finally:
        warnings.showwarning = showwarning
    return int(status or 0)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"hocket: note: {one_line(str(message))}", file=sys.stderr)


def _bad_input(message: str) -> int:
    print(f"hocket: error: {one_line(message)}", file=sys.stderr)
    return _BAD_INPUT


def _closed_pipe() -> int:
    """Exit silently; buffered output is dropped."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _CLOSED_PIPE
