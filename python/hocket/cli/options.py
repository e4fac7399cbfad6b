"""Options that several commands share, and the parsing of their texts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from hocket._native import Error
from hocket.base.call import Call
from hocket.base.files import writable
from hocket.base.names import among
from hocket.base.units import parse_bytes, parse_count, parse_ranks, parse_share, parse_sizes
from hocket.cli import completion
from hocket.definitions.authoring import library
from hocket.definitions.library import Algorithm, catalogue, find
from hocket.definitions.machine import Machine
from hocket.definitions.parameters import parse_parameter, values_of
from hocket.drawing.plot import PICTURES

__all__ = [
    "CallOptions",
    "OneOf",
    "Read",
    "algorithm_argument",
    "all_option",
    "as_csv_option",
    "as_json_option",
    "call_options",
    "check_files",
    "chosen",
    "element_option",
    "engine_option",
    "graph_option",
    "jobs_option",
    "link_maps_option",
    "links_option",
    "links_over_time_option",
    "load_option",
    "load_paths_option",
    "machine_option",
    "neighbors_option",
    "only_one_form",
    "output_option",
    "parameter_option",
    "picture_file",
    "plot_option",
    "rank_counts_option",
    "ranks_option",
    "required",
    "schedule_size_option",
    "seed_option",
    "shown_plot_option",
    "size_option",
    "sizes_option",
    "space_time_option",
    "timeline_option",
    "tolerance_option",
    "trials_option",
    "until_option",
]

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
"""A function that click turns into a command."""


if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]
    _Choice = click.Choice[str]
else:
    _ParamType = click.ParamType  # generic only since click 8.4
    _Choice = click.Choice


class Read(_ParamType):
    """An option whose text a function reads; the function's error is reported with the option's name."""

    def __init__(self, read: Callable[[str], Any], *, name: str) -> None:
        self.name = name
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the text."""
        if not isinstance(value, str):
            return value
        try:
            return self._read(value)
        except Error as error:
            where = f"{param.opts[0]}: " if isinstance(param, click.Option) else ""
            raise click.UsageError(f"{where}{error}", ctx) from None


class OneOf(_Choice):
    """An option or argument that is one of several names."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name."""
        try:
            what = param.opts[0] if isinstance(param, click.Option) else str(ctx and ctx.info_name)
            return among(what, value, self.choices)
        except Error as error:
            raise click.UsageError(str(error), ctx) from None


@dataclass(frozen=True)
class CallOptions:
    """The part of a call that the command line gives, besides ranks and size."""

    root: int
    neighbors: str | None
    element_bytes: int
    in_place: bool
    parameters: tuple[tuple[str, str], ...]

    def call(self, algorithms: Iterable[Algorithm], *, ranks: int, size_bytes: int) -> Call:
        """Return the call; the algorithm that declares a parameter gives the unit of its value."""
        return Call(
            ranks=ranks,
            size_bytes=size_bytes,
            root=self.root,
            neighbors=self.neighbors,
            element_bytes=self.element_bytes,
            in_place=self.in_place,
            parameters=values_of(self.parameters, algorithms),
        )


def required(value: T | None, option: str, what: str) -> T:
    """Return the value of an option that is required in this use of the command.

    Raises:
        UsageError: The option is not given.
    """
    if value is None:
        raise click.UsageError(f"{option} is missing, expected {what}")
    return value


def only_one_form(as_csv: bool, as_json: bool) -> None:
    """Check that at most one output format is requested.

    Raises:
        UsageError: Both CSV and JSON are requested.
    """
    if as_csv and as_json:
        raise click.UsageError("--csv: got --json, too, expected one of them")


def check_files(files: Mapping[str, str | None]) -> None:
    """Check that all given options name different files.

    Raises:
        UsageError: Two options name the same file.
    """
    options: dict[str, str] = {}
    for option, path in files.items():
        if path is not None:
            other = options.setdefault(os.path.realpath(path), option)
            if other != option:
                raise click.UsageError(f"{other} and {option}: got {path} twice, expected two files")


def chosen(names: Sequence[str], among: Iterable[Algorithm]) -> Algorithm:
    """Return the algorithm named as COLLECTIVE NAME, as COLLECTIVE/NAME, or as a NAME that only one collective has."""
    if not 1 <= len(names) <= 2:
        raise click.UsageError(f"got {len(names)} names, expected COLLECTIVE ALGORITHM")
    return find("/".join(names), among=among)


def call_options(command: F) -> F:
    """Add the options that describe a call further; pass them as `call_options`."""

    @wraps(command)
    def collect(
        root: int, neighbors: str | None, element: int, in_place: bool, param: tuple[tuple[str, str], ...], **rest: Any
    ) -> Any:
        return command(call_options=CallOptions(root, neighbors, element, in_place, param), **rest)

    return reduce(lambda wrapped, option: option(wrapped), reversed(_CALL_OPTIONS), cast(F, collect))


def picture_file(path: str) -> str:
    """Return the path of a picture that can be written.

    Raises:
        Error: The ending is unknown, or the file cannot be written.
    """
    if Path(path).suffix not in PICTURES:
        raise Error(f'got "{path}", expected a file that ends in {" or ".join(PICTURES)}')
    return writable(path)


def _rank_count(text: str) -> int:
    ranks = parse_count(text) if text.isdecimal() else 0
    if ranks < 1:
        raise Error(f'got "{text}", expected a number of ranks, at least 1')
    return ranks


def _element_bytes(text: str) -> int:
    size_bytes = parse_bytes(text)
    if size_bytes < 1:
        raise Error("got 0 B, expected at least 1 B")
    return size_bytes


def _library(paths: tuple[str, ...]) -> tuple[Algorithm, ...]:
    return library(paths, base=catalogue())


ranks_option = partial(click.option, "--ranks", "-n", type=Read(_rank_count, name="P"), help="Number of ranks.")
rank_counts_option = click.option(
    "--ranks", "-n", type=Read(parse_ranks, name="LIST"), help="Rank counts, such as 1-64 or 1-8,16,32."
)
size_option = click.option(
    "--size",
    type=Read(parse_bytes, name="SIZE"),
    help="The message of the MPI call, such as 8B or 64KiB: the whole vector; one rank's contribution to an allgather "
    "or gather; one block of an alltoall or scatter.",
)
schedule_size_option = click.option(
    "--size",
    type=Read(parse_bytes, name="SIZE"),
    help="Needed for MSCCL XML, which has no size: the larger of a GPU's input and output, such as 64KiB.",
)
sizes_option = click.option(
    "--sizes",
    "--size",
    type=Read(parse_sizes, name="SIZES"),
    help="Sizes: 8B..64MiB doubles from step to step, 8B..64MiB:4 multiplies by four, 8B,1KiB is a list. "
    "A range includes both ends.",
)
timeline_option = click.option(
    "--timeline",
    type=Read(writable, name="FILE"),
    help="Also write a trace for ui.perfetto.dev and chrome://tracing.",
)
links_option = click.option(
    "--links",
    type=Read(writable, name="FILE"),
    help="Also write the load of each link, on a machine where messages share links: as CSV, "
    f"or as a map if the file ends in {', '.join(PICTURES)}.",
)
links_over_time_option = click.option(
    "--links-over-time",
    type=Read(writable, name="FILE"),
    help="Also write the load of links over time: as CSV, or as maps if the file ends in "
    f"{', '.join(PICTURES)}; HTML has a slider.",
)
link_maps_option = click.option(
    "--links",
    type=Read(picture_file, name="FILE"),
    help="Also draw the load of each link by algorithm, for one size, on a machine where messages share links; "
    f"the file ends in {' or '.join(PICTURES)}.",
)
plot_option = click.option(
    "--plot",
    type=Read(picture_file, name="FILE"),
    help=f"Also draw time over size; the file ends in {' or '.join(PICTURES)}.",
)
space_time_option = click.option(
    "--plot",
    type=Read(picture_file, name="FILE"),
    help=f"Also draw ranks over time, messages as lines; the file ends in {' or '.join(PICTURES)}; HTML can be zoomed.",
)
graph_option = click.option(
    "--graph", type=Read(writable, name="FILE"), help="Also write the dependencies of tasks as DOT, for Graphviz."
)
shown_plot_option = click.option(
    "--plot",
    type=Read(picture_file, name="FILE"),
    help="Also draw the network of a machine, or what the ranks of a schedule do over time; "
    f"the file ends in {' or '.join(PICTURES)}.",
)
output_option = click.option(
    "--output", "-o", type=Read(writable, name="FILE"), help="The file to write; by default, and with -, stdout."
)
machine_option = click.option(
    "--machine",
    type=Read(Machine.load, name="MACHINE"),
    shell_complete=completion.machines,
    default="cluster",
    show_default=True,
    help="A machine file, or a preset that `hocket machines` lists.",
)
engine_option = click.option(
    "--engine",
    type=OneOf(["auto", "dataflow", "events"]),
    default="auto",
    show_default=True,
    help="The engine that keeps virtual time.",
)
trials_option = click.option(
    "--trials",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of trials on a machine with noise.",
)
seed_option = click.option(
    "--seed", type=click.IntRange(0, 2**64 - 1), default=0, show_default=True, help="Seed of all random numbers."
)
until_option = click.option(
    "--until-ci",
    type=Read(parse_share, name="SHARE"),
    help="Stop when the 95 % confidence interval of the mean is within this share of the mean, such as 1%; "
    "--trials is then the largest number of trials.",
)
tolerance_option = click.option(
    "--tolerance",
    type=Read(parse_share, name="SHARE"),
    default="3%",
    show_default=True,
    help="How much slower than the fastest a choice may be.",
)
_load = partial(
    click.option,
    "--load",
    type=click.Path(),
    multiple=True,
    envvar="HOCKET_LOAD",
    help="A Python file that defines algorithms; may be given several times. Also: HOCKET_LOAD.",
)
load_option = _load("algorithms", callback=lambda _ctx, _param, paths: _library(paths))
load_paths_option = _load("load")
jobs_option = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=os.cpu_count() or 1,
    show_default="one per processor",
    help="Number of tasks to run in parallel.",
)
as_json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
all_option = click.option("--all", "every", is_flag=True, help="Print the times of all algorithms, a row for each.")
as_csv_option = click.option("--csv", "as_csv", is_flag=True, help="Print all numbers as CSV.")
algorithm_argument = click.argument("names", nargs=-1, metavar="COLLECTIVE ALGORITHM", shell_complete=completion.names)

element_option = click.option(
    "--element",
    type=Read(_element_bytes, name="SIZE"),
    default=1,
    show_default="1B",
    help="Size of an element; messages are cut only between elements.",
)
parameter_option = click.option(
    "--param",
    type=Read(parse_parameter, name="NAME=VALUE"),
    multiple=True,
    help="A parameter of the algorithm; may be given several times.",
)

neighbors_option = click.option(
    "--neighbors",
    metavar="KIND[:DIMS]",
    help="The neighbours in a neighbourhood collective: torus, mesh or moore (with diagonals), such as "
    "torus:4x4x4; by default a torus of two dimensions.",
)
_CALL_OPTIONS = (
    click.option("--root", type=Read(parse_count, name="RANK"), default=0, help="The root, if the collective has one."),
    neighbors_option,
    element_option,
    click.option("--in-place", is_flag=True, help="The input is in the result buffer."),
    parameter_option,
)
