"""Hocket: collective-communication algorithms written once, then verified, priced, simulated and run.

>>> import hocket
>>> hocket.simulate("allreduce/ring", hocket.Call(ranks=8, size_bytes=65536), machine="cluster").messages
112
"""

from __future__ import annotations

from importlib import import_module, util
from typing import TYPE_CHECKING, Any

from hocket.base.results import draw_with

if TYPE_CHECKING:
    from hocket.api import *  # noqa: F403

    __all__: list[str]

    __version__: str


draw_with(lambda: import_module("hocket.drawing.pictures"))


def __getattr__(name: str) -> Any:
    """Load a public name at its first use, so that Ctrl-C already works during the load."""
    if name == "__version__":
        return import_module("hocket.base.version").VERSION
    if util.find_spec(f"hocket.{name}"):
        return import_module(f"hocket.{name}")
    public = {public: value for public, value in vars(import_module("hocket.api")).items() if public[0] != "_"}
    if name == "__all__":
        return sorted(public)
    if name not in public:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, public[name])


def __dir__() -> list[str]:
    return sorted({*__getattr__("__all__"), "__version__"})
