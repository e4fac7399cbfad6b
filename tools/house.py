"""The structure of the project: imports that point up or in a circle, and ambiguous names.

Prints a line per violation, and a table of counts. Exits with 1 if a count exceeds its limit. The limit on lines of the
product only goes down.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from check_layers import (
    APPLICATIONS,
    PACKAGE,
    ROOT,
    SUFFIXES,
    check_circles,
    check_crates,
    check_rooms,
    floors,
    product,
    rooms,
)
from circles import longest_chain, of_python, tree_of
from names import grammatical

LIMITS = {
    "rooms of the Python package": 15,
    "floors that they are on": 8,
    "dependencies and imports that point up": 0,
    "circles of files": 0,
    "files in the longest chain of imports": 14,
    "classes that share a name with another of their room": 0,
    "types that share a name with another of their crate": 0,
    "names that are participles or prepositions": 1,
    "lines of the product": 111_497,
}


def main() -> int:
    files = product()
    python = [file for file in files if file.suffix == ".py"]
    upward, around = [*check_crates(), *check_rooms()], [*check_circles()]
    chain = [] if around else longest_import_chain()
    for violation in (*upward, *around):
        print(violation)
    if len(chain) > LIMITS["files in the longest chain of imports"]:
        print(f"longest chain of imports: {' > '.join(chain)}")
    counts = {
        "rooms of the Python package": len(rooms()),
        "floors that they are on": len(floors()),
        "dependencies and imports that point up": len(upward),
        "circles of files": len(around),
        "files in the longest chain of imports": len(chain),
        "classes that share a name with another of their room": of_one_name(classes(python)),
        "types that share a name with another of their crate": of_one_name(types(files)),
        "names that are participles or prepositions": sum(1 for _ in grammatical(files)),
        "lines of the product": lines(files),
        "lines of its labs": lines((ROOT / "lab").rglob("*")),
        "lines of its studies": lines((ROOT / "studies").rglob("*")),
    }
    too_many = [what for what, most in LIMITS.items() if counts[what] > most]
    for what, count in counts.items():
        limit = f", at most {LIMITS[what]:,}" if what in LIMITS else ""
        print(f"{count:7,} {what}{limit}{'  <- too many' if what in too_many else ''}")
    return 1 if too_many else 0


def longest_import_chain() -> list[str]:
    """Return the longest chain of imports below the command line and the public API, which load what they need."""
    above = ("hocket.__main__", *(f"hocket.{name}" for name in APPLICATIONS))
    uses = of_python(PACKAGE).items()
    return longest_chain({name: others for name, others in uses if name != "hocket" and not name.startswith(above)})


def of_one_name(names: Iterable[tuple[str, str]]) -> int:
    """Return how many names stand for several things within a room or crate."""
    return sum(count > 1 for count in Counter(names).values())


def place(file: Path) -> str:
    """Return the room or the crate of a file."""
    return "/".join(file.relative_to(ROOT).parts[: 3 if PACKAGE in file.parents else 2])


def classes(files: Iterable[Path]) -> Iterator[tuple[str, str]]:
    for file in files:
        for node in tree_of(file).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield place(file), node.name


def types(files: Iterable[Path]) -> Iterator[tuple[str, str]]:
    for file in files:
        if file.suffix == ".rs":
            names = re.findall(r"^ *pub (?:struct|enum|trait) (\w+)", file.read_text(), re.MULTILINE)
            yield from ((place(file), name) for name in names)


def lines(files: Iterable[Path]) -> int:
    """Return the number of lines, without the tests at the end of a file of Rust."""
    texts = (file.read_text().partition("\n#[cfg(test)]\nmod tests {")[0] for file in files if file.suffix in SUFFIXES)
    return sum(len(text.splitlines()) for text in texts)


if __name__ == "__main__":
    sys.exit(main())
