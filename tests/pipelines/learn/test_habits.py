"""What users of scikit-learn expect of every estimator of `unweave.learn`."""

import doctest
import inspect
from datetime import date
from typing import Any

import numpy as np
import pytest

import unweave.learn
from late import sklearn
from unweave.exceptions import InvalidInput
from unweave.learn import GramLevenbergMarquardt, JointLevenbergMarquardt

# Settings with which a fit of some dozens of samples takes no time; results are not looked at.
QUICK: dict[str, dict[str, Any]] = {
    "OverparameterizedRegressor": {"solver": GramLevenbergMarquardt(steps=5)},
    "HierarchicalRegressor": {"widths": (2,), "solver": JointLevenbergMarquardt(restarts=1)},
    "HierarchicalClassifier": {"widths": (2,), "solver": JointLevenbergMarquardt(restarts=1, decay=1e-3)},
}
ESTIMATORS = tuple(name for name in unweave.learn.__all__ if name.endswith(("Regressor", "Classifier")))
ROWS, INPUTS = 120, 2
ROW, COLUMN = 17, 1


def quick(name: str) -> Any:
    return getattr(unweave.learn, name)(**QUICK.get(name, {}), random_state=0)


def samples(estimator: Any) -> tuple[np.ndarray, np.ndarray]:
    points = np.random.default_rng(0).standard_normal((ROWS, INPUTS))
    values = np.maximum(points[:, 0] - 0.4, 0.0)
    return points, np.where(values > 0, "yes", "no") if sklearn.base.is_classifier(estimator) else values


def framed(points: np.ndarray) -> Any:
    """A DataFrame of a library that scikit-learn knows by its protocols only."""
    import pyarrow

    return pyarrow.table(dict(zip(("age", "income"), points.T, strict=True)))


def test_all_estimators_are_met() -> None:
    kinds = {name: getattr(unweave.learn, name) for name in unweave.learn.__all__}
    derived = [
        name for name, kind in kinds.items() if isinstance(kind, type) and issubclass(kind, sklearn.base.BaseEstimator)
    ]
    assert len(ESTIMATORS) >= 8
    assert sorted(ESTIMATORS) == sorted(derived)


@pytest.mark.slow
@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.filterwarnings("ignore::unweave.exceptions.InputWarning")
# Some checks need packages or settings that are not there.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_common_checks_of_scikit_learn(name: str) -> None:
    from sklearn.utils.estimator_checks import check_estimator

    check_estimator(quick(name))


def test_examples_of_docstrings_run() -> None:
    """Of all public names: estimators, doors, sources of samples and what else has some."""
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    public = [getattr(module, name) for module in (unweave, unweave.learn) for name in module.__all__]
    shown = [each for each in public if isinstance(each, type) or inspect.isfunction(each)]
    examples = [example for each in shown for example in finder.find(each, each.__name__) if example.examples]
    for example in examples:
        assert runner.run(example).failed == 0, example.name
    having = {example.name.split(".")[0] for example in examples}
    assert having >= {"FrameSource", *ESTIMATORS}


@pytest.mark.filterwarnings("ignore::unweave.exceptions.InputWarning")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_cells_that_are_no_numbers_are_told_with_row_and_column(name: str) -> None:
    estimator = quick(name)
    points, labels = samples(estimator)
    for wrong in (np.nan, np.inf, -np.inf):
        holed = points.copy()
        holed[ROW, COLUMN] = wrong
        with pytest.raises(InvalidInput, match=f"X needs finite numbers, got '{wrong}' in row 17, column 1 "):
            sklearn.base.clone(estimator).fit(holed, labels)
        with pytest.raises(InvalidInput, match=f"got '{wrong}' in row 17, column 'income' "):
            sklearn.base.clone(estimator).fit(framed(holed), labels)
    texts = points.astype(object)
    texts[ROW, COLUMN] = "many"
    with pytest.raises(InvalidInput, match="got 'many' in row 17, column 1 "):
        sklearn.base.clone(estimator).fit(texts, labels)
    estimator.fit(points, labels)
    with pytest.raises(InvalidInput, match="got 'inf' in row 0, column 0 "):
        estimator.predict(np.full((1, INPUTS), np.inf))
    told = (
        "y needs a class for every sample, .* in row 17"
        if sklearn.base.is_classifier(estimator)
        else "y needs finite .* in row 17 "
    )
    for wrong in (None, np.nan):
        holed = labels.astype(object)
        holed[ROW] = wrong
        with pytest.raises(InvalidInput, match=told):
            sklearn.base.clone(estimator).fit(points, holed)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_dates_are_no_numbers(name: str) -> None:
    estimator = quick(name)
    points, labels = samples(estimator)
    days = (1000 * points).astype("M8[D]")
    with pytest.raises(InvalidInput, match="X needs numbers, got dates"):
        sklearn.base.clone(estimator).fit(days, labels)
    mixed = points.astype(object)
    mixed[ROW, COLUMN] = date(2024, 1, 1)
    with pytest.raises(TypeError, match="got '2024-01-01' in row 17, column 1 "):
        sklearn.base.clone(estimator).fit(mixed, labels)


@pytest.mark.filterwarnings("ignore::unweave.exceptions.InputWarning")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_data_frames_give_their_names_to_the_report(name: str) -> None:
    estimator = quick(name)
    points, labels = samples(estimator)
    estimator.fit(framed(points), labels)
    assert estimator.feature_names_in_.tolist() == ["age", "income"]
    assert estimator.result_.input_names == ("age", "income")
    np.testing.assert_array_equal(
        estimator.predict(framed(points)), sklearn.base.clone(estimator).fit(points, labels).predict(points)
    )
    with pytest.raises(InvalidInput, match="feature names"):
        estimator.predict(framed(points).select(["income", "age"]))
    with pytest.warns(UserWarning, match="feature names"), pytest.raises(InvalidInput, match="row 0, column 0 "):
        estimator.predict(np.full((1, 3), np.nan))


@pytest.mark.filterwarnings("ignore::unweave.exceptions.InputWarning")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_weights_of_samples_are_routed(name: str) -> None:
    """Scores are weighted where that is asked for, and fits of those estimators that take weights."""
    estimator = quick(name)
    points, labels = samples(estimator)
    weights = np.random.default_rng(1).uniform(0.1, 3.0, ROWS)
    splits = [(np.arange(0, ROWS, 2), np.arange(1, ROWS, 2))]
    takes_weights = "sample_weight" in inspect.signature(type(estimator).fit).parameters
    with sklearn.config_context(enable_metadata_routing=True):
        estimator.set_score_request(sample_weight=True)
        if takes_weights:
            estimator.set_fit_request(sample_weight=True)
        pipeline = sklearn.pipeline.make_pipeline(
            sklearn.preprocessing.StandardScaler().set_fit_request(sample_weight=False), estimator
        )
        found = sklearn.model_selection.cross_validate(
            pipeline, points, labels, cv=splits, params={"sample_weight": weights}, return_estimator=True
        )
    (train, test), (fitted,) = splits[0], found["estimator"]
    expected = fitted.score(points[test], labels[test], sample_weight=weights[test])
    assert found["test_score"][0] == pytest.approx(expected, abs=1e-12)
    if not takes_weights:
        return
    scaled = sklearn.preprocessing.StandardScaler().fit_transform(points[train])
    alone = sklearn.base.clone(estimator).fit(scaled, labels[train], sample_weight=weights[train])
    np.testing.assert_array_equal(fitted[-1].predict(scaled), alone.predict(scaled))


@pytest.mark.filterwarnings("ignore::unweave.exceptions.InputWarning")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_hidden_neurons_are_features_for_what_comes_next(name: str) -> None:
    estimator = quick(name)
    points, labels = samples(estimator)
    hidden = estimator.fit(points, labels).transform(points)
    assert hidden.shape == (ROWS, len(estimator.get_feature_names_out()))
    for library in ("pandas", "polars"):
        table = estimator.set_output(transform=library).transform(points)
        assert list(table.columns) == estimator.get_feature_names_out().tolist()
        np.testing.assert_array_equal(table.to_numpy(), hidden)
    if name in ("QuadraticNetworkRegressor", "OverparameterizedRegressor"):
        above = estimator.network_.layers[1]
        np.testing.assert_allclose((above.weights @ hidden.T)[0] + above.biases, estimator.predict(points), atol=1e-9)


def test_the_base_routes_weights_to_fits() -> None:
    from unweave.learn.base import NetworkRegressor

    class MeanRegressor(NetworkRegressor):
        """An estimator with weights, as the base allows them."""

        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "MeanRegressor":
            _, labels = self._check_samples(X, y)
            self.mean_ = np.average(labels, weights=sample_weight)
            return self

        def predict(self, X: Any) -> np.ndarray:
            return np.full(len(self._check_points(X)), self.mean_)

    points, labels = samples(MeanRegressor())
    weights = np.arange(ROWS, dtype=float)
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = sklearn.preprocessing.StandardScaler().set_fit_request(sample_weight=False)
        pipeline = sklearn.pipeline.make_pipeline(scaler, MeanRegressor().set_fit_request(sample_weight=True))
        pipeline.fit(points, labels, sample_weight=weights)
    assert pipeline[-1].mean_ == pytest.approx(np.average(labels, weights=weights))
