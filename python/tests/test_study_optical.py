"""The study of optical circuits."""

from collections import Counter
from statistics import fmean

import pytest

from hocket.studies import STUDIES
from hocket.studies.optical import even, trace
from hocket.traces import FUNCTIONS, Kind


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
