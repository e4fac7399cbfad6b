"""Verification of schedules: are their messages received, and do all ranks reach their ends?"""

from __future__ import annotations

import json

from hocket import _native
from hocket.base.checks import instance
from hocket.definitions.verification import Verdict, finding
from hocket.schedules.schedule import Schedule

__all__ = ["verify_schedule"]


def verify_schedule(schedule: Schedule) -> Verdict:
    """Check the messages of a schedule, with eager and with rendezvous sends.

    Are all messages received, has every receive room for its message, and does every rank reach its end? Receives from
    any source take messages in all orders, or in a sample of many orders.

    What its result should be a schedule does not say; `verify` checks the algorithm that it was recorded from.

    Raises:
        Error: Not a schedule.
    """
    instance("schedule", schedule, Schedule, "hocket.Schedule")
    answer = json.loads(_native.verify_schedule(schedule.name, schedule.content))
    return Verdict((finding("schedule", schedule.name, schedule.content.ranks, answer),))
