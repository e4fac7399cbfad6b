"""Real data: run a collective on NumPy arrays, with every rank in this process."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from hocket import _native
from hocket._native import Error
from hocket.base.call import Call
from hocket.base.checks import function, mapping, quote, text, truth, whole
from hocket.base.packages import Lazy
from hocket.definitions.calls import guard, prepare
from hocket.definitions.library import COLLECTIVES, Algorithm, as_algorithm

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = Lazy("numpy")

_DATA_TYPES = {
    **{f"{kind}{bits}": f"{kind[0]}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    **{"float32": "f32", "float64": "f64", "complex64": "complex64", "complex128": "complex128"},
}

Combine: TypeAlias = "Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]"
"""A user's operator: takes two arrays of elements, the lower ranks' array first, and returns the combined array."""


def run(
    algorithm: Algorithm | str,
    inputs: Sequence[NDArray[Any] | None],
    *,
    operator: str | Combine = "sum",
    commutative: bool = True,
    root: int = 0,
    neighbors: str | None = None,
    in_place: bool = False,
    parameters: Mapping[str, int] | None = None,
) -> list[NDArray[Any]]:
    """Run a collective on real data and return the data that each rank receives.

    Args:
        algorithm: An algorithm, or its label such as "allreduce/ring".
        inputs: The contribution of each rank, as the MPI call takes it. All have the same size. The contribution has
            one block for each rank in an alltoall and at the root of a scatter, and one for each neighbour in a
            neighbor_alltoall. If only the root contributes, the others may be None. In a barrier all may be None, and
            each rank receives an empty array.
        operator: For numbers "sum", "prod", "min", "max", "band", "bor", "bxor", "land", "lor" or "lxor", as the type
            allows; or a function of two arrays, whose elements are then the items along the first axis.
        commutative: Whether the function commutes.
        root: The root, if the collective has one.
        neighbors: The neighbours, as in `Call`.
        in_place: Whether the input is in the result buffer.
        parameters: Values of the algorithm's parameters; the others have their defaults.

    Raises:
        Error: The algorithm, type or operator is unknown; the arrays do not fit the collective; the algorithm refuses
            the call; the data do not fit into memory; or the operator does not return an array of the type.

    Examples:
        >>> import hocket, numpy
        >>> hocket.run("allreduce/ring", [numpy.arange(3), numpy.arange(3)])[1]
        array([0, 2, 4])
        >>> turn = numpy.array([[[0, -1], [1, 0]]])
        >>> hocket.run("allreduce/linear", [turn, turn], operator=numpy.matmul, commutative=False)[0].tolist()
        [[[-1, 0], [0, -1]]]
    """
    algorithm, root = as_algorithm(algorithm), whole("root", root)
    _check_arrays(inputs)
    if not COLLECTIVES[algorithm.collective].has_size and all(array is None for array in inputs):
        inputs = [np.empty(0, np.uint8)] * len(inputs)
    dtype = _common_dtype(inputs)
    shape = () if isinstance(operator, str) else _element_shape(inputs)
    call = Call(
        ranks=len(inputs),
        size_bytes=_size_bytes(algorithm.collective, inputs, root, neighbors),
        root=root,
        neighbors=neighbors,
        element_bytes=dtype.itemsize * math.prod(shape),
        in_place=in_place,
        commutative=truth("commutative", commutative) or isinstance(operator, str),
        parameters={} if parameters is None else mapping("parameters", parameters),
    )
    request = prepare(algorithm, call)
    facts = COLLECTIVES[algorithm.collective]
    contributions = [
        _bytes(array) if facts.has_size and (rank == root or not facts.is_from_root) else b""
        for rank, array in enumerate(inputs)
    ]
    if isinstance(operator, str):
        if dtype.name not in _DATA_TYPES:
            raise Error(f"inputs: got arrays of type {dtype.name}, expected one of {', '.join(_DATA_TYPES)}")
        run_native = partial(_native.run, request, _DATA_TYPES[dtype.name], text("operator", operator))
    else:
        run_native = partial(_native.run_with, request, _on_bytes(function("operator", operator), dtype, shape))
    results = guard(algorithm, lambda: run_native(contributions))
    return [_array(result, dtype, shape) for result in results]


def _on_bytes(operator: Combine, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Callable[[bytes, bytes], bytes]:
    def combine(left: bytes, right: bytes) -> bytes:
        combined = operator(_array(left, dtype, shape), _array(right, dtype, shape))
        try:
            return np.asarray(combined, dtype).tobytes()
        except (TypeError, ValueError, OverflowError):
            raise Error(f"operator: returned {quote(combined)}, expected an array of {dtype.name}") from None

    return combine


def _check_arrays(inputs: Sequence[object]) -> None:
    if not isinstance(inputs, Sequence | np.ndarray):
        raise Error(f"inputs: got {type(inputs).__name__}, expected an array for each rank")
    for rank, array in enumerate(inputs):
        if not (array is None or isinstance(array, np.ndarray)):
            raise Error(f"inputs: got {type(array).__name__} for rank {rank}, expected a NumPy array")


def _element_shape(inputs: Sequence[NDArray[Any] | None]) -> tuple[int, ...]:
    shapes = {array.shape[1:] for array in inputs if array is not None}
    if len(shapes) != 1 or 0 in (shape := shapes.pop()):
        raise Error(
            "inputs: got arrays of different or empty shapes, expected shapes that differ only in the first axis"
        )
    return shape


def _common_dtype(inputs: Sequence[NDArray[Any] | None]) -> np.dtype[Any]:
    dtypes: set[np.dtype[Any]] = {array.dtype.newbyteorder("<") for array in inputs if array is not None}
    if len(dtypes) != 1:
        dtype_names = ", ".join(sorted(map(str, dtypes))) or "none"
        raise Error(f"inputs: got arrays of types {dtype_names}, expected at least one array, all of one type")
    return dtypes.pop()


def _size_bytes(collective: str, inputs: Sequence[NDArray[Any] | None], root: int, neighbors: str | None) -> int:
    """Return the message of the MPI call, from the contribution of the root (or of rank 0)."""
    contribution = inputs[root] if root < len(inputs) else None
    if contribution is None:
        raise Error(f"inputs: got nothing from rank {root}, expected its contribution")
    facts = COLLECTIVES[collective]
    blocks, whom = (len(inputs), "ranks") if facts.sends_blocks else (1, "")
    if collective == "neighbor_alltoall":
        blocks, whom = _native.neighbors(neighbors, len(inputs))[1], "neighbours"
    if contribution.nbytes % (blocks * contribution.itemsize):
        raise Error(f"inputs: got {contribution.size} elements, expected one block for each of {blocks} {whom}")
    return contribution.nbytes // blocks if facts.has_size else 0


def _bytes(array: NDArray[Any] | None) -> bytes:
    return b"" if array is None else array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def _array(data: bytes, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    array: NDArray[Any] = np.frombuffer(data, dtype).reshape(-1, *shape).copy()
    return array
