"""The output of commands."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import click
import pytest

import hocket
from hocket.base import files
from hocket.cli import output
from hocket.cli.printing import StyledText, say
from tests.conftest import Ran


def test_a_table_in_a_pipe_has_80_columns_and_cuts_no_word(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_table(["name", "what", "size"], [("y", "word " * 30, "20 B"), ("x" * 300, "", "1 B")], right=["size"])
    lines = capsys.readouterr().out.splitlines()
    assert words("\n".join(lines)).keys() >= {"x" * 300, "y", "word", "20", "1", "B"}
    assert all(len(line) <= 80 for line in lines if "x" * 300 not in line)


def test_a_growing_table_is_that_of_its_rows(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [("512 KiB", "999.9 us *"), ("8 B", "1 us"), ("512 KiB", "999.9 us *")]
    output.print_table(["size", "a_long_name"], rows, right=["a_long_name"])
    whole = capsys.readouterr().out
    table = output.GrowingTable(["size", "a_long_name"], widest=rows[0], right=["a_long_name"])
    for row in rows:
        table.print_row(row)
    assert words(capsys.readouterr().out) == words(whole)


def test_a_table_wider_than_the_terminal_has_its_first_words_above_its_rows(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    rows = [("a" * 40, "b" * 30, "some words, " * 9, "999.9 us", "123456789"), ("a" * 40, "c", "d", "1 us", "2")]
    output.print_table(["one", "two", "three", "time", "count"], rows, right=["time", "count"])
    lines = click.unstyle(capsys.readouterr().out).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == " one"
    assert lines[1].split() == ["two", "three", "time", "count"]
    assert lines.count(" " + "a" * 40) == 1
    assert words("\n".join(lines))["some"] == 9 and words("\n".join(lines))["123456789"] == 1


def words(text: str) -> Counter[str]:
    return Counter(word for word in click.unstyle(text).split() if set(word) != {"─"})


def test_what_looks_like_markup_is_printed_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_table(["name"], [("[/x] [bold]a[/] :boom:",), (StyledText("b", fg="green"),)])
    assert capsys.readouterr().out.splitlines()[2:] == [" [/x] [bold]a[/] :boom:", " b"]


def test_facts_are_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_facts([("time", "1 us"), ("messages", "3")])
    assert capsys.readouterr().out == "time      1 us\nmessages  3\n"


def test_json_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_json({"what": "é", "items": (1, 2)})
    assert json.loads(capsys.readouterr().out) == {"what": "é", "items": [1, 2]}


def test_progress_is_silent_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with output.progress("working", 2) as on_done:
        on_done()
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
@pytest.mark.parametrize(
    ("changes", "is_coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colours_are_left_out_where_they_are_not_wanted(changes: dict[str, str], is_coloured: bool) -> None:
    ours, terminal = os.openpty()
    plain = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    words = [sys.executable, "-m", "hocket", "verify", "barrier", "--ranks", "2"]
    subprocess.run(words, stdout=terminal, check=True, env={**plain, "TERM": "xterm", **changes})
    os.close(terminal)
    assert (b"\x1b" in os.read(ours, 1 << 16)) == is_coloured
    os.close(ours)


EVIL = "a\x1b]0;title\x07\x1b[31m\x9b2J\u202e\x7f"
SHOWN = r"a\u001b]0;title\u0007\u001b[31m\u009b2J\u202e\u007f"


def printed_on_a_terminal(line: list[str]) -> str:
    """Return what a command prints on a terminal; its progress is left out."""
    ours, terminal = os.openpty()
    plain = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    words = [sys.executable, "-m", "hocket", *line]
    subprocess.run(words, stdout=terminal, stderr=subprocess.PIPE, check=True, env={**plain, "TERM": "xterm"})
    os.close(terminal)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    return shown


def test_texts_of_others_give_no_orders_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    say(f"{EVIL}\n", EVIL)
    output.print_table([EVIL, "b"], [(EVIL, "c\nd")])
    output.print_facts([("a", EVIL)])
    output.print_json({"a": EVIL})
    shown = capsys.readouterr().out
    assert all(letter.isprintable() or letter == "\n" for letter in shown)
    assert shown.count(SHOWN) == 6 and r"c\nd" in shown
    assert json.loads(shown[shown.index("{") :]) == {"a": EVIL}


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
def test_a_job_log_of_another_user_gives_no_orders_to_the_terminal(tmp_path: Path) -> None:
    about = {"hocket_job_log": 1, "hocket": "0", "program": EVIL, "elapsed_s": 1, "ranks": 2, "nodes": 1, "start": EVIL}
    call = {"collective": EVIL, "function": EVIL, "reason": EVIL, "calls": 1, "bytes": 8, "time_s": 1.0}
    log = tmp_path / f"{EVIL.replace('/', '')}.jsonl"
    log.write_text(f"{json.dumps(about)}\n{json.dumps(call)}\n")
    shown = printed_on_a_terminal(["mpi", "report", str(tmp_path), "--by", "program,collective"])
    assert set(re.findall(r"\x1b\[[\d;]*m", shown)) <= {"\x1b[0m", "\x1b[1m"}
    assert all(letter.isprintable() or letter in "\r\n" for letter in re.sub(r"\x1b\[[01]m", "", shown))
    assert SHOWN in shown


def test_errors_that_quote_a_file_give_no_orders_to_the_terminal(
    bad_input: Callable[..., str], hocket_command: Callable[..., Ran], tmp_path: Path
) -> None:
    (tmp_path / f"{EVIL}.jsonl").write_text("{")
    assert bad_input("mpi report", tmp_path) == f"{tmp_path}/{SHOWN}.jsonl:1: expected a JSON object"
    skipped = hocket_command("mpi report --skip-damaged", tmp_path)
    assert skipped.err == f"hocket: skipped: {tmp_path}/{SHOWN}.jsonl:1: expected a JSON object\n"


def test_data_is_printable_on_a_terminal_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for is_terminal, shown in ((False, EVIL), (True, SHOWN)):
        monkeypatch.setattr(sys.stdout, "isatty", lambda is_terminal=is_terminal: is_terminal, raising=False)
        files.write("-", f"{EVIL}\n\t")
        assert capsys.readouterr().out == f"{shown}\n\t"


def test_everything_is_printed_by_one_function() -> None:
    commands = Path(hocket.__file__).parent / "cli"
    printing = [
        file.name for file in commands.rglob("*.py") if re.search(r"click\.s?echo|print\(f?\"", file.read_text())
    ]
    assert sorted(printing) == ["__init__.py", "group.py", "limits.py", "printing.py"]
