"""How long each test keeps processors busy, with all processes that it starts: recorded now and then, and printed.

The file has a line for each test, `seconds, kind, name`: tests of Rust, of Python, and the steps before them (`check`),
compiled into an empty folder. Short tests are one line together. Without arguments, this prints the sum and the 40
slowest of each kind. With `--record` and kinds, it measures them again, one test at a time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILE = Path(__file__).with_suffix(".tsv")
BIN = ROOT / ".venv" / "bin"
KINDS = ("rust", "python", "check")
SLOWEST = 40
SHORT_S = 0.1
STEPS = {
    "library": "cargo build --release --quiet --package hocket-mpi --package hocket",
    "module": "cargo build --release --quiet --package hocket-bindings",
    "clippy": "cargo clippy --release --workspace --all-targets --quiet -- --deny warnings",
    "tests of Rust": "cargo test --release --quiet --no-run",
    "documentation of Rust": "cargo test --release --quiet --doc",
    "ruff format": f"{BIN}/ruff format --no-cache --check python studies tools benchmarks docs",
    "ruff check": f"{BIN}/ruff check --no-cache python studies tools benchmarks docs",
    "mypy": f"{BIN}/mypy --no-incremental",
    "house": f"{BIN}/python tools/house.py",
}
"""Steps of `make test` other than tests, in their order; later ones use what earlier ones have compiled."""

Times = dict[tuple[str, str], float]
"""Seconds by kind and name."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", nargs="+", choices=KINDS, metavar="KIND", help=f"measure again: {', '.join(KINDS)}")
    kinds = parser.parse_args().record
    if kinds:
        times = {key: time_s for key, time_s in load().items() if key[0] not in kinds}
        measure = {"rust": of_rust, "python": of_python, "check": of_steps}
        for kind in kinds:
            times |= {(kind, name): time_s for name, time_s in measure[kind]()}
        save(times)
    for kind in KINDS:
        show(kind, {name: time_s for (of, name), time_s in load().items() if of == kind})


def load() -> Times:
    lines = FILE.read_text().splitlines() if FILE.exists() else []
    rows = (line.split("\t") for line in lines)
    return {(kind, name): float(time_s) for time_s, kind, name in rows}


def save(times: Times) -> None:
    rows = {key: time_s for key, time_s in times.items() if time_s >= SHORT_S}
    for kind in KINDS:
        short = [time_s for (of, _), time_s in times.items() if of == kind and time_s < SHORT_S]
        if short:
            rows[kind, f"{len(short)} short ones"] = sum(short)
    FILE.write_text("".join(f"{time_s:.2f}\t{kind}\t{name}\n" for (kind, name), time_s in sorted(rows.items())))


def show(kind: str, times: dict[str, float]) -> None:
    print(f"{sum(times.values()):7.1f} s  {kind}")
    for name, time_s in sorted(times.items(), key=lambda row: -row[1])[:SLOWEST]:
        print(f"{time_s:7.1f}    {name}")


def used_s() -> float:
    """Return the processor time of this process and of all processes that it has waited for."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def of_run(line: list[str], folder: Path = ROOT, **variables: str) -> float:
    before_s = used_s()
    ran = subprocess.run(line, cwd=folder, env=os.environ | variables, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        print(f"failed: {' '.join(line)}\n{ran.stdout}{ran.stderr}")
    return used_s() - before_s


def of_steps() -> Iterator[tuple[str, float]]:
    with tempfile.TemporaryDirectory() as target:
        for name, line in STEPS.items():
            yield name, of_run(line.split(), CARGO_TARGET_DIR=target)


def of_rust() -> Iterator[tuple[str, float]]:
    build = ["cargo", "test", "--release", "--no-run", "--quiet", "--message-format=json"]
    messages = subprocess.run(build, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    for message in map(json.loads, messages):
        program = message.get("executable")
        if program and message["profile"]["test"]:
            folder = Path(message["manifest_path"]).parent
            package = folder.relative_to(ROOT)
            listing = subprocess.run([program, "--list"], cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
            ignored = subprocess.run([program, "--list", "--ignored"], stdout=subprocess.PIPE, text=True, check=True)
            for line in sorted({*listing.stdout.splitlines()} - {*ignored.stdout.splitlines()}):
                name, _, what = line.rpartition(": ")
                if what == "test":
                    yield f"{package} {message['target']['name']} {name}", of_run([program, "--exact", name], folder)


class Recorder:
    """A plugin of pytest that measures each test with its fixtures."""

    def __init__(self) -> None:
        self.times: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Measure one test."""
        before_s = used_s()
        result = yield
        self.times[item.nodeid] = used_s() - before_s
        return result


def of_python() -> Iterator[tuple[str, float]]:
    os.chdir(ROOT)
    recorder = Recorder()
    pytest.main(["--quiet"], plugins=[recorder])
    yield from recorder.times.items()


if __name__ == "__main__":
    main()
