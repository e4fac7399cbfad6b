"""Skeletons: machine files in which some values are to be fitted.

Such a value is the text `"?"`, whose bounds follow from its unit, or a range such as `"0.1 us..20 us"`. It may stand
under any key that is a time, a time per byte, a rate, a size or a number, also in lists with a value for each range of
sizes. Everything else, comments included, stays as it is written.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hocket._native import Error
from hocket.base.units import format_bytes, format_time, parse_bytes, parse_bytes_per_s, parse_time
from hocket.definitions.machine import Machine, skeleton_quantities


@dataclass(frozen=True)
class _Unit:
    """A unit of values."""

    ending: str  # of the names in `Machine.quantities`
    low: float  # the least value without a given range
    high: float
    exact: str  # the format of a value in full
    read: Callable[[str], float]  # refuses a text with another unit
    format: Callable[[float], str]  # for display


def _parse_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Error(f'got "{text}", expected a number') from None


def _parse_time_per_byte(text: str) -> float:
    return parse_time(text.removesuffix("/B"))


def _format_size(value: float) -> str:
    return f"{value:.0f} B" if round(value) % 1024 else format_bytes(round(value))


_PER_BYTE = _Unit("_s_per_byte", 1e-12, 1e-8, '"{} s"', _parse_time_per_byte, lambda value: f"{format_time(value)}/B")
_TIME = _Unit("_s", 1e-9, 1e-4, '"{} s"', parse_time, format_time)
_RATE = _Unit("_bytes_per_s", 1e8, 1e12, '"{} B/s"', parse_bytes_per_s, lambda value: f"{value / 1e9:.4g} GB/s")
_SIZE = _Unit("_bytes", 256, 1 << 20, '"{} B"', parse_bytes, _format_size)
_NUMBER = _Unit("", 1.0, 10.0, "{}", _parse_number, "{:.4g}".format)
_UNITS = (_RATE, _PER_BYTE, _TIME, _SIZE)

_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*)|(?P<text>"[^"\n]*"|'[^'\n]*')|(?P<section>^\s*\[\[?[\w.]+\]\]?)|(?P<key>^\s*[\w.]+\s*=)""",
    re.MULTILINE,
)
_TORUS = re.compile(r"^(\s*)(dims\s*=\s*\[[^\]]*\]|layout\s*=\s*(\"[^\"\n]*\"|'[^'\n]*'))", re.MULTILINE)


@dataclass(frozen=True)
class _Mark:
    name: str
    line: int
    begin: int  # where its text begins in the skeleton, quotes included
    end: int
    text: str


@dataclass(frozen=True)
class Place(_Mark):
    """A value to be fitted."""

    unit: _Unit
    low: float
    high: float

    @property
    def key(self) -> str:
        """The name of the key alone: "L"."""
        return self.name.rpartition(".")[2].partition("[")[0]

    @property
    def is_rate(self) -> bool:
        """Whether times fall as it rises."""
        return self.unit is _RATE

    @property
    def choices(self) -> tuple[float, ...]:
        """The values of a size that are tried: powers of two, or the ends of a range without any; otherwise none."""
        if self.unit is not _SIZE:
            return ()
        powers = [float(1 << power) for power in range(round(self.high).bit_length())]
        return tuple(power for power in powers if power >= self.low) or (self.low, self.high)


@dataclass(frozen=True)
class Skeleton:
    """A machine file with places for values to be fitted, in the order of the file; none in one that is complete."""

    text: str
    file: str
    places: tuple[Place, ...]

    @classmethod
    def parse(cls, text: str, file: str) -> Skeleton:
        """Read the text of a skeleton; an error names file and line."""
        quantities = skeleton_quantities(text, file)  # with an example in each place
        skeleton = cls(text, file, tuple(_place(mark, quantities, file) for mark in _find_marks(text)))
        if skeleton._example.noise:
            raise Error(f"{file}: has noise, expected a machine without noise, as fits use medians")
        return skeleton

    def with_values(self, values: Sequence[float], layout: str | None = None) -> Machine:
        """Return the machine with values in their places, and another job on its torus, if its layout is given."""
        text = self._text(values)
        if layout not in (None, self.layout):
            text = _TORUS.sub(lambda match: f'{match[1]}layout = "{layout}"', text, count=1)
        return Machine.parse(text, self.file)

    def render(self, values: Sequence[float], comments: Sequence[str]) -> str:
        """Return the machine file for people, with a line of comment above each value."""
        texts = []
        for place, value in zip(self.places, values, strict=True):
            text = place.unit.format(value)
            texts.append(text if place.unit is _NUMBER else f'"{text}"')
        lines = _replace(self.text, self.places, texts).split("\n")
        for place, comment in reversed([*zip(self.places, comments, strict=True)]):
            lines.insert(place.line - 1, f"# {comment}")
        return "\n".join(lines)

    @property
    def middle(self) -> list[float]:
        """The geometric middle of the bounds of each value."""
        return [math.sqrt(place.low * place.high) for place in self.places]

    @cached_property
    def layout(self) -> str | None:
        """How the job lies on its torus, if it has one: each axis of the torus is one of the job by default."""
        layout, sizes = (self._example.quantities.get(f"network.{key}") for key in ("layout", "dims"))
        if layout is not None:
            return str(layout)
        return None if sizes is None else ", ".join(map(str, sizes))

    @cached_property
    def ranks_per_node(self) -> int:
        """How many ranks share a node."""
        return self._example.ranks_per_node

    @cached_property
    def room(self) -> int | None:
        """For how many ranks its network has room; none without a topology."""
        topology = self._example.topology
        return None if topology is None else topology.ranks

    @cached_property
    def _example(self) -> Machine:
        """The machine with a valid value in each place."""
        return Machine.parse(self._text(self.middle), self.file)

    def _text(self, values: Sequence[float]) -> str:
        numbers = zip((place.unit for place in self.places), values, strict=True)
        exact = [unit.exact.format(round(value) if unit is _SIZE else repr(float(value))) for unit, value in numbers]
        return _replace(self.text, self.places, exact)


def _find_marks(text: str) -> list[_Mark]:
    """Find the texts in place of values to be fitted, with their keys."""
    places: list[_Mark] = []
    section, key, element, key_end = "", "", 0, 0
    counts: Counter[str] = Counter()
    for token in _TOKEN.finditer(text):
        if token["section"]:
            section = token["section"].strip(" \t\n[]")
            if token["section"].lstrip().startswith("[["):
                counts[section] += 1
                section += f"[{counts[section] - 1}]"
        elif token["key"]:
            key, element, key_end = token["key"].strip(" \t\n="), 0, token.end()
        elif token["text"]:
            value_text = token["text"][1:-1].strip()
            if section and (value_text == "?" or ".." in value_text):
                is_listed = text[key_end : token.start()].lstrip().startswith("[")
                place = f"[{element}]" if is_listed else ""
                name = ".".join(part for part in (section, key) if part) + place
                line = text.count("\n", 0, token.start()) + 1
                places.append(_Mark(name, line, token.start(), token.end(), value_text))
            element += 1
    return places


def _place(one: _Mark, quantities: Mapping[str, Any], file: str) -> Place:
    key, line = one.name.removesuffix("]").rpartition("[")[0] if one.name.endswith("]") else one.name, one.line
    with_unit = (unit for unit in _UNITS if f"{key}{unit.ending}" in quantities)
    unit = next(with_unit, _NUMBER if isinstance(quantities.get(key), float) else None)
    if unit is None or key.startswith("noise."):
        raise Error(f'{file}:{line}: {one.name}: got "{one.text}", expected a value, as this key cannot be fitted')
    low, high = unit.low, unit.high
    if one.text != "?":
        first, _, last = one.text.partition("..")
        try:
            low, high = unit.read(first.strip()), unit.read(last.strip())
        except Error as error:
            raise Error(f"{file}:{line}: {one.name}: {error}, in the range {one.text}") from None
        if not 0 < low < high:
            raise Error(f'{file}:{line}: {one.name}: got "{one.text}", expected a range that begins above 0 and rises')
    return Place(**vars(one), unit=unit, low=low, high=high)


def _replace(text: str, places: Sequence[_Mark], texts: Sequence[str]) -> str:
    pieces, last = [], 0
    for place, new in zip(places, texts, strict=True):
        pieces += [text[last : place.begin], new]
        last = place.end
    return "".join([*pieces, text[last:]])
