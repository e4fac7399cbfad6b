"""The public names; the examples in their documentation run as separate tests."""

import re
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import hocket

MODULES = [m.name for m in walk_packages(hocket.__path__, "hocket.") if not m.name.endswith(("__main__", "_native"))]


def test_every_public_name_exists() -> None:
    for name in ["hocket", *MODULES]:
        module = import_module(name)
        for public in getattr(module, "__all__", ()):
            assert hasattr(module, public), f"{name}.{public}"


def test_the_version_is_the_packages() -> None:
    manifest = (Path(__file__).parents[2] / "Cargo.toml").read_text()
    assert re.findall('^version = "(.*)"$', manifest, re.MULTILINE) == [hocket.__version__]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = hocket.nothing
