"""`hocket fit`."""

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

import hocket
from tests.conftest import Ran
from tests.fitting.test_fit import LOGGP, LOGGP_KNOWN, LOGGP_VALUES, measured


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of the command, with a skeleton and measurements as CSV."""
    lines = ["collective,algorithm,ranks,size_bytes,time_s,system"]
    lines += [
        f"{one.collective},{one.algorithm},{one.ranks},{one.size_bytes},{one.time_s},a" for one in measured(LOGGP_KNOWN)
    ]
    (tmp_path / "times.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "skeleton.toml").write_text(LOGGP)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_fits_and_judges(folder: Path, hocket_command: Callable[..., Ran]) -> None:
    ran = hocket_command(
        "fit times.csv --machine skeleton.toml -o fitted.toml --plot fitted.svg --hold-out ranks>4,size>8B"
    )
    assert (ran.status, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == "machine known, fitted to 25 of 40 measured calls"
    assert max(map(len, lines)) <= 120
    assert any(line.split()[:3] == ["network.o", "700.0", "ns"] for line in lines), ran.out
    assert any(line.startswith(" held out") and line.split()[2] == "15" for line in lines)
    assert "choices by simulation, held out: right at 3 of 3 points" in ran.out
    assert lines[-2:] == ["file  fitted.toml", "plot  fitted.svg"]
    fitted = hocket.Machine.load("fitted.toml")
    assert fitted.quantities["network.o_s"] == pytest.approx(LOGGP_VALUES[1], rel=0.01)
    assert (folder / "fitted.svg").read_text().startswith("<svg")
    judged = hocket_command("fit times.csv --machine fitted.toml")
    assert judged.out.startswith("machine known, judged by 40 measured calls\n")
    assert "95 % interval" not in judged.out


def test_as_json_and_as_csv(folder: Path, hocket_command: Callable[..., Ran]) -> None:
    options = "fit times.csv --machine skeleton.toml --starts 1 --only system=a"
    found = hocket_command(f"{options} --json").json
    assert [one["name"] for one in found["values"]] == ["network.L", "network.o", "network.G", "node.reduce_bandwidth"]
    assert found["deviations"]["fitted"]["cells"] == len(found["cells"]) == 40
    assert found["ended"] == "converged" and found["machine"] == "known" and found["file"] is None
    rows = [*csv.DictReader(io.StringIO(hocket_command(f"{options} --csv").out))]
    assert [float(row["residual"]) for row in rows] == [one["residual"] for one in found["cells"]]


def test_explains(folder: Path, hocket_command: Callable[..., Ran]) -> None:
    (folder / "known.toml").write_text(LOGGP_KNOWN)
    (folder / "slow.toml").write_text(LOGGP_KNOWN.replace('"1.5 us"', '"4 us"'))
    right = hocket_command("fit times.csv --machine known.toml --explain").out.splitlines()
    assert right[-1] == "all kinds of calls are within the noise of 5%: nothing is to be mended"
    options = "fit times.csv --machine slow.toml --only ranks=8 --explain"
    ran = hocket_command(options)
    assert "\nwhat would help most: network.L x 0.35, which takes away " in ran.out, ran.out
    assert " too few calls " in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
    found = hocket_command(f"{options} --json").json["diagnosis"]
    assert [one["change"] for one in found["changes"]] == ["network.L x 0.35"]
    rows = [*csv.DictReader(io.StringIO(hocket_command(f"{options} --csv").out))]
    assert [float(row["median"]) for row in rows] == [one["median"] for one in found["kinds"]]
    assert hocket_command(options.replace("--explain", "--json")).json["diagnosis"] is None


def test_the_machine_alone_goes_to_stdout(folder: Path, hocket_command: Callable[..., Ran]) -> None:
    out = hocket_command("fit times.csv --machine skeleton.toml --starts 1 -o -").out
    assert hocket.Machine.parse(out).name == "known"


def test_what_an_unfinished_or_far_fit_tells(folder: Path, hocket_command: Callable[..., Ran]) -> None:
    found = replace(
        hocket.fit(measured(LOGGP_KNOWN)[:12], machine=hocket.Machine.parse(LOGGP_KNOWN)),
        ended="time limit",
        scatter=0.4,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("hocket.cli.fit"), "fit_machine", lambda *_, **__: found)
        lines = hocket_command("fit times.csv --machine skeleton.toml").out.splitlines()
    assert lines[0] == "the search reached the time limit; more time may find better values"
    assert lines[1].startswith("machine known")
    far = " ".join(" ".join(lines[2:5]).split())
    assert "the fit is far beyond the noise of the measurements" in far and "by 40 %, 5 % is usual" in far


def test_what_has_no_counterpart_is_told(folder: Path, hocket_command: Callable[..., Ran]) -> None:
    (folder / "pico.csv").write_text(
        "system,collective,nodes,ppn,algorithm,bytes_total,median_us\n"
        "a,allreduce,8,1,bine_lat_over,64,20\n"
        "b,allreduce,8,1,allreduce_nccl,64,20\n"
    )
    ran = hocket_command("fit times.csv pico.csv --machine skeleton.toml --starts 1 --only system=a")
    assert "1 of 41 measurements have no counterpart in Hocket: allreduce bine_lat_over (1)" in ran.out


def test_refusals(folder: Path, bad_input: Callable[..., str]) -> None:
    for words, message in (
        ("fit times.csv --machine nowhere.toml", 'no machine "nowhere.toml", expected a TOML file or one of'),
        ("fit nowhere.csv --machine skeleton.toml", "nowhere.csv: No such file or directory"),
        (
            "fit skeleton.toml --machine skeleton.toml",
            "skeleton.toml: is a machine file, which --machine can read, expected",
        ),
        ("fit times.csv --machine skeleton.toml --hold-out rank>1", '--hold-out: got "rank>1", expected a condition'),
        ("fit times.csv --machine skeleton.toml --only size<x", "--only: got"),
        ("fit times.csv --machine skeleton.toml --cells 2", "got 2 measured calls to fit 4 values"),
        ("fit times.csv --machine skeleton.toml --csv --json", "--csv: cannot be combined with --json"),
        (
            "fit times.csv --machine skeleton.toml --time-limit soon",
            '--time-limit: got "soon", expected a time such as',
        ),
        ("fit times.csv --machine skeleton.toml --plot a.pdf", '--plot: got "a.pdf", expected a file that ends in'),
        ("fit times.csv --machine skeleton.toml --time-limit 1ns", "the time limit was over before the first step"),
        ("fit times.csv", "--machine is missing, expected --machine MACHINE"),
    ):
        assert bad_input(words).startswith(message)


def test_files_that_do_not_tell_are_told_once_or_each(
    folder: Path, hocket_command: Callable[..., Ran], bad_input: Callable[..., str]
) -> None:
    osu = "# OSU MPI Allreduce Latency Test v7.3\n# Size       Avg Latency(us)\n8                       5.00\n"
    for name in ("ring", "doubling"):
        (folder / f"{name}.txt").write_text(osu)
    words = "fit ring.txt doubling.txt --machine cluster --ranks 4"
    each = hocket_command(f"{words} --ranks 8 --algorithm ring --algorithm recursive_doubling --csv").out
    rows = csv.DictReader(io.StringIO(each))
    assert {(row["algorithm"], row["ranks"]) for row in rows} == {("ring", "4"), ("recursive_doubling", "8")}
    once = hocket_command(f"{words} --algorithm ring --ranks-per-node 1 --json").json["cells"]
    assert [(one["algorithm"], one["ranks"]) for one in once] == [("ring", 4)]  # the same call, measured twice
    message = "--algorithm: got 2 values for 3 files, expected one, or one for each file"
    assert message in bad_input("fit a b c --machine cluster --algorithm ring --algorithm ring")
