"""The numbers of one training, all that tables are made of."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from unweave.explore.feature_correction.plan import Kind, Training
from unweave.explore.feature_correction.samples import Samples
from unweave.explore.feature_correction.similarity import linear_cka, unexplained_share, weight_correlation
from unweave.explore.feature_correction.subjects import TrainedModel, Weights
from unweave.seals import SEAL, check_document, sealed


@dataclass(frozen=True)
class FeatureComparison:
    """Linear comparison of the features of two trainings.

    Args:
        rows_per_feature: fewer rows are not compared: an affine map of as many features as rows explains everything,
            and of four rows per feature a quarter by chance. Chosen.
    """

    rows_per_feature: int = 4

    def __call__(self, theirs: np.ndarray, ours: np.ndarray) -> tuple[float | None, float | None]:
        """Centred kernel alignment, and the share of our features that theirs do not explain; None for few rows."""
        if len(ours) < self.rows_per_feature * max(ours.shape[1], theirs.shape[1]):
            return None, None
        return linear_cka(theirs, ours), unexplained_share(theirs, ours)


FEATURE_COMPARISON = FeatureComparison()


@dataclass(frozen=True)
class Record:
    """What was measured on one training. Numbers that do not apply are empty or None; a diverged training has NaN.

    Args:
        score: accuracy or explained variance on test rows.
        validation_score: the same on validation rows.
        with_start: correlation of every unit's weights with the random ones that it started from.
        with_other: correlation of every unit's weights with those of the training that it is compared with.
        alignment: linear centred kernel alignment of the features of the unit at its depth, with that training;
            None if there are too few rows for so many features.
        unexplained: share of those features that the other training's do not explain linearly.
        seconds: of training.
        late_progress: share of the decrease of the training loss that came at the end; None if it is not known.
    """

    score: float
    validation_score: float | None
    with_start: tuple[float, ...]
    with_other: tuple[float, ...]
    alignment: float | None
    unexplained: float | None
    seconds: float
    late_progress: float | None = None

    def as_json(self) -> str:
        """Text from which `from_json` makes an equal record; JSON has no NaN, which is written as a word."""
        return json.dumps(sealed({name: _written(value) for name, value in asdict(self).items()}), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Record":
        """Read what `as_json` has written.

        Raises:
            InvalidInput: if it does not fit its checksum.
            ValueError: if it is something else; also AttributeError and TypeError.
        """
        document = json.loads(text)
        check_document(document)
        record = cls(**{name: _read(value) for name, value in document.items() if name != SEAL})
        numbers = (record.score, record.seconds, *record.with_start, *record.with_other)
        if not all(isinstance(each, float | int) for each in numbers):
            raise ValueError("numbers are needed")
        return record


def measure(
    training: Training,
    trained: TrainedModel,
    *,
    filters: Mapping[str, Sequence[str]],
    start: Weights,
    other: TrainedModel | None,
    samples: Samples,
    seconds: float,
    features: FeatureComparison = FEATURE_COMPARISON,
) -> Record:
    """All numbers of one training.

    Args:
        filters: names of the arrays that hold weights of neurons, of all units in their order.
        other: the training that it is compared with: what it is pulled to, or its twin.
        features: how features are compared.
    """
    validation = None
    if len(samples.validation_labels):
        validation = samples.score(trained.validation_outputs, samples.validation_labels)
    common = tuple(filters.items())[: training.depth]
    with_start = tuple(weight_correlation(trained.weights[unit], start[unit], names) for unit, names in common)
    with_other, alignment, unexplained = (), None, None
    if other is not None and _are_finite(trained, other):
        is_matched = training.twin is not None
        pairs = ((trained.weights[unit], other.weights[unit], names) for unit, names in common)
        with_other = tuple(weight_correlation(*pair, is_matched=is_matched) for pair in pairs)
        ours, theirs = (each.features.astype(np.float64) for each in (trained, other))
        alignment, unexplained = features(theirs, ours)
    score = samples.score(trained.test_outputs, samples.test_labels)
    return Record(score, validation, with_start, with_other, alignment, unexplained, seconds, trained.late_progress)


def compared_with(training: Training) -> Training | None:
    """The training whose units are the same neurons, or those that can be matched to them."""
    return training.source if training.kind is Kind.ALL else training.twin


def _are_finite(*parts: TrainedModel) -> bool:
    return all(bool(np.all(np.isfinite(part.features))) for part in parts)


def _written(value: object) -> object:
    if isinstance(value, tuple):
        return [_written(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_read(each) for each in value)
    return float(value) if isinstance(value, str) else value
