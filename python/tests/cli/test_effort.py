"""Announcements before long work, and work that is too long to begin."""

from collections.abc import Callable
from itertools import repeat

import click
import pytest

from hocket.cli.effort import announce, tell


@pytest.mark.parametrize(
    ("line", "time"),
    [
        ("simulate allreduce ring --ranks 1000000 --size 8MiB", "4 days"),
        ("compare allreduce ring linear --ranks 1000000 --sizes 8MiB,16MiB --jobs 2", "4 days"),
        ("explain allreduce ring --ranks 100000 --size 8MiB", ""),
        ("simulate allreduce ring --ranks 4096 --size 8B --machine jitter-paper --trials 100000", ""),
        ("tune allreduce -n 100000 --sizes 8MiB,16MiB --machine cluster -o nowhere", ""),
    ],
)
def test_long_work_is_not_begun_unasked(bad_input: Callable[..., str], line: str, time: str) -> None:
    message = bad_input(line)
    assert message.startswith(f"this takes about {time}"), message
    assert message.endswith(", expected at most 10 minutes, or --yes to start it anyway")


def test_of_trials_until_the_fastest_is_known_only_the_first_are_sure(bad_input: Callable[..., str]) -> None:
    line = ["compare", "allreduce", "ring", "--ranks", "20000", "--size", "8MiB", "--arrivals", "one rank, 0..1 ms"]
    few = bad_input(*line, "--trials", "16")
    assert bad_input(*line) == few.replace("this takes about", "this takes at least about")
    assert bad_input(*line, "--trials", "256") != few


@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_of_trials_until_an_interval_only_the_first_are_sure(bad_input: Callable[..., str], command: str) -> None:
    line = [command, "allreduce", "ring", "--ranks", "8192", "--size", "8MiB", "--arrivals", "one rank, 0..1 ms"]
    few = bad_input(*line, "--trials", "64")
    assert bad_input(*line, "--until-ci", "1%") == few.replace("this takes about", "this takes at least about")


def test_work_is_announced_where_it_is_long(capsys: pytest.CaptureFixture[str]) -> None:
    announce([20.0, 29.0], jobs=2, yes=False)
    assert capsys.readouterr().err == ""
    announce([60.0, 100.0, 50.0], jobs=2, yes=False)
    assert capsys.readouterr().err == "hocket: this takes about 105 seconds\n"


def test_who_agrees_to_wait_is_told_how_long(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(click.UsageError, match=r"^this takes about 16 hours, expected at most 10 minutes, or --yes "):
        announce([57600.0], yes=False)
    announce([57600.0], yes=True)
    assert capsys.readouterr().err == "hocket: this takes about 16 hours\n"


def test_a_limit_is_told_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    tell(120.0, "up to ")
    assert capsys.readouterr().err == "hocket: this takes up to about 2 minutes\n"


def test_work_is_refused_before_all_of_it_is_estimated() -> None:
    with pytest.raises(click.UsageError, match=r"^this takes about .* or more, expected at most 10 minutes, or --yes"):
        announce(repeat(1e4), yes=False)
