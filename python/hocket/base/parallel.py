"""Independent tasks in parallel."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, contextmanager
from typing import TypeAlias, TypeVar

from hocket.base.checks import instance

__all__ = ["Shown", "do_all", "ignore", "unseen", "workers"]

T = TypeVar("T")
R = TypeVar("R")


Shown: TypeAlias = Callable[[str, int], AbstractContextManager[Callable[[], object]]]
"""Shows work while it goes on: told what it is and how many pieces it has, it gives what is called after each."""


def ignore(*_: object) -> None:
    """Do nothing when a piece of work is done."""


@contextmanager
def unseen(label: str, total: int) -> Iterator[Callable[[], object]]:
    """Show nothing."""
    yield ignore


@contextmanager
def workers(jobs: int | None = None) -> Iterator[Executor]:
    """Give an executor of `jobs` threads, one per processor by default.

    Leaving it does not wait for work that runs, so that Ctrl-C is obeyed at once.
    """
    executor = ThreadPoolExecutor(jobs or os.cpu_count())
    try:
        yield executor
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def do_all(
    work: Callable[[T], R], tasks: Sequence[T], *, executor: Executor | None, on_done: Callable[[T, R], object]
) -> list[R]:
    """Do `work` on every task and return the results in the order of the tasks.

    When some fail, the others are not begun, and the first in order that failed says why: whoever was faster.

    Args:
        work: What to do.
        tasks: On what.
        executor: Who does it, any of `concurrent.futures`; one thread per processor by default.
        on_done: Called after each task, in this thread, with the task and its result.

    Raises:
        Error: The executor is none.
    """
    if executor is None:
        with workers() as own:
            return do_all(work, tasks, executor=own, on_done=on_done)
    instance("executor", executor, Executor, "one of concurrent.futures")
    futures = {executor.submit(work, task): task for task in tasks}
    try:
        for future in as_completed(futures):
            if future.exception() is not None:
                break
            on_done(futures[future], future.result())
    finally:
        for future in futures:
            future.cancel()
    return [future.result() for future in futures if not future.cancelled()]
