"""Output files are complete or not there."""

import os
from pathlib import Path

import pytest

from hocket import Error, files


def test_a_file_is_written_with_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "new" / "out.txt"
    files.write(path, "text")
    assert path.read_text() == "text"
    assert os.listdir(path.parent) == ["out.txt"]


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


@pytest.mark.parametrize("name", ["file/out.txt", "file/new/out.txt", "."])
def test_what_cannot_be_written_is_known_beforehand(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    assert files.writable(str(tmp_path / "new" / "out.txt")) == str(tmp_path / "new" / "out.txt")
    with pytest.raises(Error, match=r"cannot be written: .* a directory"):
        files.writable(str(tmp_path / name))


def test_a_path_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Error, match="cannot be written"):
        files.write(tmp_path / "file" / "out.txt", "text")
