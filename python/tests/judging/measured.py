"""Measured curves of the studies: as they are, made worse by a known factor, and without the names of algorithms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from hocket.definitions.library import COLLECTIVES
from hocket.definitions.machine import Machine
from hocket.judging.curves import Curve, curves_of
from hocket.measurements.formats import read_measurements
from hocket.measurements.measurement import DEFAULT, Measurement

FOLDER = Path(__file__).parents[3] / "studies" / "hocket_studies" / "measured"
MOST_RANKS, LEAST_SIZES, SMALL_BYTES, LARGE_BYTES = 64, 5, 1 << 10, 64 << 10
HEALTHY_FACTOR = 1.5

Change: TypeAlias = Literal["none", "latency", "rate", "one size"]
CHANGES: tuple[Change, ...] = get_args(Change)


@cache
def calls() -> tuple[Measurement, ...]:
    """Return the measured calls on at most 64 ranks, of algorithms of the catalogue and of libraries' own choices."""
    readings = [read_measurements(FOLDER / f"{name}.csv") for name in ("pico", "nccl")]
    return tuple(one for reading in readings for one in reading.measurements if one.ranks <= MOST_RANKS)


def preset(one: Measurement) -> Machine:
    """Return the preset that is fitted to the system of a measurement."""
    return Machine.load({"mare_nostrum": "marenostrum5"}.get(one.system, one.system))


def _curves(measurements: Iterable[Measurement], *, keeps_names: bool = False) -> Iterator[Curve]:
    """Give the curves of some calls by system, collective and job, each of the fastest call of a size."""
    fastest: dict[object, Measurement] = {}
    for one in measurements:
        name = one.label if keeps_names else ""
        call = one.system, one.collective, one.ranks, one.ranks_per_node, one.dims, one.layout, name, one.size_bytes
        fastest[call] = min(one, fastest.get(call, one), key=lambda each: each.time_s)
    ones = [*fastest.values()]
    if not keeps_names:
        ones = [replace(one, algorithm=DEFAULT, parameters={}) for one in ones]
    yield from (curve for curve in curves_of(ones) if len(curve.measurements) >= LEAST_SIZES)


def healthy_curves() -> list[Curve]:
    """Return for each collective and job the curve of the fastest calls, and that of the library's own choices.

    A curve is left out if a call of it took 1.5 times as long as another measured one of the job, as large or larger.
    """
    fastest = [*_curves(calls())]
    own = [curve for curve in _curves([one for one in calls() if one.algorithm == DEFAULT]) if curve not in fastest]
    best_s = {_job(curve): [(one.size_bytes, one.time_s) for one in curve.measurements] for curve in fastest}
    curves = (
        curve
        for curve in (*fastest, *own)
        if all(
            one.time_s < HEALTHY_FACTOR * time_s
            for one in curve.measurements
            for size_bytes, time_s in best_s[_job(curve)]
            if size_bytes >= one.size_bytes
        )
    )
    return sorted(curves, key=_order)


def _job(curve: Curve) -> tuple[object, ...]:
    one = curve.first
    return one.system, one.collective, one.ranks, one.ranks_per_node, one.dims


def named_curves() -> list[Curve]:
    """Return the curves of each algorithm of the catalogue that ran under an MPI."""
    named = [one for one in calls() if one.algorithm != DEFAULT and one.library]
    return sorted(_curves(named, keeps_names=True), key=_order)


def _order(curve: Curve) -> tuple[str, str, int, str, float]:
    one = curve.first
    return one.system, one.collective, one.ranks, one.label, one.time_s


def odd_place(curve: Curve) -> int:
    """Return the place of the size that is made odd."""
    return len(curve.measurements) // 2


def worse(curve: Curve, change: Change) -> Curve | None:
    """Return a curve with three times the latency, half the rate of large calls, or twice the time of one size.

    None is returned where it has no small sizes, fewer than three large ones, or no middle.
    """
    one = curve.first
    facts = COLLECTIVES[one.collective]
    blocks = one.ranks if facts.size_is_one_block and not facts.sends_blocks else 1
    sizes = [each.size_bytes * blocks for each in curve.measurements]
    if (change == "latency" and sizes[0] > SMALL_BYTES) or (change == "rate" and sizes[-3] < LARGE_BYTES):
        return None
    factors = {
        "none": [1.0 for _ in sizes],
        "latency": [1 + 2 * one.time_s / each.time_s for each in curve.measurements],
        "rate": [2.0 if size >= LARGE_BYTES else 1.0 for size in sizes],
        "one size": [2.0 if place == odd_place(curve) else 1.0 for place in range(len(sizes))],
    }[change]
    slowed = tuple(
        replace(each, time_s=factor * each.time_s) for each, factor in zip(curve.measurements, factors, strict=True)
    )
    return Curve(slowed, slowed)
