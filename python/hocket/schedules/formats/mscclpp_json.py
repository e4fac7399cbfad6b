"""Execution plans of MSCCL++, in JSON."""

from __future__ import annotations

import re

from hocket.definitions.machine import Machine
from hocket.definitions.verification import Verdict
from hocket.schedules.formats.format import Format, size_for
from hocket.schedules.mscclpp import Plan
from hocket.schedules.mscclpp_tasks import schedule_of
from hocket.schedules.mscclpp_writing import as_plan
from hocket.schedules.schedule import Schedule

_GPUS = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{(?=[\s\S]*"gpus"\s*:)')


def _read(file: str, size_bytes: int | None) -> Schedule:
    return schedule_of(Plan.load(file), size_for(size_bytes, f"{file}: a plan of MSCCL++"))


def _as_bytes(schedule: Schedule, _machine: Machine | None) -> bytes:
    return as_plan(schedule).encode()


def _verify(file: str) -> Verdict:
    from hocket.schedules.mscclpp_verification import verify_plan

    return verify_plan(Plan.load(file))


FORMAT = Format(
    name="mscclpp",
    ending=".plan",
    is_text=True,
    begins=lambda first: _GPUS.search(first) is not None,
    read=_read,
    as_bytes=_as_bytes,
    is_sized=True,
    verify=_verify,
)
