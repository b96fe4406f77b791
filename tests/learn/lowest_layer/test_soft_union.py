import numpy as np
import pytest

from halfspace_samples import largest_angle
from unweave.learn.lowest_layer.soft_union import SoftRules, fit_soft_union, smooth_maximum
from unweave.learn.lowest_layer.union_fits import fit_either_union, fit_union


def flipped_wedge(rng: np.random.Generator, samples: int, flips: float) -> tuple[np.ndarray, np.ndarray]:
    points = rng.standard_normal((samples, 2))
    return points, np.any(points > 0.5, axis=1) ^ (rng.random(samples) < flips)


def test_a_sharp_corner_is_near_to_the_maximum() -> None:
    arguments = np.array([[1.0, 1.0], [3.0, -2.0]])
    values, shares = smooth_maximum(arguments, 10.0)
    np.testing.assert_allclose(values, [1.0 + np.log(2) / 10, 3.0])
    np.testing.assert_allclose(shares, [[0.5, 0.5], [1.0, 0.0]], atol=1e-12)


def test_shares_of_wrong_labels_are_fitted_along(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, is_active = flipped_wedge(rng, 20_000, 0.1)
    rules = SoftRules(corner=4.0)
    start, offsets = 8 * (np.eye(2) + 0.2), np.full(2, 3.0)
    blunt = fit_soft_union(points, is_active, start, offsets, rules=rules)
    sharp = fit_soft_union(points, is_active, start, offsets, flips=(0.02, 0.02), rules=rules)
    assert sharp.flips == pytest.approx((0.1, 0.1), abs=0.02)
    assert largest_angle(np.eye(2), sharp.directions) < largest_angle(np.eye(2), blunt.directions)
    assert np.min(np.linalg.norm(sharp.slopes, axis=1)) > 3 * np.max(np.linalg.norm(blunt.slopes, axis=1))


def test_weights_count_as_repetitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, is_active = flipped_wedge(rng, 300, 0.1)
    weights = rng.integers(1, 4, 300)
    fits = [
        fit_soft_union(points, is_active, np.eye(2), np.ones(2), weights=1.0 * weights, flips=(0.1, 0.1)),
        fit_soft_union(
            np.repeat(points, weights, axis=0), np.repeat(is_active, weights), np.eye(2), np.ones(2), flips=(0.1, 0.1)
        ),
    ]
    np.testing.assert_allclose(fits[0].slopes, fits[1].slopes, rtol=1e-3)
    assert fits[0].loss == pytest.approx(fits[1].loss, rel=1e-6)


@pytest.mark.slow
def test_the_number_of_half_spaces_is_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((2_000, 3))
    is_active = np.any(np.abs(points) > 1.2, axis=1) ^ (rng.random(2_000) < 0.03)
    fit = fit_union(points, is_active, rng, neurons=None)
    nearest = np.max(np.vstack([np.eye(3), -np.eye(3)]) @ fit.layer.directions.T, axis=1)
    assert np.degrees(np.arccos(np.min(nearest))) < 10
    assert len(fit.layer.thresholds) <= 8
    assert len(fit.held_out) == 600


def test_the_convex_class_is_outside_of_the_union(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((1_000, 2))
    is_second = np.max(np.abs(points), axis=1) < 1.0
    assert not fit_either_union(points, is_second, rng, neurons=None)[0][0]
