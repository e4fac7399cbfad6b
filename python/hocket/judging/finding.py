"""What a judgement concludes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from hocket.base.files import read_rows
from hocket.base.units import format_bytes, format_rate, format_time

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


_FINDINGS = {row["name"]: row for row in read_rows(__file__, "findings.csv")}
_FORMATS: Mapping[str, Callable[[Any], str]] = {"bytes_per_s": format_rate, "bytes": format_bytes, "_s": format_time}


def conclude(name: str, *, kind: Kind | None = None, source: str = "", **values: str | float) -> Finding:
    """Return a finding of `findings.csv`, by its name there; its kind, where that depends on the times.

    The values stand in its sentence. The end of a name tells the unit of a number.
    """
    row = _FINDINGS[name]
    words = dict(values)
    for key, value in values.items():
        form = next((each for ending, each in _FORMATS.items() if key.endswith(ending)), None)
        words[key] = value if form is None or isinstance(value, str) else form(value)
    return Finding(kind or cast("Kind", row["kind"]), row["sentence"].format(**words), row["subject"], source)
