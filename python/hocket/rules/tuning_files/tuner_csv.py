"""What the CSV files of NCCL's, RCCL's and NCCLX's tuners have in common: the words, and fields with their line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from hocket._native import Error
from hocket.rules.tuning_files.counterparts import ALGORITHMS, PROTOCOLS
from hocket.rules.tuning_files.form import Choice, Place, quote_text

FUNCTIONS = {
    "broadcast": "bcast",
    "reduce": "reduce",
    "allgather": "allgather",
    "reducescatter": "reduce_scatter",
    "allreduce": "allreduce",
}
"""The collectives as files call them, and their MPI functions."""

_NAMES = {function: name for name, function in FUNCTIONS.items()}
_MOST_DIGITS = 20
_LONGEST = 254  # bytes: NCCL's buffer, without the end of the line and of the text
_LARGEST_INT = (1 << 31) - 1


@dataclass(frozen=True)
class Line(Place):
    """A line of a file, and its fields without blanks around them."""

    fields: Sequence[str]

    def word(self, place: int, name: str, names: Iterable[str], otherwise: str) -> str:
        """Return a field that is one of some words; `otherwise` is what the library does with any other word."""
        if self.fields[place] not in names:
            raise self.error(
                f"unknown {name} {quote_text(self.fields[place])}, {otherwise}; expected {', '.join(names)}"
            )
        return self.fields[place]

    def whole(self, place: int, name: str, expected: str, least: int, most: int = _LARGEST_INT) -> int:
        """Return a field that is a whole number, -1 or from `least` on."""
        text = self.fields[place]
        is_whole = text.isascii() and text.removeprefix("-").isdecimal() and len(text) <= _MOST_DIGITS
        if not is_whole or not (int(text) == -1 or least <= int(text) <= most):
            raise self.error(f"{name}: got {quote_text(text)}, expected {expected}")
        return int(text)

    def function(self, otherwise: str) -> str:
        """Return the function of the collective in the first field."""
        return FUNCTIONS[self.word(0, "collective", FUNCTIONS, otherwise)]

    def choice(self, place: int, otherwise: str) -> Choice:
        """Return an algorithm with its protocol, and with its channels unless the library chooses them, in 3 fields."""
        algorithm = self.word(place, "algorithm", ALGORITHMS, otherwise)
        protocol = self.word(place + 1, "protocol", PROTOCOLS, otherwise)
        count = self.whole(place + 2, "channels", "-1 or a number from 1 on", 1)
        return Choice(algorithm, (("protocol", protocol), *([] if count == -1 else [("channels", count)])))


def lines(text: str, file: str, split: Callable[[str], Sequence[str]]) -> Iterator[Line]:
    """Give the lines that are neither empty nor a comment; refuse one that is longer than what NCCL reads as a line."""
    for number, line in enumerate(text.split("\n"), start=1):
        content = line.strip(" \t\r")
        if content and not content.startswith("#"):
            if len(line.encode(errors="replace")) > _LONGEST:
                raise Place(file, number).error(f"longer than {_LONGEST} bytes, expected a shorter line")
            yield Line(file, number, [field.strip(" \t") for field in split(content)])


def name_of(function: str) -> str:
    """Return the name of a function in files, or raise an error if it has none."""
    if function not in _NAMES:
        raise Error(f"{function}: NCCL's tuners have no lines for it, expected {', '.join(_NAMES)}")
    return _NAMES[function]


def words_of(choice: Choice, also: Sequence[str] = ()) -> tuple[str, str, str]:
    """Return an algorithm of NCCL, its protocol and channels as fields; refuse others, and parameters beside `also`."""
    values = {"protocol": "simple", "channels": -1, **dict(choice.parameters)}
    if choice.algorithm not in ALGORITHMS or not values.keys() <= {"protocol", "channels", *also}:
        raise Error(f"got {choice}, expected an algorithm of NCCL with {', '.join(('protocol', 'channels', *also))}")
    return choice.algorithm, str(values["protocol"]), str(values["channels"])
