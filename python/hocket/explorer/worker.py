"""A process that makes views, one after the other. The server kills it when its view is no longer wanted.

For each view it reads a line of JSON. It answers in lines of JSON: its progress, and at last the status and the answer.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from typing import Any

from hocket._native import Error
from hocket.base.checks import one_line
from hocket.explorer.questions import MeasuredFile, Sources, read_question
from hocket.explorer.report import report
from hocket.explorer.views import OnDone, names_of_views, sections, view

_BETWEEN_S = 0.2  # seconds between progress messages


def main() -> None:
    """Answer requests until the server goes away."""
    lines, output = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of loaded programs must not mix with answers
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    load, machines, measured = json.loads(sys.argv[2])
    sources = Sources(tuple(load), tuple(machines), tuple(MeasuredFile(*one) for one in measured))
    requests: queue.Queue[str] = queue.Queue()

    def listen() -> None:
        for line in lines:
            requests.put(line)
        os._exit(0)  # the server has gone; stop even in the middle of a view

    threading.Thread(target=listen, daemon=True).start()

    while True:
        request = json.loads(requests.get())
        status, content = _answer(request, sources, _telling(output))
        output.write(f"{json.dumps({'status': status})}\n{json.dumps(content)}\n")
        output.flush()


def _telling(output: Any) -> OnDone:
    """Return a callback that writes progress messages now and then."""
    last_s = 0.0

    def tell(progress: int, total: int) -> None:
        nonlocal last_s
        if time.monotonic() - last_s > _BETWEEN_S:
            last_s = time.monotonic()
            output.write(json.dumps({"done": progress, "total": total}) + "\n")
            output.flush()

    return tell


def _answer(request: Mapping[str, Any], sources: Sources, on_done: OnDone) -> tuple[int, dict[str, Any]]:
    """Return the HTTP status, and the answer or one line of error; a refusal is an answer."""
    try:
        question = read_question(request["fields"], sources)
        if request["view"] == "report":
            return 200, {"html": report(question, sections(question, names_of_views(question), on_done))}
        return 200, view(request["view"], question, on_done).as_dict()
    except Error as error:
        return 200, {"error": one_line(str(error))}
    except MemoryError:
        return 200, {"error": "out of memory, expected a smaller call or fewer calls"}
    except Exception as error:
        traceback.print_exc()
        return 500, {"error": f"{type(error).__name__}: a defect of Hocket; details are in the server's terminal"}
