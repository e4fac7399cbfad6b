"""LogGOPS: simulations beside formulas by hand, and beside LogGOPSim."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, log2
from pathlib import Path

from hocket.base.call import Call
from hocket.base.version import VERSION
from hocket.definitions.machine import Machine
from hocket.schedules.schedule import record
from hocket.simulating.simulation import simulate
from hocket_studies.validation.comparison import Case, Comparison, not_run

_L, _O, _GAP, _PER_BYTE, _GAMMA = 5e-6, 2e-6, 3e-6, 1e-9, 1e-9
_SIZES_BYTES = (8, 1000, 65536)
_SECONDS = 60


@dataclass(frozen=True)
class _Hand:
    """A call, what its machine has beyond L, o, g and G, and its time by hand."""

    algorithm: str
    ranks: int
    size_bytes: int
    by_hand_s: float
    more: str = ""

    def case(self) -> Case:
        """Simulate it."""
        keys = ['L = "5 us"', 'o = "2 us"', 'g = "3 us"', 'G = "1 ns/B"', *self.more.split("; ")]
        text = "\n".join(["[network]", 'model = "loggp"', *keys, "[node]", 'reduce_bandwidth = "1 GB/s"'])
        machine = Machine.parse(f'name = "by hand"\n{text}\n')
        found = simulate(self.algorithm, Call(ranks=self.ranks, size_bytes=self.size_bytes), machine=machine)
        name = f"{self.algorithm}, {self.ranks} ranks, {self.size_bytes} B" + (f", {self.more}" if self.more else "")
        return Case(name, found.time_s.mean, self.by_hand_s)


def _travel_s(size_bytes: int, per_byte: float = _PER_BYTE) -> float:
    """How long the last byte of a message travels behind the first."""
    return max(size_bytes - 1, 0) * per_byte


def _exchange_s(size_bytes: int) -> float:
    """Both send at once (o), the last byte is there L + (n - 1) G later, and is taken in (o)."""
    return _O + _L + _travel_s(size_bytes) + _O


def _hands() -> Iterator[_Hand]:
    """Give the calls, each with its formula."""
    for n in _SIZES_BYTES:
        for log2_ranks in (1, 2, 3, 4):
            ranks = 1 << log2_ranks
            yield _Hand("allreduce/recursive_doubling", ranks, n, log2_ranks * (_exchange_s(n) + n * _GAMMA))
            # The root's second message leaves at g + (n - 1) G, before the first has been taken in: depth decides.
            yield _Hand("broadcast/binomial", ranks, n, log2_ranks * _exchange_s(n))
        for ranks in (2, 3, 5, 8):
            whole = n * ranks
            ring_s = 2 * (ranks - 1) * _exchange_s(n) + (ranks - 1) * n * _GAMMA
            yield _Hand("allreduce/ring", ranks, whole, ring_s)
            yield _Hand("allgather/ring", ranks, n, (ranks - 1) * _exchange_s(n))
            # All messages are there at once; the interface takes one in, and the next g after its last byte.
            gather_s = _O + _L + _travel_s(n) + (ranks - 2) * (_GAP + _travel_s(n)) + _O
            yield _Hand("gather/linear", ranks, n, gather_s)
        asked_s = 2 * (_O + _L) + _exchange_s(n)
        yield _Hand("broadcast/binomial", 2, n, asked_s if n > 100 else _exchange_s(n), 'S = "100 B"')
        requested_s = (1e-6 if n > 100 else 0.0) + _exchange_s(n)
        yield _Hand("broadcast/binomial", 2, n, requested_s, 'S = "100 B"; request = "1 us"; answer = "0 s"')
        # The processor, at 2 ns per byte slower than the wire, is busy with every byte at both ends.
        busy_s = _travel_s(n, 2e-9)
        yield _Hand("broadcast/binomial", 2, n, _O + _L + busy_s + _O + busy_s, 'O = "2 ns/B"')
    for ranks in (2, 5, 8, 33):
        yield _Hand("barrier/dissemination", ranks, 0, ceil(log2(ranks)) * _exchange_s(0))


def by_hand() -> Comparison:
    """Compare with the model of the LogGOPS papers, evaluated by hand."""
    return Comparison(
        "LogGOPS by hand",
        tuple(hand.case() for hand in _hands()),
        "calls whose messages meet in ways that no short formula tells, such as trees with noise",
        {"Hocket": VERSION},
        "exchanges, trees, gaps, rendezvous, overhead per byte",
    )


_PRESET = "loggopsim-defaults"
_L_S, _O_S, _G_S = 2500e-9, 1500e-9, 6e-9
"""The default parameters of LogGOPSim; reducing takes no time."""


@dataclass(frozen=True)
class _Theirs:
    """A call, and its time as LogGOPSim's accounting has it."""

    algorithm: str
    ranks: int
    size_bytes: int
    published_s: float

    @property
    def name(self) -> str:
        return f"{self.algorithm}, {self.ranks} ranks, {self.size_bytes} B"

    @property
    def call(self) -> Call:
        return Call(ranks=self.ranks, size_bytes=self.size_bytes)

    def simulated_s(self) -> float:
        return simulate(self.algorithm, self.call, machine=_PRESET).time_s.mean


def _theirs() -> Iterator[_Theirs]:
    """Give calls of messages below S, with a receive that takes o + max((n - 1) O, (n - 1) G)."""
    for n in (8, 1000, 60000):
        exchange_s = _O_S + _L_S + (n - 1) * _G_S + _O_S + (n - 1) * _G_S
        for log2_ranks in (1, 2, 3):
            ranks = 1 << log2_ranks
            yield _Theirs("allreduce/recursive_doubling", ranks, n, log2_ranks * exchange_s)
            yield _Theirs("allgather/ring", ranks, n, (ranks - 1) * exchange_s)


_DIFFERENCES = (
    "a receive keeps the processor busy for o + max(m O, m G) there and for o + m O here, m = n - 1: each message on "
    "the path costs m G more there; above S, request and answer take no time there, and 2 (o + L) here"
)


def loggopsim_published() -> Comparison:
    """Compare with LogGOPSim's accounting of the same model, by hand."""
    return Comparison(
        "LogGOPSim's accounting, by hand",
        tuple(Case(one.name, one.simulated_s(), one.published_s) for one in _theirs()),
        _DIFFERENCES,
        {"Hocket": VERSION},
        f"machine {_PRESET}; the difference is in the definition",
    )


def loggopsim_output(program: str | None) -> Comparison:
    """Compare with what LogGOPSim prints for the same schedules, in GOAL's binary form."""
    source = "LogGOPSim's output"
    if program is None:
        return not_run(source, _DIFFERENCES, "no LogGOPSim, expected its program by --loggopsim")
    try:
        cases = tuple(Case(one.name, one.simulated_s(), _printed_s(program, one)) for one in _theirs())
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return not_run(source, _DIFFERENCES, f"{program}: {error}")
    return Comparison(source, cases, _DIFFERENCES, {"Hocket": VERSION, "LogGOPSim": Path(program).name})


def _printed_s(program: str, one: _Theirs) -> float:
    with tempfile.TemporaryDirectory() as folder:
        goal = Path(folder, "schedule.bin")
        record(one.algorithm, one.call).save(goal, format="goal_binary", machine=Machine.load(_PRESET))
        ran = subprocess.run([program, "-f", str(goal)], capture_output=True, text=True, timeout=_SECONDS, check=True)
    times_ns = re.findall(r"(?i)^(?:host|.*finishing time at host) \d+: (\d+)", ran.stdout, re.MULTILINE)
    if not times_ns:
        raise ValueError(f"got {ran.stdout[:60]!r}, expected lines such as Host 0: 5542")
    return max(map(float, times_ns)) * 1e-9
