"""What a library runs where nodes have several ranks: the component that takes a call, and its calls on some ranks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from hocket.rules.tuning_files.form import Choice


@dataclass(frozen=True)
class Step:
    """A collective of some ranks, inside a call.

    Attributes:
        where: Whose ranks: those of each node, the first one of each node, or all.
        function: The MPI function in small letters.
        part: The parameter of Hocket's hierarchical algorithm that names the step's algorithm, if there is one.
        size_bytes: The message; none if it is that of the call.
        choice: The algorithm in the words of the library; none if the library's tables decide by ranks and message.
    """

    where: Literal["within nodes", "between nodes", "all ranks"]
    function: str
    part: str | None = None
    size_bytes: int | None = None
    choice: Choice | None = None


@dataclass(frozen=True)
class Plan:
    """The component that takes a call, and its steps.

    Attributes:
        component: The component.
        algorithm: What it runs, in the words of the library.
        why: What decides that, and what it does.
        steps: The steps in their order; none if the library's rules decide for all ranks at once.
        remark: How they differ from Hocket's algorithm of these steps; empty if they do not.
        parameters: Parameters of Hocket's hierarchical algorithm that the component sets.
    """

    component: str
    algorithm: str
    why: str
    steps: tuple[Step, ...]
    remark: str = ""
    parameters: dict[str, int | str] = field(default_factory=dict)
