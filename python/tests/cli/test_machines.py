"""`hocket machines`."""

from collections.abc import Callable
from pathlib import Path

import pytest

import hocket
from hocket.cli.app import hocket as group
from hocket.cli.group import Group
from hocket.traces import write
from tests.cli.test_vocabulary import commands
from tests.conftest import Ran
from tests.trace_programs import Program

ON_MACHINES = {
    "compare": "compare reduce binomial edge_disjoint_trees {tree}",
    "convert": "convert {schedule} {out}.json",
    "explain": "explain reduce edge_disjoint_trees {tree}",
    "record": "record reduce edge_disjoint_trees {tree} --output {out}.goal",
    "replay": "replay {trace}",
    "report": "report {out}.html barrier dissemination -n 4 --view times",
    "rules convert": "rules convert mpich-5.0 {out}.rules --to hocket -n 4",
    "rules diff": "rules diff mpich-5.0 openmpi-5.0 --collective barrier -n 4 --sizes 8B",
    "show": "show schedule {schedule} --plot {out}.html",
    "simulate": "simulate reduce edge_disjoint_trees {tree}",
    "together": "together {job} {job}",
    "tune": "tune --trace {trace} --output {out}",
}
"""A line for each command that takes a machine. In `tree`, the segment is one that the machine decides."""

WORDS = {
    "{tree}": ["-n8", "--size=64B", "--param=X=2", "--param=Y=2", "--param=Z=2", "--param=segment=auto"],
    "{job}": ["barrier dissemination, 4 ranks"],
}


def test_every_preset_is_listed_with_what_it_is(hocket_command: Callable[..., Ran]) -> None:
    out = hocket_command("machines").out
    for name in hocket.presets():
        assert name in out
        assert hocket.Machine.load(name).description in " ".join(out.split())


def test_presets_of_papers_are_listed_apart(hocket_command: Callable[..., Ran]) -> None:
    of_users, heading, of_papers = hocket_command("machines").out.partition("of papers, to repeat what they say\n")
    assert heading
    assert "jitter-paper" in of_papers and "k_computer" in of_papers and "jitter-paper" not in of_users
    assert "fugaku" in of_users and "fugaku" not in of_papers


def test_the_file_of_a_preset_can_be_copied(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    copy = tmp_path / "copy.toml"
    copy.write_text(hocket_command("machines cluster").out)
    assert hocket.Machine.load(copy).name == "cluster"


def test_a_file_is_printed_with_its_host_apart(
    hocket_command: Callable[..., Ran], bad_input: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "host.toml"
    path.write_text(hocket_command("machines loggp-infiniband --convert").out)
    assert hocket.Machine.load(path).host["o"] == "0.4 us"
    assert hocket_command("machines", path, "--convert").out == path.read_text(), "it has a host already"
    assert '[host]\no_send = "1.27 us"\n' in hocket_command("machines k_computer --convert").out
    assert "machine cluster: got the network model hockney, expected" in bad_input("machines cluster --convert")
    assert "--convert needs a machine" in bad_input("machines --convert")


def test_json_has_what_other_programs_need(hocket_command: Callable[..., Ran]) -> None:
    assert [entry["name"] for entry in hocket_command("machines --json").json] == list(hocket.presets())
    assert hocket_command("machines cluster --json").json.keys() == {
        *("name", "model", "description", "protocols", "text")
    }


def test_protocols_are_listed_and_printed(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    assert "Protocols: LL, LL128." in hocket_command("machines").out
    text = hocket_command("machines gpu-cluster").out
    assert "[protocol.LL.level.node]" in text
    under = tmp_path / "under.toml"
    under.write_text(hocket_command("machines gpu-cluster:LL").out)
    assert "[protocol" not in under.read_text()
    assert hocket.Machine.load(under).parts == hocket.Machine.load("gpu-cluster:LL").parts
    assert 'protocol.LL.host]\no = "0.3 us"' in hocket_command("machines gpu-cluster --convert").out


@pytest.mark.parametrize(
    "line",
    [
        "compare allreduce ring --ranks 4 --sizes 8B",
        "explain allreduce ring --ranks 4 --size 8B",
        "tune allreduce --ranks 4 --sizes 8B --output {out}",
        "report {out} allreduce ring --ranks 4 --sizes 8B --view times",
    ],
)
def test_commands_take_a_machine_with_its_protocol(
    hocket_command: Callable[..., Ran], bad_input: Callable[..., str], tmp_path: Path, line: str
) -> None:
    words = line.format(out=tmp_path / "out.html")
    assert 'no protocol "LL12", did you mean LL128?' in bad_input(f"{words} --machine gpu-cluster:LL12")
    out = hocket_command(f"{words} --machine gpu-cluster:LL").out
    written = "".join(file.read_text() for file in tmp_path.rglob("*") if file.is_file())
    assert "gpu-cluster:LL" in out + written


def test_a_mistake_in_a_file_is_one_line(bad_input: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\n[network]\nmodel = "hockney"\nlatency = 3\n')
    assert "mine.toml:4: network.latency: got integer, expected a text in quotes" in bad_input("machines", path)


def test_each_command_that_takes_a_machine_has_a_line_here() -> None:
    assert isinstance(group, Group)
    taking = {name for name, command in commands(group) if any("--machine" in each.opts for each in command.params)}
    by_accelerators = {"rules defaults", "rules explain"}
    others = {"fit", "judge", "mpi bench", "serve"}
    assert taking - ON_MACHINES.keys() == others | by_accelerators, "these measure, run until Ctrl-C, or need [gpu]"


@pytest.mark.parametrize("name", hocket.presets())
def test_every_preset_works_in_every_command(name: str, hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    program, trace, schedule = Program(2), tmp_path / "trace", tmp_path / "two.goal"
    program.collective(0, "MPI_Allreduce", 5)
    write(trace, program.trace())
    schedule.write_text("num_ranks 2\nrank 0 {\nl1: send 8b to 1 tag 0\n}\nrank 1 {\nl1: recv 8b from 0 tag 0\n}\n")
    files = {"{trace}": [str(trace)], "{schedule}": [str(schedule)]}
    for command, line in ON_MACHINES.items():
        out = {"out": str(tmp_path / command.replace(" ", "-"))}
        words = [part for word in line.split() for part in ({**WORDS, **files}.get(word) or [word.format(**out)])]
        ran = hocket_command(words[0], *words[1:], "--machine", name)
        assert ran.status == 0, f"{command}: {ran.err}"
