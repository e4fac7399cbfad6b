"""The generation of GPUs that a text tells of, beside that of a machine."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hocket.definitions.machine import Machine
from hocket.judging.finding import Finding
from hocket.judging.mention import Mentions

_MODELS = (
    ("volta", re.compile("V100")),
    ("ampere", re.compile("A100|A800|A30")),
    ("hopper", re.compile("G?H[128]00|H20")),
    ("blackwell", re.compile("G?B[23]00")),
)
"""The models of each generation that machine files name (`gpu.generation`)."""


def other_generation(machine: Machine, mentions: Mentions) -> Iterator[Finding]:
    """Give that a text is of GPUs of another generation than the machine has, if it names those of one only."""
    own = machine.quantities.get("gpu.generation")
    first = {name: one for one in mentions.of("gpu") for name, models in _MODELS if models.match(one.value)}
    if own is not None and len(first) == 1 and own not in first:
        ((name, one),) = first.items()
        sentence = f"{one.sentence}, of generation {name}, machine {machine.name} has {own}: expect other times"
        yield Finding("hint", sentence, "gpu", one.source)
