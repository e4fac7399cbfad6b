"""Logs of liballprof, as LogGOPSim's Schedgen reads them."""

from __future__ import annotations

from collections.abc import Sequence

_NOT_READ = (
    *("Alltoallv", "Scatter", "Scatterv", "Gather", "Gatherv", "Allgatherv", "Scan", "Exscan"),
    *("Comm_rank", "Comm_size", "Waitall", "Iprobe", "Testall", "Test", "Get_count"),
)
_FIELDS = {
    **dict.fromkeys(_NOT_READ, ()),
    "Init": (4,),
    "Finalize": (1,),
    **dict.fromkeys(("Send", "Rsend"), (1, 3, 5, 7, 8, 9, 12)),
    "Recv": (1, 3, 5, 7, 8, 9, 13),
    **dict.fromkeys(("Isend", "Irecv"), (1, 3, 5, 7, 8, 9, 12, 13)),
    "Wait": (1, 2, 4),
    "Sendrecv": (1, 3, 5, 7, 8, 10, 12, 14, 15, 16, 20),
    "Barrier": (1, 2, 4, 5),
    "Allreduce": (1, 4, 6, 9, 11, 12),
    "Iallreduce": (1, 4, 6, 11, 12, 13),
    "Bcast": (1, 3, 5, 7, 8, 10, 11),
    **dict.fromkeys(("Allgather", "Alltoall"), (1, 3, 5, 12, 14, 15)),
    "Reduce": (1, 4, 6, 9, 10, 12, 13),
}
"""The functions that it knows, and the numbers of the fields that it reads, of which the last one is the end."""
_TAKEN_FOR = {"MPI_Ssend": "Rsend", "MPI_Ibarrier": "Finalize"}
"""Functions with the hash of another one: the send is the same to it, and the barrier becomes computation."""
_LINE_BYTES = 4096


def read_by_schedgen(files: Sequence[str]) -> None:
    """Read the logs of all ranks. It knows a function by a hash of the first letters, and leaves out other lines.

    Source: `htorParser` and `process_trace` in `src/Schedgen/process_trace.cpp` in spcl/LogGOPSim.
    """
    lengths = (
        length for length in range(1, 20) if len({_hash(f"MPI_{name}", length) for name in _FIELDS}) == len(_FIELDS)
    )
    letters = next(lengths)
    names = {_hash(f"MPI_{name}", letters): name for name in _FIELDS}
    for text in files:
        end = 0.0
        for line in text.splitlines():
            assert len(line) < _LINE_BYTES
            name = names.get(_hash(line, letters))
            if name is None:
                continue
            function, *fields = line.replace(":", ",").split(",")
            assert name == _TAKEN_FOR.get(function, function.removeprefix("MPI_")), line
            values = [float(fields[number - 1]) for number in _FIELDS[name]]
            if len(values) > 1:
                assert len(fields) == _FIELDS[name][-1] and end <= values[0] <= values[-1], line
                end = values[-1]


def _hash(line: str, letters: int) -> int:
    name = line[:letters].partition(":")[0]
    return sum((place + 1) * (ord(letter) >> 1) for place, letter in enumerate(name))
