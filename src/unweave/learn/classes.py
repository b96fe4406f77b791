"""What classifiers share: labels of any kind, weights of samples and classes, and one result for several classes."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Shaped
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from unweave.arrays import PerPoint, Points
from unweave.exceptions import InvalidInput
from unweave.learn.base import NetworkEstimator, wrong_use
from unweave.result import AnyCertificate, AnyNetwork, Cost, Outcome, Result

# The best one last.
ORDER = (Outcome.NOT_IDENTIFIED, Outcome.PARTLY_IDENTIFIED, Outcome.IDENTIFIED)


class NetworkClassifier(ClassifierMixin, NetworkEstimator):
    """Tell classes apart by the sign of a function, or several ones each from the others; never used by itself.

    Attributes:
        classes_: the classes, in ascending order.
    """

    classes_: np.ndarray
    class_weight: dict | str | None

    @abstractmethod
    def decision_function(self, X: Any) -> np.ndarray:
        """Answer with one number per sample, positive for the second class; with more, one per sample and class."""

    def predict(self, X: Any) -> Shaped[np.ndarray, "points"]:
        """Answer with the class of every sample."""
        check_is_fitted(self)
        decisions = self.decision_function(X)
        return self.classes_[(decisions > 0).astype(int) if decisions.ndim == 1 else np.argmax(decisions, axis=1)]

    def _check_samples(self, X: Any, y: Any, sample_weight: Any) -> tuple[Points, np.ndarray, PerPoint]:
        """Points, classes and weights of samples that count; keeps the classes.

        Raises:
            InvalidInput: for one class only, and negative weights; with scikit-learn's words, and row and column, if
                points are not finite.
        """
        with wrong_use(self, X):
            check_classes(y)
            points, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
            check_classification_targets(labels)
            weights = _check_sample_weight(sample_weight, points, dtype=np.float64, ensure_non_negative=True)
            # In units of the largest: sums of the largest floats are none any more.
            weights = weights / weights.max() * compute_sample_weight(self.class_weight, labels)
        counts = weights > 0
        self.classes_ = np.unique(labels[counts])
        if len(self.classes_) < 2:
            raise InvalidInput("Classifier can't train when only one class is present: give samples of two classes.")
        return np.asarray(points)[counts], np.asarray(labels)[counts], weights[counts]


def check_classes(y: Any) -> None:
    """Make sure that every sample has a class.

    Raises:
        InvalidInput: with the row of the first one that has none.
    """
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.dtype.kind not in "fO":
        return
    missing = np.isnan(labels) if labels.dtype.kind == "f" else np.array([_is_missing(label) for label in labels])
    if np.any(missing):
        row = int(np.argmax(missing))
        raise InvalidInput(f"y needs a class for every sample, but contains {labels[row]!r} in row {row} (from 0).")


def _is_missing(label: Any) -> bool:
    """Whether a label is None or NaN."""
    return label is None or (isinstance(label, float) and bool(np.isnan(label)))


def result_of_classes(
    classes: np.ndarray,
    results: Sequence[Result[AnyNetwork, AnyCertificate]],
    *,
    network: AnyNetwork | None,
    certificate: AnyCertificate | None,
    seconds: Mapping[str, float],
) -> Result[AnyNetwork, AnyCertificate]:
    """Join what was found for every class against the others: the worst of it is what may be claimed of all.

    Args:
        classes: their names.
        results: one per class.
        network: of all classes, if there is one.
        certificate: the worst of theirs.
        seconds: times of the stages of all of them.
    """
    return Result(
        min((result.outcome for result in results), key=ORDER.index),
        " ".join(f"{name}: {result.reason}" for name, result in zip(classes, results, strict=True)),
        network,
        certificate,
        tuple(each for result in results for each in result.diagnostics),
        Cost(samples=results[0].samples, seconds=dict(seconds)),
        tuple(dict.fromkeys(note for result in results for note in result.notes)),
    )
