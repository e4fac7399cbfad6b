"""The meaning of each collective, written plainly in NumPy."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Sequence[NDArray[Any]]

Combine = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]

OPERATORS: dict[str, Combine] = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "band": np.bitwise_and,
    "bor": np.bitwise_or,
    "bxor": np.bitwise_xor,
    "land": lambda a, b: ((a != 0) & (b != 0)).astype(a.dtype),
    "lor": lambda a, b: ((a != 0) | (b != 0)).astype(a.dtype),
    "lxor": lambda a, b: ((a != 0) ^ (b != 0)).astype(a.dtype),
    "matrix_product": lambda a, b: (a.reshape(-1, 2, 2) @ b.reshape(-1, 2, 2)).reshape(-1),
}


def torus(ranks: int, rank: int) -> list[int]:
    """The two neighbours along each of two nearly equal dimensions, in row-major order."""
    short = max(size for size in range(1, ranks + 1) if size * size <= ranks and ranks % size == 0)
    x, y = divmod(rank, short)
    long = ranks // short
    places = [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)]
    return [x % long * short + y % short for x, y in places]


def reference(collective: str, inputs: Arrays, operator: str, root: int) -> list[NDArray[Any]]:
    """The result of each rank."""
    ranks, nothing = len(inputs), inputs[0][:0]
    combine = OPERATORS[operator]

    def at_root(result: NDArray[Any]) -> list[NDArray[Any]]:
        return [result if rank == root else nothing for rank in range(ranks)]

    match collective:
        case "barrier":
            return [nothing] * ranks
        case "broadcast":
            return [inputs[root]] * ranks
        case "reduce":
            return at_root(reduce(combine, inputs))
        case "allreduce":
            return [reduce(combine, inputs)] * ranks
        case "exscan":
            return [reduce(combine, inputs[:rank]) if rank else nothing for rank in range(ranks)]
        case "scan":
            return [reduce(combine, inputs[: rank + 1]) for rank in range(ranks)]
        case "gather" | "gatherv":
            return at_root(np.concatenate(inputs))
        case "allgather":
            return [np.concatenate(inputs)] * ranks
        case "scatter" | "scatterv":
            return np.split(inputs[root], ranks)
        case "alltoall" | "alltoallv":
            return [np.concatenate([np.split(array, ranks)[rank] for array in inputs]) for rank in range(ranks)]
        case "neighbor_allgather":
            return [np.concatenate([inputs[peer] for peer in torus(ranks, rank)]) for rank in range(ranks)]
        case "neighbor_alltoall":
            blocks = [np.split(array, 4) for array in inputs]
            crossed = (1, 0, 3, 2)  # blocks sent one way arrive from the other
            return [
                np.concatenate([blocks[peer][way] for peer, way in zip(torus(ranks, rank), crossed, strict=True)])
                for rank in range(ranks)
            ]
        case _:
            raise AssertionError(collective)


def reduce_scatter(inputs: Arrays, operator: str, elements_of: int = 1) -> list[NDArray[Any]]:
    """The result of each rank: blocks of the reduced vector, as equal as possible, the larger ones first."""
    whole = reduce(OPERATORS[operator], inputs).reshape(-1, elements_of)
    return [block.reshape(-1) for block in np.array_split(whole, len(inputs))]
