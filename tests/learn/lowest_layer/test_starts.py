import numpy as np
import pytest

from unweave.exceptions import InvalidInput
from unweave.learn.lowest_layer.starts import hermite_cumulants, symmetrised, with_mean
from unweave.numerics.symmetric_tensors import series_count
from unweave.samples.hermite.inputs import Coordinates
from unweave.samples.hermite.moments import HermiteMoments, LabelMoments
from unweave.samples.sources import ArraySource
from unweave.samples.sums import accumulate


def moments_of(points: np.ndarray, labels: np.ndarray) -> HermiteMoments:
    return (
        accumulate(ArraySource(points, labels), LabelMoments(Coordinates.identity(points.shape[1]), 4)).finalise().whole
    )


def log_series(moments: HermiteMoments, z: np.ndarray) -> float:
    total, factor = 0.0, 1.0
    for order in range(5):
        tensor = moments.tensor(order)
        for _ in range(order):
            tensor = tensor @ z
        factor = factor / order if order else 1.0
        total += float(tensor) * factor
    return np.log(total)


def test_cumulants_are_derivatives_of_the_logarithm_of_the_series(seed: int) -> None:
    rng = np.random.default_rng(seed)
    packed = 0.3 * rng.standard_normal(series_count(2, 4))
    packed[0] = 1.3
    moments = HermiteMoments(2, 4, packed)
    found = hermite_cumulants(moments)
    direction = rng.standard_normal(2)
    # A polynomial through enough values on a line has the derivatives as coefficients.
    steps = np.linspace(-0.05, 0.05, 13)
    values = [log_series(moments, s * direction) for s in steps]
    fitted = np.polynomial.Polynomial.fit(steps, values, 10).convert().coef
    for order, factorial in enumerate([1, 1, 2, 6, 24]):
        tensor = found.tensor(order)
        for _ in range(order):
            tensor = tensor @ direction
        assert float(tensor) == pytest.approx(fitted[order] * factorial, rel=1e-3, abs=1e-5)


def test_products_of_independent_factors_leave_no_cross_terms(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # All pairs of two samples of coordinates: the empirical distribution is a product exactly.
    one, other = rng.standard_normal((2, 40))
    points = np.array([[a, b] for a in one for b in other])
    labels = ((points[:, 0] < 0.5) & (points[:, 1] < 0.2)).astype(float)
    cumulants = hermite_cumulants(moments_of(points, labels))
    assert abs(cumulants.tensor(2)[0, 1]) < 1e-12
    assert np.max(np.abs(cumulants.tensor(3)[0, 1])) < 1e-12
    assert abs(cumulants.tensor(4)[0, 0, 1, 1]) < 1e-12
    assert abs(moments_of(points, labels).tensor(4)[0, 0, 1, 1]) > 1e-6


def test_a_constant_changes_order_zero_only(seed: int) -> None:
    rng = np.random.default_rng(seed)
    moments = HermiteMoments(3, 2, rng.standard_normal(series_count(3, 2)))
    shifted = with_mean(moments, 2.5)
    assert shifted.entries(0)[0] == 2.5
    np.testing.assert_array_equal(shifted.packed[1:], moments.packed[1:])


def test_symmetrised_tensors_are_symmetric(seed: int) -> None:
    tensor = symmetrised(np.random.default_rng(seed).standard_normal((3, 3, 3)))
    np.testing.assert_allclose(tensor, np.transpose(tensor, (2, 0, 1)), atol=1e-15)


def test_a_mean_that_is_not_positive_is_refused() -> None:
    with pytest.raises(InvalidInput, match="positive mean"):
        hermite_cumulants(HermiteMoments(1, 2, np.array([0.0, 1.0, 1.0])))
