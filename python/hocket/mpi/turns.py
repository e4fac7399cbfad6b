"""An MPI program that times several ways to do a collective, in turns, as it is told."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hocket._native import Error
from hocket.mpi.benchmark import compiled_program, reason
from hocket.mpi.installation import Installation
from hocket.mpi.jobs import Dialogue, parse_line
from hocket.mpi.launch import Launcher, command, environment, is_crowded, is_here, launcher_environment

_OF_OPEN_MPI = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}
"""Open MPI looks at variables that choose algorithms only if this is set; without those its choices stay the same."""


@dataclass(frozen=True)
class Way:
    """A way to do a collective, in words of `tune.c`: a "rule", "set" variables, or "calls" of other collectives."""

    number: int
    kind: str
    text: str


class Turns:
    """A program that measures on a number of ranks."""

    def __init__(self, installation: Installation, ranks: int, launcher: Launcher = command) -> None:
        program = compiled_program(installation, "tune")
        variables = {**environment(installation, None), **_OF_OPEN_MPI}
        # Ranks that share processors cannot spin until a common start time without delaying others.
        own_process = os.getpid() if is_here(installation, launcher) else 0
        words = [str(program), str(int(not is_crowded(installation, launcher, ranks))), str(own_process)]
        line = launcher(installation, ranks, words, variables)
        self._dialogue = Dialogue(line, launcher_environment(installation, launcher, ranks))
        self.proving: int | None = None  # the number of the way that is being checked, or was checked last

    def __enter__(self) -> Turns:
        self._dialogue.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._dialogue.tell("end")
        finally:
            self._dialogue.__exit__(kind)

    def variables(self) -> list[dict[str, Any]]:
        """Return the variables of the MPI that choose algorithms."""
        return list(self._ask("variables")["variables"])

    def begin(self, collective: str, size_bytes: int, ways: Iterable[Way]) -> dict[int, str]:
        """Check each way by one call; return the reasons of the ways that did not run; refuse wrong results.

        A JobEndedError says that the program ended; `proving` tells which way it was checking.
        """
        refusals = {}
        self._dialogue.tell(f"call {collective} 0 {size_bytes}")
        for way in ways:
            self.proving = way.number
            self._dialogue.tell(f"way {way.number} {way.kind} {way.text}")
            proof = self._ask(f"prove {way.number}")
            if not proof["is_right"]:
                raise Error(f"{collective}, {size_bytes} B, {way.text}: the result is wrong")
            if not proof["has_run"]:
                refusals[way.number] = reason(proof) if way.kind == "rule" else "the MPI refuses the call"
        return refusals

    def rounds(self, count: int, numbers: Sequence[int]) -> dict[int, list[float]]:
        """Return the samples of several rounds of some ways, in seconds."""
        self._dialogue.tell(f"rounds {count} {','.join(map(str, numbers))}")
        return {number: self._answer()["samples_s"] for number in numbers}

    def _ask(self, order: str) -> dict[str, Any]:
        self._dialogue.tell(order)
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        return parse_line(self._dialogue.answer(), "hocket-tune", "an answer")
