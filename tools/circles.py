"""The uses between files in Rust, Python and C, and circles of files that use each other."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

Uses = Mapping[str, frozenset[str]]
"""The files that each file uses, by the names of their modules."""


def circles(uses: Uses) -> list[list[str]]:
    """Return the files that use each other in a circle: strongly connected ones (R. Tarjan, 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(uses[name]):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            at = stack.index(name)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for name in uses:
        if name not in index:
            visit(name)
    return found


def longest_chain(uses: Uses) -> list[str]:
    """Return the files of the longest chain in which each uses the next; there must be no circles."""
    chains: dict[str, list[str]] = {}

    def chain_from(name: str) -> list[str]:
        if name not in chains:
            chains[name] = [name, *max((chain_from(other) for other in sorted(uses[name])), key=len, default=[])]
        return chains[name]

    return max(map(chain_from, uses), key=len)


@cache
def tree_of(file: Path) -> ast.Module:
    """Return the syntax tree of a file in Python."""
    return ast.parse(file.read_text(), file)


@cache
def of_python(package: Path) -> Uses:
    """Return the uses between the modules of a package, including imports by name and imports of types only."""
    files = {_module(file, package): file for file in package.rglob("*.py")}
    return {name: frozenset(_imports(file, name, files)) - {name} for name, file in files.items()}


def _module(file: Path, package: Path) -> str:
    parts = file.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(file: Path, name: str, files: Mapping[str, Path]) -> Iterator[str]:
    native = f"{name.partition('.')[0]}._native"
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file}:{node.lineno}: relative import, expected the module's whole name"
            module = node.module or ""
            below = [f"{module}.{alias.name}" for alias in node.names]
            found = [full if full in files or full == native else module for full in below]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            found = [str(each.value) for each in node.args[:1] if isinstance(each, ast.Constant)]
        else:
            continue
        yield from (other for other in found if other in files)


def of_c(folder: Path) -> Uses:
    """Return the uses between the sources of a folder: included headers, and called functions.

    A source and its header count as one. A function belongs to the file with its body.
    """
    parts: dict[str, str] = defaultdict(str)
    for file in sorted(folder.rglob("*.[ch]")):
        parts[_c_module(file, folder)] += re.sub(r"/\*.*?\*/", "", file.read_text(), flags=re.DOTALL)
    homes = {word: name for name, text in parts.items() for word in re.findall(_C_BODY, text, re.MULTILINE)}
    uses = {}
    for name, text in parts.items():
        beside = ((folder / name).parent, folder / "include")
        named = re.findall(r'#include "([^"]+)"', text)
        places = ((each / path).resolve() for path in named for each in beside)
        included = (_c_module(place, folder.resolve()) for place in places if place.is_relative_to(folder.resolve()))
        called = (homes.get(word) for word in re.findall(_C_CALL, re.sub(_C_DECLARATION, "", text)))
        uses[name] = frozenset(other for other in (*included, *called) if other in parts) - {name}
    return uses


_C_BODY = r"^(?!static|return|else)[\w*][\w *]*\b(\w+)\([^;{]*\)\s*\n\{"
_C_DECLARATION = r"(?m)^[\w*][^;{}]*\([^;{}]*\);"
_C_CALL = r"(?<![.>\w])(\w+)\("


def _c_module(file: Path, folder: Path) -> str:
    return str(file.relative_to(folder).with_suffix(""))


def of_rust(source: Path) -> Uses:
    """Return the uses between the files of a crate. A re-exported item counts as used from its own file."""
    files = {_rust_module(file, source): file for file in source.rglob("*.rs")}
    texts = {name: _code(file) for name, file in files.items()}
    shown = {(name, word): path for name, text in texts.items() for path, word in _shown(text)}
    uses = {}
    for name, text in texts.items():
        paths = (_absolute(path, name, files) for path in _paths(text))
        uses[name] = frozenset(_home(path, files, shown) for path in paths if path is not None) - {name}
    return uses


def _rust_module(file: Path, source: Path) -> str:
    parts = file.relative_to(source).with_suffix("").parts
    return "::".join(part for part in parts if part not in ("mod", "lib"))


def _code(file: Path) -> str:
    return re.sub(r"//.*", "", file.read_text().split("#[cfg(test)]\nmod tests {")[0])


def _shown(text: str) -> Iterator[tuple[list[str], str]]:
    for tree in re.findall(r"\bpub(?:\([a-z]+\))? use ([^;]+);", text):
        for path in _expanded(tree):
            yield path, path[-1]


def _paths(text: str) -> Iterator[list[str]]:
    private = re.sub(r"\bpub(?:\([a-z]+\))? use [^;]+;", "", text)
    for tree in re.findall(r"\buse ([^;]+);", private):
        yield from _expanded(tree)
    for path in re.findall(r"\b((?:crate|super|self)(?:::\w+)+)", re.sub(r"\buse [^;]+;", "", private)):
        yield path.split("::")


def _expanded(tree: str) -> Iterator[list[str]]:
    """Give the paths of `a::{b, c::{d, e as f}}`."""
    before, brace, inside = tree.strip().partition("{")
    start = [part for part in before.split(" as ")[0].strip().split("::") if part and part != "*"]
    if not brace:
        yield start
        return
    depth, item = 0, ""
    for character in inside.rsplit("}", 1)[0] + ",":
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            yield from ([*start, *rest] for rest in _expanded(item) if item.strip())
            item = ""
        else:
            item += character


def _absolute(path: Sequence[str], name: str, files: Mapping[str, Path]) -> list[str] | None:
    """Return a path from the crate's root, or None if it leads out of the crate."""
    own = [part for part in name.split("::") if part]
    if path[:1] == ["crate"]:
        return list(path[1:])
    if path[:1] == ["self"]:
        return [*own, *path[1:]]
    if path[:1] == ["super"]:
        ups = next((at for at, part in enumerate(path) if part != "super"), len(path))
        return [*own[: len(own) - ups], *path[ups:]]
    return [*own, *path] if "::".join([*own, *path[:1]]) in files else None


def _home(path: Sequence[str], files: Mapping[str, Path], shown: Mapping[tuple[str, str], list[str]]) -> str:
    """Return the file that contains the item of a path."""
    length = next(length for length in range(len(path), -1, -1) if "::".join(path[:length]) in files)
    name = "::".join(path[:length])
    further = shown.get((name, path[length])) if length < len(path) else None
    if further is not None:
        onward = _absolute(further, name, files)
        if onward is not None and onward != list(path):
            return _home([*onward, *path[length + 1 :]], files, shown)
    return name
