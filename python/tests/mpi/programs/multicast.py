"""Multicasts by the Python API: many groups at once, each with a collective."""

import sys

import numpy as np
from mpi4py import MPI

from hocket import Error
from hocket.mpi.multicast import Domain

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
master, mpicc = int(sys.argv[1]) % size, sys.argv[2]
random = np.random.default_rng(7)
KINDS = (
    "allreduce",
    "alltoall",
    "allgather",
    "gather",
    "reduce",
    "scan",
    "exscan",
    "scatter",
    "reduce_scatter",
    "barrier",
    "broadcast",
)
groups = [[], [0], [size - 1], list(range(size))]
groups += [sorted(random.choice(size, random.integers(1, size + 1), replace=False).tolist()) for _ in range(60)]
payloads = [random.bytes(int(random.choice([0, 1, 8191, 8192, 8193, 300_000]))) for _ in groups]


def refused(call, *arguments, **keywords):
    """Return the message of a refused call."""
    try:
        call(*arguments, **keywords)
    except Error as error:
        return str(error)
    raise AssertionError(f"not refused: {arguments}")


def work(number, multicast):
    """Run a collective over the group and check its result against numpy."""
    n, me, root = multicast.size, multicast.rank, number % multicast.size
    name, block = KINDS[number % len(KINDS)], 3
    of_all = np.arange(n * n * block, dtype=np.float64).reshape(n, n * block) + number
    mine, part = of_all[me], slice(me * block, (me + 1) * block)
    result = np.zeros(n * block)
    if name in ("allreduce", "exscan", "scan", "reduce"):
        multicast.collective(
            name, mine.copy(), result if name != "reduce" or me == root else None, op=MPI.SUM, root=root
        )
        before = {"scan": me + 1, "exscan": me}
        expected = of_all[: before.get(name, n)].sum(0)
        assert (name == "reduce" and me != root) or np.array_equal(result, expected), name
        if name == "allreduce":
            in_place = mine.copy()
            multicast.collective(name, None, in_place, op=MPI.MAX)
            assert np.array_equal(in_place, of_all.max(0))
    elif name == "alltoall":
        multicast.collective(name, mine.copy(), result)
        assert np.array_equal(result, of_all[:, part].ravel()), name
    elif name in ("allgather", "gather"):
        multicast.collective(
            name, mine[:block].copy(), result if name == "allgather" or me == root else None, root=root
        )
        assert (name == "gather" and me != root) or np.array_equal(result, of_all[:, :block].ravel()), name
    elif name == "scatter":
        multicast.collective(name, of_all[root].copy() if me == root else None, result[:block], root=root)
        assert np.array_equal(result[:block], of_all[root][part]), name
    elif name == "reduce_scatter":
        multicast.collective(name, mine.copy(), result[:block])
        assert np.array_equal(result[:block], of_all.sum(0)[part]), name
    elif name == "broadcast":
        result[:] = mine if me == root else 0
        multicast.collective(name, None, result, root=root)
        assert np.array_equal(result, of_all[root]), name
    else:
        multicast.collective(name)


assert "master: got 99" in refused(Domain, world, master=99, mpicc=mpicc)
assert "unknown broadcast algorithm" in refused(Domain, world, rules="broadcast: no_such", mpicc=mpicc)
assert size == 1 or "differ" in refused(Domain, world, master=min(rank, 1), mpicc=mpicc)


def start_in_two_groups(domain):
    """Start collectives over two overlapping groups, in different orders on different ranks."""
    groups = [list(range(size)), list(range(0, size, 2))]
    if rank == master:
        for group in groups:
            domain.send(group, b"two")
    held = [domain.take() for group in groups if rank in group]
    sums = [np.zeros(1000) for _ in held]
    order = range(len(held)) if rank % 4 else reversed(range(len(held)))
    requests = {i: held[i].icollective("allreduce", np.full(1000, rank + 1.0), sums[i]) for i in order}
    assert not held or "still runs" in refused(held[0].icollective, "barrier")
    while requests:
        requests = {i: request for i, request in requests.items() if not request.test()}
    for i, multicast in enumerate(held):
        assert np.all(sums[i] == sum(member + 1 for member in multicast.ranks)), sums[i]
        multicast.icollective("barrier").wait()
        multicast.release()


with Domain(world, master=master, rules="broadcast[size=100kB..]: chain, segment=64KiB", mpicc=mpicc) as domain:
    mine = [number for number, group in enumerate(groups) if rank in group]
    sent = []
    if rank == master:
        assert f"got {size}" in refused(domain.send, [size], b"")
        sent = [domain.send(group, payload) for group, payload in zip(groups, payloads, strict=True)]
        assert sent[0].id == 0 and sent[0].is_complete
    else:
        assert f"rank {rank} sends a multicast, expected the master" in refused(domain.send, [rank], b"x")
    for number in mine:
        if number % 3 == 0:
            assert domain.recv() == payloads[number]
        elif number % 3 == 1:
            room = np.zeros(300_000, np.uint8)
            status = domain.recv_into(room)
            assert room[: status.size_bytes].tobytes() == payloads[number]
            assert (status.rank, status.size) == (groups[number].index(rank), len(groups[number]))
        else:
            with domain.take() as multicast:
                assert multicast.data == payloads[number] and list(multicast.ranks) == groups[number]
                work(number, multicast)
            assert "released" in refused(lambda: multicast.data)
    start_in_two_groups(domain)
    domain.flush()
    for one in sent:
        one.wait()
        assert one.is_complete
    world.Barrier()
    # A multicast that is too long is lost for one rank; nobody waits forever.
    if rank == master:
        domain.send(range(size), b"long").wait_left()
        domain.send(range(size), np.arange(3.0))
    assert "got a multicast of 4 B, expected at most the 2 B of the buffer" in refused(domain.recv_into, bytearray(2))
    assert np.array_equal(np.frombuffer(domain.recv()), np.arange(3.0))
    assert domain.poll() is None
    # Unreceived multicasts do not prevent the end of the domain.
    if rank == master:
        domain.send(range(size), bytes(100_000))
assert "closed" in refused(domain.poll)
print("ok")
