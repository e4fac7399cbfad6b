"""Fuzz the readers of measurements and `hocket judge`: whatever a text holds, there is an answer or one line of error.

It changes texts of benchmarks at random: it cuts, repeats, swaps, widens, tabs and labels their lines, and mixes texts.
On a traceback, another exit status than 0, 1 or 2, or a run that takes too long, it prints the failure and the place of
the text, and ends with status 1. Example: `python tools/fuzz_measurements.py python/tests/judging/public`.
"""

import argparse
import contextlib
import io
import random
import re
import signal
import sys
import traceback
from pathlib import Path

from fuzz_traces import CHANGES, TIME_S, out_of_time

from hocket import Error, read_measurements
from hocket.cli import main as run_hocket
from hocket.measurements.measurement import Facts

LARGEST_BYTES = 1 << 16
MARGINS = (
    b"0: ",
    b"[1]\t",
    b"7 ",
    b"> ",
    b"| ",
    b"\t",
    b"12:30:01.5 ",
    b"2026-01-02 host ",
    b"[0]\t\t",
    b"2.5 ",
    b"# ",
)
FACTS = ([], ["--ranks", "8"], ["--ranks", "4", "--collective", "allreduce"])
STATUSES = (0, 1, 2)


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


def check(file: Path, facts: list[str]) -> int:
    """Judge a text, and read its measurements; return the exit status.

    Raises:
        AssertionError: The status has no meaning, or an error is not one line.
    """
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        status = run_hocket(["judge", str(file), *facts])
        with contextlib.suppress(Error):
            read_measurements(file, Facts("ring", 8))
    assert status in STATUSES, f"exit status {status}: {errors.getvalue()}"
    assert status == 0 or errors.getvalue().count("\n") == 1, errors.getvalue()
    assert "Traceback" not in out.getvalue() + errors.getvalue(), errors.getvalue()
    return status


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", type=Path, nargs="+", help="Texts, and folders of texts, that are changed.")
    parser.add_argument("--inputs", type=int, default=5000, help="How many texts to try.")
    parser.add_argument("--seed", type=int, default=0, help="Same seed, same inputs.")
    parser.add_argument("--save", type=Path, default=Path("fuzzed"), help="Where to keep texts that something led to.")
    options = parser.parse_args()
    files = [file for one in options.texts for file in (sorted(one.iterdir()) if one.is_dir() else [one])]
    texts = [file.read_bytes() for file in files if file.is_file()]
    chance, failures, answers = random.Random(options.seed), 0, 0
    options.save.mkdir(exist_ok=True)
    signal.signal(signal.SIGALRM, out_of_time)
    for number in range(options.inputs):
        content = chance.choice(texts)
        for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
            change = chance.choice((*CHANGES, widen, put_tabs, label))
            content = change(content, chance.choice(texts), chance)[:LARGEST_BYTES]
        file = options.save / f"{options.seed}-{number}"
        file.write_bytes(content)
        signal.setitimer(signal.ITIMER_REAL, 6 * TIME_S)
        try:
            answers += check(file, chance.choice(FACTS)) == 0
            file.unlink()
        except BaseException:
            failures += 1
            print(f"input {number}, kept as {file}:\n{traceback.format_exc()}", flush=True)
        signal.setitimer(signal.ITIMER_REAL, 0)
    print(f"{options.inputs} inputs, {answers} of them judged; {failures or 'nothing'} found", flush=True)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
