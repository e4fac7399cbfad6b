"""Output files are complete or absent."""

import os
import platform
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from itertools import count
from pathlib import Path

import pytest

import hocket
from hocket import Error
from hocket.base import files
from hocket.base.line_file import LineFile
from hocket.definitions.machine import Machine, find_machine
from hocket.schedules.formats import FORMATS as SCHEDULE_FORMATS
from hocket.simulating.scenes import Scene
from hocket.simulating.sweeps.grid import Grid
from hocket.traces import write_allprof, write_simgrid
from tests.trace_programs import Program


@contextmanager
def file_size_limit(limit_bytes: int) -> Iterator[None]:
    """Limits the size of files, like a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


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


def test_several_files_are_all_written_or_none(tmp_path: Path) -> None:
    names = [str(tmp_path / name) for name in ("a", "b", "c")]
    (tmp_path / "a").write_text("old")
    with file_size_limit(1 << 16), pytest.raises(Error, match=r"/b: cannot be written: File too large"):
        files.write_all(dict(zip(names, ["new", "n" * (1 << 17), b"new"], strict=True)))
    assert os.listdir(tmp_path) == ["a"] and (tmp_path / "a").read_text() == "old"
    (tmp_path / "c").mkdir()
    with pytest.raises(Error, match=r"/c: cannot be written: it is a directory"):
        files.write_all(dict.fromkeys(names, "new"))
    assert sorted(os.listdir(tmp_path)) == ["a", "c"] and (tmp_path / "a").read_text() == "old"
    (tmp_path / "c").rmdir()
    files.write_all(dict.fromkeys(names, "new"))
    assert [Path(name).read_text() for name in names] == ["new"] * 3


@pytest.mark.parametrize("format", ["chakra", "simgrid", "allprof"])
def test_of_formats_of_several_files_none_is_left(format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, calls = Path.write_bytes, count()

    def write_one(path: Path, data: bytes) -> int:
        if next(calls):
            raise OSError(28, "No space left on device")
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", write_one)
    with pytest.raises(Error, match=rf"{tmp_path}/.*1.*: cannot be written: No space left on device"):
        if format == "chakra":
            schedule = hocket.record("allreduce/ring", hocket.Call(ranks=4, size_bytes=64))
            SCHEDULE_FORMATS[format].save(schedule, str(tmp_path / "out"), None)
        else:
            {"simgrid": write_simgrid, "allprof": write_allprof}[format](tmp_path, Program(2).trace())
    assert os.listdir(tmp_path) == []


def test_what_a_killed_process_left_is_removed_by_the_next_write(tmp_path: Path) -> None:
    text = """
import os, signal, sys
from hocket.base import files
from hocket.base.line_file import LineFile

def write(place):
    open(place, "w").close()
    os.kill(os.getpid(), signal.SIGKILL)

files.write_by(sys.argv[1], write)
"""
    killed = subprocess.run([sys.executable, "-c", text, tmp_path / "out.txt"], check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = os.listdir(tmp_path)
    assert left.startswith(f".out.txt.hocket-{platform.node()}-")
    others = [left.replace(platform.node(), "elsewhere"), left + "x"]
    for other in others:
        (tmp_path / other).touch()
    files.write(tmp_path / "another.txt", "text")
    assert sorted(os.listdir(tmp_path)) == sorted([*others, "another.txt"])


def test_what_another_writer_works_on_stays(tmp_path: Path) -> None:
    def write(place: str) -> None:
        files.write(tmp_path / "another.txt", "text")
        assert Path(place).exists()
        Path(place).write_text("text")

    for _ in range(2):
        files.write_by(tmp_path / "out.txt", write)
    assert sorted(os.listdir(tmp_path)) == ["another.txt", "out.txt"]


def test_a_file_that_grows_drops_a_cut_off_line_with_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text('{"a": 1}\n{"cut off')
    with LineFile(path) as file:
        assert (file.lines, file.cut_off) == ([b'{"a": 1}'], b'{"cut off')
    assert path.read_text().endswith('{"cut off')
    with LineFile(path) as file:
        file.add({"b": 2})
    assert path.read_text() == '{"a": 1}\n{"b": 2}\n'


def test_a_file_that_grows_is_one_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lines"
    (tmp_path / "own").touch()
    path.symlink_to(tmp_path / "own")
    with pytest.raises(Error, match=r"/lines: is a symbolic link, expected a regular file"), LineFile(path):
        pass
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(Error, match=r"/lines: is a pipe or a device, expected a regular file"), LineFile(path):
        pass
    path.unlink()
    with LineFile(path), pytest.raises(Error, match=r"/lines: another process writes this file"), LineFile(path):
        pass
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(Error, match=r"/lines: belongs to another user, expected a file of your own"), LineFile(path):
        pass


def test_a_line_that_does_not_fit_names_the_file(tmp_path: Path) -> None:
    with file_size_limit(10), LineFile(tmp_path / "lines") as file:
        file.add({"a": 1})
        with pytest.raises(Error, match=r"/lines: cannot be written: File too large"):
            file.add({"b": 2})
    with LineFile(tmp_path / "lines") as file:
        assert file.lines == [b'{"a": 1}']


def test_names_may_be_as_long_as_files_have_them(tmp_path: Path) -> None:
    files.write(tmp_path / ("\N{SNOWMAN}" * 85), "text")
    assert os.listdir(tmp_path) == ["\N{SNOWMAN}" * 85]


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


def test_a_stdout_of_text_gets_text_as_in_a_notebook() -> None:
    with redirect_stdout(StringIO()) as printed:
        print("line")
        files.write("-", b"bytes\n")
        files.write("-", "text\n")
        with pytest.raises(Error, match="stdout: takes only text, expected a file"):
            files.write("-", b"\xff")
    assert printed.getvalue() == "line\nbytes\ntext\n"


def test_bytes_come_after_what_was_printed_before() -> None:
    program = "from hocket.base import files; print('line'); files.write('-', b'bytes'); print('text')"
    assert subprocess.check_output([sys.executable, "-c", program]) == b"line\nbytestext\n"


def test_what_is_read_has_bounds(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes("a\r\né".encode())
    assert files.read_text(tmp_path / "file") == "a\né"
    with pytest.raises(Error, match=r"^/dev/zero: too long, expected at most 16777216 bytes$"):
        files.read_text("/dev/zero")
    with pytest.raises(Error, match=r"file: too long, expected at most 4 bytes$"):
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


@pytest.mark.parametrize("value", ["1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "inf", "-inf", "nan"])
@pytest.mark.parametrize("form", ["{}", "[1, {}]", "{{ a = {{ b = {} }} }}", "[[{}]]"])
@pytest.mark.parametrize(
    ("parse", "lines"),
    [
        (Machine.parse, [*find_machine("cluster")[0].split("\n"), "[protocol.LL.network]"]),
        (Scene.parse, ['cadence = "4 calls, every 20 us"']),
        (Grid.parse, ['machine = "cluster"']),
    ],
)
def test_a_value_that_toml_has_and_json_lacks_is_named(
    parse: Callable[[str, str], object], lines: list[str], value: str, form: str
) -> None:
    text = "\n".join([*lines, f"latency = {form.format(value)}"])
    got = f"(?:{re.escape(value[:10])}|datetime|float|array|inline table)"
    with pytest.raises(hocket.Error, match=rf"^file:{len(lines) + 1}: [^\n]*latency[^\n]*: got {got}"):
        parse(text, "file")
    with pytest.raises(hocket.Error, match=r"^file[^\n]*: (?:integer number overflowed|got 9{20}, expected a text)"):
        parse(text.replace(value, 20 * "9"), "file")
