"""Running labs: their machine files, their processes, and how to start jobs in them."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import ClassVar

from hocket._native import Error
from hocket.base import files
from hocket.base.call import Call
from hocket.base.units import format_count
from hocket.definitions.library import AXES
from hocket.definitions.machine import Machine
from hocket.definitions.variants import variant, with_network
from hocket.mpi.installation import Installation
from hocket.mpi.launch import environment_of_crowd
from hocket.simulating.scenes import Scene
from hocket_lab import building
from hocket_lab.building import MOST_BYTES_PER_S, Sent
from hocket_lab.wiring import Wiring

_LEAST_BYTES_PER_S = 1000.0
_STATE = Path("/run/hocket-lab")
_TEMPORARY = re.compile(r"of-([0-9]+)")
_RATE = "network.link_bandwidth_bytes_per_s"
_STRIPES_FROM_BYTES = 1 << 16
_CARD_RATE = "node.cards.bandwidth_bytes_per_s"

_ENTER = """#!/bin/sh
# Stands for ssh: leaves out options, and runs the rest in the namespace of the host.
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
node=$(IFS=.; set -- $host; echo $(($3 * 256 + $4 - 1)))
exec nsenter --net=/run/netns/PREFIX"$node" -- unshare --uts /bin/sh -c "hostname node$node; $*"
"""


_BY_CARD = """#!/bin/sh
# Runs a program whose messages go by the interfaces of its rank: the first argument lists them, rank by rank.
export OMPI_MCA_btl_tcp_if_include=$(echo "$1" | cut -d: -f$((OMPI_COMM_WORLD_RANK + 1)))
shift
exec "$@"
"""


@dataclass(frozen=True)
class _Start:
    """How to make an MPI start a program in a lab.

    Attributes:
        options: Returns the options of its launcher, given the file that replaces ssh and the hosts.
        variables: Environment variables of programs: messages go over TCP from the node's own address.
    """

    options: Callable[[str, str], list[str]]
    variables: Mapping[str, str]


def _mpich(enter: str, hosts: str) -> list[str]:
    return ["-launcher", "ssh", "-launcher-exec", enter, "-iface", building.CONTROL_INTERFACE, "-hosts", hosts]


def _open_mpi(enter: str, hosts: str) -> list[str]:
    settings = {"plm_ssh_agent": enter, "prte_if_include": building.CONTROL_INTERFACE}
    options = [part for name, value in settings.items() for part in ("--prtemca", name, value)]
    return ["--allow-run-as-root", *options, "--map-by", "seq:oversubscribe", "--host", hosts]


_STARTS = {
    "mpich": _Start(
        _mpich, {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": building.data_interface()}
    ),
    "openmpi": _Start(
        _open_mpi,
        {
            "OMPI_MCA_pml": "ob1",
            "OMPI_MCA_btl": "tcp,sm,self",
            "OMPI_MCA_btl_tcp_if_include": building.data_interface(),
            "OMPI_MCA_mpi_yield_when_idle": "1",
        },
    ),
}
"""By product."""


@dataclass(frozen=True)
class Lab:
    """The network of a machine, built on this host.

    Attributes:
        name: Its name.
        machine: The machine.
        scale: The ratio of link speeds, lab to machine; at most 1.
        wiring: Its wiring.
        LEAST_ROUNDS: Minimum number of samples of each algorithm. It is small because the network determines the times,
            which hardly vary.
    """

    name: str
    machine: Machine
    scale: Fraction
    wiring: Wiring
    LEAST_ROUNDS: ClassVar[int] = 5

    @staticmethod
    def up(
        name: str, machine: Machine, scale: Fraction = Fraction(1), on_done: Callable[[], object] = lambda: None
    ) -> Lab:
        """Build a lab. If that fails, nothing remains.

        Raises:
            Error: A lab of that name exists, the machine has no links, the links are too fast, or the host cannot build
                it.
        """
        building.check_host()
        if shutil.which("nsenter") is None:
            raise Error("hocket lab: needs nsenter, of util-linux")
        lab = _planned(name, machine, scale)
        folder = _STATE / name
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            raise Error(f"lab {name}: exists already, at least in part; hocket lab down {name} removes it") from None
        try:
            (folder / "machine.toml").write_text(machine.text)
            namespaces = building.node_namespace(name, lab.wiring, 0).removesuffix("0")
            for script, text in (("enter", _ENTER.replace("PREFIX", namespaces)), ("by_card", _BY_CARD)):
                (folder / script).write_text(text)
                (folder / script).chmod(0o755)
            building.build(name, lab.wiring, lab.rate_bytes_per_s, on_done)
            files.write(folder / "lab.json", json.dumps({"file": machine.file, "scale": str(scale)}))  # the lab is up
        except BaseException:
            down(name)
            raise
        return lab

    @staticmethod
    def find(name: str) -> Lab:
        """Return a running lab.

        Raises:
            Error: No lab of that name runs.
        """
        building.check_host()
        folder = _STATE / name
        try:
            facts = files.parse_object(files.read_text(folder / "lab.json"), name)
            text = files.read_text(folder / "machine.toml")
        except Error:
            raise Error(f"lab {name}: is not up; hocket lab up MACHINE.toml builds it") from None
        return _planned(name, Machine.parse(text, facts["file"]), Fraction(facts["scale"]))

    @property
    def built(self) -> Machine:
        """The machine as built: with links of `rate_bytes_per_s`, and the nodes of the lab.

        Raises:
            Error: Ranks are not node after node, or share a node and the machine does not tell the cost of messages
                between them.
        """
        ranks_per_node = self.machine.ranks_per_node
        network = self.machine.network
        if network.get("map", "block") != "block" or "ranks_on_nodes" in network:
            raise Error(f"{self.machine.file}: got a map of ranks, expected ranks_per_node only, as in a lab")
        costs = ("network.local.", "level[")
        if ranks_per_node > 1 and not any(name.startswith(costs) for name in self.machine.quantities):
            raise Error(
                f"{self.machine.file}: got ranks_per_node {ranks_per_node} without [network.local], expected "
                "the cost of messages within a node there, as these go through memory in a lab"
            )
        rate = f"{float(self.machine.quantities[_RATE]) * float(self.scale)} B/s"
        built = with_network(self.machine, link_bandwidth=rate, ranks_per_node=ranks_per_node)
        of_cards = {"node.cards.bandwidth": f"{self.rate_bytes_per_s} B/s"}
        return built if self.wiring.cards == 1 else variant(built, of_cards) or built

    @property
    def summary(self) -> str:
        """A description of the lab in one line."""
        nodes, switches, cards = len(self.wiring.nodes), self.wiring.topology.switches, self.wiring.cards
        parts = format_count(nodes, "node") + (f" of {cards} cards" if cards > 1 else "")
        parts += f" and {format_count(switches, 'switch')}" if switches else ""
        rate = f"{format_count(len(self.wiring.cables), 'cable')} of {self.rate_bytes_per_s * 8e-6:g} Mbit/s each way"
        sharing = "shared fairly" if self.wiring.pairs else "first come, first served"
        return f"{self.machine.name}, {parts}, {rate}, {sharing}" + ("" if self.scale == 1 else f", scale {self.scale}")

    def sent(self) -> dict[int, Sent]:
        """Return the data that left over each link since the lab was built, by its number in the machine."""
        sent = building.sent(self.name, self.wiring)
        if self.wiring.cards == 1:
            return sent
        of_links: dict[int, Sent] = defaultdict(lambda: Sent(0, 0))
        for link, of_card in sent.items():
            of_links[2 * (link // 2 // self.wiring.cards) + link % 2] += of_card
        return dict(of_links)

    def check_scene(self, scene: Scene) -> None:
        """Check that times of a scene are those of the lab.

        Raises:
            Error: The lab has a scale, and there is a scene.
        """
        if self.scale != 1 and scene.parts:
            raise Error(f"lab {self.name}: got scale {self.scale}, expected 1, as the times of a scene are not scaled")

    def call(self, call: Call) -> Call:
        """Return a call with the parameters that the machine determines: the sizes of a torus."""
        torus = self.wiring.topology.torus or ()
        if len(torus) > len(AXES) or prod(torus) != call.ranks:
            return call
        sizes = dict(zip(AXES, torus, strict=False))
        return replace(call, parameters={**sizes, **call.parameters})

    @property
    def rate_bytes_per_s(self) -> float:
        """Message bytes per second that each of its cables carries: the rate of a link, or of a card."""
        rate = self.machine.quantities[_RATE if self.wiring.cards == 1 else _CARD_RATE]
        return float(rate) * float(self.scale)

    def command(
        self,
        installation: Installation,
        ranks: int,
        program: Sequence[str],
        variables: Mapping[str, str],
        places: Sequence[int] | None = None,
    ) -> list[str]:
        """Return the command that runs a program with each rank on its node; only the program sees the variables.

        Each rank is in the place of that rank of the machine, or in the given one.

        Raises:
            Error: There is no program, or no room for the ranks.
        """
        if not program:
            raise Error("no program, expected a program after --")
        hosts = [building.control_address(self.wiring.node_of(place)) for place in places or range(ranks)]
        inside = ["nsenter", f"--net=/run/netns/{building.controller(self.name)}", "--"]
        enter = str(_STATE / self.name / "enter")
        start = _STARTS.get(installation.product)
        if start is None:
            raise Error(f"{installation.library}: got another MPI, expected MPICH or Open MPI for a lab")
        settings = {**start.variables, **environment_of_crowd(ranks), **variables}
        by_card = self._by_card(installation, places or range(ranks))
        parts = ["env", *(f"{name}={value}" for name, value in settings.items()), *by_card, *program]
        options = start.options(enter, ",".join(hosts))
        return [*inside, str(installation.mpiexec), *options, "-n", str(ranks), *parts]

    def _by_card(self, installation: Installation, places: Sequence[int]) -> list[str]:
        """Return the beginning of a command that makes messages go by the cards of their ranks."""
        cards = self.wiring.cards
        if cards == 1:
            return []
        if installation.product != "openmpi":
            raise Error(f"{installation.library}: got a lab of nodes with {cards} cards, expected Open MPI for these")
        nodes = [self.wiring.node_of(place) for place in places]
        counts, of_rank = Counter(nodes), []
        for number, node in enumerate(nodes):
            card = self.machine.handle.card_of(nodes[:number].count(node), counts[node])
            of_rank.append(building.data_interface(card))
        if "node.cards.stripe_from_bytes" in self.machine.quantities:
            of_rank = [",".join(map(building.data_interface, range(cards)))] * len(nodes)
        return [str(_STATE / self.name / "by_card"), ":".join(of_rank)]


def _cabled(machine: Machine) -> tuple[Machine, int]:
    """Return the machine whose nodes are those from which cables lead to switches, and how many of these a node has.

    Raises:
        Error: Nodes with several cards, but no crossbar, fewer links than cards, or a part of a rank for a card.
    """
    cards, quantities = machine.quantities.get("node.cards.count", 1), machine.quantities
    if cards == 1:
        return machine, 1
    rate, ranks = quantities.get(_CARD_RATE), machine.ranks_per_node
    if quantities.get("network.topology") != "crossbar" or rate is None or quantities[_RATE] < rate * cards:
        raise Error(
            f"{machine.file}: got nodes with {cards} cards, expected for a lab a crossbar whose link_bandwidth is at "
            "least the bandwidth of all cards of a node together"
        )
    if quantities.get("node.cards.stripe_from_bytes", _STRIPES_FROM_BYTES) != _STRIPES_FROM_BYTES:
        raise Error(
            f'{machine.file}: node.cards.stripe_from: got another size, expected "64 KiB" in a lab, '
            "from which Open MPI cuts messages"
        )
    if ranks % cards:
        raise Error(
            f"{machine.file}: got {cards} cards and ranks_per_node {ranks}, "
            "expected as many ranks for each card in a lab"
        )
    nodes = quantities["network.nodes"] * cards
    return with_network(machine, nodes=nodes, link_bandwidth=f"{rate} B/s", ranks_per_node=ranks // cards), cards


def _planned(name: str, machine: Machine, scale: Fraction) -> Lab:
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,39}", name):
        raise Error(f'--name: got "{name}", expected at most 40 letters, digits, - and _, which do not begin with -')
    rate = machine.quantities.get(_RATE)
    if machine.topology is None or rate is None:
        raise Error(f"{machine.file}: has no links, expected the network model links, packets or circuits")
    if not isinstance(rate, float):
        raise Error(f"{machine.file}: link_bandwidth: got a list, expected one rate for all links of a lab")
    cabled, cards = _cabled(machine)
    topology, rate = cabled.topology, cabled.quantities[_RATE]
    assert topology is not None  # only its number of nodes and their links changed
    if rate * float(scale) > MOST_BYTES_PER_S:
        fitting = Fraction(1, 10 ** len(str(int(rate / MOST_BYTES_PER_S))))
        raise Error(
            f"{machine.file}: link_bandwidth: {rate * float(scale):g} B/s is more than this host can shape, "
            f"expected at most {MOST_BYTES_PER_S:g} B/s, for example with --scale {fitting}"
        )
    if rate * float(scale) < _LEAST_BYTES_PER_S:
        raise Error(
            f"{machine.file}: link_bandwidth: {rate * float(scale):g} B/s in the lab, "
            f"expected at least {_LEAST_BYTES_PER_S:g} B/s"
        )
    is_fair = machine.quantities.get("network.sharing") == "fair"
    return Lab(name, machine, scale, Wiring.of(topology, is_fair=is_fair, cards=cards))


def labs() -> list[str]:
    """Return the names of all labs, including labs of which only parts remain."""
    states = set(os.listdir(_STATE)) if _STATE.exists() else set()
    return sorted(states | building.labs_built())


def is_in_use(name: str) -> bool:
    """Return whether the command that built a temporary lab still runs."""
    builder = _TEMPORARY.fullmatch(name)
    return builder is not None and Path("/proc", builder[1]).exists()


def down(name: str) -> None:
    """Remove a lab and end its processes; do nothing if the lab is not up."""
    building.remove(name)
    shutil.rmtree(_STATE / name, ignore_errors=True)


@contextmanager
def temporary(
    machine: Machine, scale: Fraction = Fraction(1), on_done: Callable[[], object] = lambda: None
) -> Iterator[Lab]:
    """Build a lab for a with statement, and remove it afterwards."""
    building.check_host()
    name = f"of-{os.getpid()}"
    down(name)  # remains of a killed process with the same id
    lab = Lab.up(name, machine, scale, on_done)
    try:
        yield lab
    finally:
        down(lab.name)
