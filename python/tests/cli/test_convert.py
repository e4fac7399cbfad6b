"""`hocket convert`, and pipelines of commands that read schedules of any format."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hocket.schedules.formats import FORMATS
from tests.conftest import Ran

LINE = "record allreduce ring --ranks 4 --size 4KiB -o"


@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("target", FORMATS)
def test_every_format_becomes_every_other(
    hocket_command: Callable[..., Ran], tmp_path: Path, source: str, target: str
) -> None:
    hocket_command(LINE, tmp_path / f"one{FORMATS[source].ending}")
    before, after = (
        tmp_path / f"{stem}{'.0' * (name == 'chakra')}{FORMATS[name].ending}"
        for stem, name in (("one", source), ("two", target))
    )
    is_told = source in ("json", "msccl")  # only these formats describe the data of messages
    sizes = {name: ["--size", "4KiB"] if FORMATS[name].is_sized else [] for name in FORMATS}
    ran = hocket_command(
        "convert", before, tmp_path / f"two{FORMATS[target].ending}", "--collective", "allreduce", *sizes[source]
    )
    if FORMATS[target].is_sized and not is_told:
        assert ran.status == 2 and "it does not say which data its messages carry" in ran.err
        return
    assert (ran.status, ran.err) == (0, "")
    assert hocket_command("verify schedule", after).out.split(": ")[1].startswith("ok, 4 ranks")
    found = hocket_command("simulate schedule", after, "--json", *sizes[target]).json
    messages = 48 if "mscclpp" in (source, target) else 24  # each with a signal before it, that its memory is ready
    least = 24 if (source, target) == ("mscclpp", "chakra") else 0  # Chakra's messages have at least a byte
    assert (found["messages"], found["message_bytes"]) == (messages, 24 * 1024 + least)
    shown = hocket_command("show schedule", after, "--json", *sizes[target]).json
    assert (shown["format"], shown["messages"], shown["depth"]) == (target, messages, 12 if messages == 48 else 6)


def test_a_schedule_goes_to_stdout(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    hocket_command(LINE, tmp_path / "a.xml")
    assert hocket_command("convert", tmp_path / "a.xml", "-", "--size", "4KiB").out.startswith("num_ranks 4\n")
    assert (
        hocket_command("record allreduce ring --ranks 4 --size 4KiB --format msccl").out
        == (tmp_path / "a.xml").read_text()
    )


def test_what_cannot_be_is_one_line(
    bad_input: Callable[..., str], hocket_command: Callable[..., Ran], tmp_path: Path
) -> None:
    hocket_command(LINE, tmp_path / "a.json")
    assert "got a schedule of an unknown collective" in bad_input("convert", tmp_path / "a.json", tmp_path / "b.xml")
    assert not (tmp_path / "b.xml").exists()
    assert "writes a file for each rank, expected the prefix of their names" in bad_input(
        "convert", tmp_path / "a.json", "-", "--format", "chakra"
    )
    assert "expected neither --ranks nor --size" in bad_input("convert", tmp_path / "a.json", "-", "--size", "8B")
    (tmp_path / "bad.xml").write_text("<algo/>")
    assert "bad.xml:1: <algo>: coll is missing, expected this attribute" in bad_input(
        "convert", tmp_path / "bad.xml", "-", "--size", "8B"
    )
    assert "a binary format" in bad_input(
        "record allreduce ring --ranks 4 --size 4KiB --json --format chakra -o", tmp_path / "c"
    )
