"""Rows that come again and again, as whoever balances classes has them: nothing is claimed that few rows don't show."""

import numpy as np
import pytest

from unweave import learn  # estimators are loaded when first used
from unweave.result import Outcome


def repeated(rng: np.random.Generator, points: np.ndarray, labels: np.ndarray, times: int) -> tuple:
    again = rng.permutation(np.repeat(np.arange(len(points)), times))
    return points[again], labels[again]


@pytest.mark.parametrize("estimator", ["HalfspaceUnionClassifier", "HalfspaceIntersectionClassifier"])
@pytest.mark.parametrize(("count", "inputs"), [(60, 2), (150, 5)])
def test_half_spaces_are_not_judged_by_what_was_fitted(estimator: str, count: int, inputs: int, seed: int) -> None:
    """All held-out labels were right, "another one that cuts off 0.5 % would have shown", and 3 % were wrong."""
    rng = np.random.default_rng([seed, inputs])
    points = rng.standard_normal((count, inputs))
    model = getattr(learn, estimator)(random_state=seed).fit(
        *repeated(rng, points, np.any(points[:, :2] > 0.8, axis=1), 100)
    )
    assert model.outcome_ is Outcome.NOT_IDENTIFIED
    fresh = rng.standard_normal((20_000, inputs))
    assert np.mean(model.predict(fresh) == np.any(fresh[:, :2] > 0.8, axis=1)) > 0.75


def test_limits_of_half_spaces_count_every_point_once(seed: int) -> None:
    points = np.random.default_rng(seed).standard_normal((8_000, 2))
    labels = np.any(points > 1.0, axis=1)
    once = learn.HalfspaceUnionClassifier(random_state=seed).fit(points, labels)
    often = learn.HalfspaceUnionClassifier(random_state=seed).fit(np.repeat(points, 10, axis=0), np.repeat(labels, 10))
    assert once.outcome_ is often.outcome_ is not Outcome.NOT_IDENTIFIED
    assert often.certificate_.held_out == once.certificate_.held_out == 800
    assert often.certificate_.missing_share == once.certificate_.missing_share


@pytest.mark.filterwarnings("ignore::unweave.exceptions.InputWarning")
@pytest.mark.parametrize("count", [12, 30])
def test_chance_that_is_learnt_by_heart_is_no_relu_network(count: int, seed: int) -> None:
    """11 neurons met all held-out labels, each of them "known up to its sign"."""
    rng = np.random.default_rng(seed)
    points, labels = rng.standard_normal((count, 4)), rng.standard_normal(count)
    model = learn.ReluNetworkRegressor(random_state=seed).fit(*repeated(rng, points, labels, 100))
    assert model.outcome_ is Outcome.NOT_IDENTIFIED
    assert f"{count} different samples" in model.result_.reason


def test_standard_errors_of_relu_networks_count_every_row_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((2_000, 4))
    exact = 2.0 * np.maximum(points[:, 0] + 0.3, 0.0) - np.maximum(points[:, 1], 0.0)
    labels = exact + 0.1 * rng.standard_normal(2_000)
    once = learn.ReluNetworkRegressor(random_state=seed).fit(points, labels)
    often = learn.ReluNetworkRegressor(random_state=seed).fit(*repeated(rng, points, labels, 9))
    assert often.network_.widths == once.network_.widths == (2,)
    assert often.certificate_.held_out == once.certificate_.held_out
    # Nine times as many rows would have a third of it.
    expected = pytest.approx(once.certificate_.largest_standard_error, rel=0.05)
    assert often.certificate_.largest_standard_error == expected
    assert any("16,000 of 18,000 rows are copies" in note for note in often.result_.notes)


@pytest.mark.parametrize("unit", ["step", "relu"])
def test_angles_of_a_lowest_layer_count_every_row_once(unit: str, seed: int) -> None:
    """The worst angle was 4.3 degrees by 50 copies of 200 rows, and 5.7 in truth."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((200, 4))
    active = np.maximum(points[:, :2] - 1.0, 0.0) if unit == "relu" else 1.0 * (points[:, :2] > 1.0)
    labels = active.sum(axis=1) + active.prod(axis=1)
    model = learn.LowestLayerRegressor(activation=unit, random_state=seed).fit(*repeated(rng, points, labels, 50))
    assert model.outcome_ is Outcome.NOT_IDENTIFIED


@pytest.mark.parametrize("count", [15, 30])
def test_chance_that_is_learnt_by_heart_is_no_hierarchy(count: int, seed: int) -> None:
    """ "The function is found" for labels drawn at random."""
    rng = np.random.default_rng(seed)
    points, labels = repeated(rng, rng.standard_normal((count, 4)), rng.standard_normal(count), 20)
    model = learn.HierarchicalRegressor((3, 2), random_state=seed).fit(points, labels)
    assert model.outcome_ is Outcome.NOT_IDENTIFIED
    assert any("copies" in note for note in model.result_.notes)
    classes = learn.HierarchicalClassifier((2, 1), random_state=seed).fit(points, labels > 0)
    # One held-out row of each distinct one: a handful can be right by chance, hundreds of copies are no evidence.
    assert classes.certificate_.held_out <= count // 5


@pytest.mark.parametrize("has_biases", [False, True])
def test_copies_confirm_no_quadratic_form(has_biases: bool, seed: int) -> None:
    """Chance at as many points as a form has numbers was "identified" as soon as every row came twice."""
    rng = np.random.default_rng(seed)
    count = 21 if has_biases else 15
    points, labels = rng.standard_normal((count, 5)), rng.standard_normal(count)
    often = repeated(rng, points, labels, 3)
    settings = {"fit_bias": has_biases, "signs": "both", "ridge": 0}
    model = learn.QuadraticNetworkRegressor(**settings).fit(*often)
    assert model.outcome_ is Outcome.PARTLY_IDENTIFIED
    assert f"{count} samples, without multiples of others, are no more than" in model.result_.reason
    assert learn.QuadraticNetworkRegressor(fit_bias=has_biases).fit(*often).outcome_ is not Outcome.IDENTIFIED


def test_multiples_of_a_point_confirm_no_quadratic_form(seed: int) -> None:
    """The square of -x is that of x, and that of 3 x is nine times as large."""
    rng = np.random.default_rng(seed)
    points, labels = rng.standard_normal((15, 5)), rng.standard_normal(15)
    factors = np.repeat([1.0, -1.0, 3.0], 15)
    more = factors[:, None] * np.tile(points, (3, 1)), factors**2 * np.tile(labels, 3)
    assert learn.QuadraticNetworkRegressor(signs="both", ridge=0).fit(*more).outcome_ is Outcome.PARTLY_IDENTIFIED
    # Other points do, whatever their units.
    units = 10.0 ** np.array([-60.0, -3.0, 0.0, 3.0, 60.0])
    others = rng.standard_normal((16, 5))
    exact = others[:, 0] ** 2 - others[:, 1] * others[:, 2]
    model = learn.QuadraticNetworkRegressor(signs="both", ridge=0).fit(units * others, exact)
    assert model.outcome_ is Outcome.IDENTIFIED
