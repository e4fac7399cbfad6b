"""Explanations name the key that a machine file lacks, and say where nobody can tell."""

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

import hocket
from hocket.fitting.result import Diagnosis

FILE = """\
name = "made-up"
[network]
model = "loggp"
L = "1.5 us"
o = "0.7 us"
G = "0.1 ns/B"
[node]
reduce_bandwidth = "5 GB/s"
copy_bandwidth = "10 GB/s"
"""
SCRATCH = """\
[node.scratch]
from = "32 MiB"
together_from = "256 KiB"
per_byte = "0.25 ns/B"
"""
TORUS = """\
name = "made-up"
[network]
model = "links"
topology = "torus"
layout = "8, 4"
link_bandwidth = "4 GB/s"
link_latency = "100 ns"
[node]
software_latency = "1 us"
"""
RINGS = ("allgather/ring", "allreduce/ring", "reduce_scatter/ring")
ALL = (*RINGS, "reduce_scatter/recursive_halving", "alltoall/bruck", "broadcast/binomial", "gather/linear")
SMALL, LARGE = (8, 64, 512, 4096), (1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24)


def measured(
    text: str, programs: Sequence[str], sizes: Sequence[int], *, ranks: int = 8, noise: float = 0.03
) -> list[hocket.Measurement]:
    """Return simulated times as measurements."""
    machine, chance = hocket.Machine.parse(text), random.Random(1)
    found = []
    for program in programs:
        collective, _, algorithm = program.partition("/")
        for size in sizes:
            call = hocket.Call(ranks=ranks, size_bytes=size)
            time_s = hocket.simulate(program, call, machine=machine).time_s.mean * math.exp(chance.gauss(0, noise))
            what: dict[str, Any] = {"collective": collective, "algorithm": algorithm, "ranks": ranks}
            found.append(hocket.Measurement(**what, size_bytes=size, time_s=time_s))
    return found


def diagnosis_of(some: Sequence[hocket.Measurement], text: str = FILE, **how: Any) -> Diagnosis:
    found = hocket.fit(some, machine=hocket.Machine.parse(text), has_diagnosis=True, **how).diagnosis
    assert found is not None
    return found


def keys(diagnosis: Diagnosis, *kind: object) -> set[str]:
    """Return the keys named for a collective, an algorithm and sizes, or without these for all kinds."""
    named = [one for one in diagnosis.kinds if (one.collective, one.algorithm, one.sizes) == kind]
    return {change.change.split()[0] for change in (named[0].changes if kind else diagnosis.changes)}


def test_scratch_is_named_where_the_file_lacks_it() -> None:
    diagnosis = diagnosis_of(measured(FILE + SCRATCH, ALL, (*SMALL, *LARGE)))
    assert keys(diagnosis) == {"node.scratch.per_byte"}
    (change,) = diagnosis.changes
    assert change.change in ("node.scratch.per_byte = 0.2 ns/B", "node.scratch.per_byte = 0.3 ns/B")
    assert not change.spoils
    assert change.low <= change.gain <= change.high <= 1
    worst = diagnosis.kinds[0]
    assert worst.text == "reduce_scatter recursive_halving from 64 KiB on 8 ranks"
    assert worst.text in change.mends
    assert worst.bias < -0.4
    assert keys(diagnosis, "reduce_scatter", "recursive_halving", "from 64 KiB") == {"node.scratch.per_byte"}
    # A lower bandwidth takes away nearly as much, and spoils all others.
    assert keys(diagnosis, "alltoall", "bruck", "from 64 KiB") == {"node.scratch.per_byte"}
    assert not keys(diagnosis, "gather", "linear", "below 64 KiB")  # within the noise


def test_nobody_can_tell_two_keys_that_do_the_same() -> None:
    """Each step of a ring takes L + 2 o: 5.4 us instead of 2.9 us by one of them, or by the other."""
    diagnosis = diagnosis_of(measured(FILE.replace('"1.5 us"', '"4 us"'), RINGS[:1], SMALL))
    assert keys(diagnosis, "allgather", "ring", "below 64 KiB") >= {"network.L", "network.o"}
    assert keys(diagnosis) >= {"network.L", "network.o"}


def test_a_file_that_is_right_needs_no_key() -> None:
    diagnosis = diagnosis_of(measured(FILE, ALL, (*SMALL, *LARGE)))
    assert not diagnosis.changes
    assert not any(one.changes for one in diagnosis.kinds)
    assert diagnosis.median < 0.04


def test_a_key_that_mends_a_kind_and_spoils_others_is_told() -> None:
    """One job ran on a network of four times the latency; the other jobs did not."""
    slow = measured(FILE.replace('"1.5 us"', '"6 us"'), ["allreduce/ring"], SMALL)
    diagnosis = diagnosis_of([*slow, *measured(FILE, ["allgather/ring", "broadcast/binomial"], SMALL)])
    worst = diagnosis.kinds[0]
    assert worst.collective == "allreduce"
    assert not diagnosis.changes or len(diagnosis.changes[0].mends) == 1
    spoils = {change.change.split()[0]: change.spoils for change in worst.changes}
    assert all("allgather ring below 64 KiB on 8 ranks" in some for key, some in spoils.items() if "network." in key)


def test_few_calls_tell_nothing_and_only_some_calls_are_tried() -> None:
    some = measured(FILE.replace('"1.5 us"', '"4 us"'), RINGS, SMALL)
    assert not any(one.changes for one in diagnosis_of(some[:2]).kinds)
    assert sum(one.calls for one in diagnosis_of(some, cells=6).kinds) == 6


def test_times_without_noise_are_explained() -> None:
    """Calls that are exact do not divide by zero."""
    some = measured(FILE, ["allgather/ring"], SMALL, noise=0)
    slow = [replace(one, time_s=2 * one.time_s) for one in some[:3]]
    assert keys(diagnosis_of([*slow, *some[3:]])) == {"network.L"}


def test_other_layouts_of_a_job_are_tried() -> None:
    some = measured(TORUS.replace("8, 4", "4x2, 2x2"), ["alltoall/linear", "allgather/ring"], LARGE, ranks=32)
    diagnosis = diagnosis_of([replace(one, dims=(8, 4)) for one in some], TORUS)
    assert [one.change.partition(",")[0] for one in diagnosis.changes] == ["network.layout folded by 2"]
    assert diagnosis.changes[0].gain > 0.9


def test_a_seed_decides_the_intervals() -> None:
    some = measured(FILE + SCRATCH, ALL[3:5], LARGE)
    first, again, other = (diagnosis_of(some, seed=seed) for seed in (0, 0, 1))
    assert first == again != other
    assert first.kinds[0].median == other.kinds[0].median


def test_a_row_of_records_has_a_kind_with_one_change() -> None:
    diagnosis = diagnosis_of(measured(FILE + SCRATCH, ALL[3:5], LARGE))
    rows = diagnosis.records()
    assert len(rows) == sum(max(len(one.changes), 1) for one in diagnosis.kinds)
    assert rows[0]["changes"] == len(diagnosis.kinds[0].changes)
    assert rows[0]["change"] == diagnosis.kinds[0].changes[0].change
    assert rows[0]["gain"] == pytest.approx(diagnosis.kinds[0].changes[0].gain)
