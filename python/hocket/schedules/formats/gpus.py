"""MSCCL XML, and execution plans of MSCCL++ in JSON."""

from __future__ import annotations

import re

from hocket.definitions.verification import Verdict
from hocket.schedules.formats.format import Format, size_for
from hocket.schedules.msccl import Msccl
from hocket.schedules.msccl_verification import verify_msccl
from hocket.schedules.msccl_writing import as_msccl
from hocket.schedules.mscclpp import Plan
from hocket.schedules.mscclpp_tasks import schedule_of
from hocket.schedules.mscclpp_writing import as_plan

MSCCL = Format(
    name="msccl",
    ending=".xml",
    is_text=True,
    begins=lambda first: first.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<"),
    read=lambda file, size_bytes: Msccl.load(file).schedule(size_for(size_bytes, f"{file}: MSCCL XML")),
    as_bytes=lambda schedule, _: as_msccl(schedule).as_xml().encode(),
    is_sized=True,
    verify=lambda file: verify_msccl(Msccl.load(file)),
)

_GPUS = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{(?=[\s\S]*"gpus"\s*:)')


def _verify_plan(file: str) -> Verdict:
    from hocket.schedules.mscclpp_verification import verify_plan

    return verify_plan(Plan.load(file))


MSCCLPP = Format(
    name="mscclpp",
    ending=".plan",
    is_text=True,
    begins=lambda first: _GPUS.search(first) is not None,
    read=lambda file, size_bytes: schedule_of(Plan.load(file), size_for(size_bytes, f"{file}: a plan of MSCCL++")),
    as_bytes=lambda schedule, _: as_plan(schedule).encode(),
    is_sized=True,
    verify=_verify_plan,
)
