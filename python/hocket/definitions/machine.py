"""Machines: each is a TOML file, of the user or a preset, and may say how far off simulated times are.

A protocol is a section [protocol.NAME], whose values take the place of others, by name.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias

from hocket import _native
from hocket._native import Error
from hocket.base import checks
from hocket.base.checks import hint
from hocket.base.files import read_text
from hocket.base.kinds import expecting
from hocket.definitions.topology import Topology


@dataclass(frozen=True)
class Discrepancy:
    """A kind of calls, and two factors of the simulated time: nine of ten measured calls took a time between them."""

    collective: str | None  # the collective of the calls; None for any
    algorithm: str | None  # their algorithm; None for any
    from_bytes: int  # their least size
    below_bytes: int | None  # their sizes are below it; None if there is no limit
    low: float  # the smaller factor
    high: float  # the larger factor
    # The ratio of the measured times of two algorithms in such a call was within this factor of the ratio of the
    # simulated times, nine of ten times; without such measurements it is `high / low`.
    ratio: float
    # How many calls of this kind were measured. The machine was not fitted to them.
    calls: int
    ranks: int  # on how many ranks at most they were measured

    def holds(self, collective: str, algorithm: str, size_bytes: int) -> bool:
        """Return whether a call is of this kind."""
        return (
            self.collective in (None, collective)
            and self.algorithm in (None, algorithm)
            and self.from_bytes <= size_bytes
            and (self.below_bytes is None or size_bytes < self.below_bytes)
        )


def discrepancy_of(
    kinds: Iterable[Discrepancy], collective: str, algorithm: str, size_bytes: int, *, ranks: int
) -> Discrepancy | None:
    """Return the first kind that a call is of; None if it is of none.

    Kinds that were measured on the fewest ranks that are enough for the call go first, then those on the most ranks.
    """
    own = [one for one in kinds if one.holds(collective, algorithm, size_bytes)]
    return min(own, key=lambda one: (one.ranks < ranks, one.ranks if one.ranks >= ranks else -one.ranks), default=None)


def ratio_of(kinds: Iterable[Discrepancy], collective: str, size_bytes: int, *, ranks: int) -> float:
    """Return by which factor the ratio of the measured times of two algorithms may differ from the simulated one.

    It is that of the first kind for any algorithm; 1 if the call is of none.
    """
    kind = discrepancy_of(kinds, collective, "", size_bytes, ranks=ranks)
    return kind.ratio if kind else 1.0


_TIMES_PER_BYTE = [
    f"{section}.{key}_s_per_byte" for section in ("network", "host") for key in ("G", "O", "O_send", "O_receive")
]
PLACES = ("ranks_on_nodes", "map")  # keys that place each rank
_NO_TIME_S_PER_BYTE = 1e-12  # 1 TB/s: beyond what the networks of nodes reach

_FOLDER = Path(__file__).parent / "machines"
_PRESETS = {path.stem: path for path in _FOLDER.rglob("*.toml")}
PAPERS = frozenset(name for name, path in _PRESETS.items() if path.parent != _FOLDER)
"""The presets of papers, which are there to repeat what these say."""


@dataclass(frozen=True)
class Machine:
    """A machine to simulate on.

    Attributes:
        name: Its name.
        model: Its network model.
        network: The keys of its section [network], as in the file.
        node: The keys of its section [node].
        host: The keys of its section [host], if it has one.
        noise: The keys of its sections [noise.os] and [noise.network], under "os" and "network".
        is_random: Whether trials differ: by noise, or by ways that messages draw.
        parts: The keys of sections within these, such as "network.local", and of each "level[0]".
        quantities: The parsed values of all keys: numbers in SI units, lists and names. The name of each contains the
            section and, where there is one, the unit: "network.latency_s", "node.reduce_bandwidth_bytes_per_s".
        protocols: The names of its protocols, the sections [protocol.NAME].
        discrepancies: How far measured times were from simulated ones, by kinds of calls; the first kind that a call is
            of counts.
        text: The text of its file, with the node of each rank in place of the name of a file of hosts.
        file: The name of its file, for error messages.
        handle: The machine as an object of the compiled module.
    """

    name: str
    model: str
    network: Mapping[str, str] = field(repr=False)
    node: Mapping[str, str] = field(repr=False)
    host: Mapping[str, str] = field(repr=False)
    noise: Mapping[str, Mapping[str, str]] = field(repr=False)
    is_random: bool = field(repr=False)
    parts: Mapping[str, Mapping[str, str]] = field(repr=False)
    quantities: Mapping[str, Any] = field(repr=False)
    protocols: tuple[str, ...] = field(repr=False)
    discrepancies: tuple[Discrepancy, ...] = field(repr=False)
    text: str = field(repr=False)
    file: str = field(repr=False)
    handle: _native.Machine = field(repr=False, compare=False)

    @classmethod
    def parse(cls, text: str, file: str = "machine") -> Machine:
        """Read the text of a machine file.

        Raises:
            Error: The text is not a machine; the message names file, line and key.
        """
        return cls.of(_native.Machine(checks.text("text", text), checks.text("file", file)), file)

    @classmethod
    def of(cls, handle: _native.Machine, file: str) -> Machine:
        """Return the machine of an object of the compiled module, with the name of its file."""
        sections = handle.sections
        discrepancies = tuple(Discrepancy(**one) for one in sections["discrepancies"])
        return cls(**{**sections, "discrepancies": discrepancies}, text=handle.text, file=file, handle=handle)

    @classmethod
    def load(cls, name: str | PathLike[str]) -> Machine:
        """Load a preset by its name, or a machine file by its path, with a protocol: "gpu-cluster:LL", "my.toml:LL".

        Raises:
            Error: There is no such preset, file or protocol, or the file is not a machine; the message names file, line
                and key.
        """
        text, file = find_machine(name)
        with expecting(file, "machine", "a machine file"):
            return cls.parse(text, file)

    def with_protocol(self, protocol: str) -> Machine:
        """Return the machine with the values of one of its protocols in place.

        Raises:
            Error: It has no such protocol.
        """
        return Machine.of(self.handle.with_protocol(protocol), f"{self.file}:{protocol}")

    @cached_property
    def topology(self) -> Topology | None:
        """The topology of its network; None for a machine where messages do not affect each other."""
        facts = self.handle.topology()
        if facts is None:
            return None
        return Topology(**facts, machine=self.name, file=self.file, handle=self.handle)

    @property
    def ranks_per_node(self) -> int:
        """How many ranks a node has room for; 1 where its file does not say, or says it of each node."""
        return int(self.quantities.get("network.ranks_per_node") or 1)

    @property
    def has_gpus(self) -> bool:
        """Whether its file has a section [gpu], by which libraries of accelerators decide."""
        return any(key.startswith("gpu.") for key in self.quantities)

    @property
    def lacks_bandwidth(self) -> bool:
        """Whether the bytes of a large message between nodes take no time, or at most 1 ps each."""
        times = [self.quantities.get(key, 0.0) for key in _TIMES_PER_BYTE]
        last_s = max(each[-1] if isinstance(each, tuple) else each for each in times)
        return self.model == "loggp" and last_s <= _NO_TIME_S_PER_BYTE

    @property
    def description(self) -> str:
        """The first line of its file, if that is a comment."""
        first = self.text.partition("\n")[0]
        return first.lstrip("# ").rstrip() if first.startswith("#") else ""

    @property
    def parameters(self) -> str:
        """The model and the values of all keys, in one line."""
        keys = {**{key: value for key, value in self.network.items() if key != "model"}, **self.node}
        noises = {f"{kind} noise": values for kind, values in self.noise.items()}
        others = {**({"host": self.host} if self.host else {}), **self.parts, **noises}
        return "; ".join([f"{self.model}: {_text(keys)}", *(f"{name} {_text(part)}" for name, part in others.items())])


def ranks_on_nodes(machine: Machine, ranks: int) -> tuple[int, ...]:
    """Return how many ranks of a job each node has; one, where the machine file says nothing of it."""
    quantities = machine.quantities
    nodes = quantities.get("network.map")
    if isinstance(nodes, tuple):
        return tuple(Counter(nodes[:ranks]).values())
    per_node = machine.ranks_per_node
    rooms = quantities.get("network.ranks_on_nodes") or (per_node,) * -(-ranks // per_node)
    before = accumulate(rooms, initial=0)
    return tuple(min(room, ranks - first) for room, first in zip(rooms, before, strict=False) if first < ranks)


def _text(keys: Mapping[str, str]) -> str:
    return ", ".join(f"{key} {value}" for key, value in keys.items())


def presets() -> tuple[str, ...]:
    """Return the names of the machines that come with Hocket."""
    return tuple(sorted(_PRESETS))


def shape_of_job(layout: str) -> tuple[int, ...]:
    """Return the shape of a job that lies so on a torus, of "16x4, 16x4" 64 and 64; refuse a text that is no layout."""
    return tuple(_native.shape_of_job(layout))


def skeleton_quantities(text: str, file: str) -> dict[str, Any]:
    """Return the parsed values of a machine file in which numbers are left open, with an example in place of each."""
    return _native.skeleton_quantities(text, file)


def is_preset(name: str) -> bool:
    """Return whether a name is that of a preset, or of one with a protocol."""
    return name.partition(":")[0] in _PRESETS


def find_machine(name: str | PathLike[str]) -> tuple[str, str]:
    """Return the text and the file name of a preset, given its name, or of a machine file, given its path.

    After a name or path and a colon there may be a protocol. Then the text has its values in place. What does not
    exist, cannot be read, or has a mistake in its protocols is refused.
    """
    if not isinstance(name, str | PathLike):
        raise Error(f"machine: got {checks.quote(name)}, expected the name of a preset or the path of a machine file")
    file = fspath(name)
    if source := _read(file):
        return source
    file_name, _, protocol = file.rpartition(":")
    if source := _read(file_name):
        machine = Machine.parse(*source).with_protocol(protocol)
        return machine.text, machine.file
    hint_text = hint(file_name or file, presets())
    raise Error(f'no machine "{file}", {hint_text.replace("expected one of", "expected a TOML file or one of")}')


def _read(name: str) -> tuple[str, str] | None:
    """Return the text and the file name of a preset or of a machine file; None if there is none."""
    if preset := _PRESETS.get(name):
        return read_text(preset), preset.name
    return (read_text(name), name) if os.path.exists(name) else None


MachineLike: TypeAlias = "Machine | str | PathLike[str]"
"""A machine, the name of a preset, or the path of a machine file; "NAME:PROTOCOL" is one with a protocol."""


def as_machine(machine: MachineLike) -> Machine:
    """Return a machine; a name or a path is loaded."""
    return machine if isinstance(machine, Machine) else Machine.load(machine)
