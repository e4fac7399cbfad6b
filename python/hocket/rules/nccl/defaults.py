"""NCCL's decisions on a machine, by its section [gpu]: for a call, and for all sizes as rules.

Functions are in MPI's words, such as "bcast"; a job has a rank on each accelerator; the size of a call is its message,
as everywhere in Hocket; the version says whose constants count. What takes a machine raises the errors of `job_on`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

from hocket._native import Error
from hocket.definitions.machine import Machine
from hocket.rules.nccl.choosing import Decision, chunk_bytes, decide, sharing
from hocket.rules.nccl.table import LIBRARY, VERSION, Entry, Graph, Hardware, Job, Version, constants, cost_table
from hocket.rules.tuning_files.counterparts import LIBRARIES
from hocket.rules.tuning_files.form import Choice, Rule, Rules, Span, measured
from hocket.rules.tuning_files.grid import spans

SOURCE = (
    "NCCL's own choice by the tables of NCCL 2.27 (src/graph/tuning.cc), on the channels that the machine file's "
    "section [gpu] says"
)
"""Where the decisions are from."""

_GIGA = 1e9
_LARGEST = 1 << 40  # beyond it, the fastest line has the largest bandwidth


def hardware_of(machine: Machine, ranks: int, nodes: int) -> Hardware:
    """Return what a job runs on, by the section [gpu] of a machine file.

    On one node, channels are as the section says. On several, NCCL's search is approximated: a channel for each network
    card, with the largest rate of NCCL's steps that a card and its share of the node's channels have. On two nodes,
    trees have more within a node (`ncclTopoCompute` in src/graph/search.cc: "increase bwIntra for trees"). A machine
    without the section is refused, and one that says nothing of the network that a job on several nodes needs.
    """
    values = machine.quantities
    if "gpu.generation" not in values:
        raise Error(f"{machine.file}: section [gpu] is missing, by which nccl-2 decides")
    generation = values["gpu.generation"]
    channels, rate_gb_s = values["gpu.channels"], values["gpu.channel_bandwidth_bytes_per_s"] / _GIGA
    graph = Graph(channels, rate_gb_s, rate_gb_s)
    tree = nvls = graph
    if nodes > 1:
        cards, card_gb_s = _network_of(values, machine.file)
        share_gb_s = channels * rate_gb_s / cards
        between_gb_s = values.get("gpu.network_channel_bandwidth_bytes_per_s", 0.0) / _GIGA
        steps = constants(VERSION)["steps of rates", generation]
        if not between_gb_s:  # the largest of NCCL's steps of rates that is not above both, or else that rate
            most_gb_s = min(card_gb_s, share_gb_s)
            between_gb_s = next((step for step in steps if step <= most_gb_s), most_gb_s)
        graph = tree = Graph(cards, between_gb_s, between_gb_s)
        if nodes == 2:  # the search raises the rate of trees within a node to the first step of twice that of a card
            higher = [step for step in sorted(steps) if between_gb_s < step <= share_gb_s]
            enough = sum(step < 2 * between_gb_s for step in higher)
            tree = replace(graph, within_gb_s=[between_gb_s, *higher[: enough + 1]][-1])
        nvls = Graph(cards, max(share_gb_s, between_gb_s), between_gb_s)
    is_lone = ranks == nodes
    return Hardware(
        generation=generation,
        ring=graph,
        tree=tree,
        nvls=nvls,
        links=values.get("gpu.links", "nvswitch"),
        processor=values.get("gpu.processor", "intel"),
        has_simple_trees=nodes > 1 and (is_lone or generation in ("hopper", "blackwell")),
        has_one_order=nodes == 1 or is_lone,
    )


def _network_of(values: Mapping[str, Any], file: str) -> tuple[int, float]:
    """Return the channels of a job on several nodes, and the rate of a card in GB/s."""
    channels = values.get("gpu.network_channels") or values.get("node.cards.count")
    rate = values.get("gpu.network_channel_bandwidth_bytes_per_s") or values.get("node.cards.bandwidth_bytes_per_s")
    if channels is None or rate is None:
        raise Error(
            f"{file}: gpu: nccl-2 decides for several nodes by network cards, expected [node.cards] with count and "
            "bandwidth, or network_channels and network_channel_bandwidth"
        )
    return channels, rate / _GIGA


def job_on(machine: Machine, function: str, ranks: int, version: Version = VERSION) -> Job:
    """Return a communicator on the first nodes of a machine; refuse one rank, and a function that NCCL lacks."""
    if function not in LIBRARIES[LIBRARY].algorithms:
        raise Error(f"{LIBRARY} does not have {function}, expected {', '.join(LIBRARIES[LIBRARY].algorithms)}")
    if ranks < 2:
        raise Error(f"ranks: got {ranks}, for which {LIBRARY} decides nothing, expected at least 2")
    nodes = -(-ranks // machine.ranks_per_node)
    return Job(function, ranks, nodes, hardware_of(machine, ranks, nodes), version)


def decision_on(machine: Machine, function: str, ranks: int, size_bytes: int, version: Version = VERSION) -> Decision:
    """Return what NCCL chooses for a call on a machine."""
    return decide(job_on(machine, function, ranks, version), largest_bytes(function, size_bytes, ranks))


def largest_bytes(function: str, size_bytes: int, ranks: int) -> int:
    """Return the bytes of the larger one of a rank's two buffers, by which NCCL decides."""
    return measured(LIBRARIES[LIBRARY].measures.get(function, "size"), size_bytes, ranks)


def alternatives_on(machine: Machine, function: str, ranks: int, size_bytes: int) -> tuple[Choice, ...]:
    """Return each algorithm that NCCL takes for a call, with its fastest protocol by the table, and channels."""
    job, size_bytes = job_on(machine, function, ranks), largest_bytes(function, size_bytes, ranks)
    fastest: dict[str, Entry] = {}
    entries = [entry for entry in cost_table(job) if not entry.why_not]
    for entry in sorted(entries, key=lambda each: job.time_us(each, size_bytes)):
        fastest.setdefault(entry.algorithm, entry)
    return tuple(
        Choice(each.algorithm, (("protocol", each.protocol), ("channels", sharing(job, each, size_bytes)[0])))
        for each in fastest.values()
    )


def refusals_on(machine: Machine, function: str, ranks: int) -> dict[str, str]:
    """Return the algorithms that NCCL does not take on a machine with any protocol, and why."""
    entries = list(cost_table(job_on(machine, function, ranks)))
    fit = {each.algorithm for each in entries if not each.why_not}
    return {each.algorithm: each.why_not for each in entries if each.algorithm not in fit}


def with_channels(
    machine: Machine, function: str, ranks: int, size_bytes: int, choice: Choice, version: Version = VERSION
) -> Choice:
    """Return a choice of NCCL with the channels that it has for a call, if the choice does not say them."""
    values = dict(choice.parameters)
    job = job_on(machine, function, ranks, version)
    key = choice.algorithm, values.get("protocol")
    entry = next((each for each in cost_table(job) if (each.algorithm, each.protocol) == key), None)
    if "channels" in values or entry is None:
        return choice
    channels, _ = sharing(job, entry, largest_bytes(function, size_bytes, ranks))
    return Choice(choice.algorithm, (*choice.parameters, ("channels", channels)))


def chunk_on(machine: Machine, function: str, ranks: int, size_bytes: int, choice: Choice) -> int:
    """Return the most bytes that a rank passes on at once, as `chunk_bytes`; the choice has protocol and channels."""
    own = dict(choice.parameters)
    return chunk_bytes(
        job_on(machine, function, ranks),
        choice.algorithm,
        str(own["protocol"]),
        channels=int(own.get("channels", 1)),
        size_bytes=largest_bytes(function, size_bytes, ranks),
    )


def rules_on(machine: Machine, ranks: int) -> Rules:
    """Return NCCL's decisions for communicators of some ranks as rules, without channels."""
    functions = LIBRARIES[LIBRARY].measures
    return Rules(LIBRARY, tuple(rule for each in sorted(functions) for rule in _rules(machine, each, ranks)))


def _rules(machine: Machine, function: str, ranks: int) -> Iterator[Rule]:
    job = job_on(machine, function, ranks)
    measure, nodes = LIBRARIES[LIBRARY].measures[function], Span(job.nodes, job.nodes)
    for sizes in spans([0, *_switches(job)]):
        algorithm, protocol = _winner(job, sizes.first)
        choice = Choice(algorithm, (("protocol", protocol),))
        yield Rule(function, choice, Span(ranks, ranks), sizes=sizes, measure=measure, nodes=nodes)


@cache
def _winner(job: Job, size_bytes: int) -> tuple[str, str]:
    entry = decide(job, size_bytes).entry
    return entry.algorithm, entry.protocol


def _switches(job: Job) -> tuple[int, ...]:
    """Return the sizes from which on another line is the fastest, in bytes.

    Between the bends all times are linear in the size. So a line that is the fastest at both ends is so between them.
    """
    bends = sorted({0, job.plateau_bytes, *(1 << power for power in range(6, 41)), _LARGEST})
    switches: list[int] = []
    for first, end in pairwise(bends):
        if first and _winner(job, first) != _winner(job, first - 1):
            switches.append(first)
        switches += _between(job, first, end - 1)
    return tuple(switches)


def _between(job: Job, first: int, last: int) -> list[int]:
    """Return the switches above the first size, up to the last one."""
    if _winner(job, first) == _winner(job, last):
        return []
    if last - first == 1:
        return [last]
    middle = (first + last) // 2
    return [*_between(job, first, middle), *_between(job, middle, last)]
