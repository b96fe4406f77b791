"""Wide and hierarchical networks on samples without scale or without anything to learn: an error or a true claim."""

import numpy as np
import pytest

from unweave.exceptions import InvalidInput
from unweave.learn import HierarchicalClassifier, HierarchicalRegressor, OverparameterizedRegressor

ESTIMATORS = [OverparameterizedRegressor(random_state=0), HierarchicalRegressor((2,), random_state=0)]


def samples(seed: int) -> tuple[np.ndarray, np.ndarray]:
    points = np.random.default_rng(seed).standard_normal((60, 3))
    return points, points[:, 0] ** 2 - points[:, 1]


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("factor", [1e200, 1e-200])
def test_samples_whose_powers_are_no_floats_are_named(
    model: OverparameterizedRegressor | HierarchicalRegressor, factor: float, seed: int
) -> None:
    """audit B10: LAPACK's errors, or networks of NaN, for `X * 1e200` and `y * 1e200`."""
    points, labels = samples(seed)
    with pytest.raises(InvalidInput, match=r"input 0 .* another unit"):
        model.fit(factor * points, labels)
    with pytest.raises(InvalidInput, match=r"the target .* another unit"):
        model.fit(points, factor * labels)


def test_classes_of_points_without_powers_are_named(seed: int) -> None:
    points, labels = samples(seed)
    with pytest.raises(InvalidInput, match=r"input 0 .* another unit"):
        HierarchicalClassifier((2,)).fit(1e200 * points, labels > 0)


@pytest.mark.parametrize("constant", [0.0, 1.0, -3.0])
def test_constant_targets_have_no_features(constant: float, seed: int) -> None:
    """Features of the size of rounding errors were "identified" and "locally unique"."""
    points, _ = samples(seed)
    model = HierarchicalRegressor((2,), random_state=0).fit(points, np.full(60, constant))
    assert model.outcome_.value == "partly identified"
    assert model.certificate_.ranks == (0,)
    assert "no features" in model.result_.reason
    assert model.predict(points) == pytest.approx(np.full(60, constant), abs=1e-6 * max(1.0, abs(constant)))


@pytest.mark.parametrize("count", [10, 18, 60])
def test_zero_targets_are_met_exactly(count: int, seed: int) -> None:
    """Residuals of 1e-154, whose squares are hardly floats, were called zero."""
    points = np.random.default_rng(seed).standard_normal((count, 5))
    model = OverparameterizedRegressor(random_state=0).fit(points, np.zeros(count))
    certificate = model.certificate_
    assert certificate.is_global_minimum
    assert certificate.loss == 0.0
    assert np.all(model.predict(points) == 0.0)


def test_rounding_errors_do_not_excuse_everything(seed: int) -> None:
    """Far from zero every residual is within the rounding errors of large weights; it is no global minimum for that."""
    points, labels = samples(seed)
    far = np.round(4 * points) + 1e15
    model = OverparameterizedRegressor(random_state=0).fit(far, labels)
    error = float(np.max(np.abs(model.predict(far) - labels)))
    assert error <= 1e-5 * float(np.max(np.abs(labels))) or not model.certificate_.is_global_minimum
