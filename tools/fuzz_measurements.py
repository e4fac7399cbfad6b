"""Fuzz the readers of measurements and `hocket judge`: whatever a text holds, there is an answer or one line of error.

It changes texts of benchmarks at random: it cuts, repeats, swaps, widens, tabs and labels their lines, and mixes texts.
A traceback, or another exit status than 0, 1 or 2, is a failure.
Example: `python tools/fuzz_measurements.py python/tests/judging/public`.
"""

import contextlib
import io
import random
import re
from pathlib import Path

from fuzzing import CHANGES, main, of_one_file, parser_of

from hocket import Error, read_measurements
from hocket.cli import main as run_hocket
from hocket.measurements.measurement import Facts

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


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("texts", type=Path, nargs="+", help="Texts, and folders of texts, that are changed.")
    options = parser.parse_args()
    files = [file for one in options.texts for file in (sorted(one.iterdir()) if one.is_dir() else [one])]
    texts = [file.read_bytes() for file in files if file.is_file()]
    target = of_one_file(texts, check, (*CHANGES, widen, put_tabs, label), are_valid=False)
    main({"measurements": target}, options, memory_bytes=4 << 30, time_s=60)
