"""MPICH's compositions: explained, and found where they get communicators that they are not for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import hocket
from hocket.rules.tuning_files.checking import findings
from hocket.rules.tuning_files.compositions import COMPOSITIONS, remark
from hocket.rules.tuning_files.deciding import deciding_rule, situation
from hocket.rules.tuning_files.form import Rules
from hocket.rules.tuning_files.formats import FORMATS
from tests.conftest import Ran


def tree(*questions: str, leaf: str = "MPIDI_Allreduce_intra_composition_gamma") -> str:
    """Return a tree whose first answers lead to a composition, and all others to that of the network."""
    network = {"composition=MPIDI_Allreduce_intra_composition_beta": {}}
    inner: dict[str, object] = {f"composition={leaf}": {}}
    for question in reversed(questions):
        inner = {question: inner, f"{question.split('=')[0]}=any": network}
    return json.dumps({"collective=allreduce": {"comm_type=intra": inner}}, indent=1)


def read(text: str) -> Rules:
    reader = FORMATS["mpich-5.0"].read
    assert reader is not None
    return reader(text, "device")


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
