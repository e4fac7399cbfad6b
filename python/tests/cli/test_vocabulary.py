"""Each option has one meaning and one spelling in all commands."""

from collections import defaultdict
from collections.abc import Callable, Iterator

import click
import pytest

from hocket import cli
from hocket.base.files import read_rows
from hocket.cli.app import hocket
from hocket.cli.group import Group
from hocket.cli.values import OneOf, Read
from tests.conftest import Ran

BY_COMMAND = {
    "--collective": "MPI's name or Hocket's, as the files of the command have it",
    "--explain": "of a fit, or the algorithm that a report draws",
    "--library": "one of those that can be simulated, or any",
    "--output": "a file, or a folder of several",
    "--ranks": "one number, or several",
    "--ranks-per-node": "one number, or one for each file of measurements",
    "--rules": "names of libraries or files, or files",
}
"""Options that take other values in some commands, and what differs."""


def commands(group: Group, words: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    for name in group.commands:
        command = group.load(name)
        if isinstance(command, Group):
            yield from commands(command, (*words, name))
        else:
            yield " ".join((*words, name)), command


def test_options_of_one_name_are_spelled_alike_and_take_the_same() -> None:
    assert isinstance(hocket, Group)
    spelled, taken = defaultdict(set), defaultdict(set)
    for _, command in commands(hocket):
        for option in (each for each in command.params if isinstance(each, click.Option)):
            name = next(
                word for word in (*option.opts, option.opts[0]) if word.startswith("--") or len(option.opts) == 1
            )
            spelled[name].add(frozenset((*option.opts, *option.secondary_opts)))
            taken[name].add((type(option.type), option.type.name, option.metavar))
    assert len(spelled) > 70
    assert {name for name, spellings in spelled.items() if len(spellings) > 1} == set()
    assert {name for name, types in taken.items() if len(types) > 1} == BY_COMMAND.keys()


def test_every_row_of_the_table_is_a_parameter_of_its_commands() -> None:
    assert isinstance(hocket, Group)
    parameters = defaultdict(set)
    for name, command in (*commands(hocket), ("sweep", hocket.load("sweep"))):
        for above in ("", name.partition(" ")[0], name):
            parameters[above] |= {each.name for each in command.params}
    rows = read_rows(cli.__file__, "options.csv")
    assert len(rows) > 150
    assert [row for row in rows for name in row["command"].split(";") if row["parameter"] not in parameters[name]] == []


def test_every_command_is_in_one_section_of_help() -> None:
    assert isinstance(hocket, Group)
    help_text = click.Context(hocket, info_name="hocket").get_help()
    lines = [line.split() for line in help_text.splitlines()]
    assert sorted(words[0] for words in lines if words and words[0] in hocket.commands) == sorted(hocket.commands)
    assert "..." not in help_text.partition("Options:")[2]


def test_no_option_is_read_by_the_parser_whose_errors_have_other_words() -> None:
    assert isinstance(hocket, Group)
    read_by_parser = {
        f"{command}: {parameter.name}"
        for command, each in commands(hocket)
        for parameter in each.params
        if not isinstance(parameter.type, (OneOf, Read, *map(type, (click.STRING, click.BOOL, click.UNPROCESSED))))
        and not (isinstance(parameter.type, click.Path) and parameter.type.file_okay and not parameter.type.exists)
    }
    assert not read_by_parser


@pytest.mark.parametrize("group", ["", "lab", "mpi", "rules"])
def test_a_group_alone_prints_its_help(hocket_command: Callable[..., Ran], group: str) -> None:
    ran = hocket_command(group)
    assert ran == hocket_command(f"{group} --help")
    assert (ran.status, ran.err) == (0, "")
