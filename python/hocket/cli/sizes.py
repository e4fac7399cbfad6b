"""Tables of times by size: one row per size, under the names of the fastest."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from hocket.base.results import Place
from hocket.base.units import format_bytes, format_ratio, format_reach, format_time
from hocket.cli.output import GrowingTable
from hocket.cli.printing import StyledText

_NEXT = ("second", "third")
MOST_PLACES = 1 + len(_NEXT)
"""The places in a row."""

_WIDEST = "999.9 us"
_WIDEST_REACH = " ±99%"
_WIDEST_FACTOR = "99.9x"


class SizeTable:
    """A table with the times of the fastest, and the ratios of the second and third to them.

    The width does not depend on the number of contestants or on their names. Each further column has its widest cell.
    """

    def __init__(
        self, sizes_bytes: Sequence[int], contestants: int, further: Mapping[str, str], *, with_reach: bool
    ) -> None:
        self._next = _NEXT[: contestants - 1]
        numbers = ["fastest", *self._next, *further]
        widest = [
            max(map(format_bytes, sizes_bytes), key=len),
            _WIDEST + (_WIDEST_REACH if with_reach else ""),
            *[_WIDEST_FACTOR] * len(self._next),
            *further.values(),
        ]
        self._table = GrowingTable(["size", *numbers], widest=widest, right=numbers)

    def print_row(
        self,
        size_bytes: int,
        places: Sequence[Place],
        further: Sequence[str],
        *,
        reach: float | None,
        note: str = "",
        alike: Collection[str] = (),
    ) -> None:
        """Print one size; the names of the first places, and a note on them, precede it if they have changed.

        The reach is half the width of the interval of the fastest time, as a share of this time. Names of further
        places that are alike the first one are joined to it.
        """
        first, *others = places[: len(self._next) + 1]
        time = format_time(first.time_s) + ("" if reach is None else f" {format_reach(reach)}")
        factors = [factor(each.time_s, first.time_s) for each in others]
        missing = ["-"] * (len(self._next) - len(others))
        row = [format_bytes(size_bytes), StyledText(time, fg="green", bold=True), *factors, *missing, *further]
        self._table.print_row(row, above=_above((first, *others), alike) + note)


def _above(places: Sequence[Place], alike: Collection[str]) -> str:
    """Return the names of the first places: "ring, then bine", or "ring = bine +4" if four more are alike."""
    are_alike = [place.names[0] in alike for place in places[1:]]
    count = 1 + sum(are_alike)
    more = len(alike) - sum(len(place.names) for place in places[:count])
    first = " = ".join(map(_names, places[:count])) + (f" +{more}" if more > 0 else "")
    return ", then ".join([first, *map(_names, places[count:])])


def _names(place: Place) -> str:
    """Return one name of a place, and how many more share it: "ring", "bine +2"."""
    name, *more = place.names
    return f"{name} +{len(more)}" if more else name


def factor(time_s: float, base_s: float) -> str:
    """Return a time as a multiple of another; "-" if the other is zero."""
    return format_ratio(time_s / base_s) if base_s > 0 else "-"
