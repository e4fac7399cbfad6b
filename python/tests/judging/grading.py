"""Public threads, and the class of the cause that a judgement names.

The files of `public` retell threads: all digits of rows and settings are those of the thread, its sentences are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from hocket._native import Error
from hocket.judging.by_text import judge_alone
from hocket.judging.finding import Finding
from hocket.judging.mentions import mentions_of
from hocket.measurements.formats import read_measurements
from hocket.measurements.measurement import DEFAULT

FOLDER = Path(__file__).parent / "public"

CLASSES = {
    "TCP sockets": "TCP instead of RDMA",
    "peer-to-peer": "host memory instead of links",
    "shared memory": "host memory instead of links",
    "peer-to-peer through the CPU": "wrong transport",
    "GPUDirect RDMA": "no GPUDirect",
    "ACS": "no GPUDirect",
    "detected topology": "configuration",
    "separate runs": "configuration",
    "algorithm": "algorithm",
    "protocol": "algorithm",
    "binding": "binding",
    "one card": "one card",
    "bus bandwidth": "reading",
    "slow node": "hardware",
    "library version": "configuration",
    "noise": "noise",
}
"""The class of a cause, by the subject of a finding."""


class Thread(NamedTuple):
    """A public thread.

    Attributes:
        name: The name of its file.
        address: Where it is.
        conclusion: The class of the cause that the thread ends with.
        text: What its first post tells.
    """

    name: str
    address: str
    conclusion: str
    text: str


def threads() -> list[Thread]:
    """Return the threads of the folder."""
    return [_thread(path) for path in sorted(FOLDER.glob("*.txt"))]


def class_of(findings: Sequence[Finding]) -> str:
    """Return the class of the first cause that findings name; of times that are fine, "fine"."""
    verdict, *others = findings
    if verdict.kind in ("fine", "fast"):
        return "fine"
    first = [one for kind in ("cause", "hint") for one in others if one.kind == kind and one.subject in CLASSES]
    if not first and verdict.subject in CLASSES:
        return CLASSES[verdict.subject]
    return CLASSES[first[0].subject] if first else "unknown"


def judgement_of(text: str, path: Path) -> tuple[Finding, ...]:
    """Return the judgement of a text: of the first curve that the formats read, or of the text alone."""
    path.write_text(text, encoding="utf-8")
    mentions = mentions_of(text, path.name)
    try:
        reading = read_measurements(path, replace(mentions.facts, algorithm=DEFAULT))
    except Error:
        return judge_alone((), mentions)
    rows = [one for one in (*reading.measurements, *reading.unknown) if not one.in_place]
    curve = [one for one in rows if (one.collective, one.ranks) == (rows[0].collective, rows[0].ranks)]
    return judge_alone(curve, mentions)


def _thread(path: Path) -> Thread:
    head, _, text = path.read_text(encoding="utf-8").partition("---\n")
    address, _, conclusion, *_ = head.split("\n")
    return Thread(path.name, address.removeprefix("# "), conclusion.removeprefix("# class: "), text)
