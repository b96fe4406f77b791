"""What may be claimed about the training of a general network: zero error, and local linear convergence.

Neither of them knows a teacher or an unspecified constant: every number is computed from samples and network.
"""

from dataclasses import dataclass

import numpy as np

from unweave.activations import QUADRATIC
from unweave.arrays import pack_squares
from unweave.learn.overparameterized.conditions import RULES, TrainingRules, activation_constants
from unweave.learn.overparameterized.jacobian import TrainingPoint, jacobian_spectrum


@dataclass(frozen=True)
class TrainingCertificate:
    """What may be claimed about a trained network.

    Args:
        loss: half the mean squared residual, in the units of the labels.
        largest_residual: in absolute value.
        largest_ratio: of a residual to the rounding error of its answer; at most 1 is noise.
        is_global_minimum: whether every residual is noise, so that no network fits better.
        is_locally_unique: whether no network nearby has the same answers to these samples.
        smallest_singular_value: of the Jacobian of the answers where training ended, in the units it was trained in.
        largest_singular_value: of the same.
        is_convergence_certified: whether it was certain before training that gradient descent would get there.
        start_residual: norm of the residuals at the start.
        start_residual_limit: what that certificate would have allowed.
    """

    loss: float
    largest_residual: float
    largest_ratio: float
    is_global_minimum: bool
    is_locally_unique: bool
    smallest_singular_value: float
    largest_singular_value: float
    is_convergence_certified: bool
    start_residual: float
    start_residual_limit: float

    def statements(self) -> list[tuple[str, str]]:
        """What may be claimed."""
        optimum = "global minimum" if self.is_global_minimum else "not known to be a global minimum"
        unique = "no other network nearby" if self.is_locally_unique else "one of many networks with these answers"
        certain = "certified" if self.is_convergence_certified else "not certified"
        return [
            ("training loss", f"{self.loss:.3g}, {optimum}"),
            ("largest residual", f"{self.largest_residual:.3g}, {self.largest_ratio:.3g} of its rounding error"),
            ("uniqueness", unique),
            (
                "descent from the start",
                f"{certain}: residuals {self.start_residual:.3g}, allowed {self.start_residual_limit:.3g}",
            ),
        ]


@dataclass(frozen=True)
class ZeroError:
    """Whether the residuals are rounding noise, which makes the point a global minimum: the loss can't be negative.

    Args:
        loss: half the mean squared residual.
        largest_residual: in absolute value.
        largest_ratio: of a residual to the rounding error of its answer; at most 1 is noise.
        is_zero: whether every residual is noise.
    """

    loss: float
    largest_residual: float
    largest_ratio: float
    is_zero: bool

    def statements(self) -> list[tuple[str, str]]:
        """What may be claimed."""
        claim = "every residual is rounding noise" if self.is_zero else "not zero"
        return [
            ("training loss", f"{self.loss:.3g}"),
            ("zero error", f"{claim}: at most {self.largest_ratio:.3g} of its rounding error"),
        ]


def certify_zero_error(point: TrainingPoint, *, rules: TrainingRules = RULES) -> ZeroError:
    """Compare every residual with the rounding error of the answer it belongs to.

    The error of one answer is estimated by ``(k + d) eps (|v|^T |g(W x)| + |v|^T (|g'(W x)| o |W| |x|) + |y|)``. It
    excuses no residual above `zero_tol` of the largest label, and residuals without a square are zero.
    """
    terms = np.abs(point.hidden) @ np.abs(point.output_weights) + np.abs(point.labels)
    terms = terms + np.sum(np.abs(point.scaled_slopes) * (np.abs(point.points) @ np.abs(point.weights).T), axis=1)
    rounding = (point.neurons + point.points.shape[1]) * np.finfo(float).eps * terms
    rounding = np.minimum(rounding, rules.zero_tol * float(np.max(np.abs(point.labels))))
    sizes = np.abs(point.residuals)
    ratio = float(np.max(sizes / np.maximum(rounding, np.sqrt(np.finfo(float).tiny))))
    return ZeroError(point.loss, float(np.max(sizes)), ratio, ratio <= 1.0)


@dataclass(frozen=True)
class LocalConvergence:
    """Whether gradient descent from here converges linearly to zero error, with every constant.

    Args:
        is_certified: whether it does; if not, it may converge nevertheless.
        residual_norm: of the residuals here.
        residual_limit: what it must not exceed, ``sigma_min^2 / (8 lipschitz)``.
        smallest_singular_value: of the Jacobian, minus its rounding error.
        largest_singular_value: of the Jacobian.
        lipschitz: how fast the Jacobian changes in the ball, in spectral norm per distance.
        radius: of the ball in which the Jacobian keeps half of its smallest singular value.
        travel: bound of how far descent gets from here.
        smoothness: bound beta of the Hessian in the ball; the step is its inverse.
        contraction: share of the loss that every step takes away at least.
    """

    is_certified: bool
    residual_norm: float
    residual_limit: float
    smallest_singular_value: float
    largest_singular_value: float
    lipschitz: float
    radius: float
    travel: float
    smoothness: float
    contraction: float

    @property
    def step(self) -> float:
        """Step length for which the claim holds."""
        return 1.0 / self.smoothness

    def statements(self) -> list[tuple[str, str]]:
        """What may be claimed."""
        if not self.is_certified:
            return [
                (
                    "local linear convergence",
                    f"not certified: residuals of norm {self.residual_norm:.3g}, allowed are {self.residual_limit:.3g}",
                )
            ]
        return [
            (
                "local linear convergence",
                f"certified for steps of {self.step:.3g}: the loss falls by {self.contraction:.3g} of itself per "
                f"step or more, within a distance of {self.travel:.3g}",
            )
        ]


def certify_local_convergence(point: TrainingPoint) -> LocalConvergence:
    """Check on the samples that gradient descent from here converges linearly to zero error, whatever the labels are.

    The Schur bound of entrywise products bounds the change of the Jacobian uniformly. In the ball where that change
    is at most half of ``sigma_min``, the loss satisfies the Polyak-Lojasiewicz inequality with ``m = sigma_min^2 /
    2n``, and descent with step ``1 / beta`` travels at most ``4 |r| / sigma_min``. If that stays in the ball, every
    step takes away at least the share ``m / 2 beta`` of the loss.

    Guarantees: no violation, for a step of at most ``1 / beta``; activations with kinks, and z^2 with trained output
        weights, are never certified.
    """
    spectrum = jacobian_spectrum(point)
    smallest = max(spectrum.smallest - spectrum.error, 0.0)
    constants = activation_constants(point.activation)
    bends, slope = constants.curvature_bound, constants.slope_bound if point.trains_outputs else 0.0
    norm, longest = float(np.linalg.norm(point.points, 2)), float(np.max(np.linalg.norm(point.points, axis=1)))
    heights, residual = float(np.max(np.abs(point.output_weights))), float(np.linalg.norm(point.residuals))
    if not (np.isfinite(bends) and np.isfinite(slope) and smallest > 0.0):
        return LocalConvergence(
            False, residual, 0.0, smallest, spectrum.largest, np.inf, 0.0, np.inf, np.inf, 0.0
        )  # fmt: skip
    lipschitz, radius = _lipschitz(point, smallest, bends=bends, norm=norm, longest=longest)
    height = heights + radius if point.trains_outputs else heights
    steepest = spectrum.largest + lipschitz * radius
    worst = residual + steepest * radius
    smoothness = (steepest**2 + (bends * height * norm**2 + slope * norm) * worst) / point.samples
    limit = smallest**2 / (8.0 * lipschitz) if lipschitz > 0.0 else np.inf
    return LocalConvergence(
        is_certified=residual <= limit,
        residual_norm=residual,
        residual_limit=limit,
        smallest_singular_value=smallest,
        largest_singular_value=spectrum.largest,
        lipschitz=lipschitz,
        radius=radius,
        travel=4.0 * residual / smallest,
        smoothness=smoothness,
        contraction=smallest**2 / (4.0 * point.samples * smoothness),
    )


def jacobian_lipschitz(point: TrainingPoint, radius: float) -> float:
    """How fast the Jacobian changes, at most, within `radius` of here: ``|J' - J| <= lipschitz |distance|``.

    Hidden weights alone: ``sup|g''| max|v| |X| max|x_i|``, and for z^2 the sharper ``2 max|v| |X * X|``. With trained
        output
    weights: ``|X| (2 sup|g'| + sup|g''| (max|v| + radius) max|x_i|)``.
    """
    constants = activation_constants(point.activation)
    heights = float(np.max(np.abs(point.output_weights)))
    if point.activation == QUADRATIC and not point.trains_outputs:
        return 2.0 * heights * float(np.linalg.norm(pack_squares(point.points), 2))
    norm, longest = float(np.linalg.norm(point.points, 2)), float(np.max(np.linalg.norm(point.points, axis=1)))
    if not point.trains_outputs:
        return constants.curvature_bound * heights * norm * longest
    return norm * (2.0 * constants.slope_bound + constants.curvature_bound * (heights + radius) * longest)


def _lipschitz(
    point: TrainingPoint, smallest: float, *, bends: float, norm: float, longest: float
) -> tuple[float, float]:
    """The Lipschitz constant and the radius on which it uses up half of the smallest singular value.

    With trained output weights the constant grows with the radius, so ``radius lipschitz(radius) = smallest / 2`` is a
    quadratic equation.
    """
    constant = jacobian_lipschitz(point, 0.0)
    if not point.trains_outputs:
        return constant, smallest / (2.0 * constant)
    growth = norm * bends * longest
    radius = float(smallest / (constant + np.sqrt(constant**2 + 2.0 * growth * smallest)))
    return jacobian_lipschitz(point, radius), radius
