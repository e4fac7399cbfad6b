"""The study of optical circuits."""

from collections import Counter
from statistics import fmean

import pytest

from hocket import Machine, replay
from hocket.traces import FUNCTIONS, Kind
from hocket_studies import STUDIES
from hocket_studies.optical import RULES, even, trace


def test_the_trace_has_the_calls_of_table_2() -> None:
    for rank in trace().ranks:
        calls = Counter(call.function for call in rank.calls if FUNCTIONS[call.function].kind is Kind.COLLECTIVE)
        assert calls == {"MPI_Alltoall": 8, "MPI_Barrier": 1, "MPI_Bcast": 2, "MPI_Reduce": 6}
        # 256 x 256 x 128 complex numbers, cut into 16 x 16 blocks
        assert {call.size_bytes() for call in rank.calls if call.function == "MPI_Alltoall"} == {2**23 // 256 * 16}


def test_even_computing_is_the_mean_of_all() -> None:
    def computed_s(rank: int, call: int) -> float:
        calls = trace().ranks[rank].calls
        return calls[call].start_s - calls[call - 1].end_s

    levelled = even(trace()).ranks
    assert len({rank.calls[-1].start_s for rank in levelled}) == 1
    first, second = levelled[3].calls[3].end_s, levelled[3].calls[4].start_s
    assert second - first == pytest.approx(fmean(computed_s(rank, 4) for rank in range(16)))


def test_studies_find_the_trace() -> None:
    assert {figure.data for figure in STUDIES["optical"].figures} >= {"table_4", "linear", "binomial"}


def test_the_trace_takes_on_hockney_what_its_calls_take() -> None:
    # A message of n bytes takes 100 us + 8 ns n. Each call has four messages in a row: an Alltoall of 8 blocks of 2^19
    # B, a Reduce of 16 B, Bcasts of 8 and 24 B, an empty Barrier. After a Reduce all ranks wait for rank 0, the last
    # one.
    machine = Machine.parse('name = "h"\n[network]\nmodel = "hockney"\nlatency = "100 us"\nbandwidth = "125 MB/s"\n')
    levelled = even(trace())
    messages = 8 * [8 * 2**19] + 6 * [16] + [8, 24, 0]
    expected_s = levelled.ranks[0].end_s + sum(4 * (1e-4 + 8e-9 * size) for size in messages)
    assert replay(levelled, machine, rules=RULES).time_s.mean == pytest.approx(expected_s, rel=1e-9)
