"""Fuzz the reader of MSCCL XML, its check and its schedule: of any file there is a verdict or an error of one line.

It changes a ring at random and reads it under limits of memory and time. On a failure it prints the failure and the
place of the file, and ends with status 1. Example: `python tools/fuzz_msccl.py --minutes 5 --seed 7`.
"""

import argparse
import random
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from types import FrameType
from typing import NoReturn

import hocket
from hocket.schedules.msccl import Msccl
from hocket.schedules.msccl_verification import verify_msccl

MEMORY_BYTES = 4 << 30
TIME_S = 10

NUMBERS = b"0 1 2 3 -1 -2 65535 65536 99999999999 1e3 00 +1 nan".split()
WORDS = b"nop s r cpy re rcs rrs rrc rrcs i o allreduce allgather alltoall reduce_scatter custom".split()
PIECES = [b"<", b">", b'"', b"/>", b"</tb>", b"<tb>", b"&amp;", b"&x;", b"<!DOCTYPE a>", b"\0", b"\xff", b"<!--", b""]


def ring(ranks: int, blocks: int) -> bytes:
    """An allreduce with one thread block per channel."""
    lines = [f'<algo name="a" nchunksperloop="{ranks * blocks}" ngpus="{ranks}" coll="allreduce" inplace="1">']
    for gpu in range(ranks):
        lines.append(f'<gpu id="{gpu}" i_chunks="0" o_chunks="0" s_chunks="2">')
        for block in range(blocks):
            lines.append(f'<tb id="{block}" send="{(gpu + 1) % ranks}" recv="{(gpu - 1) % ranks}" chan="{block}">')
            kinds = ["s"] + ["rrs"] * (ranks - 2) + ["rrcs"] + ["rcs"] * (ranks - 2) + ["r"]
            for at, kind in enumerate(kinds):
                chunk = (gpu - at) % ranks * blocks + block
                lines.append(
                    f'<step s="{at}" type="{kind}" srcbuf="i" srcoff="{chunk}" dstbuf="o" dstoff="{chunk}" cnt="1" '
                    f'depid="-1" deps="-1" hasdep="{at % 2}"/>'
                )
            lines.append("</tb>")
        lines.append("</gpu>")
    return "\n".join([*lines, "</algo>"]).encode()


def changed(text: bytes, chance: random.Random) -> bytes:
    """Return a text with some changed attributes, lines or bytes."""
    for _ in range(chance.randint(1, 6)):
        kind = chance.random()
        values = list(re.finditer(rb'"[^"]*"', text))
        if kind < 0.7 and values:
            value = chance.choice(values)
            new = chance.choice(NUMBERS if chance.random() < 0.7 else WORDS)
            text = text[: value.start()] + b'"' + new + b'"' + text[value.end() :]
        elif kind < 0.85:
            lines = text.split(b"\n")
            one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
            lines[one] = chance.choice((lines[other], b""))
            text = b"\n".join(lines)
        else:
            at = chance.randrange(len(text) + 1)
            text = text[:at] + chance.choice(PIECES) + text[at + chance.randint(0, 3) :]
    return text


def attempt(file: Path, slots: int | None) -> str:
    """Read a file and process it like the command line; return the result."""
    try:
        content = Msccl.load(file)
        verdict = verify_msccl(content, slots=slots)
        schedule = content.schedule(8 * content.chunks)
        if verdict.ok:
            hocket.simulate(schedule, machine=hocket.Machine.load("cluster"))
    except hocket.Error as error:
        assert "\n" not in str(error), "an error of several lines"
        return "refused"
    return "right" if verdict.ok else "wrong"


def out_of_time(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise TimeoutError(f"longer than {TIME_S} s")


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzz the reader of MSCCL XML.")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    signal.signal(signal.SIGALRM, out_of_time)
    chance = random.Random(asked.seed)
    ends = dict.fromkeys(("right", "wrong", "refused"), 0)
    until = time.monotonic() + 60 * asked.minutes
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "fuzzed.xml"
        while time.monotonic() < until:
            file.write_bytes(changed(ring(chance.randint(2, 4), chance.randint(1, 2)), chance))
            signal.alarm(TIME_S)
            try:
                ends[attempt(file, chance.choice((None, 1, 2)))] += 1
            except Exception:
                traceback.print_exc()
                print(file.read_text(errors="backslashreplace"))
                return 1
            finally:
                signal.alarm(0)
    print(", ".join(f"{count} {end}" for end, count in ends.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
