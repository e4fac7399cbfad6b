"""MPICH on nodes: the messages between nodes are those of its three trees, or of the files that Hocket writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import hocket
from hocket.rules.tuning_files.deciding import library_decision
from tests.conftest import Ran

from .conftest import Mpi
from .test_library_messages import (
    COLLECTIVES,
    WITH_ROOT,
    Case,
    Sent,
    are_alike,
    is_no_power_of_two,
    library_of,
    recorded,
    sent,
)

NODES = [
    (2, 2),
    *(
        pytest.param(nodes, marks=pytest.mark.real_mpi)
        for nodes in ((1, 1), (3, 3), (4, 4), (3, 1), (1, 4), (2, 2, 2), (4, 1, 3), (1, 1, 2), (3, 3, 3))
    ),
]
"""How many ranks each node has."""
MACHINE = """
name = "nodes"
[network]
model = "hockney"
latency = "2 us"
bandwidth = "12 GB/s"
ranks_on_nodes = {}
[network.local]
latency = "0.4 us"
bandwidth = "8 GB/s"
"""


def between(sent: Sent, nodes: Sequence[int]) -> Sent:
    """Return the messages between nodes."""
    node = [number for number, ranks in enumerate(nodes) for _ in range(ranks)]
    return {rank: [(to, size) for to, size in own if node[to] != node[rank]] for rank, own in sent.items()}


@pytest.mark.mpi
@pytest.mark.parametrize("nodes", NODES, ids=str)
def test_messages_between_nodes_are_those_that_the_trees_of_mpich_choose(mpi: Mpi, nodes: tuple[int, ...]) -> None:
    """The trees see the ranks and sizes of each step; within nodes, shared memory sends no messages of UCX.

    The first calls send messages within nodes, by MPICH's own shared memory; later ones have `release_gather`.
    """
    if library_of(mpi) != "mpich-5.0":
        pytest.skip("not MPICH")
    machine, ranks = hocket.Machine.parse(MACHINE.format(list(nodes))), sum(nodes)
    wanted = [
        Case(function, ranks, root, size_bytes)
        for function in ("allgather", "allreduce", "alltoall", "barrier", "bcast", "gather", "reduce", "scatter")
        for size_bytes in ((0,) if function == "barrier" else (8, 2048, 2056, 12280, 12288, 2**16, 2**19, 2**19 + 8))
        for root in ((0, nodes[0]) if COLLECTIVES.get(function, function) in WITH_ROOT else (0,))
    ]
    variables = {"MPIR_CVAR_NOLOCAL": "0", "MPIR_CVAR_DEVICE_COLLECTIVES": "percoll"}
    by_steps = 0
    for case, real in zip(wanted, sent(mpi, wanted, variables, nodes), strict=True):
        decision = library_decision("mpich-5.0", case.collective, case.call, machine=machine)
        assert real is not None and decision.equivalent is not None, case
        assert real == between(real, nodes), f"{case}: a message within a node"
        algorithm, call = decision.equivalent
        goes_by_rank_0 = case.root > 0 and "Reduce_intra_composition_alpha" in str(decision.choice)
        simulated = dict(
            between(recorded(algorithm, replace(call, root=0 if goes_by_rank_0 else call.root), machine), nodes)
        )
        if goes_by_rank_0:
            simulated[0] = [*simulated[0], (case.root, case.size_bytes)]
        is_divided = algorithm.name == "hierarchical"
        runs = call.parameters.get("network") if is_divided else algorithm.name
        folds = (case.function, runs) == ("reduce", "rabenseifner") and is_no_power_of_two(
            replace(case, ranks=len(nodes) if is_divided else ranks)
        )
        assert are_alike(real, simulated, case) != folds, f"{case}: {decision.choice}\n{real}\n{simulated}"
        by_steps += is_divided
    assert (by_steps > 0) == (max(nodes) > 1)


FLAT_RULES = """
allgather: ring
allreduce[size=64KiB..]: ring
allreduce[ranks=..4]: ring
barrier: dissemination
broadcast[size=16KiB..]: scatter_ring_allgather
gather: binomial
reduce[size=4KiB..]: rabenseifner
scatter: binomial
"""


@pytest.mark.mpi
@pytest.mark.parametrize(
    "nodes", [(2, 2), *(pytest.param(n, marks=pytest.mark.real_mpi) for n in ((4, 4), (3, 1), (2, 2, 2)))], ids=str
)
def test_files_for_mpich_take_effect_on_nodes(
    mpi: Mpi, hocket_command: Callable[..., Ran], tmp_path: Path, nodes: tuple[int, ...]
) -> None:
    """All ranks run what the rules say; what they leave to MPICH has its steps, whose algorithms are MPICH's own."""
    if library_of(mpi) != "mpich-5.0":
        pytest.skip("not MPICH")
    (source := tmp_path / "flat.rules").write_text(FLAT_RULES)
    said = hocket_command(f"rules convert {source} {tmp_path}/flat.mpich-5.0.json").err
    line = said.split("to use it: ")[1].split("\n")[0]
    machine, ranks = hocket.Machine.parse(MACHINE.format(list(nodes))), sum(nodes)
    wanted = [
        Case(function, ranks, 0, size_bytes)
        for function in ("allgather", "allreduce", "barrier", "bcast", "gather", "reduce", "scatter")
        for size_bytes in ((0,) if function == "barrier" else (8, 2**16))
    ]
    variables = {"MPIR_CVAR_NOLOCAL": "0", "MPIR_CVAR_DEVICE_COLLECTIVES": "percoll"}
    variables |= dict(word.split("=") for word in line.split())
    by_steps = 0
    for case, real in zip(wanted, sent(mpi, wanted, variables, nodes), strict=True):
        own = library_decision("mpich-5.0", case.collective, case.call, machine=machine).equivalent
        chosen = hocket.choose(FLAT_RULES, case.collective, case.call) or own
        assert real is not None and chosen is not None, case
        simulated = between(recorded(*chosen, machine), nodes)
        folds = chosen[0].name == "rabenseifner" and is_no_power_of_two(case)
        assert are_alike(real, simulated, case) != folds, f"{case}\n{real}\n{simulated}"
        by_steps += chosen[0].name == "hierarchical"
    assert by_steps == 3  # short calls of allreduce, bcast and reduce


@dataclass(frozen=True)
class Ring(Case):
    """A call by a ring of all ranks, as a tuning measures MPICH's own algorithms."""

    def settings(self, *, is_open_mpi: bool) -> dict[str, str]:
        return {"MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "ring", "MPIR_CVAR_ALLREDUCE_DEVICE_COLLECTIVE": "0"}


@pytest.mark.mpi
def test_an_own_algorithm_of_mpich_is_measured_on_all_ranks(mpi: Mpi) -> None:
    if library_of(mpi) != "mpich-5.0":
        pytest.skip("not MPICH")
    case = Ring("allreduce", 4, 0, 2**16)
    variables = {"MPIR_CVAR_NOLOCAL": "0", "MPIR_CVAR_DEVICE_COLLECTIVES": "percoll"}
    (real,) = sent(mpi, [case], variables, (2, 2))
    assert real is not None
    assert are_alike(real, between(recorded("allreduce/ring", case.call), (2, 2)), case)
