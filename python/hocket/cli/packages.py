"""Commands of packages that stand beside Hocket in its repository, and labs of one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import click

from hocket._native import Error

if TYPE_CHECKING:
    from hocket.base.call import Call
    from hocket.mpi.installation import Installation
    from hocket.simulating.scenes import Scene

COMMANDS = {"lab": ("hocket-lab", "./lab"), "study": ("hocket-studies", "./lab ./studies")}
"""The package of each command, and the folders from which pip installs it."""


class Lab(Protocol):
    """A lab that is up, as other commands use it."""

    LEAST_ROUNDS: ClassVar[int]  # the fewest samples of each algorithm

    @property
    def summary(self) -> str:
        """A description of the lab in one line."""

    def call(self, call: Call) -> Call:
        """Return a call with the parameters that the machine determines."""

    def check_scene(self, scene: Scene) -> None:
        """Raise an error if times of a scene are not those of the lab."""

    def command(
        self, installation: Installation, ranks: int, program: Sequence[str], variables: Mapping[str, str]
    ) -> list[str]:
        """Return the command that runs a program with each rank on its node."""


def load_command(name: str) -> click.Command:
    """Return the command of a package, or a command that says that the package is missing."""
    command: click.Command | None = _extension("hocket.commands", name=name)
    if command is not None:
        return command

    def refuse(**_: object) -> None:
        raise _missing(name, name)

    words = click.Argument(["words"], nargs=-1)
    return click.Command(name, callback=refuse, params=[words], context_settings={"ignore_unknown_options": True})


def in_lab(text: str) -> AbstractContextManager[Lab]:
    """Find a lab by its name, or build the lab of a machine file while the command runs, with the package of labs."""
    enter: Callable[[str], AbstractContextManager[Lab]] | None = _extension("hocket.labs")
    if enter is None:
        raise _missing("--lab", "lab")
    return enter(text)


def _extension(group: str, **more: Any) -> Any:
    from importlib.metadata import entry_points  # most commands do without it

    return next((each.load() for each in entry_points(group=group, **more)), None)


def _missing(what: str, command: str) -> Error:
    package, folders = COMMANDS[command]
    return Error(f"{what}: the package {package} is missing, expected `pip install {folders}` in Hocket's repository")
