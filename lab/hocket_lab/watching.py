"""Watching a lab: a command ends if an interface goes down, rather than wait for messages that never come."""

from __future__ import annotations

import fcntl
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from hocket._native import Error
from hocket_lab import building
from hocket_lab.laboratory import Lab

_EVERY_S = 2.0
_GET_FLAGS = 0x8913  # SIOCGIFFLAGS
_UP = 0x1  # IFF_UP
_REQUEST = "16sH22x"  # an ifreq: the name of an interface, and its flags


@contextmanager
def watch_lab(lab: Lab) -> Iterator[None]:
    """End the processes of a lab while an interface is down.

    Raises:
        Error: The work failed or was ended, and an interface is down.
    """
    is_over = threading.Event()
    with ExitStack() as stack:
        sockets = {v.id: stack.enter_context(building.datagrams(lab.name, v.id)) for v in lab.wiring.vertices}
        ends = [(vertex, name) for vertex in sockets for name in building.interfaces(lab.wiring, vertex)]

        def down() -> str | None:
            found = (f"{name} of {lab.wiring.vertices[v].name}" for v, name in ends if _is_down(sockets[v], name))
            return next(found, None)

        def watch() -> None:
            while not is_over.wait(_EVERY_S):
                if down():
                    building.end_processes(lab.name, most_s=0.0)  # before the launcher tells of each of them

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        except (Error, SystemExit):
            if one := down():
                raise Error(f"lab {lab.name}: interface {one} is down, expected all interfaces up") from None
            raise
        finally:
            is_over.set()
            thread.join()


def _is_down(within: socket.socket, interface: str) -> bool:
    """Return whether an interface of the socket's namespace is down, or not there."""
    try:
        answer = fcntl.ioctl(within, _GET_FLAGS, struct.pack(_REQUEST, interface.encode(), 0))
    except OSError:
        return True
    return not struct.unpack(_REQUEST, answer)[1] & _UP
