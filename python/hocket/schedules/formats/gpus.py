"""MSCCL XML, and execution plans of MSCCL++ in JSON: what the thread blocks of GPUs do in calls of any size."""

from __future__ import annotations

import re
from collections.abc import Callable

from hocket._native import Error
from hocket.base import files
from hocket.definitions.machine import Machine
from hocket.definitions.verification import Verdict
from hocket.schedules.formats.format import Format
from hocket.schedules.msccl import Msccl
from hocket.schedules.msccl_writing import as_msccl
from hocket.schedules.mscclpp import Plan
from hocket.schedules.mscclpp_tasks import schedule_of
from hocket.schedules.mscclpp_writing import as_plan
from hocket.schedules.schedule import Schedule

_PLAN = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{(?=[\s\S]*"gpus"\s*:)')


def _read_xml(file: str, size_bytes: int | None) -> Schedule:
    return Msccl.load(file).schedule(_size(size_bytes, f"{file}: MSCCL XML"))


def _read_plan(file: str, size_bytes: int | None) -> Schedule:
    return schedule_of(Plan.load(file), _size(size_bytes, f"{file}: a plan of MSCCL++"))


def _size(size_bytes: int | None, what: str) -> int:
    if size_bytes is None:
        raise Error(f"{what} contains no size, expected --size, the bytes of a GPU's larger buffer")
    return size_bytes


def _verify_xml(file: str) -> Verdict:
    from hocket.schedules.msccl_verification import verify_msccl

    return verify_msccl(Msccl.load(file))


def _verify_plan(file: str) -> Verdict:
    from hocket.schedules.mscclpp_verification import verify_plan

    return verify_plan(Plan.load(file))


def _format(
    name: str,
    ending: str,
    begins: Callable[[bytes], bool],
    read: Callable[[str, int | None], Schedule],
    text: Callable[[Schedule], str],
    verify: Callable[[str], Verdict],
) -> Format:
    def as_bytes(schedule: Schedule, _: Machine | None) -> bytes:
        return text(schedule).encode()

    def save(schedule: Schedule, file: str, machine: Machine | None) -> tuple[str, ...]:
        files.write(file, as_bytes(schedule, machine))
        return (file,)

    return Format(name, ending, True, begins, read, save, as_bytes, is_sized=True, verify=verify)


MSCCL = _format(
    "msccl",
    ".xml",
    lambda first: first.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<"),
    _read_xml,
    lambda schedule: as_msccl(schedule).as_xml(),
    _verify_xml,
)

MSCCLPP = _format("mscclpp", ".plan", lambda first: _PLAN.search(first) is not None, _read_plan, as_plan, _verify_plan)
