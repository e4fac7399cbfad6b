"""`hocket serve`: the explorer in the browser."""

from __future__ import annotations

import secrets
from typing import Any

import click

from hocket.base.packages import optional
from hocket.cli import completion, options
from hocket.cli.measurements import measured_files
from hocket.cli.printing import say
from hocket.definitions.machine import Machine
from hocket.explorer.questions import Sources


@click.command()
@click.option(
    "--port", type=options.whole(0, 65535), default=0, show_default="a free one", help="The port to listen on."
)
@click.option(
    "--machine",
    "machines",
    multiple=True,
    metavar="FILE",
    shell_complete=completion.machines,
    help="A machine file that the page offers beside the presets; may be given several times.",
)
@options.measured(help="Measured times that the page shows beside simulated ones: a file that `hocket fit` reads.")
@options.measured_algorithm
@options.measured_ranks
@options.load_paths
def serve(port: int, machines: tuple[str, ...], load: tuple[str, ...], **measured: Any) -> None:
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
