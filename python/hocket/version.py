"""The version of the package, which every result carries."""

from functools import cache

__all__ = ["version"]


@cache
def version() -> str:
    """Return the version of the installed package."""
    from importlib.metadata import version as installed

    return installed("hocket")
