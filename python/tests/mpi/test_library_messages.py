"""The algorithms of MPI libraries send the same messages as their counterparts.

A recorder between the MPI and UCX records the destination and the bytes of each message of each rank, in order.
"""

from __future__ import annotations

import os
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import pytest

import hocket
from hocket.mpi.launch import environment_of_crowd
from hocket.rules.tuning_files import han
from hocket.rules.tuning_files.counterparts import FUNCTIONS_OF, LIBRARIES, Counterpart, Library
from hocket.rules.tuning_files.deciding import component_for, deciding_rule, library_decision, situation
from hocket.rules.tuning_files.decisions import default_rules

from .conftest import AS_ROOT, Mpi

RANKS = [5, *(pytest.param(ranks, marks=pytest.mark.real_mpi) for ranks in (2, 4, 7, 8))]
SIZES_BYTES = (8, 1000, 16384, 100_000)
FEW_BYTES, FEW_DOUBLES_BYTES = 3, 32
"""For algorithms that libraries replace if elements are few: fewer bytes than most numbers of ranks, and as many
doubles as the largest power of two up to 5 ranks."""
SEGMENT_BYTES, COUNT = 8192, 2
"""Of algorithms whose segments, radix or window can be told."""

OF_DOUBLES = {"allreduce", "reduce", "scan", "exscan", "reduce_scatter"}
WITH_ROOT = {"broadcast", "reduce", "gather", "gatherv", "scatter", "scatterv"}
COLLECTIVES = {
    begin + function: collective
    for collective, functions in FUNCTIONS_OF.items()
    for function in functions
    for begin in ("", "i")
}
RADICES = {"ireduce_scatter": "RECEXCH_KVAL", "ireduce_scatter_block": "RECEXCH_KVAL"}
"""The variables of MPICH for the radix; those of blocking forms have `COUNT` by default."""

BY_UCX = {
    **{"MPIR_CVAR_NOLOCAL": "1", "MPIR_CVAR_CH4_NETMOD": "ucx", "MPIR_CVAR_DEVICE_COLLECTIVES": "none"},
    **{"MPIR_CVAR_COLLECTIVE_FALLBACK": "error", "OMPI_MCA_coll": "tuned,basic,libnbc,self,inter"},
    **{"OMPI_MCA_pml": "ucx", "OMPI_MCA_pml_ucx_tls": "any", "OMPI_MCA_pml_ucx_devices": "any"},
    **{"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"},
}
"""All messages by UCX, also within a node, and the algorithms that are asked for, or none."""

Sent = Mapping[int, Sequence[tuple[int, int]]]
"""The destination and the bytes of each message, by rank."""


@dataclass(frozen=True)
class Case:
    """A call of a function."""

    function: str
    ranks: int
    root: int
    size_bytes: int

    @property
    def collective(self) -> str:
        return COLLECTIVES.get(self.function, self.function)

    @property
    def elements(self) -> int:
        return self.size_bytes // 8

    @property
    def call(self) -> hocket.Call:
        """The same call in Hocket."""
        return hocket.Call(
            ranks=self.ranks,
            size_bytes=self.size_bytes,
            root=self.root if self.collective in WITH_ROOT else 0,
            element_bytes=8 if self.collective in OF_DOUBLES else 1,
        )

    def settings(self, *, is_open_mpi: bool) -> dict[str, str]:
        """Return the variables that choose an algorithm: none, as the library chooses."""
        return {}


@dataclass(frozen=True)
class Forced(Case):
    """A call by one algorithm of a library."""

    known: Counterpart

    @property
    def name(self) -> str:
        """The name of the algorithm, without the name of the function."""
        return self.known.name.rpartition("_intra_")[2].rpartition("_allcomm_")[2]

    @property
    def unforced(self) -> Case:
        """The same call, left to the library."""
        return Case(self.function, self.ranks, self.root, self.size_bytes)

    def settings(self, *, is_open_mpi: bool) -> dict[str, str]:
        """Return the variables that choose the algorithm."""
        if not is_open_mpi:
            variables = {"INTRA_ALGORITHM": self.name}
            if self.function in RADICES:
                variables[RADICES[self.function]] = str(self.told_count)
            return {f"MPIR_CVAR_{self.function.upper()}_{name}": value for name, value in variables.items()}
        begin = f"coll_tuned_{self.function}_algorithm"
        sizes = {"seg_size": ("_segmentsize", SEGMENT_BYTES), "reqs": ("_max_requests", COUNT)}
        told = [sizes[name] for name in self.known.parameter_names]
        return {begin: str(self.known.number), **{begin + name: str(value) for name, value in told}}

    @property
    def told_count(self) -> int:
        """The radix or window."""
        return COUNT + 1 if self.function in RADICES else COUNT

    def simulated(self) -> Sent:
        """Return the messages of the counterpart."""
        told = {
            ours: SEGMENT_BYTES if theirs == "seg_size" else self.told_count
            for theirs, ours in self.known.parameter_names.items()
        }
        if self.is_short:
            assert self.known.short is not None  # this makes it short
            return recorded(f"{self.collective}/{self.known.short.name.removeprefix('basic_')}", self.call)
        return recorded(
            f"{self.collective}/{self.known.hocket}", replace(self.call, parameters={**self.known.fixed, **told})
        )

    @property
    def is_short(self) -> bool:
        """Whether the library runs another algorithm, as the vector has too few elements."""
        elements = self.size_bytes // self.call.element_bytes
        return self.known.short is not None and self.known.short.is_for(elements, self.ranks)


def recorded(algorithm: hocket.Algorithm | str, call: hocket.Call, machine: hocket.Machine | None = None) -> Sent:
    """Return the messages of an algorithm of the catalogue."""
    schedule = hocket.record(algorithm, call, machine=machine).data
    sends = [[task["action"]["send"] for task in tasks if "send" in task["action"]] for tasks in schedule["ranks"]]
    each = schedule["element_bytes"]
    return {rank: [(send["to"], send["data"]["len"] * each) for send in own] for rank, own in enumerate(sends)}


def is_no_power_of_two(case: Case) -> bool:
    return bool(case.ranks & (case.ranks - 1))


DIFFERS: Mapping[tuple[str, str, str], tuple[str, Callable[[Forced], bool]]] = {
    ("openmpi-5.0", "allgather", "sparbit"): ("sends the blocks of a step one by one", lambda case: case.ranks > 2),
    ("openmpi-5.0", "allgatherv", "sparbit"): ("sends the blocks of a step one by one", lambda case: case.ranks > 2),
    ("openmpi-5.0", "allreduce", "nonoverlapping"): (
        "chooses reduce and broadcast as for calls of their own",
        lambda case: case.ranks > 2,
    ),
    ("openmpi-5.0", "allreduce", "rabenseifner"): (
        "splits the vectors of the ranks beyond a power of two",
        lambda case: is_no_power_of_two(case) and not case.is_short,
    ),
    ("openmpi-5.0", "reduce", "rabenseifner"): (
        "splits the vectors of the ranks beyond a power of two",
        lambda case: is_no_power_of_two(case) and not case.is_short,
    ),
    ("openmpi-5.0", "barrier", "recursive_doubling"): ("pairs rank r with r + 2^k beyond 2^k", is_no_power_of_two),
    ("mpich-5.0", "allgatherv", "ring"): ("sends at most 32 KiB at once", lambda case: case.size_bytes > 2**15),
    ("mpich-5.0", "allreduce", "ring"): (
        "gathers with at most 32 KiB at once",
        lambda case: case.size_bytes // case.ranks > 2**15,
    ),
    ("mpich-5.0", "allreduce", "recursive_multiplying"): (
        "pairs rank r with r + 2^k beyond 2^k",
        is_no_power_of_two,
    ),
    **{
        (library, "bcast", name): (
            "cuts blocks of ceil(n/P)",
            lambda case: case.size_bytes < 2 * case.ranks and is_no_power_of_two(case) and not case.is_short,
        )
        for library, name in (
            ("mpich-5.0", "scatter_ring_allgather"),
            ("mpich-5.0", "scatter_recursive_doubling_allgather"),
            ("openmpi-5.0", "scatter_allgather_ring"),
            ("openmpi-5.0", "scatter_allgather"),
        )
    },
    ("mpich-5.0", "reduce", "reduce_scatter_gather"): ("folds odd ranks into even ones", is_no_power_of_two),
}
"""Where a library sends other messages: what it does, and in which calls."""

OTHER_ORDER = {("openmpi-5.0", "alltoallv", "basic_linear")}
"""Sends to rank 0 first, all at once."""


def cases(library: Library, ranks: int) -> Iterator[Forced]:
    for function, algorithms in library.algorithms.items():
        for known in algorithms:
            if known.hocket is None or not known.takes(ranks):
                continue
            few = () if known.short is None else (FEW_BYTES if function == "bcast" else FEW_DOUBLES_BYTES,)
            for root, size_bytes in enumerate((0,) if function == "barrier" else (*SIZES_BYTES, *few)):
                elements = size_bytes // 8
                if function.endswith("reduce_scatter_block"):
                    elements = max(elements // ranks, 1) * ranks
                whole = COLLECTIVES.get(function, function) in OF_DOUBLES
                yield Forced(function, ranks, root % 2, 8 * elements if whole else size_bytes, known)


def sent(
    mpi: Mpi,
    wanted: Sequence[Case],
    variables: Mapping[str, str] = MappingProxyType({}),
    nodes: Sequence[int] = (),
    *,
    recorder: Path | None = None,
) -> list[Sent | None]:
    """Return the messages of the library in each case, under environment variables; None for refused calls.

    All ranks are on this host, or as many as `nodes` says on each node. The recorder is the one for UCX, unless another
    is given.
    """
    by_ucx = BY_UCX if recorder is None else {}
    recorder = recorder or Path(mpi.compiled("recorder.c", "-shared", "-fPIC"))
    words = []
    for case in wanted:
        chosen = (f":{name}={value}" for name, value in case.settings(is_open_mpi=mpi.is_open_mpi).items())
        words.append(f"{case.function}:{case.root}:{case.size_bytes}{''.join(chosen)}")
    program = ["env", f"LD_PRELOAD={recorder}", mpi.compiled("messages.c"), *words]
    start = mpi.on_nodes(*nodes) if nodes else [str(mpi.installation.mpiexec), "-n", str(wanted[0].ranks)]
    env = {**os.environ, **AS_ROOT, **environment_of_crowd(64), **by_ucx, **variables}
    ran = subprocess.run([*start, *program], capture_output=True, text=True, timeout=150, env=env, check=False)
    assert ran.returncode == 0, ran.stderr
    found: dict[int, dict[int, list[str]]] = defaultdict(dict)
    for number, rank, *rest in map(str.split, ran.stdout.splitlines()):
        found[int(number)][int(rank)] = rest
    return [_read(found[number]) for number in range(len(wanted))]


def _read(ranks: Mapping[int, list[str]]) -> Sent | None:
    if ["refused"] in ranks.values():
        return None
    pairs = {rank: zip(map(int, words[::2]), map(int, words[1::2]), strict=True) for rank, words in ranks.items()}
    return {rank: [(to, bytes_) for to, bytes_ in each if to >= 0] for rank, each in pairs.items()}


def are_alike(real: Sent, simulated: Sent, case: Case) -> bool:
    """Return whether messages have the same destinations and order, and sizes that differ at most by rounding."""
    if case.collective != "barrier":
        real, simulated = ({r: [m for m in own if m[1]] for r, own in each.items()} for each in (real, simulated))
    return all(
        [to for to, _ in real[rank]] == [to for to, _ in simulated[rank]]
        and all(abs(a - b) <= 8 * case.ranks for (_, a), (_, b) in zip(real[rank], simulated[rank], strict=True))
        for rank in real
    )


def library_of(mpi: Mpi) -> str:
    """Return the name of the library; skip if its messages cannot be recorded."""
    version = {"MPICH Version:      5.0": "mpich-5.0", "Open MPI v5.0": "openmpi-5.0"}
    library = next((name for begin, name in version.items() if mpi.installation.library.startswith(begin)), None)
    if library is None or not list(Path(mpi.installation.mpicc).parents[1].rglob("libucp.so*")):
        pytest.skip("neither MPICH 5.0 nor Open MPI 5.0, or one without UCX")
    return library


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", RANKS)
def test_messages_are_those_of_the_library(mpi: Mpi, ranks: int) -> None:
    library = library_of(mpi)
    # Open MPI reads the variables of some functions only from the environment.
    by_environment: dict[str, list[Forced]] = defaultdict(list)
    others = []
    for case in cases(LIBRARIES[library], ranks):
        is_by_environment = mpi.is_open_mpi and case.function == "allgatherv"
        (by_environment[str(case.known.number)] if is_by_environment else others).append(case)
    found = list(zip(others, sent(mpi, others), strict=True))
    for number, few in by_environment.items():
        variables = {"OMPI_MCA_coll_tuned_allgatherv_algorithm": number}
        found += zip(few, sent(mpi, [case.unforced for case in few], variables), strict=True)
    compared = 0
    for case, real in found:
        try:
            simulated = case.simulated()
        except hocket.Error as error:
            assert " needs " in str(error)
            continue
        if real is None:
            continue
        what, differs = DIFFERS.get((library, case.function, case.name), ("", lambda _: False))
        if (library, case.function, case.name) in OTHER_ORDER:
            real, simulated = ({r: sorted(own) for r, own in each.items()} for each in (real, simulated))
        assert are_alike(real, simulated, case) != differs(case), f"{case}: {what}\n{real}\n{simulated}"
        compared += 1
    assert compared > 80


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", RANKS)
def test_messages_are_those_of_the_rules_for_the_library(mpi: Mpi, ranks: int) -> None:
    """Compare the library's own choices with the choices of `--rules` of its name.

    The rules are for one function per collective; further functions of a collective have decisions of their own.
    """
    library = library_of(mpi)
    others = {*RADICES, *(function for functions in FUNCTIONS_OF.values() for function in functions[1:])}
    of_collectives = [function for function in LIBRARIES[library].algorithms if function not in others]
    wanted = [
        Case(function, ranks, root % 2, size_bytes // 8 * 8)
        for function in of_collectives
        for root, size_bytes in enumerate((0,) if function == "barrier" else (*SIZES_BYTES, 2**19))
    ]
    compared = 0
    for case, real in zip(wanted, sent(mpi, wanted, {"OMPI_MCA_coll_tuned_use_dynamic_rules": "0"}), strict=True):
        chosen = hocket.choose(hocket.LIBRARY_RULES[library], case.collective, case.call)
        if chosen is None or real is None:
            continue
        algorithm, call = chosen
        simulated = recorded(algorithm, call)
        if case.function == "alltoallv":
            real, simulated = ({r: sorted(own) for r, own in each.items()} for each in (real, simulated))
        is_folded_alike = (library, case.function) == ("mpich-5.0", "allreduce")
        folds = algorithm.name == "rabenseifner" and is_no_power_of_two(case) and not is_folded_alike
        assert are_alike(real, simulated, case) != folds, f"{case}: {algorithm.name}\n{real}\n{simulated}"
        compared += 1
    assert compared > 40


NODES = [
    (2, 2),
    *(
        pytest.param(nodes, marks=pytest.mark.real_mpi)
        for nodes in (
            *((per_node,) * count for count in (2, 3, 4) for per_node in (1, 2, 3, 4) if (count, per_node) != (2, 2)),
            *((2, 1), (3, 2), (4, 1), (3, 3, 2), (3, 3, 3, 1)),
        )
    ),
]


@pytest.mark.mpi
@pytest.mark.parametrize("nodes", NODES, ids=lambda nodes: "+".join(map(str, nodes)))
def test_messages_on_nodes_are_those_of_the_component_that_takes_the_call(
    open_mpi: Mpi, nodes: tuple[int, ...]
) -> None:
    """HAN overlaps the messages of its parts, so that their order is open."""
    assert library_of(open_mpi) == "openmpi-5.0"
    ranks = sum(nodes)
    wanted = [
        Case(function, ranks, root, size_bytes)
        for function in han.CALLS
        for size_bytes in ((0,) if function == "barrier" else (8, 2**16, 2**20))
        for root in ((0, ranks - 1) if COLLECTIVES.get(function, function) in WITH_ROOT else (0,))
    ]
    variables = {"OMPI_MCA_coll": "han,tuned,basic,libnbc,self,inter", "OMPI_MCA_coll_tuned_use_dynamic_rules": "0"}
    by_han = 0
    for case, real in zip(wanted, sent(open_mpi, wanted, variables, nodes), strict=True):
        assert real is not None, case
        decision = library_decision("openmpi-5.0", case.collective, case.call, ranks_per_node=nodes[0])
        assert decision.equivalent is not None, f"{case}: {decision.sentence}"
        simulated = {rank: sorted(own) for rank, own in recorded(*decision.equivalent).items()}
        in_any_order = {rank: sorted(own) for rank, own in real.items()}
        pairs_otherwise = _pairs_otherwise(case, nodes)
        assert are_alike(in_any_order, simulated, case) != pairs_otherwise, (
            f"{case}: {decision.choice}\n{real}\n{simulated}"
        )
        by_han += str(decision.choice).startswith("han ")
    assert (by_han > 0) == (nodes[0] > 1)


def _pairs_otherwise(case: Case, nodes: Sequence[int]) -> bool:
    """Return whether an algorithm has other pairs of ranks than Hocket's.

    On no power of two of ranks these are the ranks beyond it. Libnbc's binomial tree has the root and rank 0 swapped.
    """
    element_bytes = case.call.element_bytes
    call = situation(case.function, case.ranks, case.size_bytes, ranks_per_node=nodes[0], element_bytes=element_bytes)
    component, rule = component_for("openmpi-5.0", call), deciding_rule(default_rules("openmpi-5.0"), call)
    assert component is not None
    assert rule is not None
    runs = {(one.call.function, one.choice.algorithm, one.ranks) for one in component.inner}
    runs = runs or {(case.function, rule.choice and rule.choice.algorithm, case.ranks)}
    pairing = {"barrier": "recursive_doubling"}.get(case.function, "rabenseifner")
    swaps = case.root >= nodes[0] and ("ireduce", "binomial", len(nodes)) in runs and len(nodes) > 3
    return swaps or any(name == pairing and ranks & (ranks - 1) for _, name, ranks in runs)
