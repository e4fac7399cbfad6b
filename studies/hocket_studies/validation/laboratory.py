"""Labs: networks built on this host, with a real MPI on them, beside the simulator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager

from hocket._native import Error
from hocket.base.call import Call
from hocket.base.version import VERSION
from hocket.definitions.library import algorithms_named
from hocket.definitions.machine import Machine
from hocket.mpi import Installation
from hocket.mpi.benchmark import bench
from hocket_lab.comparing import compare_with_lab, expected
from hocket_lab.laboratory import Lab
from hocket_studies.validation.comparison import Case, Comparison, not_run

Builder = Callable[[Machine], AbstractContextManager[Lab]]
"""What builds a lab of a machine for as long as it is used."""

_SMALL = {
    "star of 8": 'topology = "crossbar"\nnodes = 8',
    "torus 3x3": 'topology = "torus"\ndims = [3, 3]',
}
_MORE = {
    "fat tree of 16, 2:1": 'topology = "fat_tree"\ndown = [4, 4]\nup = [1, 2]',
    "torus 4x4": 'topology = "torus"\ndims = [4, 4]',
    "torus 3x3x3": 'topology = "torus"\ndims = [3, 3, 3]',
    "dragonfly of 12": (
        'topology = "dragonfly"\nnodes_per_router = 2\nrouters_per_group = 2\nglobal_links_per_router = 1\ngroups = 3'
    ),
}
_ALGORITHMS = ("ring", "recursive_doubling", "rabenseifner")
_SIZES_BYTES = (64 * 1024, 256 * 1024, 1024 * 1024)
_SHARE, _LIMIT_S = 0.05, 1.0
_INCOMPARABLE = (
    "messages below 8 KiB, which pass an idle cable in a burst and so faster than at its rate; large labs where all "
    "nodes send at a time, for then processors decide and not cables; links of more than 100 Mbit/s; networks "
    "of packets and of circuits, which no lab builds"
)


def laboratory(
    installation: Installation | None, build: Builder, *, is_full: bool = False, why_not: str = ""
) -> Comparison:
    """Compare with labs, if there is an MPI and this host can build them; `is_full` for more topologies."""
    source = "labs"
    if installation is None:
        return not_run(source, _INCOMPARABLE, why_not)
    versions = {"Hocket": VERSION, "MPI": installation.library}
    topologies: Mapping[str, str] = _SMALL | _MORE if is_full else _SMALL
    try:
        cases = tuple(
            case
            for name, keys in topologies.items()
            for case in _cases(installation, build, name, _machine(name, keys))
        )
    except (Error, OSError) as error:
        return not_run(source, _INCOMPARABLE, error, versions)
    remark = f"allreduce {', '.join(_ALGORITHMS)}, 64 KiB to 1 MiB; {', '.join(topologies)}; 20 Mbit/s"
    return Comparison(source, cases, _INCOMPARABLE, versions, remark)


def _machine(name: str, keys: str) -> Machine:
    return Machine.parse(
        f"""name = "{name}"
[network]
model = "links"
{keys}
link_bandwidth = "2.5 MB/s"
link_latency = "30 us"
protocol = "rendezvous"
sharing = "fair"
[node]
ports = 6
software_latency = "50 us"
""",
        f"{name}.toml",
    )


def _cases(installation: Installation, build: Builder, name: str, machine: Machine) -> Iterator[Case]:
    """Build a lab, measure in it and simulate it."""
    topology = machine.topology
    candidates = algorithms_named("allreduce", _ALGORITHMS)
    with build(machine) as lab:
        call = lab.call(Call(ranks=topology.nodes if topology else 0, size_bytes=0))
        simulated, refused = expected(lab, candidates, call, _SIZES_BYTES)
        accepted = [one for one in candidates if one.name not in refused]
        before = lab.sent()
        found = bench(
            installation,
            accepted,
            call,
            _SIZES_BYTES,
            share=_SHARE,
            limit_s=_LIMIT_S,
            least_rounds=lab.LEAST_ROUNDS,
            launcher=lab.command,
        )
        for point in compare_with_lab(lab, found, simulated, refused, before).points:
            title = f"{name}, {point.algorithm}, {point.size_bytes} B"
            yield Case(title, point.simulated_s, point.measured_s, point.reach)
