"""Ridge on the output weights, for labels that no network should meet: chosen by rows that the fits have not seen.

With hidden weights as they start, answers are linear in the output weights, so that the best ones for every ridge come
from one factorisation. Whether labels should be met instead is asked of held-out rows, too.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from jaxtyping import Float64

from unweave.learn.overparameterized.jacobian import Labels, TrainingPoint
from unweave.learn.overparameterized.newton import TrainingFit
from unweave.samples.sources import DistinctRows

Ridges = Float64[np.ndarray, "ridges"]


def ridge_outputs(
    hidden: Float64[np.ndarray, "points neurons"], labels: Labels, ridges: Ridges
) -> Float64[np.ndarray, "ridges neurons"]:
    """Output weights that minimise ``|H v - y|^2 / (2 n) + (ridge / 2) |v|^2``, one row per ridge."""
    left, values, right = scipy.linalg.svd(hidden, full_matrices=False, check_finite=False)
    shares = values / (values**2 + len(labels) * ridges[:, None])
    return (shares * (left.T @ labels)) @ right


def with_ridge(start: TrainingPoint, ridge: float) -> TrainingFit:
    """Solve for the output weights, and leave the hidden ones where they start."""
    weights = ridge_outputs(start.hidden, start.labels, np.array([ridge]))[0]
    point = replace(start, output_weights=weights)
    return TrainingFit(point, np.array([start.loss, point.loss]), False)


@dataclass(frozen=True, kw_only=True)
class RidgeChoice:
    """How held-out rows decide between meeting all labels and a ridge.

    Args:
        ridges: that are tried, for standardised inputs and labels of root mean square 1.
        folds: of the rows, each held out in turn; the labels are met once, without the first of them.
        exact: squared error of a network that meets the other labels, relative to the spread of those held out, up to
            which labels are taken for exact: a twentieth, chosen.
        fewest_rows: below, folds are too small to say anything, and labels are met.
    """

    ridges: tuple[float, ...] = tuple(10.0 ** (power / 2) for power in range(-12, 3))
    folds: int = 5
    exact: float = 0.05
    fewest_rows: int = 30

    def __call__(
        self, start: TrainingPoint, meet: Callable[[TrainingPoint], TrainingFit], rng: np.random.Generator
    ) -> float:
        """Choose a ridge; 0 if labels should be met.

        Args:
            start: samples and a random network.
            meet: trains a network until it meets its labels.
            rng: which rows are held out.
        """
        if start.samples < self.fewest_rows or not np.ptp(start.labels) > 0:
            return 0.0
        order = DistinctRows.of(start.points).folds(rng, self.folds)
        errors = np.zeros(len(self.ridges))
        for fold in range(self.folds):
            held = order == fold
            weights = ridge_outputs(start.hidden[~held], start.labels[~held], np.array(self.ridges))
            errors += np.sum((start.hidden[held] @ weights.T - start.labels[held, None]) ** 2, axis=0)
        held = order == 0
        met = meet(start.rows(~held)).point
        fresh = replace(start.rows(held), output_weights=met.output_weights, weights=met.weights)
        error = float(np.mean(fresh.residuals**2))
        is_met = error <= max(self.exact * float(np.var(fresh.labels)), float(np.min(errors)) / start.samples)
        return 0.0 if is_met else self.ridges[int(np.argmin(errors))]
