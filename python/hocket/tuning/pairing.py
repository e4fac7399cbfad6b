"""Measuring choices and the MPI's default in the same turns, at separate moments, to confirm and judge choices.

The race at a size nominates choices. Its times are no proof, for two reasons: the leader of many choices may only be
lucky, and a machine whose state lasts for seconds measures a size in only one state. So nominated choices are measured
again, at several moments; between two moments, all other sizes have their turns. At a moment, a choice and the default
take turns call by call, and the median of the ratios of paired calls is one ratio. Samples of one moment depend on each
other, so each moment counts once. The interval of a ratio is between order statistics of the moments and holds for any
distribution.

To find out what such a comparison cannot distinguish, the default also runs against itself in the same turns, as
`SECOND_DEFAULT`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from math import ceil, expm1, isfinite, log
from statistics import median

from hocket.definitions.library import unit_bytes
from hocket.tuning.choice import DEFAULT, Choice, Decision, Estimate, Owner, Point, choice_at
from hocket.tuning.deciding import Times, fastest, merge, middle_sizes
from hocket.tuning.elimination import CONFIDENCE, estimate
from hocket.tuning.records import PointRecord

SECOND_DEFAULT = Choice("default", "native, again")  # the MPI's default a second time

BY_RULES: tuple[Owner, ...] = ("default", "catalogue")
OWN: tuple[Owner, ...] = ("default", "mpi")
_FAMILIES = (BY_RULES, OWN)

_MOST_NOMINATED = 3  # the largest number of choices of each family that are measured again at a size
_USUAL = 0.95  # the share of sizes at which the default's difference from itself is within the noise
_HOPEFUL = 1.25  # a neighbour's choice is nominated if it is slower than the default by at most this factor


def times_of(record: PointRecord, owners: Collection[Owner]) -> Times:
    """Return the times of the choices of some owners."""
    return {choice: times for choice, times in record.times.items() if choice.owner in owners}


def ratio(record: PointRecord, choice: Choice) -> Estimate:
    """Return the ratio of a choice's time to the default's: the median over moments, with its interval."""
    return estimate(record.ratios.get(choice, ()), 1 - CONFIDENCE)


def _ratios(record: PointRecord, owners: Collection[Owner]) -> Times:
    choices = (choice for choice in record.ratios if choice.owner in owners and choice != SECOND_DEFAULT)
    return {choice: ratio(record, choice) for choice in choices}


def noise_of(records: Iterable[PointRecord]) -> float:
    """Return the noise: the default differs from itself by at most this share at 95 % of points; 0 without points."""
    shares = sorted(abs(log(median(one.ratios[SECOND_DEFAULT]))) for one in records if one.ratios.get(SECOND_DEFAULT))
    return expm1(shares[ceil(_USUAL * len(shares)) - 1]) if shares else 0.0


def confirmed_times(record: PointRecord, owners: Collection[Owner], noise: float) -> Times:
    """Return the times for decisions; if the default was measured, they are ratios to the default.

    In that case, only the default and the choices whose intervals are below 1 by more than the noise are included.
    """
    if record.is_simulated or DEFAULT not in record.times:
        return times_of(record, owners)
    ratios = _ratios(record, owners)
    times = {choice: Estimate.exact(one.median_s) for choice, one in ratios.items() if one.high_s < 1 - noise}
    return {DEFAULT: Estimate.exact(1.0), **times}


def compared_times(record: PointRecord, owners: Collection[Owner], noise: float) -> Times:
    """Return the times for judging: the default's and multiples of it, if it was measured; none of too few moments."""
    if record.is_simulated or DEFAULT not in record.times:
        return times_of(record, owners)
    if not isfinite(ratio(record, SECOND_DEFAULT).high_s):
        return {}
    default_s = record.times[DEFAULT].median_s
    shares = {DEFAULT: Estimate(1.0, 1 / (1 + noise), 1 + noise), **_ratios(record, owners)}
    return {
        choice: Estimate(*(share * default_s for share in (one.median_s, one.low_s, one.high_s)))
        for choice, one in shares.items()
    }


def nominate(
    record: Iterable[PointRecord], tolerance: float, can_be: Callable[[Point, Choice], bool]
) -> dict[Point, tuple[Choice, ...]]:
    """Return the choices to measure beside the default, at the points of races and between neighbours.

    At a point, these are the fastest choice and the choices that `merge` makes at this point and its two neighbours.
    Between two points, these are the choices nominated at either one. Impossible choices are left out. If no choice is
    nominated, the default needs no proof.
    """
    choices_by_point: dict[Point, tuple[Choice, ...]] = {}
    rows = groupby(sorted(record, key=lambda one: one.point), key=lambda one: (one.point.collective, one.point.ranks))
    for (collective, ranks), of_row in rows:
        row = list(of_row)
        families = [_of_family(row, owners, tolerance, can_be) for owners in _FAMILIES]
        for i, one in enumerate(row):
            choices_by_point[one.point] = tuple(c for family in families for c in family[i][:_MOST_NOMINATED])
        for i, (one, other) in enumerate(pairwise(row)):
            choices_of_pair = tuple(
                choice
                for family in families
                for choice in tuple(dict.fromkeys(family[i][:2] + family[i + 1][:2]))[:_MOST_NOMINATED]
            )
            choices_by_point |= {
                Point(collective, ranks, size): choices_of_pair
                for size in middle_sizes((one.point.size_bytes, other.point.size_bytes), unit_bytes(collective, ranks))
            }
    return {point: choices for point, choices in sorted(choices_by_point.items()) if choices}


def _of_family(
    row: Sequence[PointRecord], owners: Collection[Owner], tolerance: float, can_be: Callable[[Point, Choice], bool]
) -> list[tuple[Choice, ...]]:
    """Return the nominated choices at the points of a row: by `merge`, the fastest, and the choices of neighbours."""
    times = [
        {
            choice: one
            for choice, one in times_of(record, owners).items()
            if choice == DEFAULT or can_be(record.point, choice)
        }
        for record in row
    ]
    choices = merge(row[0].point.collective, times, tolerance)
    return [
        _distinct(times[i], [choices[i], fastest(times[i]), *choices[max(i - 1, 0) : i], *choices[i + 1 : i + 2]])
        for i in range(len(row))
    ]


def _distinct(times: Times, choices: Iterable[Choice]) -> tuple[Choice, ...]:
    """Return choices that may be faster than the default, one of each group of equivalent choices."""
    distinct: dict[Estimate, Choice] = {}
    for choice in choices:
        if choice in times and DEFAULT in times and times[choice].median_s < _HOPEFUL * times[DEFAULT].median_s:
            distinct.setdefault(times[choice], choice)
    return tuple(choice for choice in distinct.values() if choice != DEFAULT)


def rivals(record: PointRecord, decisions: Mapping[tuple[Owner, ...], Sequence[Decision]]) -> tuple[Choice, ...]:
    """Return the choices that judge decisions at a point: each family's decision, and the fastest of the race there."""
    choices: dict[Choice, None] = {}
    for owners, of_family in decisions.items():
        choice, times = choice_at(of_family, record.point), times_of(record, owners)
        best = fastest(times)
        is_same = choice in times and times[choice] == times[best]
        choices |= dict.fromkeys([choice] if is_same else [choice, best])
    return tuple(choice for choice in choices if choice != DEFAULT)
