"""Recipes for a site: they install this version, with what pyproject.toml names."""

from __future__ import annotations

import ast
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hocket.base.files import parse_toml

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
PROJECT = parse_toml((ROOT / "pyproject.toml").read_text(), "pyproject.toml")["project"]
CARGO = parse_toml((ROOT / "Cargo.toml").read_text(), "Cargo.toml")["workspace"]["package"]
VERSION = CARGO["version"]

NOT_IN_SPACK = {"dev"}
"""Extras without a variant: developers have `make setup`."""


def least(requirements: list[str]) -> dict[str, str]:
    """Return the least version of each package: {"numpy": "1.26"}."""
    return dict(match.groups() for each in requirements if (match := re.match(r"([\w-]+)>=([\d.]+)", each)))


def test_the_notices_have_every_crate_that_the_libraries_name() -> None:
    """A library names the sources of its crates where they may panic."""
    made = subprocess.run([sys.executable, ROOT / "tools" / "notices.py"], capture_output=True, text=True, check=True)
    listed = set(re.findall(r"^([\w-]+ \d\S*): .*(?:MIT|Apache)", made.stdout, re.MULTILINE))
    source = re.compile(rb"/registry/src/[^/]+/([\w-]+?)-(\d[^/]*)/")
    named = {
        f"{crate.decode()} {version.decode()}"
        for path in (ROOT / "python" / "hocket").rglob("*.so")
        for crate, version in source.findall(path.read_bytes())
    }
    assert len(named) > 10 and named <= listed
    for text in ("Permission is hereby granted", "Apache License", "Copyright (c) 2014 The Rust Project Developers"):
        assert text in made.stdout


class Recipe:
    """Takes the part of Spack, and notes what a recipe declares.

    Attributes:
        versions: The versions.
        variants: The variants, with their defaults.
        depends: What it depends on: package, range of versions, types, and condition.
    """

    def __init__(self) -> None:
        self.versions: list[str] = []
        self.variants: dict[str, bool] = {}
        self.depends: dict[str, tuple[str, object, str | None]] = {}
        self._types: object = None

    @contextmanager
    def default_args(self, *, type: object) -> Iterator[None]:
        self._types = type
        yield
        self._types = None

    def depends_on(self, spec: str, *, when: str | None = None) -> None:
        name, _, versions = spec.partition("@")
        self.depends[name] = (versions, self._types, when)

    def variant(self, name: str, *, default: bool, description: str) -> None:
        assert description[0].isupper() and not description.endswith(".")
        self.variants[name] = default

    def run_before(self, phase: str, *, when: str) -> Callable[[Any], Any]:
        assert (phase, when) == ("install", "+mpi")
        return lambda method: method

    def names(self) -> dict[str, Any]:
        """The names that `from spack.package import *` gives."""
        names = ("default_args", "depends_on", "variant", "run_before")
        return {name: getattr(self, name) for name in names} | {
            "license": lambda name: None,
            "version": self.versions.append,
        }


@pytest.fixture
def spack(monkeypatch: pytest.MonkeyPatch) -> Recipe:
    """The recipe for Spack, run without Spack."""
    recipe = Recipe()
    contents: Mapping[str, Mapping[str, Any]] = {
        "spack": {},
        "spack.package": recipe.names(),
        "spack_repo": {},
        "spack_repo.builtin": {},
        "spack_repo.builtin.build_systems": {},
        "spack_repo.builtin.build_systems.python": {"PythonPackage": object},
    }
    for name, content in contents.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    found = runpy.run_path(str(PACKAGING / "spack/spack_repo/hocket/packages/py_hocket/package.py"))
    assert found["PyHocket"].url.endswith(f"/hocket-{VERSION}.tar.gz")
    return recipe


def test_spack_builds_this_version_with_what_it_needs(spack: Recipe) -> None:
    assert spack.versions == [VERSION]
    assert spack.depends["rust"] == (f"{CARGO['rust-version']}:", "build", None)
    assert spack.depends["python"][0] == f"{PROJECT['requires-python'].removeprefix('>=')}:"
    for name, version in least(PROJECT["dependencies"]).items():
        assert spack.depends[f"py-{name}"][:2] == (f"{version}:", "run")
    assert spack.depends["py-tomli"][2] == "^python@:3.10"


def test_spack_has_a_variant_for_each_extra(spack: Recipe) -> None:
    extras = PROJECT["optional-dependencies"]
    assert set(spack.variants) == set(extras) - NOT_IN_SPACK
    for extra in spack.variants:
        for name, version in least(extras[extra]).items():
            assert spack.depends[f"py-{name}"] == (f"{version}:", "run", f"+{extra}")


def test_easybuild_installs_this_version_with_what_it_needs() -> None:
    (file,) = PACKAGING.glob("easybuild/*.eb")
    assigned = (each for each in ast.parse(file.read_text()).body if isinstance(each, ast.Assign))
    texts = {ast.unparse(each.targets[0]): ast.unparse(each.value) for each in assigned}
    values = {name: eval(text, {"version": VERSION}) for name, text in texts.items()}
    assert values["version"] == VERSION
    assert file.name == f"Hocket-{VERSION}-{values['toolchain']['name']}-{values['toolchain']['version']}.eb"
    python = f"cp{PROJECT['requires-python'].removeprefix('>=').replace('.', '')}"
    assert values["exts_list"][-1][2]["sources"][0].startswith(f"%(name)s-%(version)s-{python}-abi3-manylinux_2_17_")
    needed = {name.replace("-", "_") for name in least(PROJECT["dependencies"])} - {"tomli"}  # of Python 3.10 only
    own = {name for name, *_ in values["exts_list"]}
    bundled = {name for line in re.findall(r"'\),  # (.*)", file.read_text()) for name in line.split(", ")}
    assert needed - own <= bundled


@pytest.mark.skipif(shutil.which("tclsh") is None, reason="needs tclsh")
def test_the_module_file_sets_the_paths() -> None:
    file = PACKAGING / "modulefiles/hocket" / VERSION
    told = "proc conflict {name} {}\nproc module-whatis {text} {}\nproc prepend-path {name path} {puts $name=$path}\n"
    ran = subprocess.run(["tclsh"], input=told + file.read_text(), capture_output=True, text=True, check=True)
    root = f"/opt/hocket/{VERSION}"
    assert (ran.stdout, ran.stderr) == (f"PATH={root}/bin\nMANPATH={root}/share/man\n", "")


def test_the_citation_file_names_this_version() -> None:
    text = (ROOT / "CITATION.cff").read_text()
    assert {"cff-version: 1.2.0", f"version: {VERSION}", f"license: {PROJECT['license']}"} <= set(text.splitlines())
    page = dict(re.findall(r"^  (\w+) += \{+(.*?)\}+,?$", (ROOT / "docs" / "citing.md").read_text(), re.MULTILINE))
    keys = {"author": "  - name", "title": "title", "version": "version", "date": "date-released", "license": "license"}
    said = {name: re.search(rf'^{key}: "?(.*?)"?$', text, re.MULTILINE) for name, key in keys.items()}
    assert {name: match and match[1] for name, match in said.items()} == page
    assert date.fromisoformat(page["date"])


def test_a_release_has_all_its_parts(tmp_path: Path) -> None:
    wheels, site, release = tmp_path / "wheels", tmp_path / "site", tmp_path / "release"
    for file in (wheels / "hocket.whl", wheels / "hocket.tar.gz", site / "index.html"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(file.name)
    variables = [f"WHEELS={wheels}", f"SITE={site}", f"RELEASE={release}"]
    made = ["make", "--old-file=wheel", "--old-file=docs", *variables, "release"]
    subprocess.run(made, cwd=ROOT, check=True, capture_output=True)
    parts = {"hocket.whl", "hocket.tar.gz", "hocket-site.tar.gz", "CHANGES.md", "CITATION.cff"}
    assert {file.name for file in release.iterdir()} == parts | {"SHA256SUMS"}
    assert {line.split()[1] for line in (release / "SHA256SUMS").read_text().splitlines()} == parts
    plan = subprocess.run(["make", "--dry-run", "release"], cwd=ROOT, check=True, capture_output=True, text=True)
    assert all(command in plan.stdout for command in ("maturin build", "maturin sdist", "sphinx-build"))
