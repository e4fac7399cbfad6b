"""The short answer of a comparison: few algorithms, of which one is fast enough at each size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby

from hocket._native import Error
from hocket.base.checks import number
from hocket.definitions.library import Algorithm, all_bytes, find, other_values
from hocket.rules.tuning_files.counterparts import programs_of_libraries
from hocket.simulating.simulation import Simulation

WITHIN = 0.05
"""The usual share by which the algorithms of an answer may be slower than the fastest."""


@dataclass(frozen=True)
class Use:
    """An algorithm for a range of sizes.

    Attributes:
        algorithm: The algorithm.
        first_bytes: The least size.
        last_bytes: The largest size.
        slower: How much slower than the fastest it is at most, as a share.
        parameters: The values of parameters other than the defaults, by size.
    """

    algorithm: str
    first_bytes: int
    last_bytes: int
    slower: float
    parameters: Mapping[int, Mapping[str, int | str]]


def answer_of(simulations: Sequence[Simulation], within: float) -> tuple[Use, ...]:
    """Return the fewest ranges of sizes with one algorithm each, which is at most this share slower than the fastest.

    Of several such answers, it is one with algorithms that MPI libraries have, then with fewer parameters, then with
    less time.
    """
    number("within", within, "a share, from 0 to less than 1", is_right=lambda share: 0 <= share < 1)
    runs: dict[int, dict[str, Simulation]] = {}
    for one in sorted(simulations, key=lambda one: one.size_bytes):
        runs.setdefault(one.size_bytes, {})[one.algorithm] = one
    slower = {size_bytes: _slower(of_size, within) for size_bytes, of_size in runs.items()}
    names = fewest_changes(list(slower.values()), simulations[0].collective) if simulations else []
    uses = []
    for name, group in groupby(zip(runs, names, strict=True), key=lambda pair: pair[1]):
        sizes = [size_bytes for size_bytes, _ in group]
        parameters = {size_bytes: _parameters(runs[size_bytes][name]) for size_bytes in sizes}
        most = max(slower[size_bytes][name] for size_bytes in sizes)
        uses.append(Use(name, sizes[0], sizes[-1], most, parameters))
    return tuple(uses)


def _slower(runs: Mapping[str, Simulation], within: float) -> dict[str, float]:
    """Return the algorithms that are fast enough at a size, with how much slower than the fastest they are."""
    least_s = min(one.time_s.mean for one in runs.values())
    shares = {name: one.time_s.mean / least_s - 1 if least_s > 0 else 0.0 for name, one in runs.items()}
    return {name: share for name, share in shares.items() if share <= within + 1e-9}


def fewest_changes(choices: Sequence[Mapping[str, float]], collective: str) -> list[str]:
    """Return one name of each choice, such that few differ from the one before, and of those the ones preferred."""
    of_libraries = programs_of_libraries(collective)

    def cost(name: str, share: float) -> tuple[int, int, float]:
        algorithm = algorithm_if_known(collective, name)
        return name not in of_libraries, len(algorithm.parameters) if algorithm else 0, share

    best: dict[str, tuple[tuple[float, ...], list[str]]] = {}
    for choice in choices:
        (changes, *before), names = min(best.values(), key=lambda each: each[0], default=((0, 0, 0, 0.0), []))
        change = (changes + 1, *before), names
        following = {}
        for name, share in choice.items():
            (changes, *before), names = min(best.get(name, change), change, key=lambda each: each[0])
            costs = (old + new for old, new in zip(before, cost(name, share), strict=True))
            following[name] = (changes, *costs), [*names, name]
        best = following
    return min(best.values(), key=lambda each: each[0])[1] if best else []


def _parameters(one: Simulation) -> dict[str, int | str]:
    algorithm = algorithm_if_known(one.collective, one.algorithm)
    if algorithm is None:
        return dict(one.parameters)
    return other_values(algorithm, one.parameters, all_bytes(algorithm, one.ranks, one.size_bytes))


def algorithm_if_known(collective: str, name: str) -> Algorithm | None:
    """Return an algorithm of the catalogue; None for one of the user."""
    with suppress(Error):
        return find(f"{collective}/{name}")
    return None
