"""The job that a text describes, and the bandwidth that its machine allows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from hocket.base.units import format_count
from hocket.judging.fabrics import Fabric, GpuModel, card_fabric, gpu_model
from hocket.judging.mention import SOCKETS, Mention, Mentions
from hocket.judging.shape import Shape
from hocket.judging.topology_tables import NO_NVLINK, NVLINK, PAIRS

_NVLINK_FORMS = ("SXM", "OAM")
_ONLY_SXM = ("H200", "H800", "A800", "B300", "GB300")
NCCL = re.compile(r"\b[NR]CCL_|[NR]CCL INFO|_perf\b|\b[nr]ccl-tests?\b")
_MPI = re.compile(r"\bosu_i?[a-z]|\bOSU MPI|\bIMB-|Intel\(R\) MPI Benchmarks|# Benchmarking ")
_GPUS = re.compile(r"(?i)cuda|rocm|\bgpus?\b|(?-i:\bD D\b)")
_HAS_LINKS = re.compile(r"\bNV(?:L|18|12|6|4)\b|(?i:nvlink|nvswitch)|HBM3\b")
_SLOWEST_RDMA_GBIT = 100
_GPU = re.compile(r"(?P<model>(?:RTX )?[A-Z]*[0-9]+[A-Z]?)(?:[- ]?(?P<form>SXM|PCI))?")


@dataclass(frozen=True)
class Job:
    """The job that a text describes. What it does not tell is None, or empty.

    Attributes:
        collective: The collective.
        ranks: Number of ranks.
        ranks_per_node: Ranks on a node.
        nodes: Number of nodes.
        is_one_node: Whether all ranks are on one node; None if that is unknown.
        gpu: The model of the GPUs.
        gpu_name: Its name in the text, also where its bandwidth is not known.
        net: The kind of the network, as in `hocket.judging.fabrics.Fabric`.
        card: The class of a network card.
        cards: Number of cards of a node that the library uses, or that the text tells.
        cards_of_node: Number of cards of a node that the text tells, also of those that are not used.
        sockets: The mention of TCP sockets.
        is_of_nccl: Whether the text tells of NCCL or RCCL.
        is_of_cpus: Whether the times are of an MPI benchmark, and nothing in the text tells of GPUs.
    """

    collective: str
    ranks: int | None
    ranks_per_node: int | None
    nodes: int | None
    is_one_node: bool | None
    gpu: GpuModel | None
    gpu_name: str
    net: str
    card: Fabric | None
    cards: int | None
    cards_of_node: int | None
    sockets: Mention | None
    is_of_nccl: bool = False
    is_of_cpus: bool = False

    @property
    def has_gpus(self) -> bool:
        """Whether the ranks are GPUs, as far as the text tells."""
        return bool(self.gpu_name) or self.is_of_nccl

    @property
    def has_nvlink(self) -> bool:
        """Whether NVLink or xGMI connects the GPUs of a node."""
        return self.gpu is not None and self.gpu.form in _NVLINK_FORMS


@dataclass(frozen=True)
class UsualRate:
    """The bus bandwidth that benchmarks reach on a machine.

    Attributes:
        what: What limits it, such as "4 cards of 200 Gbit/s InfiniBand/RoCE".
        lowest_bytes_per_s: The least bus bandwidth that is normal.
        highest_bytes_per_s: The greatest; infinite where the rate of the cards is not known.
    """

    what: str
    lowest_bytes_per_s: float
    highest_bytes_per_s: float


def job_of(mentions: Mentions, shape: Shape | None) -> Job:
    """Return the job that a text describes, and whose times have a shape."""
    facts = mentions.facts
    ranks = shape.ranks if shape is not None and shape.ranks else facts.ranks
    per_node = shape.ranks_per_node if shape is not None and shape.ranks_per_node else facts.ranks_per_node
    nodes = _nodes(mentions, ranks, per_node)
    if per_node is None and nodes and ranks and ranks % nodes == 0:
        per_node = ranks // nodes
    name, gpu = _gpu(mentions)
    net = _one(mentions.values("net")) or ""
    rate = _one(mentions.values("rate"))
    sockets = next((one for one in mentions.about(SOCKETS) if one.value != "none"), None)
    of_use, of_names, of_text = (_count(mentions, kind) for kind in ("cards used", "cards named", "cards told"))
    if not net and of_names is not None:
        net = "rdma"  # NCCL_IB_HCA names cards of InfiniBand/RoCE
    kind = "tcp" if sockets is not None else net
    return Job(
        collective=(shape.collective if shape is not None else facts.collective) or "",
        ranks=ranks,
        ranks_per_node=per_node,
        nodes=nodes,
        is_one_node=_is_one_node(mentions, nodes),
        gpu=gpu,
        gpu_name=name,
        net=kind,
        card=card_fabric(kind, int(rate)) if rate and kind else None,
        cards=of_use or of_names or of_text,
        cards_of_node=max((count for count in (of_use, of_names, of_text) if count is not None), default=None),
        sockets=sockets,
        is_of_nccl=(is_of_nccl := NCCL.search(mentions.text) is not None),
        is_of_cpus=not (is_of_nccl or name or _GPUS.search(mentions.text)) and is_of_mpi(mentions),
    )


def is_of_mpi(mentions: Mentions) -> bool:
    """Return whether a text is of a benchmark of MPI."""
    return _MPI.search(mentions.text) is not None


def usual_rate_of(job: Job) -> UsualRate | None:
    """Return the bus bandwidth that a job's machine allows; None if the text does not tell enough."""
    if job.is_one_node:
        return None if job.gpu is None or job.ranks == 1 else _within_node(job, job.gpu)
    cards = 1 if job.sockets is not None else job.cards_of_node
    if job.is_one_node is None or cards is None:
        return None
    if job.card is not None:
        return _between_nodes(job, job.card, cards)
    slowest = card_fabric("rdma", _SLOWEST_RDMA_GBIT)
    if job.net != "rdma" or cards == 1 or slowest is None:
        return None
    return UsualRate(f"{cards} cards of {slowest.name} or more", cards * slowest.lowest_bytes_per_s, inf)


def carried_share(job: Job) -> float | None:
    """Return what the cards of a node carry at least, by the bandwidth of the bus; None if that is unknown."""
    if job.ranks is None or job.ranks_per_node is None or job.collective != "allreduce":
        return None
    return (job.ranks - job.ranks_per_node) / (job.ranks - 1) if job.ranks_per_node < job.ranks else None


def _within_node(job: Job, gpu: GpuModel) -> UsualRate:
    count = f"{job.ranks} " if job.is_one_node and job.ranks else ""
    return UsualRate(f"{count}{gpu.name} GPUs on {gpu.fabric}", gpu.lowest_bytes_per_s, gpu.highest_bytes_per_s)


def _between_nodes(job: Job, card: Fabric, cards: int) -> UsualRate:
    """Return what the cards allow, or the GPUs of a node if their links allow less."""
    of_bus = cards * bus_over_cards(job)
    lowest, highest = of_bus * card.lowest_bytes_per_s, of_bus * card.highest_bytes_per_s
    if job.gpu is not None and job.gpu.highest_bytes_per_s < lowest:
        return _within_node(job, job.gpu)
    return UsualRate(f"{format_count(cards, 'card')} of {card.name}", lowest, highest)


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


def _nodes(mentions: Mentions, ranks: int | None, per_node: int | None) -> int | None:
    if ranks is not None and per_node is not None:
        return -(-ranks // per_node)
    count = _count(mentions, "nodes")
    hosts = len(mentions.values("host"))
    return count if count is not None and count >= hosts else None


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
    parts = {(match["model"], match["form"] or "") for value in mentions.values("gpu") if (match := _GPU.match(value))}
    names = {model for model, _ in parts}
    if len(names) != 1:
        return "", None
    name = names.pop()
    form = next((form.replace("PCI", "PCIe") for _, form in parts if form), "")
    links = _one(mentions.values("links"))
    if links in (PAIRS, NO_NVLINK):
        form = "PCIe"
    elif not form and (links == NVLINK or name in _ONLY_SXM or (links is None and _HAS_LINKS.search(mentions.text))):
        form = "SXM"
    return name, None if not form and name in ("A100", "H100", "V100") else gpu_model(name, form)


def _one(values: Sequence[str]) -> str | None:
    return values[0] if len(values) == 1 else None


def _count(mentions: Mentions, kind: str) -> int | None:
    value = _one(mentions.values(kind))
    return None if value is None else int(value)
