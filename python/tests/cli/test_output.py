"""The output of commands."""

import json
import os
import subprocess
import sys
from collections import Counter

import click
import pytest

from hocket.cli import output


def test_a_table_is_not_cut_where_no_terminal_sets_a_limit(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_table(["name", "size"], [("x" * 300, "1 B"), ("y", "20 B")], right=["size"])
    header, _, first, second = capsys.readouterr().out.splitlines()
    assert header.split() == ["name", "size"]
    assert first.split() == ["x" * 300, "1", "B"]
    assert len(first) == len(second)


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
    output.print_table(["name"], [("[/x] [bold]a[/] :boom:",), (click.style("b", fg="green"),)])
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
