"""Choices beside the MPI's default, in the same turns, at separate moments: what is nominated, confirmed and judged.

The race at a size nominates choices; its times are no proof, since the luckiest of many choices leads, and since a
machine whose state lasts for seconds gives one size the times of one state. So what was nominated is measured again.
At each of several moments, between which all other sizes have their turns, a choice and the default take turns call by
call; the median of the ratios of both, call by call, is one ratio. Samples of one moment belong together: the interval
of a ratio is between order statistics of the moments, of which each counts once, and holds for any distribution.

What such a comparison cannot tell apart is seen where the default runs against itself, as `AGAIN`, in the same turns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import groupby
from math import ceil, expm1, isfinite, log
from statistics import median

from hocket.tuning.candidates import unit_of
from hocket.tuning.choice import DEFAULT, Choice, Decision, Estimate, Owner, Point, chosen
from hocket.tuning.deciding import Times, held_out, merge
from hocket.tuning.elimination import CONFIDENCE, estimate
from hocket.tuning.records import Found

__all__ = ["AGAIN", "BY_RULES", "OWN", "compared", "confirmed", "noise_of", "nominated", "ratio", "rivals", "times_of"]

AGAIN = Choice("default", "native, again")
"""The MPI's default a second time."""

BY_RULES: tuple[Owner, ...] = ("default", "catalogue")
OWN: tuple[Owner, ...] = ("default", "mpi")
_FAMILIES = (BY_RULES, OWN)

_NOMINATED = 3
"""The most choices of each family that are measured again at a size."""
_USUAL = 0.95
"""The share of sizes at which the default differs from itself by no more than the noise."""
_HOPEFUL = 1.25
"""A neighbour's choice is nominated if it is no slower than the default by more than this factor."""


def times_of(found: Found, owners: Collection[Owner]) -> Times:
    """Return the times of some owners' choices."""
    return {choice: times for choice, times in found.times.items() if choice.owner in owners}


def ratio(found: Found, choice: Choice) -> Estimate:
    """Return a choice's time over the default's: the median over moments, with its interval."""
    return estimate(found.ratios.get(choice, ()), 1 - CONFIDENCE)


def noise_of(found: Iterable[Found]) -> float:
    """Return by what share the default seems to differ from itself, at most, at 95 % of the points; 0 of none."""
    shares = sorted(abs(log(median(one.ratios[AGAIN]))) for one in found if one.ratios.get(AGAIN))
    return expm1(shares[ceil(_USUAL * len(shares)) - 1]) if shares else 0.0


def confirmed(found: Found, owners: Collection[Owner], noise: float) -> Times:
    """Return the times that decisions may be made from, as shares of the default's where that was measured.

    Then it has, besides the default, the choices whose interval lies below 1 by more than the noise.
    """
    if found.is_simulated or DEFAULT not in found.times:
        return times_of(found, owners)
    ratios = {choice: ratio(found, choice) for choice in found.ratios if choice.owner in owners and choice != AGAIN}
    kept = {choice: Estimate.exact(one.median_s) for choice, one in ratios.items() if one.high_s < 1 - noise}
    return {DEFAULT: Estimate.exact(1.0), **kept}


def compared(found: Found, owners: Collection[Owner], noise: float) -> Times:
    """Return the times that decisions are judged by: where the default was measured, its time and ratios to it alone.

    Of too few moments there are none.
    """
    if found.is_simulated or DEFAULT not in found.times:
        return times_of(found, owners)
    if not isfinite(ratio(found, AGAIN).high_s):
        return {}
    default_s = found.times[DEFAULT].median_s
    shares = {DEFAULT: Estimate(1.0, 1 / (1 + noise), 1 + noise)}
    shares |= {choice: ratio(found, choice) for choice in found.ratios if choice.owner in owners and choice != AGAIN}
    return {
        choice: Estimate(*(share * default_s for share in (one.median_s, one.low_s, one.high_s)))
        for choice, one in shares.items()
    }


def nominated(
    found: Iterable[Found], tolerance: float, can_be: Callable[[Point, Choice], bool]
) -> dict[Point, tuple[Choice, ...]]:
    """Return what is measured beside the default at the points that races were run at, and between neighbours.

    At a point these are what few intervals would have there and at both neighbours, and the fastest; between two points
    what is nominated at either. What cannot be is left out. Where nothing is nominated the default needs no proof.
    """
    wanted: dict[Point, tuple[Choice, ...]] = {}
    rows = groupby(sorted(found, key=lambda one: one.point), key=lambda one: (one.point.collective, one.point.ranks))
    for (collective, ranks), of_row in rows:
        row = list(of_row)
        families = [_of_family(row, owners, tolerance, can_be) for owners in _FAMILIES]
        here = [tuple(choice for family in families for choice in family[i][:_NOMINATED]) for i in range(len(row))]
        wanted |= {one.point: choices for one, choices in zip(row, here, strict=True)}
        for i in range(len(row) - 1):
            ends = (row[i].point.size_bytes, row[i + 1].point.size_bytes)
            both = tuple(
                choice
                for family in families
                for choice in tuple(dict.fromkeys(family[i][:2] + family[i + 1][:2]))[:_NOMINATED]
            )
            wanted |= {Point(collective, ranks, size): both for size in held_out(ends, unit_of(collective, ranks))}
    return {point: choices for point, choices in sorted(wanted.items()) if choices}


def _of_family(
    row: Sequence[Found], owners: Collection[Owner], tolerance: float, can_be: Callable[[Point, Choice], bool]
) -> list[tuple[Choice, ...]]:
    """Return what is nominated at the points of a row: what few intervals would have, the fastest, the neighbours'."""
    times = [
        {
            choice: one
            for choice, one in times_of(found, owners).items()
            if choice == DEFAULT or can_be(found.point, choice)
        }
        for found in row
    ]
    choices = merge(times, tolerance)
    return [
        _distinct(times[i], [choices[i], _fastest(times[i]), *choices[max(i - 1, 0) : i], *choices[i + 1 : i + 2]])
        for i in range(len(row))
    ]


def _fastest(times: Times) -> Choice:
    return min(times, key=lambda choice: (times[choice].median_s, choice), default=DEFAULT)


def _distinct(times: Times, choices: Iterable[Choice]) -> tuple[Choice, ...]:
    """Return choices that may be faster than the default, one of those that do the same."""
    kept: dict[Estimate, Choice] = {}
    for choice in choices:
        if choice in times and DEFAULT in times and times[choice].median_s < _HOPEFUL * times[DEFAULT].median_s:
            kept.setdefault(times[choice], choice)
    return tuple(choice for choice in kept.values() if choice != DEFAULT)


def rivals(found: Found, decisions: Mapping[tuple[Owner, ...], Sequence[Decision]]) -> tuple[Choice, ...]:
    """Return what judges decisions at a point: what each family's choose there, and the fastest of the race there."""
    wanted: dict[Choice, None] = {}
    for owners, of_family in decisions.items():
        choice, times = chosen(of_family, found.point), times_of(found, owners)
        fastest = _fastest(times)
        is_same = choice in times and times[choice] == times[fastest]
        wanted |= dict.fromkeys([choice] if is_same else [choice, fastest])
    return tuple(choice for choice in wanted if choice != DEFAULT)
