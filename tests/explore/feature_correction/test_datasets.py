"""Datasets and loaders as samples: read in batches that depend on nothing but seeds."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from typechecking import without_checks
from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.samples import Samples, check_samples


@pytest.fixture
def given() -> ModuleType:
    import correction_datasets

    return correction_datasets


def checked(data: Any, *, has_validation: bool = False) -> Samples:
    return check_samples(data, has_validation=has_validation, random_state=0)


def batches(samples: Samples, seed: int = 5, *, first: int = 0) -> list[np.ndarray]:
    rows: Any = samples.train_inputs
    groups = [np.array([3, 1]), np.array([0, 2, 4]), np.array([5])]
    return [inputs.numpy() for inputs in rows.inputs(groups, seed, first=first)]


def test_datasets_hold_what_arrays_hold(given: ModuleType, seed: int) -> None:
    arrays, read = (checked(data) for data in (given.small_images(seed), given.tensor_datasets(seed)))
    assert read.classes == arrays.classes
    assert np.array_equal(read.train_labels, arrays.train_labels)
    assert np.array_equal(read.test_labels, arrays.test_labels)
    for found, rows in zip(batches(read), ([3, 1], [0, 2, 4], [5]), strict=True):
        assert np.array_equal(found, arrays.train_inputs[rows])


def test_the_same_rows_are_held_out_of_datasets_and_arrays(given: ModuleType, seed: int) -> None:
    arrays, read = (
        checked(data, has_validation=True) for data in (given.small_images(seed), given.tensor_datasets(seed))
    )
    assert np.array_equal(read.train_rows, arrays.train_rows)
    assert np.array_equal(read.validation_labels, arrays.validation_labels)
    assert np.array_equal(batches(read)[1], arrays.train_inputs[[0, 2, 4]])


def test_datasets_that_give_several_items_at_once_are_asked_so(given: ModuleType, seed: int) -> None:
    from torch.utils.data import Subset

    train, test = given.tensor_datasets(seed)
    order = np.random.default_rng(seed).permutation(40).tolist()
    read = checked((Subset(train, order), test))
    images, labels = given.small_images(seed)[:2]
    assert np.array_equal(read.train_labels, labels[order])
    assert np.array_equal(batches(read)[1], images[order][[0, 2, 4]])


def test_only_what_is_needed_is_read(given: ModuleType, seed: int) -> None:
    train = given.Jittered(seed)
    samples = checked((train, given.Jittered(seed, is_test=True)))
    # All rows once to be checked, and the first batch twice more.
    assert train.reads == 3 * 40
    batches(samples, first=1)
    assert train.reads == 3 * 40 + 4


def test_what_a_dataset_draws_depends_on_the_seed_and_the_batch_alone(given: ModuleType, seed: int) -> None:
    samples = checked((given.Jittered(seed), given.Jittered(seed, is_test=True)))
    first, again, other = batches(samples), batches(samples), batches(samples, seed=6)
    assert all(np.array_equal(one, two) for one, two in zip(first, again, strict=True))
    assert not any(np.array_equal(one, two) for one, two in zip(first, other, strict=True))
    assert all(np.array_equal(one, two) for one, two in zip(first[1:], batches(samples, first=1), strict=True))


def test_reading_draws_nothing_from_the_generators_of_others(given: ModuleType, seed: int) -> None:
    import random

    import torch

    samples = checked((given.Jittered(seed), given.Jittered(seed, is_test=True)))

    def drawn(*, is_read: bool) -> tuple[Any, ...]:
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        random.seed(seed)
        if is_read:
            # Checks of types draw the items of a list that they look at.
            with without_checks():
                batches(samples)
        return torch.rand(1).item(), np.random.random(), random.random()  # noqa: NPY002

    assert drawn(is_read=True) == drawn(is_read=False)


def test_processes_read_the_same_bits(given: ModuleType, seed: int) -> None:
    data = given.Jittered(seed), given.Jittered(seed, is_test=True)
    loaders = given.loader(data[0], batch_size=16, num_workers=1), given.loader(data[1], batch_size=16)
    read = checked(loaders)
    assert read.batch == 16
    assert all(np.array_equal(one, two) for one, two in zip(batches(read), batches(checked(data)), strict=True))


def test_the_digest_tells_datasets_apart(given: ModuleType, seed: int) -> None:
    digests = [checked(given.tensor_datasets(number)).digest for number in (seed, seed, seed + 1)]
    assert digests[0] == digests[1] != digests[2]


def test_real_labels_of_datasets_are_standardised(given: ModuleType, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = [given.Listed([tuple(rng.standard_normal((2, 3))) for _ in range(20)]) for _ in range(2)]
    samples = checked(data)
    assert samples.classes == 0
    assert samples.outputs == 3
    assert samples.train_labels.mean() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda g: g.Streamed(), "with a length and rows that can be picked, .* got Streamed"),
        (lambda g: g.loader(g.Streamed(), batch_size=4), "got Streamed"),
        (lambda g: g.Listed([]), "at least 2 rows, got 0"),
        (lambda g: g.Changing(0), "other numbers for the same rows and seeds"),
        (lambda g: g.Listed([object()] * 4), "can't be read batch by batch: TypeError"),
        (lambda g: g.Listed([(np.zeros(3), 0), (np.zeros(4), 1)]), "inputs all of one shape"),
        (lambda g: g.Listed([(np.zeros(3), 0, 1)] * 4), "pairs of a tensor and a label"),
        (lambda g: g.Listed([{"x": np.zeros(3), "y": 0}] * 4), "pairs of a tensor and a label, got batches of dict"),
        (lambda g: g.Listed([(0.5, 0)] * 4), "one row and one label per item"),
        (lambda g: g.Listed([(np.array([np.nan]), 0), (np.zeros(1), 1)]), "finite numbers"),
        (lambda g: g.Listed([(np.zeros(3), True)] * 4), "real numbers of NumPy, got torch.bool"),
        (lambda g: g.Listed([(np.zeros((1, 4, 4)), 0)] * 4), "classes need to be 0, 1, 2"),
        (lambda g: g.loader(g.Jittered(0), batch_size=None), "needs a batch size"),
        (lambda g: g.loader(g.Jittered(0), batch_size=4, sampler=g.picked(40)), "no sampler of its own"),
    ],
)
def test_datasets_that_do_not_fit_are_refused(build: Any, message: str, given: ModuleType) -> None:
    with pytest.raises(InvalidInput, match=message):
        checked((build(given), given.Jittered(0, is_test=True)))


def test_inputs_of_both_datasets_have_one_shape(given: ModuleType) -> None:
    wide = given.Listed([(np.zeros((1, 4, 5), dtype=np.float32), row % 3) for row in range(6)])
    with pytest.raises(InvalidInput, match="equal shapes"):
        checked((given.Jittered(0), wide))


def test_labels_that_change_are_refused(given: ModuleType, seed: int) -> None:
    train = given.Jittered(seed)
    samples = checked((train, given.Jittered(seed, is_test=True)))
    train.labels = 2 - train.labels
    with pytest.raises(InvalidInput, match="other labels than when it was checked"):
        batches(samples)
