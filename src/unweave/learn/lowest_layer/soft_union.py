"""Half spaces of a union from the sides of samples, all at once: a logistic fit of their smooth maximum.

``log sum_i exp(<v_i, x> - b_i)`` is positive about where one of the half spaces ``<v_i, x> >= b_i`` contains x. Fitting
this smooth maximum needs no knowledge of which half space a sample belongs to and any distribution of the inputs does.
Shares of flipped labels may be fitted along, so that half spaces stay sharp where labels are wrong.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from scipy.optimize import minimize
from scipy.special import expit, logit

from unweave.arrays import Atoms, PerNeuron, PerPoint, PointMask, Points

Offsets = PerNeuron
# Share of the samples outside of the union that are labelled as inside of it, and the reverse.
Flips = tuple[float, float]
# Steps of a line search may go far out: shares beyond this are as good as 0 or one half.
LARGEST_LOGIT = 40.0


@dataclass(frozen=True, kw_only=True)
class SoftRules:
    """How the smooth maximum is fitted.

    Args:
        first_sharpness: of half spaces at the start: the smooth maximum then is off by a tenth of a spread of the
            inputs where two of them meet (``log(2) / 8``).
        penalty: of the squared entries of the slopes, relative to the loss of one sample; chosen: keeps half spaces
            that separate the samples finite.
        steps: of L-BFGS, at most; chosen, for the time.
        corner: how many times sharper the maximum is than the sides, so that the smooth maximum of half spaces is near
            to their union where they meet; 1 is the smoothest, which starts far away need.
    """

    first_sharpness: float = 8.0
    penalty: float = 1e-5
    steps: int = 150
    corner: float = 1.0


SOFT_RULES = SoftRules()


@dataclass(frozen=True, eq=False)
class SoftUnion:
    """Half spaces ``<v_i, x> >= b_i`` whose smooth maximum was fitted.

    Args:
        slopes: the v_i; their lengths say how sharp the labels change.
        offsets: the b_i.
        loss: mean logistic loss on the samples of the fit, without the penalty.
        flips: shares of wrong labels outside and inside of the union.
        corner: see `SoftRules`.
    """

    slopes: Atoms
    offsets: Offsets
    loss: float
    flips: Flips = (0.0, 0.0)
    corner: float = 1.0

    @property
    def directions(self) -> Atoms:
        """Unit vectors of the half spaces."""
        return self.slopes / np.linalg.norm(self.slopes, axis=1, keepdims=True)

    @property
    def thresholds(self) -> Offsets:
        """Distances of the half spaces from the origin."""
        return self.offsets / np.linalg.norm(self.slopes, axis=1)

    def depths(self, points: Points) -> PerPoint:
        """The smooth maximum: log-odds of being in the union."""
        return smooth_maximum(points @ self.slopes.T - self.offsets, self.corner)[0]

    def losses(self, points: Points, is_active: PointMask) -> PerPoint:
        """Compute the logistic loss of every sample, with flipped labels as likely as was fitted."""
        sides = np.where(is_active, 1.0, -1.0) * self.depths(points)
        if not any(self.flips):
            return np.logaddexp(0.0, -sides)
        return -np.log(np.where(is_active, *self.flips) + (1.0 - sum(self.flips)) * expit(sides))


def smooth_maximum(
    arguments: Float64[np.ndarray, "points neurons"], corner: float
) -> tuple[PerPoint, Float64[np.ndarray, "points neurons"]]:
    """Compute ``log sum_i exp(corner a_i) / corner`` of every row, and its derivatives."""
    largest = np.max(arguments, axis=1)
    shares = np.exp(corner * (arguments - largest[:, None]))
    sums = shares.sum(axis=1)
    return largest + np.log(sums) / corner, shares / sums[:, None]


def fit_soft_union(
    points: Points,
    is_active: PointMask,
    slopes: Atoms,
    offsets: Offsets,
    *,
    weights: PerPoint | None = None,
    flips: Flips | None = None,
    rules: SoftRules = SOFT_RULES,
) -> SoftUnion:
    """Minimise the logistic loss of the smooth maximum from a start.

    Args:
        points: samples, of a spread of about 1.
        is_active: whether a sample is in the union.
        slopes: start; unit directions times a sharpness.
        offsets: start; thresholds times the sharpness.
        weights: of the samples; 1 if None.
        flips: shares of wrong labels to start from, which are then fitted as well; None if no label is wrong.
        rules: penalty and steps.

    Guarantees: a local minimum or the last step; never worse than the start.
    """
    weights = np.ones(len(points)) if weights is None else weights
    objective = _objective(points, is_active, weights / weights.sum(), float(weights.sum()), slopes.shape, rules)
    start = np.concatenate([slopes.ravel(), offsets, [] if flips is None else logit(2 * np.array(flips))])
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": rules.steps}).x
    v, b, tail = np.split(found, [slopes.size, slopes.size + len(offsets)])
    fitted = (0.0, 0.0) if flips is None else (0.5 * float(expit(tail[0])), 0.5 * float(expit(tail[1])))
    union = SoftUnion(v.reshape(slopes.shape), b, 0.0, fitted, rules.corner)
    loss = float(np.average(union.losses(points, is_active), weights=weights))
    return SoftUnion(union.slopes, b, loss, fitted, rules.corner)


def _objective(
    points: Points, is_active: PointMask, shares: PerPoint, total: float, shape: tuple[int, ...], rules: SoftRules
) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Loss and gradient of slopes, offsets and, if there are any after these, flips."""
    sides, size, count = np.where(is_active, 1.0, -1.0), shape[0] * shape[1], shape[0]

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        v, b, tail = np.split(flat, [size, size + count])
        v = v.reshape(shape)
        depths, parts = smooth_maximum(points @ v.T - b, rules.corner)
        right = expit(sides * depths)
        if not len(tail):
            losses, pull, rest, change = np.logaddexp(0.0, -sides * depths), -sides * expit(-sides * depths), 0.0, tail
        else:
            # One wrong label of either kind is taken for seen, so that no share ends at zero.
            tail = np.clip(tail, -LARGEST_LOGIT, LARGEST_LOGIT)
            flips, sure = 0.5 * expit(tail), 1.0 - np.sum(expit(tail)) / 2
            chances = np.where(is_active, *flips) + sure * right
            losses, pull = -np.log(chances), -sides * sure * right * (1.0 - right) / chances
            inside = expit(depths)
            slopes = [-(shares * sides / chances) @ (1.0 - inside), (shares * sides / chances) @ inside]
            change = (np.array(slopes) - 1.0 / (total * flips)) * flips * (1.0 - expit(tail))
            rest = -float(np.sum(np.log(flips))) / total
        parts = (shares * pull)[:, None] * parts
        gradient = np.concatenate([(parts.T @ points + 2 * rules.penalty * v).ravel(), -parts.sum(axis=0), change])
        return float(shares @ losses + rules.penalty * np.sum(v**2) + rest), gradient

    return objective
