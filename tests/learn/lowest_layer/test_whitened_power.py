import numpy as np
import pytest

from halfspace_samples import largest_angle, planted_rows
from relu_samples import power
from tensors import symmetric_noise
from unweave.exceptions import InvalidInput
from unweave.learn.lowest_layer.whitened_power import WhitenedPower, contracted_with, whitening_of


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
