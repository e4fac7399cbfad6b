"""The judgement of pasted text and of measured files, in the explorer and in reports."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hocket
from hocket.explorer import views
from hocket.explorer.questions import MOST_LETTERS, MeasuredFile, Question, Sources
from hocket.explorer.views import View, names_of_views, view
from tests.conftest import Ran
from tests.explorer.conftest import NCCL, OSU, TORUS, question
from tests.explorer.test_views import report, rows_of

IMB = """\
# Benchmarking Allreduce
# #processes = {0}
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1024         1000        30.00        40.00        35.00
         2048         1000        40.00        50.00        45.00
"""
PING_PONG = """\
# Benchmarking PingPong
# #processes = 2
       #bytes #repetitions      t[usec]   Mbytes/sec
         1024         1000        30.00        34.00
"""


def judgement(**texts: str) -> View:
    return view("judge", question(**texts), lambda *_: None)


def test_the_verdict_comes_first() -> None:
    found = judgement(output=OSU, machine="lumi", ranks="64,128")
    alike = hocket.judge(OSU, machine="lumi", ranks=128)
    assert found.title == alike.title != ""
    assert found.facts[-1] == ("from the form", "128 ranks")
    assert [text for _, text in found.facts[:-1]] == [one.sentence for one in alike.curves[0].findings[1:]]
    assert [row[0] for row in found.tables[0].rows] == ["64 KiB", "256 KiB"]
    assert {"measured", "expected"} <= {row["kind"] for row in rows_of(found.chart) if "kind" in row}
    assert found.chart is not None and found.chart["width"] == "container"
    assert found.source is not None
    assert found.source.command == "hocket judge out.txt --ranks 128 --machine lumi"


def test_the_form_tells_only_what_the_text_does_not() -> None:
    named = NCCL.replace("# nThread", "# Collective test starting: all_reduce_perf\n# nThread")
    ranks = "".join(f"#  Rank  {rank} Group  0 Pid  1 on host{rank} device  0 [0x07] GPU\n" for rank in range(8))
    for text, words in (
        (named, "--ranks 8"),
        (NCCL, "--ranks 8 --collective allreduce"),
        (NCCL.replace("#       size", f"{ranks}#       size"), "--collective allreduce"),
        (named.replace("#       size", f"{ranks}#       size"), ""),
    ):
        found = judgement(output=text, ranks="8")
        assert found.source is not None
        expected = f"hocket judge out.txt {words} --machine cluster"
        assert found.source.command == re.sub(" +", " ", expected)
        assert ("from the form" in dict(found.facts)) == bool(words)
        assert found.title.startswith("Allreduce on 8 ranks")


def test_several_curves_each_have_their_verdict() -> None:
    found = judgement(output=IMB.format(4) + IMB.format(8), ranks="16")
    assert found.title == "2 curves: 2 slow"
    names = [name for name, _ in found.facts]
    assert "allreduce on 4 ranks" in names and "allreduce on 8 ranks" in names and "from the form" not in names
    (table,) = found.tables
    assert table.columns[:2] == ("call", "size")
    assert [row[0] for row in table.rows] == ["allreduce on 4 ranks"] * 2 + ["allreduce on 8 ranks"] * 2


def test_without_a_machine_the_text_alone_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    machines: list[Any] = []

    def judge_sources(sources: Any, *, machine: Any) -> Any:
        machines.append(machine)
        return hocket.judge(sources[0].measurements, machine="cluster")

    monkeypatch.setattr(views, "judge_sources", judge_sources)
    found = judgement(output=OSU, alone="alone", beside="lumi")
    assert machines == [None] and found.other_view is None
    assert found.source is not None
    assert found.source.command == "hocket judge out.txt --ranks 8"
    assert found.source.python.splitlines()[2] == 'found = hocket.judge("out.txt", ranks=8)'


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ({"output": ""}, "nothing to judge, expected the output of a benchmark"),
        ({"output": PING_PONG}, "nothing to judge, expected times of a collective that Hocket has"),
        ({"output": "hello\n"}, "^text: unknown format, expected the CSV of PICO"),
        ({"output": "/etc/passwd"}, "^text: unknown format"),
        ({"output": OSU.replace("390.20", "fast")}, r"^text:5: "),
        ({"output": OSU, "ranks": "32", "machine": TORUS}, "8 nodes"),
        ({"output": "x" * (MOST_LETTERS + 1)}, f"^output: too long, expected at most {MOST_LETTERS} letters"),
        ({"output": OSU, "alone": "yes"}, '^alone: got "yes", expected nothing, or "alone"$'),
    ],
)
def test_misuse_is_told_in_one_line(texts: dict[str, str], told: str) -> None:
    with pytest.raises(hocket.Error, match=told) as raised:
        judgement(**texts)
    assert "\n" not in str(raised.value)


def test_an_unreadable_text_gets_the_line_of_the_command(tmp_path: Path, bad_input: Callable[..., str]) -> None:
    path = tmp_path / "out.txt"
    path.write_text("hello\n")
    with pytest.raises(hocket.Error) as raised:
        judgement(output=path.read_text())
    said = bad_input(f"judge {path} --machine cluster")
    assert str(raised.value) == said.replace(str(path), "text")


def measured_by(path: Path, *, algorithm: str | None = None) -> Question:
    """A question with a measured file."""
    return question(Sources(measured=(MeasuredFile(str(path), algorithm, 8),)))


def test_a_library_s_own_choices_are_judged_from_files(tmp_path: Path, hocket_command: Callable[..., Ran]) -> None:
    path = tmp_path / "osu.txt"
    path.write_text(OSU)
    found = view("judge", measured_by(path), lambda *_: None)
    assert found.title == hocket.judge(path, machine="cluster", ranks=8).title
    assert found.source is not None
    assert found.source.command == f"hocket judge {path} --ranks 8 --machine cluster"
    said = " ".join(hocket_command(*shlex.split(found.source.command)[1:]).out.split())
    assert said.startswith(found.title)
    times = view("times", measured_by(path), lambda *_: None)
    assert times.tables[1].rows[0][0] == "default" and times.source is not None
    assert hocket_command(*shlex.split(times.source.command)[1:]).status == 0
    assert names_of_views(measured_by(path))[-1] == "judge"
    assert "judge" not in names_of_views(measured_by(path, algorithm="ring"))
    library = view("judge", measured_by(path, algorithm="openmpi-5.0"), lambda *_: None)
    assert library.source is not None and "--algorithm openmpi-5.0" in library.source.command


def test_a_report_judges_measured_files(
    tmp_path: Path, hocket_command: Callable[..., Ran], bad_input: Callable[..., str]
) -> None:
    osu, page = tmp_path / "osu.txt", tmp_path / "page.html"
    osu.write_text(OSU)
    line = f"report {page} allreduce ring --ranks 4,8 --sizes 64KiB --verify-ranks 2"

    def titles(line: str) -> list[str]:
        hocket_command(line)
        entries = re.search(r'id="report">(.*?)</script>', page.read_text())
        assert entries is not None
        return [one["view"]["title"] for one in json.loads(entries[1])["sections"] if "view" in one]

    without, judged = titles(line), titles(f"{line} --measured {osu} --measured-ranks 8")
    assert judged == [*without, hocket.judge(osu, machine="cluster", ranks=8).title]
    assert titles(f"{line} --measured {osu} --measured-ranks 8 --measured-algorithm ring") == without
    refusal = bad_input(f"{line} --measured {osu} --measured-ranks 4 --view judge")
    assert refusal.startswith("judge: nothing to judge, expected the output of a benchmark")


def test_a_pasted_text_is_judged_in_a_report() -> None:
    asked = question(output=OSU, sizes="8B", algorithms="ring")
    assert json.dumps(hocket.judge(OSU, machine="cluster", ranks=8).title) in report(asked)
