"""Optional packages: loaded when they are needed; the error for a missing one says how to install it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hocket._native import Error

__all__ = ["optional"]


def optional(module: str, *, extra: str | None = None) -> Any:
    """Return a module of an optional package.

    Args:
        module: The module's full name.
        extra: Hocket's extra that installs the package, if there is one.

    Raises:
        Error: The package is missing; the message says how to install it.
    """
    try:
        return import_module(module)
    except (ImportError, RuntimeError) as error:  # mpi4py raises RuntimeError where there is no MPI library
        package = module.partition(".")[0]
        way = f"`pip install {package}`" + (f", or Hocket with its extra `{extra}`" if extra else "")
        raise Error(f"{package} is not usable here ({error}): {way}") from error
