"""What a data scientist expects of the classifiers of half spaces: probabilities, weights, several classes."""

import doctest

import numpy as np
import pytest

from halfspace_samples import largest_angle
from unweave import learn  # estimators are loaded when first used
from unweave.result import Outcome

BOTH = ["HalfspaceUnionClassifier", "HalfspaceIntersectionClassifier"]


def regular_normals(count: int) -> np.ndarray:
    angles = 2 * np.pi * np.arange(count) / count + 0.2
    return np.column_stack([np.cos(angles), np.sin(angles)])


def square_with_flips(rng: np.random.Generator, samples: int, flips: tuple[float, float]) -> tuple[np.ndarray, ...]:
    """Points, whether they are outside of a square, and the same with so many wrong labels inside and outside of it."""
    points = rng.standard_normal((samples, 2))
    is_out = np.max(np.abs(points), axis=1) > 1.0
    return points, is_out, is_out ^ (rng.random(samples) < np.where(is_out, flips[1], flips[0]))


def test_more_half_spaces_than_inputs_are_found(seed: int) -> None:
    normals, points = regular_normals(5), np.random.default_rng(seed).uniform(-2, 2, (1_500, 2))
    model = learn.HalfspaceIntersectionClassifier(random_state=seed).fit(
        points, np.all(points @ normals.T < 1.2, axis=1)
    )
    assert len(model.normals_) == 5
    assert largest_angle(-normals, model.normals_) < 10.0


@pytest.mark.slow
def test_more_half_spaces_than_inputs_are_claimed_if_samples_are_many(seed: int) -> None:
    normals, points = regular_normals(7), np.random.default_rng(seed).uniform(-2, 2, (100_000, 2))
    model = learn.HalfspaceIntersectionClassifier(random_state=seed).fit(
        points, np.all(points @ normals.T < 1.4, axis=1)
    )
    assert model.outcome_ is not Outcome.NOT_IDENTIFIED
    assert len(model.normals_) == 7
    assert largest_angle(-normals, model.normals_) < model.certificate_.largest_angle


@pytest.mark.slow
def test_an_inside_without_the_centre_is_found(seed: int) -> None:
    normals, middle = regular_normals(4), np.array([1.3, 0.6])
    points = np.random.default_rng(seed).standard_normal((3_000, 2))
    is_inside = np.all((points - middle) @ normals.T < 0.9, axis=1)
    model = learn.HalfspaceIntersectionClassifier(random_state=seed).fit(points, is_inside)
    assert model.inside_
    assert len(model.normals_) == 4
    assert largest_angle(-normals, model.normals_) < 10.0


@pytest.mark.parametrize("estimator", [BOTH[0], pytest.param(BOTH[1], marks=pytest.mark.slow)])
def test_probabilities_are_those_of_fresh_samples(estimator: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, _, labels = square_with_flips(rng, 3_000, (0.02, 0.12))
    model = getattr(learn, estimator)(random_state=seed).fit(points, labels)
    fresh, _, wanted = square_with_flips(rng, 20_000, (0.02, 0.12))
    chances, distances = model.predict_proba(fresh)[:, 1], model.decision_function(fresh)
    assert np.all(np.diff(chances[np.argsort(distances)]) >= 0)
    np.testing.assert_array_equal(chances > 0.5, model.predict(fresh))
    # Far from the boundary labels are wrong as often as is said: 150 held-out samples on a side say it to 0.03.
    for side, share in ((distances > 0.3, 0.88), (distances < -0.3, 0.02)):
        assert np.mean(chances[side]) == pytest.approx(share, abs=0.06)
        assert np.mean(chances[side]) == pytest.approx(np.mean(wanted[side]), abs=0.06)


def test_several_classes_are_told_from_the_others(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, slopes = rng.standard_normal((1_500, 2)), regular_normals(3)
    names = np.array(["red", "blue", "green"])[np.argmax(points @ slopes.T, axis=1)]
    model = learn.HalfspaceIntersectionClassifier(random_state=seed).fit(points[:1_000], names[:1_000])
    assert list(model.classes_) == ["blue", "green", "red"]
    assert model.score(points[1_000:], names[1_000:]) > 0.97
    np.testing.assert_array_equal(model.classes_[np.argmax(model.predict_proba(points), axis=1)], model.predict(points))
    np.testing.assert_allclose(model.predict_proba(points).sum(axis=1), 1.0)
    assert model.decision_function(points).shape == (1_500, 3)
    # Every class is an intersection of two half spaces, which the network has side by side.
    assert model.inside_.tolist() == [True] * 3
    assert list(model.classes_of_halfspaces_) == ["blue", "blue", "green", "green", "red", "red"]
    assert model.network_(points[:5]).shape == (5, 6)
    assert "green: " in model.result_.reason


def test_a_class_of_more_weight_is_predicted_more_often(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((600, 2))
    labels = (points[:, 0] + rng.standard_normal(600) > 0).astype(int)
    shares = [
        np.mean(
            learn.HalfspaceUnionClassifier(class_weight=weight, random_state=seed).fit(points, labels).predict(points)
        )
        for weight in ({0: 5, 1: 1}, None, {0: 1, 1: 5})
    ]
    assert shares[0] < 0.35 < shares[1] < 0.65 < shares[2]
    weighted = learn.HalfspaceUnionClassifier(random_state=seed).fit(
        points, labels, sample_weight=np.where(labels, 5.0, 1.0)
    )
    assert np.mean(weighted.predict(points)) == shares[2]


def test_samples_of_no_weight_are_left_out(seed: int) -> None:
    points, is_out, _ = square_with_flips(np.random.default_rng(seed), 800, (0.0, 0.0))
    labels = np.where(np.arange(800) < 400, is_out, 2)
    weights = np.where(np.arange(800) < 400, 1.0, 0.0)
    model = learn.HalfspaceUnionClassifier(random_state=seed).fit(points, labels, sample_weight=weights)
    alone = learn.HalfspaceUnionClassifier(random_state=seed).fit(points[:400], labels[:400])
    assert list(model.classes_) == [0, 1]
    np.testing.assert_array_equal(model.decision_function(points), alone.decision_function(points))


@pytest.mark.parametrize("weight", [1e308, 2.0, 1e-300])
def test_the_unit_of_weights_does_not_matter(weight: float, seed: int) -> None:
    """Sums of weights of 1e308 were infinite: "Probabilities contain NaN"."""
    points, is_out, _ = square_with_flips(np.random.default_rng(seed), 300, (0.0, 0.0))
    model = learn.HalfspaceUnionClassifier(random_state=seed).fit(points, is_out, sample_weight=np.full(300, weight))
    alone = learn.HalfspaceUnionClassifier(random_state=seed).fit(points, is_out)
    np.testing.assert_array_equal(model.decision_function(points), alone.decision_function(points))


@pytest.mark.slow  # those of all public names run in `test_habits.py`
def test_examples_of_docstrings_run() -> None:
    from unweave.learn.lowest_layer import estimators

    for estimator in (getattr(learn, name) for name in BOTH):
        finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
        for test in finder.find(estimator, estimator.__name__, globs=dict(vars(estimators))):
            runner.run(test)
        assert runner.summarize(verbose=False).failed == 0
        assert runner.tries > 2
