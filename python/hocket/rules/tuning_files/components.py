"""The component of an MPI that takes a call on nodes, and the calls that it makes on some of the ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hocket.rules.tuning_files.form import Choice


@dataclass(frozen=True)
class Inner:
    """A call that a component makes on some ranks of a call."""

    part: str  # the parameter of Hocket's algorithm that names what runs there; empty if it is the whole
    function: str  # the function; one with i before it is Open MPI's libnbc's and runs beside others
    is_within: bool  # whether the ranks of a node call it, not one rank of each node
    # Of how many bytes: of a segment, of the call's block, of the blocks of a node, or of all blocks; or of nothing.
    of: Literal["segment", "block", "node", "all", "nothing"]
    segments: Literal["each", "first", "later"] = "each"  # for which segments, if the call is in segments


def calls_of(text: str) -> tuple[Inner, ...]:
    """Return calls by their words: "within" or "between" nodes, the function, the part, and the other attributes.

    Semicolons are between calls. Without other attributes they are of a block, and barriers of nothing.
    """
    return tuple(_call(*words.split()) for words in text.split(";") if words)


def _call(where: str, function: str, part: str = "", *others: Any) -> Inner:
    return Inner(part, function, where == "within", *(others or ["nothing" if function == "barrier" else "block"]))


@dataclass(frozen=True)
class InnerChoice:
    """What decides for such a call, and what it chooses."""

    call: Inner
    ranks: int  # the ranks of its communicator; on the largest node, where nodes differ
    size_bytes: int  # the bytes, as everywhere in Hocket
    component: str  # what decides: "tuned" by its tables, "libnbc", or one of MPICH's trees
    choice: Choice  # the algorithm of Hocket
    remark: str = ""  # what the choice lacks; empty if nothing


@dataclass(frozen=True)
class Component:
    """The component of an MPI that takes a call."""

    name: str  # "han", "tuned" or "MPICH's device", for example
    why: str  # why it is this one
    algorithm: str = ""  # what it runs; empty if its tables decide for all ranks
    segments: int = 1  # in how many segments
    inner: tuple[InnerChoice, ...] = ()  # the calls that it makes for each segment
    choice: Choice | None = None  # the algorithm of Hocket that does the same, with the parts

    def __str__(self) -> str:
        inner = "; ".join(f"{each.call.function} {each.choice}" for each in self.inner)
        return f"{self.name} {self.algorithm} ({inner})" if inner else self.name

    @property
    def remark(self) -> str:
        """What the choices within lack."""
        return "; ".join(dict.fromkeys(each.remark for each in self.inner if each.remark))
