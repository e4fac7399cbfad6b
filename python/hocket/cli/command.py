"""Commands: the parameters of a function are rows of `options.csv`, or are made of such rows."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import click

from hocket.base.files import read_rows
from hocket.cli.values import FIELDS, type_of

_TABLE = "options.csv"


def command(
    name: str | None = None,
    /,
    *,
    cls: type[click.Command] = click.Command,
    own_rows: str | None = None,
    fields: Mapping[str, object] | None = None,
    settings: Mapping[str, Any] | None = None,
    **sources: Any,
) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command of a function: each of its parameters is an option or argument, in this order.

    A parameter without a default in the table is required, unless its type allows None. In `sources` are parameters
    that are more than a row: the type of the value, a function of other parameters, or the names of several, whose
    values come as a dictionary. `own_rows` is a module beside which a table lies that comes before that of this
    package; `fields` are what fields in the table and in the function's docstring, such as `{formats}`, stand for;
    `settings` are other arguments of `cls`.
    """

    def make(function: Callable[..., Any]) -> click.Command:
        of_command = _Options(
            module=function.__module__,
            own_rows=own_rows,
            fields={**FIELDS, **(fields or {})},
            sources=sources,
        )

        def call(**values: Any) -> Any:
            results: dict[str, Any] = {}
            return function(**{each: of_command.value(each, values, results) for each in _needs(function)})

        parameters = {str(each.name): each for each in of_command.parameters(_needs(function))}
        text = inspect.cleandoc(function.__doc__ or "").format_map(of_command.fields)
        return cls(
            name or function.__name__, callback=call, params=[*parameters.values()], help=text, **(settings or {})
        )

    return make


@cache
def _rows(module_file: str) -> dict[tuple[str, str], dict[str, str]]:
    """Return the rows of a table beside a module, by command and parameter."""
    rows = read_rows(module_file, _TABLE)
    return {(command, row["parameter"]): row for row in rows for command in row["command"].split(";")}


def _needs(source: Callable[..., Any] | tuple[str, ...]) -> dict[str, str]:
    """Return the parameters of which something is made, and their types; a function's that have no default."""
    if isinstance(source, tuple):
        return dict.fromkeys(source, "None")
    parameters = inspect.signature(source).parameters.values()
    return {each.name: str(each.annotation) for each in parameters if each.default is inspect.Parameter.empty}


@dataclass(frozen=True)
class _Options:
    """The options and arguments of a command of a module, made by the arguments of `command`."""

    module: str
    own_rows: str | None
    fields: Mapping[str, object]
    sources: Mapping[str, Any]

    def parameters(self, needs: Mapping[str, str], making: str = "") -> Iterator[click.Parameter]:
        """Give the options and arguments for parameters, with their types, of which one is made."""
        for name, annotation in needs.items():
            source = self._source(name, making)
            if source is None:
                yield self._parameter(name, annotation)
            else:
                yield from self.parameters(_needs(source), name)

    def value(self, name: str, values: Mapping[str, Any], results: dict[str, Any], making: str = "") -> Any:
        """Return the value of a parameter, given those of the options; what is made is kept in `results`."""
        source = self._source(name, making)
        if source is None:
            return values[name]
        if name not in results:
            parts = {each: self.value(each, values, results, name) for each in _needs(source)}
            results[name] = parts if isinstance(source, tuple) else source(**parts)
        return results[name]

    def _source(self, name: str, making: str) -> Callable[..., Any] | tuple[str, ...] | None:
        """Return what a parameter is made of; None if it is a row, as the one of the name of what it is for."""
        source = self.sources.get(name)
        return None if name == making or isinstance(source, click.ParamType) else source

    def _parameter(self, name: str, annotation: str) -> click.Parameter:
        row = {column: text.format_map(self.fields) for column, text in self._row(name).items()}
        value = row["value"].removesuffix("...")
        is_multiple = value != row["value"]
        is_needed = not row["default"] and "None" not in annotation
        source = self.sources.get(name)
        settings: dict[str, Any] = {"type": source if isinstance(source, click.ParamType) else type_of(value)}
        if row["default"]:
            settings["default"] = row["default"]
        if not row["option"].startswith("-"):
            if is_multiple:
                settings["nargs"] = -1
                is_needed = row["option"].endswith("...") and not row["option"].startswith("[")
            return click.Argument([name], metavar=row["option"], required=is_needed, **settings)
        if not value:
            settings["is_flag"] = True
        words = row["option"].split()
        return click.Option(
            [*(word for word in words if not word.startswith("$")), name],
            envvar=next((word[1:] for word in words if word.startswith("$")), None),
            metavar=value if settings["type"] is None or " " in value else None,
            nargs=max(1, len(value.split())),
            multiple=is_multiple,
            required=is_needed and bool(value) and not is_multiple,
            help=row["help"],
            show_default={"": None, "-": False}.get(row["shown"], row["shown"]),
            **settings,
        )

    def _row(self, name: str) -> Mapping[str, str]:
        """Return the row of a parameter: that of the command, of its group, or of all commands."""
        command = self.module.removeprefix("hocket.cli.").replace(".", " ")
        rows = _rows(__file__)
        places = [(rows, command), (rows, command.partition(" ")[0]), (rows, "")]
        if self.own_rows is not None:
            own = _rows(self.own_rows)
            places = [(own, command.rpartition(" ")[2]), (own, ""), *places]
        return next(table[whose, name] for table, whose in places if (whose, name) in table)
