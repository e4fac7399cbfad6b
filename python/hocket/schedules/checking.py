"""Verification of schedules: all messages must be received, and all ranks must reach their ends."""

from __future__ import annotations

from typing import get_args

from hocket import _native
from hocket.base.checks import instance
from hocket.base.names import among
from hocket.definitions.verification import Finding, Verdict
from hocket.schedules.schedule import Schedule, Sends


def verify_schedule(schedule: Schedule, *, sends: Sends = "waiting") -> Verdict:
    """Check the messages of a schedule, with eager and with rendezvous sends.

    All messages have to be received, every receive needs room for its message, and every rank has to reach its end.
    Receives from any source take messages in all orders, or in a sample of many orders.

    A schedule does not say what its result should be; `verify` checks the algorithm that it was recorded from.

    Args:
        schedule: The schedule.
        sends: Whether sends may wait for their receives; "buffered" checks eager sends only.

    Raises:
        Error: The argument is not a schedule.
    """
    instance("schedule", schedule, Schedule, "hocket.Schedule")
    sends_wait = among("sends", sends, get_args(Sends)) == "waiting"
    return Verdict((Finding(**_native.verify_schedule(schedule.name, schedule.content, sends_wait)),))
