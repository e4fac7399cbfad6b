"""Invalid descriptions of grids: one line with the file, the line and the key."""

from collections.abc import Callable
from pathlib import Path

import pytest

import hocket

GOOD = {
    "ranks": "ranks = [2, 4]",
    "sizes": 'sizes = "8B"',
    "algorithms": '[algorithms]\n"allreduce/ring" = {}\n"broadcast/chain" = {}',
}


def spec(**changes: str) -> str:
    """Return a description with changed or added lines; keys precede tables."""
    lines = {**GOOD, **changes}
    return "\n".join(sorted(lines.values(), key=lambda line: line.startswith("[")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ranks = [", "bad.toml: "),
        ("ranks = 1\nsizes == 2", "bad.toml:2: "),
        (spec(rank="rank = 4"), "bad.toml:3: rank: unknown key, did you mean ranks?"),
        (spec(old='machines = "cluster"'), "bad.toml:3: machines: unknown key, expected machine"),
        (spec(old='until_ci = "1%"'), "bad.toml:3: until_ci: unknown key, expected until-ci"),
        (spec(ranks=""), "bad.toml: ranks: missing, expected rank counts such as 8"),
        (spec(ranks="ranks = []"), "bad.toml:1: ranks: an empty list, expected rank counts"),
        (spec(ranks="ranks = 0"), 'bad.toml:1: ranks: got "0", expected rank counts of at least 1'),
        (spec(ranks="ranks = -1"), 'bad.toml:1: ranks: got "-1", expected rank counts such as'),
        (spec(ranks="ranks = 2.5"), "bad.toml:1: ranks: got 2.5, expected rank counts such as"),
        (spec(ranks="ranks = [true]"), "bad.toml:1: ranks: got true, expected rank counts such as"),
        (spec(ranks="ranks = {}"), "bad.toml:1: ranks: got a table, expected rank counts such as"),
        (spec(sizes=""), "bad.toml: sizes: missing, expected sizes such as"),
        (spec(sizes="sizes = []"), "bad.toml:2: sizes: an empty list"),
        (spec(sizes='sizes = ["8B", "8X"]'), 'bad.toml:2: sizes: got "8X", expected a whole number of bytes'),
        (spec(sizes="sizes = 2026-01-01"), "bad.toml:2: sizes: got 2026-01-01, expected a text, a number"),
        (spec(algorithms=""), "bad.toml: algorithms: missing or empty, expected a table such as"),
        (spec(algorithms="[algorithms]"), "bad.toml:3: algorithms: missing or empty, expected a table such as"),
        (spec(algorithms='algorithms = ["ring"]'), 'bad.toml:3: algorithms: got ["ring"], expected a table'),
        (
            spec(algorithms='[algorithms]\n"allreduce/rign" = {}'),
            "bad.toml:4: algorithms.allreduce/rign: unknown",
        ),
        (
            spec(algorithms="[algorithms]\nbinomial = {}"),
            "bad.toml:4: algorithms.binomial: several algorithms are named",
        ),
        (spec(algorithms="[algorithms]\nswing = 1"), "bad.toml:4: algorithms.swing: got 1, expected a table"),
        (
            spec(algorithms='[algorithms]\nswing = {}\n"allreduce/swing" = {}'),
            "bad.toml:5: algorithms.allreduce/swing: allreduce/swing appears twice, expected each algorithm once",
        ),
        (
            spec(algorithms="[algorithms]\nswing = { T = 1 }"),
            'bad.toml:4: algorithms.swing.T: allreduce swing: unknown parameter "T", expected none',
        ),
        (
            spec(algorithms='[algorithms]\n"reduce/chain" = { segment = [] }'),
            "bad.toml:4: algorithms.reduce/chain.segment: an empty list, expected values",
        ),
        (
            spec(algorithms='[algorithms]\n"reduce/chain" = { segment = [1, 0] }'),
            "bad.toml:4: algorithms.reduce/chain.segment: reduce chain: parameter segment = 0, expected at least 1",
        ),
        (
            spec(algorithms='[algorithms]\n"reduce/chain" = { segment = 1.5 }'),
            "bad.toml:4: algorithms.reduce/chain.segment: got 1.5, expected a number, or a text with a unit",
        ),
        (
            spec(algorithms='[algorithms]\n"allreduce/redundant_butterfly" = { T = "1B" }'),
            'bad.toml:4: algorithms.allreduce/redundant_butterfly.T: got "1B", expected a whole number',
        ),
        (spec(collective='collective = "allredcue"'), 'bad.toml:3: collective: unknown collective "allredcue"'),
        (spec(collective="collective = 1"), "bad.toml:3: collective: got 1, expected the name of a collective"),
        (spec(load='load = "nowhere.py"'), "bad.toml:3: load: "),
        (spec(load="load = [1]"), "bad.toml:3: load: got 1, expected Python files"),
        (spec(machine='machine = "clutser"'), 'bad.toml:3: machine: no machine "'),
        (spec(machine="machine = []"), "bad.toml:3: machine: an empty list, expected machines"),
        (spec(machine="machine = [1]"), "bad.toml:3: machine: got 1, expected machines"),
        (spec(machine='machine = ["cluster", "twin.toml"]'), 'bad.toml:3: machine: two machines are named "cluster"'),
        (spec(machine='machine = "bad.toml"'), "bad.toml:3: machine: "),
        (spec(trials="trials = 0"), "bad.toml:3: trials: got 0, expected a whole number from 1 to 1000000"),
        (spec(trials="trials = true"), "bad.toml:3: trials: got true, expected a whole number"),
        (spec(trials='trials = "3"'), 'bad.toml:3: trials: got "3", expected a whole number'),
        (spec(seed="seed = -1"), "bad.toml:3: seed: got -1, expected a whole number from 0"),
        (spec(seed="seed = 18446744073709551616"), "bad.toml: seed: got 18446744073709551616, expected"),
        (spec(until="until-ci = 2"), "bad.toml:3: until-ci: got 2, expected a share"),
        (spec(until="until-ci = true"), "bad.toml:3: until-ci: got true, expected a share"),
        (spec(until='until-ci = "200%"'), 'bad.toml:3: until-ci: got "200%", expected a share'),
        (spec(noises="noises = 1"), "bad.toml:3: noises: got 1, expected a table"),
        (spec(noises="[noises]"), "bad.toml:6: noises: an empty table"),
        (spec(noises="[noises]\na = 1"), "bad.toml:7: noises.a: got 1, expected a table"),
        (spec(noises="[noises.a.node]"), "bad.toml:6: noises.a.node: unknown key, expected one of network, noise"),
        (
            spec(noises="[noises.a.noise.cpu]"),
            "bad.toml:6: noises.a.noise.cpu: unknown key, expected one of network, os",
        ),
        (spec(noises="[noises.a.noise]\nos = 1"), "bad.toml:7: noises.a.noise.os: got 1, expected a table"),
        (
            spec(noises="[noises.a.network]\nlatency = 1"),
            "bad.toml:7: noises.a.network.latency: got 1, expected a text",
        ),
        (
            spec(noises='[noises.a.network]\nlatency = "1 parsec"'),
            'bad.toml:6: noises.a on machine cluster: network.latency: got "1 parsec", expected a time',
        ),
        (
            spec(noises='[noises.a.noise.os]\nduration = "1 us"'),
            "bad.toml:6: noises.a on machine cluster: noise.os.model is missing, expected one of",
        ),
    ],
)
def test_a_bad_spec_is_one_line_with_file_line_and_key(
    bad_input: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.toml").write_text(text)
    (tmp_path / "twin.toml").write_text(hocket.Machine.load("cluster").text)
    assert message in bad_input("sweep bad.toml")


def test_what_is_left_out_has_a_default() -> None:
    grid = hocket.Grid.parse('ranks = "2-3"\n[algorithms]\n"barrier/dissemination" = {}')
    assert (grid.ranks, grid.sizes_bytes) == ((2, 3), (0,))
    assert [(setting.machine.name, setting.noise) for setting in grid.settings] == [("cluster", "")]
    assert (grid.trials.count, grid.trials.seed, grid.trials.until_interval) == (1, 0, None)


def test_an_interval_without_trials_means_as_many_as_it_takes() -> None:
    grid = hocket.Grid.parse(spec(until='until-ci = "1%"'))
    assert (grid.trials.count, grid.trials.until_interval) == (1_000_000, 0.01)
    assert hocket.Grid.parse(spec(until="until-ci = 0.01", trials="trials = 70")).trials.count == 70


def test_machines_have_a_protocol_or_none(tmp_path: Path) -> None:
    (tmp_path / "gpus.toml").write_text(hocket.Machine.load("gpu-cluster").text.replace("gpu-cluster", "gpus"))
    path = tmp_path / "grid.toml"
    path.write_text(spec(machine='machine = ["gpu-cluster", "gpu-cluster:LL", "gpus.toml", "gpus.toml:LL128"]'))
    machines = [setting.machine for setting in hocket.Grid.load(path).settings]
    assert list(dict.fromkeys(one.name for one in machines)) == ["gpu-cluster", "gpu-cluster:LL", "gpus", "gpus:LL128"]
    path.write_text(spec(machine='machine = "gpu-cluster:LL1"'))
    with pytest.raises(hocket.Error, match='no protocol "LL1", did you mean LL'):
        hocket.Grid.load(path)


def test_the_good_spec_is_good() -> None:
    assert len(hocket.Grid.parse(spec()).cells) == 4
