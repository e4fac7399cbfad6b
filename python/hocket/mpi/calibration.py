"""Calibration: measuring the cost of messages and computation on a real machine, and fitting models to it.

Disturbances only make measurements longer. The time of a size is therefore the first quartile of its samples, which is
the median of the faster half. Intervals are 95 % bootstrap intervals: the samples of each size are resampled, with a
fixed seed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket._native import Error
from hocket.base.processors import processors
from hocket.mpi.installation import Installation, cached_build
from hocket.mpi.jobs import lines_of, parse_line
from hocket.mpi.launch import Launcher, command, launcher_environment

Floats = NDArray[np.float64]

_QUANTILE = 0.25
_RESAMPLES = 400
_SEED = 20260101
_LEAST_SIZES = 2  # sizes of a range
_MOST_RANGES = 10
_GOOD = 0.02  # a relative deviation so small that more ranges are not worthwhile
_LEAST_GAIN = 6.0  # in BIC: "strong" evidence, R. E. Kass, A. E. Raftery, "Bayes factors", JASA 90 (1995)


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % confidence interval."""

    value: float
    low: float
    high: float

    @staticmethod
    def of(values: Floats) -> Estimate:
        """Return an estimate: the first value, with the interval of the other, resampled values."""
        low, high = np.quantile(values[1:], (0.025, 0.975))
        return Estimate(float(values[0]), float(min(low, values[0])), float(max(high, values[0])))


@dataclass(frozen=True)
class Resamples:
    """Times by size, a column for each: measured in row 0, resampled in the other rows."""

    sizes_bytes: Floats
    times_s: Floats

    def part(self, columns: slice) -> Resamples:
        """Return a part of the sizes."""
        return Resamples(self.sizes_bytes[columns], self.times_s[:, columns])


@dataclass(frozen=True)
class Line:
    """time = start + slope size, for each resampling."""

    start_s: Floats  # the time of size 0, in seconds
    slope_s: Floats  # seconds per byte
    deviation: float  # deviation of the times from the line, as a share of the times: root mean square


def resample(samples_s: Mapping[int, Sequence[float]]) -> Resamples:
    """Return the times by size, and resampled times."""
    sizes = sorted(samples_s)
    random = np.random.default_rng(_SEED)
    columns = []
    for size in sizes:
        samples = np.asarray(samples_s[size])
        resamples = samples[random.integers(0, len(samples), (_RESAMPLES, len(samples)))]
        columns.append(np.quantile(np.vstack([samples, resamples]), _QUANTILE, axis=1))
    return Resamples(np.asarray(sizes, dtype=float), np.column_stack(columns))


def line(times: Resamples, usual_s_per_byte: Floats | None = None) -> Line:
    """Fit a line by least squares of relative deviations; start and slope are at least zero.

    Where the times rise by less than a tenth of the usual slope, it counts: their noise, or a single size, hides what a
    byte takes.
    """
    x, t = times.sizes_bytes, times.times_s
    w = 1.0 / np.maximum(t, 1e-12) ** 2
    s0, sx, sxx = w.sum(axis=1), (w * x).sum(axis=1), (w * x * x).sum(axis=1)
    st, sxt = (w * t).sum(axis=1), (w * x * t).sum(axis=1)
    only_slope = sxt / np.where(sxx > 0, sxx, 1.0)
    determinant = s0 * sxx - sx * sx
    safe = np.where(determinant > 0, determinant, 1.0)
    slope = np.where(determinant > 0, (s0 * sxt - sx * st) / safe, 0.0)
    start = (st - slope * sx) / s0
    start, slope = np.where(start < 0, 0.0, start), np.where(start < 0, only_slope, slope)
    start, slope = np.where(slope < 0, st / s0, start), np.maximum(slope, 0.0)
    if usual_s_per_byte is not None:
        is_hidden = slope < usual_s_per_byte / 10
        start = np.where(is_hidden, np.maximum((st - usual_s_per_byte * sx) / s0, 0.0), start)
        slope = np.where(is_hidden, usual_s_per_byte, slope)
    deviation = float(np.sqrt(np.mean(((start[0] + slope[0] * x - t[0]) / t[0]) ** 2)))
    return Line(start, slope, deviation)


def parts_of(series: Sequence[Resamples], border_bytes: float | None = None) -> list[slice]:
    """Split the sizes into ranges of columns, so that a line explains each series of times in each range.

    The Bayesian information criterion of the relative deviations determines the number of ranges. Another range has to
    improve it by `_LEAST_GAIN`. No range contains sizes on both sides of the border.
    """
    sizes, count = series[0].sizes_bytes, len(series[0].sizes_bytes)
    border = count if border_bytes is None else int(np.searchsorted(sizes, border_bytes, side="right"))
    firsts = [Resamples(times.sizes_bytes, times.times_s[:1]) for times in series]
    squares: dict[tuple[int, int], float] = {}
    for start in range(count):
        limit = border if start < border else count
        for end in range(start + 1, limit + 1):
            if end - start >= _LEAST_SIZES or (start, end) in ((0, border), (border, count)):
                deviations = (line(first.part(slice(start, end))).deviation for first in firsts)
                squares[start, end] = (end - start) * sum(deviation**2 for deviation in deviations)
    best: list[dict[int, tuple[float, tuple[int, ...]]]] = [{0: (0.0, (0,))}]
    for _ in range(_MOST_RANGES):
        reached: dict[int, tuple[float, tuple[int, ...]]] = {}
        for (start, end), square in squares.items():
            if start in best[-1]:
                sum_of_squares, ends = best[-1][start]
                if end not in reached or sum_of_squares + square < reached[end][0]:
                    reached[end] = (sum_of_squares + square, (*ends, end))
        best.append(reached)
    points = count * len(series)
    best_parts: tuple[float, tuple[int, ...]] | None = None
    for ranges, reached in enumerate(best):
        if count in reached:
            sum_of_squares, ends = reached[count]
            parameters = ranges * (2 * len(series) + 1)
            criterion = points * np.log(sum_of_squares / points + _GOOD**2) + parameters * np.log(points)
            if best_parts is None or criterion < best_parts[0] - _LEAST_GAIN:
                best_parts = (float(criterion), ends)
    assert best_parts is not None, "all sizes up to the border are one range, and all beyond another"
    return [slice(start, end) for start, end in pairwise(best_parts[1])]


_LARGE_BYTES = 64 * 1024  # from this size on, both directions of an exchange count as meeting if all messages are eager


@dataclass(frozen=True)
class Range:
    """A range of sizes in which one line explains the times of messages: LogGP's parameters."""

    from_bytes: int  # the smallest size
    last_bytes: int  # the largest measured size
    alpha_s: Estimate  # a message of n bytes takes alpha + n beta if its receiver is waiting
    beta_s: Estimate  # seconds per byte
    L_s: Estimate  # latency
    o_send_s: Estimate  # overhead of the sender per message
    o_receive_s: Estimate  # overhead of the receiver per message
    g_s: Estimate  # gap per message
    G_s: Estimate  # gap per byte
    O_send_s: Estimate  # overhead of the sender per byte
    O_receive_s: Estimate  # overhead of the receiver per byte
    deviation: float  # deviation of one-way times and exchanges from the model, as a share: root mean square

    def time_s(self, size_bytes: int) -> float:
        """Return the time of a message whose receiver is waiting."""
        return self.alpha_s.value + self.beta_s.value * size_bytes


@dataclass(frozen=True)
class Level:
    """Messages between hosts, or within one host."""

    ranges: tuple[Range, ...]
    alpha_s: Estimate  # Hockney's latency, from one line through all sizes
    beta_s: Estimate  # Hockney's seconds per byte
    deviation: float  # deviation of one-way times from this line, as a share: root mean square
    both_ways: Estimate  # time of large messages in both directions at once, as a multiple of one direction
    request_s: Estimate  # time of the request by which a rendezvous message asks for its receive
    S_bytes: int | None  # the largest eager message; None if all measured messages are eager
    sizes_bytes: tuple[int, ...]
    trips_s: tuple[float, ...]  # time of a message of each size whose receiver is waiting
    exchanges_s: tuple[float, ...]  # time of an exchange of each size, with both directions at once


@dataclass(frozen=True)
class Work:
    """The cost of reducing and copying in a range of sizes."""

    from_bytes: int  # the smallest size
    reduce_s: Estimate  # latency of a reduction
    reduce_s_per_byte: Estimate  # seconds per byte of a reduction: 1 / gamma
    copy_s: Estimate  # latency of a copy
    copy_s_per_byte: Estimate  # seconds per byte of a copy


@dataclass(frozen=True)
class Calibration:
    """The measurements in terms of the models."""

    between: Level  # messages between hosts, or within the only host
    local: Level | None  # messages within a host, if there are several hosts
    ranks_per_host: int  # number of successive ranks that share a host
    work: tuple[Work, ...]
    call_s: float  # overhead of Hocket's library per call, until its program begins
    message_s: float  # overhead of Hocket's library per message, beyond MPI
    samples: int
    mpi: str  # the MPI's own name and version
    hosts: tuple[str, ...]  # the host of each rank
    is_crowded: bool  # whether this host had more ranks than processors
    date: str  # the date of the measurement


def measured(
    installation: Installation, ranks: int, *, most_bytes: int, limit_s: float, launcher: Launcher = command
) -> tuple[list[dict[str, Any]], list[str]]:
    """Measure between rank 0 and each other rank; return the samples and the host of each rank, or say what failed."""
    program = cached_build(installation, "hocket-calibrate", "measuring/calibrate.c measuring/together.c", [])
    samples: list[dict[str, Any]] = []
    hosts: list[str] = []

    def take(text: str) -> None:
        value = parse_line(text, program.name, "a sample")
        if "host" in value:
            hosts.append(value["host"])
        else:
            samples.append(value)

    line = launcher(installation, ranks, [str(program), f"{limit_s:g}", str(most_bytes)], {})
    lines_of(line, launcher_environment(installation, launcher, ranks), take)
    if not samples:
        raise Error(f"{line[0]}: printed no samples")
    return samples, hosts


def calibrate(samples: Iterable[Mapping[str, Any]], *, mpi: str, hosts: Iterable[str]) -> Calibration:
    """Fit the models to samples of each kind, which are of plain MPI, without the overhead of Hocket's library."""
    names, all_samples = tuple(hosts), list(samples)
    local_peers = {rank for rank, host in enumerate(names) if host == names[0]}
    is_on_hosts = len(set(names)) > 1
    within = [sample for sample in all_samples if sample["peer"] in local_peers]
    between = [sample for sample in all_samples if sample["peer"] not in local_peers] if is_on_hosts else all_samples
    has_local = is_on_hosts and any(sample["kind"] == "one_way" for sample in within)
    return Calibration(
        between=_level(_by_kind(between)),
        local=_level(_by_kind(within)) if has_local else None,
        ranks_per_host=Counter(names).most_common(1)[0][1] if names else 1,
        work=_work(_by_kind(all_samples)),
        call_s=0.0,
        message_s=0.0,
        samples=len(all_samples),
        mpi=mpi,
        hosts=names,
        is_crowded=len(names) > processors() and not is_on_hosts,
        date=datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    )


Kinds = Mapping[str, Mapping[int, list[float]]]
"""Times in seconds, by kind and size."""


def _by_kind(samples: Iterable[Mapping[str, Any]]) -> Kinds:
    kinds: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for sample in samples:
        kinds[sample["kind"]][sample["bytes"]].append(sample["time_s"])
    return kinds


def _times(kinds: Kinds, name: str) -> Resamples:
    if name not in kinds:
        raise Error(f"the program printed no samples of {name}")
    return resample(kinds[name])


def _level(kinds: Kinds) -> Level:
    trips, exchanges, send, receive, gap = (
        _times(kinds, name) for name in ("one_way", "exchange", "send", "receive", "gap")
    )
    limits = kinds.get("eager_limit", {})
    most_eager = float(max(limits, key=lambda size: len(limits[size]), default=np.inf))
    border = most_eager if most_eager < trips.sizes_bytes[-1] else None
    large = min(_LARGE_BYTES, trips.sizes_bytes[-1])
    meet = trips.sizes_bytes > border if border is not None else trips.sizes_bytes >= large
    both_ways = np.maximum(np.median(exchanges.times_s[:, meet] / trips.times_s[:, meet], axis=1), 1.0)
    # If both directions together take as long as one, fit one line between one-way times and exchanges.
    alike = trips.times_s * exchanges.times_s / np.where(meet, both_ways[:, None], 1.0)
    means = Resamples(trips.sizes_bytes, np.sqrt(alike))
    parts = parts_of([means], border)
    whole = line(trips)
    small = line(means.part(parts[0]))
    request = np.maximum(small.start_s - _overhead(receive, 0, np.inf, small.start_s), 0.0)
    starts = [0, *(_start(means.sizes_bytes, part.start, border) for part in parts[1:])]
    fits = [
        _range(
            start,
            (means.part(part), trips.part(part), exchanges.part(part)),
            (send, receive, gap),
            np.where(meet[part.start], both_ways, 1.0),
            request if border is not None and start > border else None,
            line(means).slope_s if part is parts[-1] else None,
        )
        for start, part in zip(starts, parts, strict=True)
    ]
    return Level(
        ranges=tuple(fits),
        alpha_s=Estimate.of(whole.start_s),
        beta_s=Estimate.of(whole.slope_s),
        deviation=whole.deviation,
        both_ways=Estimate.of(both_ways),
        request_s=Estimate.of(request),
        S_bytes=int(border) if border is not None else None,
        sizes_bytes=tuple(int(size) for size in trips.sizes_bytes),
        trips_s=tuple(float(time_s) for time_s in trips.times_s[0]),
        exchanges_s=tuple(float(time_s) for time_s in exchanges.times_s[0]),
    )


def _start(sizes_bytes: Floats, column: int, border: float | None) -> int:
    """Return the start of a range, given its first column: after the eager limit, or halfway from the size before."""
    before, first = sizes_bytes[column - 1], sizes_bytes[column]
    if border is not None and before <= border < first:
        return int(border) + 1
    return round(float(np.sqrt(before * first)))


def _overhead(times: Resamples, first_bytes: float, last_bytes: float, most_s: Floats) -> Floats:
    """Return the smallest time in a range of sizes (or at the largest size if the range has none), at most `most_s`."""
    inside = (times.sizes_bytes >= first_bytes) & (times.sizes_bytes <= last_bytes)
    columns = inside if inside.any() else times.sizes_bytes == times.sizes_bytes[-1]
    least_s: Floats = np.minimum(times.times_s[:, columns].min(axis=1), most_s)
    return least_s


def _range(
    start_bytes: int,
    messages: tuple[Resamples, Resamples, Resamples],
    ends: tuple[Resamples, Resamples, Resamples],
    both_ways: Floats,
    request_s: Floats | None,
    usual_s_per_byte: Floats | None,
) -> Range:
    """Fit a range, in which messages wait for their receives if there is a time of a request.

    The last range has a usual time of a byte, as it says what all larger messages take.
    """
    means, trips, exchanges = messages  # of the sizes of the range
    send, receive, gap = ends  # of all sizes
    fit_of_means, (first, last) = line(means, usual_s_per_byte), (means.sizes_bytes[0], means.sizes_bytes[-1])
    alpha, beta = fit_of_means.start_s, fit_of_means.slope_s
    left = alpha if request_s is None else np.maximum(alpha - request_s, 0.0)
    o_send = _overhead(send, first, last, left)
    o_receive = _overhead(receive, first, last, left - o_send)
    per_byte = _per_byte(send, first, last, beta) if request_s is None else np.zeros_like(beta)
    received = np.minimum(_per_byte(receive, first, last, beta), beta - per_byte) if request_s is None else per_byte
    inside = (gap.sizes_bytes >= first) & (gap.sizes_bytes <= last)
    spacing = gap.times_s[:, inside] - gap.sizes_bytes[inside] * (beta - received)[:, None]
    g = np.clip(np.median(spacing, axis=1), 0.0, alpha) if inside.any() else np.zeros_like(alpha)
    model_s = fit_of_means.start_s[0] + fit_of_means.slope_s[0] * means.sizes_bytes
    off = np.concatenate([model_s / trips.times_s[0] - 1, both_ways[0] * model_s / exchanges.times_s[0] - 1])
    return Range(
        from_bytes=start_bytes,
        last_bytes=int(last),
        alpha_s=Estimate.of(alpha),
        beta_s=Estimate.of(beta),
        L_s=Estimate.of(left - o_send - o_receive),
        o_send_s=Estimate.of(o_send),
        o_receive_s=Estimate.of(o_receive),
        g_s=Estimate.of(g),
        G_s=Estimate.of(beta - received),
        O_send_s=Estimate.of(per_byte),
        O_receive_s=Estimate.of(received),
        deviation=float(np.sqrt(np.mean(off**2))),
    )


def _per_byte(times: Resamples, first_bytes: float, last_bytes: float, most_s: Floats) -> Floats:
    """Return the slope of the times of a range, at most `most_s`."""
    inside = (times.sizes_bytes >= first_bytes) & (times.sizes_bytes <= last_bytes)
    if inside.sum() < 2:
        return np.zeros_like(most_s)
    slope_s: Floats = line(Resamples(times.sizes_bytes[inside], times.times_s[:, inside])).slope_s
    return np.minimum(slope_s, most_s)


def _work(kinds: Kinds) -> tuple[Work, ...]:
    reduce, copy = _times(kinds, "reduce"), _times(kinds, "copy")
    parts = parts_of([reduce, copy])
    starts = [0, *(_start(reduce.sizes_bytes, part.start, None) for part in parts[1:])]
    items = []
    for start, part in zip(starts, parts, strict=True):
        reduce_line, copy_line = (
            line(times.part(part), line(times).slope_s if part is parts[-1] else None) for times in (reduce, copy)
        )
        line_values = (reduce_line.start_s, reduce_line.slope_s, copy_line.start_s, copy_line.slope_s)
        items.append(Work(start, *(Estimate.of(values) for values in line_values)))
    return tuple(items)
