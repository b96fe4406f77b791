import numpy as np
import pytest

from unweave import learn  # estimators are loaded when first used
from unweave.exceptions import InvalidInput
from unweave.learn.hierarchical.joint_fit import JointLevenbergMarquardt
from unweave.networks.quadratic.teacher import make_teacher
from unweave.reproduce.allenzhu.traces import feature_errors
from unweave.result import Outcome

FEW = JointLevenbergMarquardt(steps=2, restarts=1, decay=1e-4)


@pytest.mark.parametrize("estimator", ["HierarchicalRegressor", "HierarchicalClassifier"])
@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.filterwarnings("ignore")
def test_conventions_of_scikit_learn(estimator: str) -> None:
    from sklearn.utils.estimator_checks import check_estimator

    check_estimator(getattr(learn, estimator)((2, 1), solver=FEW))


def test_exact_labels_are_identified(seed: int) -> None:
    rng = np.random.default_rng(seed)
    teacher = make_teacher(rng, inputs=10, widths=(3, 2), level_weights=(1.0, 0.3))
    points, fresh = rng.standard_normal((1_500, 10)), rng.standard_normal((500, 10))
    model = learn.HierarchicalRegressor((3, 2), random_state=seed).fit(points, teacher(points)[:, 0])
    assert model.outcome_ is Outcome.IDENTIFIED, model.result_.reason
    np.testing.assert_allclose(model.predict(fresh), teacher(fresh)[:, 0], rtol=1e-6, atol=1e-6)
    assert max(feature_errors(model.network_, teacher, fresh)) < 1e-12
    assert model.certificate_.relative_error < 1e-15
    assert model.features(fresh, 3).shape == (500, 2)
    assert all(isinstance(text, str) for pair in model.certificate_.statements() for text in pair)


def test_labels_may_be_turned_around(seed: int) -> None:
    rng = np.random.default_rng(seed)
    teacher = make_teacher(rng, inputs=6, widths=(2, 1), level_weights=(1.0, 0.3))
    points = rng.standard_normal((800, 6))
    model = learn.HierarchicalRegressor((2, 1), random_state=seed).fit(points, 5 - 2 * teacher(points)[:, 0])
    assert model.outcome_ is Outcome.IDENTIFIED, model.result_.reason


def test_superfluous_features_are_noticed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    teacher = make_teacher(rng, inputs=8, widths=(3, 1), level_weights=(1.0, 0.3))
    points = rng.standard_normal((2_000, 8))
    model = learn.HierarchicalRegressor((4, 1), random_state=seed).fit(points, teacher(points)[:, 0])
    assert model.outcome_ is Outcome.PARTLY_IDENTIFIED
    assert model.certificate_.ranks == (3, 1)
    assert "(3, 1)" in model.result_.reason


def with_noise(seed: int, *, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, labels of a teacher of two levels, and the same with noise of a twentieth of their spread."""
    rng = np.random.default_rng(seed)
    teacher = make_teacher(rng, inputs=8, widths=(3, 1), level_weights=(1.0, 0.3))
    points = rng.standard_normal((rows, 8))
    clean = teacher(points)[:, 0]
    return points, clean, clean + 0.05 * np.std(clean) * rng.standard_normal(rows)


def test_noise_is_not_identified_as_exact(seed: int) -> None:
    points, _, noisy = with_noise(seed, rows=1_000)
    model = learn.HierarchicalRegressor((3, 1), random_state=seed).fit(points, noisy)
    assert model.outcome_ is Outcome.PARTLY_IDENTIFIED
    assert model.certificate_.fitted_error == pytest.approx(0.0025, rel=0.3)


def test_labels_of_nothing_are_not_identified(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((200, 4))
    solver = JointLevenbergMarquardt(restarts=2, steps=30)
    model = learn.HierarchicalRegressor((2, 1), solver=solver, random_state=seed).fit(points, rng.standard_normal(200))
    assert model.outcome_ is Outcome.NOT_IDENTIFIED
    assert "held out" in model.result_.reason


def test_few_rows_claim_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((15, 3))
    model = learn.HierarchicalRegressor((1,), random_state=seed).fit(points, points[:, 0])
    assert model.outcome_ is Outcome.NOT_IDENTIFIED


def test_classes_need_the_third_level(seed: int) -> None:
    rng = np.random.default_rng(seed)
    teacher = make_teacher(rng, inputs=5, widths=(2, 2), level_weights=(1.0, 0.7))
    points, fresh = rng.standard_normal((3_000, 6)), rng.standard_normal((4_000, 6))
    # The last input enters linearly and by itself, so that the boundary is not where the network is zero.
    classes, true = (np.where(0.1 * teacher(x[:, :5])[:, 0] + x[:, 5] > 0.3, "far", "near") for x in (points, fresh))
    solver = JointLevenbergMarquardt(decay=1e-8, affine_share=1.0, restarts=1)
    deep = learn.HierarchicalClassifier((2, 2), solver=solver, random_state=seed).fit(points, classes)
    flat = learn.HierarchicalClassifier((2,), solver=solver, random_state=seed).fit(points, classes)
    assert 1 - deep.score(fresh, true) < 0.6 * (1 - flat.score(fresh, true))
    assert deep.outcome_ is Outcome.PARTLY_IDENTIFIED
    np.testing.assert_allclose(deep.predict_proba(fresh).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"widths": (0,)}, "whole numbers"),
        ({"widths": 3}, "one number of features per level"),
        ({"connections": ((1,), (2, 1))}, "excluded"),
        ({"level_weights": (1.0,)}, "positive"),
        ({"mean_squares": (1.0,)}, "4 numbers"),
        ({"validation_fraction": 1.5}, "validation_fraction"),
    ],
)
@pytest.mark.usefixtures("without_type_checks")
def test_wrong_settings_are_refused(settings: dict, message: str, seed: int) -> None:
    points = np.random.default_rng(seed).standard_normal((30, 4))
    with pytest.raises(InvalidInput, match=message):
        learn.HierarchicalRegressor(**settings).fit(points, points[:, 0])


@pytest.mark.parametrize(
    ("widths", "split"), [((2, 1), 0), *(pytest.param((4, 2), split, marks=pytest.mark.slow) for split in range(10))]
)
def test_real_labels_are_never_worse_than_their_mean(widths: tuple[int, ...], split: int) -> None:
    """audit D: without weight decay 100 parameters for 331 rows left an R2 of -1.5."""
    from sklearn.datasets import load_diabetes
    from sklearn.model_selection import train_test_split

    points, labels = load_diabetes(return_X_y=True)
    points, fresh, labels, truth = train_test_split(points, labels, random_state=split)
    model = learn.HierarchicalRegressor(widths, random_state=0).fit(points, labels)
    assert model.score(fresh, truth) > 0.2
    assert model.decay_ > 0
    assert model.certificate_.relative_error < 1


def test_noise_needs_few_starts_and_exact_labels_no_decay(seed: int) -> None:
    points, clean, noisy = with_noise(seed, rows=1_500)
    model = learn.HierarchicalRegressor((3, 1), random_state=seed).fit(points, noisy)
    assert model.certificate_.starts < 10
    assert model.certificate_.best_starts >= 2
    exact = learn.HierarchicalRegressor((3, 1), random_state=seed).fit(points, clean)
    assert exact.outcome_ is Outcome.IDENTIFIED
    assert exact.decay_ == 0


def test_decay_shrinks_features_whatever_the_units(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((200, 3))
    labels = (points[:, 0] ** 2 - 1) ** 2 + rng.standard_normal(200)
    predictions = []
    for scale in (1.0, 1e-3):
        model = learn.HierarchicalRegressor((1,), decay=3.0, random_state=seed).fit(scale * points, labels)
        assert model.decay_ == 3.0
        predictions.append(model.predict(scale * points))
    free = learn.HierarchicalRegressor((1,), decay=0, random_state=seed).fit(points, labels)
    np.testing.assert_allclose(predictions[0], predictions[1], rtol=1e-3, atol=0.01)
    assert np.std(predictions[0]) < 0.9 * np.std(free.predict(points))


def test_time_that_is_over_ends_with_what_was_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((400, 5))
    labels = rng.standard_normal(400)
    model = learn.HierarchicalRegressor((3, 2), seconds=0.0, random_state=seed).fit(points, labels)
    assert model.certificate_.starts <= 2
    assert model.outcome_ is Outcome.NOT_IDENTIFIED
    assert np.all(np.isfinite(model.predict(points)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"decay": -1.0}, "decay needs"), ({"decay": "much"}, "decay needs"), ({"seconds": -1}, "seconds needs")],
)
@pytest.mark.usefixtures("without_type_checks")
def test_settings_of_training_that_make_no_sense_are_refused(settings: dict, message: str, seed: int) -> None:
    points = np.random.default_rng(seed).standard_normal((30, 4))
    with pytest.raises(InvalidInput, match=message):
        learn.HierarchicalRegressor((1,), **settings).fit(points, points[:, 0])
