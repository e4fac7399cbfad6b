"""Causes that a text and its times show, and hints where to look, the strongest first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise, permutations
from statistics import fmean

from hocket.judging.context import Job, bus_over_cards
from hocket.judging.curves import Shape
from hocket.judging.fabrics import fitting_fabrics
from hocket.judging.finding import Finding, Kind, conclude
from hocket.judging.lines import FORMS, has_form, lines_of, whole_number
from hocket.judging.mention import Mention, Mentions
from hocket.rules.tuning_files.hocket_rules import of_function
from hocket.rules.tuning_files.openmpi_han import FUNCTIONS_OF_HAN

_SLOW_SHARE = 0.75
_CHANGE_FACTOR = 1.5
_LEAST_ROWS = 3
_MOST_KINKS = 2
_DIP, _LEAST_DIP_BYTES = 0.87, 1 << 16
_MANY_RANKS = 32
_HALF, _WHOLE = 0.67, 0.12
"""Data that passes through the host takes the way to its memory twice: a card reaches about half of its rate."""
_MOST_OF_PAIR = 2
_JAM_FACTOR, _LEAST_JAM_BYTES = 3, 1 << 20  # a jump so far of such large calls is rarely a choice of the library
_AVERAGE_SHARE = 0.75
_NOISE, _RUNS_FACTOR = 1.02, 1.5
_FALL_FACTOR, _ALIKE_FACTOR = 1.15, 1.05
"""A bandwidth that falls by the first factor is lower; runs within the second one are alike."""
_SETTINGS = ("debug build", "lanes", "binding", "algorithm", "protocol")


def causes_of(
    verdict: Finding, job: Job, shape: Shape | None, bus_bytes_per_s: float | None, mentions: Mentions
) -> tuple[Finding, ...]:
    """Return causes and hints for a verdict, the strongest first; of fine times, only what makes rows meaningless."""
    runs = _findings_of("cause", mentions.about("separate runs"))
    algorithms = "".join(one.value.lower() for one in mentions.of("algorithm"))
    is_of_trees = job.nodes == 2 and job.collective == "allreduce" and (job.ranks or 3) > 2 and "ring" not in algorithms
    may_be_of_nccl = job.is_of_nccl or not has_form(mentions.text, "benchmark of MPI")
    trees = [conclude("trees")] if is_of_trees and may_be_of_nccl else []
    if verdict.kind in ("fine", "fast"):
        of_shape = () if shape is None else (*_average(bus_bytes_per_s, mentions), *_kinks("hint", shape))
        lone = [conclude("one rank on a node", cards=job.cards_of_node)] if job.is_lone and job.cards_of_node else []
        return (*runs, *_sockets(job, "hint"), *lone, *trees, *of_shape)
    kind: Kind = "cause" if verdict.kind == "slow" else "hint"
    is_bound = job.is_of_cpus or not has_form(mentions.text, "mpirun") or has_form(mentions.text, "binding")
    candidates = [
        *runs,
        *_sockets(job, kind),
        *(() if job.is_one_node is False else _within_node(job, kind, bus_bytes_per_s, mentions)),
        *(() if job.is_one_node is True else _between_nodes(job, kind, bus_bytes_per_s, mentions)),
        *_slow_nodes(_list(FORMS["pair of hosts"], mentions)),
        *_between_leaves(_list(FORMS["leaves and bandwidth"], mentions, least=2)),
        *_changes_of_version(_list(FORMS["version and bandwidth"], mentions)),
        *(() if shape is None or verdict.subject == "algorithm" else (*_kinks("cause", shape), *_dips(shape))),
        *_hints(verdict, job, mentions),
    ]
    has_cause = any(one.kind == "cause" and one.source for one in candidates)
    candidates += [
        *_findings_of(
            "hint" if has_cause else kind,
            *map(mentions.about, _SETTINGS if job.is_one_node is not False else ("peer-to-peer", *_SETTINGS)),
        ),
        *trees,
        *([] if is_bound or has_cause else [conclude("launcher")]),
    ]
    return tuple(dict.fromkeys(candidates))


def statements(mentions: Mentions) -> tuple[Finding, ...]:
    """Return what a text says that may explain times, each with its line."""
    return tuple(_findings_of("hint", (one for one in mentions.mentions if one.subject and one.sentence)))


def _list(expression: re.Pattern[str], mentions: Mentions, least: int = _LEAST_ROWS) -> list[tuple[re.Match[str], str]]:
    """Return the bandwidths of a list in the text, each with its line; none if they are few."""
    lines = enumerate(lines_of(mentions.text), start=1)
    rows = [(match, f"{mentions.file}:{number}") for number, line in lines if (match := expression.match(line))]
    return rows if len(rows) >= least else []


def _slow_nodes(pairs: Sequence[tuple[re.Match[str], str]]) -> Iterator[Finding]:
    """Give the hosts of two or more slow pairs that no fast pair has."""
    least = _SLOW_SHARE * max((float(match["value"]) for match, _ in pairs), default=0.0)
    sources: dict[str, list[str]] = {}
    for match, source in pairs:
        for host in match.groups()[:2]:
            sources.setdefault(host, []).append(source if float(match["value"]) < least else "")
    slow_pairs = sum(float(match["value"]) < least for match, _ in pairs)
    for host, own in sources.items():
        if len(own) > 1 and all(own):
            yield conclude("slow node", source=own[0], host=host, pairs=len(own), slow_pairs=slow_pairs)


def _between_leaves(rows: Iterable[tuple[re.Match[str], str]]) -> Iterator[Finding]:
    """Give that the bandwidth of as many nodes falls with leaf switches, and whether runs on them differ.

    Where it also falls with nodes under as many leaves, the leaves need not be the cause.
    """
    runs: dict[tuple[int | None, int], list[float]] = {}
    sources: dict[tuple[int | None, int], str] = {}
    for row, source in rows:
        place = whole_number(row["nodes"] or ""), whole_number(row["leaves"]) or 1
        runs.setdefault(place, []).append(float(row["value"]))
        sources.setdefault(place, source)
    for (fewer, better), (more, worse) in permutations(runs.items(), 2):
        if fewer[0] != more[0] and fewer[1] == more[1] and _falls(better, worse) > _FALL_FACTOR:
            return
    pairs = [(a, b) for a, b in permutations(runs, 2) if a[0] == b[0] and a[1] < b[1]]
    fewer, more = max(pairs, key=lambda pair: _falls(*map(runs.__getitem__, pair)), default=((None, 1), (None, 1)))
    factor = _falls(runs[fewer], runs[more]) if pairs else 1.0
    if factor > _FALL_FACTOR:
        number, spread = len(runs[more]), max(runs[more]) / min(runs[more])
        name = "collisions or taper" if number == 1 else "taper" if spread <= _ALIKE_FACTOR else "collisions"
        fall = partial(conclude, name, source=sources[more], fewer=fewer[1], more=more[1], factor=factor)
        yield fall(runs=number, percent=100 * (spread - 1))


def _falls(before: Sequence[float], after: Sequence[float]) -> float:
    return fmean(before) / fmean(after)


def _changes_of_version(rows: Sequence[tuple[re.Match[str], str]]) -> Iterator[Finding]:
    """Give the versions of a library between which the bandwidth changes."""
    for (before, _), (after, source) in pairwise(rows):
        old, new = float(before["value"]), float(after["value"])
        if new > 0 and old > _CHANGE_FACTOR * new:
            one, other = before["version"], after["version"]
            yield conclude("library version", source=source, before=one, after=other, factor=old / new)


def _findings_of(kind: Kind, *groups: Iterable[Mention]) -> Iterator[Finding]:
    for one in chain(*groups):
        yield Finding(kind, _sentence(one), one.subject, one.source)


def _sentence(one: Mention) -> str:
    known_names = ("NCCL", "MPIR", "UCX", "FI_", "GPU", "--")
    return one.sentence if one.sentence.startswith(known_names) else one.sentence[0].upper() + one.sentence[1:]


def _sockets(job: Job, kind: Kind) -> Iterator[Finding]:
    if job.sockets is not None and job.is_one_node is not True:
        yield conclude("sockets", kind=kind, source=job.sockets.source, told=_sentence(job.sockets))


def _within_node(job: Job, kind: Kind, bus_bytes_per_s: float | None, mentions: Mentions) -> Iterator[Finding]:
    """Give what keeps GPUs of a node from reaching each other."""
    forbids = (*mentions.about("peer-to-peer"), *mentions.about("shared memory"))
    yield from _findings_of(kind if job.gpu_name else "hint", forbids)
    yield from _findings_of(kind, mentions.about("peer-to-peer through the CPU"))
    if job.ranks is None or job.ranks > _MOST_OF_PAIR:
        pairs = (one for one in mentions.of("links") if one.value == "pairs")
        yield from _findings_of("cause", (replace(one, subject="peer-to-peer through the CPU") for one in pairs))
    has_links = job.gpu is not None and job.gpu.form != "PCIe"
    if bus_bytes_per_s is not None and not forbids and job.is_one_node and has_links:
        for one in fitting_fabrics(bus_bytes_per_s, ("pcie",))[:1]:
            yield conclude("bandwidth of PCIe", bytes_per_s=bus_bytes_per_s, fabric=one.name)
    yield from _findings_of("hint", mentions.about("ACS") if job.is_one_node else ())


def _between_nodes(job: Job, kind: Kind, bus_bytes_per_s: float | None, mentions: Mentions) -> Iterator[Finding]:
    """Give what limits messages between nodes."""
    has_direct = any(one.value == "GDRDMA" for one in mentions.of("transport"))
    for one in mentions.about("GPUDirect RDMA"):
        extra = "; other lines show direct access, so one side lacks it" if has_direct and one.value == "NET" else ""
        yield Finding("cause" if extra else kind, _sentence(one) + extra, one.subject, one.source)
    if job.bus is not None:
        yield from _findings_of(kind, [job.bus])
        return
    yield from _findings_of(kind, mentions.about("ACS"), mentions.about("detected topology"))
    yield from _findings_of(kind, mentions.about("collisions"))
    of_cards = None if bus_bytes_per_s is None else bus_bytes_per_s / bus_over_cards(job)
    if not has_direct:
        yield from _findings_of("hint", mentions.of("near cards"))
        card = job.card if job.net == "rdma" and (job.gpu_name or job.is_of_nccl) else None
        if of_cards is not None and card is not None and of_cards < _HALF * card.lowest_bytes_per_s:
            yield conclude("less than a card", bytes_per_s=of_cards, fabric=card.name)
    yield from _one_card(job, kind, of_cards, mentions)
    for one in mentions.of("virtual machines") if not job.is_of_cpus else ():
        yield conclude("virtual machines", source=one.source)
    yield from _findings_of("hint", mentions.about("number of cards"))


def _one_card(job: Job, kind: Kind, bus_bytes_per_s: float | None, mentions: Mentions) -> Iterator[Finding]:
    """Give that fewer cards carry data than a node has."""
    mention = next(iter((*mentions.of("cards used"), *mentions.of("cards named"))), None)
    of_one = None if bus_bytes_per_s is None or job.card is None else bus_bytes_per_s / job.card.highest_bytes_per_s
    cards = job.cards_of_node or 1
    if mention is not None and mention.value == "1" and (job.ranks_per_node or 2) > 1 and job.sockets is None:
        if of_one is None or of_one > _HALF:
            yield conclude("only card", kind=kind, source=mention.source, told=_sentence(mention))
    elif bus_bytes_per_s is not None and of_one is not None:
        number = round(of_one)
        if number in range(1, cards) and abs(of_one - number) < _WHOLE * number:
            yield conclude("some cards", kind=kind, bytes_per_s=bus_bytes_per_s, number=number, cards=cards)
    if job.is_lone and cards > 1:
        yield conclude("one rank on a node", cards=cards)


def _kinks(kind: Kind, shape: Shape) -> Iterator[Finding]:
    """Give the sizes at which the time leaves its trend."""
    kinks = sorted(shape.kinks, key=lambda one: max(one.factor, 1 / one.factor), reverse=True)
    for kink in kinks[:_MOST_KINKS]:
        finding = partial(conclude, before_bytes=kink.before_bytes, size_bytes=kink.size_bytes)
        if kink.factor < 1 and kink.before_bytes == shape.sizes_bytes[0]:
            yield finding("first size", factor=1 / kink.factor)
        elif kink.is_spike:
            yield finding("one size", factor=kink.factor)
        elif kink.factor > _JAM_FACTOR and kink.before_bytes >= _LEAST_JAM_BYTES:
            yield finding("jam", factor=kink.factor)
        elif kink.factor > 1:
            yield finding("jump", kind=kind, factor=kink.factor)
        else:
            yield finding("fall", kind=kind, percent=100 * (1 - kink.factor))


def _dips(shape: Shape) -> Iterator[Finding]:
    """Give the size at which the bandwidth of large calls falls most, if the time has no kink there."""
    sizes = {kink.size_bytes for kink in shape.kinks}
    falls = [
        (rate / less, less_bytes, size)
        for (less_bytes, less), (size, rate) in pairwise(zip(shape.sizes_bytes, shape.rates, strict=True))
        if less_bytes >= _LEAST_DIP_BYTES and size not in sizes
    ]
    ratio, less_bytes, size = min(falls, default=(1.0, 0, 0))
    if ratio < _DIP:
        yield conclude("dip", before_bytes=less_bytes, size_bytes=size, percent=100 * (1 - ratio))


def _hints(verdict: Finding, job: Job, mentions: Mentions) -> Iterator[Finding]:
    """Give what many ranks of a node share, what to make of two runs, and whether Open MPI 5 runs by levels."""
    if verdict.subject == "small sizes" and job.ranks_per_node is not None and job.ranks_per_node >= _MANY_RANKS:
        yield conclude("many ranks", ranks=job.ranks_per_node)
    if verdict.subject == "two runs":
        yield conclude("what differs")
    averages = sorted(one.bytes_per_s for one in mentions.figures if one.is_of_output)
    if len(averages) == 2 and _NOISE < averages[1] / averages[0] < _RUNS_FACTOR:
        yield conclude("noise", percent=100 * (1 - averages[0] / averages[1]))
    library = next((one for one in mentions.of("library") if FORMS["Open MPI with HAN"].match(one.value)), None)
    has_levels = (job.ranks_per_node or 1) > 1 and (job.nodes or 1) > 1
    is_set = any(one.value.startswith(("coll_han", "coll=")) for one in mentions.of("algorithm"))
    if library is not None and has_levels and not is_set and of_function(job.collective) in FUNCTIONS_OF_HAN:
        yield conclude("by levels", source=library.source, collective=job.collective.capitalize())


def _average(bus_bytes_per_s: float | None, mentions: Mentions) -> Iterator[Finding]:
    """Give that an average over sizes is far below the bandwidth of large ones, as it counts small ones too."""
    for one in mentions.figures:
        if one.is_of_output and bus_bytes_per_s and one.bytes_per_s < _AVERAGE_SHARE * bus_bytes_per_s:
            average = one.bytes_per_s
            yield conclude("all sizes", source=one.source, average_bytes_per_s=average, bytes_per_s=bus_bytes_per_s)
            return
