"""Baselines: measurements that are kept by name, to compare later ones with.

A baseline is a CSV that `hocket.read_measurements` reads. Each save adds runs, so a baseline of several nights has the
noise between nights. Two programs that save at once wait for each other.
"""

from __future__ import annotations

import csv
import io
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hocket._native import Error
from hocket.base import checks
from hocket.base.files import Lock, lock, naming, read_text, write_by
from hocket.base.names import unknown
from hocket.measurements.formats import read_measurements
from hocket.measurements.measurement import Measurement

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_ENDING = ".csv"
_LOCK = ".lock"
_LONGEST_WAIT_S = 30.0
_PAUSE_S = 0.02
_EXPECTED = "measurements, as hocket.read_measurements returns them"
_COLUMNS: Mapping[str, Callable[[Measurement], Any]] = MappingProxyType(
    {
        "collective": lambda one: one.collective,
        "algorithm": lambda one: one.algorithm,
        "parameters": lambda one: ";".join(f"{name}={value}" for name, value in sorted(one.parameters.items())),
        "ranks": lambda one: one.ranks,
        "ranks_per_node": lambda one: one.ranks_per_node,
        "dims": lambda one: "x".join(map(str, one.dims or ())),
        "layout": lambda one: one.layout,
        "size_bytes": lambda one: one.size_bytes,
        "element_bytes": lambda one: one.element_bytes,
        "in_place": lambda one: "true" if one.in_place else "false",
        "measured_as": lambda one: one.measured_as,
        "time_s": lambda one: repr(float(one.time_s)),
        "low_s": lambda one: repr(float(one.spread.low_s)) if one.spread else None,
        "high_s": lambda one: repr(float(one.spread.high_s)) if one.spread else None,
        "spread": lambda one: one.spread.what if one.spread else None,
        "iterations": lambda one: one.spread.iterations if one.spread else None,
        "system": lambda one: one.system,
        "library": lambda one: one.library,
        "buffers": lambda one: one.buffers,
    }
)
"""The columns of a baseline, each with what it has of a measurement."""

_HEAD = ",".join(_COLUMNS)


def baselines_folder() -> Path:
    """Return the folder of the baselines: `HOCKET_BASELINES`, or else `hocket/baselines` in the user's data folder.

    Raises:
        Error: The user has no home folder.
    """
    if folder := os.environ.get("HOCKET_BASELINES"):
        return Path(folder).absolute()
    try:
        data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    except RuntimeError:
        raise Error("baselines: this user has no home folder, expected the variable HOCKET_BASELINES") from None
    return Path(data).absolute() / "hocket" / "baselines"


def save(
    name: str,
    measurements: Sequence[Measurement],
    folder: str | PathLike[str] | None = None,
    *,
    replace: bool = False,
) -> Path:
    """Add measurements to a baseline, as further runs. A baseline that does not exist begins with them.

    Args:
        name: The name: letters, digits, and `-`, `_` and `.` behind the first one.
        measurements: What was measured.
        folder: The folder of the baselines; by default as `baselines_folder` returns it. It is made if necessary.
        replace: Whether to drop the earlier runs.

    Returns:
        The file.

    Raises:
        Error: The name is invalid; a measurement cannot be kept, such as one of an unknown algorithm; the baseline is
            broken or becomes too long; or the file cannot be written.
    """
    path = _path(name, folder)
    runs = checks.several("measurements", measurements, Measurement, _EXPECTED)
    checks.truth("replace", replace)
    if not runs:
        raise Error(f"baseline {name}: got no measurements, expected at least one")
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with _exclusive_access(path.parent):
            earlier = () if replace or not path.exists() else _read(path)
            write_by(path, lambda place: _write(Path(place), (*earlier, *runs), name))
    return path


def load(name: str, folder: str | PathLike[str] | None = None) -> tuple[Measurement, ...]:
    """Return the measurements of a baseline: all runs, the first one first.

    Args:
        name: The name.
        folder: The folder of the baselines; by default as `baselines_folder` returns it.

    Raises:
        Error: There is no such baseline, or its file is broken.
    """
    path = _path(name, folder)
    if not path.exists():
        others = names(folder)
        if others:
            raise unknown("baseline", name, others)
        raise Error(f'unknown baseline "{name}": {path.parent} has none')
    return _read(path)


def names(folder: str | PathLike[str] | None = None) -> tuple[str, ...]:
    """Return the names of the baselines in a folder, in order; none if there is no such folder.

    Args:
        folder: The folder; by default as `baselines_folder` returns it.

    Raises:
        Error: The folder cannot be listed.
    """
    place = _folder(folder)
    try:
        files = os.listdir(place)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise Error(f"{place}: cannot be listed: {error.strerror}") from error
    stems = (file.removesuffix(_ENDING) for file in files if file.endswith(_ENDING))
    return tuple(sorted(stem for stem in stems if _NAME.fullmatch(stem)))


def _folder(folder: str | PathLike[str] | None) -> Path:
    return baselines_folder() if folder is None else Path(checks.path("folder", folder)).absolute()


def _path(name: str, folder: str | PathLike[str] | None) -> Path:
    if not _NAME.fullmatch(checks.text("name", name)):
        raise Error(f"name: got {checks.quote(name)}, expected up to 100 letters (a-z, A-Z), digits, -, _ and .")
    return _folder(folder) / f"{name}{_ENDING}"


@contextmanager
def _exclusive_access(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder. A file system without locks has none."""
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        end_s = time.monotonic() + _LONGEST_WAIT_S
        while lock(descriptor) is Lock.OF_ANOTHER:
            if time.monotonic() > end_s:
                raise Error(f"{folder}: another program has been saving for {_LONGEST_WAIT_S:.0f} s, expected its end")
            time.sleep(_PAUSE_S)
        yield
    finally:
        os.close(descriptor)


def _read(path: Path) -> tuple[Measurement, ...]:
    advice = "this baseline is broken: correct the file, or save it anew"
    lines = read_text(path).split("\n")
    try:
        reading = read_measurements(path)
    except Error as error:
        names_a_line = str(error).removeprefix(f"{path}:")[:1].isdecimal()
        sentence = error if names_a_line else f'{path}:1: got "{lines[0]:.60}", expected the columns {_HEAD}'
        raise Error(f"{sentence}; {advice}") from None
    if reading.cuts:
        raise Error(f"{reading.cuts[0]}; {advice}")
    sources = {one.source for one in reading.measurements}
    for number, line in enumerate(lines[1:], start=2):
        if line.strip() and not line.startswith("#") and f"{path}:{number}" not in sources:
            raise Error(f'{path}:{number}: got "{line:.60}", expected a row of {_HEAD}; {advice}')
    return reading.measurements


def _write(place: Path, measurements: Sequence[Measurement], name: str) -> None:
    """Write a file and read it again: what a CSV cannot hold is refused."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows([cell(one) for cell in _COLUMNS.values()] for one in measurements)
    place.write_text(stream.getvalue(), encoding="utf-8")
    try:
        copies = read_measurements(place).measurements
    except Error as error:
        sentence = str(error).removeprefix(str(place)).lstrip(":0123456789 ")
        raise Error(f"baseline {name}: cannot be kept: {sentence}") from None
    for one, copy in zip(measurements, copies, strict=False):
        if replace(one, source="") != replace(copy, source=""):
            raise Error(f"baseline {name}: cannot keep {_difference(one, copy)}")
    if len(copies) != len(measurements):
        raise Error(f"baseline {name}: {len(measurements) - len(copies)} measurements cannot be kept")


def _difference(one: Measurement, copy: Measurement) -> str:
    field = next(field for field, value in vars(one).items() if field != "source" and value != getattr(copy, field))
    return f"{field} {checks.quote(getattr(one, field))} of {one.collective} {one.algorithm}"
