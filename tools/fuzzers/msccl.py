"""The reader of MSCCL XML, its check and its schedule; a ring is changed."""

import random
import re
from collections.abc import Sequence
from pathlib import Path

from fuzzers.harness import CHANGES, Target, of_one_file
from hocket import Call, Error, Machine, find, record, simulate
from hocket.schedules.msccl import Msccl
from hocket.schedules.msccl_verification import verify_msccl
from hocket.schedules.msccl_writing import as_msccl

VALUES = (
    b"0 1 2 3 -1 -2 65535 65536 99999999999 1e3 00 +1 nan "
    b"nop s r cpy re rcs rrs rrc rrcs i o allreduce allgather alltoall reduce_scatter custom"
).split()
PIECES = (b"<", b">", b'"', b"/>", b"</tb>", b"<tb>", b"&amp;", b"&x;", b"<!DOCTYPE a>", b"<!--")
MEMORY_BYTES, TIME_S = 4 << 30, 10


def change_value(content: bytes, _: bytes, chance: random.Random) -> bytes:
    """Return a file with another value of an attribute."""
    value = chance.choice([*re.finditer(rb'"[^"]*"', content), re.match(b"", content)])
    return content[: value.start()] + b'"' + chance.choice(VALUES) + b'"' + content[value.end() :]


def insert_piece(content: bytes, _: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(content) + 1)
    return content[:at] + chance.choice(PIECES) + content[at + chance.randint(0, 3) :]


def check(file: Path, chance: random.Random) -> bool:
    """Read a file and process it like the command line; return whether there is a verdict."""
    try:
        content = Msccl.load(file)
        verdict = verify_msccl(content, slots=chance.choice((None, 1, 2)))
        schedule = content.schedule(8 * content.chunks)
        if verdict.ok:
            simulate(schedule, machine=Machine.load("cluster"))
    except Error as error:
        assert "\n" not in str(error), "an error of several lines"
        return False
    return True


def targets(_: Sequence[Path]) -> dict[str, Target]:
    calls = (Call(ranks=ranks, size_bytes=4096 * ranks) for ranks in (2, 3, 4))
    rings = [as_msccl(record(find("allreduce/ring"), call)).as_xml().encode() for call in calls]
    return {"msccl": of_one_file(rings, check, (*CHANGES, insert_piece, *[change_value] * 3 * len(CHANGES)))}
