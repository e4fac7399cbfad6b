"""MSCCL XML."""

from __future__ import annotations

from hocket._native import Error
from hocket.base import files
from hocket.definitions.machine import Machine
from hocket.definitions.verification import Verdict
from hocket.schedules.formats.format import Format
from hocket.schedules.msccl import Msccl
from hocket.schedules.msccl_writing import as_msccl
from hocket.schedules.schedule import Schedule


def _read(file: str, size_bytes: int | None) -> Schedule:
    content = Msccl.load(file)
    if size_bytes is None:
        raise Error(f"{file}: MSCCL XML contains no size, expected --size, the bytes of a GPU's larger buffer")
    return content.schedule(size_bytes)


def _as_bytes(schedule: Schedule, _machine: Machine | None) -> bytes:
    return as_msccl(schedule).as_xml().encode()


def _save(schedule: Schedule, file: str, machine: Machine | None) -> tuple[str, ...]:
    files.write(file, _as_bytes(schedule, machine))
    return (file,)


def _verify(file: str) -> Verdict:
    from hocket.schedules.msccl_verification import verify_msccl

    return verify_msccl(Msccl.load(file))


FORMAT = Format(
    name="msccl",
    ending=".xml",
    is_text=True,
    begins=lambda first: first.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<"),
    read=_read,
    save=_save,
    as_bytes=_as_bytes,
    is_sized=True,
    verify=_verify,
)
