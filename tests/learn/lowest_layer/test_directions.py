from math import factorial

import numpy as np
import pytest
from scipy.special import log_ndtr

from halfspace_samples import largest_angle, planted_rows
from relu_samples import power
from tensors import symmetric_noise
from unweave.exceptions import InvalidInput
from unweave.learn.lowest_layer.directions import (
    WhitenedPower,
    contracted_with,
    oriented_by_cumulants,
    oriented_by_moments,
    whitening_of,
)
from unweave.learn.lowest_layer.units import UNITS, monic_coefficients
from unweave.numerics.symmetric_tensors import multi_indices
from unweave.samples.hermite.moments import HermiteMoments


def tensor_of(rows: np.ndarray, coefficients: np.ndarray, order: int) -> np.ndarray:
    return sum(c * power(row, order) for c, row in zip(coefficients, rows, strict=True))


@pytest.mark.parametrize("order", [3, 4])
@pytest.mark.parametrize("sign", [1, -1])
def test_rows_of_exact_tensors_are_exact(order: int, sign: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = planted_rows(rng, 5, 7, mixing=0.4)
    second = tensor_of(rows, sign * rng.uniform(0.5, 2, 5), 2)
    tensor = tensor_of(rows, sign * rng.uniform(0.5, 2, 5), order)
    found = WhitenedPower()(second, tensor, rng, rank=5)
    assert largest_angle(rows, found.directions, is_signed=False) < 1e-5
    assert found.whitening.sign == sign
    assert found.whitening.is_definite


def test_noise_disturbs_rows_in_proportion(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = planted_rows(rng, 4, 4, mixing=0.2)
    second, third = (tensor_of(rows, np.ones(4), order) for order in (2, 3))
    noise = symmetric_noise(rng, 4, 3)
    angles = [
        largest_angle(rows, WhitenedPower()(second, third + size * noise, rng, rank=4).directions, is_signed=False)
        for size in (1e-4, 1e-3)
    ]
    assert 3 < angles[1] / angles[0] < 30


def test_whitening_makes_order_two_the_identity(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = planted_rows(rng, 3, 5, mixing=0.5)
    second = tensor_of(rows, np.array([0.5, 1.0, 2.0]), 2)
    whitening = whitening_of(second, rank=3)
    np.testing.assert_allclose(contracted_with(second, whitening.to_white), np.eye(3), atol=1e-12)
    np.testing.assert_allclose(whitening.from_white.T @ whitening.to_white, np.eye(3), atol=1e-12)


def test_coefficients_of_both_signs_are_refused(seed: int) -> None:
    rng = np.random.default_rng(seed)
    second = tensor_of(planted_rows(rng, 3, 3), np.array([2.0, 1.0, -0.5]), 2)
    with pytest.raises(InvalidInput, match="eigenvalues of one sign, got 2"):
        whitening_of(second, rank=3)


def packed(tensors: list[np.ndarray], inputs: int) -> HermiteMoments:
    parts = [np.atleast_1d(t[tuple(multi_indices(inputs, k).T)]) for k, t in enumerate(tensors)]
    return HermiteMoments(inputs, len(tensors) - 1, np.concatenate(parts))


@pytest.mark.parametrize("name", UNITS)
def test_exact_moments_give_signs_thresholds_and_coefficients(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = planted_rows(rng, 3, 3, mixing=0.4)
    thresholds, weights = np.array([1.3, 2.0, 2.6]), np.array([0.7, 1.5, -1.0])
    factors = np.array([monic_coefficients(UNITS[name], t, 3) for t in thresholds])
    tensors = [
        np.asarray(sum(c * f[k] * power(row, k) for c, f, row in zip(weights, factors, rows, strict=True)))
        for k in range(4)
    ]
    signs = rng.choice([-1.0, 1.0], 3)[:, None]
    found = oriented_by_moments(packed(tensors, 3), signs * rows, UNITS[name])
    np.testing.assert_allclose(found.directions, rows, atol=1e-12)
    np.testing.assert_allclose(found.thresholds, thresholds, atol=1e-8)
    np.testing.assert_allclose(found.coefficients, weights, rtol=1e-7)


def test_cumulants_of_a_truncation_give_signs_and_thresholds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, thresholds = planted_rows(rng, 2, 2), np.array([0.5, 2.0])
    tensors = [np.array(0.0)]
    for order in (1, 2, 3):
        # Derivatives of log Phi(t - z) at zero by a polynomial through exact values.
        total = np.zeros((2,) * order)
        for row, t in zip(rows, thresholds, strict=True):
            steps = np.linspace(-0.4, 0.4, 21)
            fit = np.polynomial.Polynomial.fit(steps, log_ndtr(t - steps), 14).convert().coef
            total = total + fit[order] * factorial(order) * power(row, order)
        tensors.append(total)
    found = oriented_by_cumulants(packed(tensors, 2), -rows)
    np.testing.assert_allclose(found.directions, rows, atol=1e-12)
    np.testing.assert_allclose(found.thresholds, thresholds, atol=1e-5)
