"""Fits of a shallow relu network within its activation pattern: linear for exact answers, Newton for noisy ones.

Where it is known which neurons are active, the network is linear in ``u_i = a_i w_i`` and ``c_i = a_i b_i``:

    f(x) = sum over active i of (<u_i, x> + c_i) + <v, x> + c.

Points near a kink of the current network may be on the wrong side. `PatternLeastSquares` leaves them out: those that
remain give ``(neurons + 1)(inputs + 1)`` unknowns by least squares, and the next pattern; the affine part makes up for
wrong signs. `PatternNewton` takes all rows at once, without free scale or offset: the Jacobian is the activation
pattern times ``(x, 1)``, and noise keeps the pattern from being exact, but near the optimum it hardly changes.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float64
from scipy.linalg import cho_factor, cho_solve

from unweave.activations import IDENTITY, RELU
from unweave.arrays import PerPoint, Points, Values, root_mean_square
from unweave.exceptions import InvalidInput
from unweave.learn.relu_network.units import unit_parameters
from unweave.networks.network import Network
from unweave.numerics.least_squares import FitToAnswers, Policy, Solver, Step, Stop, minimise
from unweave.numerics.network_fit import Refinement

# Numbers of a block of the Jacobian: 1 MB, which stays in the cache of a core.
BLOCK_NUMBERS = 2**17
# A step that does not lower the residual is halved up to five times; its direction stays, since it is the pattern that
# is wrong, not the size of the equations. Once the pattern is right a step ends at rounding, or at a gain of 1e-10.
HALVING = Policy(tries=6, revived_damping=2.0, growth=2.0, decay=0.0, gain_tol=1e-10)


@dataclass(frozen=True)
class PatternLeastSquares:
    """Settings of the least squares within the activation pattern.

    Args:
        rounds: largest number of linear solves with a new pattern each.
        rounding: residual of exact answers, relative to the answers, that is rounding; above, further rounds may help.
        margin: distance from a kink, in units of the inputs, below which a point is left out;
            ``min(0.3, 1.5 / neurons)`` if omitted, and less if too few points would remain.
        halvings: of the margin, at most: below a thousandth of it nothing is left out.
        most_points: points that a solve uses at most; the first ones of those that are kept.
        trimmed: share of the points with the largest residuals that a second fit leaves out, where the first
            one has not met the answers: neurons that bend at few points only spoil few.
        trims: how often at most, and the share of the typical residual that such a fit may leave, or it is the last:
            noise stays as it is without the largest residuals; the fit of an exact label does not.
        points_per_unknown: a neuron is fitted if this many points per unknown of it are on either side of its kink;
            the whole fit needs as many.
        least_singular_value: singular values below this share of the largest: what they belong to is not determined.
        least_condition: smallest over largest singular value above which normal equations serve, and how often they
            are corrected: each time an error falls by `eps` over its square, that is to 1e-6 of what it was.

    Heuristic where nothing else is said: planted networks in tests and benchmarks are what numbers were checked on.
    """

    rounds: int = 15
    rounding: float = 1e-14
    margin: float | None = None
    halvings: int = 10
    most_points: int = 20_000
    trimmed: float = 0.03
    trims: tuple[int, float] = (12, 0.8)
    points_per_unknown: int = 2
    least_singular_value: float = 1e-10
    least_condition: float = 1e-5
    corrections: int = 2

    def __call__(self, network: Network, points: Points, values: Values, *, floor: float = 0.0) -> Refinement:
        """Fit the network to the answers.

        Args:
            network: shallow, relu, one output; a tenth off at most in most parameters.
            points: where answers are known, more than three per unknown.
            values: the answers.
            floor: noise of one answer; at it there is nothing left to fit.

        Returns:
            The best network met, with unit weights and an affine part; the network itself if none is better.

        Raises:
            InvalidInput: if it is another kind of network, or there are fewer answers than unknowns.

        Assumes: the pattern of the kept points is right, or so for most of them.
        Guarantees: never a larger residual. With a right pattern, exact answers and points on both sides of every
            kink, all parameters to rounding in one round.
        """
        _check(network, points)
        size = max(root_mean_square(values), np.finfo(float).tiny)
        best, history = network, [root_mean_square(values - network(points))]
        residual, rounds, has_converged = history[0], 0, False
        for _ in range(self.rounds):
            if residual <= max(floor, self.rounding * size):
                has_converged = True
                break
            network = self._fitted(network, points, values, size=size)
            rounds += 1
            history.append(root_mean_square(values - network(points)))
            # A round may lead through a worse network to the right pattern, but not twice in a row.
            if len(history) > 2 and min(history[-2:]) >= residual:
                has_converged = history[-1] == history[-2]
                break
            if history[-1] < residual:
                best, residual = network, history[-1]
        return Refinement(best, residual, rounds, has_converged, tuple(history))

    def _fitted(self, network: Network, points: Points, values: Values, *, size: float) -> Network:
        """The network that least squares gives for the pattern of this one.

        The margin is halved until enough points are left on both sides of each kink and determine all unknowns.
        """
        hidden = network.layers[0]
        norms = np.linalg.norm(hidden.weights, axis=1)
        scaled = hidden.preactivations(points) / np.where(norms > 0, norms, 1.0)
        distances = np.min(np.abs(scaled), axis=1, initial=np.inf)
        margin = min(0.3, 1.5 / max(len(norms), 1)) if self.margin is None else self.margin
        needed = self.points_per_unknown * (network.inputs + 1)
        is_seen = (norms > 0) & (_fewer_sides(scaled > 0) >= needed)

        def fit_beyond(margin: float) -> tuple[Network, bool] | None:
            kept = np.flatnonzero(distances > margin)[: self.most_points]
            is_free = (norms > 0) & (_fewer_sides(scaled[kept] > 0) >= needed)
            if len(kept) < needed * (len(norms) + 1) or not np.array_equal(is_free, is_seen):
                return None
            return self._fit_slopes(network, points[kept], values[kept, 0], is_free, size=size)

        margins = margin * 0.5 ** np.arange(self.halvings)
        fits = (fit for each in margins if (fit := fit_beyond(each)) is not None)
        fitted = next(fits, None)
        if fitted is not None and not fitted[1]:
            # What the least margin does not determine, those between do not either.
            least = fit_beyond(margins[-1])
            if least is None or not least[1]:
                return (least or fitted)[0]
            fitted = next((fit for fit in fits if fit[1]), least)
        return network if fitted is None else fitted[0]

    def _fit_slopes(
        self,
        network: Network,
        points: Points,
        values: PerPoint,
        is_free: Bool[np.ndarray, "neurons"],
        *,
        size: float,
    ) -> tuple[Network, bool]:
        """Fit slope and constant of every free neuron and of the affine part; and whether all are determined.

        Solved for the change of the network, so that what the points do not determine stays as it is.
        """
        lifted = np.column_stack([points, np.ones(len(points))])
        is_active = network.layers[0].preactivations(points)[:, is_free] > 0
        design = np.hstack([*(is_active[:, [i]] * lifted for i in range(is_active.shape[1])), lifted])
        residuals = values - network(points)[:, 0]
        change, is_determined = self._solve(design, residuals)
        typical, (trims, gain) = np.inf, self.trims
        for _ in range(trims if self.trimmed > 0.0 else 0):
            left = np.abs(residuals - design @ change)
            if np.median(left) <= self.rounding * size or np.median(left) > gain * typical:
                break
            typical = float(np.median(left))
            kept = left <= np.quantile(left, 1.0 - self.trimmed)
            change, _ = self._solve(design[kept], residuals[kept])
        return _change_free(network, is_free, change.reshape(-1, lifted.shape[1])), is_determined

    def _solve(
        self, design: Float64[np.ndarray, "points unknowns"], values: PerPoint
    ) -> tuple[Float64[np.ndarray, " unknowns"], bool]:
        """Solve least squares, and say whether all unknowns are determined.

        Normal equations take a seventh of the time of a singular value decomposition. Where they say that the design is
        well conditioned, each solve with what is left loses only `condition^2 eps` of the change, so that a few of them
        give the digits of an orthogonal method.
        """
        gram = design.T @ design
        eigenvalues = np.linalg.eigvalsh(gram)
        if eigenvalues[0] <= self.least_condition**2 * eigenvalues[-1]:
            change, _, rank, _ = np.linalg.lstsq(design, values, rcond=self.least_singular_value)
            return change, bool(rank == design.shape[1])
        factor = cho_factor(gram)
        change = cho_solve(factor, design.T @ values)
        for _ in range(self.corrections):
            change = change + cho_solve(factor, design.T @ (values - design @ change))
        return change, True


def _change_free(
    network: Network, is_free: Bool[np.ndarray, "neurons"], change: Float64[np.ndarray, "blocks lifted"]
) -> Network:
    """Unit weights, biases and output weights of changed slopes and constants; other neurons as they were."""
    hidden, output = network.layers
    weights, biases, outgoing = hidden.weights.copy(), hidden.biases.copy(), output.weights[0].copy()
    slopes = outgoing[is_free, None] * weights[is_free] + change[:-1, :-1]
    constants = outgoing[is_free] * biases[is_free] + change[:-1, -1]
    heights = np.linalg.norm(slopes, axis=1)
    # A neuron is on the same side as before: its weights keep their direction, roughly.
    heights = np.where(np.sum(slopes * weights[is_free], axis=1) < 0, -heights, heights)
    is_there = heights != 0.0
    divisor = np.where(is_there, heights, 1.0)
    weights[is_free] = np.where(is_there[:, None], slopes / divisor[:, None], weights[is_free])
    biases[is_free] = np.where(is_there, constants / divisor, biases[is_free])
    outgoing[is_free] = heights
    skip = change[-1:, :-1] + (0.0 if network.skip is None else network.skip)
    return Network.shallow(weights, biases, outgoing[None], output.biases + change[-1, -1:], RELU, skip)


def _check(network: Network, points: Points) -> None:
    if len(network.layers) != 2 or network.activations != (RELU, IDENTITY) or network.outputs != 1:
        raise InvalidInput(f"a shallow relu network with one output is needed, got layers of {network.activations}.")
    unknowns = (network.widths[0] + 1) * (network.inputs + 1)
    if len(points) < unknowns:
        raise InvalidInput(
            f"a fit within the pattern needs {unknowns} answers for as many unknowns, got {len(points)}."
        )


def _fewer_sides(is_active: Bool[np.ndarray, "points neurons"]) -> np.ndarray:
    """Number of points on that side of every kink that has fewer."""
    counts = np.sum(is_active, axis=0)
    return np.minimum(counts, len(is_active) - counts)


@dataclass(frozen=True, eq=False)
class PatternSystem:
    """Normal equations of a network in slopes and constants.

    Args:
        gram: ``J^T J``; one block of ``inputs + 1`` per neuron, and one for the affine part if there is one.
        products: ``J^T r`` with the residuals r.
        least_eigenvalue: below this share of the largest, what an eigenvalue belongs to is not determined and stays;
            chosen: rounding of a sum over all rows is about 1e-13.
    """

    gram: Float64[np.ndarray, "unknowns unknowns"]
    products: Float64[np.ndarray, "unknowns"]
    least_eigenvalue: float = 1e-12

    def step(self) -> Float64[np.ndarray, "unknowns"]:
        """The change that solves the equations, without what they leave open."""
        values, known, _ = self._spectrum()
        return known @ ((known.T @ self.products) / values)

    def inverse(self) -> tuple[Float64[np.ndarray, "unknowns unknowns"], Bool[np.ndarray, "unknowns"]]:
        """The pseudoinverse of the matrix, and which unknowns have no part in a combination that it leaves out."""
        values, known, unknown = self._spectrum()
        is_determined = np.all(np.abs(unknown) <= np.sqrt(self.least_eigenvalue), axis=1)
        return (known / values) @ known.T, is_determined

    def _spectrum(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Eigenvalues that determine something, their eigenvectors, and all others."""
        values, vectors = np.linalg.eigh(self.gram)
        is_known = values > self.least_eigenvalue * np.max(values, initial=0.0)
        return values[is_known], vectors[:, is_known], vectors[:, ~is_known]


def pattern_system(network: Network, points: Points, values: Values) -> PatternSystem:
    """The normal equations in the activation pattern of the network.

    Args:
        network: shallow relu network with one output; its slope counts as unknown if it has one, and so does then its
            offset, which otherwise stays.
        points: where answers are known.
        values: the answers.
    """
    pattern = _pattern(network, points)
    return PatternSystem(_gram(pattern, points), _products(pattern, points, values - network(points)))


Pattern = Bool[np.ndarray, "points blocks"]


def _pattern(network: Network, points: Points) -> Pattern:
    """Which neurons are active at every point; one column more, of ones, for an affine part."""
    directions, biases, _ = unit_parameters(network)
    pattern = np.ones((len(points), len(directions) + (network.skip is not None)), dtype=bool)
    pattern[:, : len(directions)] = points @ directions.T + biases > 0.0
    return pattern


def _gram(pattern: Pattern, points: Points) -> Float64[np.ndarray, "unknowns unknowns"]:
    blocks, size = pattern.shape[1], points.shape[1] + 1
    gram = np.zeros((blocks * size, blocks * size))
    step = max(1, BLOCK_NUMBERS // max(blocks * size, 1))
    for first in range(0, len(points), step):
        rows = slice(first, first + step)
        lifted = np.column_stack([points[rows], np.ones(len(points[rows]))])
        jacobian = (pattern[rows, :, None].astype(float) * lifted[:, None, :]).reshape(len(lifted), -1)
        gram += jacobian.T @ jacobian
    return gram


def _products(pattern: Pattern, points: Points, residuals: Values) -> Float64[np.ndarray, "unknowns"]:
    active = pattern * residuals
    return np.column_stack([active.T @ points, np.sum(active, axis=0)]).ravel()


class _PatternGram:
    """``J^T J`` of one network after the other: near the optimum few rows change their pattern, and only these count.

    Args:
        points: where answers are known.
        most_changed: share of the rows above which all are summed again: rows that change count twice, in the old
            pattern and in the new one, so that up to half of them less is summed.
    """

    def __init__(self, points: Points, most_changed: float = 0.5) -> None:
        self._points, self._most_changed = points, most_changed
        self._pattern: Pattern | None = None
        self._gram = np.zeros((0, 0))

    def at(self, pattern: Pattern) -> Float64[np.ndarray, "unknowns unknowns"]:
        """The matrix for a pattern."""
        before, self._pattern = self._pattern, pattern
        changed = None if before is None else np.flatnonzero(np.any(before != pattern, axis=1))
        if before is None or changed is None or len(changed) > self._most_changed * len(pattern):
            self._gram = _gram(pattern, self._points)
        else:
            moved = self._points[changed]
            self._gram = self._gram + _gram(pattern[changed], moved) - _gram(before[changed], moved)
        return self._gram


@dataclass(frozen=True)
class PatternNewton:
    """Settings of the Gauss-Newton method in slopes and constants.

    Args:
        steps: largest number of steps.
        damping: how a step that does not lower the residual is halved.
    """

    steps: int = 12
    damping: Policy = HALVING

    def __call__(self, network: Network, points: Points, values: Values) -> Refinement:
        """Fit a network without slope; its offset stays as it is.

        Args:
            network: shallow relu network with one output and no skip, near the optimum.
            points: where answers are known.
            values: the answers.

        Guarantees: never a larger residual.
        """
        policy = replace(self.damping, steps=self.steps if network.widths[0] else 0)
        found = minimise(_PatternProblem(points, values, _PatternGram(points)), network, policy)
        # Where no part of a step helps, the pattern has settled.
        has_converged = found.stop is not Stop.LIMIT
        return Refinement(found.point, found.losses[-1], found.steps, has_converged, found.losses)


@dataclass(frozen=True, eq=False)
class _PatternProblem(FitToAnswers[Network]):
    """The fit in slopes and constants; a damping above 1 divides the step."""

    gram: _PatternGram

    def solver(self, point: Network, residuals: Values, /) -> Solver:
        pattern = _pattern(point, self.points)
        change = PatternSystem(self.gram.at(pattern), _products(pattern, self.points, residuals)).step()
        return lambda damping: change / max(1.0, damping)

    def moved(self, point: Network, step: Step, /) -> Network:
        return changed(point, step)


def changed(network: Network, change: Float64[np.ndarray, "unknowns"]) -> Network:
    """Unit weights, biases and output weights of changed slopes and constants; neurons stay on their side."""
    directions, biases, output_weights = unit_parameters(network)
    blocks = change.reshape(-1, network.inputs + 1)
    slopes = output_weights[:, None] * directions + blocks[: len(directions), :-1]
    constants = output_weights * biases + blocks[: len(directions), -1]
    heights = np.linalg.norm(slopes, axis=1)
    heights = np.where(output_weights < 0.0, -heights, heights)
    divisor = np.where(heights != 0.0, heights, 1.0)
    offset, skip = network.layers[1].biases, network.skip
    if skip is not None:
        offset, skip = offset + blocks[-1, -1:], skip + blocks[-1:, :-1]
    return Network.shallow(slopes / divisor[:, None], constants / divisor, heights[None], offset, RELU, skip)
