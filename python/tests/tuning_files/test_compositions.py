"""MPICH's compositions: explained, and found where they get communicators that they are not for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import hocket
from hocket.base.units import format_choice
from hocket.measurements.measurement import Measurement
from hocket.rules.tuning_files.checking import findings
from hocket.rules.tuning_files.compositions import COMPOSITIONS, remark
from hocket.rules.tuning_files.deciding import deciding_rule, library_decision, situation, switches
from hocket.rules.tuning_files.form import Rules
from hocket.rules.tuning_files.formats import FORMATS
from hocket.rules.tuning_files.hocket_rules import of_function
from hocket.simulating.library_rules import rules_on_nodes
from tests.conftest import Ran


def tree(*questions: str, leaf: str = "MPIDI_Allreduce_intra_composition_gamma") -> str:
    """Return a tree whose first answers lead to a composition, and all others to that of the network."""
    network = {"composition=MPIDI_Allreduce_intra_composition_beta": {}}
    inner: dict[str, object] = {f"composition={leaf}": {}}
    for question in reversed(questions):
        inner = {question: inner, f"{question.split('=')[0]}=any": network}
    return json.dumps({"collective=allreduce": {"comm_type=intra": inner}}, indent=1)


def read(text: str) -> Rules:
    return FORMATS["mpich-5.0"].read(text, "device")


@pytest.mark.parametrize(
    ("questions", "leaf", "line"),
    [
        ((), "gamma", 4),
        (("comm_hierarchy=parent",), "gamma", 5),
        (("comm_size=node_comm_size",), "gamma", None),
        ((), "alpha", 4),
        (("comm_hierarchy=parent",), "alpha", None),
        ((), "beta", None),
        ((), "delta", None),
    ],
)
def test_a_composition_for_some_communicators_must_not_get_others(
    questions: tuple[str, ...], leaf: str, line: int | None
) -> None:
    found = findings(read(tree(*questions, leaf=f"MPIDI_Allreduce_intra_composition_{leaf}")), "mpich-5.0")
    assert [(one.line, one.kind) for one in found] == ([] if line is None else [(line, "wrong communicator")])
    if leaf == "gamma" and found:
        assert found[0].sentence.endswith("expected comm_size=node_comm_size before it")


def test_an_unknown_composition_is_found() -> None:
    found = findings(read(tree(leaf="MPIDI_Allreduce_intra_composition_omega")), "mpich-5.0")
    assert [one.kind for one in found] == ["unknown algorithm"]


@pytest.mark.parametrize(("per_node", "fails"), [(8, False), (4, True), (1, True)])
def test_what_happens_on_several_nodes_is_explained(per_node: int, fails: bool) -> None:
    call = situation("allreduce", 8, 1024, ranks_per_node=per_node)
    said = remark(deciding_rule(read(tree()), call), call)
    assert said.startswith("all processes by shared memory alone, on one node")
    assert ("an assertion ends the program" in said) == fails


def test_the_guard_of_mpich_sends_other_communicators_on() -> None:
    rules = read(tree("comm_size=node_comm_size"))
    chosen = {}
    for per_node in (8, 4):
        rule = deciding_rule(rules, situation("allreduce", 8, 1024, ranks_per_node=per_node))
        chosen[per_node] = str(rule.choice)[-5:] if rule else None
    assert chosen == {8: "gamma", 4: "_beta"}


def test_compositions_are_not_written() -> None:
    rules = read(tree())
    with pytest.raises(hocket.Error, match=r"^allreduce: MPIDI_Allreduce_.*gamma belongs to MPICH's device"):
        FORMATS["mpich-5.0"].write(rules)
    assert all(each.what and bool(each.needs) == bool(each.otherwise) for each in COMPOSITIONS.values())


def test_the_command_says_it(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    file = tmp_path / "device.mpich-5.0.json"
    file.write_text(tree())
    out = " ".join(hocket_command(f"rules explain {file} --ranks 8 --ranks-per-node 4").out.split())
    assert "on several nodes, processes cannot open the memory of another node" in out
    told = hocket_command(f"rules explain {file} --ranks 8 --ranks-per-node 8 --json").json
    assert told[0]["remark"] == "all processes by shared memory alone, on one node"
    assert hocket_command(f"rules lint {file}").status == 1


NODES = """
name = "nodes"
[network]
model = "hockney"
latency = "2 us"
bandwidth = "12 GB/s"
ranks_on_nodes = [4, 4, 2]
[network.local]
latency = "0.4 us"
bandwidth = "8 GB/s"
"""


@pytest.mark.parametrize(
    ("collective", "size_bytes", "composition", "algorithm"),
    [
        ("allreduce", 8, "alpha", "hierarchical reduce=binomial network=recursive_doubling broadcast=binomial"),
        ("allreduce", 12, "alpha", "hierarchical reduce=binomial network=rabenseifner broadcast=binomial"),
        ("broadcast", 12287, "alpha", "hierarchical network=binomial local=binomial"),
        ("broadcast", 12288, None, "binomial"),
        ("broadcast", 12289, None, "scatter_ring_allgather"),
        ("reduce", 2048, "beta", "hierarchical local=binomial network=binomial"),
        ("reduce", 2052, "alpha", "hierarchical local=binomial network=rabenseifner"),
        ("barrier", 0, "alpha", "hierarchical local=binomial network=dissemination"),
        ("scan", 8, "alpha", "hierarchical scan=recursive_doubling network=recursive_doubling broadcast=binomial"),
        ("allgather", 8, None, "bruck"),
    ],
)
def test_the_trees_of_mpich_decide_on_nodes_in_their_order(
    collective: str, size_bytes: int, composition: str | None, algorithm: str
) -> None:
    """The device's tree comes first; the lower one sees the three first ranks of the nodes, or all ten ranks."""
    machine = hocket.Machine.parse(NODES)
    own = library_decision("mpich-5.0", collective, hocket.Call(ranks=10, size_bytes=size_bytes), machine=machine)
    assert own.choice is not None and own.equivalent is not None
    found, call = own.equivalent
    assert format_choice(found.name, call.parameters.items()) == algorithm
    begin = f"MPICH's device MPIDI_{of_function(collective).capitalize()}_intra_composition_"
    assert own.choice.startswith(f"{begin}{composition} (" if composition else "MPIR_")
    assert ("binomial stands for MPIDI_POSIX_mpi_" in own.costs) == bool(composition)
    assert hocket.simulate(found, call, machine=machine).time_s.mean > 0


@pytest.mark.parametrize(
    ("collective", "commutative", "algorithm"),
    [
        ("allreduce", True, "reduce_broadcast"),
        ("allreduce", False, "rabenseifner"),
        ("broadcast", True, "binomial"),
        ("reduce", True, "binomial"),
        ("barrier", True, "binomial"),
        ("allgather", True, "recursive_doubling"),
    ],
)
def test_on_one_node_mpich_takes_shared_memory(collective: str, commutative: bool, algorithm: str) -> None:
    call = hocket.Call(ranks=4, size_bytes=0 if collective == "barrier" else 4096, commutative=commutative)
    own = library_decision("mpich-5.0", collective, call, ranks_per_node=4)
    assert own.equivalent is not None and own.equivalent[0].name == algorithm
    assert bool(own.costs) == (collective != "allgather" and commutative)


def test_the_sizes_at_which_mpich_switches_are_those_of_the_tree_that_decides() -> None:
    call = hocket.Call(ranks=16, size_bytes=0)
    sizes = {
        per_node: switches("mpich-5.0", "broadcast", call, machine=machine_of(per_node)) for per_node in (1, 4, 16)
    }
    assert sizes == {1: (12289, 524289), 4: (12288, 524288, 524289), 16: (12288, 524288, 524289)}
    of_all = {
        name: switches("mpich-5.0", name, call, machine=machine_of(4)) for name in ("allreduce", "reduce", "scan")
    }
    assert of_all == {"allreduce": (4, 16), "reduce": (2052,), "scan": ()}


@pytest.mark.parametrize(("ranks", "per_node"), [(8, 4), (12, 4), (10, 2), (8, 8), (9, 1)])
def test_rules_for_ranks_on_nodes_choose_what_mpich_does(ranks: int, per_node: int) -> None:
    rules = rules_on_nodes("mpich-5.0", [ranks], per_node)
    for collective in ("allreduce", "broadcast", "reduce", "barrier", "allgather"):
        for size_bytes in (0,) if collective == "barrier" else (4, 8, 12, 2048, 2052, 12284, 12288, 1 << 19, 1 << 20):
            call = hocket.Call(ranks=ranks, size_bytes=size_bytes)
            own = library_decision("mpich-5.0", collective, call, ranks_per_node=per_node).equivalent
            chosen = hocket.choose(rules, collective, call)
            assert own is not None and chosen is not None
            assert chosen[0].name == own[0].name and own[1].parameters.items() <= chosen[1].parameters.items(), call


def machine_of(per_node: int) -> hocket.Machine:
    return hocket.Machine.parse(NODES.replace("ranks_on_nodes = [4, 4, 2]", f"ranks_per_node = {per_node}"))


def test_times_and_judgements_are_of_what_mpich_runs_on_nodes() -> None:
    machine = machine_of(4)
    osu = "# OSU MPI Allreduce Latency Test\n# Size       Avg Latency(us)\n8             20.0\n65536        120.0\n"
    (curve,) = hocket.judge(osu, machine=machine, ranks=16, library="mpich-5.0").curves
    said = [one.sentence for one in curve.findings if "mpich-5.0 chooses" in one.sentence]
    assert len(said) == 2 and all("MPIDI_Allreduce_intra_composition_alpha (" in one for one in said)
    call = {"collective": "allreduce", "algorithm": "mpich-5.0", "ranks": 16, "element_bytes": 8}
    known = [Measurement(**call, size_bytes=size, time_s=1e-4) for size in (64, 512, 4096)]
    assert {cell.algorithm for cell in hocket.fit(known, machine=machine).cells} == {"hierarchical"}


def test_every_door_knows_what_mpich_runs_on_nodes(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    (machine := tmp_path / "nodes.toml").write_text(NODES)
    out = hocket_command(f"compare allreduce --ranks 10 --sizes 64KiB --machine {machine} --defaults-of mpich").out
    assert "MPIDI_Allreduce_intra_composition_alpha" in out and "binomial stands for MPIDI_" in " ".join(out.split())
    words = "rules explain mpich-5.0 --ranks 10 --ranks-per-node 4 --size 64KiB --collective"
    out = " ".join(hocket_command(f"{words} allreduce").out.split())
    assert "MPICH's device takes the call: line 44 of its tree names MPIDI_Allreduce_intra_composition_alpha" in out
    assert "allreduce one per node 3 64 KiB lower tree rabenseifner" in out
    assert "in Hocket: hierarchical, reduce=binomial, network=rabenseifner, broadcast=binomial, group=4" in out
    (told,) = hocket_command(f"{words} reduce --json").json
    component = told["component"]
    assert component["algorithm"] == "MPIDI_Reduce_intra_composition_alpha"
    assert [(one["call"]["is_within"], one["ranks"], one["component"]) for one in component["inner"]] == [
        (True, 4, "shared memory"),
        (False, 3, "lower tree"),
    ]
    out = " ".join(hocket_command(f"{words} allgather").out.split())
    assert "line 124 of its tree names MPIDI_Allgather_intra_composition_beta" in out
    assert "line 118, for 655360 bytes" in out


def test_the_table_for_shared_memory_that_mpich_ships_is_right() -> None:
    """`maint/tuning/coll/ch4/posix_generic.json` of MPICH 5.0, whose algorithms are for the processes of a node."""
    shipped = {
        f"collective={name}": {"comm_type=intra": {f"algorithm=MPIDI_POSIX_mpi_{name}_release_gather": {}}}
        for name in ("bcast", "barrier", "allreduce", "reduce")
    }
    rules = read(json.dumps(shipped))
    assert findings(rules, "mpich-5.0") == ()
    call = situation("bcast", 8, 64, ranks_per_node=8)
    assert remark(deciding_rule(rules, call), call) == "the processes of a node, by a segment of shared memory"
