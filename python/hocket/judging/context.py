"""The job that a text describes, the bandwidth that its machine allows, and the verdict on a bandwidth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

from hocket.base.units import format_count
from hocket.judging.curves import Shape
from hocket.judging.fabrics import FABRICS, Fabric, GpuModel, card_fabric, fitting_fabrics, gpu_model
from hocket.judging.finding import Finding, conclude
from hocket.judging.lines import FORMS, has_form
from hocket.judging.mention import Mention, Mentions

NORMAL_SHARE = 0.85
"""So much of the least usual bandwidth still passes as normal: sizes may be too small, and runs differ."""
_FAST_FACTOR = 1.1
_AVERAGE_SHARE = 0.5
_MOST_NAMES = 4
_ROUNDING_FACTOR = 1.05
_CARDS_OF_NODES = (1, 2, 4, 8)
_WITHIN_NODES = ("nvlink", "xgmi", "pcie", "shm")
_OF_GPUS = ("nvlink", "xgmi", "pcie")
_BETWEEN_NODES = ("tcp", "rdma", "efa", "slingshot", "omni-path")
_ONLY_SXM = ("H200", "H800", "A800", "B300", "GB300")
_SLOWEST_RDMA_GBIT = 100


@dataclass(frozen=True)
class Job:
    """The job that a text describes. What it does not tell is None, or empty."""

    collective: str
    ranks: int | None
    ranks_per_node: int | None
    nodes: int | None
    is_one_node: bool | None
    gpu: GpuModel | None
    gpu_name: str  # that of the text, also where their bandwidth is not known
    net: str  # the kind of the network, as in `hocket.judging.fabrics.Fabric`
    card: Fabric | None
    cards: int | None  # of a node that the library uses, or that the text tells
    cards_of_node: int | None  # all that the text tells, also those that are not used
    sockets: Mention | None
    is_of_nccl: bool
    is_of_cpus: bool  # of an MPI benchmark, and nothing in the text tells of GPUs
    bus: Mention | None  # one to a network card that carries less than the card

    @property
    def is_lone(self) -> bool:
        """Whether one GPU of each node takes part, which uses the card beside it alone."""
        return self.ranks_per_node == 1 and (self.is_of_nccl or bool(self.gpu_name))

    def of_cards(self, bus_bytes_per_s: float) -> float:
        """Return what the cards of a node carry at a bus bandwidth, if nodes combine data before they send them."""
        if self.collective != "allreduce" or not self.ranks or not self.ranks_per_node:
            return bus_bytes_per_s
        return bus_bytes_per_s * max(1, self.ranks - self.ranks_per_node) / max(1, self.ranks - 1)


class UsualRate(NamedTuple):
    """What limits a bus bandwidth, such as "4 cards of 200 Gbit/s InfiniBand/RoCE", and the ends of what is usual."""

    what: str
    lowest_bytes_per_s: float
    highest_bytes_per_s: float  # infinite where the rate of the cards is not known


def job_of(mentions: Mentions, shape: Shape | None) -> Job:
    """Return the job that a text describes, and whose times have a shape."""
    facts = mentions.facts
    ranks = shape.ranks if shape is not None and shape.ranks else facts.ranks
    per_node = shape.ranks_per_node if shape is not None and shape.ranks_per_node else facts.ranks_per_node
    nodes = _count(mentions, "nodes")
    if ranks is not None and per_node is not None:
        nodes = -(-ranks // per_node)
    elif nodes is not None and nodes < len(mentions.values("host")):
        nodes = None
    if per_node is None and nodes and ranks and ranks % nodes == 0:
        per_node = ranks // nodes
    name, gpu = _gpu(mentions)
    net, rate = mentions.only("net") or "", _count(mentions, "rate")
    sockets = next((one for one in mentions.about("TCP sockets") if one.value != "none"), None)
    cards = [_count(mentions, kind) for kind in ("cards used", "cards named", "cards told")]
    if not net and (cards[1] is not None or (cards[2] is not None and rate is not None)):
        net = "rdma"  # NCCL_IB_HCA names cards of InfiniBand/RoCE; others are named by more than their rate
    kind = "tcp" if sockets is not None else net
    if gpu is not None and gpu.card_gbit_per_s and rate is None and not any(cards):
        cards[2] = per_node  # a card beside each GPU
    return Job(
        collective=(shape.collective if shape is not None else facts.collective) or "",
        ranks=ranks,
        ranks_per_node=per_node,
        nodes=nodes,
        is_one_node=_is_one_node(mentions, nodes),
        gpu=gpu,
        gpu_name=name,
        net=kind,
        card=_card(kind, rate, gpu),
        cards=next(filter(None, cards), None),
        cards_of_node=max((count for count in cards if count is not None), default=None),
        sockets=sockets,
        is_of_nccl=(is_of_nccl := has_form(mentions.text, "NCCL")),
        is_of_cpus=not (is_of_nccl or name or has_form(mentions.text, "with GPUs"))
        and has_form(mentions.text, "benchmark of MPI"),
        bus=next(iter(mentions.of("bus")), None),
    )


def _card(kind: str, rate: int | None, gpu: GpuModel | None) -> Fabric | None:
    """Return the class of the network cards, without the name of a network if the text has none."""
    own = gpu.card_gbit_per_s if gpu is not None else 0
    if rate is None and own and not kind and (card := card_fabric("slingshot", own)) is not None:
        return replace(card, name=f"{own} Gbit/s, one beside each {gpu.name if gpu is not None else 'GPU'}")
    return card_fabric(kind, rate or own) if kind and (rate or own) else None


def usual_rate_of(job: Job) -> UsualRate | None:
    """Return the bus bandwidth that a job's machine allows; None if the text does not tell enough."""
    if job.is_one_node:
        return None if job.gpu is None or job.ranks == 1 else _within_node(job, job.gpu)
    cards = 1 if job.sockets is not None or job.is_lone else job.cards_of_node
    if job.is_one_node is None or cards is None:
        return None
    if job.card is not None:
        of_bus = cards * bus_over_cards(job)
        lowest, highest = of_bus * job.card.lowest_bytes_per_s, of_bus * job.card.highest_bytes_per_s
        if job.gpu is not None and job.gpu.highest_bytes_per_s < lowest:
            return _within_node(job, job.gpu)  # their links allow less than the cards
        return UsualRate(f"{format_count(cards, 'card')} of {job.card.name}", lowest, highest)
    slowest = card_fabric("rdma", _SLOWEST_RDMA_GBIT)
    if job.net != "rdma" or cards == 1 or slowest is None:
        return None
    return UsualRate(f"{cards} cards of {slowest.name} or more", cards * slowest.lowest_bytes_per_s, inf)


def _within_node(job: Job, gpu: GpuModel) -> UsualRate:
    count = f"{job.ranks} " if job.is_one_node and job.ranks else ""
    return UsualRate(f"{count}{gpu.name} GPUs on {gpu.fabric}", gpu.lowest_bytes_per_s, gpu.highest_bytes_per_s)


def bus_over_cards(job: Job) -> float:
    """Return the bus bandwidth that cards of a node allow, by their own.

    A ring passes each byte through one card of a node, once. In an alltoall, all ranks of a node share its cards, and
    send a part of their data to ranks of their own node.

    Source: https://github.com/NVIDIA/nccl-tests/issues/130
    """
    if job.collective != "alltoall" or job.nodes in (None, 1) or job.ranks_per_node is None:
        return 1.0
    nodes = job.nodes or 2
    return nodes / (nodes - 1) / job.ranks_per_node


def _is_one_node(mentions: Mentions, nodes: int | None) -> bool | None:
    """Return whether all ranks are on one node, by their number or by what the library does between nodes."""
    if nodes is not None:
        return nodes == 1
    counts = [int(value) for value in mentions.values("nodes")]
    is_between = any(one.value in ("socket", "NET", "GDRDMA") for one in mentions.of("transport"))
    if {*counts} == {1} and not is_between:
        return True
    if is_between or len(mentions.values("host")) > 1 or (counts and min(counts) > 1):
        return False
    return None


def _gpu(mentions: Mentions) -> tuple[str, GpuModel | None]:
    """Return the name of the GPUs, and their model, if the text tells of one model only."""
    parts = {
        (match["model"], match["form"] or "")
        for value in mentions.values("gpu")
        if (match := FORMS["GPU"].match(value))
    }
    names = {model for model, _ in parts}
    if len(names) != 1:
        return "", None
    name = names.pop()
    form = next((form.replace("PCI", "PCIe") for _, form in parts if form), "")
    links = mentions.only("links")
    if links in ("pairs", "no NVLink"):
        form = "PCIe"
    elif not form and (
        links == "NVLink" or name in _ONLY_SXM or (links is None and has_form(mentions.text, "with NVLink"))
    ):
        form = "SXM"
    return name, None if not form and name in ("A100", "H100", "V100") else gpu_model(name, form)


def _count(mentions: Mentions, kind: str) -> int | None:
    value = mentions.only(kind)
    return None if value is None else int(value)


def bandwidth_verdict(
    bus_bytes_per_s: float, job: Job, start: str, source: str = "", *, is_average: bool = False
) -> Finding:
    """Return the verdict on a bus bandwidth."""
    what, low, high = usual_rate_of(job) or UsualRate("", 0.0, inf)
    if bus_bytes_per_s >= NORMAL_SHARE * low and high == inf:
        return _fit(bus_bytes_per_s, job, start, source)
    usual = f"{low / 1e9:.3g}{'' if high == inf else f' to {high / 1e9:.3g}'} GB/s is usual for {what}"
    of_cards = job.of_cards(bus_bytes_per_s) if job.is_one_node is False else bus_bytes_per_s
    if bus_bytes_per_s > _FAST_FACTOR * high:
        name = "tree" if of_cards <= _FAST_FACTOR * high else "high bandwidth"
    elif bus_bytes_per_s >= NORMAL_SHARE * low:
        name = "usual bandwidth"
    else:
        name = "average" if is_average and bus_bytes_per_s >= _AVERAGE_SHARE * low else "low bandwidth"
    factor = low / bus_bytes_per_s
    return conclude(name, source=source, start=start, usual=usual, bytes_per_s=of_cards, factor=factor)


def _fit(bus_bytes_per_s: float, job: Job, start: str, source: str) -> Finding:
    if job.nodes == 2 and job.is_of_nccl:  # NCCL runs trees there
        bus_bytes_per_s = job.of_cards(bus_bytes_per_s)
    between = (job.net,) if job.is_one_node is False and job.net else _BETWEEN_NODES
    possible = {True: _WITHIN_NODES, False: between, None: (*_WITHIN_NODES, *between)}[job.is_one_node]
    others = _OF_GPUS if job.is_of_cpus else () if "MI" in job.gpu_name else ("xgmi",)
    kinds = tuple(kind for kind in possible if kind not in others)
    names = [
        fabric.name
        for fabric in fitting_fabrics(bus_bytes_per_s, kinds)
        if fabric.kind in _WITHIN_NODES or job.cards in (None, 1)
    ]
    if job.is_one_node is not True and job.net in ("", "rdma"):
        names = [*(name for name in names if "InfiniBand" not in name), *_cards_that_fit(bus_bytes_per_s, job)]
    if names:
        return conclude("bandwidth of fabrics", source=source, start=start, fabrics=", or ".join(names[:_MOST_NAMES]))
    slower = [one for one in FABRICS if one.kind in kinds and one.highest_bytes_per_s < bus_bytes_per_s]
    if not slower:
        return conclude("bandwidth of no fabric", source=source, start=start)
    nearest = max(slower, key=lambda one: one.highest_bytes_per_s)
    return conclude("bandwidth above a fabric", source=source, start=start, fabric=nearest.name)


def _cards_that_fit(bus_bytes_per_s: float, job: Job) -> list[str]:
    """Return the numbers and classes of InfiniBand or RoCE cards of a node that fit; first, one for each rank."""
    counts = [job.cards] if job.cards else sorted(_CARDS_OF_NODES, key=lambda count: count != job.ranks_per_node)
    counts = [1] if job.is_lone else counts
    return [
        f"{format_count(count, 'card')} of {fabric.name}"
        for count in counts
        for fabric in reversed(FABRICS)
        if fabric.kind == "rdma"
        and NORMAL_SHARE * fabric.lowest_bytes_per_s
        <= bus_bytes_per_s / count
        <= _ROUNDING_FACTOR * fabric.highest_bytes_per_s
    ]


def unknowns_of(job: Job, mentions: Mentions, verdict: Finding) -> list[Finding]:
    """Return what the text does not tell, and what it states in two ways."""
    others = [Finding("unknown", sentence, "ranks") for sentence in mentions.disagreements]
    if verdict.kind != "unknown":
        return others
    if job.is_one_node is None:
        others.append(conclude("nodes not told"))
    if job.is_one_node is not True and (job.card is None or job.cards is None) and job.sockets is None:
        others.append(conclude("cards not told"))
    if job.is_one_node is not False and not job.gpu_name and not job.is_of_cpus:
        others.append(conclude("GPUs not told"))
    return others
