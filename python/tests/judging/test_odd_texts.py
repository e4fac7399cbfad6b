"""Texts that are cut, that contradict themselves, or whose results are wrong: nothing of them is believed silently."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hocket
from hocket.judging.assessment import Assessment
from hocket.judging.faults import failures_in
from hocket.measurements.measurement import Facts
from tests.fitting.test_measurements import CSV, IMB, NCCL, OSU_FULL, PICO, nccl
from tests.judging.test_judge import SIZES, osu

ROOT = Path(__file__).parents[3]
OSU = osu([9 + size / 1e4 for size in SIZES])
OSU_ROWS = OSU_FULL + "2 3.02 2.80 13.40 1000\n4 4.02 3.80 14.40 1000\n"
WRONG = nccl("all_reduce", [(1 << k, 10 + (1 << k) / 1e5) for k in range(10, 28, 2)], ranks=8, wrong=[0, 3, 1])


def points(found: Assessment) -> set[tuple[int, float]]:
    return {(one.size_bytes, round(one.time_s, 12)) for curve in found.curves for one in curve.curve.runs}


def sentences(found: Assessment) -> str:
    findings = [one for curve in found.curves for one in curve.findings]
    return "\n".join(one.sentence for one in (*findings, *found.findings))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (f"{OSU}8388608     123.", "its last number has 0 digits after the point, expected 2"),
        (f"{OSU}8388608     123", "its last number has 0 digits after the point, expected 2"),
        (f"{OSU}8388608     123.4\n", "its last number has 1 digit after the point, expected 2"),
        (f"{OSU}83886", "it has 1 of 2 columns"),
        (f"{OSU_ROWS}8 5.02 4.8", "it has 3 of 5 columns"),
        (NCCL.partition("361.77")[0], "it has 9 of 13 columns"),
        (NCCL.partition("    5.80       0")[0], "it has 11 of 13 columns"),
        (f"{CSV}allreduce,ring,8,16", "it has 4 of 7 columns"),
        ("size,time_us\n8,5.12\n16,6.25\n32,7.77\n64,9.", "its last number has 0 digits after the point, expected 2"),
        (f"{IMB}      2097152           20       250.00       2", "it has 4 of 5 columns"),
    ],
)
def test_a_last_row_that_is_cut_is_named_and_left_out(text: str, what: str) -> None:
    found = hocket.judge(text, ranks=None if "processes" in text or "device" in text else 8, collective="allreduce"
                         if text.startswith("size") else None)  # fmt: skip
    cuts = [one.sentence for one in found.findings if one.subject == "cut row"]
    number = len(text.rstrip("\n").split("\n"))
    assert len(cuts) == 1 and cuts[0].startswith(f'text:{number}: "') and cuts[0].endswith(f" left out: {what}")
    whole = "\n".join(text.rstrip("\n").split("\n")[:-1]) + "\n"
    assert points(found) == points(
        hocket.judge(whole, ranks=None if "processes" in text or "device" in text else 8,
                     collective="allreduce" if text.startswith("size") else None)
    )  # fmt: skip


def test_a_cut_row_is_left_out_where_the_ranks_are_not_known() -> None:
    found = hocket.judge(f"{OSU}8388608     123.4")
    assert found.title == hocket.judge(OSU).title and "is cut and left out" in sentences(found)
    bare = "".join(f"{size} {9 + size / 1e4:.2f}\n" for size in SIZES)
    assert 'text:11: "8388608 1.2" is cut and left out' in sentences(hocket.judge(f"{bare}8388608 1.2"))


def test_a_row_in_the_middle_and_a_single_row_are_not_left_out(tmp_path: Path) -> None:
    with pytest.raises(hocket.Error, match=r"^text:4: got "):
        hocket.judge(OSU_ROWS.replace("3.40 1000", "3.40"), ranks=8)
    with pytest.raises(hocket.Error, match=r'^text:3: "8 1.7" is cut and left out: its last number has 1 digit'):
        hocket.judge("\n".join([*OSU.split("\n")[:2], "8 1.7"]), ranks=8)
    (tmp_path / "out.txt").write_text(f"{OSU}8388608     1.")
    assert len(hocket.read_measurements(tmp_path / "out.txt", Facts("ring", 8)).cuts) == 1


CUT: dict[str, tuple[str, dict[str, Any]]] = {
    "osu": (OSU_ROWS, {"ranks": 4}),
    "osu without ranks": (OSU, {}),
    "osu of two columns": (OSU, {"ranks": 4}),
    "nccl": (NCCL, {}),
    "imb": (IMB, {}),
    "pico": (PICO.partition("mare")[0], {}),
    "labels": (re.sub("(?m)^", "[1,0]<stdout>: ", OSU), {"ranks": 4}),
    "quotation": (re.sub("(?m)^", "> ", NCCL), {}),
}


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", CUT)
def test_wherever_a_text_is_cut_no_other_time_is_believed(name: str, step: int) -> None:
    text, options = CUT[name]
    whole = points(hocket.judge(text, **options))
    for end in range(1, len(text), step):
        try:
            found = hocket.judge(f"{text[:end]}\n", **options)
        except hocket.Error as error:
            assert "\n" not in str(error)
        else:
            assert points(found) <= whole, text[:end][-80:]


@pytest.mark.parametrize("text", [WRONG, WRONG.replace("# nThread", "# n"), "\n".join(WRONG.split("\n")[8:])])
def test_wrong_results_are_the_verdict(text: str) -> None:
    number = next(number for number, line in enumerate(text.split("\n"), start=1) if " 4096 " in line)
    start = (
        f"Results are wrong, so their times mean little, in 2 rows: text:{number} (4 KiB), text:{number + 1} (16 KiB)"
    )
    assert hocket.judge(text, ranks=8, collective="allreduce").title.startswith(start)


def test_a_total_of_wrong_values_counts_without_rows() -> None:
    text = NCCL.replace(" 0 OK", " 7 FAILED")
    found = hocket.judge(text)
    assert found.title == "The benchmark found 7 values to be wrong, so its times mean little [text:14]."
    assert found.curves[0].verdict.source == "text:14"
    assert failures_in(NCCL, "text") is None and failures_in(NCCL.replace("       0\n", "     N/A\n"), "text") is None


def test_osu_validation_that_fails_is_the_verdict() -> None:
    head = "# OSU MPI Allreduce Latency Test v7.5\n# Size       Avg Latency(us)        Validation\n"
    rows = "".join(f"{size} {9 + size / 1e4:.2f} {'Fail' if size == 512 else 'Pass'}\n" for size in SIZES)
    assert hocket.judge(head + rows, ranks=8).title.startswith(
        "Results are wrong, so their times mean little, in 1 row"
    )


def test_wrong_results_come_first_in_a_comparison(hocket_command: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "a").write_text(WRONG)
    (tmp_path / "b").write_text(nccl("all_reduce", [(1 << k, 10 + (1 << k) / 1e5) for k in range(10, 28, 2)], ranks=8))
    told = hocket_command("judge", str(tmp_path / "a"), str(tmp_path / "b"), "--json").json
    assert told["sentence"].startswith("Results are wrong") and f"{tmp_path}/a:" in told["sentence"]


@pytest.mark.parametrize("row", ["1K   9.10", "65,536   9.10", "9.10   1024", "1.5KiB 9.10"])
@pytest.mark.parametrize("rows_before", [0, 3])
def test_a_line_that_only_looks_like_a_row_is_named(row: str, rows_before: int) -> None:
    lines = [*OSU.split("\n")[: 2 + rows_before], row]
    for ranks in (None, 8):
        with pytest.raises(hocket.Error, match=rf'^text:{len(lines)}: got "{" ".join(row.split())}", expected a row'):
            hocket.judge("\n".join([*lines, ""]), ranks=ranks)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "text: is empty, expected measured times"),
        ("\n \n", "text: is empty, expected measured times"),
        ("nothing to see\nhere", "text: unknown format, expected the CSV of PICO, "),
        ("of yesterday\n1K 5.1\n2K 6.1\n", 'text: unknown format of line 2, "1K 5.1", expected the CSV of PICO, '),
        (
            NCCL.replace("1048576        262144", "      1M        262144"),
            'text:12: got "1M 262144 float sum -1 339.61',
        ),
        (IMB.replace("            1         1000         0.80", "   1K  1000   0.80"), 'got "1K 1000 0.80 1.20 1.00"'),
    ],
)
def test_a_text_without_rows_says_what_is_lacking(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "text").write_text(text)
    with pytest.raises(hocket.Error, match=r"^[^\n]*$") as refusal:
        hocket.judge(tmp_path / "text", ranks=8 if "processes" not in text else None)
    assert message in str(refusal.value)


@pytest.mark.parametrize("ranks", [None, 8])
def test_a_collective_that_the_text_contradicts_is_refused(ranks: int | None) -> None:
    with pytest.raises(hocket.Error, match=r"^text: measures allreduce, but --collective is broadcast, expected the s"):
        hocket.judge(OSU, ranks=ranks, collective="broadcast")
    assert hocket.judge(OSU, ranks=ranks, collective="allreduce").title


def test_a_collective_chooses_among_those_of_a_text() -> None:
    text = f"{OSU}\n{osu([5.0] * len(SIZES), title='Broadcast')}"
    assert [one.curve.first.collective for one in hocket.judge(text, ranks=8, collective="bcast").curves] == [
        "broadcast"
    ]


def test_several_files_are_said_to_be_runs_of_one_machine(hocket_command: Callable[..., Any], tmp_path: Path) -> None:
    files = [tmp_path / name for name in "abc"]
    for file in files:
        file.write_text(OSU)
    shown = hocket_command("judge", *map(str, files), "--ranks", "8", "--json").json
    (hint,) = (one for one in shown["findings"] if one["subject"] == "several files")
    assert "c are taken for runs of one machine" in hint["sentence"] and "--before FILE" in hint["sentence"]


def test_a_long_text_is_read_in_time_that_grows_with_its_rows() -> None:
    rows = "".join(f"{8 * number} {9 + number / 1e4:.2f}\n" for number in range(1, 20_001))
    text = f"{osu([], sizes=[])}{rows}8 1."
    start_s = time.process_time()
    assert "is cut and left out" in sentences(hocket.judge(text, ranks=8))
    assert time.process_time() - start_s < 10


ROWS = [(1 << k, 10 + (1 << k) / 1e5) for k in range(20, 28)]


def shortened(collective: str, *, ranks: int, kept: str = "[0-3]") -> str:
    """Return an output whose list of devices lacks lines that a person left out."""
    return re.sub(rf"#  Rank +(?! |{kept} ).*\n", "", nccl(collective, ROWS, ranks=ranks))


@pytest.mark.parametrize("collective", ["all_reduce", "all_gather", "reduce_scatter", "alltoall"])
@pytest.mark.parametrize("kept", ["[0-3]", "[0-37]", "x"])
def test_the_rows_tell_the_ranks_if_the_list_of_devices_was_shortened(collective: str, kept: str) -> None:
    text = shortened(collective, ranks=16, kept=kept)
    alone, told = hocket.judge(text), hocket.judge(text, ranks=16)
    assert points(alone) == points(told)
    assert {found.curves[0].curve.first.ranks for found in (alone, told)} == {16}
    assert {found.curves[0].curve.first.ranks_per_node for found in (alone, told)} == {None}
    devices = "lists 4 devices" if kept == "[0-3]" else "has no whole list of devices"
    assert f"text: {devices}; the rows are of 16 ranks" in sentences(alone)
    assert "the rows are of" not in sentences(told)
    with pytest.raises(hocket.Error, match=r"^text:[0-9]+: got .* (?:on the|times) 8 ranks [^\n]*$"):
        hocket.judge(text, ranks=8)


def test_ranks_that_the_bandwidths_do_not_tell_exactly_must_be_given() -> None:
    text = shortened("all_reduce", ranks=4096)
    with pytest.raises(hocket.Error, match=r"^text:[0-9]+: got busbw .* on the 4 ranks of the list of devices"):
        hocket.judge(text)
    assert hocket.judge(text, ranks=4096).curves[0].curve.first.ranks == 4096
    with pytest.raises(hocket.Error, match=r"got 256 ranks in the call, but the rows are of [0-9]+ to [0-9]+ ranks$"):
        hocket.judge(text, ranks=256)


def test_fits_say_that_the_ranks_follow_from_the_rows(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    file.write_text(shortened("all_reduce", ranks=8))
    found = hocket.read_measurements(file, Facts("ring"))
    assert {one.ranks for one in found.measurements} == {8}
    assert found.remarks == (f"{file}: lists 4 devices; the rows are of 8 ranks",)


BENCH = {"low_s": 1e-6, "median_s": 2e-6, "high_s": 3e-6, "size_bytes": 8, "algorithm": "native"}
CONTRADICTIONS = {
    "osu": (f"{OSU_ROWS}8 5.02 9.10 0.50 1000\n", "Min Latency is 9.10, more than Max Latency, 0.50"),
    "osu mean": (f"{OSU_ROWS}8 5.02 5.10 5.50 1000\n", "Min Latency is 5.10, more than Avg Latency, 5.02"),
    "osu step": (f"{OSU_ROWS}8 5.0 4.8 5.5 100\n48 5.0 4.8 5.5 100\n", "the size 48 is no power of two, as the other "),
    "imb": (IMB.replace("0.80         1.20", "0.80         0.20"), "t_min[usec] is 0.80, more than t_max[usec], 0.20"),
    "pico": (PICO.replace("29.1,29.6,30.2", "29.1,29.6,20.2"), "median_us is 29.6, more than p90_us, 20.2"),
    "table": ("size,min_us,avg_us,max_us\n8,4,5,6\n16,9,8,10\n32,7,8,9\n", "min_us is 9, more than avg_us, 8"),
    "bench": (
        json.dumps({"collective": "bcast", "ranks": 4, "measurements": [BENCH, {**BENCH, "low_s": 2.5e-6}]}),
        "low_s is 2.5e-06, more than median_s, 2e-06",
    ),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_row_that_contradicts_itself_is_named_and_left_out(name: str, tmp_path: Path) -> None:
    text, fault = CONTRADICTIONS[name]
    (tmp_path / "out.txt").write_text(text)
    ranks, collective = (None if name == "imb" else 4), ("allreduce" if name == "table" else None)
    found = hocket.read_measurements(tmp_path / "out.txt", Facts("default", ranks, collective=collective))
    assert len(found.cuts) == 1 and f" contradicts itself and is left out: {fault}" in found.cuts[0]
    judged = hocket.judge(tmp_path / "out.txt", ranks=ranks, collective=collective)
    assert " contradicts itself and is left out: " in sentences(judged)


def test_labels_that_differ_in_tabs_only_are_one_label() -> None:
    numbers = "-1\t27.9\t37.568\t56.38\t0\t28.2\t37.21\t55.82\t0"
    rows = f"[0]\t\t\t1048576\t262144\tfloat\tsum\t{numbers}\n[0]\t\t 1048576\t262144\tfloat\tsum\t{numbers}\n"
    assert points(hocket.judge(rows, ranks=4, collective="allreduce")) == {(1048576, 27.9e-6)}


def test_a_number_that_stands_before_some_rows_only_is_named() -> None:
    text = "4  2.31  2.11  2.52  1000\n8  2.30  2.10  4  2.50  1000\n# OSU MPI Allreduce Latency Test v5.9\n"
    with pytest.raises(hocket.Error, match=r"^text:1: does not begin with a number as line 2 does$"):
        hocket.judge(text, ranks=4)


def test_readers_are_fuzzed_for_a_moment(tmp_path: Path) -> None:
    tool, texts = ROOT / "tools" / "fuzz.py", Path(__file__).parent / "public"
    command = [sys.executable, tool, "measurements", texts, "--inputs", "20", "--save", tmp_path]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0 and "nothing found" in found.stdout, found.stdout + found.stderr


BCAST = osu([7 + size / 1e4 for size in SIZES], title="Broadcast")
OTHER_ROWS = "".join(f"{size:<10}{3 + size / 1e4:12.2f}\n" for size in SIZES)


@pytest.mark.parametrize("title", ["MPI Multiple Bandwidth / Message Rate", "MPI_Put", "OpenSHMEM Put", "MPI Init"])
@pytest.mark.parametrize("ranks", [None, 16])
def test_rows_of_another_test_behind_a_table_are_not_of_it(title: str, ranks: int | None) -> None:
    text = f"{BCAST}# OSU {title} Test v7.4\n# Size    Rate\n{OTHER_ROWS}"
    assert points(hocket.judge(text, ranks=ranks)) == points(hocket.judge(BCAST, ranks=ranks))


def test_rows_behind_words_are_of_the_table_if_sizes_go_on() -> None:
    own = points(hocket.judge(BCAST, ranks=16))
    assert points(hocket.judge(f"{BCAST}Results of my own program follow\n{OTHER_ROWS}", ranks=16)) == own
    lines = BCAST.split("\n")
    assert points(hocket.judge("\n".join([*lines[:5], "WARNING: a retry", *lines[5:]]), ranks=16)) == own


@pytest.mark.parametrize(("unit", "other"), [("Avg Latency(us)", "Avg Latency(ns)"), ("# Size ", "# Size(KB) ")])
def test_a_table_in_other_units_is_refused(unit: str, other: str) -> None:
    name = other.partition("(")[2].partition(")")[0]
    with pytest.raises(hocket.Error, match=rf"^text:2: got the unit {name}, expected sizes in bytes and times in us$"):
        hocket.judge(BCAST.replace(unit, other), ranks=16)


def test_a_return_within_a_line_is_a_blank() -> None:
    rows = "".join(f"{size};\r{9 + size / 1e4:.2f}\n" for size in SIZES)
    assert points(hocket.judge(f"Size;Time_us\r\r\n{rows}", ranks=8, collective="reduce")) == {
        (size, round((9 + size / 1e4) * 1e-6, 8)) for size in SIZES
    }
    with pytest.raises(hocket.Error, match=r"^text[^\n]*$"):
        hocket.judge("Size;Time_us\r" + rows.replace("\n", "\r") + "\n", ranks=8, collective="reduce")
