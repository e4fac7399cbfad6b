"""Independent tasks in parallel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from queue import SimpleQueue
from typing import TypeAlias, TypeVar

from hocket.base.checks import instance
from hocket.base.processors import processors, room_for_threads

T = TypeVar("T")
R = TypeVar("R")


ProgressDisplay: TypeAlias = Callable[[str, int], AbstractContextManager[Callable[[], object]]]
"""Shows the progress of work: given a label and the number of pieces, it yields a function to call after each piece."""


def ignore(*_: object) -> None:
    """Do nothing; the default of progress callbacks."""


@contextmanager
def no_display(label: str, total: int) -> Iterator[Callable[[], object]]:
    """Show nothing."""
    yield ignore


@contextmanager
def workers(jobs: int | None = None) -> Iterator[Executor]:
    """Give an executor of `jobs` threads, by default one per processor that this process may use.

    Where `ulimit -v` leaves room for fewer threads, there are fewer.

    Leaving the context does not wait for running work, so Ctrl-C takes effect at once.
    """
    executor = ThreadPoolExecutor(room_for_threads(jobs or processors()))
    try:
        yield executor
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def do_all(
    work: Callable[[T], R],
    tasks: Sequence[T],
    *,
    executor: Executor | None,
    on_done: Callable[[T, R], object] = ignore,
    more: Callable[[T, R], Iterable[T]] = lambda *_: (),
) -> list[R]:
    """Call `work` on every task and return the results in the order of the tasks.

    If a task fails, tasks that have not started are cancelled. The first failed task in order gives the error. The
    executor is any of `concurrent.futures`, by default threads, one per processor. After each task, `on_done` and
    `more` get it and its result, in this thread; `more` returns further tasks, which come after all others.
    """
    if executor is None:
        with workers() as own:
            return do_all(work, tasks, executor=own, on_done=on_done, more=more)
    instance("executor", executor, Executor, "one of concurrent.futures")
    futures: dict[Future[R], T] = {}
    ended: SimpleQueue[Future[R]] = SimpleQueue()

    def submit(some: Iterable[T]) -> int:
        new_futures = {executor.submit(work, task): task for task in some}
        futures.update(new_futures)
        for future in new_futures:
            future.add_done_callback(ended.put)
        return len(new_futures)

    try:
        left = submit(tasks)
        while left:
            future = ended.get()
            if future.exception() is not None:
                break
            on_done(futures[future], future.result())
            left += submit(more(futures[future], future.result())) - 1
    finally:
        for future in futures:
            future.cancel()
    return [future.result() for future in futures if not future.cancelled()]
