"""Quantities as text."""

import pytest

from hocket import Error
from hocket.base import units


@pytest.mark.parametrize(
    ("time_s", "text"),
    [
        (0.0, "0 s"),
        (6.01e-6, "6.010 us"),
        (999.94e-6, "999.9 us"),
        (999.96e-6, "1.000 ms"),
        (1.0, "1.000 s"),
        (12345.6, "12346 s"),
        (3e-9, "3.000 ns"),
        (5e-13, "0.5000 ps"),
    ],
)
def test_times_have_four_digits_and_a_unit(time_s: float, text: str) -> None:
    assert units.format_time(time_s) == text


def test_one_is_no_plural() -> None:
    assert [units.format_count(count, "call") for count in (0, 1, 2)] == ["0 calls", "1 call", "2 calls"]
    assert [units.format_count(count, "switch") for count in (1, 2)] == ["1 switch", "2 switches"]


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (8, "8 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (64 << 20, "64 MiB"),
        (3 << 40, "3 TiB"),
    ],
)
def test_sizes_have_a_unit(size_bytes: int, text: str) -> None:
    assert units.format_bytes(size_bytes) == text
    assert size_bytes < 1024 or units.parse_bytes(text) == size_bytes


@pytest.mark.parametrize(
    ("text", "counts"),
    [("7", (7,)), ("1-4", (1, 2, 3, 4)), ("1-3,2,16", (1, 2, 3, 16)), ("32,1-2", (1, 2, 32))],
)
def test_rank_counts_are_ranges_and_lists(text: str, counts: tuple[int, ...]) -> None:
    assert units.parse_ranks(text) == counts


@pytest.mark.parametrize("text", ["", "0", "0-4", "4-1", "1-", "-3", "a", "1,,2", "1-4-6", "1-9999999999", "9" * 5000])
def test_what_is_no_rank_count_is_refused_in_a_line(text: str) -> None:
    with pytest.raises(Error, match="expected") as refusal:
        units.parse_ranks(text)
    assert "\n" not in str(refusal.value)


def test_waits_are_in_minutes_and_hours_too() -> None:
    texts = ("90s", "30m", "1.5 h", "2 min", "0s", "5 ms")
    assert [units.parse_duration(text) for text in texts] == [90, 1800, 5400, 120, 0, 0.005]
    for text in ("", "m", "-3m", "3 x", "1.2.3h"):
        with pytest.raises(Error, match="expected a time such as 90s, 30m or 2h"):
            units.parse_duration(text)


def test_rank_counts_are_printed_as_they_are_read() -> None:
    assert units.format_ranks([16, 1, 2, 3, 5]) == "1-3, 5, 16"


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("8B", (8,)),
        ("8B..64B", (8, 16, 32, 64)),
        ("8B..100B", (8, 16, 32, 64, 100)),
        ("8B..4MiB:32", (8, 256, 8192, 262144, 4194304)),
        ("1KiB..64KiB:4", (1024, 4096, 16384, 65536)),
        ("1KiB,8B", (8, 1024)),
        ("0,8B..16B", (0, 8, 16)),
    ],
)
def test_sizes_are_ranges_and_lists(text: str, sizes: tuple[int, ...]) -> None:
    assert units.parse_sizes(text) == sizes


@pytest.mark.parametrize("text", ["", "8X", "8B..", "64B..8B", "0B..8B", "8B..64B:1", "8B..64B:x", "8B:4", "8B..64B:"])
def test_what_is_no_size_is_refused_in_a_line(text: str) -> None:
    with pytest.raises(Error, match="expected"):
        units.parse_sizes(text)


@pytest.mark.parametrize(
    ("time_s", "text"),
    [
        (0.4, "0 seconds"),
        (119, "119 seconds"),
        (600, "10 minutes"),
        (7200, "2 hours"),
        (4e5, "5 days"),
        (1e11, "3,169 years"),
    ],
)
def test_a_duration_has_whole_units(time_s: float, text: str) -> None:
    assert units.format_duration(time_s) == text
