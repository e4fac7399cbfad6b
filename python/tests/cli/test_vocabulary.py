"""Each option has one meaning and one spelling in all commands."""

from collections import defaultdict
from collections.abc import Iterator

import click

from hocket.cli.app import hocket
from hocket.cli.group import Group

BY_COMMAND = {
    "--collective": "MPI's name or Hocket's, as the files of the command have it",
    "--machine": "serve takes several, by name",
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


def test_every_command_is_in_one_section_of_help() -> None:
    assert isinstance(hocket, Group)
    help_text = click.Context(hocket, info_name="hocket").get_help()
    lines = [line.split() for line in help_text.splitlines()]
    assert sorted(words[0] for words in lines if words and words[0] in hocket.commands) == sorted(hocket.commands)
    assert "..." not in help_text.partition("Options:")[2]
