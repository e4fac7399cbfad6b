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
    """Return the places, the fastest first; equal times share a place."""
    if not fastest:
        return ()
    others = sorted((name for name in times_s if name not in fastest), key=lambda name: times_s[name])
    return (
        Place(tuple(fastest), min(times_s[name] for name in fastest)),
        *(Place(tuple(alike), time_s) for time_s, alike in groupby(others, key=lambda name: times_s[name])),
    )
