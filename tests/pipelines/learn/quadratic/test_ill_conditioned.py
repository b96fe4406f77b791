"""Certificates of quadratic training on inputs whose products lose digits, against what least squares attains."""

from collections.abc import Callable

import numpy as np
import pytest

from unweave import learn  # estimators are loaded when first used
from unweave.exceptions import InvalidInput

SAMPLES, INPUTS = 200, 4


def samples(seed: int, *, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Standard normal points and labels of a polynomial of degree two."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((SAMPLES, INPUTS))
    labels = points[:, 0] ** 2 - points[:, 1] * points[:, 2] + 0.5 * points[:, 3]
    return points, labels + noise * rng.standard_normal(SAMPLES)


def attained(centred: np.ndarray, labels: np.ndarray) -> float:
    """Loss of least squares over all polynomials of degree two, in coordinates in which nothing cancels."""
    lifted = np.column_stack([centred, np.ones(len(centred))])
    left, right = np.triu_indices(lifted.shape[1])
    features = lifted[:, left] * lifted[:, right]
    residuals = labels - features @ np.linalg.lstsq(features, labels, rcond=None)[0]
    return float(np.mean(residuals**2)) / 2


def half_mean_square(model: "learn.QuadraticNetworkRegressor", points: np.ndarray, labels: np.ndarray) -> float:
    return float(np.mean((model.predict(points) - labels) ** 2)) / 2


def unix_time(points: np.ndarray) -> np.ndarray:
    return np.column_stack([1.6e9 + 1e6 * points[:, 0], points[:, 1:]])


@pytest.mark.parametrize("moved", [lambda points: points + 1e5, unix_time, lambda points: 1e-5 * points - 1.0])
def test_offsets_do_not_change_what_is_reached(moved: Callable[[np.ndarray], np.ndarray], seed: int) -> None:
    """audit A15: columns offset by 1e5 and a time in seconds were "global" far above the optimum."""
    points, labels = samples(seed, noise=0.1)
    model = learn.QuadraticNetworkRegressor(signs="both", ridge=0, fit_bias=True).fit(moved(points), labels)
    optimum = attained(points, labels)
    assert model.certificate_.lower_bound <= optimum * (1 + 1e-5)
    assert model.certificate_.loss == pytest.approx(optimum, rel=1e-5)
    assert model.certificate_.is_global
    assert model.certificate_.loss == pytest.approx(half_mean_square(model, moved(points), labels), rel=1e-9)


def test_columns_that_nearly_agree_are_told_apart(seed: int) -> None:
    """audit A15: with columns collinear to 1e-7 a loss of 1.46 was "global", while 0 is attained."""
    points, _ = samples(seed, noise=0.0)
    points[:, 3] = points[:, 2] + 1e-7 * points[:, 3]
    difference = 1e7 * (points[:, 3] - points[:, 2])
    labels = difference**2 + points[:, 0] * difference
    model = learn.QuadraticNetworkRegressor(signs="both", ridge=0).fit(points, labels)
    assert model.certificate_.lower_bound <= 1e-15
    assert model.certificate_.loss < 1e-12
    assert model.outcome_.value == "identified"
    assert model.predict(points) == pytest.approx(labels, abs=1e-6)


@pytest.mark.parametrize("closeness", [1e-3, 1e-7, 1e-10, 1e-13, 1e-14])
@pytest.mark.parametrize("fit_bias", [False, True])
def test_a_lower_bound_is_never_above_what_is_attained(closeness: float, fit_bias: bool, seed: int) -> None:
    """audit A15: directions that can't be told from rounding count as if they fitted everything."""
    points, _ = samples(seed, noise=0.0)
    hidden = points[:, 3].copy()
    points[:, 3] = points[:, 2] + closeness * hidden
    # What floats have kept of the hidden column.
    hidden = (points[:, 3] - points[:, 2]) / closeness
    labels = hidden**2 + points[:, 0] * hidden
    certificate = (
        learn.QuadraticNetworkRegressor(signs="both", ridge=0, fit_bias=fit_bias).fit(points, labels).certificate_
    )
    assert certificate.lower_bound <= 1e-12
    assert certificate.loss < 1e-8 or not certificate.is_global


def test_a_bound_of_one_sign_holds_in_skew_coordinates(seed: int) -> None:
    """A dual bound holds for all points within their rounding errors."""
    rng = np.random.default_rng(seed)
    white = rng.standard_normal((60, 3))
    teacher = (white @ rng.standard_normal(3)) ** 2
    mixing = rng.standard_normal((3, 3)) * np.array([1.0, 1e-4, 1e-8])
    model = learn.QuadraticNetworkRegressor(signs="positive").fit(white @ mixing, teacher)
    # The teacher itself has no loss.
    assert model.certificate_.lower_bound <= 1e-15
    assert model.certificate_.loss < 1e-9 or not model.certificate_.is_global


@pytest.mark.parametrize("factor", [1e200, 1e-200])
def test_inputs_and_targets_without_squares_are_named(factor: float, seed: int) -> None:
    """audit B10: `X * 1e200` ended with the ValueError or LinAlgError of some library."""
    points, labels = samples(seed, noise=0.1)
    with pytest.raises(InvalidInput, match=r"input 0 .* another unit"):
        learn.QuadraticNetworkRegressor().fit(factor * points, labels)
    with pytest.raises(InvalidInput, match=r"the target .* another unit"):
        learn.QuadraticNetworkRegressor().fit(points, factor * labels)


@pytest.mark.parametrize("factor", [1e-60, 1e60])
def test_units_do_not_matter_within_range(factor: float, seed: int) -> None:
    """audit B10: what can be squared is trained, in whatever unit."""
    points, labels = samples(seed, noise=0.1)
    plain = learn.QuadraticNetworkRegressor(signs="both", ridge=0).fit(points, labels).certificate_
    scaled = learn.QuadraticNetworkRegressor(signs="both", ridge=0).fit(factor * points, factor * labels).certificate_
    assert scaled.loss / factor**2 == pytest.approx(plain.loss, rel=1e-9)
    assert scaled.is_global
