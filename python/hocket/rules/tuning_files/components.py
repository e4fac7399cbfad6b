"""The component of an MPI that takes a call on nodes, and the calls that it makes on some of the ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hocket.rules.tuning_files.form import Choice


@dataclass(frozen=True)
class Inner:
    """A call that a component makes on some ranks of a call.

    Attributes:
        part: The parameter of Hocket's algorithm that names what runs there; empty if it is the whole.
        function: The function; one with i before it is Open MPI's libnbc's and runs beside others.
        is_within: Whether the ranks of a node call it, not one rank of each node.
        of: Of how many bytes: of a segment, of the call's block, of the blocks of a node, or of all blocks;
            or of nothing.
        segments: For which segments, if the call is in segments.
    """

    part: str
    function: str
    is_within: bool
    of: Literal["segment", "block", "node", "all", "nothing"]
    segments: Literal["each", "first", "later"] = "each"


def calls_of(text: str) -> tuple[Inner, ...]:
    """Return calls by their words: "within" or "between" nodes, the function, the part, and the other attributes.

    Semicolons are between calls. Without other attributes they are of a block, and barriers of nothing.
    """
    return tuple(_call(*words.split()) for words in text.split(";") if words)


def _call(where: str, function: str, part: str = "", *others: Any) -> Inner:
    return Inner(part, function, where == "within", *(others or ["nothing" if function == "barrier" else "block"]))


@dataclass(frozen=True)
class InnerChoice:
    """What decides for such a call, and what it chooses.

    Attributes:
        call: The call.
        ranks: The ranks of its communicator; on the largest node, where nodes differ.
        size_bytes: The bytes, as everywhere in Hocket.
        component: What decides: "tuned" by its tables, "libnbc", or one of MPICH's trees.
        choice: The algorithm of Hocket.
        remark: What the choice lacks; empty if nothing.
    """

    call: Inner
    ranks: int
    size_bytes: int
    component: str
    choice: Choice
    remark: str = ""


@dataclass(frozen=True)
class Component:
    """The component of an MPI that takes a call.

    Attributes:
        name: "han", "tuned" or "MPICH's device", for example.
        why: Why it is this one.
        algorithm: What it runs; empty if its tables decide for all ranks.
        segments: In how many segments.
        inner: The calls that it makes for each segment.
        choice: The algorithm of Hocket that does the same, with the parts.
    """

    name: str
    why: str
    algorithm: str = ""
    segments: int = 1
    inner: tuple[InnerChoice, ...] = ()
    choice: Choice | None = None

    def __str__(self) -> str:
        inner = "; ".join(f"{each.call.function} {each.choice}" for each in self.inner)
        return f"{self.name} {self.algorithm} ({inner})" if inner else self.name

    @property
    def remark(self) -> str:
        """What the choices within lack."""
        return "; ".join(dict.fromkeys(each.remark for each in self.inner if each.remark))
