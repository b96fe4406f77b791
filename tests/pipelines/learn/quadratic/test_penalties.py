"""Noisy labels: signs and penalties by held-out rows, and what the certificate says of loss plus penalty."""

import numpy as np
import pytest

from unweave import learn  # estimators are loaded when first used
from unweave.exceptions import InvalidInput
from unweave.result import Outcome


def noisy(seed: int, *, samples: int, inputs: int, noise: float = 0.2, sign: float = 1.0) -> tuple:
    """Rank-2 teacher with noise, and as many fresh samples."""
    rng = np.random.default_rng([seed, samples, inputs])
    rows, points = rng.standard_normal((2, inputs)) / np.sqrt(inputs), rng.standard_normal((2 * samples, inputs))
    labels = sign * np.sum((points @ rows.T) ** 2, axis=1) + noise * rng.standard_normal(2 * samples)
    return points[:samples], labels[:samples], points[samples:], labels[samples:]


@pytest.mark.parametrize("sign", [1.0, pytest.param(-1.0, marks=pytest.mark.slow)])
def test_held_out_rows_choose_one_sign_for_a_noisy_teacher_of_one_sign(sign: float, seed: int) -> None:
    """audit D: both signs fit the noise, with an R2 of .17 where one sign has .96."""
    points, labels, fresh, truth = noisy(seed, samples=120, inputs=14, sign=sign)
    model = learn.QuadraticNetworkRegressor().fit(points, labels)
    assert np.all(np.sign(model.output_weights_) == sign)
    assert model.score(fresh, truth) > 0.9
    assert model.outcome_ is Outcome.PARTLY_IDENTIFIED
    assert any("chosen by held-out rows: one-signed" in note for note in model.result_.notes)


def test_held_out_rows_choose_both_signs_for_a_noisy_teacher_of_both(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, matrix = rng.standard_normal((400, 8)), rng.standard_normal((8, 8))
    labels = np.sum((points @ matrix) * points, axis=1) + rng.standard_normal(400)
    model = learn.QuadraticNetworkRegressor().fit(points, labels)
    assert {-1.0, 1.0} == set(model.output_weights_)
    assert model.certificate_.is_global
    assert np.max(np.abs(model.matrix_ - (matrix + matrix.T) / 2)) < 0.3


def test_a_ridge_is_that_of_scikit_learn(seed: int) -> None:
    """Features of standardised inputs in the same metric: off-diagonal products count once for two entries."""
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(seed)
    points, labels = rng.standard_normal((50, 4)) * [1, 10, 0.1, 3] + [0, 5, 1, 0], rng.standard_normal(50)
    model = learn.QuadraticNetworkRegressor(signs="both", ridge=0.1, fit_bias=True).fit(points, labels)
    standard = StandardScaler().fit_transform(points)
    left, right = np.triu_indices(4)
    squares = standard[:, left] * standard[:, right] * np.where(left == right, 1.0, np.sqrt(2))
    features = np.column_stack([squares, np.sqrt(2) * standard])
    reference = Ridge(alpha=0.1 * 50).fit(features, labels)
    np.testing.assert_allclose(model.predict(points), reference.predict(features), rtol=1e-8, atol=1e-9)
    objective = np.mean((reference.predict(features) - labels) ** 2) / 2 + 0.05 * np.sum(reference.coef_**2)
    # The weight of the penalty is that for labels of root mean square 1, and a form scales with its labels.
    assert model.certificate_.objective == pytest.approx(objective, rel=1e-8)
    assert model.certificate_.penalty == pytest.approx(0.05 * np.sum(reference.coef_**2), rel=1e-8)
    assert model.certificate_.lower_bound == pytest.approx(objective, rel=1e-8)
    assert model.certificate_.is_global


@pytest.mark.parametrize("columns", [3, 30], ids=["more rows than products", "fewer"])
@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_the_certified_loss_is_that_of_predict(columns: int, offset: float, seed: int) -> None:
    rng = np.random.default_rng([seed, columns])
    points, labels = rng.standard_normal((60, columns)), rng.standard_normal(60)
    model = learn.QuadraticNetworkRegressor(signs="both", ridge=0.01, fit_bias=True).fit(points + offset, labels)
    loss = np.mean((model.predict(points + offset) - labels) ** 2) / 2
    assert model.certificate_.loss == pytest.approx(loss, rel=1e-9)
    assert model.certificate_.lower_bound <= model.certificate_.objective
    assert "plus a penalty" in model.result_.reason


def test_a_trace_penalty_is_the_smallest_of_loss_plus_mean_output(seed: int) -> None:
    from scipy.optimize import minimize

    points, labels, _, _ = noisy(seed, samples=40, inputs=4, noise=0.5)
    model = learn.QuadraticNetworkRegressor(signs="positive", trace_penalty=0.2).fit(points, labels)
    weight = 0.2 * np.sqrt(np.mean(labels**2))

    def objective(flat: np.ndarray) -> float:
        outputs = np.sum((points @ flat.reshape(4, 4).T) ** 2, axis=1)
        return float(np.mean((outputs - labels) ** 2) / 2 + weight * np.mean(outputs))

    starts = [np.random.default_rng([seed, start]).standard_normal(16) for start in range(3)]
    reference = min(minimize(objective, start, method="BFGS", options={"gtol": 1e-9}).fun for start in starts)
    assert model.certificate_.is_global
    assert model.certificate_.objective == pytest.approx(reference, rel=1e-6)
    assert model.certificate_.lower_bound <= reference + 1e-9
    assert model.trace_penalty_ == 0.2


def test_exact_labels_are_met_without_a_penalty(seed: int) -> None:
    points, _, fresh, _ = noisy(seed, samples=60, inputs=6)
    matrix = np.diag([3.0, 1.0, 0.0, 0.0, -1.0, 2.0])
    model = learn.QuadraticNetworkRegressor().fit(points, np.sum((points @ matrix) * points, axis=1))
    assert model.outcome_ is Outcome.IDENTIFIED
    assert (model.ridge_, model.trace_penalty_, model.certificate_.penalty) == (0.0, 0.0, 0.0)
    np.testing.assert_allclose(model.predict(fresh), np.sum((fresh @ matrix) * fresh, axis=1), atol=1e-9)


@pytest.mark.slow
def test_large_exact_samples_stay_exact(seed: int) -> None:
    points, matrix = np.random.default_rng(seed).standard_normal((3_000, 34)), np.diag(np.arange(34.0) - 10)
    exact = learn.QuadraticNetworkRegressor().fit(points, np.sum((points @ matrix) * points, axis=1))
    assert exact.outcome_ is Outcome.IDENTIFIED
    assert np.allclose(exact.matrix_, matrix, atol=1e-9)


def test_large_noisy_samples_need_one_gram_matrix(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, matrix = rng.standard_normal((3_000, 34)), rng.standard_normal((34, 34))
    labels = np.sum((points @ matrix) * points, axis=1)
    noisy_fit = learn.QuadraticNetworkRegressor().fit(points, labels + 3.0 * rng.standard_normal(3_000))
    assert set(noisy_fit.result_.seconds) == {"selection", "conditions", "training", "certificate"}
    assert noisy_fit.certificate_.is_global
    assert noisy_fit.ridge_ > 0


@pytest.mark.slow
def test_real_labels_are_predicted_as_well_as_by_polynomial_ridge() -> None:
    from sklearn.datasets import load_diabetes
    from sklearn.linear_model import RidgeCV
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    points, labels = load_diabetes(return_X_y=True)
    points, fresh, labels, truth = train_test_split(points, labels, random_state=1)
    model = learn.QuadraticNetworkRegressor(fit_bias=True).fit(points, labels)
    peer = make_pipeline(PolynomialFeatures(2), StandardScaler(), RidgeCV()).fit(points, labels)
    assert model.score(fresh, truth) > peer.score(fresh, truth) - 0.02
    assert model.certificate_.is_global
    assert learn.QuadraticNetworkRegressor(fit_bias=True).fit(points, labels).ridge_ == model.ridge_


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"ridge": -1.0}, "ridge needs"),
        ({"ridge": "0.1"}, "ridge needs"),
        ({"trace_penalty": np.inf}, "trace_penalty needs"),
        ({"ridge": 1.0, "signs": "positive"}, "no penalty of signs='positive'"),
        ({"trace_penalty": 1.0, "signs": "both"}, "no penalty of signs='both'"),
        ({"ridge": 1.0, "neurons": 2}, "as many neurons"),
    ],
)
@pytest.mark.usefixtures("without_type_checks")
def test_penalties_that_make_no_sense_are_refused(settings: dict, words: str, seed: int) -> None:
    points, labels, _, _ = noisy(seed, samples=20, inputs=4)
    with pytest.raises(InvalidInput, match=words):
        learn.QuadraticNetworkRegressor(**settings).fit(points, labels)
