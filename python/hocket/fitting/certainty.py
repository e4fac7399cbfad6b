"""How well a fit knows its values: intervals, correlations, and what to measure besides.

Intervals are those of profiles. Correlations are those near the values found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hocket.fitting.profiling import Profile
from hocket.fitting.simulating import Floats
from hocket.fitting.skeleton import Place

_WIDE = 2.0
_CORRELATED = 0.95
_NEAR_BOUND = 1e-3  # difference of logarithms

_SMALL = "a ping-pong of small messages"
_LARGE = "a ping-pong of large messages, and a collective without combining, such as an allgather"
_SENDING = "a linear scatter of small blocks"
_RECEIVING = "a linear gather of small blocks"
_COMBINING = "an allreduce of large vectors, beside an allgather"
_COPYING = "an alltoall by Bruck's algorithm, beside one by pairwise exchange"
_ADVICE: Mapping[str, str] = {
    **dict.fromkeys(("L", "latency", "router_latency"), _SMALL),
    **dict.fromkeys(("G", "bandwidth", "link_bandwidth", "injection_bandwidth", "both_ways"), _LARGE),
    **dict.fromkeys(("o", "o_send", "O_send", "g", "send_overhead", "software_latency"), _SENDING),
    **dict.fromkeys(("o_receive", "O_receive", "O", "ejection_bandwidth", "memory_bandwidth"), _RECEIVING),
    **dict.fromkeys(("reduce_bandwidth", "reduce_latency"), _COMBINING),
    **dict.fromkeys(("copy_bandwidth", "copy_latency"), _COPYING),
    **dict.fromkeys(("S", "request", "answer"), "a ping-pong of sizes on both sides of the rendezvous"),
    "link_latency": "a ping-pong of small messages between nodes at several distances",
    "call_overhead": "a barrier, and a broadcast to two ranks",
}
_ANY_ADVICE = "more collectives, algorithms and sizes"


@dataclass(frozen=True)
class Value:
    """A fitted value.

    Attributes:
        name: Its section, key and place in a list, such as "network.L[1]".
        value: The value, in SI units.
        low: Where its 95 % confidence interval begins.
        high: Where it ends.
        text: The value as the machine file has it.
        interval: The interval, for people.
        is_at_bound: Whether it is at a bound of its range.
        is_known: Whether the end of the interval is at most twice its beginning.
        advice: What to measure to know it better, if it is not known.
    """

    name: str
    value: float
    low: float
    high: float
    text: str
    interval: str
    is_at_bound: bool
    is_known: bool
    advice: str

    def is_near(self, other: float) -> bool:
        """Return whether another value is apart by less than a factor of 2."""
        return self.value / _WIDE < other < self.value * _WIDE


@dataclass(frozen=True)
class Pair:
    """Two values that the measurements cannot tell apart.

    Attributes:
        first: The name of one.
        second: The name of the other.
        correlation: Of their logarithms.
        advice: What to measure to tell them apart.
    """

    first: str
    second: str
    correlation: float
    advice: str


def values_of(places: Sequence[Place], profile: Profile) -> tuple[Value, ...]:
    """Return fitted values with their intervals."""
    ends = (np.exp(each).tolist() for each in (profile.low, profile.high))
    return tuple(map(_value, places, profile.values.tolist(), *ends))


def pairs_of(places: Sequence[Place], spread: Floats) -> tuple[Pair, ...]:
    """Return the pairs of values that the measurements cannot tell apart."""
    deviations: Floats = np.sqrt(np.diag(spread))
    correlations = spread / np.outer(deviations, deviations)
    return tuple(
        Pair(one.name, other.name, float(correlations[i, j]), _advice(one, other))
        for i, one in enumerate(places)
        for j, other in enumerate(places)
        if i < j and abs(correlations[i, j]) > _CORRELATED
    )


def others_of(values: Sequence[Value], points: Iterable[Floats]) -> tuple[Mapping[str, float], ...]:
    """Return other values that do almost as well, by name, where one is far from a value that seems to be known.

    Args:
        values: The fitted values.
        points: The logarithms of the others.
    """
    several = (dict(zip((one.name for one in values), np.exp(point).tolist(), strict=True)) for point in points)
    return tuple(other for other in several if any(one.is_known and not one.is_near(other[one.name]) for one in values))


def _value(place: Place, logarithm: float, low: float, high: float) -> Value:
    near = (abs(logarithm - np.log(bound)) < _NEAR_BOUND for bound in (place.low, place.high))
    is_known = high / low <= _WIDE
    return Value(
        name=place.name,
        value=float(np.exp(logarithm)),
        low=low,
        high=high,
        text=place.shown(float(np.exp(logarithm))),
        interval=f"{place.shown(low)} to {place.shown(high)}",
        is_at_bound=any(near),
        is_known=is_known,
        advice="" if is_known else _advice(place),
    )


def _advice(*places: Place) -> str:
    return "; ".join(dict.fromkeys(_ADVICE.get(place.key, _ANY_ADVICE) for place in places))
