"""A table with a column of sizes and a column of times, by their usual names: `size,time_us`, `Bytes;Latency (us)`.

Further columns that are read: collective, algorithm, parameters (as "name=value;name=value"), ranks, nodes,
ranks_per_node, element_bytes, dims (the job's shape on a torus, as 4x4x4), layout,
in_place, measured_as, system, library and buffers; low_s and high_s, the ends of a spread, with spread, which is
"interval" (by default), "iterations" or "ranks", and iterations. What the table lacks is told.

A table may have several columns of times, each with a name: two libraries side by side, or before and after.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import groupby
from math import prod
from typing import Any, cast, get_args

from hocket._native import Error
from hocket.base.call import MeasuredAs
from hocket.base.checks import among, within
from hocket.base.files import read_rows
from hocket.base.units import parse_bytes, parse_time
from hocket.definitions.library import find_collective, parse_parameter
from hocket.measurements.columns import Columns, Head, cut_rows_of, head_of, rows_of, tables_in
from hocket.measurements.measurement import (
    NCCL_NAMES,
    Facts,
    Format,
    Measurement,
    NoRanksError,
    Reading,
    Spread,
    SpreadOf,
    at,
    call_of,
    count,
    positive,
    seconds,
    type_bytes,
)

_WORDS = [(row["what"], row["value"], row["words"].split()) for row in read_rows(__file__, "table_words.csv")]


def _words(meaning: str) -> dict[str, str]:
    """Return the words that stand for something, with their values."""
    return {word: value for what, value, words in _WORDS if what == meaning for word in words}


_UNIT_S: Mapping[str, float] = {unit: float(value) for unit, value in _words("unit of times").items()}
_UNIT_BYTES: Mapping[str, int] = {unit: int(value) for unit, value in _words("unit of sizes").items()}
_UNCLEAR_UNITS = _words("unclear unit")
_UNITS = frozenset((*_UNIT_S, *_UNIT_BYTES, *_UNCLEAR_UNITS))
_UNIT = re.compile(r"(?P<name>.*?)[\s_]*[(\[](?P<unit>[^)\]]*)[)\]]")
_TIME_WORDS = frozenset(_words("time"))
_KINDS_OF_TIME: Mapping[str, int] = {"": 0, **{word: int(kind) for word, kind in _words("kind of time").items()}}
"""Which times are read first: those of the lowest number."""

_SIZE_WORDS = frozenset(_words("size"))
_OF_SIZES = frozenset(_words("beside size"))
_NAMES = _words("role")  # the roles of columns, by their names

_OF_A_SIZE = ("size", "count", "time", "low", "high", "iterations")
"""The roles of columns in which rows of a curve differ."""

_SIZE_WORD = re.compile("size|byte|length|count|elem")
_ANY_WORD = re.compile(f"{_SIZE_WORD.pattern}|time|lat|elapsed|duration|avg|mean|average|median|[ntuµμm]s|sec")
_MOST_DIGITS = 15
_SIZE_WORD_APART = re.compile("size|byte|length")
_PLAIN_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_OF_BENCHMARKS = re.compile(r"# Benchmarking|algbw|repetitions|Iterations")
"""Words of benchmarks whose columns are not times of several runs."""
_LEAST_ROWS = 3
_MOST_COLUMNS = 8
_TRUTHS: Mapping[str, bool] = {
    **dict.fromkeys(("1", "true", "yes"), True),
    **dict.fromkeys(("", "0", "false", "no"), False),
}


@dataclass(frozen=True)
class Column:
    """What a column has."""

    role: str  # "time", "size", "low", "high", or one of `_NAMES`
    unit: str = ""  # the one in its name
    kind: int = 0  # for times, their number in `_KINDS_OF_TIME`


@lru_cache(maxsize=4096)
def column_of(name: str) -> Column | None:
    """Return what a column of this name has; None if it is not read."""
    match = _UNIT.fullmatch(name.strip().lower())
    unit = match["unit"].strip() if match is not None else ""
    words = [word for word in re.split(r"[^a-z0-9µμ]+", match["name"] if match is not None else name.lower()) if word]
    base = "_".join(words)
    role = _NAMES.get(base)
    if role is not None:
        return Column(role)
    if not unit and words and words[-1] in _UNITS - _SIZE_WORDS:
        unit = words.pop()
    if unit in _UNIT_S and words in (["low"], ["high"]):
        return Column(words[0], unit)
    kinds = {*words} - _TIME_WORDS
    if (unit in _UNIT_S or kinds != {*words} or kinds & {*_KINDS_OF_TIME}) and len(kinds) <= 1:
        kind = kinds.pop() if kinds else ""
        if kind in _KINDS_OF_TIME:
            return Column("time", unit, _KINDS_OF_TIME[kind])
    if set(words) <= _SIZE_WORDS | _OF_SIZES and (_SIZE_WORDS & set(words) or "msgsize" in words):
        return Column("size", unit)
    return None


def _lacks(names: Sequence[str]) -> str | None:
    """Return what the columns of a table lack; empty if they have it all, and None if they are not of such a table."""
    roles = {column.role for name in names if (column := column_of(name)) is not None}
    has_size = "size" in roles or {"count", "type"} <= roles
    if "time" in roles:
        return "" if has_size else "a column of sizes, such as size"
    return "a column of times, such as time_us" if has_size else None


_COLUMNS = Columns(lambda names: _lacks(names) == "", lambda name: column_of(name) is not None, _SIZE_WORD)
_SOME_COLUMNS = Columns(lambda names: bool(_lacks(names)), _COLUMNS.knows, _ANY_WORD)


def lacking(text: str) -> tuple[int, str] | None:
    """Return the first line of a text that names a part of the columns of a table, and the sentence that tells it."""
    for number, line in enumerate(text.split("\n"), start=1):
        head = head_of(line, _SOME_COLUMNS)
        if head is not None and head.delimiter.strip(" "):
            return number, f"names the columns {', '.join(head.names):.100}, expected also {_lacks(head.names)}"
    return None


def _read(text: str, file: str, facts: Facts) -> Reading:
    columns: dict[Head, Mapping[str, tuple[int, str, str]]] = {}
    calls: dict[tuple[Head, tuple[str, ...]], Mapping[str, Any]] = {}
    rules = []
    for head, cells, where in rows_of(text, file, _COLUMNS):
        if head not in columns:
            columns[head] = _columns(head.names, where)
        row = _Row(columns[head], cells, where)
        own = head, tuple(cells[place] for role, (place, *_) in columns[head].items() if role not in _OF_A_SIZE)
        if own not in calls:
            calls[own] = row.call(facts)
        rules.append(row.measurement(calls[own]))
    return Reading(tuple(rules))


def _columns(names: tuple[str, ...], where: tuple[str, int]) -> Mapping[str, tuple[int, str, str]]:
    """Return the number, the name and the unit of the column that has each role; refuse two of one role."""
    columns = [(number, column) for number, name in enumerate(names) if (column := column_of(name)) is not None]
    best = min(column.kind for _, column in columns if column.role == "time")
    columns_by_role: dict[str, tuple[int, str, str]] = {}
    for number, column in columns:
        if column.role == "time" and column.kind != best:
            continue
        if column.role in columns_by_role:
            column_names = f"{columns_by_role[column.role][1]:.60} and {names[number]:.60}"
            raise at(*where, f"got the columns {column_names}, expected one column of the {column.role}")
        columns_by_role[column.role] = number, names[number], column.unit
    return columns_by_role


@dataclass(frozen=True)
class _Row:
    """A row of a table: the number, name and unit of the column of each role, its cells, and its file and line."""

    columns: Mapping[str, tuple[int, str, str]]
    cells: Sequence[str]
    where: tuple[str, int]

    @property
    def source(self) -> str:
        """Its file and its line."""
        return f"{self.where[0]}:{self.where[1]}"

    def measurement(self, call: Mapping[str, Any]) -> Measurement:
        """Return the measurement of the row, given what it has in common with other sizes."""
        time_s, spread = self._time_s(), self._spread()
        return Measurement(**call, size_bytes=self._size_bytes(), time_s=time_s, source=self.source, spread=spread)

    def call(self, facts: Facts) -> Mapping[str, Any]:
        """Return what the row may have in common with other sizes, and what is told where it has no cell."""
        for role in ("collective", "algorithm", "ranks"):
            if role in self.columns and not self._cell(role):
                raise self._error(role, "is empty, expected a value")
        nodes, ranks_per_node = self._whole("nodes"), self._whole("ranks_per_node")
        whole = prod((nodes, ranks_per_node)) if nodes is not None and ranks_per_node is not None else None
        ranks = self._whole("ranks") or whole or facts.ranks
        if ranks is None:
            raise NoRanksError(self.where[0])
        collective = self._collective(facts)
        algorithm, parameters = self._program(collective, facts)
        return {
            "collective": collective,
            "algorithm": algorithm,
            "ranks": ranks,
            "measured_as": self._word("measured_as", get_args(MeasuredAs), facts.measured_as),
            "parameters": parameters,
            "element_bytes": self._whole("element_bytes") or (self._type_bytes() if "type" in self.columns else 1),
            "dims": self._dims(),
            "ranks_per_node": ranks_per_node,
            "in_place": self._is_in_place(),
            **{role: self._cell(role) for role in ("layout", "system", "library", "buffers")},
        }

    def _cell(self, role: str) -> str:
        """Return the text of a cell; empty if the table has no such column."""
        return self.cells[self.columns[role][0]] if role in self.columns else ""

    def _error(self, role: str, sentence: str) -> Error:
        return at(*self.where, f"{self.columns[role][1]:.60}: {sentence}")

    def _whole(self, role: str) -> int | None:
        cell = self._cell(role)
        return count(cell, self.columns[role][1], self.where) if cell else None

    def _collective(self, facts: Facts) -> str:
        name = re.sub(r"^(?:mpi_|osu_)|_perf$", "", self._cell("collective").lower()) or facts.collective
        if name is None:
            raise Error(f"{self.where[0]}: does not name the collective, expected --collective")
        with within(self.source):
            return find_collective(NCCL_NAMES.get(name, name))

    def _program(self, collective: str, facts: Facts) -> tuple[str, Mapping[str, float | str]]:
        name = self._cell("algorithm")
        if not name:
            return call_of(collective, facts, self.where[0])
        pairs = (part.strip() for part in self._cell("parameters").split(";"))
        with within(self.source):
            parameters = tuple(parse_parameter(pair) for pair in pairs if pair)
            return call_of(collective, Facts(name, parameters=parameters), self.where[0])

    def _size_bytes(self) -> int:
        if "size" not in self.columns:
            number = _plain(self._cell("count"))
            if not number.isdecimal():
                raise self._error("count", f'got "{self._cell("count"):.60}", expected a whole number')
            return int(number[:_MOST_DIGITS]) * self._type_bytes()
        cell, unit = self._cell("size"), self.columns["size"][2]
        if unit and unit not in _UNIT_BYTES:
            unclear = "a thousand or 1024 times a smaller unit" if unit in _UNCLEAR_UNITS else "no unit of sizes"
            raise self._error("size", f'"{unit:.20}" is {unclear}, expected B, KiB, MiB or GiB')
        number = _plain(cell)
        if number.isdecimal() and len(number) <= _MOST_DIGITS:
            return int(number) * _UNIT_BYTES.get(unit, 1)
        if unit in ("", "b", "byte", "bytes") and re.fullmatch(r"[0-9]{1,15} ?(?:B|[KMG]iB)", cell):
            return parse_bytes(cell)
        raise self._error("size", f'got "{cell:.60}", expected a whole number of bytes, or a size such as 64 KiB')

    def _spread(self) -> Spread | None:
        if not (self._cell("low") and self._cell("high")):
            return None
        what = cast(SpreadOf, self._word("spread", get_args(SpreadOf), "interval"))
        low_s, high_s = (
            positive(_plain(self._cell(role)), self.columns[role][1], self.where) * _UNIT_S[self.columns[role][2]]
            if self._cell(role).strip("0.,")
            else 0.0
            for role in ("low", "high")
        )
        with within(self.source):
            return Spread(low_s, high_s, what, self._whole("iterations"))

    def _word(self, role: str, words: Sequence[str], default: str) -> str:
        with within(self.source):
            return among(self.columns[role][1], self._cell(role), words) if self._cell(role) else default

    def _time_s(self) -> float:
        cell, (_, name, unit) = self._cell("time"), self.columns["time"]
        if unit:
            if unit not in _UNIT_S:
                raise self._error("time", f'"{unit:.20}" is no unit of times, expected s, ms, us or ns')
            return seconds(_plain(cell), name, self.where, _UNIT_S[unit])
        try:
            time_s = parse_time(re.sub(r"(?<=[0-9\s])[µμ]s$|(?<=[0-9\s])usec$", "us", cell))
        except Error:
            example = f"{re.sub('[^a-z]', '', name.lower())[:20] or 'time'}_us"
            expected = f"a unit in its name, such as {example}, or in each value"
            raise self._error("time", f'got "{cell:.60}" without a unit, expected {expected}') from None
        return seconds(repr(time_s), name, self.where, 1.0)

    def _type_bytes(self) -> int:
        bytes_of_type = type_bytes(self._cell("type"))
        if bytes_of_type is None:
            raise self._error("type", f'got "{self._cell("type"):.60}", expected a type such as float or MPI_INT')
        return bytes_of_type

    def _dims(self) -> tuple[int, ...] | None:
        cell = self._cell("dims")
        return tuple(count(part, self.columns["dims"][1], self.where) for part in cell.split("x")) if cell else None

    def _is_in_place(self) -> bool:
        cell = self._cell("in_place").lower()
        if cell not in _TRUTHS:
            raise self._error("in_place", f'got "{cell:.60}", expected true or false')
        return _TRUTHS[cell]


def _plain(cell: str) -> str:
    """Return a number without separators of thousands and with a decimal point, where its commas can mean only that."""
    if "," not in cell:
        return cell
    if re.fullmatch(r"[0-9]{1,3}(?:,[0-9]{3}){2,}(?:\.[0-9]+)?|[0-9]{1,3},[0-9]{3}\.[0-9]+", cell):
        return cell.replace(",", "")
    return cell.replace(",", ".") if re.fullmatch(r"[0-9]+,(?:[0-9]{1,2}|[0-9]{4,})|0,[0-9]+", cell) else cell


def _are_apart(names: Sequence[str]) -> bool:
    roles = [None if (column := column_of(name)) is None else column.role for name in names]
    return roles[0] == "size" and {*roles[1:]} == {None} and 3 <= len({*names}) == len(names) <= _MOST_COLUMNS


_COLUMNS_APART = Columns(_are_apart, _COLUMNS.knows, _SIZE_WORD_APART)


def columns_apart(text: str, file: str) -> dict[str, str]:
    """Return a text for each column of times of the first table that has several, by its name; or none.

    Lines keep their numbers, and other lines are left out. Times without a unit are in us, as benchmarks print them.
    """
    if _OF_BENCHMARKS.search(text):
        return {}
    bare = "\n".join(line.lstrip("# ") if _SIZE_WORD_APART.search(line.lower()) else line for line in text.split("\n"))
    try:
        head, rows = next(
            ((head, [*rows]) for head, rows in groupby(rows_of(bare, file, _COLUMNS_APART), lambda row: row[0]))
        )
    except (StopIteration, Error):
        return {}
    numbers = [cells for _, cells, _ in rows if all(map(_PLAIN_NUMBER.fullmatch, cells[: len(head.names)]))]
    if len(numbers) < max(_LEAST_ROWS, len(rows)):
        return {}
    texts = {}
    for place, name in enumerate(head.names[1:], start=1):
        unit = next((word for word in re.findall("[a-zµμ]+", name.lower())[::-1] if word in _UNIT_S), "us")
        lines = [""] * text.count("\n") + [""]
        lines[rows[0][2][1] - 2] = f"size,time_{unit}"
        for _, cells, (_, number) in rows:
            lines[number - 1] = f"{cells[0]},{cells[place]}"
        texts[name] = "\n".join(lines)
    return texts


FORMAT = Format(
    "table",
    "a table with a column of sizes and a column of times",
    _COLUMNS.title,
    _read,
    cuts=partial(cut_rows_of, columns=_COLUMNS),
    tables=partial(tables_in, columns=_COLUMNS),
)
