"""Running a command line: its exit status, and one line of error."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from io import TextIOWrapper

import click
from click.shell_completion import shell_complete

from hocket._native import Error
from hocket.base.checks import memory, one_line, quote
from hocket.base.error import printable
from hocket.cli.app import hocket
from hocket.cli.exits import bad_input
from hocket.cli.printing import note
from hocket.cli.refusals import refusal

_LEAST_BYTES = 1 << 26  # memory that a command needs by itself
_NO_THREAD = "can't start new thread"  # as Python says it
_COMPLETION = "_HOCKET_COMPLETE"  # the variable by which shells ask
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
        status = _invoke([*(sys.argv[1:] if arguments is None else arguments)])
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # buffered output is dropped
        return _CLOSED_PIPE
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


def _invoke(arguments: list[str]) -> int | None:
    """Run a command as `click.Group.main` does, which would print something on Ctrl-C and for a closed pipe."""
    if instruction := os.environ.get(_COMPLETION):
        return shell_complete(hocket, {}, "hocket", _COMPLETION, instruction)
    # Unless the user wants no colours or the terminal has none, click colours terminals.
    color = False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None
    try:
        with hocket.make_context("hocket", arguments, color=color) as context:
            status: int | None = hocket.invoke(context)
            return status
    except click.exceptions.Exit as error:
        return error.exit_code


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    note(f"note: {one_line(str(message))}")


def _bad_input(message: str) -> int:
    return bad_input(printable(one_line(message)))
