"""What comparisons cost, as a count that is the same on any host: the messages of all simulations that were begun.

The counts in `costs.csv` were accepted; a comparison that begins a fifth more fails.
"""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hocket
from hocket import _native
from hocket.definitions.library import COLLECTIVES

ACCEPTED = Path(__file__).parent / "costs.csv"
CALLS = {name: {"ranks": 64, "sizes": "8B..4MiB:8"} for name in COLLECTIVES} | {
    "allreduce, as make demo": {"ranks": 1024, "sizes": "8B..64MiB"},
    "allreduce, at its best": {"ranks": 16, "sizes": "8B..1MiB:8", "at_best": True},
    "allreduce, gpu-cluster": {"ranks": 64, "sizes": "1KiB..16MiB:8", "machine": "gpu-cluster"},
    "allreduce, fugaku": {"ranks": 64, "sizes": "8B..1MiB:64", "machine": "fugaku"},
}


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The messages that each question has begun, added at its end."""
    begun: list[int] = []
    question_class = _native.Question

    class Counting:
        def __init__(self, *arguments: Any) -> None:
            self._question = question_class(*arguments)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._question, name)

        def answer(self, on_done: Callable[..., object], threads: int) -> None:
            begun.append(self._question.answer(on_done, threads))

    monkeypatch.setattr(_native, "Question", Counting)
    return begun


@pytest.mark.parametrize("name", CALLS)
def test_no_comparison_simulates_many_more_messages_than_it_did(messages: list[int], name: str) -> None:
    with ACCEPTED.open() as file:
        accepted = {row["comparison"]: int(row["messages"]) for row in csv.DictReader(file)}
    hocket.compare(name.partition(",")[0], first_places=3, **CALLS[name])  # type: ignore[arg-type]
    assert sum(messages) <= 1.2 * accepted[name], f"simulate fewer, or accept this in costs.csv: {name},{sum(messages)}"
