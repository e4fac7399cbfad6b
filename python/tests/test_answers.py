"""The short answer of a comparison."""

from collections.abc import Callable, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket
from hocket.rules.tuning_files.counterparts import programs_of_libraries
from hocket.simulating.comparison import Use, fewest_changes
from tests.conftest import Ran

SIZES = "8B..16MiB:4"


@pytest.mark.parametrize("machine", ["cluster", "loggp-infiniband", "dual-socket"])
@pytest.mark.parametrize("collective", ["allreduce", "broadcast"])
def test_every_size_has_one_algorithm_that_is_fast_enough(machine: str, collective: str) -> None:
    compared = hocket.compare(collective, ranks=16, sizes=SIZES, machine=machine, first_places=3)
    changes = []
    for within in (0.0, 0.05, 0.5):
        uses = compared.answer(within=within)
        assert [size for use in uses for size in use.parameters] == sorted(compared.sizes_bytes)
        for use in uses:
            for size in use.parameters:
                least_s = min(compared.times_s[size, name] for name in compared.fastest(size))
                assert compared.times_s[size, use.algorithm] <= least_s * (1 + use.slower) * (1 + 1e-9)
            assert use.slower <= within + 1e-9
        assert all(one.algorithm != other.algorithm for one, other in pairwise(uses))
        changes.append(len(uses))
    assert changes == sorted(changes, reverse=True)


_NAMES = ("recursive_doubling", "multi_lane", "bine", "rabenseifner")


@given(st.lists(st.dictionaries(st.sampled_from(_NAMES), st.sampled_from((0.0, 0.01)), min_size=1), max_size=5))
def test_no_answer_is_shorter_or_preferred(choices: list[dict[str, float]]) -> None:
    of_libraries = programs_of_libraries("allreduce")

    def costs(names: Sequence[str]) -> tuple[float, ...]:
        changes = sum(one != other for one, other in pairwise(names))
        uncommon = sum(name not in of_libraries for name in names)
        parameters = sum(len(hocket.find(f"allreduce/{name}").parameters) for name in names)
        shares = sum(choice[name] for choice, name in zip(choices, names, strict=True))
        return changes, uncommon, parameters, round(shares, 9)

    assert costs(fewest_changes(choices, "allreduce")) == min(map(costs, product(*choices)))


@pytest.mark.parametrize("within", [-0.01, 1, "5%", float("nan")])
def test_a_tolerance_that_is_no_share_is_refused(within: Any) -> None:
    found = hocket.compare("allreduce", ranks=4, sizes=8)
    with pytest.raises(hocket.Error, match="a share"):
        found.answer(within=within)


def test_of_equal_algorithms_it_takes_one_that_libraries_have() -> None:
    compared = hocket.compare("allreduce", ranks=16, sizes=8, first_places=3)
    assert {"bine", "recursive_doubling"} <= {*compared.fastest(8)}
    assert compared.answer() == (Use("recursive_doubling", 8, 8, 0.0, {8: {}}),)


def test_it_names_values_that_cut_messages_otherwise_than_the_defaults() -> None:
    whole = hocket.compare(
        ["broadcast/chain"], [hocket.Call(ranks=4, size_bytes=1 << 20, parameters={"segment": 1 << 20})]
    )
    assert whole.answer()[0].parameters == {1 << 20: {"segment": 1 << 20}}  # the default makes 16 pieces
    small = hocket.compare(["broadcast/chain"], [hocket.Call(ranks=4, size_bytes=64, parameters={"segment": 64})])
    assert small.answer()[0].parameters == {64: {}}
    paced = hocket.compare(["alltoall/bruck"], ranks=4, sizes=64).answer()[0].parameters
    assert "gap" not in paced[64]


def test_of_a_program_of_the_user_it_names_all_values() -> None:
    @hocket.algorithm("broadcast", parameters=[hocket.Parameter("cut", "bytes", default=4096)])
    def mine(r: hocket.typing.Rank, c: hocket.typing.Call) -> hocket.typing.Steps:
        if r.rank == c.root:
            yield r.join(*(r.send(peer, c.result(r)) for peer in range(r.size) if peer != c.root))
        else:
            yield r.recv(c.root, c.result(r))

    (use,) = hocket.compare([mine], ranks=2, sizes=8).answer()
    assert (use.algorithm, use.parameters) == ("mine", {8: {"cut": 4096}})


def test_rules_are_the_answer(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    line = "compare allreduce --ranks 16 --sizes 8B..16MiB:4 --machine cluster"
    ran = hocket_command(f"{line} --within 0.1% --rules {tmp_path}/answer.rules")
    assert "within" not in ran.out.partition(" size ")[0]
    text = (tmp_path / "answer.rules").read_text()
    assert text.startswith("# By hocket compare") and f"rules: {tmp_path}/answer.rules" in ran.out
    for size, name in (("8B", "recursive_doubling"), ("16MiB", "rabenseifner")):
        assert f"{name}: line" in hocket_command(f"rules explain {tmp_path}/answer.rules --ranks 16 --size {size}").out
    few = hocket_command(f"{line} --within 60%").out.splitlines()
    assert few[1].count(",") < ran.out.splitlines()[1].count(",")


@pytest.mark.parametrize(
    ("option", "sentence"),
    [("--within 5", "--within"), ("--within -1%", "--within"), ("--rules . ", "--rules"), ("--rules a --plot a", "a")],
)
def test_bad_options_are_one_line(hocket_command: Callable[..., Ran], option: str, sentence: str) -> None:
    ran = hocket_command(f"compare allreduce ring --ranks 4 --sizes 8B {option}")
    assert ran.status == 2 and sentence in ran.err and ran.err.count("\n") <= 2
