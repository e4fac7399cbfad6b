"""The server: access, jobs and errors."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

import hocket
from hocket.explorer.jobs import MOST_RUNNING, MOST_WAITING, FullError, Job, Jobs, worker
from hocket.explorer.questions import Sources
from hocket.explorer.server import application, listen, server
from tests.explorer.conftest import LONG, OSU, fields

TOKEN = "secret"
HOST = "127.0.0.1:1234"
QUICK = {"view": "times", "fields": fields(sizes="8B")}


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(application(Sources(), token=TOKEN, port=1234), base_url=f"http://{HOST}") as client:
        client.params = httpx.QueryParams(token=TOKEN)
        yield client


def answer(client: TestClient, request: Any) -> tuple[int, Any]:
    """The status and the content of a job's answer."""
    accepted = client.post("/api/jobs", content=json.dumps(request))
    if accepted.status_code != 202:
        return accepted.status_code, accepted.json()
    name = accepted.json()["id"]
    while (found := client.get(f"/api/jobs/{name}")).status_code == 202:
        pass
    assert client.get(f"/api/jobs/{name}").status_code == 404
    return found.status_code, found.json()


@pytest.mark.parametrize("path", ["/", "/page/app.js", "/page/vega.js", "/api/start", "/api/jobs/x", "/nowhere"])
def test_only_the_users_own_page_is_let_in(client: TestClient, path: str) -> None:
    for token in ("", "Secret", "sécret", TOKEN + "x"):
        refused = client.get(path, params={"token": token})
        assert refused.status_code == 403
        told = refused.text.removeprefix("hocket: ").rstrip() if path == "/" else refused.json()["error"]
        assert told == "the token is missing or wrong, expected the address that `hocket serve` prints"
    for host in ("evil.example:1234", "127.0.0.1", "127.0.0.1:80", "localhost.evil.example:1234", ""):
        assert client.get(path, headers={"host": host}).status_code == 403
    assert client.get(path, headers={"host": "localhost:1234"}).status_code in (200, 404)
    assert client.post("/api/jobs", params={"token": ""}, json=QUICK).status_code == 403


def test_the_policy_allows_only_the_servers_own_files(client: TestClient) -> None:
    for path in ("/", "/page/app.js", "/nowhere"):
        headers = client.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["referrer-policy"] == "no-referrer"
    page = client.get("/").text
    assert {link.split("?")[1] for link in re.findall(r'(?:src|href)="(/[^"]*)"', page)} == {f"token={TOKEN}"}
    assert client.get("/page/..%2f__init__.py").status_code == 404


def test_a_view_of_a_job_is_that_of_the_module(client: TestClient) -> None:
    status, found = answer(client, QUICK)
    assert status == 200
    assert found["title"] == "allreduce on 8 ranks, elements of 4 B, machine cluster"
    assert found["tables"][0]["rows"][0][0] == "8 B"


def test_a_pasted_text_is_judged(client: TestClient) -> None:
    status, found = answer(client, {"view": "judge", "fields": fields(output=OSU, ranks="128", machine="lumi")})
    assert (status, found["title"]) == (200, hocket.judge(OSU, machine="lumi", ranks=128).title)
    status, found = answer(client, {"view": "report", "fields": fields(output=OSU, sizes="8B")})
    assert status == 200 and "hocket judge out.txt --ranks 8 --machine cluster" in found["html"]


def test_a_report_is_a_page(client: TestClient) -> None:
    status, found = answer(client, {"view": "report", "fields": fields(sizes="8B")})
    assert status == 200
    assert found["html"].startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ({"view": "times", "fields": fields(ranks="0")}, 'ranks: got "0", expected rank counts of at least 1'),
        ({"view": "links", "fields": fields()}, "machine cluster has no topology"),
        ({"view": "nonsense", "fields": fields()}, "view: got 'nonsense', expected one of times, map"),
        ({"view": "times", "fields": {"ranks": 4}}, "ranks: got 4, expected a text"),
        ({"view": "times", "fields": fields(machine="\ud800")}, "machine:1: "),
        ({"view": "judge", "fields": fields(output="hello")}, "^text: unknown format, expected "),
        ({"view": "judge", "fields": fields(output="x" * (1 << 20))}, "output: too long, expected at most 524288"),
        ({"view": "times"}, "expected the view and the fields of a form"),
        ([], "got \\[\\], expected the view"),
        (b"{", "not JSON"),
        (b"[" * 200_000, "not JSON"),
        (b"\xff", "not JSON"),
        (b"1" * 10_000, "not JSON"),
        (b" " * (3 << 20), "request: too long, expected at most 2097152 bytes"),
    ],
)
def test_bad_requests_get_one_line(client: TestClient, request_: Any, told: str) -> None:
    if isinstance(request_, bytes):
        refused = client.post("/api/jobs", content=request_)
        status, content = refused.status_code, refused.json()
    else:
        status, content = answer(client, request_)
    is_question = isinstance(request_, dict) and "fields" in request_
    assert status == (200 if is_question else 400), "a refusal is an answer: browsers report others as errors"
    assert re.search(told, content["error"]) and "\n" not in content["error"] and "Traceback" not in content["error"]


def in_jobs(work: Callable[[Jobs, list[Process]], Awaitable[None]], **limits: int) -> None:
    """Do something with jobs, and the processes that are started for them."""

    async def run() -> None:
        started: list[Process] = []

        async def noted(named: Sources) -> Process:
            started.append(await worker(named, **limits))
            return started[-1]

        jobs = Jobs(Sources(), start_worker=noted)
        try:
            await work(jobs, started)
        finally:
            await jobs.stop()
            assert all(process.returncode is not None for process in started)

    asyncio.run(asyncio.wait_for(run(), 60))


async def until_it_runs(jobs: Jobs, job: Job) -> None:
    while not job.is_running:
        await jobs.look(job.id)


async def done(jobs: Jobs, job: Job) -> Job:
    while job.status is None:
        await jobs.look(job.id)
    return job


LONG_JOB = {"view": "times", "fields": fields(**LONG)}


def test_cancelling_kills_the_work_and_others_go_on() -> None:
    async def work(jobs: Jobs, started: list[Process]) -> None:
        assert (await done(jobs, jobs.submit(QUICK))).status == 200  # the process has started
        long = jobs.submit(LONG_JOB)
        await until_it_runs(jobs, long)
        jobs.cancel(long.id)
        await asyncio.wait_for(started[0].wait(), 5)
        assert started[0].returncode == -signal.SIGKILL
        assert await jobs.look(long.id) is None
        assert (await done(jobs, jobs.submit(QUICK))).status == 200

    in_jobs(work)


def test_a_warm_process_works_on_the_next_job() -> None:
    async def work(jobs: Jobs, started: list[Process]) -> None:
        await jobs.start()
        for _ in range(2):
            assert (await done(jobs, jobs.submit(QUICK))).status == 200
        assert len(started) == 1

    in_jobs(work)


def test_a_job_whose_page_has_gone_is_cancelled() -> None:
    async def run() -> None:
        cancelled = asyncio.Event()

        async def never(_: Sources) -> Process:
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()
            raise AssertionError

        jobs = Jobs(Sources(), start_worker=never, unseen_s=0.05)
        job = jobs.submit(QUICK)
        await asyncio.wait_for(cancelled.wait(), 10)
        assert await jobs.look(job.id) is None

    asyncio.run(run())


def test_a_process_that_dies_is_told_and_replaced() -> None:
    async def work(jobs: Jobs, started: list[Process]) -> None:
        await jobs.start()
        job = jobs.submit(LONG_JOB)
        await until_it_runs(jobs, job)
        started[0].kill()
        assert (await done(jobs, job)).status == 500
        assert "died" in json.loads(job.content)["error"]
        assert (await done(jobs, jobs.submit(QUICK))).status == 200

    in_jobs(work)


def test_an_answer_that_is_too_long_is_told() -> None:
    async def work(jobs: Jobs, started: list[Process]) -> None:
        job = await done(jobs, jobs.submit(QUICK))
        assert job.status == 500 and b"the view cannot be made" in job.content

    in_jobs(work, most_answer_bytes=1000)


def test_the_queue_is_bounded_and_in_order() -> None:
    async def work(jobs: Jobs, started: list[Process]) -> None:
        accepted = [jobs.submit(LONG_JOB) for _ in range(MOST_RUNNING + MOST_WAITING)]
        with pytest.raises(FullError):
            jobs.submit(QUICK)
        await until_it_runs(jobs, accepted[1])
        assert [job.is_running for job in accepted] == [True] * MOST_RUNNING + [False] * MOST_WAITING
        assert [jobs.before(job) for job in accepted[MOST_RUNNING:]] == list(range(MOST_WAITING))
        jobs.cancel(accepted[5].id)
        assert jobs.before(accepted[6]) == 3
        jobs.submit(QUICK)

    in_jobs(work)


@pytest.fixture
def served() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address and the process of `hocket serve`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "hocket", "serve"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    address = process.stdout.readline().partition(" ")[2].strip()
    yield address, process
    process.kill()
    process.communicate()


def workers_of(pid: int) -> set[int]:
    """The child processes of a process."""
    return {
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/stat")
        if path.read_text(errors="replace").rpartition(")")[2].split()[1] == str(pid)
    }


def have_ended(pids: set[int]) -> bool:
    for _ in range(100):
        if not any(Path(f"/proc/{pid}").exists() for pid in pids):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize(("end", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_the_server_ends_with_all_its_work(
    served: tuple[str, subprocess.Popen[str]], end: signal.Signals, status: int
) -> None:
    address, process = served
    url = httpx.URL(address)
    job = httpx.post(url.copy_with(path="/api/jobs"), params=url.params, json=LONG_JOB).json()
    looked: dict[str, Any] = {}
    while not looked.get("is_running"):
        looked = httpx.get(url.copy_with(path=f"/api/jobs/{job['id']}"), params=url.params).json()
    pids = workers_of(process.pid)
    assert pids
    os.kill(process.pid, end)
    assert process.wait(10) == status
    assert have_ended(pids)
    assert "Traceback" not in process.communicate()[1]


def test_many_requests_at_once(served: tuple[str, subprocess.Popen[str]]) -> None:
    url = httpx.URL(served[0])

    async def ask() -> list[httpx.Response]:
        async with httpx.AsyncClient(params=url.params, base_url=f"http://{url.netloc.decode()}", timeout=30) as client:
            many = await asyncio.gather(*(client.post("/api/jobs", json=LONG_JOB) for _ in range(50)))
            names = [found.json()["id"] for found in many if found.status_code == 202]
            looks = await asyncio.gather(client.get("/"), *(client.get(f"/api/jobs/{name}") for name in names))
            assert {found.status_code for found in looks} == {200, 202}
            await asyncio.gather(*(client.delete(f"/api/jobs/{name}") for name in names))
            quick = await client.post("/api/jobs", json=QUICK)
            assert quick.status_code == 202
            return many

    found = asyncio.run(ask())
    statuses = [each.status_code for each in found]
    assert (statuses.count(202), statuses.count(503)) == (MOST_RUNNING + MOST_WAITING, 32)
    assert "too many jobs are waiting" in found[statuses.index(503)].json()["error"]


def test_raw_garbage_does_not_end_the_server(served: tuple[str, subprocess.Popen[str]]) -> None:
    url = httpx.URL(served[0])
    assert url.port is not None
    for garbage in (
        b"\0" * 100,
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"\xff\r\n\r\n",
    ):
        with socket.create_connection((url.host, url.port), timeout=5) as raw:
            raw.sendall(garbage)
            raw.shutdown(socket.SHUT_WR)
            assert b" 200 " not in raw.recv(1000)
    assert httpx.get(url).status_code == 200


def test_a_request_that_is_cut_off_leaves_nothing_in_the_log(served: tuple[str, subprocess.Popen[str]]) -> None:
    url, process = httpx.URL(served[0]), served[1]
    assert url.port is not None
    words = f"Host: {url.host}:{url.port}\r\nContent-Length: 100"
    head = f"POST /api/jobs?{url.query.decode()} HTTP/1.1\r\n{words}\r\n\r\n{{"
    with socket.create_connection((url.host, url.port), timeout=5) as raw:
        raw.sendall(head.encode())
    assert httpx.get(url).status_code == 200
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30)[1] == "hocket: interrupted\n"


def test_who_has_no_token_locks_nobody_out(served: tuple[str, subprocess.Popen[str]]) -> None:
    url = httpx.URL(served[0])
    with ExitStack() as stack:
        for number in range(250):
            raw = stack.enter_context(socket.create_connection((url.host, url.port), timeout=5))
            raw.sendall((b"", b"GET / HT", b"GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n")[number % 3])
        assert httpx.get(url).status_code == 200
        assert httpx.get(url).status_code == 200


def test_a_connection_without_the_token_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hocket.explorer.server._Connection.within_s", 0.1)
    listening = listen(0)
    host, port = listening.getsockname()
    serving = server(Sources(), token=TOKEN, port=port)
    running = threading.Thread(target=serving.run, args=([listening],))
    path = f"/page/app.js?token={TOKEN}"
    with (
        socket.create_connection((host, port), timeout=30) as stranger,
        closing(HTTPConnection(host, port, timeout=30)) as user,
    ):
        stranger.sendall(b"GET / HT")
        user.request("GET", path)  # before the server starts: the token is there in time
        users_own = user.sock
        running.start()
        try:
            answered = user.getresponse()
            assert (answered.status, answered.read() != b"") == (200, True)
            with suppress(ConnectionResetError):
                assert stranger.recv(1) == b""
            user.request("GET", path)
            assert user.getresponse().status == 200 and user.sock is users_own
        finally:
            serving.should_exit = True
            running.join()


def test_misuse_of_the_command(bad_input: Callable[..., str], tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"--port: got {port}, expected a free port" in bad_input(f"serve --port {port}")
    assert "no machine" in bad_input("serve --machine nowhere.toml")
    assert "nowhere.py: no such file" in bad_input("serve --load nowhere.py")


def test_without_its_packages_the_command_says_so(
    bad_input: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert "uvicorn cannot be used here" in bad_input("serve")


def test_answers_are_json_that_browsers_read(client: TestClient) -> None:
    found = client.get("/api/start")
    assert "NaN" not in found.text and {one["name"] for one in json.loads(found.text)["machines"]} >= {"cluster"}
