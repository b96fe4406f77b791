"""The affine function that few rows allow: least squares with a penalty that is chosen on rows left out in turn."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.arrays import PerPoint, Points, Vector


@dataclass(frozen=True, kw_only=True)
class PenalisedAffine:
    """Settings of the fit. (`RidgeCV` of scikit-learn does the same in a hundred times the time for a few rows.)

    Args:
        penalties: on squares of slopes, for inputs of spread one, in units of the number of rows: from what changes
            nothing but slopes that the rows do not tell, to what leaves only the mean.
        folds: parts of the rows, of which each is left out once; customary.
        constant: spread of an input, relative to its size, that is rounding.
    """

    penalties: tuple[float, ...] = tuple(np.logspace(-12, 3, 16).tolist())
    folds: int = 5
    constant: float = 1e-12

    def __call__(self, points: Points, labels: PerPoint) -> tuple[Vector, float]:
        """Fit slope and offset.

        Args:
            points: any number of them from one on.
            labels: theirs.
        """
        center, spread = np.mean(points, axis=0), np.std(points, axis=0)
        scale = np.where(spread > self.constant * np.max(np.abs(points), axis=0), spread, np.inf)
        scaled, mean = (points - center) / scale, float(np.mean(labels))
        part = np.arange(len(labels)) % min(self.folds, len(labels))
        if len(labels) < 2 * self.folds:
            return np.zeros(points.shape[1]), mean
        left = np.zeros(len(self.penalties))
        for fold in range(self.folds):
            is_out = part == fold
            inside, level = np.mean(scaled[~is_out], axis=0), float(np.mean(labels[~is_out]))
            slopes = self._slopes(scaled[~is_out] - inside, labels[~is_out] - level)
            left += np.sum((labels[is_out] - level - slopes @ (scaled[is_out] - inside).T) ** 2, axis=1)
        slope = self._slopes(scaled, labels - mean)[int(np.argmin(left))] / scale
        return slope, mean - float(slope @ center)

    def _slopes(self, points: Points, labels: PerPoint) -> Float64[np.ndarray, "penalties inputs"]:
        """Slopes of centred rows for every penalty."""
        left, values, right = np.linalg.svd(points, full_matrices=False)
        penalties = len(points) * np.array(self.penalties)[:, None]
        return (values / (values**2 + penalties) * (left.T @ labels)) @ right
