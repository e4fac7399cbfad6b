"""Margins: what logs, shells and web pages put before the lines of a benchmark. It is removed before a file is read.

A format has a mark: the text that begins its lines, such as the title of a table. What stands before a mark is a
margin, such as `0: ` of `srun --label`, a time and a host, or `> ` of a quotation. Other lines have the same margin,
with other numbers and times. Outputs whose margins differ in numbers, such as two ranks', are read apart.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

from hocket._native import Error
from hocket.measurements.measurement import Mark, at

Key: TypeAlias = "tuple[str, tuple[str, ...]]"
"""What margins of one output have in common: their form, and the numbers that do not count lines."""

_COLOURS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\^_]")
_ENTITY = re.compile(r"&(?:#[0-9]{1,6}|[a-z]{2,6});")
_INVISIBLE = re.compile("[\ufeff\u200b-\u200f\u2060\u00ad]")
_BLANKS = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\x0b\x0c\r\x1c-\x1e\x85\u2028\u2029]")
_FRAMES = str.maketrans(
    {
        **dict.fromkeys("│┃║", "|"),
        **dict.fromkeys("─━═", "-"),
        **dict.fromkeys("┌┬┐├┼┤└┴┘╒╤╕╞╪╡╘╧╛╔╦╗╠╬╣╚╩╝┏┳┓┣╋┫┗┻┛┡╇┩", "+"),
    }
)
_ESCAPE = re.compile(r"(?<!\\)\\([#_*<>|])")
_FENCE = re.compile(r"\s*(?:```.*|~~~.*|</?[a-z]+>)\s*")

_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_CLOCK = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:[.,][0-9]+)?(?:Z|[+-][0-9]{2}:?[0-9]{2}|(?: [AP]M\b)?)"
_TIMES = (
    rf"[0-9]{{4}}[-/.][0-9]{{1,2}}[-/.][0-9]{{1,2}}(?:[T_]{_CLOCK})?(?![0-9.])",
    r"[0-9]{1,2}[/.][0-9]{1,2}[/.][0-9]{4}(?![0-9.])",
    rf"{_CLOCK}(?![0-9:])",
    rf"{_MONTH}\s+[0-9]{{1,2}}(?![0-9])|[0-9]{{1,2}}[ -]{_MONTH}|{_MONTH}",
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)(?:[a-z]*day)?\b",
    r"(?:19|20)[0-9]{2}(?![0-9])",
    r"[0-9]+[.,][0-9]+(?:[eE][+-]?[0-9]+)?(?![0-9.])",
    r"[0-9]{10,19}(?![0-9])",
)
_TIME = rf"(?<![0-9A-Za-z.])(?:{'|'.join(_TIMES)})"
_TOKEN = re.compile(rf"(?P<blank>\s+)|(?P<time>{_TIME})|(?P<number>[0-9]+)|(?P<word>[^\W\d]+)|(?P<symbol>.)")


@lru_cache(maxsize=4)
def readable(text: str) -> str:
    """Return a text without colours, invisible characters, and the escapes and fences of Markdown and HTML."""
    text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), _COLOURS.sub("", text))
    text = _ESCAPE.sub(r"\1", _BLANKS.sub(" ", _INVISIBLE.sub("", text.translate(_FRAMES))))
    return "\n".join("" if _FENCE.fullmatch(line) else line for line in text.split("\n"))


def outputs(text: str, file: str, mark: Mark) -> list[str]:
    """Return the outputs in the text of a file, each without its margins; lines of other outputs are empty.

    A number before some lines that may be part of the others is refused.
    """
    lines = text.split("\n")
    begins = {number: begin for number, line in enumerate(lines) if (begin := mark(line)) is not None}
    forms: dict[str, _Form] = {}
    for number, begin in begins.items():
        form = _form(lines[number][:begin])
        forms.setdefault(form.name, form)
    if not any(form.tokens for form in forms.values()):
        return [text]
    cuts = [_cut(line, begins.get(number), forms) for number, line in enumerate(lines)]
    for name, form in forms.items():
        if form.is_weak:
            _check(lines, [cut if cut.form == name else None for cut in cuts], min(begins), file)
    counting = {name: _counting([cut.numbers for cut in cuts if cut.form == name]) for name in forms}
    keys = [_key(cut, counting) for cut in cuts]
    keys_marked = list(dict.fromkeys(keys[number] for number in begins))
    labels = [key for key in keys_marked if key is not None]
    key_sets = [{None, *labels}] if len(labels) <= 1 else [{key} for key in keys_marked]
    return [
        "\n".join(line[cut.end :] if key in own else "" for line, cut, key in zip(lines, cuts, keys, strict=True))
        for own in key_sets
    ]


def remove_labels(text: str, file: str, row: Mark) -> str:
    """Return the text of a file without the one label before its rows, such as `Ring/Simple:`, and no other margins."""

    def mark(line: str) -> int | None:
        begin = row(line)
        return None if begin is None or not _form(line[:begin]).is_label else begin

    parts = outputs(text, file, mark)
    if len(parts) > 1:
        labels = [label for line in text.split("\n") if (label := line[: mark(line) or 0].strip())]
        other = next(label for label in labels if label != labels[0])
        raise Error(f"{file}: has rows labelled {labels[0]:.40} and {other:.40}, expected one label in a file")
    return parts[0]


@dataclass(frozen=True)
class _Form:
    """The form of a margin: margins of the same form differ in times and numbers."""

    margin: str

    @cached_property
    def tokens(self) -> Sequence[tuple[str, str]]:
        """Its parts that are not blank, with their kinds."""
        tokens = ((token.lastgroup or "", token[0]) for token in _TOKEN.finditer(self.margin))
        return [(kind, part) for kind, part in tokens if kind != "blank"]

    @property
    def is_label(self) -> bool:
        """Whether a row may follow it: its end is no word and no number."""
        return not self.tokens or self.tokens[-1][0] in ("symbol", "time")

    @property
    def is_weak(self) -> bool:
        """Whether it is only of numbers, as rows are, too."""
        are_numbers = (kind == "number" or re.fullmatch(r"[0-9.,]+", part) for kind, part in self.tokens)
        return bool(self.tokens) and all(are_numbers)

    @cached_property
    def name(self) -> str:
        """What its margins have in common, whatever blanks are in and behind them: a pattern."""
        parts = ("([0-9]+)" if kind == "number" else _TIME if kind == "time" else re.escape(part)
                 for kind, part in self.tokens)  # fmt: skip
        return r"[ \t]*".join(parts)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What matches margins of this form."""
        if not self.tokens:
            return re.compile(f"[ \t]{{0,{len(self.margin)}}}")
        is_apart = self.tokens[-1][0] != "symbol"
        end = r"(?:[ \t]|$) *" if is_apart else " *\t?" if self.margin.endswith("\t") else " *"
        return re.compile(r"[ \t]*" + self.name + end)


_form = lru_cache(maxsize=1024)(_Form)


@dataclass(frozen=True)
class _Cut:
    """The margin of a line: where it ends, the name of its form, which is None without a margin, and its numbers."""

    end: int = 0
    form: str | None = None
    numbers: tuple[str, ...] = ()


def _cut(line: str, begin: int | None, forms: Mapping[str, _Form]) -> _Cut:
    """Return the margin of a line, which ends at its mark if it has one."""
    if begin is not None:
        form = _form(line[:begin])
        numbers = tuple(part for kind, part in form.tokens if kind == "number")
        return _Cut(begin, form.name if form.tokens else None, numbers)
    matches = [(match, name) for name, form in forms.items() if (match := form.pattern.match(line))]
    if not matches:
        return _Cut()
    match, name = max(matches, key=lambda one: one[0].end())
    return _Cut(match.end(), name if forms[name].tokens else None, match.groups())


def _check(lines: Sequence[str], cuts: Sequence[_Cut | None], first: int, file: str) -> None:
    """Refuse numbers that stand before some lines only: there, a row would lose its first number."""
    last, last_cut = first, cuts[first]
    if last_cut is None:
        fellow = next(number for number, cut in enumerate(cuts) if cut is not None)
        raise at(file, first + 1, f"does not begin with a number as line {fellow + 1} does")
    for number in range(first + 1, len(lines)):
        cut = cuts[number]
        if cut is not None:
            steps = {int(new) - int(old) for new, old in zip(cut.numbers, last_cut.numbers, strict=True)}
            if steps <= {0, 1, number - last}:
                last, last_cut = number, cut
                continue
        if lines[number].strip():
            raise at(file, number + 1, f"does not begin with a number that follows that of line {last + 1}")


def _counting(numbers: Sequence[tuple[str, ...]]) -> tuple[bool, ...]:
    """Return of each number of margins whether it counts their lines: most lines have another one."""
    return tuple(len(values) > 1 and 2 * len({*values}) > len(values) for values in zip(*numbers, strict=True))


def _key(cut: _Cut, counting: Mapping[str, Sequence[bool]]) -> Key | None:
    if cut.form is None:
        return None
    pairs = zip(cut.numbers, counting[cut.form], strict=True)
    return cut.form, tuple(number for number, counts in pairs if not counts)
