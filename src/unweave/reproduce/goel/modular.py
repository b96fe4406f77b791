"""Learning at a cut: a lower network whose outputs are rarely active together, then what is above [goel, App. E]."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Float64
from sklearn.base import BaseEstimator, clone

from unweave.arrays import PerPoint
from unweave.exceptions import InvalidInput
from unweave.learn.lowest_layer.estimators import LowestLayerRegressor

# Sets of outputs that are looked at, and draws of the samples for the limit of the score.
MOST_SETS, DRAWS, LEVEL = 500, 50, 0.95


@dataclass(frozen=True)
class CutScore:
    """How far the outputs of a cut are from being active one at a time.

    Args:
        score: largest ``(E[prod_S X] / max_j E[X_j])^(1 / (|S| - 1))`` over sets of two and three outputs.
        upper: its upper limit by resampling.
    """

    score: float
    upper: float


@dataclass(frozen=True, eq=False)
class ModularFit:
    """A lower and an upper part, learnt one after the other.

    Args:
        lower: the fitted lower part.
        upper: any regressor, fitted on the units of the lower part.
        cut: how well the cut separates them.
    """

    lower: LowestLayerRegressor
    upper: Any
    cut: CutScore

    def predict(self, points: Float64[np.ndarray, "points inputs"]) -> PerPoint:
        """Labels of samples."""
        return np.asarray(self.upper.predict(self.lower.units(points)))


def cut_score(outputs: Float64[np.ndarray, "points neurons"], rng: np.random.Generator) -> CutScore:
    """Judge a cut by samples of its outputs, which are non-negative.

    Raises:
        InvalidInput: if an output is negative, or there are fewer than two.
    """
    if outputs.shape[1] < 2 or np.min(outputs, initial=0.0) < 0:
        raise InvalidInput(f"a cut needs two or more non-negative outputs, got shape {outputs.shape}.")
    sets = [group for size in (2, 3) for group in combinations(range(outputs.shape[1]), size)]
    if len(sets) > MOST_SETS:
        sets = [sets[i] for i in rng.choice(len(sets), MOST_SETS, replace=False)]
    products = np.stack([np.prod(outputs[:, list(group)], axis=1) for group in sets], axis=1)
    powers = np.array([1.0 / (len(group) - 1) for group in sets])

    def score(rows: np.ndarray | slice) -> float:
        largest = float(np.max(outputs[rows].mean(axis=0)))
        return float(np.max((products[rows].mean(axis=0) / largest) ** powers)) if largest > 0 else 0.0

    draws = [score(rng.integers(0, len(outputs), len(outputs))) for _ in range(DRAWS)]
    return CutScore(score(slice(None)), float(np.quantile(draws, LEVEL)))


def modular_fit(
    points: Float64[np.ndarray, "points inputs"],
    labels: PerPoint,
    lower: LowestLayerRegressor,
    upper: BaseEstimator,
    rng: np.random.Generator,
) -> ModularFit:
    """Learn the lower part as if the labels were linear in its units, then the upper part on the units found.

    Args:
        points: Gaussian samples.
        labels: one per sample.
        lower: settings of the lower part.
        upper: any scikit-learn regressor.
        rng: for the score of the cut.

    Raises:
        InvalidInput: if no lower part was found.
    """
    below: Any = clone(lower)
    fitted: LowestLayerRegressor = below.fit(points, labels)
    if fitted.layer_ is None:
        raise InvalidInput(f"no lower part was found: {fitted.result_.reason}")
    units = fitted.units(points)
    above: Any = clone(upper)
    above.fit(units, labels)
    cut = cut_score(units, rng) if units.shape[1] > 1 else CutScore(0.0, 0.0)
    return ModularFit(fitted, above, cut)
