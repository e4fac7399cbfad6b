"""Dynamic multicast in virtual time: one rank sends to groups that only it knows, several of them in flight."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hocket import _native
from hocket.base import checks
from hocket.base.checks import mapping, several, text, whole
from hocket.simulating.simulation import MachineLike, as_machine

__all__ = ["Delivery", "simulate_multicast"]


@dataclass(frozen=True)
class Delivery:
    """What a simulation of multicasts found.

    Attributes:
        time_s: From the start until the last rank has done its part.
        messages: Messages of all ranks.
        message_bytes: Bytes of these messages, headers and acknowledgements included.
    """

    time_s: float
    messages: int
    message_bytes: int


def simulate_multicast(
    groups: Sequence[Sequence[int]],
    size_bytes: int | str,
    *,
    ranks: int,
    machine: MachineLike,
    algorithm: str = "binomial",
    way: str = "multicast",
    master: int = 0,
    parameters: Mapping[str, int] | None = None,
) -> Delivery:
    """Simulate messages from a master to groups, all sent as soon as the master can.

    Args:
        groups: The members of each group, ascending; in the order in which they are sent to.
        size_bytes: Length of each message, a number or a text such as "80kB". Up to 8192 B it travels with the header.
        ranks: Number of ranks.
        machine: The machine, as of `simulate`.
        algorithm: The broadcast that distributes longer messages.
        way: "multicast", until the data are there; "acknowledged", until the master knows that they are; or a broadcast
            over a communicator that is there ("static") or that the members first create ("created").
        master: The rank that sends; for the last two the first member of each group.
        parameters: Those of the algorithm.

    Returns:
        How long it takes.

    Raises:
        Error: Something that there is not, or an algorithm that refuses a group.
    """
    given = {} if parameters is None else mapping("parameters", parameters)
    request = {
        "ranks": whole("ranks", ranks),
        "master": whole("master", master),
        "groups": [_members(group) for group in several("groups", groups, object, "the members of each group")],
        "size_bytes": checks.size_bytes("size_bytes", size_bytes),
        "algorithm": text("algorithm", algorithm),
        "parameters": {name: whole(f"parameter {name}", value) for name, value in given.items()},
        "way": text("way", way),
    }
    return Delivery(**json.loads(_native.simulate_multicast(as_machine(machine).parsed, json.dumps(request))))


def _members(group: object) -> list[int]:
    return [whole("groups: a member", member) for member in several("groups", group, object, "members")]
