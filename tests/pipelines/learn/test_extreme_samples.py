"""Wide and hierarchical networks on samples without scale or without anything to learn: an error or a true claim."""

from typing import Any

import numpy as np
import pytest

from unweave import learn  # estimators are loaded when first used
from unweave.exceptions import InvalidInput
from unweave.result import Outcome
from unweave.samples.sources import ArraySource

# With settings of which fits take no time; results are not looked at.
SETTINGS: dict[str, dict[str, Any]] = {
    "HierarchicalRegressor": {"widths": (2,)},
    "HierarchicalClassifier": {"widths": (2,)},
}
REGRESSORS = ("OverparameterizedRegressor", "HierarchicalRegressor", "ReluNetworkRegressor", "LowestLayerRegressor")


def estimator(name: str) -> Any:
    return getattr(learn, name)(**SETTINGS.get(name, {}), random_state=0)


def samples(seed: int) -> tuple[np.ndarray, np.ndarray]:
    points = np.random.default_rng(seed).standard_normal((60, 3))
    return points, points[:, 0] ** 2 - points[:, 1]


@pytest.mark.parametrize("model", REGRESSORS)
@pytest.mark.parametrize("factor", [1e200, 1e-200])
def test_samples_whose_powers_are_no_floats_are_named(model: str, factor: float, seed: int) -> None:
    """audit B10: LAPACK's errors, or networks of NaN, for `X * 1e200` and `y * 1e200`."""
    points, labels = samples(seed)
    with pytest.raises(InvalidInput, match=r"input 0 .* another unit"):
        estimator(model).fit(factor * points, labels)
    with pytest.raises(InvalidInput, match=r"the target .* another unit"):
        estimator(model).fit(points, factor * labels)


@pytest.mark.parametrize("model", ["HierarchicalClassifier", "HalfspaceUnionClassifier"])
@pytest.mark.parametrize("factor", [1e200, 1e-200])
def test_classes_of_points_without_powers_are_named(model: str, factor: float, seed: int) -> None:
    """audit B10: half spaces called inputs of 1e-200 constant."""
    points, labels = samples(seed)
    with pytest.raises(InvalidInput, match=r"input 0 .* another unit"):
        estimator(model).fit(factor * points, labels > 0)


@pytest.mark.parametrize(("axis", "factor"), [(0, 1e200), (0, 1e-200), (1, 1e200), (1, 1e-200)])
def test_streams_whose_moments_are_no_floats_are_named(axis: int, factor: float, seed: int) -> None:
    """audit B10: LAPACK's error, "constant" inputs, or "an affine function" of labels of 1e-200."""
    from unweave.learn.relu_network.estimator import ReluLearner

    points, labels = (np.tile(each, (5, 1) if each.ndim == 2 else 5) for each in samples(seed))
    points = points + 1e-3 * np.random.default_rng(seed).standard_normal(points.shape)
    scaled = (factor * points, labels) if axis == 0 else (points, factor * labels)
    with pytest.raises(InvalidInput, match="another unit"):
        ReluLearner()(ArraySource(*scaled), inputs=3)


@pytest.mark.parametrize("offset", [0.0, 1e5, -1e9, 1e10, 1e12, 1e16])
def test_labels_far_from_zero_are_no_affine_function(offset: float, seed: int) -> None:
    """ "The labels are an affine function" of two neurons with an offset of 1e10, whose spread was called rounding."""
    points = np.random.default_rng(seed).standard_normal((1_000, 3))
    labels = 2.0 * np.maximum(points[:, 0] + 0.3, 0.0) - np.maximum(points[:, 1], 0.0)
    model = learn.ReluNetworkRegressor(random_state=0).fit(points, labels + offset)
    if offset < 1e16:
        assert model.network_.widths == (2,)
        assert np.max(np.abs(model.predict(points) - (labels + offset))) < 1e-15 * max(abs(offset), 10.0)
    else:
        # No digits are left of the labels.
        assert model.outcome_ is Outcome.NOT_IDENTIFIED


def test_constant_labels_are_an_affine_function(seed: int) -> None:
    points = np.random.default_rng(seed).standard_normal((400, 3))
    assert learn.ReluNetworkRegressor(random_state=0).fit(points, np.full(400, 1e10)).outcome_ is Outcome.IDENTIFIED


def test_inputs_that_are_all_constant_have_a_form(seed: int) -> None:
    labels = np.random.default_rng(seed).standard_normal(300)
    model = learn.QuadraticNetworkRegressor().fit(np.ones((300, 2)), labels)
    assert model.outcome_ is not Outcome.IDENTIFIED
    assert np.ptp(model.predict(np.ones((3, 2)))) == 0.0


@pytest.mark.parametrize(
    "model", ["OverparameterizedRegressor", "QuadraticNetworkRegressor", "HalfspaceUnionClassifier"]
)
def test_more_neurons_than_memory_has_room_for_are_refused(model: str, seed: int) -> None:
    """Half spaces took 7 GB and went on, networks of squares ended with a MemoryError after a minute."""
    points, labels = samples(seed)
    with pytest.raises(InvalidInput, match="1000000000"):
        getattr(learn, model)(neurons=10**9).fit(points, labels > 0)


@pytest.mark.parametrize("constant", [0.0, 1.0, -3.0])
def test_constant_targets_have_no_features(constant: float, seed: int) -> None:
    """Features of the size of rounding errors were "identified" and "locally unique"."""
    points, _ = samples(seed)
    model = learn.HierarchicalRegressor((2,), random_state=0).fit(points, np.full(60, constant))
    assert model.outcome_.value == "partly identified"
    assert model.certificate_.ranks == (0,)
    assert "no features" in model.result_.reason
    assert model.predict(points) == pytest.approx(np.full(60, constant), abs=1e-6 * max(1.0, abs(constant)))


@pytest.mark.parametrize("count", [10, 18, 60])
def test_zero_targets_are_met_exactly(count: int, seed: int) -> None:
    """Residuals of 1e-154, whose squares are hardly floats, were called zero."""
    points = np.random.default_rng(seed).standard_normal((count, 5))
    model = learn.OverparameterizedRegressor(random_state=0).fit(points, np.zeros(count))
    certificate = model.certificate_
    assert certificate.is_global_minimum
    assert certificate.loss == 0.0
    assert np.all(model.predict(points) == 0.0)


def test_rounding_errors_do_not_excuse_everything(seed: int) -> None:
    """Far from zero every residual is within the rounding errors of large weights; it is no global minimum for that."""
    points, labels = samples(seed)
    far = np.round(4 * points) + 1e15
    model = learn.OverparameterizedRegressor(random_state=0).fit(far, labels)
    error = float(np.max(np.abs(model.predict(far) - labels)))
    assert error <= 1e-5 * float(np.max(np.abs(labels))) or not model.certificate_.is_global_minimum
