"""What follows from the rows of a curve: the verdict in words, the programs that ran, the cause, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from math import log
from statistics import geometric_mean

from hocket.base.units import format_bytes, format_count, format_rate, format_time, from_to, span
from hocket.definitions.libraries import BY_MACHINE
from hocket.definitions.library import COLLECTIVES
from hocket.definitions.machine import is_preset
from hocket.judging.assessment import Grade, LibraryChoice, Row
from hocket.judging.context import job_of
from hocket.judging.curves import shape_of
from hocket.judging.expecting import Expectation
from hocket.judging.finding import Finding, Kind, conclude
from hocket.judging.lines import FORMS
from hocket.judging.mention import Mentions
from hocket.judging.slowdowns import height_of, slowdown_of
from hocket.judging.suspects import HOP_OF_SOFTWARE_S, hump, slow_hop
from hocket.measurements.measurement import Measurement

_GAIN = 0.9  # a program is named as a better one if it takes at most this share of the time
_MOST_SMALL_BYTES, _LEAST_LARGE_BYTES = 8 << 10, 64 << 10
_LOSS, _MOST_LOSS, _SHARE_ERROR, _ALIKE, _LEAST_LARGE, _MOST_KEPT = 1.3, 10.0, 0.15, 1.1, 3, 1.5
"""Sizes lose if they take so many times as long as expected; a factor is one of so many cards within this share. Within
the ratio `_ALIKE`, factors of some sizes are the same; where the largest call loses so much less than the others, a
library switches too late."""
_SAME = 1.12  # an algorithm takes as long as measured if it does within this ratio at each size
_EXCESS, _EXCESS_OF_SEVERAL = 1.4, 1.25
"""A verdict needs a size so many times beyond the range of nine of ten, as of several sizes some are above it."""
_FITS, _FITS_EACH = 1.12, 1.3
"""What the library chooses fits if measured over simulated times are within these, on average and at each size."""
_MOST_NAMED = 3


def findings_of(
    expectation: Expectation, rows: Sequence[Row], mentions: Mentions, *, is_told: bool
) -> tuple[Finding, ...]:
    """Return what follows, the verdict first; `is_told` says whether a line of the text tells why times are long."""
    slow = _worst(rows, "slow")
    is_open = slow is None or not is_told
    suspects = [*_suspects(expectation, rows, mentions)] if is_open else []
    if suspects and suspects[0].subject == "default":
        return (*suspects, *_choices(rows), *_gains(expectation, rows))
    is_first = not suspects or suspects[0].kind == "hint"
    verdict = [*([_verdict(expectation, rows, slow)] if is_first else []), *suspects]
    programs = _programs(expectation, [row for row in rows if not _is_as_chosen(row)])
    advice = _advice(expectation, slow) if slow is not None and is_open and not suspects else ()
    return (*verdict, *_choices(rows), *programs, *advice)


def _suspects(expectation: Expectation, rows: Sequence[Row], mentions: Mentions) -> Iterator[Finding]:
    """Give what explains the times by itself, the most obvious first."""
    yield from _hop(expectation, rows, mentions)
    yield from _default(expectation, rows)
    shape = shape_of(expectation.curve.measurements)
    if shape is not None and any(row.grade == "slow" for row in rows) and (slow_sizes := hump(shape)):
        yield slow_sizes
    is_of_algorithm = _is_of_algorithm(expectation, rows)
    for one in _slowdown(expectation, rows):
        yield replace(one, kind="hint") if is_of_algorithm else one


def _worst(rows: Sequence[Row], grade: Grade) -> list[Row] | None:
    """Return the neighbouring sizes that are furthest off, if one of them is clearly beyond the machine's error."""
    far = [
        run
        for run in _ranges(rows, grade)
        if max(row.excess for row in run) > (_EXCESS if len(run) == 1 else _EXCESS_OF_SEVERAL)
    ]
    return max(far, key=lambda run: len(run) * abs(log(_factor(run))), default=None)


def _hop(expectation: Expectation, rows: Sequence[Row], mentions: Mentions) -> Iterator[Finding]:
    """Give which network small messages take, if they are slow on the machine."""
    one, machine = expectation.curve.first, expectation.machine
    job = replace(job_of(mentions, shape_of(expectation.curve.measurements)), ranks=one.ranks)
    nodes = -(-one.ranks // machine.ranks_per_node)
    points = [(row.size_bytes, row.measured_s) for row in rows]
    if "gpu.generation" in machine.quantities or rows[0].grade != "slow" or _is_of_algorithm(expectation, rows[:1]):
        return  # kernels start late, or small calls are as fast as the machine's, or as those of an algorithm
    if finding := slow_hop(points, job, nodes, expectation.curve.call, HOP_OF_SOFTWARE_S):
        yield finding


def _slowdown(expectation: Expectation, rows: Sequence[Row]) -> Iterator[Finding]:
    """Give that large calls lose bandwidth, small ones have latency, or a single size."""
    (what, odd), one = slowdown_of(rows), expectation.curve.first
    is_of_blocks = COLLECTIVES[one.collective].size_is_one_block and not COLLECTIVES[one.collective].sends_blocks
    blocks = one.ranks if is_of_blocks else 1
    others = [row for row in rows if row is not odd]
    small = [row for row in others if row.size_bytes * blocks <= _MOST_SMALL_BYTES]
    large = [row for row in others if row.size_bytes * blocks >= _LEAST_LARGE_BYTES]
    few, many = (_factor(part) if part else 1.0 for part in (small, large))
    is_of_large = what == "rate" or (what == "all" and not small) or _are_alike(large, few)
    if max(row.factor for row in others) > _MOST_LOSS:
        return
    if is_of_large and many > _LOSS and len(large) >= _LEAST_LARGE and large[-1].factor > many / _MOST_KEPT:
        yield from _share(expectation, large, many, addition=", small ones do not" if small else "")
    elif what == "latency" and few > _LOSS:
        or_else = _or_else(expectation, small)
        yield conclude("small messages", call=expectation.curve.call, small=few, large=many, or_else=or_else)
    if odd is not None:
        kind: Kind = "slow" if _worst(others, "slow") is None else "hint"
        factor = height_of(rows, rows.index(odd))
        yield conclude("one size", kind=kind, size_bytes=odd.size_bytes, factor=factor)


def _are_alike(large: Sequence[Row], few: float) -> bool:
    """Return whether large sizes take the same factor longer, and small ones less, of which `few` is the factor."""
    factors = [row.factor for row in large]
    return bool(factors) and max(factors) < _ALIKE * min(factors) and min(factors) > _LOSS * few


def _is_of_algorithm(expectation: Expectation, rows: Sequence[Row]) -> bool:
    """Return whether an algorithm is known to have run, and takes as long as measured."""
    ran = expectation.guess([row.size_bytes for row in rows])
    return ran.is_told and all(_takes_as_long(expectation, ran.programs[0], row.size_bytes, _FITS_EACH) for row in rows)


def _share(expectation: Expectation, rows: Sequence[Row], factor: float, addition: str) -> Iterator[Finding]:
    """Give which share of cards, lanes or rate makes large calls so many times longer.

    Where an algorithm takes as long, and the times are within the machine's error, it is the likelier reason.
    """
    or_else = _or_else(expectation, rows)
    if or_else and geometric_mean([row.measured_s / row.high_s for row in rows]) < 1:
        return
    cards = int(expectation.machine.quantities.get("node.cards.count", 1))
    rate = expectation.machine.quantities.get("node.cards.bandwidth_bytes_per_s")
    in_use = next((count for count in range(cards - 1, 0, -1) if abs(factor * count / cards - 1) < _SHARE_ERROR), None)
    parts = round(factor)
    if in_use is not None:
        what = f"as with {in_use} of the {cards} cards of a node"
        what += f" ({format_rate(in_use * rate)} instead of {format_rate(cards * rate)})" if rate else ""
    elif parts in (2, 4, 8) and abs(factor / parts - 1) < _SHARE_ERROR:
        what = f"as with 1/{parts} of the rate: fewer cards, lanes of a bus (x{16 // parts} for x16), or a slower link"
    else:
        what = f"as with {1 / factor:.0%} of the rate"
    call, where = expectation.curve.call, _from_to(rows)
    share = partial(conclude, "share", call=call, factor=factor, where=where, addition=addition)
    yield share(what=what, or_else=or_else or ". No algorithm does that")


def _or_else(expectation: Expectation, rows: Sequence[Row]) -> str:
    """Return that a program that libraries have takes as long as measured at each of some sizes; empty if none does."""
    if _is_of_algorithm(expectation, rows):
        return f"; or it runs {expectation.guess([row.size_bytes for row in rows]).programs[0]}"
    for label in expectation.of_libraries:
        if all(_takes_as_long(expectation, label, row.size_bytes, _SAME) for row in rows):
            return f"; or it runs {label}"
    return ""


def _takes_as_long(expectation: Expectation, label: str, size_bytes: int, ratio: float) -> bool:
    one = expectation.simulations.get((label, size_bytes))
    return one is not None and 1 / ratio < expectation.measured_s[size_bytes] / one.time_s.mean < ratio


def _default(expectation: Expectation, rows: Sequence[Row]) -> Iterator[Finding]:
    """Give that the library's own choice takes as long as measured."""
    choices_s = [row.choice.time_s for row in rows if row.choice is not None and not row.choice.source]
    ratios = [row.measured_s / time_s for row, time_s in zip(rows, choices_s, strict=False) if time_s]
    if len(ratios) < len(rows) or not ratios:
        return
    if not (1 / _FITS < geometric_mean(ratios) < _FITS and max(ratios) < _FITS_EACH and min(ratios) > 1 / _FITS_EACH):
        return
    choices = groupby(rows, key=lambda row: FORMS["channels"].sub("", (row.choice and row.choice.choice) or ""))
    runs = [(name, [row.size_bytes for row in run]) for name, run in choices]
    names = ", ".join(f"{name} {from_to(sizes[0], sizes[-1])}" if len(runs) > 1 else name for name, sizes in runs)
    kind: Kind = "slow" if _worst(rows, "slow") else "fine"
    library = next(row.choice.library for row in rows if row.choice is not None)
    yield conclude("default", kind=kind, call=expectation.curve.call, library=library, names=names, ratios=span(ratios))


def _gains(expectation: Expectation, rows: Sequence[Row]) -> Iterator[Finding]:
    """Give what another algorithm of a library would bring, where it is faster than what the library chooses."""
    for _, group in groupby(rows, key=lambda row: row.choice and row.choice.choice):
        run = [*group]
        if gain := _gain(expectation, run):
            yield Finding("hint", f"{from_to(run[0].size_bytes, run[-1].size_bytes)}: {gain}", "what to do")


def _ranges(rows: Sequence[Row], grade: Grade) -> list[list[Row]]:
    return [list(run) for is_of_grade, run in groupby(rows, key=lambda row: row.grade == grade) if is_of_grade]


def _factor(rows: Sequence[Row]) -> float:
    return geometric_mean([row.factor for row in rows])


def _from_to(rows: Sequence[Row]) -> str:
    first, last = rows[0].size_bytes, rows[-1].size_bytes
    return f"{'at' if first == last else 'from'} {from_to(first, last)}"


def _verdict(expectation: Expectation, rows: Sequence[Row], whole: Sequence[Row] | None) -> Finding:
    what, machine = expectation.curve.call, expectation.machine.name
    if whole is not None:
        where = "" if len(whole) == len(rows) else f" {_from_to(whole)}"
        slow = f"{what} is {_factor(whole):.2g} times slower than machine {machine} can do{where}"
        return Finding("slow", f"{slow}{_instead(expectation, whole)}{_others(rows, whole)}", "time")
    if fast := _worst(rows, "fast"):
        where = "" if len(fast) == len(rows) else f" {_from_to(fast)}"
        sentence = f"{what} takes {_factor(fast):.2g} times the time that machine {machine} needs{where}"
        why = "this is another machine, or the library does what no algorithm here does"
        return Finding("fast", f"{sentence}: {why}", "time")
    sentence = f"{what} is as fast as machine {machine} can do it: {_factor(rows):.2f} times the simulated time"
    error = "which is within the error of the machine file"
    return Finding("fine", f"{sentence}, {error}{_others(rows, None)}", "time")


def _others(rows: Sequence[Row], whole: Sequence[Row] | None) -> str:
    """Return how the sizes are that are not in the slowest range."""
    slow = "A little slow" if whole is None else "Also slow"
    grades: tuple[tuple[str, Grade], ...] = ((slow, "slow"), ("Faster than expected", "fast"))
    parts = [
        f". {words} {', '.join(map(_from_to, runs))}"
        for words, grade in grades
        if (runs := [run for run in _ranges(rows, grade) if run != whole])
    ]
    is_fine = whole is not None and any(row.grade == "fine" for row in rows)
    return "".join([*parts, ". Fine elsewhere" if is_fine else ""])


def _instead(expectation: Expectation, rows: Sequence[Row]) -> str:
    """Return which program ran at some sizes, and which would be faster."""
    ran, own_s = expectation.guess([row.size_bytes for row in rows]), _logged_s(rows)
    if not _is_explained(expectation, rows):
        return "; no algorithm of the catalogue takes so long" if own_s is None else "; what its log names takes less"
    if own_s is not None:
        ending = "; what its log names takes so long"
    elif ran.is_told:
        ending = f"; it runs like {_names(ran.programs)}"
    else:
        return ""
    gain = _gain(expectation, rows)
    return f"{ending}; {gain}" if gain else ending


def _logged_s(rows: Sequence[Row]) -> float | None:
    """Return the mean simulated time of what a log tells to have run at all of some sizes; None if it is not known."""
    times_s = [row.choice.time_s for row in rows if row.choice is not None and row.choice.source and row.choice.time_s]
    return geometric_mean(times_s) if len(times_s) == len(rows) else None


def _is_explained(expectation: Expectation, rows: Sequence[Row]) -> bool:
    """Return whether what ran, or without a log some program, takes as long as measured, within the machine's error."""
    if (own_s := _logged_s(rows)) is not None:
        error = geometric_mean([row.high_s / row.expected_s for row in rows])
        return geometric_mean([row.measured_s for row in rows]) <= own_s * error
    sizes_bytes = [row.size_bytes for row in rows]
    ran = expectation.guess(sizes_bytes)
    if not ran.programs and ran.probability >= 0.5:
        return False
    measured_s = geometric_mean([expectation.measured_s[size] for size in sizes_bytes])
    return any(
        geometric_mean([expectation.between_s(label, size)[1] for size in sizes_bytes]) >= measured_s
        for label in expectation.labels
        if _total_s(expectation, label, sizes_bytes) is not None
    )


def _gain(expectation: Expectation, rows: Sequence[Row]) -> str:
    """Return what the fastest algorithm that a library has, or else of the catalogue, would bring; empty if little."""
    sizes = [row.size_bytes for row in rows]
    for labels in (expectation.of_libraries, expectation.labels):
        times_s = ((_total_s(expectation, label, sizes), label) for label in labels)
        if known_s := [(time_s, label) for time_s, label in times_s if time_s is not None]:
            time_s, label = min(known_s)
            share = time_s / geometric_mean([row.measured_s for row in rows])
            return f"{label} would take {share:.0%} of the time" if share <= _GAIN else ""
    return ""


def _total_s(expectation: Expectation, label: str, sizes_bytes: Sequence[int]) -> float | None:
    """Return the mean time of a program over some sizes, each of which counts alike."""
    simulations = [expectation.simulations.get((label, size)) for size in sizes_bytes]
    times_s = [one.time_s.mean for one in simulations if one is not None and one.time_s.mean > 0]
    return geometric_mean(times_s) if len(times_s) == len(sizes_bytes) else None


def _names(programs: Sequence[str]) -> str:
    names = " or ".join(programs[:_MOST_NAMED])
    return names if len(programs) <= _MOST_NAMED else f"{names} or {format_count(len(programs) - _MOST_NAMED, 'other')}"


def _programs(expectation: Expectation, rows: Sequence[Row]) -> Iterator[Finding]:
    for _, run in groupby(rows, key=lambda row: (row.guess.programs[:1], row.guess.is_told)):
        sizes = [row.size_bytes for row in run]
        where, ran = from_to(sizes[0], sizes[-1]), expectation.guess(sizes)
        if ran.is_told:
            share = f"probability {ran.probability:.0%}"
            yield Finding("hint", f"{where}: it runs like {_names(ran.programs)} ({share})", "algorithm")
        else:
            names = ", ".join(f"{label} {share:.0%}" for label, share in expectation.likeliest(sizes)[:_MOST_NAMED])
            if ran.programs and not ran.probability:
                names = f"it takes less than {ran.programs[0]} can on this machine"
            yield Finding("unknown", f"{where}: cannot tell which algorithm ran: {names}", "algorithm")


def _is_as_chosen(row: Row) -> bool:
    """Return whether a log names what ran, or what the library chooses takes as long, within the machine's error."""
    one = row.choice
    if one is None or one.source:
        return one is not None
    if one.library not in BY_MACHINE or one.time_s is None:
        return False
    return row.low_s <= row.measured_s / one.time_s * row.expected_s <= row.high_s


def _choices(rows: Sequence[Row]) -> Iterator[Finding]:
    """Give what the library chooses by itself, by ranges of sizes, in which numbers of channels may differ."""

    def key(row: Row) -> tuple[LibraryChoice, bool] | None:
        if (one := row.choice) is None:
            return None
        choice = one.choice and FORMS["channels"].sub("", one.choice)
        return replace(one, time_s=None, source="", choice=choice), bool(one.source)

    for common, group in groupby(rows, key=key):
        run = [(row, row.choice) for row in group if row.choice is not None]
        if common is None:
            continue
        one, is_logged = common
        choice = one.choice
        numbers = [int(each) for _, own in run for each in FORMS["channels"].findall(own.choice or "")]
        if numbers:
            least, most = min(numbers), max(numbers)
            choice = f"{choice}, channels={least if least == most else f'{least} to {most}'}"
        chooses = f"{one.library} {'chose' if is_logged else 'chooses'} {choice}" if choice else one.library
        parts = [part for part in (one.costs, one.sentence.removeprefix(f"{choice or ''}: ")) if part]
        times_s = [(row, own.time_s) for row, own in run if own.time_s is not None]
        if times_s:
            of_best = span([time_s / row.expected_s for row, time_s in times_s])
            measured = span([row.measured_s / time_s for row, time_s in times_s])
            parts.append(f"simulated {of_best} times the fastest; measured {measured} times as long as that")
        parts += [f"NCCL's table says {one.instead}"] if one.instead else []
        where = from_to(run[0][0].size_bytes, run[-1][0].size_bytes)
        yield Finding("hint", f"{where}: {chooses}: {'; '.join(parts)}", "choice", run[0][1].source)


def _advice(expectation: Expectation, slow: Sequence[Row]) -> Iterator[Finding]:
    """Give how to find a better choice, if some program explains the times."""
    if _is_explained(expectation, slow):
        one, machine = expectation.curve.first, expectation.machine
        first, last = (format_bytes(row.size_bytes).replace(" ", "") for row in (slow[0], slow[-1]))
        sizes = first if first == last else f"{first}..{last}"
        name = machine.name if is_preset(machine.name) else machine.file
        command = f"hocket tune {one.collective} --ranks {one.ranks} --sizes {sizes} --machine {name}"
        yield Finding("hint", f"{command} --library {expectation.library or 'LIBRARY'}", "what to do")
        return
    yield conclude("no better choice")


def shape_findings(curve: Sequence[Measurement]) -> Iterator[Finding]:
    """Give what the times of a curve imply by themselves: latency and bandwidth."""
    shape = shape_of(curve)
    if shape is None:
        return
    parts = [] if shape.floor_s is None else [f"small calls take {format_time(shape.floor_s)}"]
    if shape.bytes_per_s is not None:
        bus = shape.bus_bytes_per_s
        of_bus = "" if bus is None else f" ({format_rate(bus)} of bus bandwidth)"
        parts.append(f"large ones {format_rate(shape.bytes_per_s)}{of_bus}")
    if shape.half_bytes is not None:
        parts.append(f"half the bandwidth is reached at {format_bytes(int(shape.half_bytes))}")
    if parts:
        yield Finding("hint", "By its rows: " + ", ".join(parts), "shape")
