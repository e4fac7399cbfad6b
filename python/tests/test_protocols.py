"""Protocols of machine files."""

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

import hocket
from hocket.definitions.machine import find_machine
from hocket.definitions.variants import halve, quiet, variant, with_host, with_map
from hocket.explorer.questions import name_of

TEXT = """# A machine of mine.
name = "hgx"
[network]
model = "loggp"
L = "5 us"
o = "1 us"
G = "0.01 ns/B"
ranks_per_node = 2
[[level]]
name = "node"
L = "2 us"
o = "0.5 us"
G = "0.003 ns/B"
[node]
reduce_bandwidth = "100 GB/s"
"""
LL = """[protocol.LL.network]
L = "3 us"
[protocol.LL.level.node]
L = "0.6 us"
G = "0.02 ns/B"
[protocol.LL.node]
call_overhead = "4 us"
"""
TORUS = """name = "torus"
[network]
model = "links"
topology = "torus"
dims = [4]
link_bandwidth = "1 GB/s"
[node]
software_latency = "2 us"
[protocol.LL.node]
software_latency = "1 us"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "hgx.toml"
    file.write_text(TEXT + LL)
    return file


def test_values_of_a_protocol_take_the_place_of_those_of_the_file(path: Path) -> None:
    plain, under = hocket.Machine.load(path), hocket.Machine.load(f"{path}:LL")
    assert (plain.name, plain.protocols, under.name, under.protocols) == ("hgx", ("LL",), "hgx:LL", ())
    assert (plain.text, under.description) == (TEXT + LL, "A machine of mine.")
    assert under.network == {**plain.network, "L": "3 us"}
    assert under.parts["level[0]"] == {"name": "node", "L": "0.6 us", "o": "0.5 us", "G": "0.02 ns/B"}
    assert under.node == {**plain.node, "call_overhead": "4 us"}
    assert under == plain.with_protocol("LL")
    assert pickle.loads(pickle.dumps(under)).network == under.network


def test_a_file_of_the_replaced_values_takes_as_long(path: Path) -> None:
    by_hand = TEXT.replace('L = "5 us"', 'L = "3 us"').replace('L = "2 us"', 'L = "0.6 us"')
    by_hand = by_hand.replace('"0.003 ns/B"', '"0.02 ns/B"').replace("[node]\n", '[node]\ncall_overhead = "4 us"\n')
    for ranks in (2, 4):
        call = hocket.Call(ranks=ranks, size_bytes=4096)
        time_s = hocket.simulate("allreduce/ring", call, machine=f"{path}:LL").time_s.mean
        assert time_s == hocket.simulate("allreduce/ring", call, machine=hocket.Machine.parse(by_hand)).time_s.mean
        assert time_s != hocket.simulate("allreduce/ring", call, machine=path).time_s.mean


def test_discrepancies_are_of_the_values_of_the_file_alone() -> None:
    machine = hocket.Machine.parse(f"{TEXT}{LL}[[discrepancy]]\nlow = 0.5\nhigh = 2\ncalls = 19\nranks = 65\n")
    assert machine.discrepancies
    assert not machine.with_protocol("LL").discrepancies


def test_a_protocol_can_give_a_file_a_section_and_a_value_within_one() -> None:
    local = '[network.local]\nlatency = "1 us"\nbandwidth = "9 GB/s"\n'
    text = 'name = "m"\n[network]\nmodel = "hockney"\nlatency = "2 us"\nbandwidth = "1 GB/s"\n' + local
    changes = '[protocol.LL.network.local]\nlatency = "0.5 us"\n[protocol.LL.node]\ncall_overhead = "1 us"\n'
    under = hocket.Machine.parse(text + changes).with_protocol("LL")
    assert under.parts["network.local"] == {"latency": "0.5 us", "bandwidth": "9 GB/s"}
    assert under.node == {"call_overhead": "1 us"}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('[protocol.LL.network]\nQ = "1 us"', "hgx.toml:17: protocol.LL.network.Q: unknown key, expected one of"),
        ('[protocol.LL.network]\nL = "1 mile"', 'hgx.toml:17: protocol.LL.network.L: got "1 mile", expected a time'),
        ('[protocol.LL.level.node]\nQ = "1"', "hgx.toml:17: protocol.LL.level.node.Q: unknown key, expected one of"),
        ('[protocol.LL.level.nod]\nL = "1 us"', "hgx.toml:16: protocol.LL.level.nod: unknown key, did you mean node"),
        ("[protocol.LL.levels]\nL = 1", "hgx.toml:16: protocol.LL.levels: unknown key, did you mean level?"),
        ("[protocol.LL]\nnetwork = 3", "hgx.toml:17: protocol.LL.network: got integer, expected a section [network]"),
        ("[protocol.LL.level]\nnode = 3", "hgx.toml:17: protocol.LL.level.node: got integer, expected a section"),
        ("[protocol]\nLL = 3", "hgx.toml:17: protocol.LL: got integer, expected a section [LL]"),
        ("[[protocol]]\nLL = 3", "hgx.toml:16: protocol: got array of tables, expected a section [protocol]"),
        ('[protocol.LL.host]\no = "1 us"', "hgx.toml: protocol.LL: "),
        ('[protocol.LL.node]\n[protocol.B.node]\nQ = "1 us"', "hgx.toml:18: protocol.B.node.Q: unknown key"),
    ],
)
def test_all_protocols_are_checked_with_the_file(lines: str, message: str) -> None:
    with pytest.raises(hocket.Error) as refusal:
        hocket.Machine.parse(f"{TEXT}{lines}\n", "hgx.toml")
    assert str(refusal.value).startswith(message)
    assert "\n" not in str(refusal.value)


def test_an_unknown_protocol_is_refused(path: Path) -> None:
    refused = {
        f"{path}:LL1": f'{path}: no protocol "LL1", did you mean LL?',
        "cluster:LL": 'cluster.toml: no protocol "LL", the file has no sections [protocol.NAME]',
        "gpu-cluster:": 'gpu-cluster.toml: no protocol "", expected one of LL, LL128',
        "clutser:LL": 'no machine "clutser:LL", did you mean cluster?',
    }
    for name, message in refused.items():
        with pytest.raises(hocket.Error) as refusal:
            hocket.Machine.load(name)
        assert str(refusal.value) == message


def test_a_path_with_a_colon_is_a_path(tmp_path: Path) -> None:
    path = tmp_path / "my:LL.toml"
    path.write_text(TEXT + LL)
    assert hocket.Machine.load(path).name == "hgx"
    assert hocket.Machine.load(f"{path}:LL").name == "hgx:LL"
    named_alike = tmp_path / "my:LL.toml:LL"
    named_alike.write_text(TEXT)
    assert hocket.Machine.load(f"{path}:LL").name == "hgx"


def test_a_machine_keeps_the_name_that_it_was_loaded_by(path: Path) -> None:
    for name in ("gpu-cluster", "gpu-cluster:LL128", str(path), f"{path}:LL"):
        machine = hocket.Machine.load(name)
        assert name_of(machine) == name
        assert find_machine(name)[0] == machine.text


def test_variants_have_the_variants_of_the_protocols(path: Path) -> None:
    machine = hocket.Machine.load(path)
    changes: list[Callable[[hocket.Machine], hocket.Machine | None]] = [
        lambda one: halve(one, "latency"),
        lambda one: halve(one, "overhead"),
        lambda one: with_map(one, "cyclic"),
    ]
    for change in changes:
        changed = change(machine)
        assert changed is not None
        under = change(machine.with_protocol("LL"))
        assert changed.with_protocol("LL").text.partition("\n")[2] == (under and under.text.partition("\n")[2])


def test_a_protocol_keeps_its_costs_when_these_move_to_the_host() -> None:
    text = 'name = "m"\n[network]\nmodel = "loggp"\nL = "5 us"\no = "1 us"\nG = "0.01 ns/B"\nnew_peer = "9 us"\n'
    loggp = hocket.Machine.parse(text + '[protocol.LL.network]\no = "0.2 us"\nL = "2 us"\nnew_peer = "8 us"\n')
    under = with_host(loggp).with_protocol("LL")
    assert (under.network["L"], under.host) == ("2 us", {"o": "0.2 us", "new_peer": "8 us"})
    known = variant(loggp, without=["*.new_peer"])
    assert known is not None
    assert known.with_protocol("LL").network == {"model": "loggp", "L": "2 us", "o": "0.2 us", "G": "0.01 ns/B"}
    torus = with_host(hocket.Machine.parse(TORUS)).with_protocol("LL")
    assert torus.host == {"o_send": "1 us", "o_receive": "0 s"}


def test_a_quiet_machine_has_its_protocols() -> None:
    noise = '[noise.network]\nmodel = "gaussian"\nmean = "1 us"\ndeviation = "1 us"\n'
    loud = hocket.Machine.parse(TORUS + noise)
    still = quiet(loud)
    assert still is not None
    assert (still.protocols, loud.with_protocol("LL").noise) == (("LL",), loud.noise)


def test_steps_of_the_preset_have_the_latencies_of_nccl() -> None:
    for protocol, latencies_us in {"LL": (0.6, 2.7), "LL128": (1.9, 4.0)}.items():
        values = hocket.Machine.load(f"gpu-cluster:{protocol}").quantities
        for section, latency_us in zip(("level[0]", "network"), latencies_us, strict=True):
            step_s = values[f"{section}.L_s"] + values[f"{section}.o_s"] * 2
            assert step_s == pytest.approx(latency_us * 1e-6)


def test_each_protocol_of_the_preset_is_the_fastest_somewhere() -> None:
    def fastest(size_bytes: int) -> str:
        call = hocket.Call(ranks=8, size_bytes=size_bytes)
        names = ("gpu-cluster", "gpu-cluster:LL", "gpu-cluster:LL128")
        return min(names, key=lambda name: hocket.simulate("allreduce/ring", call, machine=name).time_s.mean)

    assert [fastest(size) for size in (1024, 4 << 20, 1 << 30)] == [
        "gpu-cluster:LL",
        "gpu-cluster:LL128",
        "gpu-cluster",
    ]
