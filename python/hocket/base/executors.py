"""Executors for independent pieces of work: threads, the ranks of an MPI job, or the workers of Dask."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hocket._native import Error
from hocket.base.packages import optional

if TYPE_CHECKING:
    from concurrent.futures import Executor

_WAIT_S = 30.0
"""How long to wait for the first worker."""


@dataclass(frozen=True)
class ExecutorKind:
    """A kind of executor.

    Attributes:
        name: "local", "mpi" or "dask".
        address: The address of a running Dask scheduler; without it Dask starts workers on this computer.
    """

    name: str
    address: str | None = None

    @classmethod
    def parse(cls, text: str) -> ExecutorKind:
        """Return the executor that a text names, such as "local" or "dask=tcp://host:8786".

        Raises:
            Error: There is no executor of that name.
        """
        name, equals, address = text.partition("=")
        if name not in _KINDS or bool(equals) != bool(address) or (address and name != "dask"):
            raise Error(f'got "{text}", expected local, mpi, dask or dask=ADDRESS')
        return cls(name, address or None)


def open_executor(kind: ExecutorKind, *, jobs: int) -> AbstractContextManager[Executor]:
    """Give an executor of a kind with `jobs` workers; a running scheduler keeps its own workers.

    Raises:
        Error: A package is missing.
    """
    return _KINDS[kind.name](kind, jobs)


def _local(_kind: ExecutorKind, jobs: int) -> AbstractContextManager[Executor]:
    from hocket.base.parallel import workers

    return workers(jobs)


@contextmanager
def _mpi(_kind: ExecutorKind, jobs: int) -> Iterator[Executor]:
    alone = optional("mpi4py.MPI", extra="mpi").COMM_WORLD.size == 1
    if alone and shutil.which("mpiexec") is None:
        raise Error(
            "--executor: got mpi, expected mpiexec on the PATH, or mpiexec -n P python -m mpi4py.futures -m hocket"
        )
    executor: Executor = optional("mpi4py.futures", extra="mpi").MPIPoolExecutor(jobs, main=False)
    try:
        yield executor
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def _client(distributed: Any, scheduler: Any) -> Any:
    """Return a client of a scheduler that has workers.

    Raises:
        Error: There is no scheduler at that address, or it gets no workers.
    """
    try:
        client = distributed.Client(scheduler)
        client.wait_for_workers(1, timeout=_WAIT_S)
        return client
    except (OSError, ValueError) as error:
        raise Error(f"--executor: no workers of Dask at {scheduler}: {error}") from None


@contextmanager
def _dask(kind: ExecutorKind, jobs: int) -> Iterator[Executor]:
    distributed = optional("distributed", extra="dask")
    own = {
        "threads_per_worker": 1,
        "dashboard_address": None,
        # Any free port: a scheduler beside this one may have the usual port.
        "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"},
        "silence_logs": logging.CRITICAL,
    }
    try:
        with (
            nullcontext(kind.address) if kind.address else distributed.LocalCluster(n_workers=jobs, **own) as scheduler,
            _client(distributed, scheduler) as client,
        ):
            yield client.get_executor()
    except distributed.KilledWorker as error:
        raise Error("workers of Dask died, expected enough memory for one simulation on each worker") from error


_KINDS: dict[str, Callable[[ExecutorKind, int], AbstractContextManager[Executor]]] = {
    "local": _local,
    "mpi": _mpi,
    "dask": _dask,
}
