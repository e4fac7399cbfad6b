"""Running a command line: its exit status, and one line of error, also for what the reader of the line refuses."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Sequence
from io import TextIOWrapper

import click
from click.shell_completion import shell_complete

from hocket._native import Error
from hocket.base.checks import hint, memory, one_line, quote
from hocket.base.error import printable
from hocket.cli.app import hocket
from hocket.cli.limits import bad_input
from hocket.cli.printing import note

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
        return _bad_input(_refusal(error))
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


_TOO_MANY = re.compile(r"Got unexpected extra arguments? \((?P<words>.*)\)", re.DOTALL)
_FEW = re.compile(r"requires (?P<count>\d+) arguments")
_NO_VALUE = "does not take a value."
_HINT_START = "did you mean"


def _refusal(error: click.ClickException) -> str:
    """Return what was given, where, and what was expected."""
    if isinstance(error, click.BadOptionUsage):
        if several := _FEW.search(error.message):
            return f"{error.option_name}: got too few values, expected {several['count']}"
        value, expected = ("a value", "none") if error.message.endswith(_NO_VALUE) else ("no value", "one")
        return f"{error.option_name}: got {value}, expected {expected}"
    context = getattr(error, "ctx", None)
    if context is None:
        return error.format_message()
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return f"{_name(error.param)} is missing, expected {_expected(error.param, context)}"
    if isinstance(error, click.NoSuchOption):
        options = [name for each in context.command.params for name in each.opts if name.startswith("--")]
        nearest_option = hint(error.option_name, options)
        if not nearest_option.startswith(_HINT_START):
            nearest_option = f"expected one that `{context.command_path} --help` lists"
        return f'unknown option "{error.option_name}", {nearest_option}'
    if too_many := _TOO_MANY.fullmatch(error.message):
        return f'got "{too_many["words"]}" as well, expected only {_usage(context)}'
    return error.format_message()


def _name(parameter: click.Parameter) -> str:
    """Return an argument as help names it, or the long name of an option."""
    return max(parameter.opts, key=len) if isinstance(parameter, click.Option) else parameter.human_readable_name


def _expected(parameter: click.Parameter, context: click.Context) -> str:
    if not isinstance(parameter, click.Option):
        return _usage(context)
    words = re.split(r"[;.](?= |$)", parameter.help or "")[0]
    meaning = words if words[:2].isupper() else words[:1].lower() + words[1:]
    return f"{_name(parameter)} {parameter.metavar or parameter.type.name.upper()} ({meaning})"


def _usage(context: click.Context) -> str:
    """Return the command with its arguments, without options."""
    _, *arguments = context.command.collect_usage_pieces(context)
    return " ".join([context.command_path, *arguments])
