"""The additions that CONTRIBUTING shows compile."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
SOURCES = ("Cargo.toml", "Cargo.lock", "crates", "mpi")


@pytest.mark.long
def test_the_additions_compile(tmp_path: Path) -> None:
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    page = MarkdownIt().parse((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    diffs = [token.content for token in page if token.info == "diff"]
    assert len(diffs) == 3
    for diff in diffs:
        for target, text in re.findall(r"^\+\+\+ b/(\S+)\n((?:(?!---).*\n)+)", diff, re.MULTILINE):
            path = tmp_path / target
            old = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
            path.write_text("\n".join([*changed(old, text.splitlines()), ""]), encoding="utf-8")
    command = ["cargo", "check", "--quiet", "--package", "hocket", "--target-dir", str(tmp_path / "target")]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def changed(old: list[str], diff: list[str]) -> list[str]:
    """Return lines with the additions of a diff, each behind the line that the diff keeps or removes before it."""
    new, at = [*old], 0
    for line in diff:
        if line.startswith("+"):
            new.insert(at, line[1:])
            at += 1
        elif line.startswith(("-", " ")):
            place = next(place for place in range(at, len(new)) if new[place] == line[1:])
            at = place + (line[0] == " ")
            if line[0] == "-":
                del new[place]
    return new
