"""Descriptions of grids that make no sense: one line that says the file and the key."""

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
    """Return a description with some lines changed or added; keys come before tables."""
    lines = {**GOOD, **changes}
    return "\n".join(sorted(lines.values(), key=lambda line: line.startswith("[")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ranks = [", "bad.toml: "),
        (spec(rank="rank = 4"), "bad.toml: rank: unknown key, expected one of algorithms, collective, load, machines,"),
        (spec(ranks=""), "bad.toml: ranks: missing, expected rank counts such as 8"),
        (spec(ranks="ranks = []"), "bad.toml: ranks: an empty list, expected rank counts"),
        (spec(ranks="ranks = 0"), 'bad.toml: ranks: got "0", expected rank counts of at least 1'),
        (spec(ranks="ranks = -1"), 'bad.toml: ranks: got "-1", expected rank counts such as'),
        (spec(ranks="ranks = 2.5"), "bad.toml: ranks: got 2.5, expected rank counts such as"),
        (spec(ranks="ranks = [true]"), "bad.toml: ranks: got true, expected rank counts such as"),
        (spec(ranks="ranks = {}"), "bad.toml: ranks: got a table, expected rank counts such as"),
        (spec(sizes=""), "bad.toml: sizes: missing, expected sizes such as"),
        (spec(sizes="sizes = []"), "bad.toml: sizes: an empty list"),
        (spec(sizes='sizes = ["8B", "8X"]'), 'bad.toml: sizes: got "8X", expected a whole number of bytes'),
        (spec(sizes="sizes = 2026-01-01"), 'bad.toml: sizes: got "2026-01-01", expected sizes such as'),
        (spec(algorithms=""), "bad.toml: algorithms: nothing, expected a table such as"),
        (spec(algorithms="[algorithms]"), "bad.toml: algorithms: nothing, expected a table such as"),
        (spec(algorithms='algorithms = ["ring"]'), 'bad.toml: algorithms: got ["ring"], expected a table'),
        (
            spec(algorithms='[algorithms]\n"allreduce/rign" = {}'),
            "bad.toml: algorithms.allreduce/rign: unknown",
        ),
        (spec(algorithms="[algorithms]\nbinomial = {}"), "bad.toml: algorithms.binomial: several algorithms are named"),
        (spec(algorithms="[algorithms]\nswing = 1"), "bad.toml: algorithms.swing: got 1, expected a table"),
        (
            spec(algorithms='[algorithms]\nswing = {}\n"allreduce/swing" = {}'),
            "bad.toml: algorithms.allreduce/swing: allreduce/swing is there already, expected each algorithm once",
        ),
        (
            spec(algorithms="[algorithms]\nswing = { T = 1 }"),
            'bad.toml: algorithms.swing.T: allreduce swing: unknown parameter "T", expected no parameters',
        ),
        (
            spec(algorithms='[algorithms]\n"reduce/chain" = { segment = [] }'),
            "bad.toml: algorithms.reduce/chain.segment: an empty list, expected values",
        ),
        (
            spec(algorithms='[algorithms]\n"reduce/chain" = { segment = [1, 0] }'),
            "bad.toml: algorithms.reduce/chain.segment: reduce chain: parameter segment = 0, expected at least 1",
        ),
        (
            spec(algorithms='[algorithms]\n"reduce/chain" = { segment = 1.5 }'),
            "bad.toml: algorithms.reduce/chain.segment: got 1.5, expected a number, or a text with a unit",
        ),
        (
            spec(algorithms='[algorithms]\n"allreduce/redundant_butterfly" = { T = "1B" }'),
            'bad.toml: algorithms.allreduce/redundant_butterfly.T: got "1B", expected a whole number',
        ),
        (spec(collective='collective = "allredcue"'), 'bad.toml: collective: unknown collective "allredcue"'),
        (spec(collective="collective = 1"), "bad.toml: collective: got 1, expected the name of a collective"),
        (spec(load='load = "nowhere.py"'), "bad.toml: load: "),
        (spec(load="load = [1]"), "bad.toml: load: got 1, expected Python files"),
        (spec(machines='machines = "clutser"'), 'bad.toml: machines: no machine "'),
        (spec(machines="machines = []"), "bad.toml: machines: an empty list, expected machines"),
        (spec(machines="machines = [1]"), "bad.toml: machines: got 1, expected machines"),
        (spec(machines='machines = ["cluster", "twin.toml"]'), 'bad.toml: machines: two are named "cluster"'),
        (spec(machines='machines = "bad.toml"'), "bad.toml: machines: "),
        (spec(trials="trials = 0"), "bad.toml: trials: got 0, expected a whole number from 1 to 1000000"),
        (spec(trials="trials = true"), "bad.toml: trials: got true, expected a whole number"),
        (spec(trials='trials = "3"'), 'bad.toml: trials: got "3", expected a whole number'),
        (spec(seed="seed = -1"), "bad.toml: seed: got -1, expected a whole number from 0"),
        (spec(seed="seed = 18446744073709551616"), "bad.toml: seed: got 18446744073709551616, expected"),
        (spec(until="until_ci = 2"), "bad.toml: until_ci: got 2, expected a share"),
        (spec(until="until_ci = true"), "bad.toml: until_ci: got true, expected a share"),
        (spec(until='until_ci = "200%"'), 'bad.toml: until_ci: got "200%", expected a share'),
        (spec(noises="noises = 1"), "bad.toml: noises: got 1, expected a table"),
        (spec(noises="[noises]"), "bad.toml: noises: an empty table"),
        (spec(noises="[noises]\na = 1"), "bad.toml: noises.a: got 1, expected a table"),
        (spec(noises="[noises.a.node]"), "bad.toml: noises.a.node: unknown key, expected one of network, noise"),
        (spec(noises="[noises.a.noise.cpu]"), "bad.toml: noises.a.noise.cpu: unknown key, expected one of network, os"),
        (spec(noises="[noises.a.noise]\nos = 1"), "bad.toml: noises.a.noise.os: got 1, expected a table"),
        (spec(noises="[noises.a.network]\nlatency = 1"), "bad.toml: noises.a.network.latency: got 1, expected a text"),
        (
            spec(noises='[noises.a.network]\nlatency = "1 parsec"'),
            'bad.toml: noises.a on machine cluster: network.latency: got "1 parsec", expected a time',
        ),
        (
            spec(noises='[noises.a.noise.os]\nduration = "1 us"'),
            "bad.toml: noises.a on machine cluster: noise.os.model is missing, expected one of",
        ),
    ],
)
def test_a_bad_spec_is_one_line_with_file_and_key(
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
    grid = hocket.Grid.parse(spec(until='until_ci = "1%"'))
    assert (grid.trials.count, grid.trials.until_interval) == (1_000_000, 0.01)
    assert hocket.Grid.parse(spec(until="until_ci = 0.01", trials="trials = 70")).trials.count == 70


def test_the_good_spec_is_good() -> None:
    assert len(hocket.Grid.parse(spec()).cells) == 4
