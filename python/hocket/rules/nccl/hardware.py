"""The hardware that NCCL's tables ask for: accelerators, their links, and the channels that NCCL finds on them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Graph:
    """The channels that NCCL finds for an algorithm, before it doubles them."""

    channels: int
    within_gb_s: float  # the rate of one within a node, in GB/s
    between_gb_s: float  # the rate of one between nodes, in GB/s; that within a node for a job on one node


@dataclass(frozen=True)
class Hardware:
    """What a job runs on."""

    generation: str  # of the accelerators: "volta", "ampere", "hopper" or "blackwell"
    ring: Graph  # the channels of rings
    tree: Graph  # those of trees
    nvls: Graph | None = None  # those of reductions in NVLink switches; none if there are none
    links: str = "nvswitch"  # between the accelerators of a node: "nvswitch", "nvlink" or "pcie"
    processor: str = "intel"  # who made the processors of the hosts: "intel", "amd" or "other"
    has_simple_trees: bool = False  # whether one accelerator of a node has all messages of a tree to other nodes
    has_one_order: bool = True  # whether all rings visit the accelerators in the same order
    has_near_cards: bool = True  # whether no messages between accelerators and network cards pass the host's processor

    @property
    def is_hopper_or_later(self) -> bool:
        """Whether the accelerators are of the generation that brought reductions in switches, or a later one."""
        return self.generation in ("hopper", "blackwell")
