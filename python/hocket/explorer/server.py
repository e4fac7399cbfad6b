"""The explorer's server: for one user on this computer, who has its token."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from hocket._native import Error
from hocket.base.checks import quote
from hocket.base.version import VERSION
from hocket.definitions.library import COLLECTIVES
from hocket.definitions.machine import Machine
from hocket.explorer.jobs import FullError, Jobs
from hocket.explorer.page_files import page_file, vega
from hocket.explorer.questions import MOST_LETTERS, Sources

HOST = "127.0.0.1"
_NAMES = (HOST, "localhost")
_DEFAULT_PORT = 80  # browsers leave this port out
_MOST_BODY_BYTES = 2 << 20  # a pasted text, and a machine
_MOST_STRANGERS = 200  # connections that have not yet sent the token
_TOKEN_WITHIN_S = 10.0
_LET_IN = "let_in"
_RANKS = "4,8,16,32,64"
_MOST_FIRST_RANKS = 1024
_TYPES = {".css": "text/css", ".js": "text/javascript", ".html": "text/html"}
_FILES = ("style.css", "view.js", "machine.js", "app.js")
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}


def listen(port: int) -> socket.socket:
    """Return a socket that listens on this computer only; port 0 for a free one. A taken port is refused."""
    try:
        return socket.create_server((HOST, port))  # connections are accepted, and wait until the server has started
    except OSError as error:
        raise Error(f"--port: got {port}, expected a free port: {os.strerror(error.errno or 0)}") from None


def server(sources: Sources, *, token: str, port: int) -> uvicorn.Server:
    """Return a server of the application, with the arguments of `application`."""
    config = uvicorn.Config(
        application(sources, token=token, port=port),
        http=_Connection,
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)


class _Connection(H11Protocol):
    """A connection that is cut if no request with the token arrives in time; it does not block others until then.

    At most `_MOST_STRANGERS` connections may be without the token, each for `within_s`: another one replaces the
    oldest.
    """

    within_s = _TOKEN_WITHIN_S
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, _LET_IN: self._let_in}
        self._deadline = self.loop.call_later(self.within_s, self._cut)
        strangers = [one for one in self.connections if isinstance(one, _Connection) and one._deadline]
        if len(strangers) > _MOST_STRANGERS:
            min(strangers, key=_Connection._due_s)._cut()

    def connection_lost(self, exc: Exception | None) -> None:
        self._let_in()
        super().connection_lost(exc)

    def _let_in(self) -> None:
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None

    def _due_s(self) -> float:
        return self._deadline.when() if self._deadline else float("inf")

    def _cut(self) -> None:
        self._let_in()
        self.transport.abort()


def application(sources: Sources, *, token: str, port: int) -> ASGIApp:
    """Return the server as an ASGI application; each request must have the token, and name its host with the port."""
    jobs = Jobs(sources)

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        await jobs.start()
        yield
        await jobs.stop()

    def page(_: Request) -> Response:
        return _text("index.html", page_file("index.html").replace("TOKEN", token))

    def file(request: Request) -> Response:
        name = request.path_params["name"]
        if name == "vega.js":
            return _text(name, vega())
        return _text(name, page_file(name)) if name in _FILES else _error_response(404, f"no file {quote(name)}")

    def start(_: Request) -> Response:
        return JSONResponse(_start(sources))

    async def submit(request: Request) -> Response:
        try:
            return JSONResponse({"id": jobs.submit(await _read(request)).id}, 202)
        except Error as error:
            return _error_response(400, str(error))
        except ClientDisconnect:  # nobody is there to read an answer
            return Response(status_code=400)
        except FullError:
            return _error_response(503, "too many jobs are waiting, try again when some of them are done")

    async def look(request: Request) -> Response:
        job = await jobs.look(request.path_params["name"])
        if job is None:
            return _error_response(404, "unknown job: it was fetched or cancelled already, or never existed")
        if job.status is not None:
            return Response(job.content, job.status, media_type="application/json")
        progress_count, total = job.progress
        progress = {"is_running": job.is_running, "before": jobs.before(job), "done": progress_count, "total": total}
        return JSONResponse(progress, 202)

    async def cancel(request: Request) -> Response:
        jobs.cancel(request.path_params["name"])
        return Response(status_code=204)

    routes = [
        Route("/", page),
        Route("/page/{name}", file),
        Route("/api/start", start),
        Route("/api/jobs", submit, methods=["POST"]),
        Route("/api/jobs/{name}", look),
        Route("/api/jobs/{name}", cancel, methods=["DELETE"]),
    ]
    hosts = [f"{name}:{port}" for name in _NAMES] + [name for name in _NAMES if port == _DEFAULT_PORT]
    return _server_guard(Starlette(routes=routes, lifespan=life), token=token, hosts=hosts)


def _server_guard(inner: ASGIApp, *, token: str, hosts: list[str]) -> ASGIApp:
    """Refuse requests without the token, or under the name of another host: they are not from the user's own page."""

    async def pass_on(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await inner(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
            await send(message)

        request = Request(scope)
        if request.headers.getlist("host") not in ([host] for host in hosts):
            refusal = f"got the host {quote(request.headers.get('host'))}, expected {hosts[0]}"
        elif not secrets.compare_digest(request.query_params.get("token", "").encode(), token.encode()):
            refusal = "the token is missing or wrong, expected the address that `hocket serve` prints"
        else:
            if let_in_event := scope.get("state", {}).get(_LET_IN):
                let_in_event()
            await inner(scope, receive, send_guarded)
            return
        # In the address bar of a browser, the user reads a line of text; the page's own requests get JSON.
        response = Response(f"hocket: {refusal}\n", 403, media_type="text/plain")
        answer = response if request.url.path == "/" else _error_response(403, refusal)
        await answer(scope, receive, send_guarded)

    return pass_on


async def _read(request: Request) -> Mapping[str, Any]:
    """Return the name of a view and the fields of the form."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > _MOST_BODY_BYTES:
            raise Error(f"request: too long, expected at most {_MOST_BODY_BYTES} bytes")
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        raise Error("request: not JSON") from None
    match data:
        case {"view": str(name), "fields": dict(fields)}:
            return {"view": name, "fields": fields}
    raise Error(f"got {quote(data)}, expected the view and the fields of a form")


def _start(sources: Sources) -> dict[str, Any]:
    """Return the choices that the form offers."""
    algorithms = [
        {"collective": each.collective, "name": each.name, "is_mine": each.program is not None}
        for each in sources.algorithms
    ]
    machines = [
        {"name": name, "text": text, "description": machine.description, "ranks": _first_ranks(machine)}
        for name, text in sources.machine_texts.items()
        for machine in (Machine.load(name),)
    ]
    return {
        "collectives": tuple(COLLECTIVES),
        "algorithms": algorithms,
        "machines": machines,
        "has_measured": bool(sources.measured),
        "most_letters": MOST_LETTERS,
        "version": VERSION,
    }


def _first_ranks(machine: Machine) -> str:
    """Return the initial rank counts: all that fit a network, unless that takes long."""
    topology = machine.topology
    return _RANKS if topology is None or topology.ranks > _MOST_FIRST_RANKS else str(topology.ranks)


def _text(name: str, text: str) -> Response:
    ending = name[name.rindex(".") :]
    return Response(text, media_type=_TYPES[ending])


def _error_response(status: int, error: str) -> Response:
    return JSONResponse({"error": error}, status)
