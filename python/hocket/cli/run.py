"""Running a command line: its exit status, and one line of error."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from io import TextIOWrapper

import click

from hocket._native import Error
from hocket.base.checks import memory, one_line, quote
from hocket.base.error import printable
from hocket.cli.app import ClosedPipeError, InterruptedByUserError, hocket
from hocket.cli.exits import bad_input
from hocket.cli.printing import note
from hocket.cli.refusals import refusal

_LEAST_BYTES = 1 << 26  # memory that a command needs by itself
_NO_THREAD = "can't start new thread"  # as Python says it
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
        return _bad_input(refusal(error))
    except UnicodeEncodeError as error:
        return _bad_input(f"got {quote(error.object)}, expected UTF-8, also in names of files")
    except (Error, UnicodeError) as error:
        return _bad_input(str(error))
    except OSError as error:
        return _bad_input(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except RuntimeError as error:
        if str(error) != _NO_THREAD:
            raise
        return _bad_input("no thread can be started, expected fewer --jobs, or room for more (ulimit -u and -v)")
    except MemoryError:
        return _bad_input("out of memory, expected a smaller call or fewer calls")
    finally:
        warnings.showwarning = showwarning
    return int(status or 0)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    note(f"note: {one_line(str(message))}")


def _bad_input(message: str) -> int:
    return bad_input(printable(one_line(message)))


def _closed_pipe() -> int:
    """Exit silently; buffered output is dropped."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _CLOSED_PIPE
