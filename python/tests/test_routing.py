"""Routing, and networks of sites, from Python and from the command line."""

from collections.abc import Callable
from pathlib import Path
from statistics import stdev

import pytest

import hocket
from hocket.definitions.variants import with_map, with_routing
from tests.conftest import Ran

TREE = """name = "tree"
[network]
model = "links"
sharing = "fair"
topology = "fat_tree"
down = [8, 8]
up = [1, 4]
link_bandwidth = "10 GB/s"
"""
EDGES = "from,to,speed\n" + "".join(f"n{node},leaf{node // 2},100\n" for node in range(6))
UP_LINKS = "leaf0,spine,200\nleaf1,spine,200\nleaf2,spine,50\n"
CALL = hocket.Call(ranks=64, size_bytes=64 << 10)
ROUTINGS = ["fixed", "d-mod-k", "s-mod-k", "ecmp", "spray", "adaptive", "valiant", "ugal"]


@pytest.fixture(name="site")
def site_file(tmp_path: Path) -> Path:
    """Return a machine file with the network of a site."""
    (tmp_path / "net.csv").write_text(EDGES + UP_LINKS)
    file = tmp_path / "site.toml"
    keys = 'model = "links"\nsharing = "fair"\ntopology = "file"\nfile = "net.csv"\nlink_bandwidth = "20 GB/s"'
    file.write_text(f'name = "site"\n[network]\n{keys}\n')
    return file


def times(machine: hocket.Machine, trials: int = 1, seed: int = 0) -> list[float]:
    """Return the times of an alltoall on 64 ranks."""
    asked = hocket.Trials(trials, seed)
    return list(hocket.simulate("alltoall/pairwise_exchange", CALL, machine=machine, trials=asked).times_s)


@pytest.mark.parametrize("routing", ROUTINGS)
def test_no_time_is_below_the_lower_bound(routing: str) -> None:
    machine = with_routing(hocket.Machine.parse(TREE, "tree.toml"), routing)
    assert times(machine)[0] >= hocket.bound("alltoall", CALL, machine=machine).time_s * (1 - 1e-9)
    assert machine.is_random == (routing == "ecmp")


def test_hashed_flows_have_a_distribution_by_the_seed() -> None:
    machine = with_routing(hocket.Machine.parse(TREE, "tree.toml"), "ecmp")
    drawn = times(machine, 8, seed=3)
    assert stdev(drawn) > 0
    assert drawn == times(machine, 8, seed=3)
    assert drawn != times(machine, 8, seed=4)
    assert min(drawn) > times(with_routing(machine, "spray"))[0]


def test_options_change_the_routing(tmp_path: Path, hocket_command: Callable[..., Ran]) -> None:
    (tmp_path / "tree.toml").write_text(TREE)
    of_file = f"simulate alltoall pairwise_exchange -n 64 --size 64KiB --machine {tmp_path / 'tree.toml'}"
    assert "trials" in hocket_command(f"{of_file} --routing ecmp --trials 4").out
    assert hocket_command(f"{of_file} --routing fixed").out == hocket_command(of_file).out
    assert "--trials: got 4" in hocket_command(f"{of_file} --trials 4").err
    assert "model links or packets" in hocket_command("simulate allreduce ring -n 4 --size 8B --routing ecmp").err
    assert '"adaptive"' in hocket_command(f"{of_file} --routing best").err


def test_another_routing_does_not_have_the_keys_of_the_policy_before() -> None:
    plain, spread = (
        hocket.Machine.parse(f"{TREE}{keys}", "tree.toml") for keys in ("", 'routing = "ecmp"\nflows_per_pair = 4\n')
    )
    assert times(with_routing(spread, "spray")) == times(with_routing(plain, "spray"))
    assert with_routing(spread, "ecmp").text == spread.text


def test_a_site_is_shown_with_what_is_lopsided(site: Path, hocket_command: Callable[..., Ran]) -> None:
    shown = " ".join(hocket_command(f"show machine {site}").out.split())
    assert "note: a leaf has up to 4.00 times as much bandwidth to its nodes as to switches" in shown
    assert "note: leaf2 to spine: 0.250 of the speed of others" in shown


def test_ranks_are_on_the_hosts_of_a_node_list_or_of_a_file(site: Path, tmp_path: Path) -> None:
    machine = hocket.Machine.load(site)
    hosts = tmp_path / "hosts"
    hosts.write_text("n4\nn0\n")
    near, far = with_map(machine, "n[0-1]"), with_map(machine, str(hosts))
    call = hocket.Call(ranks=2, size_bytes=1 << 20)
    seconds = [hocket.simulate("broadcast/binomial", call, machine=each).time_s.mean for each in (near, far)]
    assert seconds[1] == pytest.approx(seconds[0] * 2)  # 10 GB/s to a node, 5 GB/s above leaf2
    with pytest.raises(hocket.Error, match='has no "n9"'):
        with_map(machine, "n9")
