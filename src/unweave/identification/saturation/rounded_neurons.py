"""Lengths of weights from rounded kinks: the one number that the tails of an activation do not tell."""

from dataclasses import dataclass

import numpy as np
import scipy.optimize
from jaxtyping import Float64

from unweave.activations import Activation
from unweave.identification.saturation.rounded_kinks import Corners

# Lengths that are tried first, evenly in their logarithm.
LENGTHS = np.geomspace(0.02, 60.0, 60)


@dataclass(frozen=True)
class CornerFit:
    """Lengths of the weights behind rounded kinks, for one activation.

    Args:
        activation: the activation.
        lengths: one per neuron.
        misfits: root mean square distance from the profile, relative to it.
    """

    activation: Activation
    lengths: Float64[np.ndarray, "neurons"]
    misfits: Float64[np.ndarray, "neurons"]

    @property
    def typical_misfit(self) -> float:
        """Median over the neurons."""
        return float(np.median(self.misfits)) if len(self.misfits) else np.inf


def fit_corners(corners: Corners, activation: Activation) -> CornerFit:
    """Fit ``phi(length t) / length`` with ``phi(t) = g(t) - t`` for t > 0 to every corner.

    Assumes: tails 0 and t, as softplus, GELU and SiLU have.
    """

    def profile(length: float) -> np.ndarray:
        arguments = length * corners.distances
        return (activation(arguments) - arguments) / length

    table = np.array([profile(length) for length in LENGTHS])
    lengths, misfits = [], []
    for deviations in corners.deviations:
        best = int(np.argmin(np.sum((table - deviations) ** 2, axis=1)))
        low, high = LENGTHS[max(best - 1, 0)], LENGTHS[min(best + 1, len(LENGTHS) - 1)]
        found = scipy.optimize.minimize_scalar(
            lambda log, seen=deviations: float(np.sum((profile(np.exp(log)) - seen) ** 2)),
            bounds=(np.log(low), np.log(high)),
            method="bounded",
            options={"xatol": 1e-10},
        )
        length = float(np.exp(found.x))
        lengths.append(length)
        size = float(np.linalg.norm(profile(length)))
        misfits.append(np.sqrt(max(float(found.fun), 0.0)) / max(size, np.finfo(float).tiny))
    return CornerFit(activation, np.array(lengths), np.array(misfits))
