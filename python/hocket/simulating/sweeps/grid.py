"""Grids of simulations, described by TOML files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar

from hocket._native import Error
from hocket.base import checks
from hocket.base.checks import hint
from hocket.base.files import key_lines, parse_toml, read_text
from hocket.base.kinds import expecting
from hocket.base.parallel import ignore
from hocket.base.units import parse_bytes, parse_count, parse_ranks, parse_share, parse_sizes
from hocket.definitions.calls import complete
from hocket.definitions.library import GAP, Algorithm, find, find_collective
from hocket.definitions.machine import Machine, is_preset
from hocket.definitions.variants import variant
from hocket.simulating.arrivals import describe
from hocket.simulating.faults import read_faults
from hocket.simulating.scenes import read_cadence
from hocket.simulating.simulation import Trials
from hocket.simulating.sweeps.cell import Cell, Setting, Source, Variant, digest, known_algorithms

T = TypeVar("T")

_KEYS = (
    *("algorithms", "arrivals", "cadence", "collective", "faults", "load", "machine"),
    *("noises", "ranks", "seed", "sizes", "trials", "until-ci"),
)
_NAMES = {
    "algorithm": "algorithms",
    "machines": "machine",
    "noise": "noises",
    "size": "sizes",
    "until_ci": "until-ci",
}
"""The names used here for keys that have other names elsewhere."""

_RESET = {"network": None, "noise": {"network": None, "os": None}}
"""The sections of a machine file that a noise may change."""

_CELL_BYTES = 1000.0  # the least memory of a cell, with its key and its row

_MOST_SEED = 2**64 - 1
_MOST_TRIALS = 1_000_000  # with until-ci, unless trials is given


@dataclass(frozen=True, kw_only=True)
class Grid:
    """What to simulate: every combination of some algorithms, rank counts, sizes, machines, noises and scenes.

    Attributes:
        variants: The algorithms, with values of their parameters.
        ranks: The rank counts.
        sizes_bytes: The sizes; a barrier has only size 0.
        settings: The machines, each with each noise, each of the arrivals, each cadence and each of the faults.
        trials: The number of trials for each.
    """

    variants: tuple[Variant, ...]
    ranks: tuple[int, ...]
    sizes_bytes: tuple[int, ...]
    settings: tuple[Setting, ...]
    trials: Trials

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Grid:
        """Read the file of a grid.

        Raises:
            Error: The file does not describe a grid: file, line and key.
        """
        with expecting(path, "grid", "a grid file"):
            return cls.parse(read_text(checks.path("grid", path)), fspath(path))

    @classmethod
    def parse(cls, text: str, file: str = "grid") -> Grid:
        """Read the text of a grid; other files that it names are relative to the folder of `file`.

        Raises:
            Error: The text does not describe a grid: file, line and key.
        """
        file = checks.text("file", file)
        spec = _Spec(file, parse_toml(checks.text("text", text), file), key_lines(text))
        spec.check_keys(spec.values, _KEYS)
        variants = _variants(spec)
        return cls(
            variants=variants,
            ranks=_numbers(spec, "ranks", 'rank counts such as 8, "2-8" or [8, 64]', parse_ranks),
            sizes_bytes=_sizes(spec, variants),
            settings=_settings(spec),
            trials=_trials(spec),
        )

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The cells in order: settings change fastest, then sizes, rank counts, and algorithms last.

        Raises:
            Error: The cells do not fit into memory.
        """
        sizes = sum(len(self._sizes_of(variant)) for variant in self.variants)
        count = sizes * len(self.ranks) * len(self.settings)
        checks.memory(f"a grid of {count} cells", count * _CELL_BYTES)
        return tuple(
            Cell(variant=variant, ranks=ranks, size_bytes=size_bytes, setting=setting, trials=self.trials)
            for variant in self.variants
            for ranks, size_bytes, setting in product(self.ranks, self._sizes_of(variant), self.settings)
        )

    def _sizes_of(self, variant: Variant) -> tuple[int, ...]:
        return (0,) if _is_barrier(variant) else self.sizes_bytes


@dataclass(frozen=True)
class _Spec:
    """The values of a file, with errors that name file, line and key."""

    file: str
    values: Mapping[str, Any]
    lines: Mapping[str, int]

    def error(self, key: str, sentence: str) -> Error:
        place = key.partition(" on machine ")[0]
        line = f":{self.lines[place]}" if place in self.lines else ""
        return Error(f"{self.file}{line}: {key}: {sentence}")

    def refuse(self, key: str, value: Any, expected: str) -> Error:
        return self.error(key, f"got {_quote(value)}, expected {expected}")

    def read(self, key: str, read: Callable[..., T], *arguments: object) -> T:
        """Return the result of a function; if it fails, the error names the key."""
        try:
            return read(*arguments)
        except Error as error:
            raise self.error(key, str(error)) from error

    def check_keys(self, values: Iterable[str], known_keys: Iterable[str], path: str = "") -> None:
        for name in values:
            if not path and name in _NAMES:
                raise self.error(name, f"unknown key, expected {_NAMES[name]}")
            if name not in known_keys:
                raise self.error(path + name, f"unknown key, {hint(name, known_keys)}")

    def many(self, key: str, expected: str, *, default: object = None) -> list[Any]:
        """Return a list of values, given as a list or as a single item."""
        value = self.values.get(key, default)
        if value is None:
            raise self.error(key, f"missing, expected {expected}")
        if value == []:
            raise self.error(key, f"an empty list, expected {expected}")
        return value if isinstance(value, list) else [value]

    def texts(
        self, key: str, expected: str, *, default: object = None, check: Callable[[str], object] = ignore
    ) -> list[str]:
        """Return texts, each once, which a function accepts unless they are empty."""
        items = self.many(key, expected, default=default)
        for item in items:
            if not isinstance(item, str):
                raise self.refuse(key, item, expected)
        for item in filter(None, items):
            self.read(key, check, item)
        return list(dict.fromkeys(items))

    def table(self, key: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.refuse(key, value, "a table")
        return value

    def integer(self, key: str, *, default: int, least: int, most: int) -> int:
        value = self.values.get(key, default)
        if not _is_integer(value) or not least <= value <= most:
            raise self.refuse(key, value, f"a whole number from {least} to {most}")
        return int(value)

    def sibling(self, path: str) -> Path:
        """Return a path that is relative to the file."""
        return Path(self.file).parent / path


def _variants(spec: _Spec) -> tuple[Variant, ...]:
    load = _load(spec)
    collective = spec.values.get("collective")
    if collective is not None:
        if not isinstance(collective, str):
            raise spec.refuse("collective", collective, "the name of a collective")
        collective = spec.read("collective", find_collective, collective)
    algorithm_table = spec.table("algorithms", spec.values.get("algorithms", {}))
    if not algorithm_table:
        example = '[algorithms] with "allreduce/ring" = {}'
        raise spec.error("algorithms", f"missing or empty, expected a table such as {example}")
    variants_by_collective: dict[str, list[Variant]] = {}
    for name, parameters in algorithm_table.items():
        key = f"algorithms.{name}"
        label = name if "/" in name or collective is None else f"{collective}/{name}"
        algorithm = spec.read(key, partial(find, label, among=known_algorithms(load)))
        if algorithm.label in variants_by_collective:
            raise spec.error(key, f"{algorithm.label} appears twice, expected each algorithm once")
        variants_by_collective[algorithm.label] = _variants_of(spec, key, algorithm, spec.table(key, parameters), load)
    return tuple(variant for variants in variants_by_collective.values() for variant in variants)


def _load(spec: _Spec) -> tuple[Source, ...]:
    if "load" not in spec.values:
        return ()
    paths = [str(spec.sibling(path).resolve()) for path in spec.texts("load", "Python files")]
    load = tuple(Source(path, digest(spec.read("load", read_text, path))) for path in paths)
    spec.read("load", known_algorithms, load)
    return load


def _variants_of(
    spec: _Spec, key: str, algorithm: Algorithm, parameters: Mapping[str, Any], load: tuple[Source, ...]
) -> list[Variant]:
    """Return the algorithm with every combination of values of its parameters."""
    lists = [_values(spec, f"{key}.{name}", algorithm, name, value) for name, value in parameters.items()]
    return [
        Variant(
            label=algorithm.label,
            parameters=dict(zip(parameters, values, strict=True)),
            load=() if algorithm.program is None else load,
        )
        for values in product(*lists)
    ]


def _values(spec: _Spec, key: str, algorithm: Algorithm, name: str, value: Any) -> list[int | str]:
    if value == []:
        raise spec.error(key, "an empty list, expected values")
    items = value if isinstance(value, list) else [value]
    return list(dict.fromkeys(spec.read(key, _value, algorithm, name, item) for item in items))


def _value(algorithm: Algorithm, name: str, item: Any) -> int | str:
    unit = next((parameter.unit for parameter in algorithm.parameters if parameter.name == name), "count")
    text = _text(item, "a number, or a text with a unit")
    value = text if unit in (GAP, "choice") else parse_bytes(text) if unit == "bytes" else parse_count(text)
    complete(algorithm, {name: value})
    return value


def _sizes(spec: _Spec, variants: Iterable[Variant]) -> tuple[int, ...]:
    if "sizes" not in spec.values and all(map(_is_barrier, variants)):
        return (0,)
    return _numbers(spec, "sizes", 'sizes such as "64KiB", "8B..64MiB" or ["8B", "1KiB"]', parse_sizes)


def _numbers(spec: _Spec, key: str, expected: str, parse: Callable[[str], Iterable[int]]) -> tuple[int, ...]:
    """Return the numbers of texts, in order and each once."""
    texts = [spec.read(key, _text, item, expected) for item in spec.many(key, expected)]
    return tuple(sorted({number for text in texts for number in spec.read(key, parse, text)}))


def _settings(spec: _Spec) -> tuple[Setting, ...]:
    machines = [_machine(spec, name) for name in spec.texts("machine", "machines", default=["cluster"])]
    names = [machine.name for machine in machines]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise spec.error("machine", f'two machines are named "{twice}", expected different names')
    noises = spec.table("noises", spec.values.get("noises", {"": {}}))
    if not noises:
        raise spec.error("noises", "an empty table, expected a table for each noise, or no key `noises`")
    for name, changes in noises.items():
        _check_changes(spec, f"noises.{name}", changes, _RESET)
    arrivals = spec.texts("arrivals", "arrivals such as 'rank 0, 20 us'", default=[""], check=describe)
    cadences = spec.texts("cadence", "cadences such as '16 calls'", default=[""], check=read_cadence)
    faults = spec.texts("faults", "faults such as 'link 0 -> 1, 20 us.., down'", default=[""], check=read_faults)
    quiet = [_setting(spec, machine, name) for machine in machines for name in noises]
    return tuple(
        replace(setting, arrivals=late, cadence=cadence, faults=failing)
        for setting, late, cadence, failing in product(quiet, arrivals, cadences, faults)
    )


def _machine(spec: _Spec, name: str) -> Machine:
    if is_preset(name):
        return Machine.load(name)
    path = spec.sibling(name)
    machine = spec.read("machine", Machine.load, path)
    return replace(machine, file=str(path.resolve()))


def _check_changes(spec: _Spec, key: str, changes: Any, sections: Mapping[str, Any] | None) -> None:
    """Check that the tables of a noise are sections that it may change, and that their values are texts."""
    for name, value in spec.table(key, changes).items():
        if sections is None and not isinstance(value, str):
            raise spec.refuse(f"{key}.{name}", value, "a text in quotes, with a unit if any")
        if sections is not None:
            spec.check_keys([name], sections, f"{key}.")
            _check_changes(spec, f"{key}.{name}", value, sections[name])


def _setting(spec: _Spec, machine: Machine, noise: str) -> Setting:
    changes = spec.values.get("noises", {}).get(noise, {})
    changed_machine = machine
    if changes:
        values, without = _changes(spec, changes)
        try:
            changed_machine = variant(machine, values, without=without) or machine
        except Error as error:
            place = re.escape(machine.file) + r"(:\d+)?: "  # the place in a text that the user has not seen
            key = f"noises.{noise} on machine {machine.name}"
            raise spec.error(key, re.sub(place, "", str(error))) from error
    recordings = [keys["file"] for keys in changed_machine.noise.values() if "file" in keys]
    texts = (read_text(Path(changed_machine.file).parent / recording) for recording in recordings)
    whole = digest(changed_machine.text, *texts)
    return Setting(machine=changed_machine, noise=noise, arrivals="", cadence="", faults="", digest=whole)


def _changes(spec: _Spec, changes: Mapping[str, Any], path: str = "") -> tuple[dict[str, str], list[str]]:
    """Return the values of a noise by key, with paths relative to the grid's folder; and the sections that go.

    A table with a model replaces the old one, and the model "none" removes it.
    """
    values, without = dict[str, str](), list[str]()
    for key, change in changes.items():
        name = f"{path}{key}"
        if not isinstance(change, dict):
            values[name] = str(spec.sibling(change).resolve()) if key == "file" else change
            continue
        if "model" in change:
            without.append(name)
        if change.get("model") != "none":
            own_values, own_without = _changes(spec, change, f"{name}.")
            values |= own_values
            without += own_without
    return values, without


def _trials(spec: _Spec) -> Trials:
    until_text = spec.values.get("until-ci")
    if until_text is not None and (not isinstance(until_text, str | float) or isinstance(until_text, bool)):
        raise spec.refuse("until-ci", until_text, 'a share such as "1%" or 0.01')
    return Trials(
        count=spec.integer("trials", default=1 if until_text is None else _MOST_TRIALS, least=1, most=_MOST_TRIALS),
        seed=spec.integer("seed", default=0, least=0, most=_MOST_SEED),
        until_interval=None if until_text is None else spec.read("until-ci", parse_share, str(until_text)),
        threads=1,
    )


def _text(value: Any, expected: str) -> str:
    """Return a text; a whole number is converted to text."""
    if not isinstance(value, str) and not _is_integer(value):
        raise Error(f"got {_quote(value)}, expected {expected}")
    return str(value)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_barrier(variant: Variant) -> bool:
    return variant.label.startswith("barrier/")


def _quote(value: Any) -> str:
    return "a table" if isinstance(value, dict) else json.dumps(value, ensure_ascii=False, default=str)
