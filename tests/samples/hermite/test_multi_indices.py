"""Packed symmetric tensors and features against one-dimensional polynomials and brute force."""

from math import factorial

import numpy as np
import pytest
from scipy.special import eval_hermitenorm

from unweave.samples.hermite.multi_indices import (
    entry_count,
    factorials,
    full_positions,
    hermite_features,
    hermite_from_monomials,
    monomials,
    multi_indices,
    multiplicities,
    order_slice,
    positions,
    product_places,
    series_count,
)

SHAPES = [(1, 6), (2, 6), (3, 5), (5, 4), (7, 2)]


def all_indices(inputs: int, degree: int) -> list[np.ndarray]:
    return [index for order in range(degree + 1) for index in multi_indices(inputs, order)]


@pytest.mark.parametrize(("inputs", "degree"), SHAPES)
def test_hermite_features_are_products_over_coordinates(inputs: int, degree: int, seed: int) -> None:
    rows = np.random.default_rng(seed).standard_normal((inputs, 9))
    expected = [
        np.prod([eval_hermitenorm(np.sum(index == i), rows[i]) for i in range(inputs)], axis=0)
        for index in all_indices(inputs, degree)
    ]
    np.testing.assert_allclose(hermite_features(rows, degree), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("inputs", "degree"), SHAPES)
def test_monomials_carry_their_scale(inputs: int, degree: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, scale = rng.standard_normal((inputs, 9)), rng.uniform(1, 2, 9)
    expected = [scale * np.prod(rows[index], axis=0) for index in all_indices(inputs, degree)]
    np.testing.assert_allclose(monomials(rows, degree, scale=scale), expected, rtol=1e-12)


@pytest.mark.parametrize(("inputs", "degree"), SHAPES)
def test_conversion_turns_monomials_into_hermite_features(inputs: int, degree: int, seed: int) -> None:
    rows = np.random.default_rng(seed).standard_normal((inputs, 9))
    converted = hermite_from_monomials(inputs, degree) @ monomials(rows, degree)
    np.testing.assert_allclose(converted, hermite_features(rows, degree), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("inputs", "degree"), SHAPES)
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


@pytest.mark.parametrize(("left", "right"), [(1, 1), (1, 2), (2, 2), (2, 3), (3, 3)])
def test_products_of_monomials_are_where_they_are_said_to_be(left: int, right: int, seed: int) -> None:
    rows = np.random.default_rng(seed).standard_normal((3, 4))
    products = monomials(rows, left)[:, None] * monomials(rows, right)
    found = monomials(rows, left + right)[product_places(3, left, right)]
    np.testing.assert_allclose(found, products, rtol=1e-12)


def test_factorials_are_variances_of_the_features() -> None:
    nodes, weights = np.polynomial.hermite_e.hermegauss(12)
    grid = np.stack(np.meshgrid(nodes, nodes)).reshape(2, -1)
    density = np.outer(weights, weights).ravel() / (2 * np.pi)
    features = hermite_features(grid, 4)
    np.testing.assert_allclose((features * density) @ features.T, np.diag(factorials(2, 4)), atol=1e-10)
    assert factorials(2, 4).max() == factorial(4)
