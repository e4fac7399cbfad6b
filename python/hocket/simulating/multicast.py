"""Dynamic multicast in virtual time: one rank sends to groups that only it knows, with several groups in flight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hocket import _native
from hocket.base import checks
from hocket.base.checks import mapping, several, text, whole
from hocket.definitions.machine import MachineLike, as_machine


@dataclass(frozen=True)
class Delivery:
    """The result of a simulation of multicasts.

    Attributes:
        time_s: Time from the start until the last rank is done.
        messages: Number of messages of all ranks.
        message_bytes: Bytes of these messages, including headers and acknowledgements.
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
    """Simulate messages from a master to groups; the master sends all of them as soon as it can.

    Args:
        groups: The members of each group, ascending; the groups in the order of sending.
        size_bytes: Length of each message, a number or a text such as "80kB". Up to 8192 B travel with the header.
        ranks: Number of ranks.
        machine: The machine, as in `simulate`.
        algorithm: The broadcast that distributes longer messages.
        way: "multicast" ends when the data have arrived; "acknowledged" ends when the master knows it. "static" is a
            broadcast over an existing communicator; with "created", the members first create the communicator.
        master: The rank that sends; for "static" and "created" it is the first member of each group.
        parameters: Parameters of the algorithm.

    Returns:
        The times and the messages.

    Raises:
        Error: An argument is unknown or invalid, or the algorithm refuses a group.
    """
    parameter_values = {} if parameters is None else mapping("parameters", parameters)
    request = {
        "ranks": whole("ranks", ranks),
        "master": whole("master", master),
        "groups": [_members(group) for group in several("groups", groups, object, "the members of each group")],
        "size_bytes": checks.size_bytes("size_bytes", size_bytes),
        "algorithm": text("algorithm", algorithm),
        "parameters": {name: whole(f"parameter {name}", value) for name, value in parameter_values.items()},
        "way": text("way", way),
    }
    return Delivery(**_native.simulate_multicast(as_machine(machine).handle, request))


def _members(group: object) -> list[int]:
    return [whole("groups: a member", member) for member in several("groups", group, object, "members")]
