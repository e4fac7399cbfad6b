"""An MPI program of the shape of NPB FT: the 3-D diffusion equation by Fourier transforms, one transpose each.

    mpiexec -n RANKS python ft.py [S|W|A]

The benchmark's equations, initial values, classes and checksums, and its collective calls in its order: two Bcast, an
Alltoall (a first, untimed transform), a Barrier, an Alltoall, and for each of six iterations an Alltoall and a Reduce.
Transforms are NumPy's. The grid is cut into slabs along z, or along x when transformed; ranks have to divide both.
Ends with an error if a checksum differs from the benchmark's.

Source: D. Bailey et al., "The NAS parallel benchmarks", RNR-94-007, 1994, sections 2.2.5 and 2.3; checksums: NPB 3.4.
"""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI

GRIDS = {"S": (64, 64, 64), "W": (128, 128, 32), "A": (256, 256, 128)}
"""Points along x, y and z."""
CHECKSUMS = {
    "S": (554.6087004964 + 484.5363331978j, 554.6385409189 + 486.5304269511j),
    "W": (567.3612178944 + 529.3246849175j, 563.1436885271 + 528.2149986629j),
    "A": (504.6735008193 + 511.4047905510j, 505.9412319734 + 509.8809666433j),
}
"""Those of the first two iterations."""
ITERATIONS = 6
DIFFUSION = 1e-6
SEED, FACTOR, MODULUS_BITS = 314159265, 5**13, 46


def random_numbers(first: int, count: int) -> np.ndarray:
    """Return `count` numbers of the benchmark in (0, 1): seed * factor^k mod 2^46, for k from `first` on."""
    mask = (1 << MODULUS_BITS) - 1
    numbers = np.empty(count, dtype=np.uint64)
    numbers[0] = SEED * pow(FACTOR, first, mask + 1) & mask
    known = 1
    while known < count:
        more = min(known, count - known)
        jump = np.uint64(pow(FACTOR, known, mask + 1))
        numbers[known : known + more] = numbers[:more] * jump & np.uint64(mask)
        known += more
    return numbers * 2.0**-MODULUS_BITS


def frequencies(points: int) -> np.ndarray:
    """Return the signed frequencies of a transform, squared."""
    return ((np.arange(points) + points // 2) % points - points // 2) ** 2


class Transform:
    """Transforms of a grid that all ranks share."""

    def __init__(self, comm: MPI.Comm, grid: tuple[int, int, int]) -> None:
        self.comm, (self.nx, self.ny, self.nz) = comm, grid
        self.ranks = comm.size
        self.planes, self.columns = self.nz // self.ranks, self.nx // self.ranks

    def forward(self, values: np.ndarray) -> np.ndarray:
        """Transform slabs along z, (planes, ny, nx), into slabs along x, (nz, ny, columns)."""
        flat = np.fft.fft2(values, axes=(1, 2))
        blocks = flat.reshape(self.planes, self.ny, self.ranks, self.columns).transpose(2, 0, 1, 3)
        return np.fft.fft(self.exchange(blocks).reshape(self.nz, self.ny, self.columns), axis=0)

    def backward(self, values: np.ndarray) -> np.ndarray:
        """Transform slabs along x back into slabs along z."""
        deep = np.fft.ifft(values, axis=0).reshape(self.ranks, self.planes, self.ny, self.columns)
        flat = self.exchange(deep).transpose(1, 2, 0, 3).reshape(self.planes, self.ny, self.nx)
        return np.fft.ifft2(flat, axes=(1, 2))

    def exchange(self, blocks: np.ndarray) -> np.ndarray:
        """Send block i to rank i."""
        received = np.empty(blocks.shape, dtype=complex)
        self.comm.Alltoall(np.ascontiguousarray(blocks), received)
        return received


def initial_values(comm: MPI.Comm, transform: Transform) -> np.ndarray:
    """Return this rank's slab of random numbers."""
    shape = (transform.planes, transform.ny, transform.nx)
    count = 2 * int(np.prod(shape))
    return random_numbers(comm.rank * count + 1, count).view(complex).reshape(shape)


def decay(comm: MPI.Comm, transform: Transform) -> np.ndarray:
    """Return the factors of one iteration for this rank's frequencies."""
    x = frequencies(transform.nx)[comm.rank * transform.columns :][: transform.columns]
    y, z = frequencies(transform.ny), frequencies(transform.nz)
    squares = z[:, None, None] + y[None, :, None] + x[None, None, :]
    return np.exp(-4 * DIFFUSION * np.pi**2 * squares)


def checksum(comm: MPI.Comm, transform: Transform, values: np.ndarray) -> complex:
    """Return, on rank 0, the sum of 1024 points of the grid."""
    j = np.arange(1, 1025)
    x, y, z = j % transform.nx, 3 * j % transform.ny, 5 * j % transform.nz
    is_here = z // transform.planes == comm.rank
    own = values[z[is_here] % transform.planes, y[is_here], x[is_here]].sum()
    total = np.zeros(1, dtype=complex)
    comm.Reduce(np.array([own]), total, MPI.SUM, root=0)
    return complex(total[0])


def main() -> int:
    """Run the benchmark."""
    comm = MPI.COMM_WORLD
    name = sys.argv[1] if len(sys.argv) > 1 else "A"
    grid = GRIDS[name]
    if grid[0] % comm.size or grid[2] % comm.size:
        sys.exit(f"{comm.size} ranks, expected a number that divides {grid[0]} and {grid[2]}")
    iterations, points = np.array([ITERATIONS]), np.array(grid)
    comm.Bcast(iterations, root=0)
    comm.Bcast(points, root=0)
    transform = Transform(comm, grid)
    transform.forward(initial_values(comm, transform))
    comm.Barrier()
    factor = decay(comm, transform)
    values = transform.forward(initial_values(comm, transform))
    for iteration in range(int(iterations[0])):
        values *= factor
        found = checksum(comm, transform, transform.backward(values))
        expected = CHECKSUMS[name][iteration] if iteration < len(CHECKSUMS[name]) else found
        if comm.rank == 0:
            print(f"{iteration + 1}: {found:.10f}")
            if abs(found - expected) > 1e-9 * abs(expected):
                print(f"expected {expected:.10f}", file=sys.stderr)
                comm.Abort(1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
