"""The cost of messages and computing on a real machine: measured, and written as a machine file."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Literal

import numpy as np

from hocket._native import Error
from hocket.mpi.fits import Estimate, Resampled, break_after, line, resampled
from hocket.mpi.installation import Installation
from hocket.mpi.jobs import lines_of
from hocket.mpi.launch import command, crowded
from hocket.mpi.preload import NATIVE, kept
from hocket.units import format_bytes, format_time
from hocket.version import version

__all__ = ["Calibration", "Range", "calibrate", "machine_file", "measured"]

Samples = Mapping[str, Mapping[int, list[float]]]
"""By kind and size, the times in seconds."""


@dataclass(frozen=True)
class Range:
    """A range of sizes in which one line explains the times of messages.

    Attributes:
        first_bytes: Its smallest size.
        last_bytes: Its largest.
        alpha_s: Latency: half a round trip is alpha + n beta.
        beta_s: Seconds per byte.
        deviation: How far times are from that, as a share of them.
    """

    first_bytes: int
    last_bytes: int
    alpha_s: Estimate
    beta_s: Estimate
    deviation: float


@dataclass(frozen=True)
class Calibration:
    """What was measured, in the words of the models.

    Attributes:
        whole: Hockney's alpha and beta over all sizes.
        ranges: The same for each range of sizes: one, or two, where the protocol changes between them.
        exchange_factor: How much longer both ways at once take than one: the median over the sizes.
        o_send_s: LogGP's overhead of a sender per message.
        o_receive_s: Of a receiver.
        O_s: Overhead of either per byte.
        L_s: LogGP's latency: alpha of the first range without the two overheads.
        g_s: Gap per message.
        G_s: Gap per byte.
        S_bytes: The largest message of the first range, where there are two.
        gamma_s: Seconds per byte of a reduction.
        copy_s: Seconds per byte of a copy.
        samples: How many samples there are.
        mpi: What the MPI calls itself.
        hosts: The host of each rank.
        is_crowded: Whether there were more ranks than processors on this host.
        date: When it was measured.
    """

    whole: Range
    ranges: tuple[Range, ...]
    exchange_factor: Estimate
    o_send_s: Estimate
    o_receive_s: Estimate
    O_s: Estimate
    L_s: Estimate
    g_s: Estimate
    G_s: Estimate
    S_bytes: int | None
    gamma_s: Estimate
    copy_s: Estimate
    samples: int
    mpi: str
    hosts: tuple[str, ...]
    is_crowded: bool
    date: str


def measured(
    installation: Installation,
    ranks: int,
    *,
    most_bytes: int,
    limit_s: float,
    on_line: Callable[[], object] = lambda: None,
) -> tuple[list[dict[str, Any]], list[str]]:
    """Measure between rank 0 and each other rank; return the samples, and the host of each rank.

    Raises:
        Error: The program cannot be compiled, or fails.
    """
    program = kept(installation, "hocket-calibrate", [NATIVE / "calibrate.c"], ["-Wl,--as-needed"])
    samples: list[dict[str, Any]] = []
    hosts: list[str] = []

    def take(text: str) -> None:
        try:
            value = json.loads(text)
        except ValueError:
            raise Error(f"{program.name}: got {text[:60]!r}, expected a sample") from None
        if "host" in value:
            hosts.append(value["host"])
        else:
            samples.append(value)
            on_line()

    line = command(installation, ranks, [str(program), f"{limit_s:g}", str(most_bytes)], {})
    lines_of(line, crowded(ranks), take)
    if not samples:
        raise Error(f"{line[0]}: there are no samples")
    return samples, hosts


def calibrate(samples: Iterable[Mapping[str, Any]], *, mpi: str, hosts: Iterable[str]) -> Calibration:
    """Fit the models to samples.

    Raises:
        Error: A kind of sample is missing.
    """
    names = tuple(hosts)
    kinds: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    count = 0
    for sample in samples:
        kinds[sample["kind"]][sample["bytes"]].append(sample["time_s"])
        count += 1
    times = {kind: resampled(kinds[kind]) for kind in kinds}
    missing = {"half_round_trip", "exchange", "send", "receive", "gap", "reduce", "copy"} - times.keys()
    if missing:
        raise Error(f"there are no samples of {min(missing)}")
    trips = times["half_round_trip"]
    size = break_after(trips)
    cut = len(trips.up_to(size).sizes_bytes) if size is not None else None
    parts = [trips] if cut is None else [trips.part(slice(0, cut)), trips.part(slice(cut, None))]
    alpha = line(parts[0]).start_s
    eager = size if size is not None else float("inf")
    send, receive = (line(times[kind].up_to(eager)) for kind in ("send", "receive"))
    gap = line(times["gap"])
    latency = (alpha - send.start_s - receive.start_s).clip(min=0.0)
    reduce, copy = (line(times[kind], through_zero=True).slope_s for kind in ("reduce", "copy"))
    return Calibration(
        whole=_range(trips),
        ranges=tuple(map(_range, parts)),
        exchange_factor=Estimate.of(np.median(times["exchange"].times_s / trips.times_s, axis=1)),
        o_send_s=Estimate.of(send.start_s),
        o_receive_s=Estimate.of(receive.start_s),
        O_s=Estimate.of((send.slope_s + receive.slope_s) / 2),
        L_s=Estimate.of(latency),
        g_s=Estimate.of(gap.start_s),
        G_s=Estimate.of(gap.slope_s),
        S_bytes=size,
        gamma_s=Estimate.of(reduce),
        copy_s=Estimate.of(copy),
        samples=count,
        mpi=mpi,
        hosts=names,
        is_crowded=bool(crowded(len(names))) and len(set(names)) == 1,
        date=datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    )


def _range(times: Resampled) -> Range:
    fitted = line(times)
    first, last = int(times.sizes_bytes[0]), int(times.sizes_bytes[-1])
    return Range(first, last, Estimate.of(fitted.start_s), Estimate.of(fitted.slope_s), fitted.deviation)


def machine_file(found: Calibration, name: str, model: Literal["hockney", "loggp"], samples: str | None) -> str:
    """Return a machine file of one of the models; what was measured beyond it is told in comments."""
    hosts = sorted(set(found.hosts))
    where = f"{len(found.hosts)} ranks on {hosts[0] if len(hosts) == 1 else f'{len(hosts)} hosts'}"
    mpi = " ".join(found.mpi.partition(",")[0].split())
    lines = [
        f"# Measured on {found.date} by hocket mpi calibrate (Hocket {version()}): {where}, {mpi}.",
        f"# {found.samples} samples{f', in {samples}' if samples else ''}; a time is the first quartile of a size's, "
        "an interval is of 95 %.",
        *(["# More ranks than processors: times include waiting for a processor."] if found.is_crowded else []),
        f'name = "{name}"',
        "",
        "[network]",
        f'model = "{model}"',
    ]
    keys = {"hockney": _hockney(found), "loggp": _loggp(found)}
    lines += keys[model]
    lines += ["", "[node]"]
    lines += [
        _key("reduce_bandwidth", _rate(found.gamma_s), "1 / gamma, MPI_SUM of doubles", _rates(found.gamma_s)),
        "# With copies simulations are more exact, but formulas do not apply.",
        "# " + _key("copy_bandwidth", _rate(found.copy_s), "memcpy", _rates(found.copy_s)),
    ]
    other: Literal["hockney", "loggp"] = "loggp" if model == "hockney" else "hockney"
    lines += ["", "# Half a round trip of n bytes takes alpha + n beta, by range of sizes:"]
    lines += [f"#   {_told(one)}" for one in found.ranges]
    lines += [
        f"# Both ways at once take {found.exchange_factor.value:.2f} times as long "
        f"({found.exchange_factor.low:.2f} to {found.exchange_factor.high:.2f}), which the models do not know.",
        "# Of a message, the sender's processor takes "
        f"{_interval(found.o_send_s)}, the receiver's {_interval(found.o_receive_s)}.",
        f'# The same machine with another model, under [network]:\n#   model = "{other}"',
        *(f"#   {key}" for key in keys[other]),
    ]
    return "\n".join(lines) + "\n"


def _hockney(found: Calibration) -> list[str]:
    whole = found.whole
    return [
        _key("latency", format_time(whole.alpha_s.value), "alpha", _interval(whole.alpha_s)),
        _key("bandwidth", _rate(whole.beta_s), "1 / beta", _rates(whole.beta_s)),
        _key("protocol", "rendezvous", "formulas are for it", f"times are {whole.deviation:.0%} off, root mean square"),
    ]


def _loggp(found: Calibration) -> list[str]:
    o = Estimate(*((getattr(found.o_send_s, k) + getattr(found.o_receive_s, k)) / 2 for k in ("value", "low", "high")))
    keys = [
        _key("L", format_time(found.L_s.value), "alpha - o of both", _interval(found.L_s)),
        _key("o", format_time(o.value), "mean of both", _interval(o)),
        _key("g", format_time(found.g_s.value), "", _interval(found.g_s)),
        _key("G", f"{format_time(found.G_s.value)}/B", "", _interval(found.G_s)),
        _key("O", f"{format_time(found.O_s.value)}/B", "mean of both", _interval(found.O_s)),
    ]
    if found.S_bytes is not None:
        keys.append(_key("S", f"{found.S_bytes} B", "where half round trips change", ""))
    return keys


def _key(key: str, value: str, meaning: str, interval: str) -> str:
    comment = ", ".join(text for text in (meaning, interval) if text)
    return f'{key} = "{value}"'.ljust(36) + f"# {comment}"


def _told(one: Range) -> str:
    return (
        f"{format_bytes(one.first_bytes)} to {format_bytes(one.last_bytes)}: alpha {_interval(one.alpha_s)}; "
        f"1 / beta {_rate(one.beta_s)} ({_rates(one.beta_s)}); {one.deviation:.0%} off"
    )


def _interval(estimate: Estimate) -> str:
    return f"{format_time(estimate.value)} ({format_time(estimate.low)} to {format_time(estimate.high)})"


def _rate(per_byte: Estimate) -> str:
    """Return a rate of bytes; one too fast to measure is told as a very fast one."""
    return f"{1e-9 / max(per_byte.value, 1e-15):.4g} GB/s"


def _rates(per_byte: Estimate) -> str:
    low, high = (1e-9 / max(bound, 1e-15) for bound in (per_byte.high, per_byte.low))
    return f"{low:.4g} to {high:.4g} GB/s"
