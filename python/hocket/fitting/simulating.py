"""Cells simulated with values of a skeleton, in parallel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from hocket._native import Error
from hocket.base.parallel import Shown, do_all, unseen
from hocket.definitions.machine import Machine
from hocket.fitting.cells import Cell
from hocket.fitting.skeleton import Skeleton
from hocket.simulating.simulation import Trials, simulate

Floats = NDArray[np.float64]
"""Numbers; values of a skeleton are their natural logarithms."""

_ONE_THREAD = Trials(threads=1)


class TimeOverError(Exception):
    """The time that was allowed is over."""


@dataclass
class Simulator:
    """Who simulates cells.

    Attributes:
        skeleton: The machine without values.
        executor: Who does the work.
        until_s: When the time is over, by the clock of `time.monotonic`.
        on_done: Called when a simulation is done.
        shown: Shows the progress of each stage.
    """

    skeleton: Skeleton
    executor: Executor
    until_s: float
    on_done: Callable[[], object]
    shown: Shown = unseen

    @contextmanager
    def stage(self, label: str, simulations: int) -> Iterator[None]:
        """Show the progress of the simulations that are done inside."""
        on_done = self.on_done
        with self.shown(label, simulations) as advance:

            def both() -> None:
                on_done()
                advance()

            self.on_done = both
            try:
                yield
            finally:
                self.on_done = on_done

    def times_s(self, points: Sequence[Floats], cells: Sequence[Cell]) -> Floats:
        """Return simulated times: a row for each point, a column for each cell.

        Raises:
            TimeOverError: The time is over.
            Error: A cell takes no time with some values.
        """
        if monotonic() > self.until_s:
            raise TimeOverError
        machines = {
            (number, dims): self.skeleton.with_values(np.exp(point).tolist(), dims)
            for number, point in enumerate(points)
            for dims in {cell.dims for cell in cells}
        }

        def done(*_: object) -> None:
            self.on_done()
            if monotonic() > self.until_s:
                raise TimeOverError

        tasks = [(machines[number, cell.dims], cell) for number in range(len(points)) for cell in cells]
        found = do_all(_time_s, tasks, executor=self.executor, on_done=done)
        return np.asarray(found).reshape(len(points), len(cells))


def _time_s(task: tuple[Machine, Cell]) -> float:
    machine, cell = task
    way = cell.measurement.measured_as
    time_s = simulate(cell.algorithm, cell.call, machine=machine, measured_as=way, trials=_ONE_THREAD).time_s.mean
    if time_s <= 0:
        raise Error(
            f"{cell.measurement.source}: {cell.algorithm.label} takes no time on machine {machine.name}, "
            "expected a latency, an overhead or bytes"
        )
    return time_s
