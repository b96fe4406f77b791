"""What estimators share: checks of samples and settings, and the attributes after `fit`.

An estimator lies beside its algorithm in a folder of its own and derives from `NetworkRegressor`, or from the
`NetworkClassifier` of `classes.py`. Its `fit` checks the samples, runs the algorithm in `Stages`, and ends with
``self._keep(result)``. One sample is one row of X.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Bool, Float64
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from unweave.arrays import PerPoint, Points, spread_of_columns, unit_of_columns
from unweave.exceptions import InvalidInput
from unweave.result import InputRanges, Outcome, Result

Labels = Float64[np.ndarray, "points"]

LARGEST_SEED = 2**31 - 1
# Sizes of inputs and labels, and one over them, up to which floats hold their fourth powers, which losses need.
LARGEST_SIZE = 1e75
# Values of neurons at samples: 1 GB, of which there are a few copies.
MOST_VALUES = 2**27
# Letters of a cell in a message.
LONGEST_CELL = 40
AnyEstimator = TypeVar("AnyEstimator", bound="NetworkEstimator")


class NetworkEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Hold a result and its parts under the names that all estimators have; never used by itself.

    As a transformer it gives what hidden neurons say: features that were learnt for the labels.

    Attributes:
        result_: outcome, reason, network, certificate, diagnostics, cost and notes.
        network_: the network.
        certificate_: what may be claimed about it.
        outcome_: identified, partly identified or not identified.
    """

    result_: Result
    n_features_in_: int
    network_: Any
    certificate_: Any
    outcome_: Outcome

    def _keep(self: AnyEstimator, result: Result, points: Points | None = None) -> AnyEstimator:
        """Keep a result, with the ranges of the samples that are in memory and the names of their columns."""
        names = tuple(map(str, getattr(self, "feature_names_in_", ())))
        # Names of an earlier fit, which had other columns, say nothing about this one.
        names = names if len(names) == getattr(self, "n_features_in_", None) else ()
        ranges = result.ranges if points is None else ranges_of_samples(points)
        self.result_ = result = replace(result, ranges=ranges, input_names=names)
        self.network_, self.certificate_, self.outcome_ = result.network, result.certificate, result.outcome
        return self

    def transform(self, X: Any) -> Float64[np.ndarray, "points features"]:
        """Answer with the values of the hidden neurons, one column each, for what is learnt from them next."""
        return self._hidden(self._check_points(X))

    def _hidden(self, points: Points) -> Float64[np.ndarray, "points features"]:
        """Values of the hidden neurons."""
        layer = self.network_.layers[0]
        return layer.activation(layer.preactivations(points))

    @property
    def _n_features_out(self) -> int:
        """How many columns `transform` gives, which scikit-learn names."""
        return self._hidden(np.zeros((1, self.n_features_in_))).shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Hidden neurons are float64, whatever the samples were.
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _check_points(self, X: Any) -> Points:
        """Points to predict at.

        Raises:
            InvalidInput: with scikit-learn's words if they don't fit those of `fit`, or are not finite.
        """
        check_is_fitted(self)
        with wrong_use(self, X):
            return np.asarray(validate_data(self, X, dtype=np.float64, reset=False))


class NetworkRegressor(RegressorMixin, NetworkEstimator):
    """Predict by the first output of the network; never used by itself."""

    def predict(self, X: Any) -> Labels:
        """Answer with the output of the network, one number per sample."""
        points = self._check_points(X)
        return self.network_(points)[:, 0]

    def _check_samples(self, X: Any, y: Any, *, fewest: int = 2) -> tuple[Points, Labels]:
        """Points and labels as float64.

        Raises:
            InvalidInput: with scikit-learn's words, and row and column, if they are not finite; or too few.
        """
        with wrong_use(self, X, y):
            points, labels = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=fewest)
            labels = np.asarray(labels, dtype=np.float64)
            # scikit-learn lets None pass, and so it becomes NaN here.
            assert_all_finite(labels, input_name="y")
        return np.asarray(points), labels

    def _check_weights(self, sample_weight: Any, points: Points) -> PerPoint | None:
        """Weights of the samples; None if none are given.

        Raises:
            InvalidInput: with scikit-learn's words if they are negative, not finite, or not one per sample.
        """
        if sample_weight is None:
            return None
        with wrong_use(self, points):
            return _check_sample_weight(sample_weight, points, dtype=np.float64, ensure_non_negative=True)


@contextmanager
def wrong_use(estimator: Any, X: Any, y: Any = None) -> Iterator[None]:
    """Turn scikit-learn's errors into `InvalidInput`, which is a ValueError as well, and say where the cause is."""
    try:
        _refuse_dates(X)
        yield
    except InvalidInput:
        raise
    except (TypeError, ValueError) as error:
        # scikit-learn looks at the names of columns before it looks at what they hold.
        names = getattr(estimator, "feature_names_in_", None)
        place = _first_wrong_cell("X", X, axes=2, columns=names) or _first_wrong_cell("y", y, axes=1)
        # scikit-learn's conventions ask for a TypeError where cells are objects.
        kind = InvalidInput if isinstance(error, ValueError) else TypeError
        raise kind(f"{place}{error}") from error


def _refuse_dates(X: Any) -> None:
    """Refuse what NumPy would take for numbers: dates and times in a unit that nobody chose."""
    try:
        kind = np.asarray(X[:1]).dtype.kind
    # What has no first row, such as some sparse matrices, is refused by scikit-learn.
    except (TypeError, ValueError, LookupError, NotImplementedError):
        return
    if kind in "mM":
        raise InvalidInput("X needs numbers, got dates or times: give them as numbers in a unit of your choice.")


def _first_wrong_cell(name: str, values: Any, *, axes: int, columns: Any = None) -> str:
    """Say in which row and column the first cell is that is no finite number; empty if there is none."""
    try:
        table = np.asarray(values)
    except ValueError:
        return ""
    # What has other axes, and numbers of other kinds, is refused as a whole.
    if values is None or table.ndim != axes or table.dtype.kind == "c":
        return ""
    wrong = np.argwhere(~_is_finite(table))
    if not len(wrong):
        return ""
    row, *column = wrong[0].tolist()
    names = [] if columns is None or table.shape[1:] != (len(columns),) else list(map(str, columns))
    column_name = [repr(names[each]) if names else str(each) for each in column]
    place = f"row {row}{f', column {column_name[0]}' if column else ''} (counted from 0)"
    return f"{name} needs finite numbers, got {str(table[tuple(wrong[0])])[:LONGEST_CELL]!r} in {place}. "


def _is_finite(table: np.ndarray) -> Bool[np.ndarray, "..."]:
    """Which cells are finite numbers."""
    if table.dtype.kind in "fiub":
        return np.isfinite(table)
    return np.vectorize(_is_finite_number, otypes=[bool])(table)


def _is_finite_number(cell: Any) -> bool:
    try:
        return bool(np.isfinite(float(cell)))
    except (TypeError, ValueError):
        return False


def ranges_of_samples(points: Points) -> InputRanges:
    """Say where samples lie."""
    # Sums of the largest floats are none any more: means are taken in units.
    unit = unit_of_columns(points)
    means = unit * np.mean(points / unit, axis=0)
    return InputRanges(
        lower=tuple(np.min(points, axis=0).tolist()),
        upper=tuple(np.max(points, axis=0).tolist()),
        center=tuple(means.tolist()),
        scale=tuple(spread_of_columns(points).tolist()),
    )


def seed_of(random_state: Any) -> int:
    """Draw a seed from any `random_state` that scikit-learn accepts."""
    return int(check_random_state(random_state).randint(LARGEST_SEED))


def check_neurons(neurons: Any) -> int | None:
    """Return the number of neurons, None if the estimator is to find it.

    Raises:
        InvalidInput: for anything but None and whole numbers from 1 on.
    """
    is_count = isinstance(neurons, int | np.integer) and not isinstance(neurons, bool) and neurons >= 1
    if neurons is not None and not is_count:
        raise InvalidInput(f"neurons needs to be None or a whole number of at least 1, got {neurons!r}.")
    return None if neurons is None else int(neurons)


def check_room(neurons: int | None, points: Points) -> None:
    """Make sure that the values of all neurons at all samples fit into memory.

    Raises:
        InvalidInput: if they are too many.
    """
    if neurons is not None and neurons * sum(points.shape) > MOST_VALUES:
        raise InvalidInput(
            f"{neurons} neurons have too many values at {len(points)} samples of {points.shape[1]} inputs: give fewer "
            f"than {MOST_VALUES // sum(points.shape) + 1}."
        )


def check_sizes(points: Points, labels: Float64[np.ndarray, "labels"]) -> None:
    """Make sure that products of inputs, and squares of labels, are numbers.

    Raises:
        InvalidInput: if the largest entry of a column is too large or too small, but not zero.
    """
    columns = [(f"input {number}", column) for number, column in enumerate(points.T)]
    for name, values in [*columns, ("the target", labels)]:
        size = float(np.max(np.abs(values)))
        if size != 0 and not 1 / LARGEST_SIZE <= size <= LARGEST_SIZE:
            raise InvalidInput(
                f"{name} needs a largest absolute value between {1 / LARGEST_SIZE:g} and {LARGEST_SIZE:g}, got "
                f"{size:.3g}, of which powers are no floats any more: give it in another unit."
            )
