import numpy as np
import pytest

from unweave import learn  # estimators are loaded when first used
from unweave.exceptions import InvalidInput
from unweave.learn.overparameterized.descent import GradientDescent
from unweave.learn.overparameterized.newton import GramLevenbergMarquardt
from unweave.result import Outcome, Verdict


def random_samples(seed: int, samples: int = 40, inputs: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((samples, inputs)), rng.standard_normal(samples)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.usefixtures("without_type_checks")
def test_scikit_learn_accepts_the_estimator() -> None:
    from sklearn.utils.estimator_checks import check_estimator

    check_estimator(learn.OverparameterizedRegressor(solver=GramLevenbergMarquardt(steps=5), random_state=0))


@pytest.mark.parametrize("activation", ["softplus(10.0)", "tanh", "gelu", "silu", "sigmoid", "quadratic"])
@pytest.mark.parametrize("fit_bias", [True, False])
def test_random_labels_are_fitted_with_a_certificate(activation: str, fit_bias: bool, seed: int) -> None:
    X, y = random_samples(seed, samples=18)
    model = learn.OverparameterizedRegressor(activation=activation, fit_bias=fit_bias, ridge=0, random_state=seed).fit(
        X, y
    )
    assert model.certificate_.is_global_minimum
    assert model.outcome_ is Outcome.PARTLY_IDENTIFIED
    assert "one of many" in model.result_.reason
    assert np.allclose(model.predict(X), y, atol=1e-10)
    assert np.all((model.network_.layers[0].biases == 0) == (not fit_bias))
    assert model.result_.samples == 18
    assert len(model.certificate_.statements()) == 4


def test_units_do_not_matter(seed: int) -> None:
    X, y = random_samples(seed)
    centre, scale = np.array([0, 5.0, -3, 100, 0, 1]), np.array([1, 1e-3, 10, 1e3, 1, 5])
    plain = learn.OverparameterizedRegressor(ridge=0, random_state=seed).fit(X, y)
    moved = learn.OverparameterizedRegressor(ridge=0, random_state=seed).fit(X * scale + centre, 1e4 * y)
    fresh, _ = random_samples(seed + 1)
    assert moved.certificate_.is_global_minimum
    assert np.allclose(moved.predict(fresh * scale + centre), 1e4 * plain.predict(fresh), rtol=1e-5, atol=1e-2)


def test_a_planted_network_is_identified_from_enough_samples(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((120, 4))
    weights = rng.standard_normal((2, 4))
    y = np.tanh(X @ weights.T) @ np.array([1.5, -0.7])
    model = learn.OverparameterizedRegressor(2, activation="tanh", fit_bias=False, starts=20, random_state=seed).fit(
        X, y
    )
    assert model.outcome_ is Outcome.IDENTIFIED
    assert model.result_.require().is_identified
    fresh = rng.standard_normal((50, 4))
    assert np.allclose(model.predict(fresh), np.tanh(fresh @ weights.T) @ np.array([1.5, -0.7]), atol=1e-8)


def test_too_few_neurons_are_told_from_a_global_minimum(seed: int) -> None:
    X, y = random_samples(seed)
    model = learn.OverparameterizedRegressor(2, random_state=seed, starts=1).fit(X, y)
    assert model.outcome_ is Outcome.NOT_IDENTIFIED
    assert "take more neurons" in model.result_.reason
    assert f"{model.certificate_.loss:.3g}" in model.result_.reason
    assert np.mean((model.predict(X) - y) ** 2) / 2 == pytest.approx(model.certificate_.loss)


def test_conflicting_and_constant_and_few_samples_are_named(seed: int) -> None:
    X, y = random_samples(seed)
    X[1], X[:, 2] = X[0], 3.0
    model = learn.OverparameterizedRegressor(
        ridge=0, random_state=seed, starts=1, solver=GramLevenbergMarquardt(steps=30)
    ).fit(X, y)
    verdicts = {diagnostic.name: diagnostic.verdict for diagnostic in model.result_.diagnostics}
    assert verdicts["conflicting samples"] is Verdict.FAIL
    assert verdicts["constant inputs"] is Verdict.WEAK
    assert model.outcome_ is Outcome.NOT_IDENTIFIED
    few = learn.OverparameterizedRegressor(random_state=seed).fit(*random_samples(seed, samples=4))
    assert {part.name: part.verdict for part in few.result_.diagnostics}["samples per input"] is Verdict.WEAK
    assert few.certificate_.is_global_minimum


def test_gradient_descent_is_a_solver_too(seed: int) -> None:
    from sklearn.base import clone

    X, y = random_samples(seed, samples=12)
    solver = GradientDescent(is_adaptive=True, steps=3_000, loss_tol=1e-8)
    model = learn.OverparameterizedRegressor(60, activation="tanh", solver=solver, starts=1, random_state=seed).fit(
        X, y
    )
    assert model.score(X, y) > 0.999
    # A small loss is not a certificate.
    assert not model.certificate_.is_global_minimum
    assert model.outcome_ is Outcome.NOT_IDENTIFIED
    assert clone(model).solver == solver


def test_fixed_outputs_stay(seed: int) -> None:
    X, y = random_samples(seed, samples=15)
    model = learn.OverparameterizedRegressor(20, trains_outputs=False, random_state=seed).fit(X, y)
    heights = np.abs(model.network_.layers[1].weights[0])
    assert np.allclose(heights, heights[0])
    assert model.certificate_.is_global_minimum


@pytest.mark.parametrize(("settings", "message"), [({"neurons": 0}, "neurons"), ({"starts": 0}, "starts")])
def test_settings_that_make_no_sense_are_refused(settings: dict, message: str, seed: int) -> None:
    with pytest.raises(InvalidInput, match=message):
        learn.OverparameterizedRegressor(**settings).fit(*random_samples(seed))


def test_samples_that_are_not_numbers_are_refused(seed: int) -> None:
    X, y = random_samples(seed)
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        learn.OverparameterizedRegressor().fit(X, y)


@pytest.mark.parametrize("split", range(3))
def test_real_labels_are_never_worse_than_their_mean(split: int) -> None:
    from sklearn.datasets import load_diabetes
    from sklearn.model_selection import train_test_split

    points, labels = load_diabetes(return_X_y=True)
    points, fresh, labels, truth = train_test_split(points, labels, random_state=split)
    model = learn.OverparameterizedRegressor(random_state=0).fit(points, labels)
    assert model.ridge_ > 0
    assert model.score(fresh, truth) > 0.2
    assert model.outcome_ is Outcome.NOT_IDENTIFIED
    assert "ridge" in model.result_.reason
    assert np.mean((model.predict(points) - labels) ** 2) / 2 == pytest.approx(model.certificate_.loss)


def test_exact_labels_are_met(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((150, 3))
    model = learn.OverparameterizedRegressor(random_state=seed).fit(X, np.tanh(X @ [1.0, -0.5, 0.3]))
    assert model.ridge_ == 0
    assert model.certificate_.is_global_minimum


def test_a_ridge_is_that_of_scikit_learn(seed: int) -> None:
    from sklearn.linear_model import Ridge

    X, y = random_samples(seed)
    model = learn.OverparameterizedRegressor(25, ridge=0.1, fit_bias=False, random_state=seed).fit(X, y)
    hidden = np.logaddexp(0.0, 10 * X @ model.network_.layers[0].weights.T) / 10
    unit = np.sqrt(np.mean(y**2))
    reference = Ridge(alpha=0.1 * len(y), fit_intercept=False).fit(hidden, y / unit)
    np.testing.assert_allclose(model.predict(X), unit * reference.predict(hidden), atol=1e-10)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ridge": -1.0}, "ridge needs"),
        ({"ridge": "x"}, "ridge needs"),
        ({"ridge": 1, "trains_outputs": False}, "trained"),
    ],
)
@pytest.mark.usefixtures("without_type_checks")
def test_ridges_that_make_no_sense_are_refused(settings: dict, message: str, seed: int) -> None:
    with pytest.raises(InvalidInput, match=message):
        learn.OverparameterizedRegressor(**settings).fit(*random_samples(seed))
