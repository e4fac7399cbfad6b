"""Output files are complete or not there."""

import os
from pathlib import Path

import pytest

from hocket import Error, files
from hocket.sweeps.grid import Grid


def test_a_file_is_written(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    files.write(path, "text")
    assert path.read_text() == "text"
    assert os.listdir(path.parent) == ["out.txt"]


def test_a_folder_is_made_in_one_that_is_there(tmp_path: Path) -> None:
    for _ in range(2):
        files.make_folder(tmp_path / "new")
    assert (tmp_path / "new").is_dir()
    (tmp_path / "file").touch()
    for name in ("missing/new", "file"):
        with pytest.raises(Error, match="cannot be written"):
            files.make_folder(tmp_path / name)


def test_the_old_file_stays_when_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(Error, match=r"out\.txt: cannot be written: No space left on device"):
        files.write(path, b"new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    files.write(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_a_device_is_not_replaced() -> None:
    files.write("/dev/null", "text")
    assert not Path("/dev/null").is_file()


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Error, match="cannot be written: Is a directory"):
        files.write(tmp_path, "text")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("new/out.txt", "there is no folder .*/new"),
        ("file/out.txt", ".*/file is not a directory"),
        ("file/new/out.txt", "there is no folder .*/file/new"),
        (".", "it is a directory"),
        ("dangling", "there is no folder .*/missing"),
    ],
)
def test_what_cannot_be_written_is_known_beforehand(tmp_path: Path, name: str, why: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to(tmp_path / "missing" / "out.txt")
    for right in ("out.txt", "file"):
        assert files.writable(str(tmp_path / right)) == str(tmp_path / right)
    with pytest.raises(Error, match=rf"^.*: cannot be written: {why}$"):
        files.writable(str(tmp_path / name))


@pytest.mark.parametrize("name", ["file", "file/new", "missing/new"])
def test_a_folder_that_cannot_be_written_is_known_beforehand(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    for right in ("new", "."):
        assert files.writable_folder(str(tmp_path / right)) == str(tmp_path / right)
    with pytest.raises(Error, match=r"cannot be written: .*(there is no folder|is not a directory)"):
        files.writable_folder(str(tmp_path / name))


def test_stdout_is_written_as_it_stands(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for path in ("-", "/dev/stdout"):
        assert files.writable(path) == path
        files.write(path, "text\n")
    files.write("-", b"bytes\n")
    assert capfd.readouterr().out == "text\ntext\nbytes\n"
    assert not files.is_stdout(tmp_path / "out.txt")


def test_what_is_read_has_bounds(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes("a\r\né".encode())
    assert files.read_text(tmp_path / "file") == "a\né"
    with pytest.raises(Error, match=r"^/dev/zero: longer than expected, 16777216 bytes at most$"):
        files.read_text("/dev/zero")
    with pytest.raises(Error, match=r"file: longer than expected, 4 bytes at most$"):
        files.read_text(tmp_path / "file", most_bytes=4)


def test_a_path_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Error, match="cannot be written"):
        files.write(tmp_path / "file" / "out.txt", "text")


@pytest.mark.parametrize("text", ["ranks = ", f"ranks = {'1' * 5000}", f"ranks = {'[' * 5000}"])
def test_toml_that_python_does_not_read_gets_one_line(text: str) -> None:
    for parse in (files.parse_toml, Grid.parse):
        with pytest.raises(Error, match=r"^grid\.toml: [^\n]+$"):
            parse(text, "grid.toml")


def test_an_overwritten_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "private"
    path.touch(mode=0o600)
    files.write(path, "new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o600)
