"""The version of the package, which every result carries."""

from hocket import _native

__all__ = ["version"]

version = _native.version
