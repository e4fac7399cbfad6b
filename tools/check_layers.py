"""Check that imports only point down, and that no files use each other in a circle.

Imports point down between the crates, and between the rooms of the Python package. Add a new crate or room to one of
the tables below. Each check gives a line per violation; `house.py` runs all checks.
"""

import ast
import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from circles import circles, of_c, of_python, of_rust, tree_of

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "hocket"
MPI = ROOT / "mpi"
OTHER_PACKAGES = (ROOT / "lab" / "hocket_lab", ROOT / "studies" / "hocket_studies")
"""Packages beside the product, which does not import them; the second imports the first."""

SUFFIXES = (".rs", ".py", ".c", ".h", ".js", ".css", ".html")
"""The endings of hand-written files of the product."""

WORLDS = ("hocket-memory", "hocket-verify", "hocket-simulate", "hocket-record")
CRATES = (
    ("hocket-core",),
    ("hocket-machine",),
    ("hocket-algorithms",),
    WORLDS,
    ("hocket", "hocket-mpi", "hocket-replay"),
    ("hocket-benchmarks", "hocket-bindings"),
)
"""Layers, the lowest first. A crate depends on crates of lower layers only."""

NOT_FOR_WORLDS = "hocket-algorithms"
"""Worlds run any program: only their tests know the catalogue."""

ROOMS = (
    ("_native", "typing"),
    ("base",),
    ("definitions", "traces"),
    ("measurements", "rules", "schedules"),
    ("mpi", "simulating"),
    ("fitting", "judging", "tuning", "words"),
    ("drawing",),
    ("explorer",),
    ("api",),
    ("hocket", "cli"),
    ("examples",),
    ("__main__",),
)
"""Layers, the lowest first: packages and files at the top of `hocket`, which is its own `__init__`."""

CALLS_NATIVE = ("base", "definitions", "mpi", "rules", "schedules", "simulating")
"""Packages that call the compiled module. Every package may use its `Error`, except the applications."""

APPLICATIONS = {"examples": ("hocket", "typing")}
"""Written as users would write them: what they may import."""


def product() -> list[Path]:
    """Return the hand-written files of the product."""
    folders = {MPI / "engine" / "tests", PACKAGE / "mpi" / "native"}
    files = [*ROOT.glob("crates/*/src/**/*"), *MPI.rglob("*"), *PACKAGE.rglob("*")]
    return [file for file in files if file.suffix in SUFFIXES and not folders & {*file.parents}]


def height_of(layers: Sequence[Sequence[str]]) -> dict[str, int]:
    return {name: height for height, layer in enumerate(layers) for name in layer}


def check_crates() -> Iterator[str]:
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--offline"]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)
    heights = height_of(CRATES)
    for package in metadata["packages"]:
        manifest = Path(package["manifest_path"])
        if package["name"] not in heights:
            yield f"{shown(manifest)}:1: crate {package['name']} is in no layer, expected a line in {shown(__file__)}"
            continue
        for dependency in package["dependencies"]:
            yield from check_dependency(package["name"], dependency, manifest, heights)


def check_circles() -> Iterator[str]:
    """Check that no files of a crate, or of the package, use each other in a circle."""
    sources = {source: of_rust(source) for source in (*sorted((ROOT / "crates").glob("*/src")), MPI / "engine" / "src")}
    packages = {package: of_python(package) for package in (PACKAGE, *OTHER_PACKAGES)}
    for folder, uses in {**sources, **packages, MPI: of_c(MPI)}.items():
        for circle in circles(uses):
            names = listed([name or "lib" for name in circle]).removeprefix("only ")
            yield f"{shown(folder)}:1: {names} use each other in a circle, expected imports that point down"


def check_dependency(
    name: str, dependency: Mapping[str, Any], manifest: Path, heights: Mapping[str, int]
) -> Iterator[str]:
    other = dependency["name"]
    if other not in heights or dependency["kind"] == "dev":
        return
    is_forbidden = name in WORLDS and other == NOT_FOR_WORLDS
    if is_forbidden or heights[other] >= heights[name]:
        lines = enumerate(manifest.read_text().splitlines(), start=1)
        line = next((number for number, text in lines if re.match(rf'"?{other}"?\s*[.=]', text)), 1)
        below = [crate for crate in heights if heights[crate] < heights[name]]
        allowed = [crate for crate in below if name not in WORLDS or crate != NOT_FOR_WORLDS]
        yield f"{shown(manifest)}:{line}: {name} depends on {other}, expected {listed(allowed)}"


def rooms() -> list[str]:
    return sorted(file.parent.name for file in PACKAGE.glob("*/__init__.py"))


def floors() -> set[int]:
    heights = height_of(ROOMS)
    return {heights[room] for room in rooms() if room in heights}


def check_rooms() -> Iterator[str]:
    """Check that each file of the package is in a layer, and that its imports point down."""
    heights = height_of(ROOMS)
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        name = "hocket" if parts == ("__init__",) else parts[0]
        if name not in heights:
            yield f"{shown(file)}:1: {name} is in no layer, expected a line in {shown(__file__)}"
            continue
        for line, other, imported in imports_of(file):
            wrong = None if other == name else why_not(name, other, imported, heights)
            if wrong:
                yield f"{shown(file)}:{line}: {name} imports {other}, expected {wrong}"


def imports_of(file: Path) -> Iterator[tuple[int, str, str]]:
    """Give line, module and name of each import from the package, including imports by name."""
    others = {package.name for package in OTHER_PACKAGES}
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Import):
            found = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = file.relative_to(PACKAGE.parent).parts[: -node.level] if node.level else ()
            module = ".".join([*above, *([node.module] if node.module else [])])
            found = [(module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "import_module":
            found = [(str(each.value), "") for each in node.args[:1] if isinstance(each, ast.Constant)]
        else:
            continue
        for module, name in found:
            first, _, rest = module.partition(".")
            if first == "hocket" and not rest and is_module(name):
                yield node.lineno, name, ""
            elif first == "hocket" or first in others:
                yield node.lineno, rest.partition(".")[0] if first == "hocket" and rest else first, name


def is_module(name: str) -> bool:
    return any((PACKAGE / path).exists() for path in (f"{name}.py", f"{name}.pyi", f"{name}/__init__.py") if name)


def why_not(name: str, other: str, imported: str, heights: Mapping[str, int]) -> str | None:
    """Return why module `name` must not import `other`: the modules that it may import. None if it may."""
    if name in APPLICATIONS:
        return None if other in APPLICATIONS[name] else f"the public API: {', '.join(APPLICATIONS[name])}"
    if other == "_native" and imported != "Error" and name not in CALLS_NATIVE:
        return f"Error alone: {', '.join(CALLS_NATIVE)} call the compiled module"
    if heights.get(other, len(ROOMS)) >= heights[name]:
        return listed([module for module in heights if heights[module] < heights[name]])
    return None


def listed(names: Sequence[str]) -> str:
    return f"only {', '.join(names)}" if names else "nothing of Hocket"


def shown(path: str | Path) -> str:
    return str(Path(path).resolve().relative_to(ROOT))
