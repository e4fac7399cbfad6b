"""Options that several commands share, and the parsing of their texts; commands say `options.machine`."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, reduce, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args

import click

from hocket._native import Error
from hocket.base.call import Call
from hocket.base.executors import ExecutorKind
from hocket.base.files import writable, writable_folder
from hocket.base.names import among
from hocket.base.processors import processors
from hocket.base.units import parse_bytes, parse_count, parse_duration, parse_ranks, parse_share, parse_sizes
from hocket.cli import completion
from hocket.cli.printing import note
from hocket.definitions.authoring import library
from hocket.definitions.library import COLLECTIVES, Algorithm, catalogue, find
from hocket.definitions.machine import Machine
from hocket.definitions.parameters import parse_parameter, values_of
from hocket.definitions.variants import with_layout, with_map
from hocket.drawing.encoding import PICTURES
from hocket.schedules.schedule import Sends
from hocket.simulating.arrivals import read_arrivals
from hocket.simulating.faults import read_faults
from hocket.simulating.scenes import NO_SCENE, Scene, read_cadence

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


def _call(
    algorithms: Iterable[Algorithm],
    *,
    ranks: int,
    size_bytes: int,
    param: Iterable[tuple[str, str]] = (),
    element: int | None = None,
    **fields: Any,
) -> Call:
    """Return a call; the algorithm that declares a parameter gives the unit of its value."""
    parameters = values_of(param, algorithms)
    return Call(ranks=ranks, size_bytes=size_bytes, parameters=parameters, element_bytes=element, **fields)


def required(value: T | None, option: str, what: str) -> T:
    """Return the value of an option, or raise a UsageError if this use of the command lacks it."""
    if value is None:
        raise click.UsageError(f"{option} is missing, expected {what}")
    return value


def size_of(algorithm: Algorithm, size: int | None) -> int:
    """Return the size of a call of an algorithm, or raise a UsageError if a call has one and it is missing."""
    return required(size, "--size", "a size such as 64KiB") if COLLECTIVES[algorithm.collective].has_size else 0


def sizes_of(collective: str, sizes: tuple[int, ...] | None, *, example: str) -> tuple[int, ...]:
    """Return the sizes of calls, or raise a UsageError if a call has one and they are missing."""
    if not sizes and not COLLECTIVES[collective].has_size:
        return (0,)
    return required(sizes, "--sizes", f"sizes such as {example}")


def only_one_form(as_csv: bool, as_json: bool) -> None:
    """Raise a UsageError if both CSV and JSON are requested."""
    if as_csv and as_json:
        raise click.UsageError("--csv: cannot be combined with --json")


def check_files(files: Mapping[str, str | None]) -> None:
    """Raise a UsageError if two options name the same file."""
    options: dict[str, str] = {}
    for option, path in files.items():
        if path is not None:
            other = options.setdefault(os.path.realpath(path), option)
            if other != option:
                raise click.UsageError(f"{other} and {option}: got {path} twice, expected two files")


def check_scene(scene: Scene, measured_as: str) -> None:
    """Raise a UsageError if there are arrivals and a cadence, or one of them beside a benchmark, which has its own."""
    if (exclusion := scene.exclusion(measured_as)) is None:
        return
    name, other = exclusion
    expected = f"got {measured_as}, expected isolated" if name == "measured_as" else "expected none"
    raise click.UsageError(f"--{name.replace('_', '-')}: {expected}, as --{other} is given")


def check_executor(executor: ExecutorKind, algorithms: Iterable[Algorithm]) -> None:
    """Raise a UsageError if other processes, which do not have the user's own programs, are to run one of these."""
    own = next((each.label for each in algorithms if each.program is not None), None)
    if own is not None and executor.name != "local":
        raise click.UsageError(f"--executor: got {executor.name}, expected local, as {own} is a program of your own")


def check_sends(sends: str) -> None:
    """Raise a UsageError if sends are to be buffered, outside a schedule."""
    if sends != "waiting":
        raise click.UsageError(f"--sends: got {sends}, expected waiting, except for a schedule")


def one_algorithm(names: Sequence[str], among: Iterable[Algorithm]) -> Algorithm:
    """Return the algorithm named as COLLECTIVE NAME, as COLLECTIVE/NAME, or as a NAME that only one collective has."""
    if not 1 <= len(names) <= 2:
        raise click.UsageError(f"got {len(names)} names, expected COLLECTIVE ALGORITHM")
    return find("/".join(names), among=among)


def call(command: F) -> F:
    """Add the options that describe a call further; pass `call_of`: `_call` with the options that are given."""

    @wraps(command)
    def collect(**rest: Any) -> Any:
        values = {name: value for name in _CALL_OPTIONS if (value := rest.pop(name)) not in (None, 0, ())}
        return command(call_of=partial(_call, **values), **rest)

    return with_options(_CALL_OPTIONS.values(), collect)


def with_options(options: Iterable[Callable[[F], F]], function: Callable[..., Any]) -> F:
    """Return a function with options, in the order in which help lists them."""
    return reduce(lambda command, option: option(command), reversed([*options]), cast(F, function))


def scene(command: F, *, left_out: str = "", reason: str = "") -> F:
    """Give a command the options that describe a scene; it receives one scene.

    With the name of a part to leave out, and the reason, there is no option for it, and files with it are refused.
    """

    @wraps(command)
    def collect(scene: Scene, **rest: Any) -> Any:
        parts = {name: rest.pop(name) for name in _SCENE_OPTIONS if name != left_out}
        for name, value in parts.items():
            if value is not None and name in scene.parts:
                raise click.UsageError(f"--{name}: expected none, as the file of --scene has {name}")
        if left_out in scene.parts:
            raise click.UsageError(f"--scene: the file has {left_out}, expected none, as {reason}")
        return command(scene=scene.with_parts(**parts), **rest)

    return with_options([*(each for name, each in _SCENE_OPTIONS.items() if name != left_out), _scene_file], collect)


scene_without_faults = partial(scene, left_out="faults", reason="the network is a real one")
scene_without_cadence = partial(scene, left_out="cadence", reason="a critical path is of one call")


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


FILE = Read(writable, name="FILE")
FOLDER = Read(writable_folder, name="FOLDER")
PICTURE = Read(_picture_file, name="FILE")
MACHINE = Read(_machine_named, name="MACHINE")
SIZE = Read(parse_bytes, name="SIZE")
DURATION = Read(parse_duration, name="TIME")
SHARE = Read(parse_share, name="SHARE")
RANK = Read(parse_count, name="RANK")
RANK_COUNTS = Read(parse_ranks, name="LIST")
RANKS = whole(what="number of ranks", name="P")
SEED = whole(0, 2**64 - 1)

PICTURE_ENDS = f"the file ends in {' or '.join(PICTURES)}"

ranks = partial(click.option, "--ranks", "-n", type=RANKS, help="Number of ranks.")
rank_counts = click.option("--ranks", "-n", type=RANK_COUNTS, help="Rank counts, such as 1-64 or 1-8,16,32.")
size = click.option(
    "--size",
    type=SIZE,
    help="The message of the MPI call, such as 8B or 64KiB: the whole vector; one rank's contribution to an allgather "
    "or gather; one block of an alltoall or scatter.",
)
schedule_size = click.option(
    "--size",
    type=SIZE,
    help="Needed for MSCCL XML and plans of MSCCL++, which have no size: the larger of a GPU's input and output, such "
    "as 64KiB.",
)
sizes = click.option(
    "--sizes",
    "--size",
    type=Read(parse_sizes, name="SIZES"),
    help="Sizes: 8B..64MiB doubles from step to step, 8B..64MiB:4 multiplies by four, 8B,1KiB is a list. "
    "A range includes both ends.",
)
timeline = click.option("--timeline", type=FILE, help="Also write a trace for ui.perfetto.dev and chrome://tracing.")
picture = partial(click.option, "--plot", type=PICTURE)
plot = picture(help=f"Also draw time over size; {PICTURE_ENDS}.")
space_time = picture(help=f"Also draw ranks over time, messages as lines; {PICTURE_ENDS}; HTML can be zoomed.")
graph = click.option("--graph", type=FILE, help="Also write the dependencies of tasks as DOT, for Graphviz.")
output = click.option("--output", "-o", type=FILE, help="The file to write; by default, and with -, stdout.")


def machine(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command its machine, with the layout and the map that are asked for."""

    @click.option(
        "--machine",
        type=MACHINE,
        shell_complete=completion.machines,
        default="cluster",
        help="A machine file, or a preset that `hocket machines` lists.",
    )
    @click.option(
        "--layout",
        metavar="SIZES",
        help="How the job lies on a torus, in place of the machine's: '16x4, 16x4' is a job of 64 x 64 nodes, each "
        "axis of which winds through two axes of the torus.",
    )
    @click.option(
        "--map",
        "placement",
        metavar="MAP",
        help="On which node each rank is, in place of the machine's map: block (node after node), cyclic (round "
        "robin), or a file of hosts: a rankfile, a hostfile, or the output of `srun -l hostname`.",
    )
    @wraps(command)
    def with_machine(*args: Any, machine: Machine, layout: str | None, placement: str | None, **others: Any) -> None:
        machine = machine if layout is None else with_layout(machine, layout)
        command(*args, machine=machine if placement is None else with_map(machine, placement), **others)

    return with_machine


optional_machine = partial(click.option, "--machine", type=MACHINE)
time_limit = partial(click.option, "--time-limit", type=DURATION)
engine = click.option(
    "--engine",
    type=OneOf(["auto", "symmetry", "dataflow", "events"]),
    default="auto",
    help="The engine that keeps virtual time.",
)
measured_as = partial(click.option, "--measured-as", type=OneOf(["isolated", "pico", "osu", "imb"]), default="isolated")
measured_as_option = measured_as(
    help="Give the time as a benchmark measures it: isolated (until the last rank is done), pico or osu (after a "
    "barrier; the longest or the mean time of a rank), or imb (calls back to back).",
)
measured = partial(click.option, "--measured", type=click.Path(), multiple=True)
measured_algorithm = click.option(
    "--measured-algorithm",
    metavar="NAME",
    multiple=True,
    help="The algorithm of a file of --measured that does not name it, or `default`; once, or once for each file.",
)
measured_ranks = click.option(
    "--measured-ranks",
    type=RANKS,
    multiple=True,
    help="Number of ranks of a file of --measured that does not tell it; once, or once for each file.",
)
faults = click.option(
    "--faults",
    type=Read(read_faults, name="faults"),
    callback=lambda _ctx, _param, texts: texts or None,
    help="Links are slow or down for a time: 'link 0 -> 1, 20..80 us, 10 %', 'link 0 <-> 1, 20 us.., down' or "
    "'node 3, 0 us.., 50 %'; semicolons separate several faults.",
)
_SCENE_OPTIONS = {
    "arrivals": click.option(
        "--arrivals",
        type=Read(read_arrivals, name="arrivals"),
        help="Ranks begin the call late: 'rank 3, 20 us'; 'one rank, 0..500 us'; 'every rank, exponential 10 us'; a "
        "time for each rank, '0 us, 5 us, ..'; or a CSV file with the columns rank and arrival_s.",
    ),
    "cadence": click.option(
        "--cadence",
        type=Read(read_cadence, name="cadence"),
        help="Call several times: '16 calls' back to back; '16 calls, every 100 us'; '16 calls, 4 at a time'; "
        "'16 calls, every 100 us, 2 at a time'; also 'computing 50 us in 10 parts' beside each.",
    ),
    "faults": faults,
}
_scene_file = click.option(
    "--scene",
    type=Read(Scene.load, name="FILE"),
    default=NO_SCENE,
    show_default=False,
    help="A file with arrivals, cadence and faults, as these options.",
)
place = click.option(
    "--place",
    type=OneOf(["contiguous", "scattered", "random"]),
    default="contiguous",
    help="Where jobs go that do not name their nodes: one after the other, in turn over all nodes, or drawn in each "
    "trial.",
)
trials = click.option("--trials", type=whole(), default=1, help="Number of trials on a machine with noise.")
seed = click.option("--seed", type=SEED, default=0, help="Seed of all random numbers.")
until_ci = click.option(
    "--until-ci",
    type=SHARE,
    help="Stop when the 95 % confidence interval of the mean is within this share of the mean, such as 1%; "
    "--trials is then the largest number of trials.",
)
_load = partial(
    click.option,
    "--load",
    type=click.Path(),
    multiple=True,
    envvar="HOCKET_LOAD",
    help="A Python file that defines algorithms; may be given several times. Also: HOCKET_LOAD.",
)
load = _load("algorithms", callback=lambda _ctx, _param, paths: library(paths, base=catalogue()))
load_paths = _load("load")
sends = click.option(
    "--sends",
    type=OneOf(list(get_args(Sends))),
    default="waiting",
    help="Whether sends of a schedule may wait for their receives; buffered is for the files of tools where none does.",
)
BUFFERED_SENDS = "if the sends of the tool that wrote the file never wait, use --sends buffered"
executor = click.option(
    "--executor",
    type=Read(ExecutorKind.parse, name="local|mpi|dask[=ADDRESS]"),
    default="local",
    help="Where to do the work: in threads, on the ranks of an MPI job, or on Dask.",
)
jobs = click.option(
    "--jobs",
    type=whole(),
    default=processors(),
    show_default="one per processor",
    help="Number of tasks to run in parallel.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
every = click.option(
    "--all", "every", is_flag=True, help="Print the times of all algorithms, a row for each, and draw all in pictures."
)
as_csv = click.option("--csv", "as_csv", is_flag=True, help="Print all numbers as CSV.")
algorithm = click.argument("names", nargs=-1, metavar="COLLECTIVE ALGORITHM", shell_complete=completion.names)

element = click.option(
    "--element",
    type=Read(_element_bytes, name="SIZE"),
    show_default="in reductions 4B, or the largest of 2B and 1B that divides the size; else, and in verify, 1B",
    help="Size of an element; messages are cut only between elements.",
)
parameter = click.option(
    "--param",
    type=Read(parse_parameter, name="NAME=VALUE"),
    multiple=True,
    help="A parameter of the algorithm; may be given several times.",
)

neighbors = click.option(
    "--neighbors",
    metavar="KIND[:DIMS]",
    help="The neighbours in a neighbourhood collective: torus, mesh or moore (with diagonals), such as "
    "torus:4x4x4; by default a torus of two dimensions.",
)
root = click.option("--root", type=RANK, default=0, show_default=False, help="The root, if the collective has one.")
_CALL_OPTIONS = {
    "root": root,
    "neighbors": neighbors,
    "element": element,
    "in_place": click.option("--in-place", is_flag=True, help="The input is in the result buffer."),
    "param": parameter,
}
