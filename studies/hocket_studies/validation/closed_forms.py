"""Simulations beside the closed forms of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator

from hocket._native import Error
from hocket.base.call import Call
from hocket.base.version import VERSION
from hocket.definitions.library import COLLECTIVES, catalogue
from hocket.simulating.simulation import Simulation, simulate
from hocket_studies.validation.comparison import Case, Comparison

RANKS = (2, 3, 4, 7, 8, 16, 27, 64)
SIZES_BYTES = (8, 1000, 65536, 1 << 20)
MACHINE = "cluster"


def closed_forms() -> Comparison:
    """Compare every algorithm of the catalogue with its closed form where that is exact."""
    found = list(_simulations())
    exact = [one for one in found if one.formula_s and one.formula_is_exact]
    bounds = [one for one in found if one.formula_s and not one.formula_is_exact]
    above = sum(one.time_s.mean > (one.formula_s or 0.0) * (1 + 1e-9) for one in bounds)
    compared = {f"{one.collective}/{one.algorithm}" for one in exact}
    left_out = sorted(one.label for one in catalogue() if one.label not in compared)
    return Comparison(
        "closed forms",
        tuple(_case(one) for one in exact),
        f"{len(bounds)} more cases where the form is an upper bound (chunks of unequal size): {above} of them "
        f"are above it; no exact form at these calls: {', '.join(left_out) or 'none'}; "
        "forms know neither links nor noise",
        {"Hocket": VERSION},
        f"{len(compared)} algorithms, {RANKS[0]} to {RANKS[-1]} ranks, machine {MACHINE}",
    )


def _case(found: Simulation) -> Case:
    name = f"{found.collective}/{found.algorithm}, {found.ranks} ranks, {found.size_bytes} B"
    return Case(name, found.time_s.mean, found.formula_s or 0.0)


def _simulations() -> Iterator[Simulation]:
    """Simulate what the algorithms accept."""
    for algorithm in catalogue():
        for ranks in RANKS:
            for size_bytes in SIZES_BYTES if COLLECTIVES[algorithm.collective].has_size else (0,):
                try:
                    yield simulate(algorithm, Call(ranks=ranks, size_bytes=size_bytes), machine=MACHINE)
                except Error as error:
                    if not str(error).startswith(f"{algorithm.collective} {algorithm.name} needs "):
                        raise
