import numpy as np
import pytest

from halfspace_samples import largest_angle, near, planted_rows, values_of, with_pairs
from unweave.activations import RELU
from unweave.learn.lowest_layer.local_relu import regress_units


def test_exact_labels_give_exact_units_under_products(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = planted_rows(rng, 4, 5, mixing=0.3)
    points = rng.standard_normal((20_000, 5))
    labels = with_pairs(values_of(points, rows, 1.2, RELU))
    fit = regress_units(points, labels, near(rng, rows, 0.02), np.full(4, 1.18), np.ones(4), is_exact=True)
    assert np.max(np.linalg.norm(fit.directions - rows, axis=1)) < 1e-12
    np.testing.assert_allclose(fit.thresholds, 1.2, atol=1e-12)
    np.testing.assert_allclose(fit.coefficients, 1.0, atol=1e-12)


@pytest.mark.parametrize("noise", [0.01, 0.1])
def test_noise_disturbs_rows_as_the_errors_say(noise: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = planted_rows(rng, 3, 4)
    points = rng.standard_normal((30_000, 4))
    labels = values_of(points, rows, 1.0, RELU).sum(axis=1) + noise * rng.standard_normal(30_000)
    fit = regress_units(points, labels, rows, np.full(3, 1.0), np.ones(3), is_exact=False)
    angle = np.radians(largest_angle(rows, fit.directions))
    assert angle < 3 * np.max(fit.angle_errors)
    assert np.max(fit.angle_errors) < 0.2 * noise
    np.testing.assert_allclose(fit.residuals, noise, rtol=0.1)


def test_units_without_samples_stay_as_they_were(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = planted_rows(rng, 2, 3)
    points = rng.standard_normal((500, 3))
    fit = regress_units(points, np.zeros(500), rows, np.full(2, 9.0), np.array([1.0, 2.0]), is_exact=True)
    np.testing.assert_array_equal(fit.directions, rows)
    np.testing.assert_array_equal(fit.coefficients, [1.0, 2.0])
    assert np.all(np.isinf(fit.angle_errors))
