"""All interfaces complete a call alike: on a torus with unequal dimensions, a dragonfly, two ranks per node."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import hocket

NODE = '[node]\nports = 2\nsoftware_latency = "1 us"\nreduce_bandwidth = "10 GB/s"\n'
LINKS = 'model = "links"\nlink_bandwidth = "4 GB/s"\nlink_latency = "100 ns"\n'
NETWORKS = {
    "torus": 'topology = "torus"\ndims = [4, 2, 3]\n',
    "torus of two ranks a node": 'topology = "torus"\ndims = [4, 3]\nranks_per_node = 2\n',
    "dragonfly": (
        'topology = "dragonfly"\ngroups = 3\nrouters_per_group = 4\nnodes_per_router = 2\nglobal_links_per_router = 1\n'
    ),
}
RANKS, SIZE_BYTES = 24, 24_000
RECORDED_OTHERWISE = ("edge_disjoint_trees", "redundant_butterfly", "trinaryx3", "trinaryx3_overlapped")
"""What cannot be recorded, or can take another time as a schedule: see `docs/schedules.md`."""


@pytest.fixture(params=NETWORKS)
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> hocket.Machine:
    file = tmp_path / "machine.toml"
    file.write_text(f'name = "machine"\n[network]\n{LINKS}{NETWORKS[request.param]}{NODE}')
    return hocket.Machine.load(file)


@pytest.mark.parametrize("collective", ["allgather", "allreduce"])
def test_every_way_completes_a_call_alike(collective: str, machine: hocket.Machine) -> None:
    call = hocket.Call(ranks=RANKS, size_bytes=SIZE_BYTES)
    algorithms = hocket.algorithms(collective)
    swept = {row.algorithm: row for row in hocket.sweep(grid(collective, machine)).rows}
    times_s, refused = {}, {}
    for algorithm in algorithms:
        try:
            (compared,) = hocket.compare([algorithm], [call], machine=machine).simulations
            times_s[algorithm.name] = compared.time_s.mean
        except hocket.Error as error:
            refused[algorithm.name] = str(error)
    by_formula_s = {name: row.time_mean_s for name, row in swept.items() if row.refusal is None}
    assert by_formula_s.keys() == times_s.keys()
    assert all(time_s <= by_formula_s[name] * (1 + 1e-12) for name, time_s in times_s.items())  # it also searches
    times_s = by_formula_s
    assert {name: row.refusal for name, row in swept.items() if row.refusal is not None} == refused
    for algorithm in algorithms:
        if algorithm.name in refused:
            with pytest.raises(hocket.Error) as error:
                hocket.record(algorithm, call, machine=machine)
            assert str(error.value) == refused[algorithm.name]
            continue
        with_values = replace(call, parameters=swept[algorithm.name].parameters)
        found = hocket.simulate(algorithm, with_values, machine=machine)
        assert (found.time_s.mean, found.parameters) == (times_s[algorithm.name], swept[algorithm.name].parameters)
        assert hocket.explain(algorithm, with_values, machine=machine).time_s == times_s[algorithm.name]
        if algorithm.name not in RECORDED_OTHERWISE:
            schedule = hocket.record(algorithm, with_values, machine=machine)
            time_s = hocket.simulate(schedule, machine=machine).time_s.mean
            assert time_s == pytest.approx(times_s[algorithm.name], rel=1e-12), algorithm.name


def grid(collective: str, machine: hocket.Machine) -> hocket.Grid:
    names = "".join(f'"{algorithm.label}" = {{}}\n' for algorithm in hocket.algorithms(collective))
    text = f'ranks = {RANKS}\nsizes = "{SIZE_BYTES}B"\nmachine = "machine.toml"\n[algorithms]\n{names}'
    return hocket.Grid.parse(text, str(Path(machine.file).with_name("grid.toml")))
