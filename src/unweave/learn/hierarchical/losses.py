"""Losses of a scalar output, with the two derivatives that a second-order method needs."""

from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64
from scipy.special import expit

Numbers = Float64[np.ndarray, "points"]


@runtime_checkable
class Loss(Protocol):
    """A loss per point, convex in the output."""

    def values(self, outputs: Numbers, labels: Numbers) -> Numbers:
        """One loss per point."""
        ...

    def slopes(self, outputs: Numbers, labels: Numbers) -> Numbers:
        """Derivative in the output."""
        ...

    def curvatures(self, outputs: Numbers, labels: Numbers) -> Numbers:
        """Second derivative in the output."""
        ...


class SquaredLoss:
    """``(output - label)^2``, the loss of regression."""

    def values(self, outputs: Numbers, labels: Numbers) -> Numbers:
        """One loss per point."""
        return (outputs - labels) ** 2

    def slopes(self, outputs: Numbers, labels: Numbers) -> Numbers:
        """Derivative in the output."""
        return 2 * (outputs - labels)

    def curvatures(self, outputs: Numbers, labels: Numbers) -> Numbers:
        """Second derivative in the output."""
        return np.full(len(labels), 2.0) + 0 * outputs


class LogisticLoss:
    """``log(1 + exp(-label output))`` for labels of +1 and -1."""

    def values(self, outputs: Numbers, labels: Numbers) -> Numbers:
        """One loss per point."""
        return np.logaddexp(0.0, -labels * outputs)

    def slopes(self, outputs: Numbers, labels: Numbers) -> Numbers:
        """Derivative in the output."""
        return -labels * expit(-labels * outputs)

    def curvatures(self, outputs: Numbers, labels: Numbers) -> Numbers:
        """Second derivative in the output."""
        chances = expit(-labels * outputs)
        return chances * (1 - chances)
