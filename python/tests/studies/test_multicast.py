"""Dynamic multicast in virtual time, and its study."""

import pytest

from hocket import Error, simulate_multicast
from hocket_studies.multicast import DOUBLING, RANKS, RING, TREE, group, machine

FLAT = """name = "flat"
[network]
model = "hockney"
latency = "1 us"
bandwidth = "1 GB/s"
protocol = "eager"
"""
ALPHA, BETA = 1e-6, 1e-9


def header_bytes(ranks: int, told: int) -> int:
    return 32 + -(-ranks // 8) + 4 * told


def test_a_short_message_goes_with_its_headers(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("machines") / "flat.toml"
    path.write_text(FLAT)
    found = simulate_multicast([[1, 2]], 100, ranks=3, machine=str(path))
    sizes = [100 + header_bytes(3, told) for told in (2, 1)]
    assert found.time_s == pytest.approx(2 * ALPHA + sum(sizes) * BETA)
    assert (found.messages, found.message_bytes) == (2, sum(sizes))
    acknowledged = simulate_multicast([[1, 2]], 100, ranks=3, machine=str(path), way="acknowledged")
    assert acknowledged.time_s == pytest.approx(found.time_s + 2 * ALPHA)


def test_a_master_that_is_the_first_member_sends_nothing_to_itself() -> None:
    assert simulate_multicast([[0]], 100_000, ranks=4, machine="cluster", way="acknowledged").messages == 0
    assert simulate_multicast([[0, 3]], 100_000, ranks=4, machine="cluster").messages == 2


def test_several_in_flight_take_less_than_one_after_another() -> None:
    groups = [group(16), list(range(3, RANKS, 9))]
    groups[0] = [rank + 1 for rank in groups[0]]
    both = simulate_multicast(groups, 80_000, ranks=RANKS, machine=machine(1.0), algorithm=RING, way="acknowledged")
    each = [
        simulate_multicast([one], 80_000, ranks=RANKS, machine=machine(1.0), algorithm=RING, way="acknowledged")
        for one in groups
    ]
    assert both.time_s < sum(one.time_s for one in each)
    assert both.messages == sum(one.messages for one in each)


def test_the_switch_of_the_simulated_rules_is_where_the_tree_begins_to_lose() -> None:
    def times(size: int, *algorithms: str) -> list[float]:
        of = machine(4.3)
        return [simulate_multicast([group(32)], size, ranks=RANKS, machine=of, algorithm=a).time_s for a in algorithms]

    tree, doubling = times(1 << 16, TREE, DOUBLING)
    assert tree < doubling
    tree, doubling, double_tree = times(1 << 18, TREE, DOUBLING, "double_tree")
    assert doubling < min(tree, double_tree)
    doubling, double_tree = times(1 << 20, DOUBLING, "double_tree")
    assert double_tree < doubling


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"groups": [[2, 1]]}, "group: got [2, 1], expected ascending ranks below 4"),
        ({"groups": [[4]]}, "group: got [4], expected ascending ranks below 4"),
        ({"groups": [[]]}, "group: got [], expected ascending ranks below 4"),
        ({"way": "post"}, 'unknown way "post", expected one of multicast, acknowledged, static, created'),
        ({"way": "created"}, "group: got first rank 1, expected the master, 0, which is the root of the communicator"),
        ({"master": 4}, "master: got 4, expected a rank below 4"),
        ({"algorithm": "no_such"}, 'unknown broadcast algorithm "no_such", expected one of '),
    ],
)
def test_what_makes_no_sense_is_refused(change: dict[str, object], expected: str) -> None:
    given: dict[str, object] = {"groups": [[1, 2]], "size_bytes": 8, "ranks": 4, "machine": "cluster", **change}
    with pytest.raises(Error) as caught:
        simulate_multicast(**given)  # type: ignore[arg-type]
    assert str(caught.value).startswith(expected)
