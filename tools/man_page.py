"""Print the man page of `hocket`: the `--help` of every command, for `man`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from hocket.base.version import VERSION
from hocket.cli.app import hocket
from hocket.cli.group import Group


def main() -> None:
    print("\n".join(page()))


def page() -> Iterator[str]:
    """Give the lines of the page."""
    context = click.Context(hocket, info_name="hocket", **hocket.context_settings)
    yield f'.TH HOCKET 1 "" "Hocket {VERSION}" "User Commands"'
    yield from (".SH NAME", rf"hocket \- {roff(help_of(hocket))}")
    yield from (".SH SYNOPSIS", *synopsis(context))
    yield from (".SH OPTIONS", *options(context))
    yield ".SH COMMANDS"
    for command in commands(context):
        yield f'.SS "{command.command_path}"'
        yield from synopsis(command)
        yield from paragraphs(help_of(command.command))
        yield from options(command)


def commands(context: click.Context) -> Iterator[click.Context]:
    """Give the commands of a group, each followed by its subcommands."""
    group = context.command
    assert isinstance(group, Group)
    for name in group.list_commands(context):
        command = group.load(name)
        below = click.Context(command, info_name=f"{context.command_path} {name}", **hocket.context_settings)
        yield below
        if isinstance(command, Group):
            yield from commands(below)


def help_of(command: click.Command) -> str:
    return inspect.cleandoc(command.help or "")


def synopsis(context: click.Context) -> Iterator[str]:
    yield from (
        ".PP",
        rf".B {roff(context.command_path)}",
        roff(" ".join(context.command.collect_usage_pieces(context))),
    )


def paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        yield from (".PP", roff(paragraph))


def options(context: click.Context) -> Iterator[str]:
    """Give a paragraph per option, with its names as the title."""
    for parameter in context.command.get_params(context):
        if parameter.param_type_name == "option":
            names, text = parameter.get_help_record(context)
            yield from (".TP", rf"\fB{roff(names)}\fR", roff(text))


def roff(text: str) -> str:
    """Return a text escaped for roff."""
    return re.sub(r"^(?=[.'])", r"\\&", text.replace("\\", r"\e").replace("-", r"\-"), flags=re.MULTILINE)


if __name__ == "__main__":
    main()
