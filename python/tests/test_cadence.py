"""Calls in a cadence, and scene files, from Python and from the command line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket
from tests.conftest import Ran

CALL = hocket.Call(ranks=4, size_bytes=64)
LINE = "--ranks 4 --size 64"
TEXTS = st.text() | st.from_regex(
    r"[0-9]{0,3} calls?(, every [0-9]{1,3} us)?(, [0-9]{1,2} at a time)?(, computing [0-9] us)?", fullmatch=True
)


def test_back_to_back_a_ring_takes_as_long_as_alone() -> None:
    alone = hocket.simulate("allreduce/ring", CALL)
    found = hocket.simulate("allreduce/ring", CALL, cadence=" 8 calls ")
    assert (found.cadence, alone.cadence, alone.repeated, found.formula_s) == ("8 calls", None, None, None)
    repeated = found.repeated
    assert repeated is not None and repeated.calls_per_s is not None
    assert repeated.calls_s == pytest.approx([alone.time_s.mean] * 8)
    assert repeated.isolated_s.mean == alone.time_s.mean
    assert repeated.calls_per_s == pytest.approx(1 / alone.time_s.mean)
    assert repeated.bytes_per_s == pytest.approx(64 / alone.time_s.mean)
    assert (found.messages, found.rank_time_s["max"]) == (8 * alone.messages, pytest.approx(8 * alone.time_s.mean))


def test_noise_gives_intervals_of_trials() -> None:
    trials = hocket.Trials(100_000, until_interval="1%")
    found = hocket.simulate("allreduce/ring", CALL, machine="jitter-paper", trials=trials, cadence="4 calls")
    assert found.repeated is not None
    assert 64 <= found.trials < 100_000 and found.time_s.reach <= 0.01
    assert found.repeated.interval_s.stderr > 0 and found.repeated.isolated_s.stderr > 0
    assert sum(found.repeated.calls_s) / 4 == pytest.approx(found.time_s.mean)


def test_a_computation_hides_a_call_whose_messages_need_no_processor() -> None:
    def found(cadence: str, machine: str) -> hocket.Repeated:
        repeated = hocket.simulate("allreduce/recursive_doubling", CALL, machine=machine, cadence=cadence).repeated
        assert repeated is not None
        return repeated

    hidden = found("8 calls, computing 1 ms", "cluster")
    assert hidden.hidden_share == pytest.approx(1)
    for cadence in ("8 calls", "8 calls, every 2 ms, computing 1 ms", "8 calls, 2 at a time, computing 1 ms"):
        assert found(cadence, "cluster").hidden_share is None
    whole, parts = (found(f"8 calls, computing 1 ms{ending}", "loggp-infiniband") for ending in ("", " in 1000 parts"))
    assert whole.hidden_share is not None and parts.hidden_share is not None
    assert 0 < whole.hidden_share < parts.hidden_share < 1


def test_a_call_of_one_rank_has_no_rate() -> None:
    found = hocket.simulate("allreduce/ring", hocket.Call(ranks=1, size_bytes=0), cadence="3 calls, 2 at a time")
    assert found.repeated is not None
    assert (found.repeated.calls_s, found.repeated.calls_per_s, found.repeated.bytes_per_s) == ((0, 0, 0), None, None)


def test_all_forms_of_results_have_the_cadence(hocket_command: Callable[..., Ran]) -> None:
    cadence = ["--cadence", "6 calls, every 3 us, 2 at a time"]
    told = hocket_command("simulate broadcast chain", *LINE.split(), *cadence, "--json").json
    assert (told["cadence"], len(told["repeated"]["calls_s"])) == (cadence[1], 6)
    said = hocket_command("simulate broadcast chain", *LINE.split(), *cadence).out
    assert "cadence          6 calls, every 3 us, 2 at a time" in said and "calls/s" in said
    compared = hocket_command("compare broadcast", *LINE.split(), *cadence).out
    assert "cadence: 6 calls, every 3 us, 2 at a time" in " ".join(compared.split())
    found = hocket.simulate("broadcast/chain", CALL, cadence=cadence[1])
    assert found.repeated is not None
    assert found.records()[0]["interval_s"] == found.repeated.interval_s.mean
    assert found.as_dict()["repeated"]["interval_s"] == told["repeated"]["interval_s"] | {
        "interval": found.repeated.interval_s.interval
    }


@given(TEXTS)
def test_any_text_is_a_cadence_or_refused(text: str) -> None:
    try:
        found = hocket.simulate("barrier/dissemination", hocket.Call(ranks=2, size_bytes=0), cadence=text)
    except hocket.Error as error:
        assert str(error).startswith("cadence: got ") and "\n" not in str(error)
    else:
        assert found.repeated is not None and int(text.split()[0]) == len(found.repeated.calls_s)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"cadence": 3}, "cadence: got 3, expected"),
        ({"cadence": "0 calls"}, 'cadence: got "0 calls", expected 1 to 10000 calls'),
        ({"cadence": "9 calls, 10 at a time"}, "expected 1 to 9 at a time"),
        ({"cadence": "2 calls", "arrivals": "rank 1, 1 us"}, "expected none, as arrivals are given"),
        ({"cadence": "2 calls", "measured_as": "imb"}, "expected 'isolated', as a cadence is given"),
        ({"cadence": "2 calls", "scene": hocket.Scene(cadence="2 calls")}, "expected none, as the scene has '2 calls'"),
        ({"scene": 3}, "scene: got 3"),
        ({"cadence": "9999 calls", "trials": hocket.Trials(1 << 24)}, "9999 calls in each of 16777216 trials"),
    ],
)
def test_what_has_no_meaning_is_refused(given: dict[str, Any], expected: str) -> None:
    with pytest.raises(hocket.Error) as refused:
        hocket.simulate("allreduce/ring", CALL, **given)
    assert expected in str(refused.value)


def test_commands_refuse_it_by_option(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    scene, schedule = tmp_path / "scene.toml", tmp_path / "ring.goal"
    scene.write_text('cadence = "3 calls"\n')
    assert hocket_command("record allreduce ring", *LINE.split(), "-o", schedule).status == 0
    for arguments, expected in [
        (["--cadence", "3 cals"], '--cadence: got "3 cals", expected a number of calls'),
        (
            ["--cadence", "3 calls", "--measured-as", "osu"],
            "--measured-as: got osu, expected isolated, as --cadence is given",
        ),
        (["--scene", scene, "--arrivals", "rank 1, 1 us"], "--cadence: expected none, as --arrivals is given"),
        (["--scene", scene, "--cadence", "3 calls"], "--cadence: expected none, as the file of --scene has cadence"),
        (["--scene", tmp_path / "none.toml"], "--scene: "),
    ]:
        for command in ("simulate allreduce ring", "compare allreduce"):
            found = hocket_command(command, *LINE.split(), *arguments)
            assert (found.status, found.out) == (2, "") and expected in found.err
    found = hocket_command("simulate schedule", schedule, "--scene", scene)
    assert (found.status, "a schedule describes one call" in found.err) == (2, True)


def test_a_scene_file_says_what_options_say(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "late.csv").write_text("rank,arrival_s\n0,0\n1,0\n2,1e-5\n3,0\n")
    for text, option in [
        ('arrivals = "late.csv"', ["--arrivals", f"{tmp_path / 'late.csv'}"]),
        ('arrivals = "rank 2, 10 us"', ["--arrivals", "rank 2, 10 us"]),
        ('cadence = "4 calls, every 5 us"', ["--cadence", "4 calls, every 5 us"]),
        ("", []),
    ]:
        (tmp_path / "scene.toml").write_text(text)
        from_file = hocket_command(
            "simulate allreduce ring", *LINE.split(), "--json", "--scene", tmp_path / "scene.toml"
        )
        assert from_file.json == hocket_command("simulate allreduce ring", *LINE.split(), "--json", *option).json
        compared = hocket.compare("allreduce", ranks=4, sizes=64, scene=tmp_path / "scene.toml")
        assert compared.times_s[64, "ring"] == from_file.json["time_s"]["mean"]
        assert bool(compared.bounds) == (not text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("arrives = 3", "scene:1: arrives: unknown key, did you mean arrivals?"),
        ('\narrivals = "late"', 'scene:2: arrivals: got "late", expected ranks and how late they are'),
        ("cadence = 3", "scene:1: cadence: got 3, expected a text in quotes"),
        ("[cadence]\nx = 3", "scene:1: cadence: got {'x': 3}, expected a text in quotes"),
        ('cadence = "x', "scene: Unterminated string"),
        ('arrivals = "none.csv"', "none.csv"),
    ],
)
def test_wrong_scene_files_are_one_line(text: str, expected: str) -> None:
    with pytest.raises(hocket.Error) as refused:
        hocket.Scene.parse(text)
    assert expected in str(refused.value) and "\n" not in str(refused.value)


@given(st.text() | st.from_regex(r'(arrivals|cadence|faults|x) ?= ?"?[a-z0-9 ,]*"?\n?', fullmatch=True))
def test_any_text_is_a_scene_or_refused(text: str) -> None:
    try:
        found = hocket.Scene.parse(text, "scene.toml")
    except hocket.Error as error:
        assert str(error).startswith("scene.toml")
    else:
        assert set(found.parts) <= {"arrivals", "cadence", "faults"}


def test_a_sweep_has_a_row_for_each_cadence(tmp_path: Path) -> None:
    cadences = ["", "4 calls", "4 calls, 2 at a time"]
    text = f'ranks = 4\nsizes = 64\ncadence = {cadences}\n[algorithms]\n"broadcast/chain" = {{}}\n'
    table = hocket.sweep(hocket.Grid.parse(text))
    assert [row.cadence for row in table.rows] == cadences
    for row in table.rows:
        found = hocket.simulate("broadcast/chain", CALL, cadence=row.cadence or None)
        assert row.time_mean_s == found.time_s.mean
        assert row.interval_s == (found.repeated and found.repeated.interval_s.mean)
    table.write(tmp_path / "cadence.csv")
    assert hocket.Table.load(tmp_path / "cadence.csv").rows == table.rows
    with pytest.raises(hocket.Error, match=r'cadence: got "4 cals", expected a number of calls'):
        hocket.Grid.parse(text.replace("4 calls'", "4 cals'"))
    (row,) = hocket.sweep(hocket.Grid.parse(text.replace(str(cadences), "'4 calls'\narrivals = 'rank 1, 1 us'"))).rows
    assert row.refusal is not None and "as arrivals are given" in row.refusal
