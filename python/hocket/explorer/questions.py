"""Questions that views answer: one collective, some algorithms, ranks, sizes and a machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from hocket._native import Error
from hocket.base.call import Call
from hocket.base.checks import among, quote
from hocket.base.files import parse_toml
from hocket.base.units import format_ranks, parse_ranks, parse_sizes
from hocket.definitions.authoring import library
from hocket.definitions.calls import algorithms_for, declared_values
from hocket.definitions.libraries import MPI_DEFAULTS, library_named
from hocket.definitions.library import (
    COLLECTIVES,
    Algorithm,
    algorithms_named,
    catalogue,
    find,
    find_collective,
    parse_parameter,
    values_of,
)
from hocket.definitions.machine import Machine, find_machine, is_preset, presets
from hocket.measurements.formats import read_measurements
from hocket.measurements.measurement import DEFAULT, Facts, Measurement
from hocket.simulating.arrivals import describe
from hocket.simulating.faults import read_faults
from hocket.simulating.question import choose
from hocket.simulating.race import compare
from hocket.simulating.scenes import NO_SCENE, Scene, read_cadence
from hocket.simulating.simulation import UNTIL_DECIDED, Trials

T = TypeVar("T")

VERIFIED_RANKS = tuple(range(1, 17))  # the default rank counts for verifying an algorithm

MOST_LETTERS = 1 << 19  # how many letters a pasted text may have

_MOST_SIMULATIONS = 10_000
_MOST_TRIALS = 1_000_000
_MOST_SEED = 2**64 - 1
_SHOWN_FILE = "machine"


@dataclass(frozen=True)
class MeasuredFile:
    """A file of measured times, with its algorithm and number of ranks, if it does not tell them itself."""

    path: str
    algorithm: str | None = None  # None: what the library chose by itself
    ranks: int | None = None

    @cached_property
    def measurements(self) -> tuple[Measurement, ...]:
        """Its times."""
        return read_measurements(self.path, Facts(self.algorithm or DEFAULT, self.ranks)).measurements


@dataclass(frozen=True)
class Sources:
    """Files that the user named, which a page may use: of algorithms in Python, machines, and measured times."""

    load: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    measured: tuple[MeasuredFile, ...] = ()

    @cached_property
    def algorithms(self) -> tuple[Algorithm, ...]:
        """The algorithms of the catalogue and of the user's files."""
        return library(self.load, base=catalogue())

    @cached_property
    def machine_texts(self) -> dict[str, str]:
        """The text of each machine, by its name or path; files come first."""
        return {name: find_machine(name)[0] for name in (*self.machines, *presets())}


@dataclass(frozen=True)
class Question:
    """A question that views answer."""

    collective: str
    names: tuple[str, ...]  # the algorithms to compare; empty for all
    # Rank counts in order. A map shows all of them; other views show the last one.
    ranks: tuple[int, ...]
    sizes_bytes: tuple[int, ...]  # sizes in order
    machine: Machine
    sources: Sources  # the files that the user named
    algorithm: str | None = None  # the algorithm to explain and verify; None for the fastest at the last size
    size_bytes: int | None = None  # the size at which to explain it; None for the last size
    verified_ranks: tuple[int, ...] = VERIFIED_RANKS  # rank counts at which to verify it
    parameters: tuple[tuple[str, str], ...] = ()  # values of parameters, as text by name
    trials: Trials = UNTIL_DECIDED  # the trials on a machine with noise, and their seed
    defaults: tuple[str, ...] = ()  # libraries whose default choices are also simulated
    scene: Scene = NO_SCENE  # when the ranks begin the call, how often they call, and which links are slow or down
    other_machine: Machine | None = None  # a second machine for the same question, or None
    output: str = ""  # the output of a benchmark, to be judged; empty to judge the measured files
    is_judged_alone: bool = False  # whether measured times are judged without the machine

    def __post_init__(self) -> None:
        """Refuse questions that no view can answer."""
        self.scene.as_request("isolated")
        if self.trials.count > 1 and not (self.trials.until_decided or self.is_random):
            why = f"but machine {self.machine.name} has no noise, so that all trials are alike"
            raise Error(f"trials: got {self.trials.count}, {why}")
        simulations = len(self.candidates) * len(self.ranks) * len(self.sizes_bytes)
        if simulations > _MOST_SIMULATIONS:
            few = "fewer ranks, sizes or algorithms"
            raise Error(f"got {simulations} simulations, expected at most {_MOST_SIMULATIONS}: {few}")
        self._values()

    @cached_property
    def machine_name(self) -> str | None:
        """The name of the machine's preset or the path of its file; None if its text is neither."""
        return name_of(self.machine)

    @cached_property
    def measured(self) -> Mapping[MeasuredFile, tuple[Measurement, ...]]:
        """The measured times of such calls on the last rank count, by file; none in a scene."""
        call = self.collective, self.ranks[-1]
        files = () if self.scene.parts else self.sources.measured
        return _times_of({file: file.measurements for file in files}, lambda one: (one.collective, one.ranks) == call)

    @cached_property
    def default_times(self) -> Mapping[MeasuredFile, tuple[Measurement, ...]]:
        """The measured times for which a library chose the algorithm, by file."""
        return _times_of(
            self.measured, lambda one: one.algorithm == DEFAULT or library_named(one.algorithm) is not None
        )

    @property
    def is_random(self) -> bool:
        """Whether trials differ."""
        return self.machine.is_random or self.scene.is_drawn

    @cached_property
    def candidates(self) -> tuple[Algorithm, ...]:
        """The algorithms to compare: the named ones, or all except those made for another topology."""
        own_candidates = algorithms_named(self.collective, self.names, among=self.sources.algorithms)
        return own_candidates if self.names else algorithms_for(self.machine, own_candidates)

    @property
    def size_explained_bytes(self) -> int:
        """The size at which an algorithm is explained."""
        return self.sizes_bytes[-1] if self.size_bytes is None else self.size_bytes

    @cached_property
    def explained_algorithm(self) -> Algorithm:
        """The algorithm to explain and verify: the named one, or the fastest."""
        if self.algorithm is not None:
            return find(f"{self.collective}/{self.algorithm}", among=self.sources.algorithms)
        (call,) = self.calls(self.ranks[-1], [self.size_explained_bytes])
        comparison = compare(self.candidates, [call], machine=self.machine, scene=self.scene, trials=self.trials)
        if not comparison.simulations:
            raise Error(comparison.not_compared[0].sentence)
        (fastest, *_) = comparison.fastest(call.size_bytes)
        return find(f"{self.collective}/{fastest}", among=self.sources.algorithms)

    @cached_property
    def explained_call(self) -> Call:
        """The call to explain, with the values of parameters that a comparison has."""
        algorithm = self.explained_algorithm
        (call,) = self.calls(self.ranks[-1], [self.size_explained_bytes])
        return choose(algorithm, replace(call, parameters=self.values(algorithm)), self.machine)

    def on_other(self) -> Question:
        """Return the same question for the second machine; an Error if that cannot answer it."""
        assert self.other_machine is not None
        keeps_trials = self.other_machine.is_random or self.scene.is_drawn
        trials = self.trials if keeps_trials else replace(UNTIL_DECIDED, seed=self.trials.seed)
        return replace(self, machine=self.other_machine, trials=trials, other_machine=None)

    def calls(self, ranks: int, sizes_bytes: Iterable[int]) -> list[Call]:
        """Return the calls at some sizes."""
        return [Call(ranks=ranks, size_bytes=size_bytes, parameters=self._values()) for size_bytes in sizes_bytes]

    def values(self, algorithm: Algorithm) -> dict[str, float | str]:
        """Return the values of the parameters that an algorithm declares."""
        return declared_values(algorithm, self._values())

    def _values(self) -> dict[str, float | str]:
        algorithms_explained = [] if self.algorithm is None else [self.explained_algorithm]
        return values_of(self.parameters, [*self.candidates, *algorithms_explained])


def _times_of(
    times: Mapping[MeasuredFile, Iterable[Measurement]], is_meant: Callable[[Measurement], bool]
) -> Mapping[MeasuredFile, tuple[Measurement, ...]]:
    selections = {file: tuple(filter(is_meant, of_file)) for file, of_file in times.items()}
    return {file: of_file for file, of_file in selections.items() if of_file}


def name_of(machine: Machine) -> str | None:
    """Return the name or path that a machine was loaded by; None if it came from a pipe, or was changed since."""
    preset = machine.file.replace(".toml", "", 1)  # a protocol may follow
    path = machine.file if os.path.exists(machine.file) else machine.file.rpartition(":")[0]
    for name, is_there in ((preset, is_preset(preset)), (machine.file, Path(path).is_file())):
        with suppress(Error):
            if is_there and find_machine(name)[0] == machine.text:
                return name
    return None


def read_question(texts: Mapping[str, Any], sources: Sources) -> Question:
    """Return the question in the fields of a form, by their names; an Error names the field that is wrong."""
    unknown = sorted(texts.keys() - _FIELDS)
    if unknown:
        among("field", unknown[0], _FIELDS)
    for name, text in texts.items():
        if not isinstance(text, str):
            raise Error(f"{name}: got {quote(text)}, expected a text")

    def field(name: str, read: Callable[[str], T], default: str = "") -> T:
        try:
            return read(texts.get(name, "").strip() or default)
        except Error as error:
            message = str(error)
            raise Error(message if message.startswith(name) else f"{name}: {message}") from None

    collective = field("collective", find_collective)
    machine, other = _machine(texts.get("machine", ""), sources), texts.get("beside", "")
    has_size = COLLECTIVES[collective].has_size
    return Question(
        collective=collective,
        names=tuple(texts.get("algorithms", "").replace(",", " ").split()),
        ranks=field("ranks", parse_ranks),
        sizes_bytes=field("sizes", parse_sizes) if has_size else (0,),
        machine=machine,
        sources=sources,
        algorithm=texts.get("algorithm", "").strip() or None,
        size_bytes=field("size", _one_size_if_any) if has_size else None,
        verified_ranks=field("verified", parse_ranks, format_ranks(VERIFIED_RANKS)),
        parameters=field("parameters", lambda text: tuple(map(parse_parameter, text.replace(",", " ").split()))),
        trials=replace(
            field("trials", lambda text: Trials(_between(1, _MOST_TRIALS)(text)) if text else UNTIL_DECIDED),
            seed=field("seed", _between(0, _MOST_SEED), "0"),
        ),
        defaults=MPI_DEFAULTS if field("defaults", _is("shown")) else (),
        scene=Scene(
            arrivals=field("arrivals", lambda text: describe(text) if text else None),
            cadence=field("cadence", lambda text: read_cadence(text) if text else None),
            faults=field("faults", lambda text: read_faults(text) or None),
        ),
        other_machine=Machine.load(among("beside", other, sources.machine_texts)) if other else None,
        output=_output(texts.get("output", "")),
        is_judged_alone=field("alone", _is("alone")),
    )


_FIELDS = (
    *("collective", "algorithms", "ranks", "sizes", "machine", "algorithm", "size", "verified"),
    *("parameters", "trials", "seed", "defaults", "arrivals", "cadence", "faults", "beside"),
    *("output", "alone"),
)


def _is(word: str) -> Callable[[str], bool]:
    def read(text: str) -> bool:
        if text not in ("", word):
            raise Error(f'got "{text:.40}", expected nothing, or "{word}"')
        return bool(text)

    return read


def _output(text: str) -> str:
    """Return the text as it is: errors give the numbers of its lines."""
    if len(text) > MOST_LETTERS:
        raise Error(f"output: too long, expected at most {MOST_LETTERS} letters; `hocket judge FILE` reads longer ones")
    return text if text.strip() else ""


def _one_size_if_any(text: str) -> int | None:
    sizes_bytes = parse_sizes(text) if text else ()
    if len(sizes_bytes) > 1:
        raise Error(f'got "{text}", expected one size such as 64KiB')
    return sizes_bytes[0] if sizes_bytes else None


def _between(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        number = int(text) if text.isdecimal() and len(text) <= len(str(most)) else -1
        if not least <= number <= most:
            raise Error(f'got "{text:.40}", expected a whole number from {least} to {most}')
        return number

    return read


def _machine(text: str, sources: Sources) -> Machine:
    """Return the machine of a text, with the file of a preset or of a machine that the user named.

    A text that refers to a file is refused: a page must not be able to read any file.
    """
    for name, machine_text in sources.machine_texts.items():
        if text == machine_text:
            return Machine.parse(text, find_machine(name)[1])
    if _has_file(parse_toml(text, _SHOWN_FILE)):
        raise Error(f"{_SHOWN_FILE}: got a key `file`, expected it only in an unchanged file that --machine names")
    return Machine.parse(text, _SHOWN_FILE)


def _has_file(values: Any) -> bool:
    """Return whether some key refers to a file."""
    if isinstance(values, dict):
        return "file" in values or any(map(_has_file, values.values()))
    return isinstance(values, list) and any(map(_has_file, values))
