"""SimGrid's time-independent traces, as `smpirun -replay` reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

_TYPES = 61  # SimGrid's numbers of types are smaller
_MOST_INT = (1 << 31) - 1
_VALUES = {
    **dict.fromkeys(("init", "finalize", "barrier"), 0),
    "compute": 1,
    **dict.fromkeys(("wait", "send", "isend", "recv", "irecv"), 3),
    "bcast": 1,
    **dict.fromkeys(("reduce", "allreduce", "scan", "exscan", "gather", "scatter", "allgather", "alltoall"), 2),
}
"""The values that an action has to have. Those with counts for every rank have one more than ranks, or two."""


def read_by_simgrid(files: Sequence[str]) -> None:
    """Read the actions of all ranks as SimGrid does. Numbers too large for an int are an exception.

    A receive of no bytes looks for its message and waits until there is one. `init` without a value makes bytes the
    default type. SimGrid takes the second type of a scatterv from a wrong place, where a count may be no type's number.

    Source: the parsers of actions, `RecvAction`, `WaitAction` and `smpi_replay_init` in
    `src/smpi/internals/smpi_replay.cpp` in simgrid/simgrid.
    """
    ranks = len(files)
    for rank, text in enumerate(files):
        begun: Counter[tuple[int, int, int]] = Counter()
        for line in text.splitlines():
            owner, action, *values = line.split(" ")
            assert int(owner) == rank
            if action == "compute":
                assert len(values) == 1 and float(values[0]) >= 0
                continue
            assert all(0 <= int(value) <= _MOST_INT for value in values), line
            numbers = [int(value) for value in values]
            _assert_enough(action, numbers, ranks)
            if action in ("send", "isend", "recv", "irecv"):
                peer, tag, size, kind = numbers
                assert peer < ranks and kind < _TYPES and (size > 0 or action.endswith("send")), line
                begun[(rank, peer, tag) if action == "isend" else (peer, rank, tag)] += action.startswith("i")
            elif action == "wait":
                begun[numbers[0], numbers[1], numbers[2]] -= 1
                assert begun[numbers[0], numbers[1], numbers[2]] >= 0, line
        assert text.split("\n")[0] == f"{rank} init"


def _assert_enough(action: str, numbers: Sequence[int], ranks: int) -> None:
    if action == "scatterv":
        assert len(numbers) == ranks + 2, "a type would be read from a count"
        return
    root_at = {"bcast": 1, "reduce": 2, "gather": 2, "scatter": 2, "gatherv": ranks + 1}.get(action)
    assert root_at is None or numbers[root_at] < ranks
    least = {"gatherv": ranks + 1, "allgatherv": ranks + 1, "reducescatter": ranks + 1, "alltoallv": 2 * ranks + 2}
    needed = least.get(action, _VALUES.get(action))
    assert needed is not None and len(numbers) >= needed, action
    types = numbers[needed + (root_at is not None and root_at == needed) :]
    assert all(kind < _TYPES for kind in types[: 0 if action in ("wait", "send", "isend", "recv", "irecv") else None])
