"""Weight decay of deep quadratic networks, chosen by rows that the fits have not seen."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from unweave.arrays import PerPoint, Points
from unweave.learn.hierarchical.joint_fit import HierarchicalFit, JointLevenbergMarquardt, Loss, SquaredLoss
from unweave.numerics.least_squares import is_over
from unweave.samples.sources import DistinctRows


@dataclass(frozen=True, kw_only=True)
class DecayChoice:
    """How weight decay is chosen.

    Args:
        decays: that are tried after none, the weakest first: from where nothing changes to where nothing is left.
        folds: of the rows, each held out in turn.
        at_stake: share of the variance, or of the loss of classes, that fitted noise may cost, below which nothing is
            chosen: what is left times parameters per row.
        restarts: of the fits without a fold.
        steps: of every fit on the way.
    """

    folds: int = 4
    at_stake: float = 0.01
    restarts: int = 2
    steps: int = 30
    decays: tuple[float, ...] = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)

    def __call__(
        self,
        solver: JointLevenbergMarquardt,
        fit: HierarchicalFit,
        points: Points,
        labels: PerPoint,
        *,
        loss: Loss,
        seed: int,
        weights: PerPoint | None = None,
    ) -> HierarchicalFit:
        """Shrink a fit as held-out rows say.

        Args:
            solver: of the fit.
            fit: to all rows, without more decay than the solver has.
            points: the rows.
            labels: one per row.
            loss: what is minimised.
            seed: which rows are held out in turn.
            weights: of the losses of the rows; all alike if omitted.
        """
        weights = np.ones(len(points)) if weights is None else weights
        left = fit.relative_loss if isinstance(loss, SquaredLoss) else 1.0
        if left * fit.student.parameters / len(points) < self.at_stake or len(points) < 2 * self.folds:
            return fit
        quick = replace(solver, restarts=self.restarts, steps=self.steps)
        errors = np.zeros(1 + len(self.decays))
        for fold, held in enumerate(self._held_out(points, seed)):
            errors += self._errors(quick, fit, (points, labels, weights), held, loss=loss, seed=seed + fold)
        chosen = int(np.argmin(errors))
        # Time that is over leaves no fold complete, and nothing to choose by.
        if chosen == 0 or not np.isfinite(errors[chosen]) or is_over():
            return fit
        return list(quick.shrinking(fit, points, labels, self.decays[:chosen], loss=loss, weights=weights))[-1]

    def _held_out(self, points: Points, seed: int) -> Iterator[np.ndarray]:
        order = DistinctRows.of(points).folds(np.random.default_rng(seed), self.folds)
        return (order == fold for fold in range(self.folds))

    def _errors(
        self,
        solver: JointLevenbergMarquardt,
        fit: HierarchicalFit,
        samples: tuple[Points, PerPoint, PerPoint],
        held: np.ndarray,
        *,
        loss: Loss,
        seed: int,
    ) -> np.ndarray:
        """Loss on a fold of fits to the other rows, without more decay and with every decay."""
        points, labels, weights = samples
        errors = np.full(1 + len(self.decays), np.inf)
        kept, rng = (points[~held], labels[~held]), np.random.default_rng(seed)
        begun = solver(fit.student, *kept, rng=rng, loss=loss, weights=weights[~held])
        path = solver.shrinking(begun, *kept, self.decays, loss=loss, weights=weights[~held])
        for place, each in enumerate((begun, *path)):
            with np.errstate(over="ignore"):
                values = loss.values(each.network(points[held])[:, 0], labels[held])
            errors[place] = float(weights[held] @ values)
        return errors
