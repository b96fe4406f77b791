from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assertions import largest_distance
from plants import unit_rows
from tensors import power, sum_of_powers, symmetric_noise
from unweave.arrays import pack, pack_squares
from unweave.exceptions import InvalidInput
from unweave.numerics.symmetric_tensors import (
    entry_count,
    flattened,
    full_positions,
    leading_directions,
    multi_indices,
    multiplicities,
    order_slice,
    pack_tensor,
    packed_power_derivatives,
    packed_powers,
    positions,
    power_coefficients,
    series_count,
    unpack_tensors,
)


@given(seed=st.integers(0, 1_000), inputs=st.integers(1, 4), order=st.integers(1, 4))
def test_packing_is_an_isometry_and_has_an_inverse(seed: int, inputs: int, order: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = symmetric_noise(rng, inputs, order), symmetric_noise(rng, inputs, order)
    np.testing.assert_allclose(pack_tensor(first) @ pack_tensor(second), np.sum(first * second), atol=1e-10)
    np.testing.assert_allclose(unpack_tensors(pack_tensor(first)[None], inputs, order)[0], first, atol=1e-14)


def test_planted_noise_is_symmetric(seed: int) -> None:
    tensor = symmetric_noise(np.random.default_rng(seed), 3, 4)
    for axes in permutations(range(4)):
        np.testing.assert_array_equal(tensor.transpose(axes), tensor)


def test_order_two_is_the_packed_layout_of_matrices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = symmetric_noise(rng, 5, 2)
    vectors = rng.normal(size=(3, 5))
    np.testing.assert_allclose(pack_tensor(matrix), pack(matrix), atol=1e-14)
    np.testing.assert_allclose(packed_powers(vectors, 2), pack_squares(vectors), atol=1e-14)


@pytest.mark.parametrize(("inputs", "order"), [(1, 3), (4, 0), (4, 1), (3, 5), (6, 2)])
def test_every_full_entry_has_one_multi_index(inputs: int, order: int) -> None:
    rows = multi_indices(inputs, order)
    assert rows.shape == (entry_count(inputs, order), order)
    assert np.sum(multiplicities(inputs, order)) == inputs**order
    assert np.all(np.diff(rows, axis=1) >= 0)


@pytest.mark.parametrize("order", [0, 1, 2, 3, 5])
def test_packed_powers_are_packed_outer_products(order: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(4, 3))
    for packed, vector in zip(packed_powers(vectors, order), vectors, strict=True):
        np.testing.assert_allclose(packed, pack_tensor(power(vector, order)), atol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_derivatives_of_powers_agree_with_differences(order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors, step = rng.normal(size=(2, 4)), 1e-6
    derivatives = packed_power_derivatives(vectors, order)
    for i in range(4):
        move = step * np.eye(4)[i]
        difference = (packed_powers(vectors + move, order) - packed_powers(vectors - move, order)) / (2 * step)
        np.testing.assert_allclose(derivatives[:, i], difference, atol=1e-7)


@pytest.mark.parametrize("orders", [(1, 2), (2, 2, 1), (3, 0, 2), (2, 3)])
def test_flattening_keeps_singular_values_of_the_full_tensor(orders: tuple[int, ...], seed: int) -> None:
    inputs = 3
    tensor = symmetric_noise(np.random.default_rng(seed), inputs, sum(orders))
    packed = flattened(tensor, orders)
    assert packed.shape == tuple(entry_count(inputs, order) for order in orders)
    rows = entry_count(inputs, orders[0])
    expected = np.linalg.svd(tensor.reshape(inputs ** orders[0], -1), compute_uv=False)
    values = np.linalg.svd(packed.reshape(rows, -1), compute_uv=False)
    np.testing.assert_allclose(values, expected[: len(values)], atol=1e-12)
    assert np.all(expected[len(values) :] < 1e-12)


@pytest.mark.parametrize("orders", [(1, 1), (2, 2), (4, -1)])
def test_groups_have_to_add_up(orders: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInput, match="groups"):
        flattened(np.zeros((2, 2, 2)), orders)


def test_axes_have_to_be_of_one_length() -> None:
    with pytest.raises(InvalidInput, match="one length"):
        flattened(np.zeros((2, 3)), (1, 1))


@pytest.mark.parametrize(("inputs", "neurons", "order"), [(5, 5, 1), (5, 4, 3), (4, 9, 2), (3, 12, 5)])
def test_coefficients_of_powers_are_found(inputs: int, neurons: int, order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors, coefficients = unit_rows(rng, neurons, inputs), rng.normal(size=neurons)
    found = power_coefficients(sum_of_powers(coefficients, vectors, order), vectors)
    np.testing.assert_allclose(found, coefficients, atol=1e-9)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_directions_of_powers_are_found(order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = unit_rows(rng, 4, 5)
    packed = rng.normal(size=(4, 1)) * packed_powers(vectors, order)
    directions, qualities = leading_directions(packed, 5, order)
    assert largest_distance(directions, vectors) < 1e-12
    np.testing.assert_allclose(qualities, 1.0, atol=1e-12)


def test_a_sum_of_two_orthogonal_powers_is_half_a_power() -> None:
    packed = packed_powers(np.eye(4)[:2], 3).sum(axis=0, keepdims=True)
    assert leading_directions(packed, 4, 3)[1][0] == pytest.approx(0.5)


@pytest.mark.parametrize(("inputs", "degree"), [(1, 6), (2, 6), (3, 5), (5, 4), (7, 2)])
def test_positions_count_the_packed_layout(inputs: int, degree: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for order in range(degree + 1):
        indices = multi_indices(inputs, order)
        assert len(indices) == entry_count(inputs, order)
        shuffled = rng.permuted(indices, axis=1)
        np.testing.assert_array_equal(positions(shuffled, inputs), np.arange(len(indices)))
    assert order_slice(inputs, degree).stop == series_count(inputs, degree)


@pytest.mark.parametrize(("inputs", "order"), [(4, 0), (4, 1), (3, 4), (2, 6)])
def test_full_tensors_hold_every_packed_entry_as_often_as_its_multiplicity(inputs: int, order: int) -> None:
    places = full_positions(inputs, order)
    assert places.shape == (inputs,) * order
    counts = np.bincount(places.ravel(), minlength=entry_count(inputs, order))
    np.testing.assert_array_equal(counts, multiplicities(inputs, order))
