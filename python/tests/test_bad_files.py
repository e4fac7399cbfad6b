"""Files with bad content: every reader answers with one line that names the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest

import hocket
from hocket._native import check_rules
from hocket.base import files
from hocket.definitions.machine import Machine
from hocket.mpi.job_logs import read_job_log
from hocket.rules.choosing import rules_text
from hocket.rules.tuning_files.formats import FORMATS as TUNING_FORMATS
from hocket.schedules.formats import FORMATS as SCHEDULE_FORMATS
from hocket.schedules.formats import load as load_schedule
from hocket.simulating.sweeps.grid import Grid
from hocket.simulating.sweeps.journal import Journal
from hocket.simulating.sweeps.table import Table
from hocket.traces import load as load_trace
from hocket.tuning.records import Records

DIGITS = "9" * 5_000
CONTENTS: Mapping[str, bytes] = {
    "arrays": b"[" * 100_000,
    "arrays in TOML": b"a = " + b"[" * 100_000,
    "objects": b'{"a":' * 100_000,
    "closed arrays": b"[" * 100_000 + b"]" * 100_000,
    "elements": b"<a>" * 100_000,
    "integer": DIGITS.encode(),
    "integer in JSON": f'{{"a": {DIGITS}, "hocket_job_log": {DIGITS}, "format": {DIGITS}}}\n'.encode(),
    "integer in TOML": f"a = {DIGITS}".encode(),
    "integer in a list": f"0,{DIGITS},{DIGITS}\n".encode(),
    "integers": f"1\n{DIGITS}\n{DIGITS}\n".encode(),
    "integer in GOAL": f"num_ranks {DIGITS}\nrank 0 {{\nl0: calc {DIGITS}\n}}\n".encode(),
    "integer in a rule": f"allreduce[size={DIGITS}..]: ring\n".encode(),
    "NUL": b"\0\n" * 100,
    "NUL in a line": b'{"a": "\0"}\na = "\0"\n',
    "not UTF-8": b"\xff\xfe\n",
    "lone surrogate": b'{"a": "\\ud800", "hocket_job_log": "\\ud800"}\n',
    "one quote": b'"',
    "carriage returns": b"\r\r\n\r",
}


def journal(path: Path) -> None:
    with Journal(str(path)):
        pass


def records(header: bytes, path: Path) -> None:
    path.write_bytes(header + path.read_bytes())
    with Records(path, {}):
        pass


def tuning_file(name: str, path: Path) -> object:
    read = TUNING_FORMATS[name].read
    assert read is not None
    return read(files.read_text(path), str(path))


def schedule(name: str, path: Path) -> object:
    return SCHEDULE_FORMATS[name].read(str(path), None)


READERS: Mapping[str, Callable[[Path], object]] = {
    "machine": Machine.load,
    "grid": Grid.load,
    "table": Table.load,
    "journal": journal,
    "records": partial(records, b""),
    "records with a header": partial(records, b'{"hocket": "tune", "format": 3}\n'),
    "job log": read_job_log,
    "rules": lambda path: check_rules(rules_text(str(path)), str(path)),
    "schedule": load_schedule,
    "trace": load_trace,
    **{f"schedule: {name}": partial(schedule, name) for name in SCHEDULE_FORMATS},
    **{f"tuning file: {name}": partial(tuning_file, name) for name, one in TUNING_FORMATS.items() if one.read},
}


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("reader", READERS)
def test_bad_content_is_one_line(reader: str, content: str, tmp_path: Path) -> None:
    file = tmp_path / ("table.csv" if reader == "table" else "PREFIX.0.et")  # readers require these endings
    file.write_bytes(CONTENTS[content] + b"\n")
    try:
        READERS[reader](file)
    except hocket.Error as error:
        assert str(file.parent) in str(error) and "\n" not in str(error)
