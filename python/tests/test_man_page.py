"""The man page, which tools/man_page.py writes from the commands."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from hocket.cli.app import hocket as commands
from hocket.cli.group import Group

TOOL = Path(__file__).parents[2] / "tools" / "man_page.py"


@pytest.fixture(scope="module")
def page() -> str:
    return subprocess.run([sys.executable, TOOL], capture_output=True, text=True, check=True).stdout


def leaves(group: click.Command) -> list[click.Command]:
    if not isinstance(group, Group):
        return [group]
    return [leaf for name in group.commands for leaf in leaves(group.load(name))]


@pytest.mark.parametrize("command", leaves(commands), ids=lambda command: command.name)
def test_every_command_is_there_with_its_options(page: str, command: click.Command) -> None:
    sections = [each for each in page.split(".SS ") if each.partition('"\n')[0].endswith(f" {command.name}")]
    options = [each for each in command.params if isinstance(each, click.Option)]
    assert any(all(roff(name) in text for each in options for name in each.opts) for text in sections)


def roff(text: str) -> str:
    return text.replace("-", r"\-")


@pytest.mark.skipif(shutil.which("groff") is None, reason="needs groff")
def test_it_is_typeset_without_a_warning(page: str) -> None:
    done = subprocess.run(
        ["groff", "-man", "-ww", "-Kutf8", "-Tutf8"], input=page, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert "hocket mpi run" in re.sub(".\b", "", done.stdout)  # man prints bold letters twice
