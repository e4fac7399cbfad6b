"""Jobs: views in the making. A few run at a time, each in a process that is killed if the job is cancelled.

A job waits, runs, and is done; it is forgotten after its answer was fetched. A job that no page has looked at for a
while is cancelled.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from hocket.explorer.questions import Sources

_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from hocket.explorer.worker import main; main()"
MOST_RUNNING = 2
MOST_WAITING = 16
_UNSEEN_S = 30.0
_LOOK_S = 1.0
_MOST_ANSWER_BYTES = 1 << 28
_DEATH_NOTICE = b'{"error": "the process that worked on it died, perhaps for lack of memory"}'


def command(sources: Sources) -> Sequence[str]:
    """Return the command that starts the process; it finds the same modules as this process."""
    measured = [(one.path, one.algorithm, one.ranks) for one in sources.measured]
    arguments = json.dumps([sources.load, sources.machines, measured])
    return [sys.executable, "-c", _START, json.dumps(sys.path), arguments]


class FullError(Exception):
    """Too many jobs wait."""


@dataclass
class Job:
    """A job: a view that a page asks for."""

    id: str  # its name
    request: Mapping[str, Any]
    is_running: bool = False  # whether a process works on it
    progress: tuple[int, int] = (0, 0)  # number of finished pieces of work, and of all pieces; both are 0 until known
    status: int | None = None  # the HTTP status of its answer; None until it is done
    content: bytes = b""  # its answer, as JSON
    _change: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None
    _timer: asyncio.TimerHandle | None = None

    def change(self, **values: Any) -> None:
        """Set some of its values, and wake its observers."""
        for name, value in values.items():
            setattr(self, name, value)
        self._change.set()


async def worker(sources: Sources, *, most_answer_bytes: int = _MOST_ANSWER_BYTES) -> Process:
    """Start a process that makes views, whose answers may have so many bytes."""
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        *command(sources), stdin=pipe, stdout=pipe, limit=most_answer_bytes, start_new_session=True
    )


class Jobs:
    """The jobs of a server, and the processes that work on them; a job that no page looks at is cancelled."""

    def __init__(
        self,
        sources: Sources,
        *,
        start_worker: Callable[[Sources], Awaitable[Process]] = worker,
        unseen_s: float = _UNSEEN_S,
    ) -> None:
        self._sources, self._start_worker, self._unseen_s = sources, start_worker, unseen_s
        self._jobs: dict[str, Job] = {}
        self._free = asyncio.Semaphore(MOST_RUNNING)
        self._idle: list[Process] = []

    async def start(self) -> None:
        """Start a process in advance, so that the first job need not wait for it."""
        self._idle.append(await self._start_worker(self._sources))

    async def stop(self) -> None:
        """Cancel all jobs and end all processes."""
        tasks = [job._task for job in self._jobs.values() if job._task is not None]
        for name in list(self._jobs):
            self.cancel(name)
        await asyncio.gather(*tasks, return_exceptions=True)
        while self._idle:
            await _kill(self._idle.pop())

    def submit(self, request: Mapping[str, Any]) -> Job:
        """Accept a job; a FullError if too many wait."""
        if len(self._jobs) >= MOST_RUNNING + MOST_WAITING:
            raise FullError
        job = Job(secrets.token_hex(8), request)
        self._jobs[job.id] = job
        job._task = asyncio.get_running_loop().create_task(self._run(job))
        self._see(job)
        return job

    async def look(self, name: str) -> Job | None:
        """Return a job as soon as it changes, or after a second; None if there is no job of that name.

        A finished job is then forgotten.
        """
        job = self._jobs.get(name)
        if job is None:
            return None
        self._see(job)
        if job.status is None:
            job._change.clear()
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(job._change.wait(), _LOOK_S)
        if job.status is not None:
            self.cancel(name)
        return job

    def before(self, job: Job) -> int:
        """Return the number of jobs that wait before one."""
        names = [other.id for other in self._jobs.values() if not other.is_running and other.status is None]
        return names.index(job.id) if job.id in names else 0

    def cancel(self, name: str) -> None:
        """Forget a job, if it exists, and kill its process."""
        job = self._jobs.pop(name, None)
        if job is not None and job._task is not None and job._timer is not None:
            job._timer.cancel()
            job._task.cancel()

    def _see(self, job: Job) -> None:
        """Note that a page looks at a job."""
        if job._timer is not None:
            job._timer.cancel()
        job._timer = asyncio.get_running_loop().call_later(self._unseen_s, self.cancel, job.id)

    async def _run(self, job: Job) -> None:
        try:
            async with self._free:
                job.change(is_running=True)
                await self._work(job)
        except (OSError, ValueError) as error:  # no process can be started, or its answer is too long
            job.change(status=500, content=json.dumps({"error": f"the view cannot be made: {error}"}).encode())

    async def _work(self, job: Job) -> None:
        self._idle = [process for process in self._idle if process.returncode is None]
        process = self._idle.pop() if self._idle else await self._start_worker(self._sources)
        try:
            await _ask(process, job)
        except BaseException:
            await _kill(process)
            raise
        if process.returncode is None:
            self._idle.append(process)


async def _ask(process: Process, job: Job) -> None:
    """Let a process work on a job until the job is done."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps(job.request).encode() + b"\n")
    while job.status is None:
        line = await process.stdout.readline()
        if not line:
            await process.wait()
            job.change(status=500, content=_DEATH_NOTICE)
            return
        message = json.loads(line)
        if "status" in message:
            job.change(status=message["status"], content=await process.stdout.readline())
        else:
            job.change(progress=(message["done"], message["total"]))


async def _kill(process: Process) -> None:
    if process.returncode is None:
        process.kill()
        await process.wait()
