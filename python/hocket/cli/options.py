"""Values of parameters that several commands make of options, and checks of options."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar

import click

from hocket.base.call import Call
from hocket.base.executors import ExecutorKind
from hocket.definitions.authoring import library
from hocket.definitions.library import COLLECTIVES, Algorithm, catalogue, find, values_of
from hocket.definitions.machine import Machine
from hocket.definitions.variants import with_layout, with_map, with_routing
from hocket.simulating.arrivals import Arrivals
from hocket.simulating.faults import Faults
from hocket.simulating.scenes import NO_SCENE, Scene

T = TypeVar("T")
DataForm: TypeAlias = Literal["json", "csv"] | None
"""A form of results as data; none for words."""


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


def data_form(as_csv: bool, as_json: bool) -> DataForm:
    """Return the form of data that is asked for, or raise a UsageError if both are."""
    if as_csv and as_json:
        raise click.UsageError("--csv: cannot be combined with --json")
    return "json" if as_json else "csv" if as_csv else None


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


def call_of(
    root: int, neighbors: str | None, element: int | None, in_place: bool, param: tuple[tuple[str, str], ...]
) -> partial[Call]:
    """Return `_call` with the options that are given."""
    values: dict[str, Any] = {"root": root, "neighbors": neighbors, "element": element}
    values |= {"in_place": in_place, "param": param}
    return partial(_call, **{name: value for name, value in values.items() if value not in (None, 0, ())})


def scene(arrivals: Arrivals | None, cadence: str | None, faults: Faults | None, scene: Scene | None) -> Scene:
    """Return the scene of a file and options."""
    return _scene(scene, arrivals=arrivals, cadence=cadence, faults=faults)


def scene_without_faults(arrivals: Arrivals | None, cadence: str | None, scene: Scene | None) -> Scene:
    """Return the scene on a real network."""
    return _scene(scene, "faults", "the network is a real one", arrivals=arrivals, cadence=cadence)


def scene_without_cadence(arrivals: Arrivals | None, faults: Faults | None, scene: Scene | None) -> Scene:
    """Return the scene of one call."""
    return _scene(scene, "cadence", "a critical path is of one call", arrivals=arrivals, faults=faults)


def _scene(file: Scene | None, left_out: str = "", reason: str = "", **parts: Any) -> Scene:
    """Return a scene whose parts come from a file or from options; a part may be refused for a reason."""
    of_file = file or NO_SCENE
    for name, value in parts.items():
        if value is not None and name in of_file.parts:
            raise click.UsageError(f"--{name}: expected none, as the file of --scene has {name}")
    if left_out in of_file.parts:
        raise click.UsageError(f"--scene: the file has {left_out}, expected none, as {reason}")
    return of_file.with_parts(**parts)


def machine(machine: Machine, layout: str | None, placement: str | None, routing: str | None) -> Machine:
    """Return the machine, with the layout, the map and the routing that are asked for."""
    machine = machine if routing is None else with_routing(machine, routing)
    machine = machine if layout is None else with_layout(machine, layout)
    return machine if placement is None else with_map(machine, placement)


def algorithms(load: tuple[str, ...]) -> tuple[Algorithm, ...]:
    """Return the algorithms of the catalogue and of the user's files."""
    return library(load, base=catalogue())


BUFFERED_SENDS = "if the sends of the tool that wrote the file never wait, use --sends buffered"
