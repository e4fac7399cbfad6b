"""Reading and formatting quantities; the program itself uses SI units."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from hocket import _native
from hocket._native import Error

parse_bytes = _native.parse_bytes
parse_bytes_per_s = _native.parse_bytes_per_s
parse_duration = _native.parse_duration
parse_time = _native.parse_time

TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
"""Times, each with its name, the longest first."""
_SIZES = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
RATES = ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s"))
"""Rates, each with its name, the largest first."""

_DURATIONS = ((3.156e7, "years"), (86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))
_ROUNDS_UP = 0.99995  # of a unit: above this, four digits round up to one unit
_MOST_RANK_COUNTS = 100_000
_MOST_DIGITS = 18  # certain to fit 64 bits


def format_time(time_s: float) -> str:
    """Return a time with four digits: "12.35 us"."""
    factor, unit = next((pair for pair in TIMES if time_s >= _ROUNDS_UP * pair[0]), (1e-12, "ps"))
    return f"{_four_digits(time_s / factor)} {unit}" if time_s else "0 s"


def format_duration(time_s: float) -> str:
    """Return a duration in whole units: "40 seconds", "12 hours". It is at least two units, unless it is very short."""
    factor, unit = next((pair for pair in _DURATIONS if time_s >= 2 * pair[0]), _DURATIONS[-1])
    return f"{time_s / factor:,.0f} {unit}"


def axis_unit(end: float, units: Sequence[tuple[float, str]] = TIMES) -> tuple[float, str]:
    """Return the unit for an axis that ends at a time, or at a value in other units: its size and its name."""
    return next((pair for pair in units if end >= pair[0]), units[-1])


def format_bytes(size_bytes: int) -> str:
    """Return a size with at most four digits: "64 KiB"."""
    factor, unit = next((pair for pair in _SIZES if size_bytes >= pair[0]), (1, "B"))
    return f"{size_bytes / factor:.4g} {unit}"


def format_rate(bytes_per_s: float) -> str:
    """Return a rate with four digits: "12.50 GB/s"."""
    factor, unit = next((pair for pair in RATES if bytes_per_s >= _ROUNDS_UP * pair[0]), RATES[-1])
    return f"{_four_digits(bytes_per_s / factor)} {unit}"


def format_count(count: int, noun: str) -> str:
    """Return a count with its noun: "1 call", "2 calls", "3 switches"."""
    ending = "" if count == 1 else "es" if noun.endswith("ch") else "s"
    return f"{count} {noun}{ending}"


def format_value(value: int | str, unit: str) -> str:
    """Return the value of a parameter in its unit: "64 KiB" for bytes, "4" for a count."""
    return format_bytes(value) if unit == "bytes" and isinstance(value, int) else str(value)


def format_ranks(ranks: Iterable[int]) -> str:
    """Return rank counts as ranges: "1-8, 16, 32"."""
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs(ranks))


def runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return the first and the last of each run of successive numbers."""
    groups = groupby(enumerate(sorted(set(numbers))), key=lambda pair: pair[1] - pair[0])
    members = ([number for _, number in group] for _, group in groups)
    return [(run[0], run[-1]) for run in members]


def format_ratio(ratio: float) -> str:
    """Return a ratio with three digits, or whole: "1.33x", "12.5x", "640x"."""
    digits = 2 if ratio < 9.995 else 1 if ratio < 99.95 else 0
    return f"{ratio:.{digits}f}x" if ratio < 99_999.5 else f"{ratio:.1e}x"


def format_reach(share: float) -> str:
    """Return half the width of an interval, as a share of its middle, in four characters: " ±3%"."""
    return f"{f'±{share:.0%}':>4}"


def parse_count(text: str) -> int:
    """Return a whole number; refuse other texts, and too many digits."""
    if not text.isdecimal() or len(text) > _MOST_DIGITS:
        raise Error(f'got "{text}", expected a whole number below 10^{_MOST_DIGITS}')
    return int(text)


def parse_share(text: str) -> float:
    """Return a share such as "1%" or 0.01, above 0 and below 1; refuse other texts."""
    number = text.removesuffix("%")
    try:
        share = float(number) / (100 if number != text else 1)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise Error(f'got "{text}", expected a share above 0% and below 100%, such as 1% or 0.01')
    return share


def from_to(first_bytes: int, last_bytes: int) -> str:
    """Return a range of sizes: "8 B to 64 KiB"."""
    first, last = format_bytes(first_bytes), format_bytes(last_bytes)
    return first if first_bytes == last_bytes else f"{first} to {last}"


def span(ratios: Sequence[float]) -> str:
    """Return the range of some ratios: "1.10 to 2.50"."""
    least, most = f"{min(ratios):.2f}", f"{max(ratios):.2f}"
    return least if least == most else f"{least} to {most}"


def parse_ranks(text: str) -> tuple[int, ...]:
    """Return the rank counts of "1-64" or "1-8,16,32", in order; refuse other texts, and 0."""
    ranges = [_rank_range(part) for part in text.split(",")]
    if sum(map(len, ranges)) > _MOST_RANK_COUNTS:
        raise Error(f'got "{text:.60}", expected at most {_MOST_RANK_COUNTS} rank counts')
    return tuple(sorted({count for part in ranges for count in part}))


def parse_sizes(text: str) -> tuple[int, ...]:
    """Return the sizes that a text lists, in order: "8B..64MiB" (doubling), "8B..64MiB:4" (times four) or "8B,1KiB".

    A range contains both of its ends; its last step may be shorter. Other texts are refused.
    """
    return tuple(sorted({size for part in text.split(",") for size in _size_range(part)}))


def _four_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 999.95 else f"{value:#.4g}"


def _rank_range(text: str) -> range:
    first_text, dash, last_text = text.partition("-")
    try:
        first, last = parse_count(first_text), parse_count(last_text if dash else first_text)
    except Error:
        raise Error(f'got "{text}", expected rank counts such as 1-64 or 1-8,16,32') from None
    if not 1 <= first <= last:
        raise Error(f'got "{text}", expected rank counts of at least 1, the smaller one first')
    return range(first, last + 1)


def _size_range(text: str) -> list[int]:
    bounds, colon, factor_text = text.partition(":")
    first_text, dots, last_text = bounds.partition("..")
    if not dots:
        return [parse_bytes(text)]
    first, last = parse_bytes(first_text), parse_bytes(last_text)
    factor = parse_count(factor_text) if colon else 2
    if factor < 2:
        raise Error(f'got "{text}", expected a factor of at least 2, such as 8B..64MiB:4')
    if not 1 <= first <= last:
        raise Error(f'got "{text}", expected sizes of at least 1 B, the smaller one first')
    sizes = [first]
    while sizes[-1] * factor <= last:
        sizes.append(sizes[-1] * factor)
    return [*sizes, last]


def format_choice(name: str, parameters: Iterable[tuple[str, object]], separator: str = " ") -> str:
    """Return an algorithm with values of its parameters in one line: "trinaryx3 segment=4096"."""
    return separator.join([name, *(f"{parameter}={value}" for parameter, value in parameters)])


def parse_choice(text: str) -> tuple[str, dict[str, int | str]]:
    """Return the algorithm and the values of parameters of such a line."""
    words = text.split()
    values = (word.partition("=") for word in words if "=" in word)
    return " ".join(word for word in words if "=" not in word), {
        key: int(value) if value.isdecimal() else value for key, _, value in values
    }
