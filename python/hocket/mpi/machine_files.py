"""A calibration as a machine file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from hocket.base.units import format_bytes, format_count, format_time
from hocket.base.version import VERSION
from hocket.mpi.calibration import Calibration, Estimate, Level, Range, Work

Model = Literal["hockney", "loggp"]

_FASTEST_S_PER_BYTE = 1e-15  # the value written for a rate that is too fast to measure


def machine_file(result: Calibration, name: str, model: Model, samples: str | None) -> str:
    """Return a machine file for one of the models; comments give intervals and the deviation of the model."""
    hosts = sorted(set(result.hosts))
    where = f"{format_count(len(result.hosts), 'rank')} on {hosts[0] if len(hosts) == 1 else f'{len(hosts)} hosts'}"
    mpi = " ".join(result.mpi.partition(",")[0].split())
    lines = [
        f"# Measured on {result.date} by hocket mpi calibrate (Hocket {VERSION}): {where}, {mpi}.",
        f"# {format_count(result.samples, 'sample')}{f', in {samples}' if samples else ''}; "
        "a time is the first quartile of a size's, "
        "an interval is of 95 %.",
        *(["# More ranks than processors: times include waiting for a processor."] if result.is_crowded else []),
        f'name = "{name}"',
        "",
        "[network]",
        f'model = "{model}"',
    ]
    if result.local is not None:
        lines.append(f"ranks_per_node = {result.ranks_per_host}")
    return "\n".join([*lines, *{"hockney": _simple, "loggp": _full}[model](result)]) + "\n"


def _simple(result: Calibration) -> list[str]:
    local = [] if result.local is None else ["", "[network.local]", *_hockney(result.local, result.message_s)]
    middle = result.work[len(result.work) // 2]  # of the ranges of sizes
    return [
        *_hockney(result.between, result.message_s),
        _key("protocol", '"rendezvous"', "formulas are for it"),
        *local,
        "",
        "[node]",
        _key("reduce_bandwidth", _rate(middle.reduce_s_per_byte), f"from {format_bytes(middle.from_bytes)} on"),
    ]


def _full(result: Calibration) -> list[str]:
    """Return the lines for the wire and for the host, which could also be used with another network."""
    between, local = result.between, result.local
    inside = []
    if local is not None:
        inside = ["", "[network.local]", _from(local.ranges), *_wire(local), *_host(local, result.message_s)]
    return [
        *_wire(between),
        *inside,
        *("", "[host]", _from(between.ranges), *_host(between, result.message_s)),
        *("", "[node]", *_work(result.work)),
        _key("call_overhead", f'"{format_time(result.call_s)}"', "what Hocket's library takes of a call"),
    ]


def _hockney(level: Level, message_s: float) -> list[str]:
    off = f"one line through all sizes: {level.deviation:.0%} off, root mean square"
    latency = format_time(level.alpha_s.value + message_s)
    return [
        _key("latency", f'"{latency}"', f"alpha, {_interval(level.alpha_s)}; {off}"),
        _key("bandwidth", _rate(level.beta_s), f"1 / beta, {_rates(level.beta_s)}"),
    ]


def _from(ranges: Iterable[Range | Work]) -> str:
    return _keys("from", (f"{one.from_bytes} B" for one in ranges))


def _wire(level: Level) -> list[str]:
    lines = ["# A message of n bytes takes alpha + n beta, by range of sizes:"]
    lines += [
        f"#   {format_bytes(one.from_bytes)} .. {format_bytes(one.last_bytes)}: alpha {_interval(one.alpha_s)}; "
        f"1 / beta {_rate_text(one.beta_s)} ({_rates(one.beta_s)}); {one.deviation:.0%} off, root mean square"
        for one in level.ranges
    ]
    return [
        *lines,
        _keys("L", (format_time(one.L_s.value) for one in level.ranges)),
        _keys("G", (f"{format_time(one.G_s.value)}/B" for one in level.ranges)),
    ]


def _host(level: Level, message_s: float) -> list[str]:
    ranges, way_pair = level.ranges, level.both_ways
    lines = [
        _keys("o_send", (format_time(one.o_send_s.value + message_s) for one in ranges)),
        f"# {format_time(message_s)} of o_send are those of Hocket's library.",
        _keys("o_receive", (format_time(one.o_receive_s.value) for one in ranges)),
        _keys("g", (format_time(one.g_s.value) for one in ranges)),
        _keys("O_send", (f"{format_time(one.O_send_s.value)}/B" for one in ranges)),
        _keys("O_receive", (f"{format_time(one.O_receive_s.value)}/B" for one in ranges)),
        _key("both_ways", f"{way_pair.value:.3f}", f"{way_pair.low:.3f} to {way_pair.high:.3f}"),
    ]
    if level.S_bytes is not None:
        lines.append(_key("S", f'"{level.S_bytes} B"', "the largest message that leaves without its receive"))
        lines.append(_key("request", f'"{format_time(level.request_s.value)}"', _interval(level.request_s)))
        lines.append(_key("answer", '"0 s"', "the receiver takes the data itself"))
    return lines


def _work(work: tuple[Work, ...]) -> list[str]:
    return [
        _from(work),
        _keys("reduce_latency", (format_time(one.reduce_s.value) for one in work)),
        _keys("reduce_bandwidth", (_rate_text(one.reduce_s_per_byte) for one in work)),
        _keys("copy_latency", (format_time(one.copy_s.value) for one in work)),
        _keys("copy_bandwidth", (_rate_text(one.copy_s_per_byte) for one in work)),
    ]


def _keys(key: str, values: Iterable[str]) -> str:
    values_text = ", ".join(f'"{value}"' for value in values)
    return f"{key} = [{values_text}]"


def _key(key: str, value: str, comment: str) -> str:
    return f"{key} = {value}".ljust(36) + f"# {comment}"


def _interval(estimate: Estimate) -> str:
    return f"{format_time(estimate.value)} ({format_time(estimate.low)} to {format_time(estimate.high)})"


def _rate(per_byte: Estimate) -> str:
    return f'"{_rate_text(per_byte)}"'


def _rate_text(per_byte: Estimate) -> str:
    return f"{1e-9 / max(per_byte.value, _FASTEST_S_PER_BYTE):.4g} GB/s"


def _rates(per_byte: Estimate) -> str:
    low, high = (1e-9 / max(bound, _FASTEST_S_PER_BYTE) for bound in (per_byte.high, per_byte.low))
    return f"{low:.4g} to {high:.4g} GB/s"
