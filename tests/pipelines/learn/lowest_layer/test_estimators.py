import pickle

import numpy as np
import pytest

from halfspace_samples import any_of, largest_angle, planted_rows, values_of, with_pairs
from unweave import learn  # estimators are loaded when first used
from unweave.activations import RELU, STEP
from unweave.exceptions import InvalidInput
from unweave.learn.lowest_layer.upper import fit_polynomial, fit_table
from unweave.result import Outcome

# Checks that fit half spaces often, or to several classes: two thirds of the time of all.
MANY_FITS = (
    "check_classifiers_classes",
    "check_classifiers_train",
    "check_dtype_object",
    "check_estimators_dtypes",
    "check_n_features_in_after_fitting",
    "check_positive_only_tag_during_fit",
    "check_sample_weight_equivalence_on_dense_data",
    "check_supervised_y_2d",
)
# Estimators as they write themselves, and the checks that are left to the slow tests.
ESTIMATORS = [
    ("LowestLayerRegressor(random_state=0)", ()),
    pytest.param("LowestLayerRegressor(activation='step', random_state=0)", (), marks=pytest.mark.slow),
    ("HalfspaceIntersectionClassifier(neurons=1, random_state=0)", MANY_FITS),
    pytest.param("HalfspaceIntersectionClassifier(neurons=1, random_state=0)", (), marks=pytest.mark.slow),
    # Without a given number several are tried in every fit.
    pytest.param("HalfspaceIntersectionClassifier(random_state=0)", (), marks=pytest.mark.slow),
]


@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize(
    ("estimator", "left_out"),
    ESTIMATORS,
    ids=lambda part: "all" if part == () else "fewer" if part is MANY_FITS else part,
)
def test_estimators_follow_the_conventions(estimator: str, left_out: tuple[str, ...]) -> None:
    from sklearn.utils.estimator_checks import estimator_checks_generator

    kinds = {name: getattr(learn, name) for name in learn.__all__}
    checks = [(candidate, check) for candidate, check in estimator_checks_generator(eval(estimator, kinds))]
    assert {*left_out} <= {check.func.__name__ for _, check in checks}
    for candidate, check in checks:
        if check.func.__name__ in left_out:
            continue
        try:
            check(candidate)
        except pytest.skip.Exception:
            continue
        except Exception as error:
            if type(error).__name__ != "SkipTest":
                raise


def test_an_intersection_is_found_with_its_normals(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points = planted_rows(rng, 3, 3, mixing=0.2), rng.standard_normal((40_000, 3))
    inside = any_of(values_of(points, rows, 1.3, STEP)) == 0
    names = np.where(inside, "yes", "no")
    model = learn.HalfspaceIntersectionClassifier(random_state=seed).fit(points, names)
    assert model.outcome_ is not Outcome.NOT_IDENTIFIED
    assert largest_angle(-rows, model.normals_) < 0.5
    np.testing.assert_allclose(model.offsets_, -1.3, atol=0.01)
    assert model.score(points, names) > 0.999
    np.testing.assert_array_equal(
        np.all(points @ model.normals_.T > model.offsets_, axis=1), model.predict(points) == "yes"
    )
    np.testing.assert_array_equal(model.network_(points[:50]), model.layer_.values(points[:50]))
    assert model.result_.samples == 40_000


def test_a_union_is_the_complement_of_an_intersection(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points = planted_rows(rng, 2, 2), rng.standard_normal((20_000, 2))
    active = any_of(values_of(points, rows, 1.0, STEP)).astype(int)
    union = learn.HalfspaceUnionClassifier(neurons=2, random_state=seed).fit(points, active)
    intersection = learn.HalfspaceIntersectionClassifier(neurons=2, random_state=seed).fit(points, 1 - active)
    np.testing.assert_allclose(union.normals_, -intersection.normals_)
    np.testing.assert_allclose(union.decision_function(points), -intersection.decision_function(points))


def test_data_that_is_not_gaussian_is_predicted_but_not_claimed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, (600, 2))
    inside = np.max(np.abs(points), axis=1) < 0.6
    model = learn.HalfspaceIntersectionClassifier(random_state=seed).fit(points, inside)
    assert model.outcome_ is Outcome.NOT_IDENTIFIED
    assert model.score(points, inside) > 0.9
    assert "not claimed" in model.result_.notes[-1]


def test_a_regressor_predicts_and_knows_its_units(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points = planted_rows(rng, 3, 4, mixing=0.2), rng.standard_normal((30_000, 4))
    labels = with_pairs(values_of(points, rows, 1.0, RELU))
    model = learn.LowestLayerRegressor(random_state=seed).fit(points[:20_000], labels[:20_000])
    assert model.outcome_ is Outcome.IDENTIFIED
    assert model.score(points[20_000:], labels[20_000:]) > 1 - 1e-12
    assert model.network_ is not None
    np.testing.assert_allclose(model.network_(points[:50]), model.units(points[:50]), atol=1e-12)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(points[:50]), model.predict(points[:50]))


def test_a_regressor_of_steps_predicts_by_a_table(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points = planted_rows(rng, 2, 2), rng.standard_normal((8_000, 2))
    labels = values_of(points, rows, 1.0, STEP) @ [1.0, 3.0]
    model = learn.LowestLayerRegressor(activation="step", random_state=seed).fit(points[:6_000], labels[:6_000])
    assert model.network_ is not None
    assert model.units(points).shape == (8_000, 2)
    # Rows are within half a degree: few points lie between them and the planted ones.
    assert np.mean(np.abs(model.predict(points[6_000:]) - labels[6_000:]) < 0.1) > 0.98


def test_wrong_settings_are_refused() -> None:
    points, labels = np.random.default_rng(0).standard_normal((50, 2)), np.arange(50) % 2
    with pytest.raises(InvalidInput, match="no activation of units"):
        learn.LowestLayerRegressor(activation="tanh").fit(points, labels)
    with pytest.raises(InvalidInput, match="at least 1, got 0"):
        learn.HalfspaceUnionClassifier(neurons=0).fit(points, labels)
    with pytest.raises(InvalidInput, match="only one class"):
        learn.HalfspaceUnionClassifier().fit(points, labels, sample_weight=labels)
    with pytest.raises(InvalidInput, match="Negative values"):
        learn.HalfspaceUnionClassifier().fit(points, labels, sample_weight=-np.ones(50))
    with pytest.raises(InvalidInput, match="class_weight"):
        learn.HalfspaceUnionClassifier(class_weight="even").fit(points, labels)


def test_tables_and_polynomials_explain_what_is_above(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, points = planted_rows(rng, 3, 3), rng.standard_normal((4_000, 3))
    steps, relus = (values_of(points, rows, 0.5, unit) for unit in (STEP, RELU))
    labels = np.cos(steps @ [1.0, 2.0, 3.0])
    np.testing.assert_allclose(fit_table(steps, labels)(steps), labels, atol=1e-6)
    labels = with_pairs(relus)
    np.testing.assert_allclose(fit_polynomial(relus, labels, degree=2)(relus), labels, atol=1e-6)
    assert np.std(fit_polynomial(relus, labels, degree=1)(relus) - labels) > 0.03 * np.std(labels)
