"""A blind test of `hocket judge`: MPICH and Open MPI run each of their algorithms, and the judge says which one ran.

Measures what FOLDER does not have yet, and prints how often the first guess is right, wrong, or not made, and the
matrix of confusions. Needs the machine file of the host or lab, such as one of `hocket mpi calibrate`.

    .venv/bin/python benchmarks/which_algorithm.py FOLDER --mpicc PROGRAM --machine FILE --ranks 2 [--lab NAME]
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import click

from hocket.base.units import parse_ranks
from hocket.cli.output import print_table
from hocket.definitions.machine import Machine
from hocket.judging.curves import curves_of
from hocket.judging.expecting import expect
from hocket.measurements.formats import read_measurements
from hocket.measurements.measurement import DEFAULT, Facts
from hocket.rules.tuning_files.counterparts import LIBRARIES, Counterpart

FUNCTIONS = {
    "allreduce": "allreduce",
    "broadcast": "bcast",
    "allgather": "allgather",
    "alltoall": "alltoall",
    "reduce": "reduce",
    "reduce_scatter": "reduce_scatter_block",
    "gather": "gather",
    "scatter": "scatter",
}
"""The MPI function of each collective."""

TREES = {"binary": "binary_tree", "binary_tree": "binary_tree", "binomial": "binomial", "knomial": "k_nomial"}
"""The algorithms that Open MPI's trees are without segments."""


def variables(library: str, function: str, one: Counterpart) -> dict[str, str]:
    """Return the variables that make a library run an algorithm."""
    if library.startswith("mpich"):
        own = one.name.partition("_intra_")[2]
        return {"MPIR_CVAR_DEVICE_COLLECTIVES": "none", f"MPIR_CVAR_{function.upper()}_INTRA_ALGORITHM": own}
    return {
        "OMPI_MCA_coll": "^adapt,han,xhc,acoll,sm,ucc,hcoll",
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        f"OMPI_MCA_coll_tuned_{function}_algorithm": str(one.number),
    }


def names(one: Counterpart) -> set[str]:
    """Return the algorithms of the catalogue that a library's algorithm is."""
    tree = {TREES[one.name]} if one.hocket == "tree" else {one.hocket}
    return {name for name in (*tree, one.similar and one.similar[0]) if name}


def algorithms(library: str, ranks: int) -> list[tuple[str, Counterpart]]:
    """Return the algorithms that have a counterpart, with their collectives."""
    found: dict[tuple[str, str], Counterpart] = {}
    for collective, function in FUNCTIONS.items():
        for one in LIBRARIES[library].algorithms.get(function, ()):
            is_own = one.number is not None or "_intra_" in one.name
            if one.hocket and is_own and one.takes(ranks):
                found.setdefault((collective, one.name), one)
    return [(collective, one) for (collective, _), one in found.items()]


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--mpicc", required=True, help="The compiler wrapper of the MPI.")
@click.option("--library", type=click.Choice(["mpich-5.0", "openmpi-5.0"]), required=True, help="Which MPI it is.")
@click.option("--machine", required=True, help="The machine file of the host or lab.")
@click.option("--ranks", default="2", show_default=True, help="Numbers of ranks, such as 2,4,8.")
@click.option("--lab", help="Run in this lab.")
@click.option("--most", default="4194304", show_default=True, help="The largest size in bytes.")
def main(folder: Path, mpicc: str, library: str, machine: str, ranks: str, lab: str | None, most: str) -> None:
    """Measure, and judge."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / f"which_algorithm.{library}"
    source = Path(__file__).with_suffix(".c")
    subprocess.run([mpicc, "-O2", str(source), "-o", str(program)], check=True)
    rows, confusions = [], Counter[tuple[str, str]]()
    model = Machine.load(machine)
    for count in parse_ranks(ranks):
        outcomes = Counter[str]()
        for collective, one in algorithms(library, count):
            file = folder / f"{library}.{collective}.{one.name}.{count}.txt"
            if not file.exists():
                line = [sys.executable, "-m", "hocket", "mpi", "run", "-n", str(count), "--mpicc", mpicc]
                line += [*(["--lab", lab] if lab else []), "--", str(program), collective, "0.1", most]
                line += ["4" if lab else "2"]
                told = {**os.environ, **variables(library, FUNCTIONS[collective], one)}
                ran = subprocess.run(line, env=told, capture_output=True, text=True, check=True)
                file.write_text(ran.stdout)
            curve = curves_of(read_measurements(file, Facts(DEFAULT, count)).measurements)[0]
            expectation = expect(curve, model)
            guess = expectation.guess(expectation.sizes_bytes)
            first = {label.split()[0] for label in guess.programs}
            outcome = "right" if first & names(one) else "wrong"
            outcomes[outcome if guess.is_told else "cannot tell"] += 1
            if guess.is_told:
                seen = min(names(one)) if outcome == "right" else guess.programs[0]
                confusions[f"{collective} {min(names(one))}", seen] += 1
        total = sum(outcomes.values())
        rows.append([str(count), *(str(outcomes[each]) for each in ("right", "wrong", "cannot tell"))])
        rows[-1].append(f"{1 - outcomes['wrong'] / total:.0%}")
    print_table(["ranks", "right", "wrong", "cannot tell", "right or not told"], rows)
    print_table(["ran", "named", "times"], [[*pair, str(times)] for pair, times in sorted(confusions.items())])


if __name__ == "__main__":
    main()
