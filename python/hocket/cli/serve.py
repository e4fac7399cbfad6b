"""`hocket serve`: the explorer in the browser."""

from __future__ import annotations

import secrets
from typing import Any

from hocket.base.packages import optional
from hocket.cli.command import command
from hocket.cli.measurements import measured_files
from hocket.cli.printing import say
from hocket.cli.values import whole
from hocket.definitions.machine import Machine
from hocket.explorer.questions import Sources


@command(port=whole(0, 65535), measured=("measured", "measured_algorithm", "measured_ranks"))
def serve(port: int, machines: tuple[str, ...], measured: dict[str, Any], load: tuple[str, ...]) -> None:
    """Explore algorithms and machines in the browser; the server is for this computer only, until Ctrl-C.

    The command prints an address with a token. The server answers only requests with this token.
    """
    for package in ("starlette", "uvicorn"):
        optional(package, extra="serve")
    from hocket.explorer import server

    sources = Sources(load, machines, measured_files(**measured))
    for machine in machines:
        Machine.load(machine)
    _ = sources.algorithms  # report errors in the files now
    token = secrets.token_urlsafe(24)
    listening = server.listen(port)
    port = listening.getsockname()[1]
    say(f"explorer: http://{server.HOST}:{port}/?token={token}\nCtrl-C ends it")
    server.server(sources, token=token, port=port).run(sockets=[listening])
