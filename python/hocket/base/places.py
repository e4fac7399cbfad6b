"""Who comes first, second and third, where several are timed at one task."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import groupby

__all__ = ["Place", "places"]


@dataclass(frozen=True)
class Place:
    """Those that share a place.

    Attributes:
        names: Who they are.
        time_s: What the best of them takes.
    """

    names: tuple[str, ...]
    time_s: float


def places(times_s: Mapping[str, float], fastest: Collection[str]) -> tuple[Place, ...]:
    """Return the places, the first one that of the fastest; others share a place if their times are the same."""
    if not fastest:
        return ()
    others = sorted((name for name in times_s if name not in fastest), key=lambda name: times_s[name])
    return (
        Place(tuple(fastest), min(times_s[name] for name in fastest)),
        *(Place(tuple(alike), time_s) for time_s, alike in groupby(others, key=lambda name: times_s[name])),
    )
