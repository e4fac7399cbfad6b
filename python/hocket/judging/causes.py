"""Causes that a text and its times show, and hints where to look, the strongest first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, pairwise

from hocket.base.units import format_bytes, format_rate
from hocket.judging.comparisons import comparisons_in
from hocket.judging.context import Job, bus_over_cards, is_of_mpi
from hocket.judging.fabrics import fitting_fabrics
from hocket.judging.figures import figures_in
from hocket.judging.finding import Finding, Kind
from hocket.judging.mention import Mention, Mentions
from hocket.judging.patterns import (
    ACS,
    ALGORITHM,
    BINDING,
    CARDS,
    GPUDIRECT,
    LAUNCH,
    NO_P2P,
    PROTOCOL,
    SHARED_MEMORY,
    SOCKETS,
    THROUGH_CPU,
    TOPOLOGY,
)
from hocket.judging.shape import Kink, Shape
from hocket.judging.topology_tables import PAIRS
from hocket.rules.tuning_files.hocket_rules import of_function
from hocket.rules.tuning_files.openmpi_han import FUNCTIONS_OF_HAN

ONE_CARD = "one card"
READING = "bus bandwidth"
LAUNCHER = "launcher"
HAN = "Open MPI's component HAN"

_MOST_KINKS = 2
_DIP, _LEAST_DIP_BYTES = 0.87, 1 << 16
_MANY_RANKS = 32
_HALF, _WHOLE = 0.67, 0.12
"""Data that passes through the host takes the way to its memory twice: a card reaches about half of its rate."""
_MOST_OF_PAIR = 2
_VIRTUAL = re.compile(r"(?i)\bvirtuali[sz]|\bSR-?IOV\b|\bQEMU\b|\bKVM\b|\bVFIO\b|\bpass-?through\b|\b[0-9] ?VMs\b")
_JAM_FACTOR, _LEAST_JAM_BYTES = 3, 1 << 20
"""A jump so far of such large calls is rarely a choice of the library."""
_AVERAGE_SHARE = 0.75
_NOISE, _RUNS_FACTOR = 1.02, 1.5
_WITH_HAN = re.compile(r"(?i)open ?mpi 5\.")
_BINDS = re.compile(r"bind-to\b|cpu-bind|cpus-per-task|taskset|numactl")
_LAUNCHES = re.compile(r"\bmpirun\s")


def causes_of(
    verdict: Finding, job: Job, shape: Shape | None, bus_bytes_per_s: float | None, mentions: Mentions
) -> tuple[Finding, ...]:
    """Return the causes and hints for a verdict, the strongest first.

    Args:
        verdict: The verdict. Of times that are fine, only what makes rows meaningless is a cause.
        job: The job.
        shape: The shape of the curve; None without rows.
        bus_bytes_per_s: The bandwidth of the bus, of the rows or as the text quotes it; None if it is unknown.
        mentions: What the text says.
    """
    runs = _findings_of("cause", mentions.about(LAUNCH))
    if verdict.kind in ("fine", "fast"):
        average = _average(bus_bytes_per_s, shape, mentions)
        return tuple(chain(runs, _sockets(job, "hint"), _reading(job, mentions), average, _kinks("hint", shape)))
    kind: Kind = "cause" if verdict.kind == "slow" else "hint"
    candidates = chain(
        runs,
        _sockets(job, kind),
        _within_node(job, kind, bus_bytes_per_s, mentions),
        _between_nodes(job, kind, bus_bytes_per_s, mentions),
        comparisons_in(mentions),
        _kinks("cause", shape),
        _dips(shape),
        _many_ranks(verdict, job),
        _by_levels(job, mentions),
        _runs(verdict, mentions),
        _findings_of("hint", mentions.about(ALGORITHM), mentions.about(PROTOCOL), mentions.about(BINDING)),
        _reading(job, mentions),
        _binding(job, mentions),
    )
    return tuple(dict.fromkeys(candidates))


def _findings_of(kind: Kind, *groups: tuple[Mention, ...]) -> Iterator[Finding]:
    """Give a finding for each mention, with its line."""
    for one in chain(*groups):
        yield Finding(kind, _sentence(one), one.subject, one.source)


def _sentence(one: Mention) -> str:
    known_names = ("NCCL", "MPIR", "UCX", "FI_", "GPU", "--")
    return one.sentence if one.sentence.startswith(known_names) else one.sentence[0].upper() + one.sentence[1:]


def _sockets(job: Job, kind: Kind) -> Iterator[Finding]:
    if job.sockets is not None and job.is_one_node is not True:
        sentence = f"{_sentence(job.sockets)}: TCP reaches a part of the rate of a card, and its latency is longer"
        yield Finding(kind, sentence, SOCKETS, job.sockets.source)


def _within_node(job: Job, kind: Kind, bus_bytes_per_s: float | None, mentions: Mentions) -> Iterator[Finding]:
    """Give what keeps GPUs of a node from reaching each other."""
    if job.is_one_node is False:
        return
    forbids = (*mentions.about(NO_P2P), *mentions.about(SHARED_MEMORY))
    yield from _findings_of(kind if job.has_nvlink or job.gpu_name else "hint", forbids)
    yield from _findings_of(kind, mentions.about(THROUGH_CPU))
    yield from _links(job, mentions)
    yield from _like_pcie(job, bus_bytes_per_s, has_reason=bool(forbids))
    yield from _findings_of("hint", mentions.about(ACS) if job.is_one_node else ())


def _links(job: Job, mentions: Mentions) -> Iterator[Finding]:
    """Give that NVLink joins pairs of GPUs only, where more of them take part."""
    if (job.ranks or _MOST_OF_PAIR + 1) > _MOST_OF_PAIR:
        pairs = tuple(replace(one, subject=THROUGH_CPU) for one in mentions.of("links") if one.value == PAIRS)
        yield from _findings_of("cause", pairs)


def _like_pcie(job: Job, bus_bytes_per_s: float | None, *, has_reason: bool) -> Iterator[Finding]:
    """Give that GPUs which NVLink joins reach the bandwidth of PCIe only."""
    if bus_bytes_per_s is None or has_reason or not (job.is_one_node and job.has_nvlink):
        return
    names = [one.name for one in fitting_fabrics(bus_bytes_per_s, ("pcie",))]
    if names:
        sentence = (
            f"{format_rate(bus_bytes_per_s)} is the bandwidth of {names[0]}, not of NVLink: look for SHM or P2P in the "
            "log, for NCCL_P2P_LEVEL and NCCL_P2P_DISABLE, and whether nvidia-smi nvlink --status shows all links up"
        )
        yield Finding("hint", sentence, NO_P2P)


def _between_nodes(job: Job, kind: Kind, bus_bytes_per_s: float | None, mentions: Mentions) -> Iterator[Finding]:
    """Give what limits messages between nodes."""
    if job.is_one_node is True:
        return
    has_direct = any(one.value == "GDRDMA" for one in mentions.of("transport"))
    for one in mentions.about(GPUDIRECT):
        extra = "; other lines show direct access, so one side lacks it" if has_direct and one.value == "NET" else ""
        yield Finding("cause" if extra else kind, _sentence(one) + extra, GPUDIRECT, one.source)
    yield from _findings_of(kind, mentions.about(ACS), mentions.about(TOPOLOGY))
    yield from _findings_of("hint", () if has_direct else mentions.of("near cards"))
    of_cards = None if bus_bytes_per_s is None else bus_bytes_per_s / bus_over_cards(job)
    yield from _below_one_card(job, of_cards, has_direct=has_direct)
    yield from _one_card(job, kind, of_cards, mentions)
    yield from () if job.is_of_cpus else _virtual(mentions)
    yield from _findings_of("hint", mentions.about(CARDS))


def _below_one_card(job: Job, bus_bytes_per_s: float | None, *, has_direct: bool) -> Iterator[Finding]:
    """Give that not even one card is used up, though they are fast ones of GPUs."""
    if bus_bytes_per_s is None or job.card is None or job.net != "rdma" or has_direct or not job.has_gpus:
        return
    if bus_bytes_per_s < _HALF * job.card.lowest_bytes_per_s:
        sentence = (
            f"{format_rate(bus_bytes_per_s)} is less than two thirds of one card of {job.card.name}: look for "
            "GPUDirect RDMA in the log (GDRDMA), for the module nvidia-peermem, and whether ACS is off"
        )
        yield Finding("hint", sentence, GPUDIRECT)


def _one_card(job: Job, kind: Kind, bus_bytes_per_s: float | None, mentions: Mentions) -> Iterator[Finding]:
    """Give that fewer cards carry data than a node has."""
    mention = next((one for one in (*mentions.of("cards used"), *mentions.of("cards named"))), None)
    of_one = None if bus_bytes_per_s is None or job.card is None else bus_bytes_per_s / job.card.highest_bytes_per_s
    if mention is not None and mention.value == "1" and (job.ranks_per_node or 2) > 1 and job.sockets is None:
        if of_one is None or of_one > _HALF:
            yield Finding(kind, f"{_sentence(mention)}, for all ranks of a node", ONE_CARD, mention.source)
    elif bus_bytes_per_s is not None and of_one is not None and (job.cards_of_node or 1) > 1:
        cards = round(of_one)
        if cards in range(1, job.cards_of_node or 1) and abs(of_one - cards) < _WHOLE * cards:
            rate = format_rate(bus_bytes_per_s)
            yield Finding(kind, f"{rate} is the bandwidth of {cards} of the {job.cards_of_node} cards", ONE_CARD)
    if job.ranks_per_node == 1 and (job.cards_of_node or 1) > 1:
        sentence = f"One rank on a node uses the cards beside its GPU, not all {job.cards_of_node}"
        yield Finding("hint", sentence, ONE_CARD)


def _virtual(mentions: Mentions) -> Iterator[Finding]:
    """Give what to check in virtual machines."""
    for number, line in enumerate(mentions.text.split("\n"), start=1):
        if _VIRTUAL.search(line):
            sentence = "Virtual machines need ACS and ATS set for direct transfers: check both, and GDRDMA in the log"
            yield Finding("hint", sentence, GPUDIRECT, f"{mentions.file}:{number}")
            return


def _kinks(kind: Kind, shape: Shape | None) -> Iterator[Finding]:
    """Give the sizes at which the time leaves its trend."""
    kinks = sorted(shape.kinks if shape is not None else (), key=_strength, reverse=True)
    for kink in kinks[:_MOST_KINKS]:
        less, size = format_bytes(kink.before_bytes), format_bytes(kink.size_bytes)
        if kink.factor < 1 and shape is not None and kink.before_bytes == shape.sizes_bytes[0]:
            sentence = f"{less} takes {1 / kink.factor:.1f} times as long as {size}: the first size has the first calls"
            yield Finding("hint", sentence, "first size")
        elif kink.is_spike:
            sentence = (
                f"{size} takes {kink.factor:.1f} times what its neighbours explain: a "
                "single disturbed size, or its first call"
            )
            yield Finding("hint", sentence, "one size")
        elif kink.factor > _JAM_FACTOR and kink.before_bytes >= _LEAST_JAM_BYTES:
            sentence = (
                f"From {less} to {size}, the time jumps {kink.factor:.1f} times more than the trend: a switch of "
                "algorithm or protocol, or a network that loses or holds back packets"
            )
            yield Finding("hint", sentence, "large sizes")
        elif kink.factor > 1:
            jump = f"the time jumps {kink.factor:.1f} times more than the trend"
            sentence = f"From {less} to {size}, {jump}: a switch of algorithm or protocol"
            yield Finding(kind, sentence, ALGORITHM)
        else:
            fall = f"the time falls by {100 * (1 - kink.factor):.0f} %"
            sentence = f"From {less} to {size}, {fall}: smaller calls use a slower algorithm or protocol"
            yield Finding(kind, sentence, ALGORITHM)


def _dips(shape: Shape | None) -> Iterator[Finding]:
    """Give the size at which the bandwidth of large calls falls most, if the time has no kink there."""
    if shape is None:
        return
    rates = [size / time for size, time in zip(shape.sizes_bytes, shape.times_s, strict=True)]
    sizes = {kink.size_bytes for kink in shape.kinks}
    falls = [
        (rate / less, less_bytes, size)
        for (less_bytes, less), (size, rate) in pairwise(zip(shape.sizes_bytes, rates, strict=True))
        if less_bytes >= _LEAST_DIP_BYTES and size not in sizes
    ]
    ratio, less_bytes, size = min(falls, default=(1.0, 0, 0))
    if ratio < _DIP:
        yield Finding(
            "hint",
            f"From {format_bytes(less_bytes)} to {format_bytes(size)}, the bandwidth falls by "
            f"{100 * (1 - ratio):.0f} %: the library may switch its algorithm there, or ranks disturb each other",
            ALGORITHM,
        )


def _many_ranks(verdict: Finding, job: Job) -> Iterator[Finding]:
    """Give that many ranks of a node share its cards, where small calls are slow."""
    if verdict.subject == "small sizes" and (job.ranks_per_node or 0) >= _MANY_RANKS:
        sentence = (
            f"{job.ranks_per_node} ranks of a node share its cards and its memory: compare with fewer on each node"
        )
        yield Finding("hint", sentence, BINDING)


def _by_levels(job: Job, mentions: Mentions) -> Iterator[Finding]:
    """Give that Open MPI 5 runs collectives by levels on several nodes with several ranks, unless a setting differs."""
    library = next((one for one in mentions.of("library") if _WITH_HAN.match(one.value)), None)
    has_levels = (job.ranks_per_node or 1) > 1 and (job.nodes or 1) > 1
    is_set = any(one.value.startswith(("coll_han", "coll=")) for one in mentions.of("algorithm"))
    if library is not None and has_levels and not is_set and of_function(job.collective) in FUNCTIONS_OF_HAN:
        what = f"{job.collective.capitalize()} on several nodes with several ranks runs by levels in Open MPI 5 (HAN)"
        yield Finding("hint", f"{what}: compare with --mca coll_han_priority 0", HAN, library.source)


def _runs(verdict: Finding, mentions: Mentions) -> Iterator[Finding]:
    """Give what to make of two runs."""
    if verdict.subject == "two runs":
        sentence = "What differs between the two runs is the cause: the library, its choice of algorithm, or a setting"
        yield Finding("hint", sentence, ALGORITHM)
    averages = sorted(one.bytes_per_s for one in figures_in(mentions) if one.is_of_output)
    if len(averages) == 2 and _NOISE < averages[1] / averages[0] < _RUNS_FACTOR:
        share = 100 * (1 - averages[0] / averages[1])
        sentence = (
            f"The averages of two runs differ by {share:.0f} %: repeat both several times, as runs differ by themselves"
        )
        yield Finding("hint", sentence, "noise")


def _strength(kink: Kink) -> float:
    return max(kink.factor, 1 / kink.factor)


def _reading(job: Job, mentions: Mentions) -> Iterator[Finding]:
    """Give how to read bus bandwidths of two nodes."""
    if is_of_mpi(mentions) and not job.is_of_nccl:
        return
    algorithms = "".join(one.value.lower() for one in mentions.of("algorithm"))
    if job.nodes == 2 and job.collective == "allreduce" and (job.ranks or 3) > 2 and "ring" not in algorithms:
        sentence = (
            "On two nodes, NCCL uses trees, whose bus bandwidth may exceed that of the cards; NCCL_ALGO=Ring measures "
            "the network"
        )
        yield Finding("hint", sentence, READING)


def _average(bus_bytes_per_s: float | None, shape: Shape | None, mentions: Mentions) -> Iterator[Finding]:
    """Give that an average over sizes is far below the bandwidth of large ones, as it counts small ones too."""
    if bus_bytes_per_s is None or shape is None:
        return
    for one in figures_in(mentions):
        if one.is_average and one.is_of_output and one.bytes_per_s < _AVERAGE_SHARE * bus_bytes_per_s:
            sentence = (
                f"The average of {format_rate(one.bytes_per_s)} counts all sizes, small ones too: large ones reach "
                f"{format_rate(bus_bytes_per_s)}, and only that compares with a link"
            )
            yield Finding("hint", sentence, READING, one.source)
            return


def _binding(job: Job, mentions: Mentions) -> Iterator[Finding]:
    """Give that the launcher binds ranks to cores unless it is told otherwise: threads that serve a GPU share one."""
    if not job.is_of_cpus and _LAUNCHES.search(mentions.text) and not _BINDS.search(mentions.text):
        yield Finding("hint", "Mpirun binds each rank to a core by default: compare with --bind-to none", LAUNCHER)
