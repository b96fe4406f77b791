"""Gradient descent on a general network."""

from dataclasses import dataclass

import numpy as np

from unweave.exceptions import InvalidInput
from unweave.learn.overparameterized.jacobian import TrainingPoint, largest_curvature
from unweave.learn.overparameterized.newton import TrainingFit


@dataclass(frozen=True)
class GradientDescent:
    """Train by gradient descent, hidden and output weights moved at once from the same point.

    Args:
        step: step length; by default a bit less than the inverse of the largest curvature at the start.
        is_adaptive: whether the step is halved when the loss would grow, and lengthened otherwise.
        steps: largest number of steps.
        loss_tol: a loss that is low enough.
        safe_share: share of the inverse curvature that is taken as a step: the estimate of Lanczos is from below.
        growth: factor of an adaptive step after one that lowered the loss.
        shrinkage: the same where the loss would grow.
        shortest_step: step, relative to the first, at which the loss can't fall any more.
    """

    step: float | None = None
    is_adaptive: bool = False
    steps: int = 50_000
    loss_tol: float = 1e-12
    safe_share: float = 0.9
    growth: float = 1.05
    shrinkage: float = 0.5
    shortest_step: float = 1e-12

    def __post_init__(self) -> None:
        if self.step is not None and not (np.isfinite(self.step) and self.step > 0):
            raise InvalidInput(f"GradientDescent.step needs to be positive and finite, got {self.step}.")

    def __call__(self, start: TrainingPoint) -> TrainingFit:
        """Train from a start.

        A fixed step that is too long for the loss ahead is still halved for good, since otherwise the training
        diverges.

        Guarantees: the loss never grows.
        """
        point, losses = start, [start.loss]
        length = first = self.first_step(start)
        for _ in range(self.steps):
            if losses[-1] <= self.loss_tol or length < self.shortest_step * first:
                break
            trial = point.moved(-length * point.gradient)
            if trial.loss > losses[-1] or not np.isfinite(trial.loss):
                length *= self.shrinkage
                continue
            point = trial
            losses.append(point.loss)
            length *= self.growth if self.is_adaptive else 1.0
        return TrainingFit(point, np.array(losses), losses[-1] <= self.loss_tol)

    def first_step(self, start: TrainingPoint) -> float:
        """Return the step length at the start."""
        return self.safe_share / largest_curvature(start) if self.step is None else self.step
