"""Baselines: what is saved is loaded again, runs add up, and nothing is lost."""

import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hocket
from hocket.judging.baselines import baselines_folder, load, names, save
from hocket.judging.changes import changes
from hocket.measurements.measurement import Measurement, Spread

ONE = Measurement(collective="allreduce", algorithm="ring", ranks=8, size_bytes=4096, time_s=1.1e-5)
FULL = Measurement(
    collective="allreduce",
    algorithm="trinaryx3",
    parameters={"segment": 4096},
    ranks=64,
    ranks_per_node=4,
    size_bytes=1 << 20,
    element_bytes=4,
    time_s=1.1e-5,
    dims=(4, 4),
    layout="16x4, 16x4",
    in_place=True,
    measured_as="pico",
    system="lumi",
    library='Open MPI 5.0, "mine"',
    buffers="cuda",
    spread=Spread(1.05e-5, 1.3000000000000001e-5, "iterations", 1000),
)
TIMES_S = st.floats(1e-9, 1e3)
SPREADS = st.none() | st.builds(
    lambda low_s, factor, what, iterations: Spread(low_s, low_s * factor, what, iterations),
    TIMES_S,
    st.floats(1, 10),
    st.sampled_from(["iterations", "ranks", "interval"]),
    st.none() | st.integers(1, 10**9),
)
MEASUREMENTS = st.builds(
    Measurement,
    collective=st.just("allreduce"),
    algorithm=st.sampled_from(["default", "ring", "openmpi-5.0"]),
    ranks=st.integers(1, 10**6),
    size_bytes=st.integers(0, 1 << 40),
    time_s=TIMES_S,
    measured_as=st.sampled_from(["isolated", "pico", "osu", "imb"]),
    element_bytes=st.integers(1, 16),
    ranks_per_node=st.none() | st.integers(1, 256),
    in_place=st.booleans(),
    library=st.sampled_from(["", "Open MPI 5.0.3", "a,b; c", 'said "so"', "OSU MPI"]),
    spread=SPREADS,
)


def plain(measurements: tuple[Measurement, ...] | list[Measurement]) -> list[Measurement]:
    return [replace(one, source="") for one in measurements]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(MEASUREMENTS, min_size=1, max_size=5))
def test_what_is_saved_is_loaded(tmp_path: Path, measurements: list[Measurement]) -> None:
    save("a", measurements, tmp_path, replace=True)
    assert plain(load("a", tmp_path)) == measurements


def test_every_field_is_kept_and_the_file_is_a_csv_of_measurements(tmp_path: Path) -> None:
    path = save("nightly-64_ranks.v2", [FULL, ONE], tmp_path)
    assert path == tmp_path / "nightly-64_ranks.v2.csv"
    assert plain(hocket.read_measurements(path).measurements) == [FULL, ONE]


def test_saves_add_runs(tmp_path: Path) -> None:
    for time_s in (1.0e-5, 1.1e-5, 1.2e-5):
        save("a", [replace(ONE, time_s=time_s)], tmp_path)
    assert [one.time_s for one in load("a", tmp_path)] == [1.0e-5, 1.1e-5, 1.2e-5]
    (change,) = changes(load("a", tmp_path), [ONE]).changes
    assert (change.before_runs, change.after_runs, change.basis) == (3, 1, "runs of one side")
    save("a", [ONE], tmp_path, replace=True)
    assert plain(load("a", tmp_path)) == [ONE]


def test_names_are_listed(tmp_path: Path) -> None:
    assert names(tmp_path / "nowhere") == ()
    for name in ("b", "a.1", "c-2"):
        save(name, [ONE], tmp_path)
    (tmp_path / "note.txt").write_text("")
    (tmp_path / ".hidden.csv").write_text("")
    assert names(tmp_path) == ("a.1", "b", "c-2")


@pytest.mark.parametrize("name", ["", ".", "..", ".a", "a/b", "../a", "a b", "ä", "a\n", "-a", "a" * 101, 5, None])
def test_other_names_are_refused(tmp_path: Path, name: str) -> None:
    for use in (lambda: save(name, [ONE], tmp_path), lambda: load(name, tmp_path)):
        with pytest.raises(hocket.Error, match=r"^name: ") as caught:
            use()
        assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_an_unknown_baseline_has_a_hint(tmp_path: Path) -> None:
    with pytest.raises(hocket.Error, match=r'^unknown baseline "nightly": .* has none$'):
        load("nightly", tmp_path)
    save("nightly", [ONE], tmp_path)
    with pytest.raises(hocket.Error, match=r'^unknown baseline "nigthly".*nightly'):
        load("nigthly", tmp_path)


def test_what_cannot_be_kept_leaves_the_baseline_as_it_was(tmp_path: Path) -> None:
    save("a", [ONE], tmp_path)
    for wrong, sentence in (
        (replace(ONE, algorithm="MPI's own"), "baseline a: cannot be kept: .*MPI's own"),
        (replace(ONE, library="two\nlines"), "baseline a: cannot"),
        (replace(ONE, library=" blank"), "baseline a: cannot keep library ' blank' of allreduce ring$"),
    ):
        with pytest.raises(hocket.Error, match=sentence) as caught:
            save("a", [wrong], tmp_path)
        assert "\n" not in str(caught.value)
    with pytest.raises(hocket.Error, match=r"^baseline a: got no measurements"):
        save("a", [], tmp_path)
    assert plain(load("a", tmp_path)) == [ONE]
    assert {path.name for path in tmp_path.iterdir()} == {"a.csv", ".lock"}


@pytest.mark.parametrize("text", ["", "nonsense", "collective,size_bytes,time_s\nallreduce,8,x\n", "\0"])
def test_a_broken_baseline_is_one_error(tmp_path: Path, text: str) -> None:
    path = save("a", [ONE], tmp_path)
    path.write_text(text)
    for use in (lambda: load("a", tmp_path), lambda: save("a", [ONE], tmp_path)):
        with pytest.raises(hocket.Error, match=f"^{re.escape(str(path))}.*; this baseline is broken") as caught:
            use()
        assert "\n" not in str(caught.value)
    assert path.read_text() == text
    save("a", [ONE], tmp_path, replace=True)
    assert plain(load("a", tmp_path)) == [ONE]


def test_writers_at_once_lose_no_run(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: save("a", [replace(ONE, time_s=1e-6 * (i + 1))], tmp_path), range(16)))
    assert sorted(one.time_s for one in load("a", tmp_path)) == [1e-6 * (i + 1) for i in range(16)]


def test_processes_at_once_lose_no_run(tmp_path: Path) -> None:
    program = (
        "import hocket, sys; from hocket.judging.baselines import save\n"
        "one = hocket.Measurement(collective='allreduce', algorithm='ring', ranks=8, size_bytes=8, time_s=1e-5)\n"
        "for _ in range(10): save('a', [one], sys.argv[1])"
    )
    processes = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path)]) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert len(load("a", tmp_path)) == 30


def test_the_folder_is_the_users_or_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("HOCKET_BASELINES", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert baselines_folder() == tmp_path / ".local" / "share" / "hocket" / "baselines"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert save("a", [ONE]) == tmp_path / "data" / "hocket" / "baselines" / "a.csv"
    monkeypatch.setenv("HOCKET_BASELINES", str(tmp_path / "named"))
    assert names() == () and save("b", [ONE]) == tmp_path / "named" / "b.csv"
    assert names() == ("b",)


def test_a_folder_that_cannot_be_written() -> None:
    with pytest.raises(hocket.Error, match=r"^/proc/baselines/a\.csv: cannot be written: "):
        save("a", [ONE], Path("/proc/baselines"))


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for use in (lambda: save("a", [ONE], tmp_path / "file"), lambda: names(tmp_path / "file")):
        with pytest.raises(hocket.Error, match="file"):
            use()


def test_a_run_is_saved_only_with_its_picture(
    hocket_command: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: str | None, draw: object) -> None:
        raise hocket.Error(f"{path}: cannot be written: No space left on device")

    saved: list[object] = []
    monkeypatch.setattr("hocket.cli.output.write_picture", fail)
    monkeypatch.setattr("hocket.judging.baselines.save", lambda *those: saved.append(those))
    (tmp_path / "out.csv").write_text("collective,ranks,size,time_us\nallreduce,8,8,5.12\nallreduce,8,16,6.25\n")
    ran = hocket_command("judge", tmp_path / "out.csv", "--save", "night", "--plot", tmp_path / "x.png")
    assert (ran.status, ran.out, saved) == (2, "", []) and ran.err.endswith("No space left on device\n")
