"""What texts say of a machine and a run: the patterns of `patterns.csv`, each with a kind and a sentence.

A pattern is searched in every line. Its groups fill the braces of its value and its sentence. A `subject` is a word for
what a pattern may explain; findings are sorted by it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from hocket.base.files import read_rows
from hocket.judging.lines import DEVICE, NUMBER

SOCKETS = "TCP sockets"
SHARED_MEMORY = "shared memory"
NO_P2P = "peer-to-peer"
GPUDIRECT = "GPUDirect RDMA"
ACS = "ACS"
ALGORITHM = "algorithm"
PROTOCOL = "protocol"
BINDING = "binding"
LAUNCH = "separate runs"
CARDS = "number of cards"
THROUGH_CPU = "peer-to-peer through the CPU"
TOPOLOGY = "detected topology"

_PARTS = {
    "<IS>": r"(?:\s*=\s*|\s+set (?:by environment )?to\s+)['\"]?",
    "<WARNS>": r"(?i:error|warn|fail|missing|not |unable|could)",
    "<NUMBER>": NUMBER,
    "<DEVICE>": DEVICE.pattern,
}


class Pattern(NamedTuple):
    """What to search in a line.

    Attributes:
        kind: What a match is about, see `Mention`.
        expression: What matches.
        value: The value, with groups by name.
        sentence: What it means, with groups by name and the value, without a full stop.
        subject: What it may explain; empty for plain facts.
    """

    kind: str
    expression: re.Pattern[str]
    value: str
    sentence: str
    subject: str


def _expression(text: str) -> re.Pattern[str]:
    for name, part in _PARTS.items():
        text = text.replace(name, part)
    return re.compile(text)


PATTERNS = tuple(
    Pattern(row["kind"], _expression(row["expression"]), row["value"], row["sentence"], row["subject"])
    for row in read_rows(__file__, "patterns.csv")
)
"""The patterns. Of a kind and a value, the first line counts."""
