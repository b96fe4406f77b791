"""The linear rate of gradient descent: what the Jacobian at its end predicts, against what is seen."""

from dataclasses import dataclass

import numpy as np

from unweave.exceptions import InvalidInput
from unweave.learn.overparameterized.jacobian import jacobian_spectrum
from unweave.learn.overparameterized.newton import TrainingFit


@dataclass(frozen=True)
class ConvergenceRate:
    """Compare the predicted with the seen rate of a descent with a fixed step.

    A rate is the share of the loss that a step takes away.

    Args:
        step: the step length.
        smallest_singular_value: of the Jacobian where it ended.
        guaranteed: ``step sigma_min^2 / n``, what the Polyak-Lojasiewicz inequality promises there.
        predicted: ``1 - (1 - step sigma_min^2 / n)^2``, the rate in the limit, about twice the guarantee.
        seen: fitted to the losses.
    """

    step: float
    smallest_singular_value: float
    guaranteed: float
    predicted: float
    seen: float

    def statements(self) -> list[tuple[str, str]]:
        """Say the rates in words."""
        return [
            (
                "linear rate",
                f"seen {self.seen:.3g} per step, guaranteed {self.guaranteed:.3g}, in the limit {self.predicted:.3g} "
                f"(smallest singular value of the Jacobian {self.smallest_singular_value:.3g})",
            )
        ]


def convergence_rate(fit: TrainingFit, step: float) -> ConvergenceRate:
    """Compute the rate of a descent whose step was fixed.

    Args:
        fit: the descent.
        step: its step length.
    """
    smallest = jacobian_spectrum(fit.point).smallest
    guaranteed = step * smallest**2 / fit.point.samples
    predicted = 1.0 - (1.0 - guaranteed) ** 2
    return ConvergenceRate(step, smallest, float(guaranteed), float(predicted), seen_rate(fit.losses))


def seen_rate(losses: np.ndarray, *, floor: float = 1e-26) -> float:
    """Fit a rate to the second half of the losses, as a line through their logarithms.

    Args:
        losses: after every step.
        floor: losses below are rounding, and no longer tell a rate: for labels near 1 residuals are some hundred
            roundings of one number then. Chosen.

    Raises:
        InvalidInput: if there are too few losses above rounding.
    """
    useful = losses[losses > floor]
    tail = useful[len(useful) // 2 :]
    if len(tail) < 5:
        raise InvalidInput(f"a rate needs at least ten losses above {floor}, got {len(useful)}.")
    slope = np.polyfit(np.arange(len(tail)), np.log(tail), 1)[0]
    return float(1.0 - np.exp(slope))
