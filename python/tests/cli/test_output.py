"""What commands print."""

import json

import click
import pytest

from hocket.cli import output


def test_a_table_is_not_cut_where_no_terminal_sets_a_limit(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_table(["name", "size"], [("x" * 300, "1 B"), ("y", "20 B")], right=["size"])
    header, _, first, second = capsys.readouterr().out.splitlines()
    assert header.split() == ["name", "size"]
    assert first.split() == ["x" * 300, "1", "B"]
    assert len(first) == len(second)


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
