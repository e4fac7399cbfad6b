"""The hardware that NCCL's tables ask for: accelerators, their links, and the channels that NCCL finds on them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Graph:
    """The channels that NCCL finds for an algorithm, before it doubles them.

    Attributes:
        channels: How many.
        within_gb_s: The rate of one within a node, in GB/s.
        between_gb_s: The rate of one between nodes, in GB/s; that within a node for a job on one node.
    """

    channels: int
    within_gb_s: float
    between_gb_s: float


@dataclass(frozen=True)
class Hardware:
    """What a job runs on.

    Attributes:
        generation: Of the accelerators: "volta", "ampere", "hopper" or "blackwell".
        ring: The channels of rings.
        tree: Those of trees.
        nvls: Those of reductions in NVLink switches; none if there are none.
        links: Between the accelerators of a node: "nvswitch", "nvlink" or "pcie".
        processor: Who made the processors of the hosts: "intel", "amd" or "other".
        has_simple_trees: Whether one accelerator of a node has all messages of a tree to other nodes.
        has_one_order: Whether all rings visit the accelerators in the same order.
        has_near_cards: Whether no messages between accelerators and network cards pass the host's processor.
    """

    generation: str
    ring: Graph
    tree: Graph
    nvls: Graph | None = None
    links: str = "nvswitch"
    processor: str = "intel"
    has_simple_trees: bool = False
    has_one_order: bool = True
    has_near_cards: bool = True

    @property
    def is_hopper_or_later(self) -> bool:
        """Whether the accelerators are of the generation that brought reductions in switches, or a later one."""
        return self.generation in ("hopper", "blackwell")
