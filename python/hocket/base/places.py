"""First, second and third place among several that are timed at the same task."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """The contestants that share a place, and the shortest time of them."""

    names: tuple[str, ...]
    time_s: float


def places(
    times_s: Mapping[str, float], fastest: Collection[str], *, are_alike: Callable[[str, str], bool] | None = None
) -> tuple[Place, ...]:
    """Return the places, the fastest first.

    Args:
        times_s: The times by name.
        fastest: The names that share the first place.
        are_alike: Whether a name shares the place of a faster one; by default if their times are equal.
    """
    if not fastest:
        return ()
    alike = are_alike or (lambda one, other: times_s[one] == times_s[other])
    ranking = [Place(tuple(fastest), min(times_s[name] for name in fastest))]
    left = sorted((name for name in times_s if name not in fastest), key=lambda name: times_s[name])
    while left:
        first = left[0]
        ranking.append(Place(tuple(name for name in left if alike(first, name)), times_s[first]))
        left = [name for name in left if name not in ranking[-1].names]
    return tuple(ranking)
