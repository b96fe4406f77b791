from typing import Any

import numpy as np
import pytest

from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.samples import check_samples


def classes(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((30, 3)), np.arange(30) % 3, rng.standard_normal((9, 3)), np.arange(9) % 3]


def numbers(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((30, 3)), 5 + rng.standard_normal(30), rng.standard_normal((9, 3)), np.arange(9.0)]


def test_validation_rows_are_kept_out_of_training(seed: int) -> None:
    data = classes(seed)
    samples = check_samples(data, has_validation=True, random_state=seed)
    assert (len(samples.train_inputs), len(samples.validation_inputs)) == (24, 6)
    both = np.concatenate([samples.train_inputs, samples.validation_inputs])
    assert np.array_equal(np.sort(both, axis=0), np.sort(data[0], axis=0))


def test_all_rows_train_if_nothing_is_chosen(seed: int) -> None:
    samples = check_samples(classes(seed), has_validation=False, random_state=seed)
    assert np.array_equal(samples.train_inputs, classes(seed)[0])


def test_accuracy_is_the_usual_one(seed: int) -> None:
    from sklearn.metrics import accuracy_score

    samples = check_samples(classes(seed), has_validation=False, random_state=0)
    outputs = np.random.default_rng(seed).standard_normal((9, 3))
    expected = accuracy_score(samples.test_labels, outputs.argmax(axis=1))
    assert samples.score(outputs, samples.test_labels) == expected


def test_explained_variance_is_the_usual_one_in_any_unit(seed: int) -> None:
    from sklearn.metrics import r2_score

    data = numbers(seed)
    samples = check_samples(data, has_validation=False, random_state=0)
    assert not samples.is_classification
    guesses = np.random.default_rng(seed).standard_normal(9) + data[3]
    standardised = (guesses - data[1].mean()) / data[1].std()
    assert samples.score(standardised[:, None], samples.test_labels) == pytest.approx(r2_score(data[3], guesses))


def test_outputs_that_are_not_finite_have_no_score(seed: int) -> None:
    samples = check_samples(classes(seed), has_validation=False, random_state=0)
    assert np.isnan(samples.score(np.full((9, 3), np.nan), samples.test_labels))


def test_the_digest_tells_samples_apart(seed: int) -> None:
    data, changed = classes(seed), classes(seed)
    changed[2][0, 0] += 1e-12
    digests = [check_samples(each, has_validation=True, random_state=0).digest for each in (data, data, changed)]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, np.full((30, 3), np.nan), "x_train needs finite numbers, got 90"),
        (0, np.zeros((29, 3)), "one row per label"),
        (2, np.zeros((9, 4)), "equal shapes"),
        (1, np.array(["a"] * 30), "needs numbers"),
        (1, 1 + np.arange(30) % 3, "classes need to be 0, 1, 2"),
        (1, np.zeros(30, dtype=int), "classes need to be 0, 1, 2"),
        (1, np.linspace(0, 1, 30), "one type"),
        (0, [[1.0, 2.0], [3.0]], "rows of one shape"),
        (1, 3, "one row per sample"),
        (3, np.full(9, 7), r"classes that y_train has not: \[7\]"),
    ],
)
def test_wrong_samples_are_refused(place: int, value: Any, message: str) -> None:
    data = classes(0)
    data[place] = value
    with pytest.raises(InvalidInput, match=message):
        check_samples(data, has_validation=False, random_state=0)


def test_labels_that_do_not_vary_are_refused() -> None:
    data = numbers(0)
    data[1] = np.ones(30)
    with pytest.raises(InvalidInput, match="need to vary"):
        check_samples(data, has_validation=False, random_state=0)
    with pytest.raises(InvalidInput, match="four arrays"):
        check_samples(data[:3], has_validation=False, random_state=0)


@pytest.mark.usefixtures("without_type_checks")
def test_something_else_than_samples_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"four arrays, .*, got NoneType"):
        check_samples(None, has_validation=False, random_state=0)  # pyright: ignore[reportArgumentType]


def test_there_may_be_256_classes_of_8_bits() -> None:
    labels = np.arange(256).astype(np.uint8)
    points = np.zeros((256, 1))
    assert check_samples((points, labels, points, labels), has_validation=False, random_state=0).classes == 256
