"""Fuzz the reader of MSCCL XML, its check and its schedule: of any file there is a verdict or an error of one line.

It changes a ring at random and reads it under limits of memory and time. On a failure it prints the failure and the
place of the file, and ends with status 1. Example: `python tools/fuzz_msccl.py --minutes 5 --seed 7`.
"""

import random
import re
from pathlib import Path

from fuzzing import Files, Target, main, parser_of

from hocket import Error, Machine, simulate
from hocket.schedules.msccl import Msccl
from hocket.schedules.msccl_verification import verify_msccl

NAME = "fuzzed.xml"
NUMBERS = b"0 1 2 3 -1 -2 65535 65536 99999999999 1e3 00 +1 nan".split()
WORDS = b"nop s r cpy re rcs rrs rrc rrcs i o allreduce allgather alltoall reduce_scatter custom".split()
PIECES = [b"<", b">", b'"', b"/>", b"</tb>", b"<tb>", b"&amp;", b"&x;", b"<!DOCTYPE a>", b"\0", b"\xff", b"<!--", b""]


def ring(ranks: int, blocks: int) -> bytes:
    """An allreduce with one thread block per channel."""
    lines = [f'<algo name="a" nchunksperloop="{ranks * blocks}" ngpus="{ranks}" coll="allreduce" inplace="1">']
    for gpu in range(ranks):
        lines.append(f'<gpu id="{gpu}" i_chunks="{ranks * blocks}" o_chunks="{ranks * blocks}" s_chunks="2">')
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


def change(files: Files, chance: random.Random) -> Files:
    """Return a file with some changed attributes, lines or bytes."""
    text = files[NAME]
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
    return {NAME: text}


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


if __name__ == "__main__":
    rings = [{NAME: ring(ranks, blocks)} for ranks in (2, 3, 4) for blocks in (1, 2)]
    main({"msccl": Target(rings, check, change)}, parser_of(__doc__).parse_args(), memory_bytes=4 << 30)
