"""What faults a lab can make."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hocket._native import Error
from hocket.definitions.machine import Machine
from hocket.simulating.faults import changes_of_links
from hocket_lab.gates import Gate, Gates, check, gates
from hocket_lab.laboratory import Lab
from hocket_lab.wiring import Wiring

from .conftest import STAR, TORUS, text

TREE = 'topology = "fat_tree"\ndown = [4, 2]\nup = [1, 2]'


def checked(topology: str, *faults: str) -> None:
    found = Machine.parse(text(topology)).topology
    assert found is not None
    check(changes_of_links(faults, Machine.parse(text(topology))), Wiring.of(found, is_fair=True), 5e6)


@pytest.mark.parametrize(
    ("topology", "fault"),
    [
        (STAR, "link 0 <-> switch, 20..80 ms, down"),
        (STAR, "node 3, 0 ms.., down"),
        (STAR, "node 3, 5..10 ms, 1 %"),
        (TORUS, "node 3, 0..20 ms, 10 %"),
        (TREE, "node 0, 0..20 ms, down"),
    ],
)
def test_a_lab_makes_faults(topology: str, fault: str) -> None:
    checked(topology, fault)


@pytest.mark.parametrize(
    ("topology", "fault", "expected"),
    [
        (STAR, "node 3, 0 ms.., 100 %", "change no link, expected links with less"),
        (STAR, "node 3, 1..80 ms, down", "got a change at 1.000 ms, expected at least 5.000 ms after the start"),
        (STAR, "node 3, 20..23 ms, down", "got a change at 23.00 ms, expected at least 5.000 ms after the start"),
        (STAR, "node 3, 0..20 ms, 0.009 %", "got a link of 450 B/s, expected at least 500 B/s, or down"),
        (TORUS, "link 0 -> 1, 0..20 ms, down", r"got \+x from \(0,0\) down, but there is another way to \(1,0\)"),
        (TREE, "link 8 -> 10, 0..20 ms, down", "there is another way to node"),
    ],
)
def test_a_lab_refuses_faults(topology: str, fault: str, expected: str) -> None:
    with pytest.raises(Error, match=f"^faults: .*{expected}"):
        checked(topology, fault)


def test_a_way_around_may_be_down_as_well() -> None:
    ring = 'topology = "torus"\ndims = [3]'
    first, second = "link 0 -> 1, 10..30 ms, down", "link 0 -> 2, 10..30 ms, down"
    with pytest.raises(Error, match="another way"):
        checked(ring, first)
    with pytest.raises(Error, match="another way"):
        checked(ring, first, second.replace("10..30", "10..40"))
    checked(ring, first, second)


class FakeGate:
    """Notes what it lets pass; fails at 13 %."""

    log: list[tuple[int, float]]

    def __init__(self, lab: Any, link: int) -> None:
        self._link = link

    def let(self, part: float) -> None:
        if part == 0.13:
            raise Error("shaping (TBF): refused")
        self.log.append((self._link, part))

    def close(self) -> None:
        self.let(-1)


@pytest.fixture
def log() -> list[tuple[int, float]]:
    FakeGate.log = []
    return FakeGate.log


@pytest.fixture
def play(log: list[tuple[int, float]]) -> Iterator[Callable[..., Gates]]:
    """Returns gates that make these changes."""
    with ThreadPoolExecutor(1) as executor:

        def make(*changes: tuple[float, int, float]) -> Gates:
            made = {link: cast("Gate", FakeGate(None, link)) for _, link, _ in changes}
            return Gates(changes, made, executor)

        yield make


def wait_for_changes(played: Gates) -> None:
    """Wait until all changes are made, or one has failed."""
    assert played._playing is not None
    played._playing.exception(timeout=60)


def test_a_missed_start_is_told_earlier_until_it_is_too_early(
    play: Callable[..., Gates], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hocket_lab.gates.time", SimpleNamespace(monotonic=lambda: 7.0))
    played = play((10.0, 0, 0.5))

    def lead_s(*, is_missed: bool) -> float:
        found = played.begin() - 7.0
        played.end(is_missed=is_missed)
        return found

    leads_s = [lead_s(is_missed=is_missed) for is_missed in (False, True, True, False, False, False)]
    assert leads_s == pytest.approx([0.05, 0.05, 0.1, 0.2, 0.1, 0.05])
    for _ in range(6):
        lead_s(is_missed=True)
    with pytest.raises(Error, match=r"^faults: ranks missed a start that was told 3\.200 s before, expected"):
        lead_s(is_missed=True)


def test_gates_change_at_their_times_and_open_at_the_end(
    play: Callable[..., Gates], log: list[tuple[int, float]]
) -> None:
    played = play((0.0, 0, 0.5), (0.02, 1, 0.0), (0.03, 0, 0.1))
    start_s = played.begin()
    assert log[:1] == [(0, 0.5)], "changes at 0 s are there before the start"
    wait_for_changes(played)
    assert log == [(0, 0.5), (1, 0.0), (0, 0.1)] and 0 < played.late_s < time.monotonic() - start_s
    played.end(is_missed=False)
    assert log[3:] == [(0, 1.0), (1, 1.0)]


def test_a_sample_that_ends_early_has_no_later_changes(
    play: Callable[..., Gates], log: list[tuple[int, float]]
) -> None:
    played = play((0.0, 0, 0.5), (10.0, 1, 0.0))
    for _ in range(2):
        log.clear()
        begun_s = played.begin()
        played.end(is_missed=False)
        assert time.monotonic() < begun_s + 5
        assert log == [(0, 0.5), (0, 1.0), (1, 1.0)] and played.late_s == 0


def test_a_change_that_fails_ends_the_sample_and_removes_the_gates(
    monkeypatch: pytest.MonkeyPatch, log: list[tuple[int, float]]
) -> None:
    monkeypatch.setattr("hocket_lab.gates.Gate", FakeGate)
    left: list[str] = []
    monkeypatch.setattr("hocket_lab.building.queues", lambda *_: left)
    found = Machine.parse(text(STAR)).topology
    assert found is not None
    wiring = Wiring.of(found, is_fair=True)
    lab = SimpleNamespace(name="star", machine=Machine.parse(text(STAR)), wiring=wiring, rate_bytes_per_s=5e6)
    with pytest.raises(Error, match="shaping"), gates(cast("Lab", lab), "link 0 <-> switch, 20 ms.., 13 %") as played:
        assert played is not None
        played.begin()
        wait_for_changes(played)
        played.end(is_missed=False)
    assert [part for _, part in log] == [1.0, 1.0, -1, -1], "open at 0 s, and removed"
    left.append("node 3")
    for faults in (None, "link 0 <-> switch, 20 ms.., 13 %"):
        with (
            pytest.raises(Error, match=r"^lab star: links of node 3 have a gate .* killed"),
            gates(cast("Lab", lab), faults),
        ):
            raise AssertionError("a gate of another command would be measured")
