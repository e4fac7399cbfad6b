"""Values of parameters that depend on the machine: what `auto` stands for, and the sizes of a torus.

How many redundant exchanges T a redundant butterfly should make. Without noise each costs its sender o. With noise the
result is late by N durations d, and the best T has the least

    f(0) = d E[N_0],    f(T) = T o + (1 - exp(-P p K)) max(c - o, 0) + d E[N_T],    E[N] = sum over m of P(N >= m)

for P = 2^K ranks and transfers of c, each hit with probability p. The second term is the hop that brings a copy to a
rank that was held up. Where o = 0 no exchange does harm, and T = K.

- T = 0: the ranks on a path from the first step to the last can be chosen freely, bit by bit, so that m hits, g steps
  between the first and the last, lie on a common path in (K - g) C(g - 1, m - 2) P p^m 2^g cases on average (P p K
  for m = 1), and P(N_0 >= m) = 1 - exp(-cases).
- One duration: after step 1 the ranks of either parity go on by themselves. A parity is held up when its half of step
  1 is hit or its own allreduce is, of half the ranks with one exchange fewer; the result is late when both are:
  phi_T(P, K) = (1 - exp(-P p / 2) (1 - phi_{T-1}(P / 2, K - 1)))^2. Where no exchange is left, n = 2^T classes
  remain; a late hit holds up few ranks of its class, so that they fail together in about n k h^n cases, k the steps
  that are left and exp(-h) the probability that a given rank of the class is not held up.
- More durations: most second hits come late; n = 2^T ranks must all have them, in about n k^2 h^n cases, h as before
  for m hits on the paths to one rank. That distribution is exact: two partners are independent before they meet, so
  P(N >= m) of a rank after a step is u_m + p (u_{m-1} - u_m), with u = 1 - (1 - P(N >= m))^2 before it.

How large the segments of Trinaryx3 should be: those of the least time by the closed forms of its model, see
`hocket.models.trinaryx3.best_segment_bytes`, on machines that have the keys `software_latency` and `link_bandwidth`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from hocket._native import Error
from hocket.call import Call
from hocket.library import Algorithm
from hocket.machine import Machine
from hocket.models.trinaryx3 import best_segment_bytes
from hocket.requests import GAP, accepted
from hocket.topology import Topology
from hocket.units import parse_bytes_per_s, parse_time

__all__ = ["AUTO", "Exchanges", "redundant_exchanges", "resolved", "trinaryx3_segment"]

AUTO = "auto"
"""The value of a parameter that the rule decides; a gap between packets, the compiled module."""

_MOST_DURATIONS = 6
_MOST_HAZARD = 4.0
_MOST_CLASSES = 64


@dataclass(frozen=True)
class Exchanges:
    """What the number of redundant exchanges depends on: see the module.

    Attributes:
        steps: K.
        transfer_s: c.
        overhead_s: o.
        duration_s: d.
        hit: p.
    """

    steps: int
    transfer_s: float
    overhead_s: float
    duration_s: float
    hit: float

    def best(self) -> int:
        """Return the T of the least expected time."""
        if self.overhead_s == 0:
            return self.steps
        return min(range(self.steps + 1), key=self.expected_s)

    def expected_s(self, exchanges: int) -> float:
        """Return f(T), the expected time beyond that without noise and without redundant exchanges."""
        late_s = self.duration_s * sum(self._late(m, exchanges) for m in range(1, _MOST_DURATIONS + 1))
        if exchanges == 0:
            return late_s
        any_hit = -math.expm1(-(2.0**self.steps) * self.hit * self.steps)
        return exchanges * self.overhead_s + any_hit * max(self.transfer_s - self.overhead_s, 0.0) + late_s

    def _late(self, durations: int, exchanges: int) -> float:
        """Return P(N_T >= m)."""
        if exchanges == 0:
            return -math.expm1(-min(self._paths(m) for m in range(1, durations + 1)))
        if durations == 1:
            return self._all_classes(exchanges, self.steps, 1)
        left = max(self.steps - exchanges, 1)
        classes = 2**exchanges
        return -math.expm1(-classes * left**2 * _power(self._hazard(self.steps, durations), classes))

    def _paths(self, hits: int) -> float:
        """Return the mean number of paths with so many hits."""
        ranks, p, steps = 2.0**self.steps, self.hit, self.steps
        if hits == 1:
            return ranks * p * steps
        gaps = range(hits - 1, steps)
        return ranks * sum((steps - g) * math.comb(g - 1, hits - 2) * p**hits * 2.0**g for g in gaps)

    def _all_classes(self, exchanges: int, steps: int, classes: int) -> float:
        """Return phi_T of one of so many classes with so many steps."""
        if exchanges == 0 or steps == 0:
            return -math.expm1(-((classes * max(steps, 1)) ** (1 / classes)) * self._hazard(steps, 1))
        not_first = math.exp(-(2.0 ** (steps - 1)) * self.hit)
        return (1 - not_first * (1 - self._all_classes(exchanges - 1, steps - 1, 2 * classes))) ** 2

    def _hazard(self, steps: int, durations: int) -> float:
        """Return h: a rank is not held up by so many durations, after so many steps, with probability exp(-h)."""
        at_least = [1.0] + [0.0] * durations
        for _ in range(steps):
            worse = [1 - (1 - x) ** 2 for x in at_least]
            at_least = [1.0] + [worse[m] + self.hit * (worse[m - 1] - worse[m]) for m in range(1, durations + 1)]
        return -math.log1p(-min(at_least[durations], 1 - 1e-12))


def _power(hazard: float, classes: int) -> float:
    """Return the hazard to the power of the classes, kept from overflowing: the result is certain long before."""
    return float(min(hazard, _MOST_HAZARD) ** min(classes, _MOST_CLASSES))


def redundant_exchanges(call: Call, machine: Machine) -> int:
    """Return the number of redundant exchanges for a call on a machine.

    Raises:
        Error: The machine's network noise is not of model poisson, or its network not of model hockney or loggp.
    """
    noise = machine.noise.get("network", {})
    steps = call.ranks.bit_length() - 1
    if not noise:
        return 0
    if noise.get("model") != "poisson":
        raise Error(f"T=auto: machine {machine.name} has network noise of model {noise['model']}, expected poisson")
    transfer_s, overhead_s = _transfer_and_overhead_s(call, machine)
    hit = -math.expm1(-transfer_s / parse_time(noise["interval"]))
    return Exchanges(steps, transfer_s, overhead_s, parse_time(noise["duration"]), hit).best()


def _transfer_and_overhead_s(call: Call, machine: Machine) -> tuple[float, float]:
    keys, size = machine.network, call.size_bytes
    if machine.model == "hockney":
        transfer_s = parse_time(keys["latency"]) + size / parse_bytes_per_s(keys["bandwidth"])
        return transfer_s, parse_time(keys.get("send_overhead", "0 s"))
    if machine.model == "loggp":
        overhead_s = parse_time(keys["o"])
        per_byte_s = parse_time(keys.get("G", "0 s").removesuffix("/B"))
        return parse_time(keys["L"]) + 2 * overhead_s + max(size - 1, 0) * per_byte_s, overhead_s
    raise Error(f"T=auto: machine {machine.name} has a network of model {machine.model}, expected hockney or loggp")


def trinaryx3_segment(algorithm: Algorithm, call: Call, machine: Machine) -> int:
    """Return the bytes per segment for a call of a Trinaryx3 algorithm.

    The default where the machine has no such keys, or messages cost its processors nothing, so that none is too small.

    Raises:
        Error: The algorithm refuses the call.
    """
    default = next(p.default for p in algorithm.parameters if p.name == "segment")
    keys = {**machine.network, **machine.node}
    if not {"software_latency", "link_bandwidth"} <= keys.keys() or call.size_bytes == 0:
        return default
    others = {name: value for name, value in call.parameters.items() if value != AUTO}
    height = accepted(algorithm, replace(call, parameters=others))["height"]
    if height == 0:
        return default
    best = best_segment_bytes(
        algorithm.collective,  # type: ignore[arg-type]
        call.size_bytes,
        height_links=height,
        latency_s=parse_time(keys["software_latency"]),
        link_bytes_per_s=parse_bytes_per_s(keys["link_bandwidth"]),
        reduce_bytes_per_s=parse_bytes_per_s(keys["reduce_bandwidth"]) if "reduce_bandwidth" in keys else math.inf,
    )
    return max(round(best), 1) if best > 0 else default


_Rule = Callable[[Algorithm, Call, Machine], int]


def _exchanges(_: Algorithm, call: Call, machine: Machine) -> int:
    return redundant_exchanges(call, machine)


_RULES: Mapping[tuple[str, str], _Rule] = {
    ("allreduce/redundant_butterfly", "T"): _exchanges,
    ("barrier/redundant_butterfly", "T"): _exchanges,
    ("allreduce/trinaryx3", "segment"): trinaryx3_segment,
    ("allreduce/trinaryx3_overlapped", "segment"): trinaryx3_segment,
    ("broadcast/trinaryx3", "segment"): trinaryx3_segment,
    ("reduce/trinaryx3", "segment"): trinaryx3_segment,
}


_AXES = ("X", "Y", "Z")


def _torus_sizes(algorithm: Algorithm, call: Call, machine: Machine) -> Mapping[str, int]:
    """Return the sizes of the machine's torus for an algorithm that takes them and was not given any.

    Raises:
        Error: The machine has a topology, but not a torus of up to three axes, or not one node for each rank.
    """
    declared = {parameter.name for parameter in algorithm.parameters}
    if not declared.issuperset(_AXES) or not call.parameters.keys().isdisjoint(_AXES):
        return {}
    topology = Topology.parse(machine.text, machine.file)
    if topology is None:
        return {}
    if topology.torus is None or len(topology.torus) > len(_AXES):
        kind = f"{len(topology.torus)}-dimensional torus" if topology.torus else topology.name.replace("_", " ")
        needs = f"needs a torus of up to {len(_AXES)} axes, but machine {machine.name} is a {kind}"
        raise Error(f"{algorithm.collective} {algorithm.name} {needs}")
    sizes = (*topology.torus, 1, 1)[: len(_AXES)]
    if call.ranks != math.prod(sizes):
        torus = " x ".join(map(str, topology.torus))
        needs = f"needs X * Y * Z = P, but the torus of machine {machine.name} is {torus}, and no X, Y or Z was given"
        raise Error(f"{algorithm.collective} {algorithm.name} {needs} (P = {call.ranks})")
    return dict(zip(_AXES, sizes, strict=True))


def resolved(algorithm: Algorithm, call: Call, machine: Machine) -> Call:
    """Return the call with a value for each parameter that the machine decides.

    Raises:
        Error: There is no rule for a parameter, or it does not know the machine.
    """
    if not isinstance(call, Call) or not isinstance(call.parameters, Mapping):
        return call  # refused where calls are checked
    call = replace(call, parameters={**call.parameters, **_torus_sizes(algorithm, call, machine)})
    values = dict(call.parameters)
    gaps = {parameter.name for parameter in algorithm.parameters if parameter.unit == GAP}
    for name, value in call.parameters.items():
        if isinstance(value, str) and value == AUTO and name not in gaps:
            rule = _RULES.get((algorithm.label, name))
            if rule is None:
                raise Error(
                    f"{algorithm.label}: parameter {name} = auto, but there is no rule for it, expected a number"
                )
            values[name] = rule(algorithm, call, machine)
    return replace(call, parameters=values)
