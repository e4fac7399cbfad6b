"""Which component of Open MPI takes a call on nodes, and what HAN runs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import hocket
from hocket import traces
from hocket.base.call import Call
from hocket.rules.tuning_files.counterparts import LIBRARIES
from hocket.rules.tuning_files.deciding import component_for, library_decision, situation
from hocket.rules.tuning_files.form import Choice, Rule, Rules, Span
from hocket.rules.tuning_files.han import CALLS, PRIORITIES
from hocket.rules.tuning_files.hocket_rules import collective_of
from hocket.simulating.library_rules import rules_on_nodes
from tests.conftest import Ran


@pytest.mark.parametrize(
    ("version", "function", "ranks", "ranks_per_node", "commutes", "component"),
    [
        ("openmpi-5.0", "allreduce", 8, 4, True, "han"),
        ("openmpi-6.0", "allreduce", 8, 4, True, "han"),
        ("openmpi-6.0", "alltoall", 8, 4, True, "han"),
        ("openmpi-4.1", "allreduce", 8, 4, True, "tuned"),
        ("openmpi-5.0", "allreduce", 8, 8, True, "tuned"),
        ("openmpi-5.0", "allreduce", 8, 1, True, "tuned"),
        ("openmpi-5.0", "allreduce", 1, 1, True, "self"),
        ("openmpi-5.0", "allreduce", 8, 4, False, "tuned"),
        ("openmpi-5.0", "bcast", 8, 4, False, "han"),
        ("openmpi-5.0", "allreduce", 7, 4, True, "han"),
        ("openmpi-5.0", "barrier", 7, 4, True, "han"),
        ("openmpi-5.0", "bcast", 7, 4, True, "tuned"),
        ("openmpi-5.0", "alltoall", 8, 4, True, "tuned"),
        ("openmpi-5.0", "gatherv", 8, 4, True, "basic"),
        ("openmpi-5.0", "iallreduce", 8, 4, True, "libnbc"),
    ],
)
def test_a_call_is_taken_by_the_component_of_the_highest_priority_that_has_it(
    version: str, function: str, ranks: int, ranks_per_node: int, commutes: bool, component: str
) -> None:
    call = situation(function, ranks, 1024, ranks_per_node=ranks_per_node, is_commutative=commutes)
    found = component_for(version, call)
    assert found is not None
    assert (found.name, bool(found.why)) == (component, True)


@pytest.mark.parametrize(
    ("nodes", "collective", "component"),
    [
        ([4, 3], "allreduce", "han"),
        ([4, 3], "broadcast", "tree"),
        ([4, 2, 2], "broadcast", "tree"),
        ([2, 2, 2], "broadcast", "han"),
        ([1, 1, 1], "allreduce", "recursive_doubling"),
    ],
)
def test_nodes_of_a_machine_may_have_different_numbers_of_ranks(
    nodes: list[int], collective: str, component: str
) -> None:
    machine = hocket.Machine.parse(
        'name = "nodes"\n[network]\nmodel = "hockney"\nlatency = "2 us"\nbandwidth = "12 GB/s"\n'
        f'ranks_on_nodes = {nodes}\n[network.local]\nlatency = "0.4 us"\nbandwidth = "8 GB/s"\n'
    )
    call = hocket.Call(ranks=sum(nodes), size_bytes=1024)
    decision = library_decision("openmpi-5.0", collective, call, machine=machine)
    assert (decision.choice or "").startswith(component) and decision.equivalent is not None
    assert hocket.simulate(*decision.equivalent, machine=machine).time_s.mean > 0


@pytest.mark.parametrize("function", CALLS)
def test_a_file_may_choose_every_algorithm_of_tuned_within_han(function: str) -> None:
    call = situation(function, 8, 1 << 16, ranks_per_node=4)
    for own in LIBRARIES["openmpi-5.0"].algorithms[function]:
        rules = Rules("openmpi-5.0", (Rule(function, Choice(own.name)),))
        found = component_for("openmpi-5.0", call, rules)
        assert found is not None and found.choice is not None, own
        collective = collective_of(function)
        assert collective is not None
        assert hocket.choose(f"{collective[0]}: {found.choice}", collective[0], Call(ranks=8, size_bytes=1 << 16)), own
        is_asked = any(each.call.function == function for each in found.inner)
        assert own.hocket is not None or ("stands for" in found.remark) == is_asked, own


def test_other_libraries_have_no_components() -> None:
    assert component_for("ucc-1", situation("allreduce", 8, 8, ranks_per_node=4)) is None
    assert {*PRIORITIES} == {"openmpi-4.1", "openmpi-5.0", "openmpi-6.0"}


@pytest.mark.parametrize(
    ("collective", "size_bytes", "expected"),
    [
        ("allreduce", 8, "reduce tree, shape=binary; ireduce binomial; ibcast linear; bcast tree, shape=binary"),
        ("allreduce", 1 << 20, "reduce binomial; ireduce chain, segment=8192; ibcast linear; bcast linear"),
        ("broadcast", 8, "bcast chain, segment=1099511627776; bcast tree, shape=binary"),
        ("barrier", 0, "barrier linear; barrier recursive_doubling"),
    ],
)
def test_inner_calls_are_decided_by_the_ranks_and_bytes_of_their_communicators(
    collective: str, size_bytes: int, expected: str
) -> None:
    """Two nodes of four ranks: `coll_tuned_decision_fixed.c` for 4 and 2 ranks, `nbc_ireduce.c` for 2."""
    call = Call(ranks=8, size_bytes=size_bytes, element_bytes=4 if collective == "allreduce" else 1)
    decision = library_decision("openmpi-5.0", collective, call, ranks_per_node=4)
    assert str(decision.choice).partition("(")[2] == f"{expected})"


def test_a_last_segment_with_another_choice_is_told() -> None:
    call = Call(ranks=8, size_bytes=100_000)
    decision = library_decision("openmpi-5.0", "allreduce", call, ranks_per_node=4)
    assert "reduce of the last segment, of 33.66 KiB, is chain, segment=" in decision.costs


@pytest.mark.parametrize(("ranks", "ranks_per_node"), [(8, 4), (12, 3), (7, 4), (8, 1)])
def test_rules_for_nodes_choose_what_the_component_runs(ranks: int, ranks_per_node: int) -> None:
    rules = rules_on_nodes("openmpi-5.0", [ranks], ranks_per_node)
    for function in CALLS:
        collective = (collective_of(function) or ("",))[0]
        for size_bytes in (0,) if function == "barrier" else (4, 8, 16, 1000, 4096, 65532, 65536, 100_000, 1 << 20):
            call = Call(ranks=ranks, size_bytes=size_bytes)
            expected = library_decision("openmpi-5.0", collective, call, ranks_per_node=ranks_per_node).equivalent
            chosen = hocket.choose(rules, collective, call)
            assert chosen is not None
            assert expected is not None
            assert hocket.record(*chosen).data["ranks"] == hocket.record(*expected).data["ranks"], (
                function,
                size_bytes,
            )


def test_a_file_decides_on_the_communicators_that_han_makes() -> None:
    rules = Rules("openmpi-5.0", (Rule("reduce", Choice("linear"), ranks=Span(4, 4)), Rule("bcast", None)))
    call = situation("allreduce", 8, 8, ranks_per_node=4)
    with_file, without = (component_for("openmpi-5.0", call, each) for each in (rules, None))
    assert with_file is not None
    assert without is not None
    assert [str(one.choice) for one in with_file.inner] == ["linear", *(str(one.choice) for one in without.inner[1:])]


def test_explain_prints_the_component_and_what_han_runs(
    hocket_command: Callable[..., Ran],
) -> None:
    line = "rules explain openmpi-5.0 --size 1MiB --collective allreduce --ranks 8 --ranks-per-node"
    out = " ".join(hocket_command(f"{line} 4").out.split())
    assert "han takes the call: its priority is 35 (tuned 30), and the ranks are on 2 nodes with 4 ranks each" in out
    assert "ireduce one per node 2 64 KiB libnbc chain, segment=8192" in out
    assert "in Hocket: hierarchical_pipeline, group=4, reduce=binomial, network_reduce=chain" in out
    assert "decides" not in out
    alone = " ".join(hocket_command(f"{line} 8").out.split())
    assert "tuned takes the call: the ranks are on one node; HAN is for several" in alone
    assert "decides" in alone
    (entry,) = hocket_command(f"{line} 4 --json").json
    assert entry["component"]["name"] == "han"
    assert [each["call"]["function"] for each in entry["component"]["inner"]] == [
        "reduce",
        "ireduce",
        "ibcast",
        "bcast",
    ]


def test_replays_take_what_the_library_runs_on_the_nodes_of_the_machine() -> None:
    data = {"comm": 0, "count": 1024, "type": "MPI_FLOAT", "type_bytes": 4, "op": "MPI_SUM", "commutative": True}
    moments = ("MPI_Init", 0.0, {}), ("MPI_Allreduce", 1e-6, data), ("MPI_Finalize", 2e-6, {})
    calls = tuple(traces.Call(name, at_s, at_s, arguments) for name, at_s, arguments in moments)
    world = {0: traces.Communicator((0, 1, 2, 3))}
    ranks = tuple(traces.RankTrace("node", (0.0, 0.0), calls, world) for _ in range(4))
    trace = traces.Trace("one", "by hand", "2026-01-01T00:00:00Z", ranks)
    of_network = "model = 'hockney'\nlatency = '1 us'\nbandwidth = '1 GB/s'"
    machines = {
        count: hocket.Machine.parse(f"name = 'nodes'\n[network]\n{of_network}\nranks_per_node = {count}")
        for count in (1, 2, 4)
    }
    replays = {count: hocket.replay(trace, machine, rules="openmpi-5.0") for count, machine in machines.items()}
    ran = {count: replay.algorithms[0].algorithm for count, replay in replays.items()}
    flat = hocket.choose(hocket.LIBRARY_RULES["openmpi-5.0"], "allreduce", Call(ranks=4, size_bytes=4096))
    assert flat is not None
    assert ran == {1: flat[0].name, 2: "hierarchical_pipeline", 4: flat[0].name}
