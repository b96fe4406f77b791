"""The samples of a measurement: checked once, split once, scored in one way."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.torch_extra import need_torch

# Of the training rows, held out where a choice has to be made: test rows must not make it.
VALIDATION_SHARE = 0.2
# Rows whose features are compared before and after at most: enough for a thousand features, few enough to be stored.
PROBE_ROWS = 4_096
PARTS = ("x_train", "y_train", "x_test", "y_test")


@runtime_checkable
class Rows(Protocol):
    """Inputs of some rows, which are read batch by batch when they are needed."""

    def __len__(self) -> int:
        """How many rows there are."""
        ...

    def chosen(self, places: np.ndarray) -> "Rows":
        """Some of them."""
        ...


@dataclass(frozen=True, eq=False)
class Samples:
    """Inputs and labels of training, validation and test.

    Args:
        train_rows: numbers of those rows of the given training samples that train; the others are held out.
        classes: number of classes; 0 for labels that are real numbers, which are then in units in which the training
            labels have mean 0 and variance 1.
        digest: of everything that was given, so that two sets of samples can be told apart.
        batch: rows of a batch of the loader that was given; None without one.
    """

    train_rows: np.ndarray
    train_inputs: np.ndarray | Rows
    train_labels: np.ndarray
    validation_inputs: np.ndarray | Rows
    validation_labels: np.ndarray
    test_inputs: np.ndarray | Rows
    test_labels: np.ndarray
    classes: int
    digest: str
    batch: int | None = None

    @property
    def is_classification(self) -> bool:
        """Whether labels are classes."""
        return self.classes > 0

    @property
    def outputs(self) -> int:
        """Columns that a model's answer needs."""
        return self.classes if self.is_classification else self.train_labels.shape[1]

    @property
    def probes(self) -> np.ndarray | Rows:
        """Held-out inputs at which features are compared."""
        return some_rows(self.test_inputs, np.arange(min(PROBE_ROWS, len(self.test_inputs))))

    def score(self, outputs: np.ndarray, labels: np.ndarray) -> float:
        """Accuracy, or the share of variance that is explained; NaN if an output is not finite."""
        if not np.all(np.isfinite(outputs)):
            return float("nan")
        if self.is_classification:
            return float(np.mean(np.argmax(outputs, axis=1) == labels))
        outputs = outputs.astype(np.float64)
        return float(1 - np.mean((outputs - labels) ** 2) / np.mean((labels - labels.mean(axis=0)) ** 2))


def some_rows(inputs: np.ndarray | Rows, places: np.ndarray) -> np.ndarray | Rows:
    """Take rows of an array, or of what is read when it is needed."""
    return inputs[places] if isinstance(inputs, np.ndarray) else inputs.chosen(places)


def check_samples(data: Sequence[Any], *, has_validation: bool, random_state: int) -> Samples:
    """Check samples, and hold out validation rows if a choice is to be made.

    Args:
        data: ``(x_train, y_train, x_test, y_test)``, or a torch dataset or loader to train on and one to test on.
            Integer labels are classes 0, 1, ...; others are real numbers.
        has_validation: whether a share of the training rows is kept out of every training.
        random_state: which rows.

    Raises:
        InvalidInput: for shapes that do not fit, numbers that are not finite, or labels that are no classes.
        MissingExtra: for datasets, without torch.
    """
    if isinstance(data, Sequence) and len(data) == len(PARTS):
        return split_samples(_checked_arrays(data), has_validation=has_validation, random_state=random_state)
    if isinstance(data, Sequence) and len(data) == 2:
        need_torch()
        from unweave.explore.feature_correction.datasets import checked_datasets

        return split_samples(checked_datasets(*data), has_validation=has_validation, random_state=random_state)
    came = len(data) if isinstance(data, Sequence) else type(data).__name__
    raise InvalidInput(
        f"data needs four arrays, ({', '.join(PARTS)}), or two datasets or loaders of torch, (train, test), got {came}."
    )


@dataclass(frozen=True, eq=False)
class CheckedRows:
    """Inputs that fit together, and their labels as they were given.

    Args:
        digest: of all of it.
        batch: see `Samples`.
    """

    train_inputs: np.ndarray | Rows
    train_labels: np.ndarray
    test_inputs: np.ndarray | Rows
    test_labels: np.ndarray
    digest: str
    batch: int | None = None


def split_samples(given: CheckedRows, *, has_validation: bool, random_state: int) -> Samples:
    """Check labels, and hold out validation rows; see `check_samples`.

    Raises:
        InvalidInput: for labels that are no classes, or do not vary.
    """
    y_train, y_test = given.train_labels, given.test_labels
    classes = _classes(y_train, y_test)
    if not classes:
        y_train, y_test = _standardised(y_train, y_test)
    order = np.random.default_rng(random_state).permutation(len(y_train))
    held = round(VALIDATION_SHARE * len(order)) if has_validation else 0
    # Kept in their order, so that training rows do not depend on how they were drawn.
    fit, validation = np.sort(order[held:]), np.sort(order[:held])
    train, held_out = (some_rows(given.train_inputs, rows) for rows in (fit, validation))
    return Samples(
        fit, train, y_train[fit], held_out, y_train[validation], given.test_inputs, y_test, classes, given.digest,
        given.batch,
    )  # fmt: skip


def _checked_arrays(data: Sequence[Any]) -> CheckedRows:
    arrays = [_finite(part, name) for part, name in zip(data, PARTS, strict=True)]
    x_train, y_train, x_test, y_test = arrays
    for inputs, labels, name in ((x_train, y_train, "train"), (x_test, y_test, "test")):
        if inputs.ndim < 2 or len(inputs) != len(labels) or len(inputs) < 2:
            raise InvalidInput(
                f"x_{name} needs one row per label, at least 2, got the shapes {inputs.shape} and {labels.shape}."
            )
    if x_train.shape[1:] != x_test.shape[1:]:
        raise InvalidInput(f"rows of x_train and x_test need equal shapes: {x_train.shape[1:]}, {x_test.shape[1:]}.")
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.shape} {array.dtype}".encode() + np.ascontiguousarray(array).tobytes())
    return CheckedRows(x_train, y_train, x_test, y_test, digest.hexdigest())


def _finite(part: Any, name: str) -> np.ndarray:
    try:
        array = np.asarray(part)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{name} needs rows of one shape: {error}.") from error
    if array.ndim == 0:
        raise InvalidInput(f"{name} needs one row per sample, got {part!r}.")
    if array.dtype.kind not in "iuf":
        raise InvalidInput(f"{name} needs numbers, got {array.dtype}: encode them first.")
    bad = int(np.size(array) - np.count_nonzero(np.isfinite(array)))
    if bad:
        raise InvalidInput(f"{name} needs finite numbers, got {bad} that are NaN or infinite: remove those rows.")
    return array


def _classes(y_train: np.ndarray, y_test: np.ndarray) -> int:
    kinds = {labels.dtype.kind in "iu" for labels in (y_train, y_test)}
    if len(kinds) > 1:
        raise InvalidInput(
            f"labels of training and test need one type, got {y_train.dtype} and {y_test.dtype}: integers are "
            "classes, floats are real numbers to predict."
        )
    if kinds == {False}:
        return 0
    if y_train.ndim != 1 or y_test.ndim != 1:
        raise InvalidInput(f"classes need one label per row, got the shapes {y_train.shape} and {y_test.shape}.")
    # In 8 bits the number of 256 classes would be 0.
    present = np.unique(y_train).astype(np.int64)
    if present[0] != 0 or len(present) != present[-1] + 1 or len(present) < 2:
        raise InvalidInput(
            f"classes need to be 0, 1, 2, ... and all present in y_train, got {present[:20].tolist()}: number them."
        )
    if not np.isin(y_test, present).all():
        raise InvalidInput(f"y_test holds classes that y_train has not: {np.setdiff1d(y_test, present).tolist()}.")
    return len(present)


def _standardised(y_train: np.ndarray, y_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if y_train.ndim > 2 or y_train.shape[1:] != y_test.shape[1:]:
        raise InvalidInput(f"real labels need one number or one row each, got {y_train.shape} and {y_test.shape}.")
    train, test = (labels.reshape(len(labels), -1).astype(np.float64) for labels in (y_train, y_test))
    mean, spread = train.mean(axis=0), train.std(axis=0)
    if spread.min() == 0 or test.std(axis=0).min() == 0:
        raise InvalidInput("real labels need to vary, but a column of y_train or y_test is constant: remove it.")
    return (train - mean) / spread, (test - mean) / spread
