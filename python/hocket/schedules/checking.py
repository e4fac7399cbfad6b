"""Verification of schedules: all messages must be received, and all ranks must reach their ends."""

from __future__ import annotations

import json

from hocket import _native
from hocket.base.checks import instance
from hocket.definitions.verification import Verdict, finding
from hocket.schedules.schedule import Schedule


def verify_schedule(schedule: Schedule) -> Verdict:
    """Check the messages of a schedule, with eager and with rendezvous sends.

    All messages have to be received, every receive needs room for its message, and every rank has to reach its end.
    Receives from any source take messages in all orders, or in a sample of many orders.

    A schedule does not say what its result should be; `verify` checks the algorithm that it was recorded from.

    Raises:
        Error: The argument is not a schedule.
    """
    instance("schedule", schedule, Schedule, "hocket.Schedule")
    answer = json.loads(_native.verify_schedule(schedule.name, schedule.content))
    return Verdict((finding("schedule", schedule.name, schedule.content.ranks, answer),))
