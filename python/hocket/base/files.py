"""Files: input is limited in size, output is either complete or absent; tables in CSV; TOML, read and written.

An Error names the file that cannot be read or written, and says why.
"""

from __future__ import annotations

import codecs
import csv
import errno
import fcntl
import io
import json
import os
import platform
import re
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from enum import Enum, auto
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from hocket import _native
from hocket._native import Error
from hocket.base.checks import memory as check_memory
from hocket.base.checks import path as path_of
from hocket.base.checks import printable_lines

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

STDOUT = "-"
"""The file name that stands for standard output."""

_MOST_BYTES = 1 << 24
_PIECE_BYTES = 1 << 20
_MOST_NUMBER = 1 << 64
_MOST_NAME_BYTES, _MOST_HOST_LETTERS = 150, 40  # a file name has at most 255 bytes
_ENCODINGS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
"""Encodings by the mark that some editors and shells put at the beginning of a text; without one it is UTF-8."""
_UNFINISHED_NAME = re.compile(r"(?s)\..*\.hocket-(?P<host>.*)-[0-9a-f]{8}")


def read_text(path: str | PathLike[str], *, most_bytes: int = _MOST_BYTES, only_regular: bool = False) -> str:
    """Return the text of a file; it may be a pipe or a device without end, of which `most_bytes` are accepted.

    If `only_regular`, pipes and devices are refused at once, for files that other users may have put there. So is what
    is no text, or does not fit into memory.
    """
    file = path_of("file", path)
    pieces = []
    length = 0
    try:
        with open(file, "rb", opener=_open_at_once if only_regular else None) as stream:
            if only_regular and not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise Error(f"{file}: is a pipe or a device, expected a regular file")
            while piece := stream.read(_PIECE_BYTES):
                pieces.append(piece)
                length += len(piece)
                if length > most_bytes:
                    raise Error(f"{file}: too long, expected at most {most_bytes} bytes")
                if length > _PIECE_BYTES:
                    check_memory(file, 3 * length)  # the bytes, the text, and the parsed content
        content = b"".join(pieces)
        text = content.decode(next((name for mark, name in _ENCODINGS.items() if content.startswith(mark)), "utf-8"))
    except OSError as error:
        raise unreadable(file, error) from error
    except UnicodeDecodeError as error:
        raise Error(f"{file}: invalid byte at offset {error.start}, expected UTF-8 text") from error
    return io.IncrementalNewlineDecoder(None, translate=True).decode(text, final=True)


def parse_object(text: str | bytes, where: str) -> dict[str, Any]:
    """Return the members of the JSON object in a file; refuse deep nesting, and integers of too many digits."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):  # invalid JSON, invalid UTF-8, or an integer that Python does not convert
        data = None
    if not isinstance(data, dict):
        raise Error(f"{where}: expected a JSON object")
    return data


def read_rows(module_file: str, name: str) -> list[dict[str, str]]:
    """Return the rows of a table in CSV that lies beside a module; lines that begin with # are comments."""
    lines = read_text(Path(module_file).with_name(name)).splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def csv_text(columns: Collection[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as CSV; a missing value is an empty cell."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def parse_toml(text: str, file: str) -> dict[str, Any]:
    """Return the values of a TOML file, given its text; refuse deep nesting, and other values, such as dates.

    Values are texts, finite numbers, truths, and lists and tables of them.
    """
    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise Error(f"{file}: nested too deeply") from None
    except ValueError as error:  # invalid TOML, or an integer that Python does not convert
        place = re.search(r" \(at line (\d+), column \d+\)$", str(error))
        line, sentence = (f":{place[1]}", str(error)[: place.start()]) if place else ("", str(error))
        raise Error(f"{file}{line}: {sentence}") from error
    _check_values(values, "", text, file)
    return values


def _check_values(value: object, key: str, text: str, file: str) -> None:
    """Refuse a value that is not of JSON's kinds, or not a number that 64 bits hold."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, child in children:
        part = f".{name}" if key else name
        _check_values(child, f"{key}[{name}]" if isinstance(value, list) else f"{key}{part}", text, file)
    is_number = not isinstance(value, float | int) or abs(value) < _MOST_NUMBER
    if not (is_number and isinstance(value, dict | list | str | float | int)):
        lines, path = key_lines(text), re.sub(r"(\[\d+\])+$", "", key)
        line = f":{lines[path]}" if path in lines else ""
        raise Error(f"{file}{line}: {key}: got {value!s:.40}, expected a text, a number, true or false")


key_lines = _native.lines_of_keys
"""Return the line of each key in the text of a TOML file; the names that lead to a key are joined by dots."""


def unreadable(file: str, error: OSError) -> Error:
    """Return the error message for a file that cannot be read."""
    return Error(f"{file}: {error.strerror}")


def is_stdout(path: str | PathLike[str]) -> bool:
    """Return whether a path means standard output: `-` or `/dev/stdout`."""
    try:
        return fspath(path) == STDOUT or os.path.samestat(os.stat(path), os.fstat(1))
    except OSError:
        return False


def writable(path: str | PathLike[str]) -> str:
    """Return a path that can probably be written, and refuse others. Commands check this before long work."""
    file = path_of("file", path)
    if os.path.isdir(file):
        raise Error(f"{file}: cannot be written: it is a directory")
    if os.path.exists(file) and not os.path.isfile(file):
        _check_access(file, file)  # a device or a pipe
    elif not is_stdout(file):
        _check_folder(file, os.path.dirname(os.path.realpath(file)))
    return file


def writable_folder(path: str) -> str:
    """Return the path of a folder if files can probably be written to it, or if it can be made; refuse others."""
    target = os.path.realpath(path_of("folder", path))
    _check_folder(path, target if os.path.lexists(target) else os.path.dirname(target))
    return path


def make_folder(path: str | PathLike[str]) -> None:
    """Make a folder if it does not exist; its parent folder must exist. An Error if it cannot be made."""
    with naming(path):
        Path(path).mkdir(exist_ok=True)


def write(path: str | PathLike[str], content: bytes | str) -> None:
    """Write a file atomically: a reader sees the old content or the new one, never a part. `-` is standard output.

    A BrokenPipeError says that the path is a pipe whose reader has gone.
    """
    if is_stdout(path):
        _print(content)
        return
    data = content.encode() if isinstance(content, str) else content
    write_by(path, lambda place: Path(place).write_bytes(data))


def write_all(contents: Mapping[str, bytes | str]) -> None:
    """Write several files that belong together, each atomically: if one cannot be written, none is."""
    targets = [Path(os.path.realpath(writable(path))) for path in contents]
    for folder in {target.parent for target in targets}:
        _remove_left(folder)
    with ExitStack() as stack:
        paths = []
        for target, content in zip(targets, contents.values(), strict=True):
            with naming(target):
                temporary = stack.enter_context(_file_beside(target))
                temporary.write_bytes(content.encode() if isinstance(content, str) else content)
            paths.append((temporary, target))
        for temporary, target in paths:
            with naming(target):
                os.replace(temporary, target)


def write_by(path: str | PathLike[str], writer: Callable[[str], object]) -> None:
    """Write a file atomically: `writer` writes to the path of a temporary file, and may raise `OSError`.

    A BrokenPipeError says that the path is a pipe whose reader has gone.
    """
    file = path_of("file", path)
    with naming(file):
        if os.path.exists(file) and not os.path.isfile(file):
            writer(file)  # a device or a pipe: it cannot be replaced
            return
        target = Path(os.path.realpath(file))
        _remove_left(target.parent)
        with _file_beside(target) as temporary:
            writer(str(temporary))
            os.replace(temporary, target)


def _open_at_once(path: str, flags: int) -> int:
    """Open a file without waiting for a writer at the other end of a pipe."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def _check_folder(path: str, folder: str) -> None:
    if not os.path.exists(folder):
        raise Error(f"{path}: cannot be written: there is no folder {folder}")
    if not os.path.isdir(folder):
        raise Error(f"{path}: cannot be written: {folder} is not a directory")
    _check_access(path, folder)


def _check_access(path: str, target: str) -> None:
    if not os.access(target, os.W_OK):
        raise Error(f"{path}: cannot be written: no permission for {target}")


def _print(content: bytes | str) -> None:
    """Write to stdout. A terminal gets the printable letters: the content may come from others."""
    try:
        with naming("stdout"):
            if sys.stdout.isatty():
                text = content if isinstance(content, str) else content.decode(errors="replace")
                sys.stdout.write(printable_lines(text))
            elif isinstance(content, bytes) and hasattr(sys.stdout, "buffer"):
                sys.stdout.flush()  # what was printed before
                sys.stdout.buffer.write(content)
            else:  # the stdout of a notebook takes only text
                sys.stdout.write(content if isinstance(content, str) else content.decode())
            sys.stdout.flush()
    except UnicodeDecodeError as error:
        raise Error("stdout: takes only text, expected a file for this content") from error


@contextmanager
def naming(path: str | PathLike[str]) -> Iterator[None]:
    """Turn an OSError into an error that names the file."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Error(f"{fspath(path)}: cannot be written: {error.strerror}") from error


@contextmanager
def _file_beside(target: Path) -> Iterator[Path]:
    """Give the path of an empty file beside the target, with the target's permissions, and remove it afterwards.

    The file is locked as long as this process works on it. Its name contains the host, because some file systems keep
    the locks of each host apart.
    """
    beginning = f".{os.fsdecode(os.fsencode(target.name)[:_MOST_NAME_BYTES])}.hocket-{_host()}-"
    permissions = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    with ExitStack() as stack:
        is_ours = False
        while not is_ours:  # another process may remove the file before it is locked
            temporary = target.with_name(f"{beginning}{os.urandom(4).hex()}")
            descriptor = os.open(temporary, flags, 0o666 if permissions is None else 0o600)
            stack.callback(os.close, descriptor)
            stack.callback(temporary.unlink, missing_ok=True)
            is_ours = lock(descriptor) is not Lock.OF_ANOTHER and is_at(temporary, descriptor)
        if permissions is not None:  # nobody else may read the file earlier
            os.fchmod(descriptor, permissions)
        yield temporary


class Lock(Enum):
    """Who has the lock of a file."""

    OURS = auto()
    OF_ANOTHER = auto()
    OF_NOBODY = auto()
    """The file system has no locks."""


def lock(descriptor: int) -> Lock:
    """Lock an open file until it is closed, unless it is locked. The kernel unlocks it when its process ends."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return Lock.OF_ANOTHER if error.errno in (errno.EWOULDBLOCK, errno.EACCES) else Lock.OF_NOBODY
    return Lock.OURS


def is_at(path: Path, descriptor: int) -> bool:
    """Return whether an open file still has a path."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _host() -> str:
    return platform.node()[:_MOST_HOST_LETTERS]


def _remove_left(folder: Path) -> None:
    """Remove the unfinished files of this host on which no process works."""
    with suppress(OSError):  # the folder cannot be listed
        for name in os.listdir(folder):
            match = _UNFINISHED_NAME.fullmatch(name)
            if match and match["host"] == _host():
                with suppress(OSError):  # the file belongs to another user
                    _remove_unlocked(folder / name)


def _remove_unlocked(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if lock(descriptor) is Lock.OURS:
            os.unlink(path)
    finally:
        os.close(descriptor)
