"""All half spaces of a union at once, by logistic regression on their smooth maximum.

``log sum_i exp(<v_i, x> - b_i)`` is positive about where one of the half spaces ``<v_i, x> >= b_i`` contains x. Fitting
it to the sides of the samples needs no knowledge of which half space a sample belongs to, bears wrong labels and any
distribution of the inputs; it is less exact than linear programmes, which start from it.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64
from scipy.optimize import minimize
from scipy.special import expit

from unweave.arrays import Atoms, Points

Side = Bool[np.ndarray, "points"]
Offsets = Float64[np.ndarray, "neurons"]
# Half spaces are as sharp as this at the start: the smooth maximum then is off by a tenth of a spread of the inputs.
FIRST_SHARPNESS = 8.0
# Ridge penalty per squared entry, relative to the loss of one sample: keeps separable half spaces finite.
PENALTY = 1e-5
STEPS = 150


@dataclass(frozen=True, eq=False)
class SoftUnion:
    """Half spaces ``<v_i, x> >= b_i`` whose smooth maximum was fitted.

    Args:
        slopes: the v_i; their lengths say how sharp the labels change.
        offsets: the b_i.
        loss: mean logistic loss on the samples of the fit, without the penalty.
    """

    slopes: Atoms
    offsets: Offsets
    loss: float

    @property
    def rows(self) -> Atoms:
        """Unit vectors of the half spaces."""
        return self.slopes / np.linalg.norm(self.slopes, axis=1, keepdims=True)

    @property
    def thresholds(self) -> Offsets:
        """Distances of the half spaces from the origin."""
        return self.offsets / np.linalg.norm(self.slopes, axis=1)

    def depths(self, points: Points) -> Float64[np.ndarray, "points"]:
        """The smooth maximum: log-odds of being in the union."""
        return np.logaddexp.reduce(points @ self.slopes.T - self.offsets, axis=1)


def logistic_loss(depths: Float64[np.ndarray, "points"], is_active: Side) -> float:
    """Mean of ``log(1 + exp(-depth))`` for samples in the union and of ``log(1 + exp(depth))`` for others."""
    return float(np.mean(np.logaddexp(0.0, np.where(is_active, -depths, depths))))


def fit_soft_union(
    points: Points,
    is_active: Side,
    slopes: Atoms,
    offsets: Offsets,
    *,
    penalty: float = PENALTY,
    steps: int = STEPS,
) -> SoftUnion:
    """Minimise the logistic loss of the smooth maximum from a start.

    Args:
        points: samples, of a spread of about 1.
        is_active: whether a sample is in the union.
        slopes: start; unit rows times a sharpness.
        offsets: start; thresholds times the sharpness.
        penalty: of the squared slopes.
        steps: largest number of steps of L-BFGS.

    Guarantees: a local minimum or the last step; never worse than the start.
    """
    shape, sides = slopes.shape, np.where(is_active, 1.0, -1.0)

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        v, b = flat[: slopes.size].reshape(shape), flat[slopes.size :]
        arguments = points @ v.T - b
        depths = np.logaddexp.reduce(arguments, axis=1)
        loss = float(np.mean(np.logaddexp(0.0, -sides * depths)) + penalty * np.sum(v**2))
        pull = -sides * expit(-sides * depths) / len(points)
        shares = pull[:, None] * np.exp(arguments - depths[:, None])
        gradient = np.concatenate([(shares.T @ points + 2 * penalty * v).ravel(), -shares.sum(axis=0)])
        return loss, gradient

    start = np.concatenate([slopes.ravel(), offsets])
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": steps}).x
    v, b = found[: slopes.size].reshape(shape), found[slopes.size :]
    union = SoftUnion(v, b, 0.0)
    return SoftUnion(v, b, logistic_loss(union.depths(points), is_active))
