"""Samples as fits see them: each is there once, with how much it counts."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.arrays import PerPoint, Points
from unweave.exceptions import InvalidInput
from unweave.samples.sources import kept_of_copies, note_of_copies


@dataclass(frozen=True, eq=False)
class WeighedSamples:
    """Hold samples that count in fits, each of them once.

    A sample of weight two counts in fits like two samples, as scikit-learn has it, and so do two copies of a row with
    its label. Evidence is another matter: there every sample counts once, however often it was given.

    Args:
        points: inputs.
        labels: one per sample.
        weights: of mean 1; None if all samples count alike.
        copies: how many rows were the same as others.
    """

    points: Float64[np.ndarray, "samples inputs"]
    labels: Float64[np.ndarray, "samples"]
    weights: Float64[np.ndarray, "samples"] | None
    copies: int

    @classmethod
    def of(cls, points: Points, labels: PerPoint, weights: PerPoint | None = None) -> "WeighedSamples":
        """Leave out samples of weight zero, and join copies.

        Args:
            points: inputs.
            labels: one per sample.
            weights: from 0 on; all alike if None.

        Raises:
            InvalidInput: if no sample has a weight.
        """
        given = np.ones(len(points)) if weights is None else np.asarray(weights, dtype=np.float64)
        if not np.any(given > 0):
            raise InvalidInput("sample_weight needs at least one positive number, got none: nothing would be learnt.")
        # In units of the largest: sums of the largest floats are none any more.
        sums, kept = given / given.max(), np.flatnonzero(given > 0)
        points, labels, sums = points[kept], labels[kept], sums[kept]
        first, which = kept_of_copies(points, labels)
        copies = len(points) - len(first)
        if copies:
            points, labels, sums = points[first], labels[first], np.bincount(which, weights=sums)
        if copies or len(kept) < len(given):
            # An order that says nothing of how often, or between what, samples were given.
            order = np.lexsort((labels, *points.T))
            points, labels, sums = points[order], labels[order], sums[order]
        is_even = bool(np.all(sums == sums[0]))
        return cls(np.ascontiguousarray(points), labels, None if is_even else sums / sums.mean(), copies)

    @property
    def notes(self) -> tuple[str, ...]:
        """Say how copies count; nothing if there are none."""
        rows = len(self.points) + self.copies
        return note_of_copies(rows, self.copies, count="fits weigh them, and evidence counts each once")

    def weights_of(self, rows: np.ndarray) -> PerPoint | None:
        """Weights of some samples; None if all count alike."""
        return None if self.weights is None else self.weights[rows]
