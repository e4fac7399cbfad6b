"""The harness of the fuzzers: it changes valid files at random, and runs a check on them under limits.

A check that ends with an error, or takes too long, is a failure: the harness prints it and the place where it keeps the
files, and ends with status 1.
"""

import argparse
import random
import re
import resource
import shutil
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

LONGEST_LINE = 300
LARGEST_BYTES = 1 << 18

Change = Callable[[bytes, bytes, random.Random], bytes]
"""Returns a text that is changed, perhaps by parts of another one."""
Files = Mapping[str, bytes]
"""Files by name; the first is the one to read."""

NUMBERS = (
    b"0 -1 -2 1 2 3 7 255 -555 1e6 1e999 nan inf 1.5 00 1_0 2147483648 9223372036854775807 1000000000000000000"
).split()
TOKENS = (
    b'[ ] { } " , : \n \0 \xff # - null true "requests": "got": "request": "comm": "new_ranks": "tries": "thread": '
    b"MPI_Init MPI_Finalize MPI_Wait MPI_Waitall MPI_Waitany MPI_Testall MPI_Irecv MPI_Start MPI_Recv_init "
    b"init finalize compute send isend recv irecv wait waitall test sendRecv allgatherv reducescatter bcast ../ r0"
).split(b" ")


def flip(content: bytes, _: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(content) + 1)
    return content[:at] + bytes(byte ^ 1 << chance.randrange(8) for byte in content[at : at + 1]) + content[at + 1 :]


def cut(content: bytes, _: bytes, chance: random.Random) -> bytes:
    first, last = sorted(chance.randrange(len(content) + 1) for _ in range(2))
    return chance.choice((content[:first], content[first:], content[:first] + content[last:]))


def splice(content: bytes, other: bytes, chance: random.Random) -> bytes:
    first, last = sorted(chance.randrange(len(other) + 1) for _ in range(2))
    at = chance.randrange(len(content) + 1)
    return content[:at] + other[first:last] + content[at:]


def repeat_line(content: bytes, _: bytes, chance: random.Random) -> bytes:
    lines = content.splitlines(keepends=True) or [b""]
    at = chance.randrange(len(lines))
    return b"".join([*lines[:at], lines[at] * chance.choice((2, 3, 500)), *lines[at + 1 :]])


def swap_lines(content: bytes, _: bytes, chance: random.Random) -> bytes:
    lines = content.splitlines(keepends=True) or [b""]
    one, two = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[one], lines[two] = lines[two], lines[one]
    return b"".join(lines)


def drop_line(content: bytes, _: bytes, chance: random.Random) -> bytes:
    lines = content.splitlines(keepends=True) or [b""]
    del lines[chance.randrange(len(lines))]
    return b"".join(lines)


def change_number(content: bytes, _: bytes, chance: random.Random) -> bytes:
    found = list(re.finditer(rb"-?\d+", content))
    if not found:
        return content
    old = chance.choice(found)
    new = chance.choice((*NUMBERS, chance.choice(found)[0], b"9" * 5000, b"%d" % (int(old[0][:18]) + 1)))
    return content[: old.start()] + new + content[old.end() :]


def insert_token(content: bytes, _: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(content) + 1)
    return content[:at] + chance.choice(TOKENS) * chance.choice((1, 1, 1, 2, 3000)) + content[at:]


CHANGES: tuple[Change, ...] = (
    flip,
    cut,
    splice,
    repeat_line,
    swap_lines,
    drop_line,
    change_number,
    change_number,
    insert_token,
)


def times(chance: random.Random) -> range:
    """Return how often to change an input."""
    return range(chance.choice((1, 1, 1, 2, 3, 8)))


def changed(
    content: bytes, others: Sequence[bytes], chance: random.Random, changes: Sequence[Change] = CHANGES
) -> bytes:
    """Return a text that is changed at one or more places."""
    for _ in times(chance):
        content = chance.choice(changes)(content, chance.choice(others), chance)[:LARGEST_BYTES]
    return content


@dataclass(frozen=True)
class Target:
    """What is fuzzed.

    Attributes:
        samples: Valid files.
        check: Reads a file and uses what it is; returns whether it is valid. It may leave other files in the folder.
        change: Returns changed files.
        are_valid: Whether the check has to accept all samples.
    """

    samples: list[Files]
    check: Callable[[Path, random.Random], bool]
    change: Callable[[Files, random.Random], Files]
    are_valid: bool = True


def of_one_file(
    samples: Sequence[bytes],
    check: Callable[[Path, random.Random], bool],
    changes: Sequence[Change] = CHANGES,
    *,
    are_valid: bool = True,
) -> Target:
    """Return a target whose inputs are one short file."""

    def change(files: Files, chance: random.Random) -> Files:
        return {"fuzzed": changed(files["fuzzed"], samples, chance, changes)[: 1 << 16]}

    return Target([{"fuzzed": sample} for sample in samples], check, change, are_valid)


def is_one_line(message: str, file: Path) -> bool:
    """Return whether an error is one line that names the file."""
    return "\n" not in message and message.startswith(str(file))


def _out_of_time(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise TimeoutError("took too long")


def _run(target: Target, folder: Path, files: Files, chance: random.Random, time_s: float) -> bool:
    """Check files under the limit of time."""
    for path in folder.iterdir():
        path.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    signal.setitimer(signal.ITIMER_REAL, time_s)
    try:
        return target.check(folder / next(iter(files)), chance)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _fuzz(name: str, target: Target, options: argparse.Namespace, time_s: float) -> bool:
    """Fuzz a target until a failure or the end of the time; return whether there was a failure."""
    chance, inputs, valid = random.Random(f"{name} {options.seed}"), 0, 0
    until = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for files in target.samples if target.are_valid else ():
            assert _run(target, folder, files, chance, time_s), f"{name}: {next(iter(files))} is not valid unchanged"
        while time.monotonic() < until and inputs != options.inputs:
            files = target.change(chance.choice(target.samples), chance)
            try:
                valid += _run(target, folder, files, chance, time_s)
            except BaseException:
                kept = options.save / f"{name}-{options.seed}-{inputs}"
                shutil.rmtree(kept, ignore_errors=True)
                shutil.copytree(folder, kept)
                told = "\n".join(line[:LONGEST_LINE] for line in traceback.format_exc().splitlines())
                print(f"{name}, input {inputs}, kept in {kept}:\n{told}", flush=True)
                return True
            inputs += 1
    print(f"{name}: {inputs} inputs, {valid} of them valid; nothing found", flush=True)
    return False


def fuzz(targets: Mapping[str, Target], options: argparse.Namespace, memory_bytes: int, time_s: float) -> int:
    """Fuzz the targets, and return the exit status."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    signal.signal(signal.SIGALRM, _out_of_time)
    names = [options.only] if options.only else sorted(targets)
    return int(any([_fuzz(name, targets[name], options, time_s) for name in names]))
