"""NCCL's tables and decisions: what they refuse, how they change with sizes, and how machines say what they need."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket import Error
from hocket.base.call import Call
from hocket.definitions.libraries import BY_MACHINE, defaults_named
from hocket.definitions.machine import Machine
from hocket.rules.nccl.choosing import Decision, decide
from hocket.rules.nccl.defaults import decision_on, hardware_of, rules_on
from hocket.rules.nccl.table import LIBRARY, Graph, Hardware, Job, constants, cost_table
from hocket.rules.tuning_files.counterparts import LIBRARIES
from hocket.rules.tuning_files.deciding import library_decision, switches
from hocket.rules.tuning_files.form import Choice
from hocket.rules.tuning_files.translation import to_hocket

NODE = Graph(12, 30.0, 30.0)
CARDS = Graph(8, 48.0, 48.0)
ONE_NODE = Hardware("hopper", NODE, NODE, NODE)
NODES = Hardware("hopper", CARDS, CARDS, CARDS, has_simple_trees=True)

NETWORK = """name = "m"
[network]
model = "loggp"
L = "4 us"
o = "1 us"
G = "0.02 ns/B"
ranks_per_node = 8
[node.cards]
count = 8
bandwidth = "50 GB/s"
"""
GPU = '[gpu]\ngeneration = "hopper"\nchannels = 12\nchannel_bandwidth = "30 GB/s"\n'
MACHINE = Machine.parse(NETWORK + GPU)


def refusals(job: Job) -> dict[str, str]:
    return {str(each): each.why_not for each in cost_table(job) if each.why_not}


def decided(job: Job, size: int) -> str:
    return str(decide(job, size).entry)


def test_every_table_has_a_row_for_every_key_in_both_versions() -> None:
    keys = {table: {key for other, key in constants("2.27") if other == table} for table, _ in constants("2.27")}
    older = {table: {key for other, key in constants("2.20") if other == table} for table, _ in constants("2.20")}
    new = {table: keys[table] - older.get(table, set()) for table in keys}
    assert {table for table, missing in new.items() if missing - {"pat"}} == {"share", "pat"}
    assert new["share"] == {"pat", "nvls between nodes without two phases"}
    assert all(older[table] <= keys[table] for table in older)


@pytest.mark.parametrize(
    ("job", "line", "why"),
    [
        (Job("allreduce", 8, 1, ONE_NODE), "nvls_tree/simple", "needs 2 nodes and more"),
        (Job("allreduce", 16, 2, NODES), "nvls/simple", "needs a collnet plugin on several nodes"),
        (Job("allreduce", 16, 2, NODES), "collnet_direct/simple", "needs a collnet plugin, which machine files do"),
        (Job("allreduce", 4, 2, NODES), "nvls_tree/simple", "needs 3 ranks and more on each node"),
        (Job("allgather", 16, 2, NODES), "pat/simple", "needs one rank on each node"),
        (Job("allgather", 2, 2, NODES, "2.20"), "pat/simple", "NCCL 2.20 does not have it"),
        (
            Job("allreduce", 8, 1, replace(ONE_NODE, generation="ampere")),
            "nvls/simple",
            "needs hopper or later, the machine has ampere",
        ),
        (Job("allreduce", 8, 1, replace(ONE_NODE, links="nvlink")), "nvls/simple", "needs NVLink switches"),
        (Job("allreduce", 8, 1, replace(ONE_NODE, links="pcie")), "ring/ll128", "needs NVLink within a node"),
        (Job("allreduce", 16, 2, replace(NODES, has_near_cards=False)), "tree/ll128", "needs network cards that"),
        (
            Job("allreduce", 8, 1, replace(ONE_NODE, generation="blackwell"), "2.20"),
            "ring/ll128",
            "NCCL 2.20 does not take it on blackwell",
        ),
    ],
)
def test_what_nccl_does_not_take_is_refused_by_name(job: Job, line: str, why: str) -> None:
    assert refusals(job)[line].startswith(why)
    assert all(decided(job, 1 << power) != line for power in range(0, 34, 3))


def test_broadcasts_and_reductions_have_rings_alone() -> None:
    assert {each.algorithm for each in cost_table(Job("bcast", 8, 1, ONE_NODE))} == {"ring"}
    assert not list(cost_table(Job("alltoall", 8, 1, ONE_NODE)))


def test_on_several_nodes_of_amd_processors_ll_is_slower_within_limits() -> None:
    job = Job("allreduce", 16, 2, NODES)
    amd = replace(job, hardware=replace(NODES, processor="amd"))
    rates = [next(each.bandwidth_gb_s for each in cost_table(one) if str(each) == "ring/ll") for one in (job, amd)]
    assert rates == [pytest.approx(39 * 16 / 30), pytest.approx(22.5 * 16 / 30)]


@pytest.mark.parametrize(
    ("job", "channels"),
    [
        (Job("allreduce", 8, 1, ONE_NODE), 24),
        (Job("allreduce", 16, 2, NODES), 16),
        (Job("allreduce", 16, 2, replace(NODES, ring=Graph(4, 48.0, 48.0))), 16),
        (Job("allreduce", 16, 2, replace(NODES, ring=Graph(4, 24.0, 24.0))), 8),
        (Job("allreduce", 8, 1, replace(ONE_NODE, ring=Graph(24, 15.0, 15.0)), "2.20"), 32),
    ],
)
def test_channels_are_doubled(job: Job, channels: int) -> None:
    assert job.channels == channels


def test_small_calls_have_fewer_channels_and_threads() -> None:
    job = Job("allreduce", 8, 1, ONE_NODE)
    shared = [(one.channels, one.threads) for one in (decide(job, size) for size in (4, 4096, 1 << 17, 1 << 20))]
    assert shared == [(1, 96), (1, 96), (4, 512), (24, 512)]
    assert decide(job, 1 << 30).channels == 16
    assert decide(Job("allreduce", 16, 2, NODES), 1 << 10).threads == 640
    assert decide(replace(job, hardware=replace(ONE_NODE, nvls=None)), 1 << 32).threads == 544


def test_rings_as_slow_as_a_port_have_half_of_the_threads() -> None:
    slow = Graph(2, 6.0, 6.0)
    job = Job("allreduce", 4, 1, Hardware("ampere", slow, slow, links="pcie"))
    assert (decide(job, 1 << 30).entry.algorithm, decide(job, 1 << 30).threads) == ("ring", 288)


def test_a_decision_says_what_comes_next_and_what_is_not_taken() -> None:
    sentence = decide(Job("allreduce", 16, 2, NODES), 1 << 20).sentence
    assert sentence == (
        "nvls_tree/simple with 16 channels, 56.28 us by NCCL's table; tree/ll128 62.51 us; ring/ll128 81.90 us; "
        "not nvls, which needs a collnet plugin on several nodes"
    )


def alternatives_in_order(decision: Decision) -> bool:
    times = [each.time_us for each in decision.alternatives]
    return times == sorted(times) and decision.time_us == times[0]


@given(
    st.sampled_from(sorted(LIBRARIES[LIBRARY].measures)),
    st.integers(2, 64),
    st.integers(0, 1 << 36),
)
def test_rules_decide_as_the_table_does(function: str, ranks: int, size: int) -> None:
    rules = [rule for rule in rules_on(MACHINE, ranks).of(function) if size in rule.sizes]
    nodes = -(-ranks // 8)
    decision = decide(Job(function, ranks, nodes, hardware_of(MACHINE, ranks, nodes)), size)
    assert [rule.choice for rule in rules] == [
        Choice(decision.entry.algorithm, (("protocol", decision.entry.protocol),))
    ]
    assert alternatives_in_order(decision)


def test_a_machine_says_the_channels_of_a_node_and_its_cards_those_between_nodes() -> None:
    one, several = hardware_of(MACHINE, 8, 1), hardware_of(MACHINE, 32, 4)
    assert (one.ring, one.has_simple_trees, one.has_one_order) == (NODE, False, True)
    assert (several.ring, several.has_simple_trees, several.has_one_order) == (Graph(8, 45.0, 45.0), True, False)
    keys = 'network_channels = 4\nnetwork_channel_bandwidth = "24 GB/s"\nlinks = "nvlink"\nprocessor = "amd"\n'
    own = hardware_of(Machine.parse(NETWORK + GPU + keys), 32, 4)
    assert (own.ring, own.links, own.processor) == (Graph(4, 24.0, 24.0), "nvlink", "amd")


@pytest.mark.parametrize(
    ("text", "function", "ranks", "message"),
    [
        (NETWORK, "allreduce", 8, "m.toml: section [gpu] is missing, by which nccl-2 decides"),
        (NETWORK.partition("[node")[0] + GPU, "allreduce", 16, "m.toml: gpu: nccl-2 decides for several nodes by"),
        (NETWORK + GPU, "alltoall", 8, "nccl-2 does not have alltoall, expected allgather, allreduce, bcast"),
        (NETWORK + GPU, "allreduce", 1, "ranks: got 1, for which nccl-2 decides nothing, expected at least 2"),
    ],
)
def test_what_cannot_be_decided_is_refused_in_one_line(text: str, function: str, ranks: int, message: str) -> None:
    with pytest.raises(Error) as caught:
        decision_on(Machine.parse(text, "m.toml"), function, ranks, 8)
    assert str(caught.value).startswith(message)


def test_an_allgather_is_decided_by_all_blocks_together() -> None:
    assert decision_on(MACHINE, "allgather", 8, 100).time_us == decide(Job("allgather", 8, 1, ONE_NODE), 800).time_us
    sizes = switches(LIBRARY, "allgather", Call(ranks=8, size_bytes=1), machine=MACHINE)
    totals = sorted({rule.sizes.first for rule in rules_on(MACHINE, 8).of("allgather")} - {0})
    assert sizes == tuple(-(-total // 8) for total in totals)


def test_a_decision_becomes_hockets_algorithm_where_the_catalogue_has_one() -> None:
    ring = library_decision(LIBRARY, "allreduce", Call(ranks=8, size_bytes=1024), machine=MACHINE)
    assert ring.choice == "ring, protocol=ll, channels=1"
    assert ring.equivalent is not None
    assert ring.equivalent[0].name == "ring"
    unknown = library_decision(LIBRARY, "allreduce", Call(ranks=8, size_bytes=1024))
    assert (unknown.choice, unknown.sentence) == (None, "its choice depends on the machine")
    elsewhere = library_decision(LIBRARY, "allreduce", Call(ranks=8, size_bytes=8), machine=Machine.load("cluster"))
    assert elsewhere.sentence == "cluster.toml: section [gpu] is missing, by which nccl-2 decides"


@pytest.mark.parametrize(
    ("theirs", "channels", "ours"),
    [
        ("tree", 4, "double_tree, channels=4"),
        ("nvls", 16, "nvls"),
        ("nvls_tree", 16, "nvls_tree"),
        ("ring", 8, "multi_ring, channels=8"),
        ("ring", 1, "ring"),
        ("ring", 0, "multi_ring"),
    ],
)
def test_counterparts_run_in_as_many_channels(theirs: str, channels: int, ours: str) -> None:
    choice = Choice(theirs, (("protocol", "simple"), ("channels", channels)))
    assert str(to_hocket("allreduce", choice, LIBRARY).choice) == ours


@pytest.mark.parametrize("collective", ["allgather", "reduce_scatter"])
def test_rings_leave_a_node_of_eight_by_eight_cards(collective: str) -> None:
    """NCCL's choice is simulated with the nodes of the machine as groups: no faster call has its channels."""
    call, machine = Call(ranks=16, size_bytes=1 << 30), Machine.load("dgx-a100-2")
    decision = library_decision(LIBRARY, collective, call, machine=machine)
    assert decision.choice == "ring, protocol=simple, channels=16"
    assert decision.equivalent is not None
    algorithm, ours = decision.equivalent
    assert (algorithm.name, ours.parameters["channels"], "group" in ours.parameters) == ("multi_ring", 16, False)


def test_defaults_are_named_with_or_without_the_version() -> None:
    assert defaults_named("nccl,nccl-2") == BY_MACHINE
    with pytest.raises(Error, match="unknown defaults"):
        defaults_named("ncl")
