"""The space-time picture in text."""

import pytest

import hocket
from hocket.drawing.picture import picture, space_time
from hocket.simulating.simulation import Event

RING_OF_FOUR = """\
rank  1      2      3      4      5      6
0     →1 ←3  →1 ←3  →1 ←3  →1 ←3  →1 ←3  →1 ←3
1     →2 ←0  →2 ←0  →2 ←0  →2 ←0  →2 ←0  →2 ←0
2     →3 ←1  →3 ←1  →3 ←1  →3 ←1  →3 ←1  →3 ←1
3     →0 ←2  →0 ←2  →0 ←2  →0 ←2  →0 ←2  →0 ←2"""


def test_a_ring_passes_on() -> None:
    assert picture(hocket.find("allreduce/ring"), ranks=4) == RING_OF_FOUR


def test_recursive_doubling_exchanges_along_each_bit() -> None:
    rows = picture(hocket.find("allreduce/recursive_doubling"), ranks=4).splitlines()
    assert rows == ["rank  1   2", "0     ↔1  ↔2", "1     ↔0  ↔3", "2     ↔3  ↔0", "3     ↔2  ↔1"]


def test_rounds_that_do_not_fit_go_below() -> None:
    bands = picture(hocket.find("allreduce/ring"), ranks=4, width=30).split("\n\n")
    assert len(bands) == 2
    assert all(len(line) <= 30 for band in bands for line in band.splitlines())
    assert bands[1].splitlines()[0].split() == ["rank", "4", "5", "6"]


def test_several_messages_of_a_round_share_a_cell() -> None:
    sends = [Event(0, "send", peer, 0, 8.0, 0.0, 1.0) for peer in (1, 2, 3, 5)]
    assert space_time(sends, ranks=2, width=80).splitlines()[1:] == ["0     →1-3,5", "1     ·"]


@pytest.mark.parametrize("algorithm", hocket.catalogue(), ids=lambda a: a.label)
def test_every_algorithm_has_a_picture_of_each_rank(algorithm: hocket.Algorithm) -> None:
    rows = picture(algorithm, ranks=8).split("\n\n")[0].splitlines()
    assert [row.split()[0] for row in rows] == ["rank", *map(str, range(8))]
    assert any(arrow in rows[1] for arrow in "→←↔·")
