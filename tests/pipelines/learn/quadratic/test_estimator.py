import pickle
import warnings
from typing import Any

import numpy as np
import pytest

from squares import planted_rank, random_labels
from unweave import learn  # estimators are loaded when first used
from unweave.exceptions import InvalidInput, NotIdentified
from unweave.learn.quadratic.lifted import LiftedSemidefinite
from unweave.learn.quadratic.search import TrustRegion
from unweave.learn.quadratic.train import DirectTraining
from unweave.result import Outcome

# Conventions do not need the last digits.
ROUGH = LiftedSemidefinite(steps=20, first_round=20, finish=TrustRegion(steps=2, gap_tol=0.0))


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize(
    "settings",
    [
        *(pytest.param({"fit_bias": has_bias}, marks=pytest.mark.slow) for has_bias in (False, True)),
        {"signs": "both", "fit_bias": True, "solver": DirectTraining(semidefinite=ROUGH)},
    ],
    ids=["defaults", "fit_bias", "few steps"],
)
def test_scikit_learn_accepts_the_estimator(settings: dict[str, Any]) -> None:
    from sklearn.exceptions import SkipTestWarning
    from sklearn.utils.estimator_checks import check_estimator

    with warnings.catch_warnings():
        # Checks of packages that are not installed are skipped with a warning.
        warnings.simplefilter("ignore", SkipTestWarning)
        check_estimator(learn.QuadraticNetworkRegressor(**settings))


def test_random_labels_are_fitted_with_a_certificate(seed: int) -> None:
    problem = random_labels(seed, samples=133, inputs=20)
    model = learn.QuadraticNetworkRegressor(ridge=0).fit(problem.points, problem.labels)
    assert model.certificate_.is_global
    assert model.certificate_.is_zero
    assert model.certificate_.loss <= 1e-16
    assert np.allclose(model.predict(problem.points), problem.labels, atol=1e-10)
    # Zero loss is not recovery: other quadratic forms fit these labels, too.
    assert model.outcome_ is Outcome.PARTLY_IDENTIFIED
    assert "do not determine" in model.result_.reason
    with pytest.raises(NotIdentified, match="133 samples do not determine"):
        model.result_.require()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_low_rank_teachers_are_identified_below_the_dimension(sign: float, seed: int) -> None:
    problem, matrix = planted_rank(seed, samples=50, inputs=10, rank=2, sign=sign)
    model = learn.QuadraticNetworkRegressor().fit(problem.points, problem.labels)
    assert model.outcome_ is Outcome.IDENTIFIED
    assert np.allclose(model.matrix_, matrix, atol=1e-10)
    assert np.all(np.sign(model.output_weights_) == sign)
    assert model.certificate_.uniqueness_margin > 0
    fresh = np.random.default_rng([seed, 9]).standard_normal((20, 10))
    assert np.allclose(model.predict(fresh), np.sum((fresh @ matrix) * fresh, axis=1), atol=1e-9)
    assert any("both choices were trained" in note for note in model.result_.notes)


def test_indefinite_teachers_need_and_get_more_samples_than_products(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((6, 6))
    points, matrix = rng.standard_normal((30, 6)), matrix + matrix.T
    labels = np.sum((points @ matrix) * points, axis=1)
    model = learn.QuadraticNetworkRegressor().fit(points, labels)
    assert model.outcome_ is Outcome.IDENTIFIED
    assert np.allclose(model.matrix_, matrix, atol=1e-10)
    # As many samples as numbers fit anything: that confirms nothing.
    exact = learn.QuadraticNetworkRegressor(ridge=0).fit(points[:21], labels[:21])
    assert exact.outcome_ is Outcome.PARTLY_IDENTIFIED
    assert "nothing confirms it" in exact.result_.reason


def test_noise_is_not_called_a_network(seed: int) -> None:
    problem = random_labels(seed, samples=60, inputs=5)
    model = learn.QuadraticNetworkRegressor(ridge=0).fit(problem.points, problem.labels)
    rows = np.array([np.outer(x, x).ravel() for x in problem.points])
    residuals = rows @ np.linalg.lstsq(rows, problem.labels, rcond=None)[0] - problem.labels
    assert model.certificate_.loss == pytest.approx(problem.loss_of(residuals), abs=1e-10)
    assert model.certificate_.lower_bound == pytest.approx(problem.loss_of(residuals), abs=1e-10)
    assert model.outcome_ is Outcome.PARTLY_IDENTIFIED
    assert "noise" in model.result_.reason


def test_one_sign_with_wrong_labels_gives_the_true_optimum_and_the_floor(seed: int) -> None:
    problem = random_labels(seed, samples=30, inputs=5)
    model = learn.QuadraticNetworkRegressor(signs="positive", trace_penalty=0).fit(problem.points, problem.labels)
    floor = np.sum(np.minimum(problem.labels, 0.0) ** 2) / 60
    assert model.certificate_.is_global
    assert model.certificate_.lower_bound >= floor
    assert any(f"{floor:.3e}" in note for note in model.result_.notes)


def test_too_few_neurons_are_not_guaranteed_anything(seed: int) -> None:
    problem = random_labels(seed, samples=40, inputs=5)
    model = learn.QuadraticNetworkRegressor(2, signs="both", random_state=seed).fit(problem.points, problem.labels)
    assert model.outcome_ is Outcome.NOT_IDENTIFIED
    assert any(note.startswith("no guarantee: 1 positive and 1 negative") for note in model.result_.notes)
    assert "give 5 neurons of each sign" in model.result_.reason
    assert model.certificate_.lower_bound < model.certificate_.loss


def test_too_few_neurons_may_still_be_certified(seed: int) -> None:
    problem, matrix = planted_rank(seed, samples=50, inputs=8, rank=1)
    model = learn.QuadraticNetworkRegressor(output_weights=[2.0]).fit(problem.points, problem.labels)
    assert model.certificate_.regime == "no guarantee"
    assert model.outcome_ is Outcome.IDENTIFIED
    assert np.allclose(model.matrix_, matrix, atol=1e-10)


def test_biases_give_all_terms_of_degree_two(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((40, 3))
    labels = 1.0 + points @ [1.0, -2.0, 0.5] + points[:, 0] * points[:, 2]
    model = learn.QuadraticNetworkRegressor(fit_bias=True).fit(points, labels)
    assert model.outcome_ is Outcome.IDENTIFIED
    fresh = rng.standard_normal((10, 3))
    expected = 1.0 + fresh @ [1.0, -2.0, 0.5] + fresh[:, 0] * fresh[:, 2]
    assert np.allclose(model.predict(fresh), expected, atol=1e-9)


def test_fewer_samples_than_inputs_are_fitted_and_explained(seed: int) -> None:
    problem = random_labels(seed, samples=3, inputs=6)
    model = learn.QuadraticNetworkRegressor().fit(problem.points, problem.labels)
    assert model.certificate_.is_zero
    assert any("span 3 of 6 directions" in note for note in model.result_.notes)


def test_constant_columns_are_explained(seed: int) -> None:
    problem = random_labels(seed, samples=10, inputs=5)
    points = problem.points.copy()
    points[:, 3] = 0.0
    model = learn.QuadraticNetworkRegressor().fit(points, problem.labels)
    assert np.allclose(model.network_.layers[0].weights[:, 3], 0.0)
    assert any(note.startswith("columns that are zero: 1") for note in model.result_.notes)


def test_numbers_that_are_none_are_refused() -> None:
    points, labels = np.ones((4, 2)), np.ones(4)
    points[2, 1] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        learn.QuadraticNetworkRegressor().fit(points, labels)
    with pytest.raises(ValueError, match="y contains NaN"):
        learn.QuadraticNetworkRegressor().fit(np.ones((4, 2)), np.array([1.0, 2.0, np.nan, 0.0]))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"signs": "some"}, "one of auto, both, positive, negative"),
        ({"neurons": 0}, "at least 1, got 0"),
        ({"neurons": 3, "output_weights": [1.0]}, "leave neurons and signs"),
        ({"neurons": 1, "signs": "both"}, "at least 2 neurons"),
        ({"output_weights": [0.0, 0.0]}, "not zero, got 2 zeros"),
        ({"output_weights": [1.0, np.nan]}, "finite"),
    ],
)
def test_wrong_settings_are_refused(settings: dict, words: str, seed: int) -> None:
    problem = random_labels(seed, samples=5, inputs=3)
    with pytest.raises(InvalidInput, match=words):
        learn.QuadraticNetworkRegressor(**settings).fit(problem.points, problem.labels)


@pytest.mark.parametrize("solver", [TrustRegion(), DirectTraining(starts=1)])
def test_solvers_can_be_chosen_and_results_travel(solver: object, seed: int) -> None:
    problem = random_labels(seed, samples=12, inputs=5)
    model = learn.QuadraticNetworkRegressor(ridge=0, solver=solver, random_state=seed).fit(
        problem.points, problem.labels
    )
    assert model.certificate_.is_global
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict(problem.points), model.predict(problem.points))
    assert set(model.result_.seconds) == {"conditions", "training", "certificate"}
