"""The licences of what is linked into the wheel's libraries: each crate, and the texts that its package has.

Prints the text. `make wheel` puts it into the wheel as `hocket/third-party-notices.txt`.
"""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = ("hocket-bindings", "hocket-mpi")
OFFLINE = ("--locked", "--offline")
TEXTS = ("LICENSE*", "LICENCE*", "COPYING*", "COPYRIGHT*", "NOTICE*", "UNLICENSE*")

HEADING = """\
Hocket's libraries contain these crates of Rust, and the standard library of Rust (MIT OR Apache-2.0,
https://github.com/rust-lang/rust/blob/main/COPYRIGHT). The texts of their licences follow.
"""


def main() -> None:
    crates = linked()
    names_of: dict[str, list[str]] = defaultdict(list)
    for name, (licence, folder) in crates.items():
        files = sorted({file for pattern in TEXTS for file in folder.rglob(pattern) if file.is_file()})
        if not files and "Apache-2.0" in licence:
            files = [ROOT / "LICENSE"]  # Hocket's own licence
        if not files:
            sys.exit(f"{folder}: no file with a licence, expected one such as LICENSE")
        for file in files:
            names_of[file.read_text(encoding="utf-8").strip()].append(name)
    print(HEADING)
    for name, (licence, _) in crates.items():
        print(f"{name}: {licence}")
    for text, names in names_of.items():
        print(f"\n{'=' * 100}\n{', '.join(dict.fromkeys(names))}\n{'=' * 100}\n\n{text}")


def linked() -> dict[str, tuple[str, Path]]:
    """Return the crates of others that are linked, by name and version: the licence, and the folder of the package."""
    packages = json.loads(cargo("metadata", "--format-version", "1"))["packages"]
    found = {
        f"{one['name']} {one['version']}": (one["license"], Path(one["manifest_path"]).parent)
        for one in packages
        if one["source"]
    }
    of = [f"--package={name}" for name in LIBRARIES]
    tree = cargo("tree", *of, "--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}")
    names = {
        " v".join(line.split(" v")[:2]).partition(" (")[0].replace(" v", " ") for line in tree.splitlines() if line
    }
    return {name: found[name] for name in sorted(names) if name in found}


def cargo(*words: str) -> str:
    return subprocess.run(["cargo", *words, *OFFLINE], cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout


if __name__ == "__main__":
    main()
