"""Views and reports as values, and the code that reproduces them."""

import contextlib
import io
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hocket
from hocket.base.units import format_bytes, format_time
from hocket.definitions.variants import with_layout
from hocket.explorer.jobs import command
from hocket.explorer.questions import MeasuredFile, Question, Sources, name_of, read_question
from hocket.explorer.report import report as report_of
from hocket.explorer.views import VIEWS, OnDone, View, names_of_views, sections, view
from hocket.words.comparisons import INTERVALS_NOTE
from tests.conftest import Ran
from tests.explorer.conftest import OSU, TORUS, fields, question


def seen(name: str, asked: Question) -> View:
    return view(name, asked, lambda *_: None)


def silent(*_: object) -> None:
    """Say nothing of progress."""


def report(asked: Question, names: Sequence[str] = (), *, on_done: OnDone = silent) -> str:
    return report_of(asked, sections(asked, names or names_of_views(asked), on_done))


def run(code: str) -> tuple[str, dict[str, Any]]:
    """Run code; return what it prints, and its variables."""
    out = io.StringIO()
    found: dict[str, Any] = {}
    with contextlib.redirect_stdout(out):
        exec(code, found)
    return out.getvalue(), found


def printed(code: str) -> str:
    return run(code)[0]


def rows_of(chart: Any) -> list[dict[str, Any]]:
    """All data rows of a chart."""
    if isinstance(chart, list):
        return [row for each in chart for row in rows_of(each)]
    if not isinstance(chart, dict):
        return []
    datasets = [*chart.get("datasets", {}).values()]
    if isinstance(chart.get("data"), dict):
        datasets.append(chart["data"].get("values", []))
    own = [row for rows in datasets for row in (json.loads(rows) if isinstance(rows, str) else rows)]
    return own + [row for key, each in chart.items() if key not in ("data", "datasets") for row in rows_of(each)]


SCENE = {"machine": TORUS, "size": "64B", "algorithm": "ring"}


@pytest.mark.parametrize(
    ("texts", "scene"),
    [
        ({"arrivals": "rank 3, 20 us"}, {"arrivals": "rank 3, 20 us"}),
        ({"cadence": "4 calls, every 1 us"}, {"cadence": "4 calls, every 1 us"}),
        (
            {"arrivals": "rank 3, 20 us", "faults": "link 0 -> 1, 0 us.., 10 %; node 2, 1..30 us, down"},
            {"arrivals": "rank 3, 20 us", "faults": ["link 0 -> 1, 0 us.., 10 %", "node 2, 1..30 us, down"]},
        ),
    ],
)
def test_views_play_the_scene_and_reproduce_it(
    texts: dict[str, str], scene: dict[str, Any], hocket_command: Callable[..., Ran], tmp_path: Path
) -> None:
    asked = question(**SCENE, **texts)
    times, drawn, links = (seen(name, asked) for name in ("times", "map", "links"))
    (table,) = times.tables
    assert table.columns == ("size", "ring", "swing"), "lower bounds are for isolated calls"
    call = hocket.Call(ranks=8, size_bytes=64)
    alike = hocket.simulate("allreduce/ring", call, machine=asked.machine, **scene)
    assert table.rows[-1][1].removesuffix(" *") == format_time(alike.time_s.mean)
    for found in (times, drawn, links):
        said = [text for name, text in found.facts if name in ("arrivals", "cadence", "faults")]
        assert "; ".join(said) == "; ".join(texts.values())
    assert times.source is not None and drawn.source is not None and links.source is not None
    for source in (times.source, drawn.source):
        assert run(source.python)[1]["found"].times_s[64, "ring"] == alike.time_s.mean
    machine = tmp_path / "torus.toml"
    machine.write_text(TORUS)
    line, _, _ = times.source.command.partition(" <<")
    words = shlex.split(line.replace("/dev/stdin", str(machine)))[1:]
    again = hocket_command(*words, "--json").json
    (ring,) = (one for one in again["results"] if (one["algorithm"], one["size_bytes"]) == ("ring", 64))
    assert ring["time_s"]["mean"] == alike.time_s.mean
    uses = hocket.simulate("allreduce/ring", call, machine=asked.machine, **scene, keep=["links"]).link_uses
    assert printed(links.source.python) == "".join(f"{use}\n" for use in uses)
    picture = seen("space-time", asked)
    lines = str(picture.chart["title"]["subtitle"])
    assert all(text in lines for text in "; ".join(texts.values()).split("; "))
    (first, *_) = printed(picture.source.python).split()
    assert first == ("Event(rank=0," if "cadence" in texts else f"{alike.times_s[0]}")
    shares: list[float] = []
    told = report(asked, ("times", "map"), on_done=lambda done, total: shares.append(done / total))
    assert shares == sorted(shares) and any(0 < share < 0.5 for share in shares)
    assert all(text in told for text in next(iter(texts.values())).split("; "))


def test_drawn_arrivals_have_trials() -> None:
    found = seen("times", question(arrivals="one rank, 0..40 us", trials="5", sizes="1KiB"))
    assert dict(found.facts)["trials"].startswith("5 trials, seed 0")
    assert all(" ± " in cell for cell in found.tables[0].rows[0][1:])


def test_times_are_those_of_a_comparison() -> None:
    found = seen("times", question())
    (table,) = found.tables
    assert table.columns == ("size", "ring", "swing", "lower bound")
    for size_bytes, (_, ring, swing, bound) in zip((8, 16, 32, 64), table.rows, strict=True):
        call = hocket.Call(ranks=8, size_bytes=size_bytes)
        assert ring == format_time(hocket.simulate("allreduce/ring", call).time_s.mean)
        assert swing == f"{format_time(hocket.simulate('allreduce/swing', call).time_s.mean)} *"
        assert bound == format_time(hocket.bound("allreduce", call).time_s)
    (best,) = found.facts
    assert best == ("use", "swing: the fastest at each size")
    assert {row["line"] for row in rows_of(found.chart) if "line" in row} == {"ring", "swing", "lower bound"}


def test_measured_times_stand_beside_simulated_ones(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    osu, table = tmp_path / "osu.txt", tmp_path / "times.csv"
    osu.write_text("# OSU MPI Allreduce Latency Test v7.5\n# Size       Avg Latency(us)\n8    5.00\n64   6.00\n")
    table.write_text("collective,algorithm,ranks,size_bytes,time_s\nallreduce,swing,4,8,1e-5\n")
    files = Sources(measured=(MeasuredFile(str(osu), "ring", 8), MeasuredFile(str(table))))
    found = seen("times", question(files))
    simulated_s = hocket.simulate("allreduce/ring", hocket.Call(ranks=8, size_bytes=8)).time_s.mean
    assert found.tables[1].rows[0] == ("ring", "8 B", "5.000 us", format_time(simulated_s), f"{simulated_s / 5e-6:.2f}")
    assert found.facts[-1] == ("measured", "as osu; simulated as isolated")
    assert "ring, measured" in {row["line"] for row in rows_of(found.chart) if "line" in row}
    assert found.source is not None
    again = run(found.source.python)[1]["found"]
    assert [one.measured_s for one in again.measured] == pytest.approx([5e-6, 6e-6])
    words = shlex.split(found.source.command)[1:]
    assert str(table) not in words, "it has no time of such a call"
    assert [one["measured_s"] for one in hocket_command(*words, "--json").json["measured"]] == pytest.approx(
        [5e-6, 6e-6]
    )
    assert len(seen("times", question(files, ranks="16")).tables) == 1
    assert len(seen("times", question(files, arrivals="rank 3, 20 us")).tables) == 1
    told = json.loads(command(files)[-1])
    assert told == [[], [], [[str(osu), "ring", 8], [str(table), None, None]]]


def test_a_report_shows_measured_times(
    hocket_command: Callable[..., Ran], bad_input: Callable[..., str], tmp_path: Path
) -> None:
    osu, page = tmp_path / "osu.txt", tmp_path / "page.html"
    osu.write_text("# OSU MPI Allreduce Latency Test v7.5\n# Size       Avg Latency(us)\n8    5.00\n")
    line = f"report {page} allreduce ring --ranks 8 --sizes 8B --view times --measured {osu}"
    hocket_command(f"{line} --measured-algorithm ring --measured-ranks 8")
    assert "simulated / measured" in page.read_text()
    told = bad_input(f"{line} --measured-algorithm ring")
    assert told == f"{osu}: does not contain the number of ranks, expected --measured-ranks"
    twice = bad_input(f"{line} --measured-algorithm ring --measured-ranks 8 --measured-ranks 4")
    assert twice == "--measured-ranks: got 2 values for 1 files, expected one, or one for each file"
    alone = line.replace(f"--measured {osu}", "--measured-ranks 4")
    assert bad_input(alone) == "--measured-ranks: got 4, expected --measured beside it"


def test_times_with_noise_have_intervals() -> None:
    found = seen("times", question(machine="jitter-paper", trials="64", seed="3", sizes="8B"))
    call, machine = hocket.Call(ranks=8, size_bytes=8), "jitter-paper"
    one = hocket.simulate("allreduce/ring", call, machine=machine, trials=hocket.Trials(count=64, seed=3))
    reach_s = one.time_s.mean - one.time_s.interval[0]
    assert found.tables[0].rows[0][1] == f"{format_time(one.time_s.mean)} ± {format_time(reach_s)}"
    assert ("trials", f"64 trials, seed 3; {INTERVALS_NOTE}") in found.facts


def test_a_barrier_has_no_sizes_and_no_curves() -> None:
    found = seen("times", question(collective="barrier", algorithms="", sizes=""))
    assert found.chart is None
    assert [row[0] for row in found.tables[0].rows] == ["0 B"]


def test_a_map_shows_who_is_fastest_and_rank_counts_that_nobody_takes() -> None:
    found = seen("map", question(algorithms="recursive_doubling ring", sizes="8B,1MiB", collective="allgather"))
    for ranks, size, fastest, *_ in found.tables[0].rows:
        calls = [hocket.Call(ranks=int(ranks), size_bytes={"8 B": 8, "1 MiB": 1 << 20}[size])]
        compared = hocket.compare(["allgather/recursive_doubling", "allgather/ring"], calls)
        assert fastest == compared.fastest(calls[0].size_bytes)[0]
    assert len({(row["ranks"], row["size"]) for row in rows_of(found.chart)}) == 4
    refused = seen("map", question(algorithms="recursive_doubling", collective="allgather", ranks="6,8"))
    assert [name for name, _ in refused.refusals] == ["6 ranks"]


@pytest.mark.parametrize(("name", "total"), [("times", 8), ("map", 16), ("verdict", 3)])
def test_progress_reaches_the_end(name: str, total: int) -> None:
    told: list[tuple[int, int]] = []
    view(name, question(algorithm="ring"), lambda done, of: told.append((done, of)))
    assert told == [(done, total) for done in range(1, total + 1)]


def test_space_time_tells_what_the_critical_path_is_made_of() -> None:
    found = seen("space-time", question(algorithm="ring", size="64KiB"))
    explained = hocket.explain("allreduce/ring", hocket.Call(ranks=8, size_bytes=65536))
    parts = {part: time for part, time, *_ in found.tables[0].rows}
    assert parts == {part: format_time(part_s) for part, part_s in explained.parts_s.items() if part_s > 0}
    assert found.facts[0] == ("time", f"{format_time(explained.time_s)} until the last rank ends")
    drawn = [row for row in rows_of(found.chart) if row["what"].startswith("critical path")]
    assert len(drawn) == len(explained.steps)


def test_without_a_name_the_fastest_is_explained() -> None:
    assert question(sizes="8B").explained_algorithm.name == "swing"
    assert question(sizes="64MiB", algorithms="linear ring").explained_algorithm.name == "ring"


def test_links_show_each_link(named: Sources) -> None:
    found = seen("links", question(named, machine=TORUS, algorithm="ring"))
    call, machine = hocket.Call(ranks=8, size_bytes=64), hocket.Machine.parse(TORUS)
    uses = hocket.simulate("allreduce/ring", call, machine=machine, keep=["links"]).link_uses
    drawn = {row["link"]: row["size"] for row in rows_of(found.chart) if row["bytes"]}
    assert drawn == {use.name: format_bytes(int(use.bytes)) for use in uses}
    with pytest.raises(hocket.Error, match="machine cluster has no topology, expected a machine with a topology"):
        seen("links", question())


def test_a_verdict_has_the_counterexample_of_the_command_line(
    named: Sources, hocket_command: Callable[..., Ran]
) -> None:
    found = seen("verdict", question(named, algorithm="neighbours"))
    ran = hocket_command(*shlex.split(found.source.command)[1:])
    assert ran.status == 1
    assert found.title == "allreduce/neighbours is wrong"
    assert found.texts and all(text in ran.out for text in found.texts)
    assert dict(found.facts)["verdict"] in ran.out
    right = seen("verdict", question(algorithm="ring"))
    assert (right.title, right.texts) == ("allreduce/ring is right", ())


@pytest.mark.parametrize("name", VIEWS)
def test_command_and_python_give_the_same(
    name: str, named: Sources, hocket_command: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = {"parameters": "segment=8B", "algorithms": "dual_root ring", "algorithm": "dual_root", "output": OSU}
    asked = question(named, machine=TORUS, **texts)
    found = seen(name, asked)
    (tmp_path / "out.txt").write_text(OSU)
    ran = hocket_command(*shlex.split(found.source.command)[1:])
    assert (ran.status, ran.err) == (0, "")
    said = printed(found.source.python)
    if name == "times":
        assert f"use {dict(found.facts)['use']}" in " ".join(ran.out.split())
        compared = hocket.compare(asked.candidates, asked.calls(8, asked.sizes_bytes), machine=asked.machine)
        assert said == "".join(f"{best}\n" for best in compared.best())
    elif name == "map":
        assert said.splitlines()[0].startswith("4 Best(")
        assert "8 ranks" not in (tmp_path / "map.html").read_text()[:2000]
    elif name == "space-time":
        assert found.facts[0][1] in ran.out
        assert "segment" in found.source.command
    elif name == "links":
        assert "LinkUse(" in said and (tmp_path / "links.html").exists()
    elif name == "judge":
        assert ran.out.startswith(found.title) and "Row(size_bytes=65536," in said
        words = " ".join(ran.out.split())
        assert all(text in words for label, text in found.facts if label != "from the form")
    else:
        _, checked = said.split()
        assert f"{checked} calls" in dict(found.facts)["verdict"]


def test_a_changed_machine_comes_with_the_command(tmp_path: Path) -> None:
    text = TORUS.replace('"small-torus"', '"""\nit\'s\nEND\n"""')
    found = seen("times", question(machine=text))
    script = f'hocket() {{ {shlex.quote(sys.executable)} -m hocket "$@"; }}\n{found.source.command}\n'
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=tmp_path, timeout=60, check=True)
    assert ran.stdout.startswith("allreduce on 8 ranks, elements of 4 B, machine it's\nEND")
    assert printed(found.source.python)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"collective": "alreduce"}, 'collective "alreduce", did you mean allreduce?'),
        ({"algorithms": "rign"}, 'unknown allreduce algorithm "rign", did you mean ring?'),
        ({"algorithm": "rign"}, 'unknown allreduce algorithm "rign", did you mean ring?'),
        ({"ranks": "0"}, "ranks: got .*expected rank counts of at least 1"),
        ({"ranks": "8;rm"}, 'ranks: got "8;rm", expected rank counts such as'),
        ({"sizes": "8X"}, 'sizes: got "8X"'),
        ({"sizes": "64B..8B"}, "sizes: got"),
        ({"size": "8B..64B"}, "size: got .*expected one size"),
        ({"trials": "0"}, 'trials: got "0", expected a whole number from 1 to 1000000'),
        ({"trials": "²"}, "trials: got"),
        ({"trials": "5"}, "trials: got 5, but machine cluster has no noise"),
        ({"seed": "9" * 5000}, "seed: got .{,60}expected a whole number from 0"),
        ({"parameters": "segment"}, 'parameters: got "segment", expected NAME=VALUE'),
        ({"parameters": "sgment=3"}, 'unknown parameter "sgment"'),
        ({"machine": "x = "}, "machine: "),
        ({"machine": "x = " + "[" * 100_000}, "machine: "),
        ({"machine": TORUS.replace("4 GB/s", "4 GB")}, "machine:6: "),
        ({"ranks": "1-1000", "sizes": "8B..1MiB"}, "got 36000 simulations, expected at most 10000"),
        ({"nonsense": ""}, "field: got 'nonsense', expected one of collective, "),
    ],
)
def test_misuse_is_told_in_one_line(changed: dict[str, str], told: str) -> None:
    with pytest.raises(hocket.Error, match=told) as raised:
        seen("times", read_question({**fields(), **fields(**changed)}, Sources()))
    assert "\n" not in str(raised.value)


NOISE = '[noise.os]\nmodel = "trace"\nfile = "events.txt"\n'


@pytest.mark.parametrize("noise", [NOISE, 'noise.os = {model = "trace", "file" = "/etc/passwd"}\n'])
def test_a_page_has_no_file_read_that_the_user_did_not_name(noise: str, tmp_path: Path) -> None:
    text = noise + TORUS if noise.startswith("noise") else TORUS + noise
    with pytest.raises(hocket.Error, match=r"machine: got a key `file`, expected it only in an unchanged file"):
        question(machine=text)
    (tmp_path / "events.txt").write_text("0.001 0.00001\n")
    machine = tmp_path / "noisy.toml"
    machine.write_text(TORUS + NOISE)
    assert question(Sources(machines=(str(machine),)), machine=TORUS + NOISE).machine.noise


def test_a_report_has_all_views_and_loads_nothing() -> None:
    text = report(question(algorithm="ring"))
    found = re.search(r'<script type="application/json" id="report">(.*?)</script>', text)
    assert found
    data = json.loads(found[1])
    assert ["view" in section for section in data["sections"]] == [True, True, True, False, True]
    assert data["sections"][3]["error"].startswith("links: machine cluster has no topology")
    assert data["machines"] == [hocket.Machine.load("cluster").text]
    assert "default-src 'none'" in text and not re.search("(src|href)=", text.partition("<script")[0])


def test_a_report_of_nothing_says_why() -> None:
    with pytest.raises(hocket.Error, match="links: machine cluster has no topology"):
        report(question(), ["links"])


def test_what_a_machine_says_is_text_in_a_report() -> None:
    text = report(question(machine=TORUS.replace("small", "</script><b>")), ["times"])
    assert "</script><b>" not in text


def test_the_command_writes_a_report(
    hocket_command: Callable[..., Ran], bad_input: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "a.html"
    line = f"report {path} allreduce ring --ranks 4 --sizes 8B,64B --verify-ranks 2"
    assert hocket_command(line).out == f"report: {path}\n"
    assert "allreduce/ring is right" in path.read_text()
    assert "--sizes is missing" in bad_input(f"report {path} allreduce --ranks 4")
    assert "has no noise" in bad_input(f"{line} --trials 5")


def axis_of(chart: Mapping[str, Any] | None) -> Any:
    assert chart is not None
    return next(one for one in (layer["encoding"]["y"] for layer in chart["layer"]) if one["field"] == "time_s")


@pytest.mark.parametrize("name", VIEWS)
def test_another_machine_is_shown_beside(name: str) -> None:
    asked = question(ranks="8", machine=TORUS, beside="fugaku", algorithm="ring", output=OSU)
    one, other, found = seen(name, replace(asked, other_machine=None)), seen(name, asked.on_other()), seen(name, asked)
    assert found.other_view is not None
    if name in ("times", "judge"):
        assert axis_of(found.chart) == axis_of(found.other_view.chart) != axis_of(one.chart)
        one, other = (replace(view, chart=found.chart) for view in (one, other))
        found = replace(found, other_view=replace(found.other_view, chart=found.chart))
    assert replace(found, other_view=None) == one and found.other_view == other


def test_a_machine_beside_that_has_no_answer_says_why() -> None:
    found = seen("times", question(ranks="32", machine=TORUS, beside="cluster"))
    assert found.source is None and "8 nodes" in found.facts[0][1]
    assert found.other_view is not None and found.other_view.source is not None
    with pytest.raises(hocket.Error, match="has no topology"):
        seen("links", question(beside="cluster"))
    with pytest.raises(hocket.Error, match=r"^beside: got 'nowhere', expected one of alps-gh200, cluster, "):
        question(beside="nowhere")


def test_what_libraries_choose_is_drawn_beside_the_algorithms() -> None:
    asked = question(defaults="shown", sizes="8B..4KiB:8")
    found = seen("times", asked)
    said = [text for name, text in found.facts if name == "mpich-5.0 without tuning"]
    assert said and all("times the fastest" in text for text in said)
    assert found.chart is not None and "openmpi-5.0 without tuning" in json.dumps(found.chart)
    assert " --defaults " in found.source.command
    assert 'defaults=["mpich-5.0", "openmpi-5.0"]' in found.source.python.replace("'", '"')
    with pytest.raises(hocket.Error, match=r'^defaults: got "yes", expected nothing, or "shown"$'):
        question(defaults="yes")


def test_a_machine_that_was_changed_since_it_was_loaded_has_no_name(tmp_path: Path) -> None:
    machine = hocket.Machine.load("fugaku")
    path = tmp_path / "mine.toml"
    path.write_text(machine.text)
    mine = hocket.Machine.load(path)
    assert (name_of(machine), name_of(mine)) == ("fugaku", str(path))
    assert name_of(with_layout(machine, "4x2, 8")) is None
    assert name_of(with_layout(mine, "4x2, 8")) is None
