"""What a judgement concludes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["fine", "slow", "fast", "cause", "hint", "unknown"]
"""What a finding is: times as good as the machine allows, longer or shorter times; a cause that the text or the times
show; a hint to check; or what cannot be known from the text."""


@dataclass(frozen=True)
class Finding:
    """A conclusion.

    Attributes:
        kind: What it is.
        sentence: The conclusion in words, without a full stop.
        subject: What it is about, in one or two words: "GPUDirect", "one card", "algorithm".
        source: The file and the line that show it; empty if it follows from the times.
    """

    kind: Kind
    sentence: str
    subject: str = ""
    source: str = ""
