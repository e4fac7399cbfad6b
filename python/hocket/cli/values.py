"""The values of options and arguments: how their texts are read, and how shells complete them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click
from click.shell_completion import CompletionItem

from hocket._native import Error
from hocket.base.checks import among
from hocket.base.executors import ExecutorKind
from hocket.base.files import writable, writable_folder
from hocket.base.processors import processors
from hocket.base.units import (
    format_duration,
    parse_bytes,
    parse_count,
    parse_duration,
    parse_ranks,
    parse_share,
    parse_sizes,
)
from hocket.cli.effort import TOO_LONG_S
from hocket.cli.printing import note
from hocket.definitions.library import COLLECTIVES, catalogue, parse_parameter
from hocket.definitions.machine import Machine, presets
from hocket.drawing.encoding import PICTURES
from hocket.schedules.schedule import Sends
from hocket.simulating.arrivals import read_arrivals
from hocket.simulating.faults import read_faults
from hocket.simulating.scenes import Scene, read_cadence

if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]
    _Choice = click.Choice[str]
else:
    _ParamType = click.ParamType  # generic only since click 8.4
    _Choice = click.Choice


def _collectives(_context: click.Context, beginning: str) -> list[str]:
    """Return the collectives that begin with the typed text."""
    return [name for name in COLLECTIVES if name.startswith(beginning)]


def _names(context: click.Context, beginning: str) -> list[str]:
    """Return completions for the arguments `[COLLECTIVE] NAMES`: algorithms once the collective is typed."""
    before = (context.params.get("collective"), *(context.params.get("names") or ()))
    collective = next(filter(None, before), None)
    if collective is None:
        return _collectives(context, beginning)
    return [one.name for one in catalogue() if one.collective == collective and one.name.startswith(beginning)]


def _machines(_context: click.Context, beginning: str) -> list[CompletionItem]:
    """Return the machines that come with Hocket, and have the shell add files."""
    items = [CompletionItem(name) for name in presets() if name.startswith(beginning)]
    return [*items, CompletionItem(beginning, type="file")]


class Read(_ParamType):
    """An option whose text a function reads; the function's error is reported with the option's name."""

    def __init__(
        self, read: Callable[[str], Any], *, name: str, complete: Callable[..., list[Any]] | None = None
    ) -> None:
        self.name = name
        self._read = read
        self._complete = complete

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the text."""
        if not isinstance(value, str):
            return value
        try:
            return self._read(value)
        except Error as error:
            where = f"{param.opts[0]}: " if isinstance(param, click.Option) else ""
            raise click.UsageError(f"{where}{error}", ctx) from None

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return what the typed text may become."""
        items = self._complete(ctx, incomplete) if self._complete else ()
        return [each if isinstance(each, CompletionItem) else CompletionItem(each) for each in items]


def whole(least: int = 1, most: int | None = None, *, what: str = "whole number", name: str = "N") -> Read:
    """Return the type of an option whose value is a whole number in a range."""
    expected = f"a {what}, at least {least}" if most is None else f"a {what} from {least} to {most}"

    def read(text: str) -> int:
        number = parse_count(text) if text.isdecimal() else None
        if number is None or number < least or (most is not None and number > most):
            raise Error(f'got "{text}", expected {expected}')
        return number

    return Read(read, name=name)


def factor(expected: str, is_right: Callable[[float], bool]) -> Read:
    """Return the type of an option whose value is a finite number for which a condition holds; errors name it."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and is_right(number)):
            raise Error(f'got "{text}", expected {expected}')
        return number

    return Read(read, name="FACTOR")


class OneOf(_Choice):
    """An option or argument that is one of several names."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name."""
        try:
            what = param.opts[0] if isinstance(param, click.Option) else str(ctx and ctx.info_name)
            return among(what, value, self.choices)
        except Error as error:
            raise click.UsageError(str(error), ctx) from None


def _picture_file(path: str) -> str:
    if Path(path).suffix not in PICTURES:
        raise Error(f'got "{path}", expected a file that ends in {" or ".join(PICTURES)}')
    return writable(path)


def _element_bytes(text: str) -> int:
    size_bytes = parse_bytes(text)
    if size_bytes < 1:
        raise Error("got 0 B, expected at least 1 B")
    return size_bytes


def _machine_named(name: str) -> Machine:
    """Load a machine, and say so if its bytes take no time."""
    machine = Machine.load(name)
    if machine.lacks_bandwidth:
        note(f"note: machine {machine.name} has no bandwidth (G is missing or below 1 ps/B): bytes take no time")
    return machine


VALUES = {
    "ALGORITHM": Read(str, name="ALGORITHM", complete=_names),
    "ARRIVALS": Read(read_arrivals, name="arrivals"),
    "CADENCE": Read(read_cadence, name="cadence"),
    "COLLECTIVE": Read(str, name="COLLECTIVE", complete=_collectives),
    "COUNT": Read(parse_count, name="N"),
    "DIR": Read(writable_folder, name="DIR"),
    "ELEMENT": Read(_element_bytes, name="SIZE"),
    "EXECUTOR": Read(ExecutorKind.parse, name="local|mpi|dask[=ADDRESS]"),
    "FAULTS": Read(lambda text: read_faults(text) or None, name="faults"),
    "FILE": Read(writable, name="FILE"),
    "FOLDER": Read(writable_folder, name="FOLDER"),
    "FUNCTION": Read(str.lower, name="NAME"),
    "K": whole(what="number of ranks", name="K"),
    "LAYOUT": Read(str, name="SIZES"),
    "LIST": Read(parse_ranks, name="LIST"),
    "MACHINE": Read(_machine_named, name="MACHINE", complete=_machines),
    "MACHINE_FILE": Read(str, name="MACHINE", complete=_machines),
    "N": whole(),
    "NAME=VALUE": Read(parse_parameter, name="NAME=VALUE"),
    "P": whole(what="number of ranks", name="P"),
    "PATH": click.Path(),
    "PICTURE": Read(_picture_file, name="FILE"),
    "RANK": Read(parse_count, name="RANK"),
    "SCENE": Read(Scene.load, name="FILE"),
    "SEED": whole(0, 2**64 - 1),
    "SENDS": OneOf(get_args(Sends)),
    "SHARE": Read(parse_share, name="SHARE"),
    "SIZE": Read(parse_bytes, name="SIZE"),
    "SIZES": Read(parse_sizes, name="SIZES"),
    "TEXT": click.STRING,
    "TIME": Read(parse_duration, name="TIME"),
    "WORDS": click.UNPROCESSED,
}
"""The types of values by their names in `options.csv`; other names are those of texts, or words to choose from."""


def type_of(value: str) -> _ParamType | None:
    """Return the type of a value in `options.csv`; None for a text."""
    return OneOf(value.split("|")) if value not in VALUES and "|" in value else VALUES.get(value)


FIELDS = {
    "picture_ends": f"the file ends in {' or '.join(PICTURES)}",
    "too_long": format_duration(TOO_LONG_S),
    "processors": processors(),
}
"""What fields in `options.csv` stand for in all commands."""
