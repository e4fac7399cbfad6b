"""What a line of a text says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mention:
    """A thing that a line says.

    Attributes:
        kind: What it is about: see `hocket.judging.patterns.Pattern`; also "host", "nodes", "rate", "net", "launch",
            and "cards used", "cards named" and "cards told".
        value: The value.
        sentence: What it means, without a full stop.
        source: The file and the line.
        subject: What it may explain; empty for plain facts.
    """

    kind: str
    value: str
    sentence: str
    source: str
    subject: str = ""
