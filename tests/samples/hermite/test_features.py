"""Monomials and Hermite features against one-dimensional polynomials and brute force."""

from math import factorial

import numpy as np
import pytest
from scipy.special import eval_hermitenorm

from unweave.numerics.symmetric_tensors import factorials, multi_indices
from unweave.samples.hermite.moments import hermite_features, hermite_from_monomials, monomials, product_places

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
