"""The cost of libhocket: an allreduce by Hocket and by the MPI's own, on two ranks, in turns in one program.

Both use the same algorithm. Prints medians, their ratio with its interval, and the target.

    .venv/bin/python benchmarks/mpi_overhead.py [--mpicc PROGRAM] [--seconds S]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import click

from hocket.base.units import format_bytes, format_time
from hocket.cli.output import print_table

CASES = (("recursive_doubling", 8, 1.10), ("ring", 8 << 20, 1.05), ("rabenseifner", 8 << 20, 1.05))
"""Algorithm, bytes, and the target of the ratio."""

OWN = {
    "recursive_doubling": ("recursive_doubling", "3"),
    "ring": ("ring", "4"),
    "rabenseifner": ("reduce_scatter_allgather", "6"),
}
"""The names in MPICH and in Open MPI."""


def settings(algorithm: str) -> dict[str, str]:
    """Return the variables that make MPICH and Open MPI use an algorithm."""
    mpich, open_mpi = OWN[algorithm]
    return {
        "MPIR_CVAR_DEVICE_COLLECTIVES": "none",
        "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": mpich,
        "OMPI_MCA_coll": "^adapt,han,xhc,acoll,sm",
        "OMPI_MCA_coll_tuned_priority": "100",
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_allreduce_algorithm": open_mpi,
    }


@click.command()
@click.option("--mpicc", default="mpicc", show_default=True, help="The compiler wrapper of the MPI.")
@click.option("--seconds", type=float, default=10.0, show_default=True, help="How long each case is measured.")
def main(mpicc: str, seconds: float) -> None:
    """Compare with the MPI's own."""
    rows = []
    for algorithm, size, target in CASES:
        line = [sys.executable, "-m", "hocket", "mpi", "bench", "allreduce", algorithm, "native"]
        line += ["--sizes", f"{size}B", "-n", "2", "--mpicc", mpicc, "--time-limit", f"{seconds}s", "--json"]
        ran = subprocess.run(
            line, env={**os.environ, **settings(algorithm)}, capture_output=True, text=True, check=False
        )
        if ran.returncode:
            print(ran.stderr.strip().rpartition("\n")[2], file=sys.stderr)
            sys.exit(ran.returncode)
        found = {one["algorithm"]: one for one in json.loads(ran.stdout)["measurements"]}
        ours, own = found[algorithm], found["native"]
        low, high = ours["low_s"] / own["high_s"], ours["high_s"] / own["low_s"]
        ratio = ours["median_s"] / own["median_s"]
        times = [format_time(one["median_s"]) for one in (ours, own)]
        met = "yes" if ratio <= target else "no"
        rows.append(
            [algorithm, format_bytes(size), *times, f"{ratio:.2f} ({low:.2f}-{high:.2f})", f"{target:.2f}", met]
        )
    print_table(["algorithm", "size", "Hocket", "MPI", "ratio", "target", "met"], rows)


if __name__ == "__main__":
    main()
