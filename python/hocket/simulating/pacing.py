"""Packet pacing, step by step: how many messages share the busiest link, what gap follows, how long a step takes.

If M_i messages of step i share its busiest link, each can have 1 / M_i of it: M_i - 1 idle packet times between two
packets. Two more let the packets through that pile up where routes turn: G_i = (M_i - 1) + 2, at least 0; 0 where no
message uses a link. `gap="auto-2"` asks for G_i - 2.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from hocket import _native
from hocket.base.call import Call
from hocket.definitions.calls import made
from hocket.definitions.library import Algorithm, as_algorithm
from hocket.simulating.simulation import MachineLike, as_machine

__all__ = ["StepGap", "StepTime", "simulate_step", "steps"]


@dataclass(frozen=True)
class StepGap:
    """A step of an algorithm.

    Attributes:
        overlap: M_i, how many of its messages share the busiest link.
        gap_packets: Idle packet times between two packets of a message.
    """

    overlap: int
    gap_packets: float


@dataclass(frozen=True)
class StepTime(StepGap):
    """A step by itself.

    Attributes:
        time_s: From the start of all ranks until the last has what it was sent.
        message_bytes: Bytes of all messages.
    """

    time_s: float
    message_bytes: int


def steps(algorithm: Algorithm | str, call: Call, *, machine: MachineLike) -> tuple[StepGap, ...]:
    """Return the steps of an algorithm of the catalogue; none if it has none, or the machine no topology.

    Raises:
        Error: A call that the algorithm refuses, or a gap that it or the machine cannot leave.
    """
    found = as_algorithm(algorithm)
    known = as_machine(machine)
    answer = _native.steps(known.parsed, made(found, call, known))
    return tuple(StepGap(**step) for step in json.loads(answer))


def simulate_step(algorithm: Algorithm | str, call: Call, step: int, *, machine: MachineLike) -> StepTime:
    """Simulate one step by itself: all ranks begin it at the same time, on an idle network.

    Args:
        algorithm: An algorithm of the catalogue that has steps, or its label.
        call: The call; its parameter "gap" says how the step is paced.
        step: Which step, counted from 0.
        machine: A machine with a topology.

    Raises:
        Error: No steps, no such step, no topology, or a deadlock in the network.
    """
    found = as_algorithm(algorithm)
    known = as_machine(machine)
    return StepTime(**json.loads(_native.simulate_step(known.parsed, made(found, call, known), step)))
