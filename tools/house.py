"""How large the house is, and how many names stand for several things in one room or crate.

Prints a table. Exits with 1 if there is more of something than its limit allows. Lines are counted without a limit.
"""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from check_layers import PACKAGE, ROOT, check_circles, check_rooms, floors, rooms

SUFFIXES = (".rs", ".py", ".c", ".h", ".js", ".css", ".html")
"""What is written by hand, and is part of the product."""

LIMITS = {
    "rooms of the Python package": 14,
    "floors that they are on": 8,
    "imports that point up": 0,
    "circles of files": 0,
    "classes that share a name with another of their room": 0,
    "types that share a name with another of their crate": 0,
}


def main() -> int:
    studies = PACKAGE / "studies"
    product = [file for file in listed("crates/*/src/**", "python/hocket/**") if studies not in file.parents]
    python = [file for file in product if file.suffix == ".py"]
    counts = {
        "rooms of the Python package": len(rooms()),
        "floors that they are on": len(floors()),
        "imports that point up": sum(" imports " in line for line in check_rooms()),
        "circles of files": len(list(check_circles())),
        "classes that share a name with another of their room": of_one_name(classes(python)),
        "types that share a name with another of their crate": of_one_name(types(product)),
        "lines of the product": lines(product),
        "lines of its studies": lines(studies.rglob("*")),
    }
    too_many = [what for what, most in LIMITS.items() if counts[what] > most]
    for what, count in counts.items():
        limit = f", at most {LIMITS[what]}" if what in LIMITS else ""
        print(f"{count:7,} {what}{limit}{'  <- too many' if what in too_many else ''}")
    return 1 if too_many else 0


def listed(*patterns: str) -> list[Path]:
    """Return the files that git knows."""
    command = ["git", "ls-files", "-z", *(f":(glob){pattern}" for pattern in patterns)]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout.split("\0")
    return [ROOT / name for name in names if Path(name).suffix in SUFFIXES and (ROOT / name).exists()]


def of_one_name(names: Iterable[tuple[str, str]]) -> int:
    """Return how many names, each in its room or crate, stand for several things."""
    return sum(count > 1 for count in Counter(names).values())


def place(file: Path) -> str:
    """Return the room or the crate of a file."""
    return "/".join(file.relative_to(ROOT).parts[: 3 if PACKAGE in file.parents else 2])


def classes(files: Iterable[Path]) -> Iterator[tuple[str, str]]:
    for file in files:
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield place(file), node.name


def types(files: Iterable[Path]) -> Iterator[tuple[str, str]]:
    for file in files:
        if file.suffix == ".rs":
            names = re.findall(r"^ *pub (?:struct|enum|trait) (\w+)", file.read_text(), re.MULTILINE)
            yield from ((place(file), name) for name in names)


def lines(files: Iterable[Path]) -> int:
    return sum(len(file.read_text().splitlines()) for file in files if file.suffix in SUFFIXES)


if __name__ == "__main__":
    sys.exit(main())
