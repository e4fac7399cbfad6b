"""MSCCL XML."""

from __future__ import annotations

from hocket.schedules.formats.format import Format, size_for
from hocket.schedules.msccl import Msccl
from hocket.schedules.msccl_verification import verify_msccl
from hocket.schedules.msccl_writing import as_msccl

FORMAT = Format(
    name="msccl",
    ending=".xml",
    is_text=True,
    begins=lambda first: first.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<"),
    read=lambda file, size_bytes: Msccl.load(file).schedule(size_for(size_bytes, f"{file}: MSCCL XML")),
    as_bytes=lambda schedule, _: as_msccl(schedule).as_xml().encode(),
    is_sized=True,
    verify=lambda file: verify_msccl(Msccl.load(file)),
)
