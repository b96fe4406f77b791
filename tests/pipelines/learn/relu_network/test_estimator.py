"""The estimator: networks are recovered, and what is not one of them is never called identified."""

import doctest
import pickle

import numpy as np
import pytest

from unweave import (
    learn,  # estimators are loaded when first used
    match,
)
from unweave.activations import RELU, activation_named
from unweave.exceptions import InputWarning, InvalidInput, NotIdentified
from unweave.learn.relu_network.claims import ReluClaims
from unweave.networks.network import Network
from unweave.networks.planted import general_network, relu_network
from unweave.result import Outcome
from unweave.samples.sources import ArraySource, ChunkSource


def samples(
    seed: int, *, inputs: int = 6, neurons: int = 4, rows: int = 8_000, noise: float = 0.0, **planted: object
) -> tuple[Network, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = relu_network(rng, inputs=inputs, neurons=neurons, **planted)
    points = rng.standard_normal((rows, inputs))
    return truth, points, truth(points)[:, 0] + noise * rng.standard_normal(rows)


def fitted(points: np.ndarray, labels: np.ndarray, **settings: object) -> "learn.ReluNetworkRegressor":
    return learn.ReluNetworkRegressor(random_state=0, **settings).fit(points, labels)


@pytest.mark.filterwarnings("ignore::unweave.exceptions.InputWarning")
# scikit-learn's own checks warn about checks that they skip.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.usefixtures("without_type_checks")
def test_follows_the_conventions_of_scikit_learn() -> None:
    from sklearn.utils.estimator_checks import check_estimator

    check_estimator(learn.ReluNetworkRegressor(random_state=0))


@pytest.mark.parametrize("special_biases", [(), (0.0, 1.0, -1.0)])
def test_exact_labels_give_the_network_itself(seed: int, special_biases: tuple[float, ...]) -> None:
    truth, points, labels = samples(seed, special_biases=special_biases)
    found = fitted(points, labels)
    assert found.outcome_ is Outcome.IDENTIFIED
    assert match(found.network_, truth).largest_error < 1e-12
    assert found.certificate_.radius < 1e-10
    assert found.certificate_.largest_error < 1e-12
    assert not found.open_signs_.any()
    assert found.result_.require() is found.result_


def test_moments_alone_come_close(seed: int) -> None:
    truth, points, labels = samples(seed, neurons=3, rows=40_000)
    found = fitted(points, labels, mean=np.zeros(6), covariance=np.eye(6))
    error = match(found.start_network_, truth).largest_error
    assert 1e-6 < error < 0.1


def test_more_neurons_than_inputs(seed: int) -> None:
    truth, points, labels = samples(seed, inputs=3, neurons=5, rows=10_000, largest_bias=1.0)
    found = fitted(points, labels)
    assert found.outcome_ is Outcome.IDENTIFIED
    assert match(found.network_, truth).largest_error < 1e-12


def test_means_and_covariances_are_found_or_given(seed: int) -> None:
    truth, points, _ = samples(seed)
    rng = np.random.default_rng(seed + 1)
    mixing, mean = np.eye(6) + 0.3 * rng.standard_normal((6, 6)), 0.3 * rng.standard_normal(6)
    inputs = points @ mixing.T + mean
    labels = truth(inputs)[:, 0]
    for given in ({}, {"mean": mean, "covariance": mixing @ mixing.T}):
        found = fitted(inputs, labels, **given)
        assert found.outcome_ is Outcome.IDENTIFIED
        assert match(found.network_, truth).largest_error < 1e-10


def test_large_biases_are_found_where_they_bend(seed: int) -> None:
    truth, points, _ = samples(seed, rows=30_000)
    hidden, output = truth.layers
    more = Network.shallow(
        np.vstack([hidden.weights, np.eye(6)[:1]]),
        np.append(hidden.biases, -2.8),
        np.append(output.weights, [[1.0]], axis=1),
        np.zeros(1),
        RELU,
    )
    found = fitted(points, more(points)[:, 0])
    assert found.outcome_ is Outcome.IDENTIFIED
    assert match(found.network_, more).largest_error < 1e-10


def test_neurons_that_never_bend_leave_an_affine_part(seed: int) -> None:
    truth, points, labels = samples(seed)
    found = fitted(points, labels + points @ np.arange(1.0, 7.0) + 9.0)
    assert found.outcome_ is Outcome.PARTLY_IDENTIFIED
    assert "affine part" in found.result_.reason
    assert found.network_.widths == truth.widths
    assert found.open_signs_.all()
    assert found.certificate_.largest_error < 1e-11


def test_an_offset_is_no_obstacle(seed: int) -> None:
    truth, points, labels = samples(seed, noise=0.1, rows=4_000)
    exact, noisy = fitted(points, truth(points)[:, 0] + 2.0), fitted(points, labels + 2.0)
    for found, tolerance in ((exact, 1e-12), (noisy, 0.1)):
        assert found.outcome_ is Outcome.IDENTIFIED
        assert found.network_.layers[1].biases[0] == pytest.approx(2.0, abs=tolerance)
        assert found.network_.skip is None


def test_signs_that_no_label_tells_are_reported(seed: int) -> None:
    rng = np.random.default_rng(seed)
    angles = np.array([0.0, 2.0, 4.0]) * np.pi / 3
    plane = np.linalg.qr(rng.standard_normal((4, 2)))[0]
    weights = np.stack([np.cos(angles), np.sin(angles)], axis=1) @ plane.T
    ambiguous = Network.shallow(weights, np.array([0.5, -0.3, -0.2]), np.ones((1, 3)), np.zeros(1), RELU)
    points = rng.standard_normal((8_000, 4))
    found = fitted(points, ambiguous(points)[:, 0])
    assert found.outcome_ is Outcome.PARTLY_IDENTIFIED
    assert found.open_signs_.all()
    assert len(found.sign_choices_.flips) == 2
    assert "signs of neurons 0, 1, 2" in found.result_.reason
    assert found.score(points, ambiguous(points)[:, 0]) == pytest.approx(1.0)


def test_noisy_labels_give_the_rate_of_least_squares(seed: int) -> None:
    truth, points, labels = samples(seed, noise=0.3, rows=10_000)
    found = fitted(points, labels)
    assert found.outcome_ is Outcome.IDENTIFIED
    errors = match(found.network_, truth).errors
    assert errors.largest < 0.1
    assert found.certificate_.noise == pytest.approx(0.3, rel=0.03)
    assert found.certificate_.rms_error == pytest.approx(0.3, abs=5 * found.certificate_.error_bar)


@pytest.mark.parametrize(
    ("given", "noise"),
    [
        (2, 0.3),
        (6, 0.0),
        pytest.param(2, 0.0, marks=pytest.mark.slow),
        pytest.param(6, 0.3, marks=pytest.mark.slow),
    ],
)
def test_a_wrong_number_of_neurons_is_told(seed: int, given: int, noise: float) -> None:
    _, points, labels = samples(seed, inputs=5, rows=4_000, noise=noise)
    found = fitted(points, labels, neurons=given)
    assert found.outcome_ is not Outcome.IDENTIFIED
    assert f"{given} " in found.result_.reason
    with pytest.raises(NotIdentified):
        found.result_.require()


@pytest.mark.parametrize("noise", [pytest.param(0.0, marks=pytest.mark.slow), 0.1])
def test_other_activations_are_not_mistaken(seed: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    other = general_network(rng, inputs=5, neurons=3, activation=activation_named("tanh"))
    points = rng.standard_normal((2_000, 5))
    found = fitted(points, other(points)[:, 0] + noise * rng.standard_normal(2_000))
    assert found.outcome_ is not Outcome.IDENTIFIED
    # What is left is seen, or it is smaller than what is said to be visible.
    fresh = rng.standard_normal((5_000, 5))
    error = np.sqrt(np.mean((found.predict(fresh) - other(fresh)[:, 0]) ** 2))
    assert found.outcome_ is Outcome.NOT_IDENTIFIED or error < found.certificate_.noticeable


def test_neurons_beside_each_other_are_not_claimed_behind_noise(seed: int) -> None:
    """Two kinks along one direction look like one round bend: a tanh was once identified as two neurons."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((2_000, 3))
    bend = np.maximum(points[:, 0] + 0.8, 0.0) + np.maximum(points[:, 0] - 0.8, 0.0)
    found = fitted(points, bend + 0.05 * rng.standard_normal(2_000))
    assert found.network_.widths == (2,)
    assert found.outcome_ is Outcome.PARTLY_IDENTIFIED
    assert "degrees apart" in found.result_.reason


@pytest.mark.parametrize(
    "rows", [range(0, 600, 180), pytest.param(range(60, 600, 60), marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_one_wrong_label_is_never_overlooked(rows: range, seed: int) -> None:
    """Wherever it is: among the rows of the fit, of the choice or of the certificate."""
    _, points, labels = samples(seed, inputs=3, neurons=2, rows=600)
    assert fitted(points, labels).outcome_ is Outcome.IDENTIFIED
    for row in rows:
        wrong = labels.copy()
        wrong[row] += 1.0
        assert fitted(points, wrong).outcome_ is not Outcome.IDENTIFIED


def test_inputs_that_are_not_gaussian_are_warned_of(seed: int) -> None:
    truth, _, _ = samples(seed)
    rng = np.random.default_rng(seed)
    points = rng.exponential(1.0, (3_000, 6))
    with pytest.warns(InputWarning, match="of the inputs"):
        found = fitted(points, truth(points)[:, 0] + 0.3 * rng.standard_normal(3_000))
    assert found.outcome_ is not Outcome.IDENTIFIED
    assert any("not Gaussian" in note for note in found.result_.notes)


@pytest.mark.parametrize(("slope", "noise", "outcome"), [
    (1.0, 0.0, Outcome.IDENTIFIED), (0.0, 0.0, Outcome.IDENTIFIED), (1.0, 1.0, Outcome.PARTLY_IDENTIFIED),
])  # fmt: skip
def test_labels_without_neurons(seed: int, slope: float, noise: float, outcome: Outcome) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((5_000, 3))
    found = fitted(points, slope * points[:, 0] + 2.0 + noise * rng.standard_normal(5_000))
    assert found.outcome_ is outcome
    assert found.network_.widths == (0,)


def test_too_few_samples_are_told(seed: int) -> None:
    _, points, labels = samples(seed, rows=60)
    found = fitted(points, labels)
    assert found.outcome_ is Outcome.NOT_IDENTIFIED
    assert "60 samples are too few" in found.result_.reason


@pytest.mark.parametrize("places", [2, 3, 5, 9])
def test_noisy_samples_at_few_points_end_with_a_reason(places: int) -> None:
    """Rows at one point are on one side of every split, so that few points may leave none to judge by."""
    for seed in range(6):
        rng = np.random.default_rng([places, seed])
        points = rng.integers(places, size=(300, 1)).astype(float)
        labels = np.maximum(points[:, 0] - 1.0, 0.0) + 0.1 * rng.standard_normal(300)
        found = learn.ReluNetworkRegressor(random_state=seed).fit(points, labels)
        assert found.outcome_ is not Outcome.IDENTIFIED
        assert found.result_.reason
        assert np.all(np.isfinite(found.predict(points)))


def test_streams_give_the_same_as_arrays(seed: int) -> None:
    truth, points, labels = samples(seed)
    chunks = [(points[first : first + 3_000], labels[first : first + 3_000]) for first in range(0, 8_000, 3_000)]
    found = learn.ReluNetworkRegressor(random_state=0).fit_source(ChunkSource(chunks), inputs=6)
    assert found.outcome_ is Outcome.IDENTIFIED
    assert match(found.network_, truth).largest_error < 1e-12


def test_rows_beyond_memory_are_fitted_as_well(seed: int) -> None:
    from unweave.learn.relu_network.estimator import ReluLearner

    truth, points, labels = samples(seed, inputs=4, neurons=2, rows=10_000, noise=0.3)
    in_memory, _ = ReluLearner()(ArraySource(points, labels), inputs=4)
    beyond, details = ReluLearner(most_numbers=4 * 2_500)(ArraySource(points, labels), inputs=4)
    rows = next(int(note.split()[4].replace(",", "")) for note in beyond.notes if "last fit used" in note)
    assert rows == pytest.approx(8_000, rel=0.05)
    assert match(beyond.network, truth).largest_error < 6.0 * np.max(details.standard_errors.weights)
    # 2,500 rows may leave signs open, and the slope that stands for them then costs some precision; half it would be.
    assert beyond.certificate.largest_standard_error < 1.4 * in_memory.certificate.largest_standard_error


@pytest.mark.slow  # those of all public names run in `test_habits.py`
def test_examples_of_the_docstring_run() -> None:
    examples = doctest.DocTestFinder(recurse=False).find(learn.ReluNetworkRegressor, "ReluNetworkRegressor")
    assert [doctest.DocTestRunner().run(each) for each in examples] == [(0, 8)]


def test_rows_that_are_needed_give_the_wanted_error(seed: int) -> None:
    _, points, labels = samples(seed, inputs=3, neurons=1, rows=4_000, noise=0.2)
    few = fitted(points[:1_000], labels[:1_000])
    wanted = few.certificate_.largest_standard_error / 2.0
    assert few.rows_needed(wanted) == pytest.approx(4_000, abs=1)
    more = fitted(points, labels)
    assert more.certificate_.largest_standard_error == pytest.approx(wanted, rel=0.25)
    exact = fitted(points, np.maximum(points[:, 0], 0.0))
    assert exact.rows_needed(1e-6) == 4_000


@pytest.mark.parametrize("error", [0.0, -1.0, np.nan])
def test_rows_for_no_error_are_refused(error: float) -> None:
    _, points, labels = samples(0, inputs=3, neurons=1, rows=500, noise=0.1)
    with pytest.raises(InvalidInput, match="positive error"):
        fitted(points, labels).rows_needed(error)
    with pytest.raises(InvalidInput, match="none was found"):
        fitted(points, points[:, 0]).rows_needed(0.1)


def test_the_same_seed_gives_the_same_network(seed: int) -> None:
    _, points, labels = samples(seed, inputs=4, neurons=2, noise=0.2, rows=1_000)
    first, second = fitted(points, labels), fitted(points, labels)
    np.testing.assert_array_equal(first.network_.layers[0].weights, second.network_.layers[0].weights)


def test_works_in_a_grid_search_and_survives_pickling(seed: int) -> None:
    from sklearn.model_selection import GridSearchCV

    _, points, labels = samples(seed, inputs=3, neurons=2, rows=1_000)
    search = GridSearchCV(learn.ReluNetworkRegressor(random_state=0), {"neurons": [1, 2]}, cv=2).fit(points, labels)
    assert search.best_score_ > 0.999
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict(points), search.predict(points))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"neurons": 0}, "at least 1"),
        ({"neurons": 2.5}, "at least 1"),
        ({"mean": np.zeros(3)}, r"mean needs the shape \(6,\)"),
        ({"covariance": np.eye(5)}, r"covariance needs the shape \(6, 6\)"),
        ({"covariance": -np.eye(6)}, "positive definite"),
    ],
)
def test_wrong_settings_are_told(settings: dict[str, object], message: str) -> None:
    _, points, labels = samples(0, rows=500)
    with pytest.raises(InvalidInput, match=message):
        fitted(points, labels, **settings)


def test_constant_columns_are_no_obstacle() -> None:
    _, points, labels = samples(0, rows=1_000)
    points = np.column_stack([points, np.full(1_000, 3.0)])
    found = fitted(points, labels)
    assert found.outcome_ is Outcome.PARTLY_IDENTIFIED
    assert "1 constant columns or dependences" in found.result_.reason
    np.testing.assert_allclose(found.predict(points), labels, atol=1e-9)


def test_constant_inputs_give_a_constant() -> None:
    found = fitted(np.ones((400, 2)), np.arange(400.0))
    assert found.outcome_ is Outcome.NOT_IDENTIFIED
    np.testing.assert_allclose(found.predict(np.ones((1, 2))), 199.5)


@pytest.mark.parametrize(
    ("categories", "noise"), [(3, 0.2), *(pytest.param(*case, marks=pytest.mark.slow) for case in ((2, 0.0), (3, 0.0)))]
)
@pytest.mark.filterwarnings("ignore::unweave.exceptions.InputWarning")
def test_binary_and_one_hot_columns_are_covariates(categories: int, noise: float, seed: int) -> None:
    """audit B9: a binary column, and all columns of a one-hot code, count like others."""
    rng = np.random.default_rng([seed, categories])
    truth = relu_network(rng, inputs=4 + categories, neurons=3)
    points = rng.standard_normal((3_000, 4 + categories))
    points[:, :categories] = 2.0 * (rng.integers(0, categories, 3_000)[:, None] == np.arange(categories))
    exact = truth(points)[:, 0]
    found = fitted(points, exact + noise * rng.standard_normal(3_000))
    # All columns of a code depend on each other: the function is known, weights along them are not.
    assert found.outcome_ is not Outcome.IDENTIFIED
    assert "one-hot" in found.result_.reason or found.outcome_ is Outcome.NOT_IDENTIFIED
    assert found.network_.widths[0] >= 2
    # Neurons that bend at few rows of one category may stay unseen.
    assert np.sqrt(np.mean((found.predict(points) - exact) ** 2)) < 0.01 * np.std(exact) + 0.3 * noise


@pytest.mark.filterwarnings("ignore::unweave.exceptions.InputWarning")
@pytest.mark.parametrize(
    "kind", ["mixture", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("uniform", "exponential"))]
)
def test_other_inputs_are_no_obstacle(kind: str, seed: int) -> None:
    rng = np.random.default_rng([seed, len(kind)])
    truth = relu_network(rng, inputs=8, neurons=4)
    points = {
        "mixture": 2.0 * rng.standard_normal((3, 8))[rng.integers(3, size=3_000)] + rng.standard_normal((3_000, 8)),
        "uniform": rng.uniform(-1.7, 1.7, (3_000, 8)),
        "exponential": rng.exponential(1.0, (3_000, 8)) - 1.0,
    }[kind]
    exact = truth(points)[:, 0]
    found = fitted(points, exact + 0.1 * rng.standard_normal(3_000))
    assert found.outcome_ is not Outcome.NOT_IDENTIFIED
    assert any("fit started from" in note for note in found.result_.notes)
    assert np.sqrt(np.mean((found.predict(points) - exact) ** 2)) < 0.04


def test_few_rows_still_give_a_good_predictor(seed: int) -> None:
    from sklearn.linear_model import LinearRegression

    truth, points, labels = samples(seed, inputs=10, neurons=6, rows=400, noise=0.1)
    fresh = np.random.default_rng([seed, 1]).standard_normal((5_000, 10))
    errors = fitted(points, labels).predict(fresh) - truth(fresh)[:, 0]
    affine = LinearRegression().fit(points, labels).predict(fresh) - truth(fresh)[:, 0]
    assert np.mean(errors**2) < 0.3 * np.mean(affine**2)


def test_fewer_rows_than_inputs_are_no_nonsense(seed: int) -> None:
    truth, points, labels = samples(seed, inputs=40, neurons=4, rows=41, noise=1.0)
    fresh = np.random.default_rng([seed, 1]).standard_normal((5_000, 40))
    exact = truth(fresh)[:, 0]
    found = fitted(points, labels)
    assert found.outcome_ is Outcome.NOT_IDENTIFIED
    assert np.mean((found.predict(fresh) - exact) ** 2) < 1.2 * np.var(exact)


@pytest.mark.slow
def test_three_times_as_many_neurons_as_inputs(seed: int) -> None:
    truth, points, labels = samples(seed, inputs=3, neurons=9, rows=6_000, noise=0.01)
    found = fitted(points, labels)
    assert found.network_.widths == (9,)
    assert np.sqrt(np.mean((found.predict(points) - truth(points)[:, 0]) ** 2)) < 0.002


@pytest.mark.parametrize(("rows", "noise"), [(1_000, 0.1), (6_000, 1.0)])
@pytest.mark.parametrize("number", [0, *(pytest.param(number, marks=pytest.mark.slow) for number in (1, 2))])
def test_identified_needs_rows_that_would_have_shown_a_missing_neuron(
    number: int, rows: int, noise: float, seed: int
) -> None:
    """audit A12: where a neuron as strong as those that were found could hide, it is said and not identified."""
    rng = np.random.default_rng([seed, number, rows])
    truth = relu_network(rng, inputs=10, neurons=6)
    points = rng.standard_normal((rows, 10))
    found = learn.ReluNetworkRegressor(random_state=number).fit(
        points, truth(points)[:, 0] + noise * rng.standard_normal(rows)
    )
    fresh = rng.standard_normal((20_000, 10))
    error = np.sqrt(np.mean((found.predict(fresh) - truth(fresh)[:, 0]) ** 2))
    assert error < found.certificate_.noticeable
    if found.outcome_ is Outcome.IDENTIFIED:
        assert found.network_.widths[0] == 6
        assert found.certificate_.noticeable <= found.certificate_.weakest
    else:
        # A neuron as strong could hide with 95 %, or the residual itself says that one is missing.
        assert "95 %" in found.result_.reason or "may be missing" in found.result_.reason


@pytest.mark.parametrize(("largest_pull", "is_claimed"), [(1e3, True), (0.1, False)])
def test_terms_that_are_larger_than_allowed_explain_nothing(largest_pull: float, is_claimed: bool) -> None:
    """Neurons with output weights of 76,367 and -91,919 met noisy labels of size one, but nothing beside them."""
    from unweave.learn.relu_network.estimator import ReluLearner

    _, points, labels = samples(3, neurons=2, rows=2_000, noise=0.05)
    learner = ReluLearner(claims=ReluClaims(largest_pull=largest_pull))
    result, _ = learner(ArraySource(points, labels), inputs=6)
    assert (result.outcome is not Outcome.NOT_IDENTIFIED) == is_claimed
    assert ("cancel each other" in result.reason) != is_claimed
