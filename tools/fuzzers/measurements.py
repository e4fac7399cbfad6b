"""Readers of measurements, and `hocket judge`.

It changes texts of benchmarks at random: it cuts, repeats, swaps, widens, tabs and labels their lines, and mixes texts.
A traceback, or another exit status than 0, 1 or 2, is a failure.
"""

import contextlib
import io
import random
import re
from collections.abc import Sequence
from pathlib import Path

from fuzzers.harness import CHANGES, Target, of_one_file
from hocket import Error, read_measurements
from hocket.cli import main as run_hocket
from hocket.measurements.measurement import Facts

MARGINS = b"0: ,[1]\t,7 ,> ,| ,\t,12:30:01.5 ,2026-01-02 host ,[0]\t\t,2.5 ,# ".split(b",")
FACTS = ([], ["--ranks", "8"], ["--ranks", "4", "--collective", "allreduce"])
STATUSES = (0, 1, 2)
MEMORY_BYTES, TIME_S = 4 << 30, 60


def widen(content: bytes, other: bytes, chance: random.Random) -> bytes:
    """Return a text in which a line has a further cell."""
    lines = content.splitlines() or [b""]
    cells = lines[chance.randrange(len(lines))].split() or [b""]
    at = chance.randrange(len(cells) + 1)
    cells[at:at] = chance.choice(other.split() or [b""])[:20], *cells[:1]
    lines[chance.randrange(len(lines))] = b" ".join(cells)
    return b"\n".join(lines) + b"\n"


def put_tabs(content: bytes, _: bytes, chance: random.Random) -> bytes:
    """Return a text in which blanks of some lines are tabs."""
    share = chance.choice((0.1, 0.5, 1))
    lines = (re.sub(rb" +", b"\t", line) if chance.random() < share else line for line in content.splitlines())
    return b"\n".join(lines) + b"\n"


def label(content: bytes, _: bytes, chance: random.Random) -> bytes:
    """Return a text in which some lines have a margin."""
    share, margins = chance.choice((0.1, 0.5, 1)), chance.sample(MARGINS, 2)
    lines = (chance.choice(margins) + line if chance.random() < share else line for line in content.splitlines())
    return b"\n".join(lines) + b"\n"


def check(file: Path, chance: random.Random) -> bool:
    """Judge a text, and read its measurements; return whether it was judged.

    Raises:
        AssertionError: The status has no meaning, or an error is not one line.
    """
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        status = run_hocket(["judge", str(file), *chance.choice(FACTS)])
        with contextlib.suppress(Error):
            read_measurements(file, Facts("ring", 8))
    assert status in STATUSES, f"exit status {status}: {errors.getvalue()}"
    assert status == 0 or errors.getvalue().count("\n") == 1, errors.getvalue()
    assert "Traceback" not in out.getvalue() + errors.getvalue(), errors.getvalue()
    return status == 0


def targets(texts: Sequence[Path]) -> dict[str, Target]:
    files = [file for one in texts for file in (sorted(one.iterdir()) if one.is_dir() else [one])]
    samples = [file.read_bytes() for file in files if file.is_file()]
    return {"measurements": of_one_file(samples, check, (*CHANGES, widen, put_tabs, label), are_valid=False)}
