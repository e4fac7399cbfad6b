"""Commands load only the modules that they need, to start fast."""

import subprocess
import sys
from importlib.util import find_spec

import click
import pytest

from hocket.cli.app import hocket as commands
from hocket.cli.group import Group

PACKAGES = {"altair", "numpy", "mpi4py", "distributed", "vl_convert", "concurrent", "statistics", "asyncio"}
COMMANDS = {f"hocket.cli.{name}" for name in commands.commands} - {"hocket.cli.lab", "hocket.cli.study"}
OTHERS = {
    "hocket.definitions.verification",
    "hocket.mpi",
    "hocket.simulating.race",
    "hocket.simulating.replays",
    "hocket.simulating.sweeps",
    "hocket.traces",
    "hocket_lab",
    "hocket_studies",
}

LOADS = """
import sys
from hocket.cli import main

status = main(sys.argv[1:])
print(*sys.modules, file=sys.stderr)
sys.exit(status)
"""


@pytest.mark.parametrize(
    ("line", "unwanted"),
    [
        (
            "--help",
            {*PACKAGES, *COMMANDS, *OTHERS, "rich", "hocket.definitions.library", "hocket.simulating.simulation"},
        ),
        (
            "--version",
            {*PACKAGES, *COMMANDS, *OTHERS, "rich", "hocket.definitions.library", "hocket.simulating.simulation"},
        ),
        ("mpi --help", {*PACKAGES, *COMMANDS - {"hocket.cli.mpi"}, *OTHERS, "rich", "hocket.cli.mpi.bench"}),
        ("list", {*PACKAGES, *COMMANDS - {"hocket.cli.list"}, *OTHERS, "hocket.simulating.simulation"}),
        (
            "simulate allreduce ring --ranks 4 --size 8B",
            {*PACKAGES, *COMMANDS - {"hocket.cli.simulate"}, *OTHERS, "rich"},
        ),
    ],
)
def test_a_command_loads_nothing_that_it_does_without(line: str, unwanted: set[str]) -> None:
    done = subprocess.run([sys.executable, "-c", LOADS, *line.split()], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout
    assert unwanted.isdisjoint(done.stderr.split()), sorted(unwanted & set(done.stderr.split()))
    assert all(find_spec(name) for name in unwanted if name.startswith("hocket"))


@pytest.mark.parametrize("group", [commands, commands.load("mpi"), commands.load("sweep")], ids=str)
def test_the_list_of_commands_says_what_each_says_of_itself(group: click.Command) -> None:
    assert isinstance(group, Group)
    for name, stand_in in group.commands.items():
        assert stand_in.get_short_help_str(1000) == group.load(name).get_short_help_str(1000)
