"""Executors for independent pieces of work: threads, the ranks of an MPI job, or the workers of Dask."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hocket._native import Error
from hocket.base.packages import optional
from hocket.base.units import format_duration

if TYPE_CHECKING:
    from concurrent.futures import Executor

_WAIT_S = 30.0  # how long to wait for the first worker

_WAIT_AGAIN_S = 300.0  # how long to wait for another worker when all have ended

_LOOK_S = 2.0  # time between two looks at the workers


@dataclass(frozen=True)
class ExecutorKind:
    """A kind of executor."""

    name: str  # "local", "mpi" or "dask"
    # The address of a running Dask scheduler; without it Dask starts workers on this computer.
    address: str | None = None

    @classmethod
    def parse(cls, text: str) -> ExecutorKind:
        """Return the executor that a text names, such as "local" or "dask=tcp://host:8786"; refuse others."""
        name, equals, address = text.partition("=")
        if name not in ("local", "mpi", "dask") or bool(equals) != bool(address) or (address and name != "dask"):
            raise Error(f'got "{text}", expected local, mpi, dask or dask=ADDRESS')
        return cls(name, address or None)


def open_executor(kind: ExecutorKind, *, jobs: int, say: Callable[[str], object]) -> AbstractContextManager[Executor]:
    """Give an executor of a kind with `jobs` workers; a running scheduler keeps its own workers.

    `say` receives what the work waits for, and how long. An Error if a package is missing, or the executor was lost.
    """
    from hocket.base.parallel import workers

    if kind.name == "local":
        return workers(jobs)
    return _mpi(jobs) if kind.name == "mpi" else _dask(kind.address, jobs, say)


@contextmanager
def _mpi(jobs: int) -> Iterator[Executor]:
    is_alone = optional("mpi4py.MPI", extra="mpi").COMM_WORLD.size == 1
    if is_alone and shutil.which("mpiexec") is None:
        raise Error(
            "--executor: got mpi, expected mpiexec on the PATH, or mpiexec -n P python -m mpi4py.futures -m hocket"
        )
    executor: Executor = optional("mpi4py.futures", extra="mpi").MPIPoolExecutor(jobs, main=False)
    try:
        yield executor
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def _client(dask: Any, scheduler: Any) -> Any:
    """Return a client of a scheduler that has workers; an Error if none is at that address, or it gets no workers."""
    try:
        client = dask.Client(scheduler)
        client.wait_for_workers(1, timeout=_WAIT_S)
        return client
    except (OSError, ValueError) as error:
        raise Error(f"--executor: no workers of Dask at {scheduler}: {error}") from None


class _Workers:
    """A look at the workers of Dask from time to time; gives up the work when all have ended and no other comes."""

    def __init__(self, client: Any, scheduler: str, say: Callable[[str], object]) -> None:
        self._client, self._scheduler, self._say = client, scheduler, say
        self._is_left = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.have_ended = False

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_left.set()
        self._thread.join()

    def _look(self) -> None:
        alone_s = 0.0
        with suppress(OSError, RuntimeError):  # the scheduler has ended, and so has the work
            while not self._is_left.wait(_LOOK_S):
                if self._client.nthreads():
                    alone_s = 0.0
                    continue
                if not alone_s:
                    self._say(
                        f"no worker of Dask is left at {self._scheduler}, waiting up to "
                        f"{format_duration(_WAIT_AGAIN_S)} for another"
                    )
                alone_s += _LOOK_S
                if alone_s > _WAIT_AGAIN_S:
                    self.have_ended = True
                    self._client.get_executor().shutdown(wait=False)
                    self._client.close()
                    return


@contextmanager
def _dask(address: str | None, jobs: int, say: Callable[[str], object]) -> Iterator[Executor]:
    from concurrent.futures import CancelledError

    dask = optional("distributed", extra="dask")
    for name in [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]:
        logging.getLogger(name).setLevel(logging.CRITICAL)  # an error is told once, below
    own = {
        "threads_per_worker": 1,
        "dashboard_address": None,
        # Any free port: a scheduler beside this one may have the usual port.
        "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"},
        "silence_logs": logging.CRITICAL,
    }
    with (
        nullcontext(address) if address else dask.LocalCluster(n_workers=jobs, **own) as scheduler,
        _client(dask, scheduler) as client,
    ):
        where = client.scheduler.address
        # Dask replaces the workers that it started.
        workers = _Workers(client, where, say if address else lambda _: None)
        try:
            with workers:
                yield client.get_executor()
        except dask.KilledWorker as error:
            raise Error("workers of Dask died, expected enough memory for one simulation on each worker") from error
        except (CancelledError, OSError, dask.client.ClosedClientError) as error:
            if client.status == "running":
                raise
            if workers.have_ended:
                wait_text = format_duration(_WAIT_AGAIN_S)
                raise Error(f"--executor: no worker of Dask at {where} for {wait_text}, expected another") from error
            raise Error(
                f"--executor: the scheduler of Dask at {where} has ended, expected that it runs until the work is done"
            ) from error
