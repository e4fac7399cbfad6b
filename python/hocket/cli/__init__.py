"""The command line: `hocket`."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from hocket.base.results import ORPHANS
from hocket.cli.limits import bad_input, describe_address_limit, too_narrow

_INTERRUPTION_STATUS = 130  # 128 + SIGINT, as in shells
_SOON_S = 0.01


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; handle Ctrl-C from the start."""
    if sys.stderr is None:  # closed by the caller
        sys.stderr = io.StringIO()
    with _interruptions() as is_interrupted:
        try:
            if narrow := too_narrow():
                return bad_input(narrow)
            from hocket.cli.run import run  # this import takes most of the start-up time

            return run(arguments)
        except (Exception, KeyboardInterrupt) as error:
            # A package that is interrupted while it loads may raise its own error.
            if is_interrupted() or isinstance(error, KeyboardInterrupt):
                return _exit_of_interrupt()
            if addresses := describe_address_limit():  # whatever fails then, fails for want of room
                return bad_input(f"no room within {addresses}: {type(error).__name__}: {' '.join(str(error).split())}")
            raise


@contextmanager
def _interruptions() -> Iterator[Callable[[], bool]]:
    """Raise KeyboardInterrupt when the user presses Ctrl-C, and give a function that tells whether this happened.

    Where Python ignores exceptions, as in some callbacks of imports, it is raised again a little later.
    """
    before, hook = signal.getsignal(signal.SIGINT), sys.unraisablehook
    is_ours = before is signal.default_int_handler and threading.current_thread() is threading.main_thread()
    seen: list[int] = []

    def interrupt(number: int, _: object) -> None:
        seen.append(number)
        raise KeyboardInterrupt

    def ignore_failure(failure: sys.UnraisableHookArgs) -> None:
        if issubclass(failure.exc_type, KeyboardInterrupt):
            threading.Timer(_SOON_S, os.kill, [os.getpid(), signal.SIGINT]).start()
        else:
            hook(failure)

    if is_ours:
        signal.signal(signal.SIGINT, interrupt)
        sys.unraisablehook = ignore_failure
    try:
        yield lambda: bool(seen)
    finally:
        if is_ours:
            signal.signal(signal.SIGINT, before)
            sys.unraisablehook = hook


def _exit_of_interrupt() -> int:
    print("hocket: interrupted", file=sys.stderr, flush=True)
    exec("")  # Python ends with the signal if the last text it executed, for example of a dataclass, was interrupted
    if threading.active_count() > 1 or ORPHANS:
        os._exit(_INTERRUPTION_STATUS)  # do not wait for work in other threads
    return _INTERRUPTION_STATUS
