"""Parallel work."""

import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import pytest

from hocket.base.parallel import do_all, ignore, workers


def test_results_are_in_the_order_of_the_tasks() -> None:
    done: dict[int, int] = {}
    squares = [n * n for n in range(50)]
    assert do_all(lambda n: n * n, range(50), executor=None, on_done=done.__setitem__) == squares
    assert done == dict(enumerate(squares))


def test_any_executor_does() -> None:
    with ThreadPoolExecutor(3) as executor:
        assert do_all(str, [1, 2], executor=executor, on_done=ignore) == ["1", "2"]


def test_the_first_failure_in_order_is_told() -> None:
    second_failed = threading.Event()

    def work(number: int) -> None:
        if number == 1:
            second_failed.set()
        else:
            second_failed.wait(timeout=10)
        raise ValueError(str(number))

    with workers(2) as executor, pytest.raises(ValueError, match="0"):
        do_all(work, range(5), executor=executor, on_done=ignore)


def test_a_failure_is_told_though_work_before_it_is_cancelled() -> None:
    class Elsewhere(Executor):
        """An executor that has not begun the first task when the second one fails, and may cancel it."""

        def submit(self, *call: Any, **_: Any) -> "Future[Any]":
            future: Future[Any] = Future()
            if call[1] == 1:
                future.set_exception(ValueError("the second"))
            return future

    with pytest.raises(ValueError, match="the second"):
        do_all(str, [0, 1], executor=Elsewhere(), on_done=ignore)


def test_a_failure_ends_the_work() -> None:
    release = threading.Event()

    def work(number: int) -> None:
        if number == 0:
            raise ValueError("the first")
        release.wait(timeout=10)

    with workers(1) as executor, pytest.raises(ValueError, match="the first"):
        do_all(work, range(100), executor=executor, on_done=ignore)
    release.set()
