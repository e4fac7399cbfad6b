"""MSCCL XML."""

from __future__ import annotations

from hocket.definitions.machine import Machine
from hocket.definitions.verification import Verdict
from hocket.schedules.formats.format import Format, size_for
from hocket.schedules.msccl import Msccl
from hocket.schedules.msccl_writing import as_msccl
from hocket.schedules.schedule import Schedule


def _read(file: str, size_bytes: int | None) -> Schedule:
    return Msccl.load(file).schedule(size_for(size_bytes, f"{file}: MSCCL XML"))


def _as_bytes(schedule: Schedule, _machine: Machine | None) -> bytes:
    return as_msccl(schedule).as_xml().encode()


def _verify(file: str) -> Verdict:
    from hocket.schedules.msccl_verification import verify_msccl

    return verify_msccl(Msccl.load(file))


FORMAT = Format(
    name="msccl",
    ending=".xml",
    is_text=True,
    begins=lambda first: first.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<"),
    read=_read,
    as_bytes=_as_bytes,
    is_sized=True,
    verify=_verify,
)
