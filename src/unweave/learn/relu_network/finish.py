"""From a rough relu network to the best one: by patterns for exact answers, by Levenberg-Marquardt for noisy ones."""

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from unweave.arrays import Points, Values, root_mean_square
from unweave.exceptions import InvalidInput
from unweave.learn.relu_network.pattern_fit import PatternLeastSquares, PatternNewton
from unweave.learn.relu_network.units import ReluSigns, resolve_relu_signs, unit_parameters
from unweave.networks.network import Network
from unweave.numerics.network_fit import LevenbergMarquardt, Refinement


@dataclass(frozen=True, eq=False)
class FinishedRelu:
    """The best relu network found, and how.

    Args:
        network: without an affine part if signs explain it.
        residual: root mean square of its residuals on all answers.
        start_residual: the same of the network that came.
        is_exact: whether all answers are met to rounding.
        exact_share: share of the answers that are. Between 1/2 and 1 the labels are exact and neurons are missing that
            bend at few points: those that were found are exact, and a fit to all answers would spoil them.
        pattern: the fits within patterns.
        polish: the fit by Levenberg-Marquardt, if the answers were not met before.
        signs: how the signs were decided.
    """

    network: Network
    residual: float
    start_residual: float
    is_exact: bool
    exact_share: float
    pattern: Refinement
    polish: Refinement | None
    signs: ReluSigns


@dataclass(frozen=True)
class ReluFinish:
    """Settings of the last stage of learning a relu network from samples.

    Args:
        pattern: fit within activation patterns.
        polish: fit by Levenberg-Marquardt, for answers with noise.
        newton: last fit to answers with noise, once signs have left no affine part.
        most_numbers: size of the Jacobian of the polish: as many answers are used, the first ones, as fit in.
        exact: residual, relative to the answers, up to which they are exact and met. 5,636 planted networks with up to
            eight inputs and seven neurons left 3e-14 at most; the margin is for inputs that are worse conditioned.
        exact_sign_tol: what signs may leave of the affine part of such a network, relative to the norm of all
            ``a_i (w_i, b_i)``. 2,536 planted networks left 3e-14 at most; the margin is as above.
        standard_errors: that the affine part of a network may have if it is zero: chance exceeds six of them, for a
            normal error, in 2e-9 of all cases.
    """

    pattern: PatternLeastSquares = field(default_factory=PatternLeastSquares)
    # Noise is far above what normal equations lose; steps that only move points across kinks gain nothing.
    polish: LevenbergMarquardt = field(default_factory=partial(LevenbergMarquardt, steps=12, orthogonal_limit=0))
    newton: PatternNewton = field(default_factory=PatternNewton)
    most_numbers: int = 2**24
    exact: float = 1e-10
    exact_sign_tol: float = 1e-8
    standard_errors: float = 6.0

    def __call__(self, network: Network, points: Points, values: Values, *, floor: float = 0.0) -> FinishedRelu:
        """Fit the network to the answers and decide its signs.

        Args:
            network: shallow, relu, one output, near the truth; its signs and affine part may be wrong.
            points: where answers are known.
            values: the answers.
            floor: noise of one answer, 0 if exact or unknown.

        Raises:
            InvalidInput: if it is another kind of network, there are too few answers, or shapes do not fit.

        Assumes: for parameters, points on both sides of every kink and a start in the basin.
        Guarantees: never a larger residual than the start, but for what its affine part took from the noise. Parameters
            to rounding for exact answers once the pattern is right; the least-squares network nearby for noisy ones.
        """
        if values.shape != (len(points), 1):
            raise InvalidInput(f"one answer per point is needed as a column, got {values.shape} for {len(points)}.")
        size = max(root_mean_square(values), np.finfo(float).tiny)
        start_residual = root_mean_square(values - network(points))
        pattern = self.pattern(network, points, values, floor=floor)
        best, residual, polish = pattern.network, pattern.residual, None
        # Noise spoils all answers, a neuron that is missing only those beyond its kink.
        is_exact = self._exact_share(best, points, values) > 0.5
        if not is_exact:
            polish = self._polished(with_affine_part(best), points, values)
            best, residual = _better((best, residual), polish.network, points, values)
        tol = self.exact_sign_tol if is_exact else self._sign_tolerance(best, residual, self._used(best, points))
        signs = resolve_relu_signs(best, relative_tol=tol)
        if not is_exact and signs.solutions == 0 and best.skip is not None and best.widths[0]:
            best, residual, signs = self._signed_by_slope(best, residual, signs, points, values, tol)
        elif signs.solutions == 1:
            # Without the affine part the fit is a little worse, by what that part took from the noise.
            signed = signs.network if is_exact else self.newton(signs.network, points, values).network
            lost = 1.0 + self.standard_errors * (network.inputs + 1) / len(points)
            # A start with an affine part may have been fitted with it, to the same noise.
            most = start_residual if network.skip is None else np.inf
            allowed = max(self.exact * size, min(lost * residual, most))
            best, residual = _within(allowed, signed, points, values) or (best, residual)
        share = self._exact_share(best, points, values)
        return FinishedRelu(
            best, residual, start_residual, residual <= self.exact * size, share, pattern, polish, signs
        )

    def _signed_by_slope(
        self, network: Network, residual: float, signs: ReluSigns, points: Points, values: Values, tol: float
    ) -> tuple[Network, float, ReluSigns]:
        """Signs that leave no slope, if no choice leaves neither slope nor offset: there is an offset then."""
        by_slope = resolve_relu_signs(network, relative_tol=tol, has_offset=True)
        if by_slope.solutions != 1:
            return network, residual, signs
        lost = 1.0 + self.standard_errors * network.inputs / len(points)
        signed = self._polished(by_slope.network, points, values).network
        fitting = _within(lost * residual, signed, points, values)
        return (network, residual, signs) if fitting is None else (*fitting, by_slope)

    def _used(self, network: Network, points: Points) -> int:
        """Answers that the polish uses: at least twice as many as parameters."""
        return min(len(points), max(self.most_numbers // network.parameters, 2 * network.parameters))

    def _polished(self, network: Network, points: Points, values: Values) -> Refinement:
        used = self._used(network, points)
        # Noise is no floor here: the fit goes on until nothing is gained.
        return self.polish(network, points[:used], values[:used], floor=0.0)

    def _exact_share(self, network: Network, points: Points, values: Values) -> float:
        return float(np.mean(np.abs(values - network(points)) <= self.exact * root_mean_square(values)))

    def _sign_tolerance(self, network: Network, residual: float, answers: int) -> float:
        """Error of the affine part by noise, relative to the norm of all ``a_i (w_i, b_i)``.

        Fitted slopes have standard errors of about ``residual / sqrt(answers)`` each; the other parameters add theirs.
        """
        directions, biases, output_weights = unit_parameters(network)
        size = float(np.linalg.norm(output_weights * np.vstack([directions.T, biases])))
        error = self.standard_errors * residual * np.sqrt(network.parameters / answers)
        return min(0.5, float(error) / size) if size > 0 else 0.5


def with_affine_part(network: Network) -> Network:
    """The same function with a slope, zero if it had none, for fits that may change it."""
    return network if network.skip is not None else replace(network, skip=np.zeros((1, network.inputs)))


def _better(known: tuple[Network, float], candidate: Network, points: Points, values: Values) -> tuple[Network, float]:
    residual = root_mean_square(values - candidate(points))
    return (candidate, residual) if residual < known[1] else known


def _within(allowed: float, candidate: Network, points: Points, values: Values) -> tuple[Network, float] | None:
    residual = root_mean_square(values - candidate(points))
    return (candidate, residual) if residual <= allowed else None
