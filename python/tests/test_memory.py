"""Real data: the same numbers as NumPy, bit for bit for integers."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import hocket
from tests.conftest import refusals_rejected
from tests.reference import OPERATORS, reduce_scatter, reference

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
MATRIX = 4  # numbers per matrix


def inputs_of(collective: str, ranks: int, count: int, dtype: str) -> list[NDArray[Any]]:
    blocks = ranks if collective.removesuffix("v") in ("alltoall", "scatter") else 1
    blocks = 4 if collective == "neighbor_alltoall" else blocks
    random = np.random.default_rng(ranks * 1000 + count)
    return [random.integers(0, 100, count * blocks).astype(dtype) for _ in range(ranks)]


@given(
    algorithm=st.sampled_from(hocket.catalogue()),
    ranks=st.integers(1, 17),
    count=st.integers(0, 40),
    root=st.integers(0, 16),
    dtype=st.sampled_from(INTEGERS),
    operator=st.sampled_from(sorted(set(OPERATORS) - {"matrix_product"})),
    in_place=st.booleans(),
)
@settings(max_examples=30)
def test_integers_equal_the_reference_bit_for_bit(
    algorithm: hocket.Algorithm, ranks: int, count: int, root: int, dtype: str, operator: str, in_place: bool
) -> None:
    has_root = algorithm.collective in ("broadcast", "gather", "reduce", "scatter")
    root = root % ranks if has_root else 0
    in_place = in_place and not algorithm.collective.startswith("neighbor_")
    inputs = inputs_of(algorithm.collective, ranks, count, dtype)
    with refusals_rejected(algorithm):
        results = hocket.run(algorithm, inputs, operator=operator, root=root, in_place=in_place)
    if algorithm.collective == "reduce_scatter":
        expected = reduce_scatter(inputs, operator)
    else:
        expected = reference(algorithm.collective, inputs, operator, root)
    for result, array in zip(results, expected, strict=True):
        assert result.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(result, array)


@given(
    algorithm=st.sampled_from([a for a in hocket.catalogue() if "reduce" in a.collective or "scan" in a.collective]),
    ranks=st.integers(1, 17),
    count=st.integers(1, 20),
)
@settings(max_examples=30)
def test_matrices_are_multiplied_in_rank_order(algorithm: hocket.Algorithm, ranks: int, count: int) -> None:
    flat = inputs_of(algorithm.collective, ranks, count * MATRIX, "uint64")
    matrices = [array.reshape(-1, 2, 2) for array in flat]
    with refusals_rejected(algorithm):
        results = hocket.run(algorithm, matrices, operator=np.matmul, commutative=False)
    if algorithm.collective == "reduce_scatter":
        expected = reduce_scatter(flat, "matrix_product", elements_of=MATRIX)
    else:
        expected = reference(algorithm.collective, flat, "matrix_product", 0)
    for result, array in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result.ravel(), array)


def test_what_is_no_array_is_refused() -> None:
    with pytest.raises(hocket.Error, match=r"^inputs: got list for rank 1, expected a NumPy array$"):
        hocket.run("allreduce/ring", [np.arange(2), [1, 2]])  # type: ignore[list-item]
    with pytest.raises(hocket.Error, match=r"^inputs: got NoneType, expected an array for each rank$"):
        hocket.run("allreduce/ring", None)  # type: ignore[arg-type]


def test_an_operator_that_fails_is_told() -> None:
    def operator(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
        raise ZeroDivisionError("no such element")

    with pytest.raises(ZeroDivisionError, match="no such element"):
        hocket.run("allreduce/ring", [np.arange(3), np.arange(3)], operator=operator)


def test_an_operator_that_changes_the_length_is_refused() -> None:
    with pytest.raises(hocket.Error, match="operator: got a result of 8 bytes, expected 16"):
        hocket.run("allreduce/ring", [np.arange(4), np.arange(4)], operator=lambda left, right: left[:1])


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_floats_equal_the_reference_up_to_rounding(dtype: str) -> None:
    inputs = [np.linspace(0, rank, 10).astype(dtype) for rank in range(5)]
    for result in hocket.run("allreduce/ring", inputs):
        np.testing.assert_allclose(result, sum(inputs), rtol=1e-6)


def test_big_endian_arrays_are_read_as_numbers() -> None:
    inputs = [np.arange(3, dtype=">i4"), np.arange(3, dtype=">i4")]
    np.testing.assert_array_equal(hocket.run("allreduce/ring", inputs)[0], [0, 2, 4])


def test_only_the_root_of_a_broadcast_contributes() -> None:
    results = hocket.run("broadcast/binomial", [None, np.arange(4), None], root=1)
    for result in results:
        np.testing.assert_array_equal(result, np.arange(4))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([], "got arrays of types none, expected at least one array"),
        ([np.arange(2), np.arange(2.0)], "got arrays of types float64, int64, expected at least one array, all of one"),
        ([np.array(["a"])], "got arrays of type str32, expected one of int8"),
        ([None, np.arange(2)], "got nothing from rank 0"),
        ([np.arange(2), np.arange(3)], "rank 1"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(inputs: list[NDArray[Any] | None], message: str) -> None:
    with pytest.raises(hocket.Error, match=message):
        hocket.run("allreduce/ring", inputs)


def test_an_operator_that_the_type_does_not_have_is_refused() -> None:
    with pytest.raises(hocket.Error, match="expected one of sum, prod, min, max"):
        hocket.run("allreduce/ring", [np.arange(2.0)], operator="band")
