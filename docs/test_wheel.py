"""What `make wheel` has made: all files are there, and the tutorial runs where nobody can compile.

A bare Debian, with python3 and without a C compiler, Rust and a network, installs the wheel and runs the commands of
the tutorial. `make test-wheel` runs this. It needs root, debootstrap, and the network for Debian and what Hocket uses.
"""

import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from test_docs import DOCS, ROOT, blocks, check, steps

pytestmark = pytest.mark.wheel

SUITE, PYTHON = "bookworm", "3.11"
NEWEST_GLIBC = (2, 17)
MOST_S = 30.0
GENERATED = {
    "hocket/commit.txt",
    "hocket/third-party-notices.txt",
    "hocket/mpi/native/libhocket.so",
    "hocket/mpi/native/preload/shim/shim.h",
    "hocket/traces/functions.h",
    "hocket/_native.abi3.so",
}


@dataclass(frozen=True)
class Bare:
    """A Debian in a folder, with Hocket's wheel, and those that it needs, in /wheels."""

    root: Path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command there, in /work, without a network; what it prints is one text."""
        inside = ["unshare", "--mount", "--pid", "--fork", "--net", f"--root={self.root}", "--mount-proc", "--wd=/work"]
        clean = ["/usr/bin/env", "--ignore-environment", "PATH=/hocket/bin:/usr/bin:/bin", "COLUMNS=80", "LANG=C.UTF-8"]
        return subprocess.run(
            [*inside, *clean, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )


@pytest.fixture(scope="module")
def wheel() -> Path:
    """Return the wheel."""
    (found,) = (ROOT / "target" / "wheels").glob("*.whl")
    return found


@pytest.fixture(scope="module")
def sdist() -> Path:
    """Return the sdist."""
    (found,) = (ROOT / "target" / "wheels").glob("*.tar.gz")
    return found


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bare]:
    """Make the Debian, and remove it."""
    root = tmp_path_factory.mktemp("bare")
    try:
        subprocess.run(["debootstrap", "--variant=minbase", "--include=python3", SUITE, root], check=True)
        for folder in ("work", "wheels"):
            (root / folder).mkdir()
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:"]
        subprocess.run([*download, f"--python-version={PYTHON}", "--dest", root / "wheels", wheel, "pip"], check=True)
        yield Bare(root)
    finally:
        shutil.rmtree(root)


def tracked(folder: str) -> set[str]:
    """Return the files that git knows below a folder, relative to it."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT / folder, capture_output=True, text=True, check=True)
    return set(listed.stdout.splitlines())


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    """Compare the wheel with the package in the repository."""
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    package = {f"hocket/{name}" for name in tracked("python/hocket")}
    (man_page,) = names - package - GENERATED
    assert re.fullmatch(r"hocket-[\d.]+\.data/data/share/man/man1/hocket\.1", man_page)
    assert names >= package | GENERATED


def test_the_wheel_has_the_licences_of_what_is_linked_in(wheel: Path) -> None:
    """Look for the crates whose sources the libraries name."""
    archive = zipfile.ZipFile(wheel)
    notices = archive.read("hocket/third-party-notices.txt").decode()
    for name in filter(re.compile(r".*\.so$").match, archive.namelist()):
        for crate, version in re.findall(rb"/registry/src/[^/]+/([\w-]+?)-(\d[^/]*)/", archive.read(name)):
            assert f"\n{crate.decode()} {version.decode()}: " in notices, name


def test_the_wheel_runs_where_glibc_is_old(wheel: Path) -> None:
    """Look for the versions of glibc that the libraries ask for."""
    archive = zipfile.ZipFile(wheel)
    for name in filter(re.compile(r".*\.so$").match, archive.namelist()):
        versions = {(int(major), int(minor)) for major, minor in re.findall(rb"GLIBC_(\d+)\.(\d+)", archive.read(name))}
        assert max(versions) <= NEWEST_GLIBC, name
    assert "manylinux_2_17" in wheel.name


def test_the_sdist_has_everything_that_git_knows(sdist: Path) -> None:
    """Compare the sdist with the repository."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert tracked(".") - names == set()
    assert "python/hocket/commit.txt" in names
    assert not any(name.endswith(".so") for name in names)


def test_the_tutorial_where_nobody_can_compile(bare: Bare) -> None:
    """Install the wheel, and follow the tutorial."""
    for compiler in ("cc", "gcc", "clang", "rustc", "cargo", "make"):
        assert bare.run("sh", "-c", f"command -v {compiler}").returncode
    begin_s = time.monotonic()
    installed = bare.run("sh", "-c", INSTALL)
    assert installed.returncode == 0, installed.stdout
    assert re.match(r"hocket [\d.]+ \(commit [0-9a-f]{12}", bare.run("hocket", "--version").stdout)
    follow(bare, DOCS / "tutorial.md")
    took_s = time.monotonic() - begin_s
    print(f"installed, and the tutorial done, in {took_s:.1f} s")
    assert took_s < MOST_S


INSTALL = """
set -e
python3 -m venv --without-pip /hocket
set -- /wheels/pip-*.whl
python "$1/pip" install --quiet --no-index --find-links /wheels hocket
"""


def follow(bare: Bare, page: Path) -> None:
    """Write the files and run the sessions of a page, from its top to its end."""
    for block in blocks(page):
        caption, _, content = block.text.partition("\n")
        if named := re.fullmatch(r":caption: (\S+)", caption):
            (bare.root / "work" / named[1]).write_text(content)
        elif block.language == "console":
            for step in steps(block):
                check(page, step, bare.run("sh", "-c", step.command).stdout)
        elif ">>> " in block.text:
            (bare.root / "work" / "session.txt").write_text(block.text)
            session = bare.run("python", "-m", "doctest", "-o", "ELLIPSIS", "session.txt")
            assert session.returncode == 0, session.stdout
