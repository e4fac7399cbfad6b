"""Packet pacing: for each step, how many messages share the busiest link, the gap for them, and the time.

If M_i messages of step i share its busiest link, each can have 1 / M_i of the link: M_i - 1 idle packet times between
two packets. Two more idle times let packets through that pile up where routes turn: G_i = (M_i - 1) + 2, at least 0; 0
if no message uses a link. `gap="auto-2"` asks for G_i - 2.
"""

from __future__ import annotations

from dataclasses import dataclass

from hocket import _native
from hocket.base.call import Call
from hocket.definitions.calls import prepare
from hocket.definitions.library import Algorithm, as_algorithm
from hocket.definitions.machine import MachineLike, as_machine

__all__ = ["StepGap", "StepTime", "simulate_step", "steps"]


@dataclass(frozen=True)
class StepGap:
    """A step of an algorithm.

    Attributes:
        overlap: M_i, the number of its messages that share the busiest link.
        gap_packets: Idle packet times between two packets of a message.
    """

    overlap: int
    gap_packets: float


@dataclass(frozen=True)
class StepTime(StepGap):
    """The result of one step alone.

    Attributes:
        time_s: Time from the start of all ranks until the last one has received its messages.
        message_bytes: Bytes of all messages.
    """

    time_s: float
    message_bytes: int


def steps(algorithm: Algorithm | str, call: Call, *, machine: MachineLike) -> tuple[StepGap, ...]:
    """Return the steps of a catalogue algorithm; none if it has no steps or the machine has no topology.

    Raises:
        Error: The algorithm refuses the call, or the algorithm or the machine cannot make the gap.
    """
    found, known = as_algorithm(algorithm), as_machine(machine)
    return tuple(StepGap(**step) for step in _native.steps(known.handle, prepare(found, call, known)))


def simulate_step(algorithm: Algorithm | str, call: Call, step: int, *, machine: MachineLike) -> StepTime:
    """Simulate one step alone: all ranks begin it at the same time, on an idle network.

    Args:
        algorithm: An algorithm of the catalogue with steps, or its label.
        call: The call; its parameter "gap" gives the pacing of the step.
        step: The number of the step, counted from 0.
        machine: A machine with a topology.

    Raises:
        Error: There are no steps, no such step, or no topology; or the network deadlocks.
    """
    found, known = as_algorithm(algorithm), as_machine(machine)
    return StepTime(**_native.simulate_step(known.handle, prepare(found, call, known), step))
