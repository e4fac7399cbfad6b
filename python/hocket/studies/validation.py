"""Hocket's numbers beside those of others: closed forms, other simulators, this host's MPI, the lab, and the papers.

Each source is a table of cases with both times. A source that is not here, such as an MPI, has one row that says so.
The claims are the summary: how many cases, how far off, and what cannot be compared.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from math import prod
from pathlib import Path
from statistics import median
from typing import Any

from hocket._native import Error
from hocket.call import Call
from hocket.lab.comparing import LEAST_ROUNDS, compared, expected
from hocket.lab.laboratory import temporary
from hocket.library import algorithms_named, catalogue
from hocket.machine import Machine
from hocket.mpi.benchmark import bench, deviation, predict
from hocket.mpi.calibrating import calibrated
from hocket.mpi.installation import Installation
from hocket.mpi.launch import command, note_for_root
from hocket.mpi.machine_files import machine_file
from hocket.simulation import simulate
from hocket.studies import jitter, multicast, optical, pacing, trinaryx3
from hocket.studies import validation_pictures as pictures
from hocket.studies.study import Claim, Figure, Rows, Scope, Study, Work

__all__ = ["PYTHON_VARIABLE", "STUDY"]

PYTHON_VARIABLE = "HOCKET_SIMGRID_PYTHON"
"""Names a Python that has SimGrid, where this one has none."""

KIB, MIB = 1 << 10, 1 << 20
_ALPHA_S, _BETA_S = 1e-6, 1e-9
_HOCKNEY = (
    'name = "line"\n[network]\nmodel = "hockney"\nlatency = "1 us"\nbandwidth = "1 GB/s"\n'
    '[node]\nports = "unlimited"\nreduce_bandwidth = "10 GB/s"\n'
)
_LOGGOPS = (
    'name = "loggops"\n[network]\nmodel = "loggp"\nL = "5 us"\no = "2 us"\ng = "3 us"\nG = "1 ns/B"\nS = "64 KiB"\n'
)
_TORUS = (
    'name = "torus"\n[network]\nmodel = "links"\ntopology = "torus"\ndims = [{dims}]\nlink_bandwidth = "4 GB/s"\n'
    'link_latency = "100 ns"\nprotocol = "rendezvous"\nsharing = "fair"\n[node]\nports = 1024\n'
)
_LAB = (
    'name = "{name}"\n[network]\nmodel = "links"\n{topology}\nlink_bandwidth = "2.5 MB/s"\nlink_latency = "30 us"\n'
    'protocol = "rendezvous"\nsharing = "fair"\n[node]\nports = 6\nsoftware_latency = "50 us"\n'
)
_LABS = {
    "star 8": ('topology = "crossbar"\nnodes = 8', 8),
    "torus 3x3": ('topology = "torus"\ndims = [3, 3]', 9),
    "fat tree 16": ('topology = "fat_tree"\ndown = [4, 4]\nup = [1, 2]', 16),
    "torus 4x4": ('topology = "torus"\ndims = [4, 4]', 16),
    "dragonfly 12": (
        'topology = "dragonfly"\nnodes_per_router = 2\nrouters_per_group = 2\nglobal_links_per_router = 1\ngroups = 3',
        12,
    ),
    "torus 3x3x3": ('topology = "torus"\ndims = [3, 3, 3]', 27),
}
_ON_TWO_RANKS = ("allgather", "allreduce", "alltoall", "broadcast", "reduce_scatter")
_PAPERS = {"jitter": jitter, "multicast": multicast, "optical": optical, "pacing": pacing, "trinaryx3": trinaryx3}
Row = dict[str, Any]


class _NotHereError(Exception):
    """The source is not here; the reason is its text."""


def _row(case: str, size_bytes: int, hocket_s: float, other_s: float, note: str = "") -> Row:
    return {"case": case, "size_bytes": size_bytes, "hocket_s": hocket_s, "other_s": other_s, "note": note}


def _formulas(scope: Scope) -> Iterator[Row]:
    """Every closed form that is exact, at numbers of ranks that are powers of two and that are not."""
    machine = Machine.parse(_HOCKNEY)
    for algorithm in catalogue():
        for ranks in (7, 8, 33)[: scope.points]:
            for size_bytes in (0, 8 * KIB, 1_000_000):
                try:
                    found = simulate(algorithm, Call(ranks=ranks, size_bytes=size_bytes), machine=machine)
                except Error:
                    continue  # its precondition
                if found.formula_s and found.formula_is_exact:
                    name = f"{algorithm.collective} {algorithm.name}, P = {ranks}"
                    yield _row(name, size_bytes, found.time_s.mean, found.formula_s)


def _simgrid(scope: Scope) -> Iterator[Row]:
    """Recursive doubling on tori whose links are shared fairly."""
    python = os.environ.get(PYTHON_VARIABLE, sys.executable)
    script = Path(__file__).with_name("simgrid_allreduce.py")
    for dims in ((8,), (4, 4), (4, 4, 4), (4, 8, 8))[: scope.points]:
        ranks = prod(dims)
        machine = Machine.parse(_TORUS.format(dims=", ".join(map(str, dims))))
        for size_bytes in (64 * KIB, MIB):
            line = [python, str(script), *map(str, (ranks, size_bytes, *dims))]
            try:
                ran = subprocess.run(line, capture_output=True, text=True, check=True)
            except (OSError, subprocess.CalledProcessError):
                reason = f"{python} has no SimGrid (pip install simgrid); {PYTHON_VARIABLE} names another"
                raise _NotHereError(reason) from None
            found = simulate("allreduce/recursive_doubling", Call(ranks=ranks, size_bytes=size_bytes), machine=machine)
            other_s = float(ran.stdout.split()[0])
            yield _row(f"torus {'x'.join(map(str, dims))}", size_bytes, found.time_s.mean, other_s)


def _loggops(scope: Scope) -> Iterator[Row]:
    """Cases worked out by hand: L = 5 us, o = 2 us, g = 3 us, G = 1 ns per byte, and m = n - 1."""
    machine = Machine.parse(_LOGGOPS)

    def exchange_s(size_bytes: int) -> float:
        return 9e-6 + 1e-9 * max(size_bytes - 1, 0)

    def late_s(size_bytes: int) -> float:
        return exchange_s(size_bytes) + (14e-6 if size_bytes > 64 * KIB else 0.0)

    cases: list[tuple[str, int, int, float]] = []
    for size_bytes in (8, KIB, 32 * KIB):
        cases += [
            ("allgather/ring", 5, size_bytes, 4 * exchange_s(size_bytes)),
            ("broadcast/binomial", 4, size_bytes, 2 * exchange_s(size_bytes)),
            ("barrier/dissemination", 5, 0, 3 * exchange_s(0)),
        ]
    for size_bytes in (64 * KIB, 64 * KIB + 1, MIB):
        cases.append(("broadcast/binomial", 2, size_bytes, late_s(size_bytes)))
    for name, ranks, size_bytes, by_hand_s in cases[: 4 * scope.points]:
        found = simulate(name, Call(ranks=ranks, size_bytes=size_bytes), machine=machine)
        yield _row(f"{name}, P = {ranks}", size_bytes, found.time_s.mean, by_hand_s)


def _installation() -> Installation:
    try:
        installation = Installation.find()
    except Error as error:
        raise _NotHereError(str(error)) from None
    if note_for_root(installation):
        raise _NotHereError(f"{installation.library} starts nothing as root")
    return installation


def _mpi(scope: Scope) -> Iterator[Row]:
    """Every algorithm of five collectives on 2 ranks of this host, with the file of `hocket mpi calibrate`."""
    if scope.name == "quick":
        raise _NotHereError("not in the quick scope")
    installation = _installation()
    found, _ = calibrated(installation, command, 2, most_bytes=8 * MIB, limit_s=10.0, model="loggp")
    machine = Machine.parse(machine_file(found, "here", "loggp", None))
    for collective in _ON_TWO_RANKS:
        candidates = [one for one in algorithms_named(collective, ()) if "redundant" not in one.name]
        call = Call(ranks=2, size_bytes=0)
        sizes = [1 << k for k in range(4, 24)]
        measured = bench(installation, candidates, call, sizes, share=0.02, limit_s=0.5)
        said = {(one.algorithm, one.size_bytes): one.time_s for one in predict(measured, candidates, call, machine)}
        for one in measured.measurements:
            hocket_s = said[one.algorithm, one.size_bytes]
            yield _row(f"{collective} {one.algorithm}", one.size_bytes, hocket_s, one.median_s, found.mpi)


def _lab(scope: Scope) -> Iterator[Row]:
    """Ring, recursive doubling and Rabenseifner's algorithm in labs of several shapes."""
    if scope.name == "quick":
        raise _NotHereError("not in the quick scope")
    installation = _installation()
    candidates = algorithms_named("allreduce", ("ring", "recursive_doubling", "rabenseifner"))
    sizes = [64 * KIB, 256 * KIB, MIB]
    for shape, (topology, ranks) in list(_LABS.items())[: None if scope.name == "full" else 2]:
        machine = Machine.parse(_LAB.format(name=shape.replace(" ", "-"), topology=topology))
        try:
            with temporary(machine) as lab:
                call = lab.call(Call(ranks=ranks, size_bytes=0))
                simulated, refused = expected(lab, candidates, call, sizes)
                before = lab.sent()
                found = bench(
                    installation,
                    candidates,
                    call,
                    sizes,
                    share=0.02,
                    limit_s=0.0,
                    least_rounds=LEAST_ROUNDS,
                    launcher=lab.command,
                )
                points = compared(lab, found, simulated, refused, before).points
        except Error as error:
            raise _NotHereError(str(error)) from None
        for one in points:
            yield _row(f"{shape}, {one.algorithm}", one.size_bytes, one.simulated_s, one.measured_s, found.mpi)


def _papers(scope: Scope, work: Work) -> Iterator[Row]:
    """The claims of the other studies, in their quick scopes."""
    names = list(_PAPERS) if scope.name != "quick" else ["multicast"]
    for name in names:
        study: Study = _PAPERS[name].STUDY
        quick = Work(work.executor, lambda: None)
        data = {one: study.compute(one, study.scopes["quick"], quick) for one in _data_of(study)}
        for claim in study.claims(data):
            yield _row(f"{name}: {claim.claim}", 0, 0.0, 0.0, claim.holds)


def _data_of(study: Study) -> list[str]:
    return list(dict.fromkeys(figure.data for figure in study.figures))


_SOURCES: Mapping[str, Callable[[Scope], Iterator[Row]]] = {
    "formulas": _formulas,
    "simgrid": _simgrid,
    "loggops": _loggops,
    "mpi": _mpi,
    "lab": _lab,
}
_MISSING = "not here: "


def _compute(data: str, scope: Scope, work: Work) -> Rows:
    try:
        rows = list(_papers(scope, work) if data == "papers" else _SOURCES[data](scope))
    except _NotHereError as reason:
        rows = [_row("none", 0, 0.0, 0.0, f"{_MISSING}{reason}")]
    work.on_done()
    return rows


_WHAT = {
    "formulas": (
        "Closed forms that are exact, Hockney",
        "forms that are bounds only, and networks with contention, have none",
    ),
    "simgrid": (
        "SimGrid, recursive doubling on tori, links shared fairly",
        "with its TCP factors SimGrid puts latency first and weighs flows by round-trip time; switched off here",
    ),
    "loggops": (
        "LogGOPS by hand",
        "LogGOPSim keeps the receiver's processor busy for max(m O, m G) (recursive doubling, P = 2: 921 for 914 ns) "
        "and lets data above S travel without request and answer",
    ),
    "mpi": (
        "This host's MPI, 2 ranks, calibrated",
        "one time per byte and size, but caches hold small working sets only; redundant copies go on behind a result",
    ),
    "lab": ("The lab, allreduce over shaped links", "blocks below 8 KiB pass an idle link in bursts, and so faster"),
    "papers": (
        "The papers' claims",
        "small multicasts beat the closed form since headers go out at once; see each study",
    ),
}


def _judged(data: Mapping[str, Rows]) -> list[Claim]:
    return [_claim(name, rows) for name, rows in data.items()]


def _claim(name: str, rows: Rows) -> Claim:
    what, but = _WHAT[name]
    if str(rows[0]["note"]).startswith(_MISSING):
        return Claim(what, "-", "-", "not measured", str(rows[0]["note"]))
    if name == "papers":
        held = [str(row["note"]) for row in rows if row["note"] != "not measured"]
        return Claim(what, f"{len(held)} claims", f"{held.count('yes')} hold", "see each study", but)
    ratios = [row["hocket_s"] / row["other_s"] for row in rows if row["other_s"] > 0]
    middle, ninth, worst = deviation(ratios)
    told = (
        f"{_share(middle)} median, {_share(ninth)} nine of ten, {_share(worst)} worst; mean ratio {median(ratios):.3f}"
    )
    return Claim(what, f"{len(ratios)} cases", told, "yes" if middle <= _GOOD else "no", but)


_GOOD = 0.1
"""A median deviation that a prediction may have."""
_LEAST_SHOWN = 1e-6


def _share(value: float) -> str:
    return "0 %" if value < _LEAST_SHOWN else f"{value:.2%}".replace("%", " %")


STUDY = Study(
    title="Hocket's numbers beside those of others",
    figures=tuple(
        Figure(number, what, name, pictures.ratios if name != "papers" else pictures.held)
        for number, (name, (what, _)) in enumerate(_WHAT.items(), start=1)
    ),
    scopes={
        "quick": Scope("quick", most_ranks_log2=5, points=1, trials=1),
        "default": Scope("default", most_ranks_log2=6, points=3, trials=1),
        "full": Scope("full", most_ranks_log2=8, points=4, trials=1),
    },
    pieces=lambda *_: 1,
    compute=_compute,
    claims=_judged,
)
"""The paper's column says how many cases there are: no number of a paper is judged, but in the last row."""
