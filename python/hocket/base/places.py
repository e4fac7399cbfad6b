"""First, second and third place among several that are timed at the same task."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import groupby


@dataclass(frozen=True)
class Place:
    """The contestants that share a place, and the shortest time of them."""

    names: tuple[str, ...]
    time_s: float


def places(times_s: Mapping[str, float], fastest: Collection[str]) -> tuple[Place, ...]:
    """Return the places, the fastest first; names with equal times share one.

    Args:
        times_s: The times by name.
        fastest: The names that share the first place.
    """
    if not fastest:
        return ()
    first = Place(tuple(fastest), min(times_s[name] for name in fastest))
    others = sorted((name for name in times_s if name not in fastest), key=times_s.__getitem__)
    return first, *(Place(tuple(names), time_s) for time_s, names in groupby(others, key=times_s.__getitem__))
