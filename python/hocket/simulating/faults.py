"""Faults of links during a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from hocket import _native
from hocket._native import Error
from hocket.base.checks import several, text
from hocket.definitions.machine import Machine
from hocket.definitions.topology import Topology

Faults: TypeAlias = str | Sequence[str]
"""Links that are slow or down for a time: one text, or several; semicolons separate several faults in a text.

A fault has a link or a node, its times from the common start, and the part of its bandwidth: "link 0 -> 1, 20..80 us,
10 %"; "link 0 <-> 1, 20 us.., down", both directions, for good; "node 3, 0 us.., 50 %", all links from and to a node.
"""

_BETWEEN = ";"


def as_faults(faults: Faults | None) -> list[str]:
    """Return faults, which have to be texts, in the form of the compiled module."""
    if faults is None:
        return []
    texts = (faults,) if isinstance(faults, str) else several("faults", faults, str, "texts")
    parts = [text("faults", each).split(_BETWEEN) for each in texts if each.strip()]
    return [" ".join(fault.split()) for faults_of_text in parts for fault in faults_of_text]


def read_faults(text: str) -> list[str]:
    """Return the faults of a text, or refuse one that is not understood; none if the text is empty."""
    texts = as_faults(text)
    try:
        _native.Scene(faults=texts)
    except Error as error:
        raise Error(str(error).removeprefix("faults: ")) from None
    return texts


def changes_of_links(faults: Faults, machine: Machine | Topology) -> list[tuple[float, int, float]]:
    """Return what faults do to links, each with its time: the link, and the part of its bandwidth from then on."""
    return sorted(_native.Scene(faults=as_faults(faults)).changes_of_links(machine.handle))


def join(faults: Sequence[str]) -> str:
    """Return faults as one text, with semicolons between them."""
    return f"{_BETWEEN} ".join(faults)
