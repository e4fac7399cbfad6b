"""What the reader of the command line refuses, as lines like those of all other errors."""

from __future__ import annotations

import re

import click

from hocket.base.names import hint

_TOO_MANY = re.compile(r"Got unexpected extra arguments? \((?P<words>.*)\)", re.DOTALL)
_FEW = re.compile(r"requires (?P<count>\d+) arguments")
_NO_VALUE = "does not take a value."
_HINT_START = "did you mean"


def refusal(error: click.ClickException) -> str:
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
