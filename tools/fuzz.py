"""Fuzz readers of files: whatever a file holds, there is an answer or an error of one line.

    python tools/fuzz.py measurements python/tests/judging/public
    python tools/fuzz.py msccl|traces|tuning --minutes 10 --seed 7

It changes valid files at random, and reads and uses them under limits of memory and time. On a failure it prints the
failure and the place of the files, and ends with status 1.
"""

import argparse
from importlib import import_module
from pathlib import Path

from fuzzers.harness import fuzz

SUBJECTS = ("measurements", "msccl", "traces", "tuning")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("subject", choices=SUBJECTS)
    parser.add_argument("texts", type=Path, nargs="*", help="For measurements: texts, and folders of texts, to change.")
    parser.add_argument("--minutes", type=float, default=10.0, help="How long, for each target.")
    parser.add_argument("--inputs", type=int, help="The most inputs for each target.")
    parser.add_argument("--seed", type=int, default=0, help="Same seed, same inputs.")
    parser.add_argument("--only", help="Only this target.")
    parser.add_argument("--save", type=Path, default=Path("fuzzed"), help="Where to keep files that something led to.")
    options = parser.parse_args()
    subject = import_module(f"fuzzers.{options.subject}")
    return fuzz(subject.targets(options.texts), options, subject.MEMORY_BYTES, subject.TIME_S)


if __name__ == "__main__":
    raise SystemExit(main())
