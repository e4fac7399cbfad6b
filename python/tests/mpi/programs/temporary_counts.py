"""Nonblocking collectives with counts and places from lists: mpi4py frees them before the call has ended."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
size = comm.Get_size()
comm.Barrier()
for count in list(range(size)) * 50:
    received = np.full((size, size), -1, "i4")
    counts, places = [count] * size, list(range(0, size * size, size))
    request = comm.Iallgatherv(np.full(count, comm.Get_rank(), "i4"), [received, (counts, places)])
    del counts, places
    request.Wait()
    expected = np.full((size, size), -1, "i4")
    expected[:, :count] = np.arange(size)[:, None]
    assert (received == expected).all(), received
if comm.Get_rank() == 0:
    print("temporary counts: right")
