"""Charts as files: PNG, SVG, or HTML that works without a network."""

from __future__ import annotations

import io
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from hocket._native import Error
from hocket.base.packages import alt
from hocket.base.units import format_bytes

FORMATS = (".png", ".html")
"""The endings of the pictures that studies write."""

PICTURES = (*FORMATS, ".svg")
"""The endings of picture files."""

_PNG_SCALE = 2
_TRY_TO_DRAW = "import vl_convert; vl_convert.vega_to_svg({})"
"""Ends with a signal if the engine lacks memory. Its error about the empty picture does not matter."""
_ENGINE_FILES = 16


def encode(drawing: alt.TopLevelMixin, ending: str) -> bytes:
    """Return a chart as a file with one of the endings of `PICTURES`; an Error if limits leave no room to draw."""
    _check_open_files()
    _check_address_space()
    if ending == ".png":
        picture = io.BytesIO()
        drawing.save(picture, format="png", scale_factor=_PNG_SCALE)
        return picture.getvalue()
    text = io.StringIO()
    if ending == ".svg":
        drawing.save(text, format="svg")
    else:
        drawing.save(text, format="html", inline=True, json_kwds={"cls": _InPage})
    return text.getvalue().encode()


def _check_open_files() -> None:
    """Refuse to draw if the drawing engine cannot open enough files."""
    with ExitStack() as stack:
        try:
            for _ in range(_ENGINE_FILES):
                stack.enter_context(open(os.devnull))
        except OSError as error:
            limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            raise Error(
                f"pictures cannot be drawn with {limit} open files (ulimit -n), expected {_ENGINE_FILES} more"
            ) from error


def _check_address_space() -> None:
    """Refuse to draw if the drawing engine would crash the process; a subprocess tries it first."""
    limit_bytes, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit_bytes == resource.RLIM_INFINITY:
        return
    process = subprocess.run([sys.executable, "-c", _TRY_TO_DRAW], capture_output=True, check=False)
    if process.returncode < 0:
        raise Error(
            f"pictures cannot be drawn within {format_bytes(limit_bytes)} of addresses (ulimit -v), expected no such "
            "limit: the engine that draws reserves far more than it uses; hocket report draws in the browser"
        )


class _InPage(json.JSONEncoder):
    """Writes JSON that cannot contain HTML: names of machines and programs come from files."""

    def encode(self, o: Any) -> str:
        return super().encode(o).replace("<", "\\u003c")


def picture_of(draw: Callable[[], alt.TopLevelMixin], ending: str) -> bytes:
    """Return a chart as a file, or refuse an ending that is none of `PICTURES`."""
    if ending not in PICTURES:
        raise Error(f'got a picture that ends in "{ending}", expected one of {", ".join(PICTURES)}')
    return encode(draw(), ending)
