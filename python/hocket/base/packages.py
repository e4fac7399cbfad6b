"""Packages that are loaded when they are needed; the error for a missing one says how to install it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hocket._native import Error

__all__ = ["Lazy", "alt", "optional"]


def optional(module: str, *, extra: str | None = None) -> Any:
    """Return a module of an optional package by its full name; if it is missing, an Error says how to install it.

    `extra` is Hocket's extra that installs the package, if there is one.
    """
    try:
        return import_module(module)
    except (ImportError, RuntimeError) as error:  # mpi4py raises RuntimeError where there is no MPI library
        package = module.partition(".")[0]
        way = f"`pip install {package}`" + (f", or install Hocket with its extra `{extra}`" if extra else "")
        raise Error(f"{package} cannot be used here ({error}): run {way}") from error


class Lazy:
    """A module that is loaded when it is first used, because a command that does without it starts sooner."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._module), name)


if TYPE_CHECKING:
    import altair as alt
else:
    alt = Lazy("altair")
