"""Lengths and biases of a layer under unknown upper layers, from gradients alone.

Let ``t`` be the arguments of a layer of m neurons and ``y = g(t)`` its values. The gradients in t of all outputs at
all points are ``g'(t) * (W^T r)`` with the weights W of the next layer and some r that depends on the point. Divided
by ``g'(t)`` they lie in the row space of W, which is the same everywhere, and a proper subspace if the next layer is
narrower. Wrong lengths or biases put wrong factors ``g'(t)``, and the gradients leave the subspace: the right ones are
those for which the matrix of all divided gradients has the rank of W. That rank is the width of the next layer.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64

from unweave.activations import Activation
from unweave.arrays import PerNeuron, Points, Vector
from unweave.numerics.least_squares import Policy, Solver, Step, minimise, normal_solver, scattered

# Lengths and biases are known to a few tenths only and partly undetermined: damped from the beginning, and always a
# little, until a step moves all of them by less than 1e-10. Heuristic.
DAMPING = Policy(steps=30, growth=8.0, largest_damping=1e6, step_tol=1e-10).always_damped(first=1e-2, least=1e-12)


@dataclass(frozen=True, kw_only=True)
class AlignmentRules:
    """Limits that decide which lengths and biases are believed.

    Args:
        clear_gap: ratio of singular values at the rank from which they are believed. Of 284 planted layers under a
            narrower one 252 were found with it, most with 1e14, and one wrongly; of 142 under one as wide 5 had it by
            accident, up to 2,700. So it is no proof: fresh answers judge a network that follows from it.
        clear_gap_of_many: the same where `many` dimensions are left over: few of them can be emptied by accident.
        many: how many these are; chosen.
        trusted: how far lengths (relative) and biases may be from what was given: tails give lengths to 1 %, and biases
            to a few tenths (`FarLayerSearch`).
        tried_ranks: those with the largest gaps at the given lengths and biases; chosen, for the time.
        damping: how steps are damped.
        least_share: every unknown is damped by at least this share of what the most important one is damped by;
            chosen, above rounding.
    """

    clear_gap: float = 200.0
    clear_gap_of_many: float = 30.0
    many: int = 5
    trusted: tuple[float, float] = (0.05, 0.45)
    tried_ranks: int = 20
    damping: Policy = DAMPING
    least_share: float = 1e-10


RULES = AlignmentRules()


@dataclass(frozen=True)
class Alignment:
    """A layer's lengths and biases for which the gradients above it have low rank.

    Args:
        scales: factors of the weights that were given.
        biases: the biases.
        frame: orthonormal basis of the row space of the next layer's weights.
        gap: ratio of the singular values on both sides of the rank.
        rules: which gap leaves no doubt.
    """

    scales: PerNeuron
    biases: PerNeuron
    frame: Float64[np.ndarray, "neurons rank"]
    gap: float
    rules: AlignmentRules = RULES

    @property
    def clear_gap(self) -> float:
        """The gap from which on there is no doubt."""
        neurons, rank = self.frame.shape
        rules = self.rules
        return rules.clear_gap_of_many if neurons - rank >= rules.many else rules.clear_gap

    @property
    def is_clear(self) -> bool:
        """Whether the gap leaves no doubt."""
        return self.gap >= self.clear_gap


def align(
    projections: Points,
    gradients: Float64[np.ndarray, "points outputs inputs"],
    biases: Vector,
    activation: Activation,
    *,
    rules: AlignmentRules = RULES,
) -> Alignment:
    """Find lengths and biases from gradients above a layer; the rank is found, too.

    Args:
        projections: arguments of the layer's neurons without their biases, at every point.
        gradients: of all outputs in these projections.
        biases: first guess, a few tenths of an argument's unit off at most.
        activation: of the layer.
        rules: which lengths and biases are believed.

    Returns:
        The alignment with the smallest rank that is clear, or else the one with the largest gap; the gap is zero
        if the next layer is not narrower.

    Assumes: more gradients than neurons, spread over arguments of order one.
    Guarantees: exact for exact gradients if the next layer is narrower and the guess is good enough; heuristic.
    """
    neurons = len(biases)
    problem = _Ranks(projections, gradients, activation, rules)
    values = np.linalg.svd(problem.divided(np.ones(neurons), biases), compute_uv=False)
    ratios = values[:-1] / np.maximum(values[1:], np.finfo(float).tiny)
    tried = [problem.solve_for_rank(int(rank), biases) for rank in sorted(np.argsort(-ratios)[: rules.tried_ranks] + 1)]
    clear = next((alignment for alignment in tried if alignment.is_clear), None)
    if clear is not None or not tried:
        return clear or Alignment(np.ones(neurons), biases, np.eye(neurons), 0.0, rules)
    return max(tried, key=lambda alignment: alignment.gap)


@dataclass(frozen=True)
class _Ranks:
    """The nonlinear least-squares problem: what is left of the divided gradients outside a rank."""

    projections: Points
    gradients: Float64[np.ndarray, "points outputs inputs"]
    activation: Activation
    rules: AlignmentRules

    def divided(self, scales: np.ndarray, biases: np.ndarray) -> Float64[np.ndarray, "inputs columns"]:
        """Gradients divided by the slopes, one column per point and output."""
        return self._columns(1.0 / self.activation(scales * self.projections + biases, 1))

    def solve_for_rank(self, rank: int, biases: Vector) -> Alignment:
        """Damped Gauss-Newton with both singular subspaces eliminated: on the biases alone, then on all."""
        neurons = len(biases)
        state = np.concatenate([np.ones(neurons), biases])
        given = state
        for is_free in (np.arange(2 * neurons) >= neurons, np.ones(2 * neurons, dtype=bool)):
            state = minimise(_Descent(self, rank, is_free, given), state, self.rules.damping).point
        scales, found = state[:neurons], state[neurons:]
        # In the given units the gradients carry the lengths as factors, which the row space must not.
        left, values, _ = np.linalg.svd(self.divided(scales, found) / scales[:, None])
        gap = float(values[rank - 1] / max(values[rank], np.finfo(float).eps * values[0]))
        return Alignment(scales, found, left[:, :rank], gap, self.rules)

    def tail(self, rank: int, state: np.ndarray) -> float:
        """Share of the divided gradients outside the rank."""
        values = np.linalg.svd(self.divided(*np.split(state, 2)), compute_uv=False)
        return float(np.linalg.norm(values[rank:]) / np.linalg.norm(values))

    def normal_equations(self, rank: int, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gauss-Newton matrix and gradient in the state, with both singular subspaces eliminated."""
        scales, biases = np.split(state, 2)
        left, _, right = np.linalg.svd(self.divided(scales, biases), full_matrices=False)
        outside, inside = left[:, rank:], right[:rank]
        arguments = scales * self.projections + biases
        change = -self.activation(arguments, 2) / self.activation(arguments, 1) ** 2

        def beyond(columns: np.ndarray) -> np.ndarray:
            return columns - (columns @ inside.T) @ inside

        residual = (outside.T @ beyond(self.divided(scales, biases))).ravel()
        # A change of neuron k moves row k alone.
        blocks = [
            np.einsum("ka,kc->ack", outside, beyond(self._columns(factor))).reshape(len(residual), -1)
            for factor in (change * self.projections, change)
        ]
        jacobian = np.hstack(blocks)
        return jacobian.T @ jacobian, jacobian.T @ residual

    def _columns(self, factors: Float64[np.ndarray, "points inputs"]) -> Float64[np.ndarray, "inputs columns"]:
        weighted = factors[:, None, :] * self.gradients
        return np.ascontiguousarray(weighted.reshape(-1, weighted.shape[2]).T)


@dataclass(frozen=True, eq=False)
class _Descent:
    """The fit for one rank, over scales and biases in one vector of which some may move, not far from those given."""

    ranks: _Ranks
    rank: int
    is_free: Bool[np.ndarray, "state"]
    given: Float64[np.ndarray, "state"]

    def residuals(self, point: np.ndarray, /) -> float:
        return self.ranks.tail(self.rank, point)

    def loss(self, residuals: float, /) -> float:
        return residuals

    def solver(self, point: np.ndarray, _residuals: float, /) -> Solver:
        gram, gradient = self.ranks.normal_equations(self.rank, point)
        gram, gradient = gram[np.ix_(self.is_free, self.is_free)], gradient[self.is_free]
        units = np.diag(gram) + self.ranks.rules.least_share * float(np.max(np.diag(gram)))
        return scattered(normal_solver(gram, -gradient, units, ridges=(0.0,)), self.is_free)

    def moved(self, point: np.ndarray, step: Step, /) -> np.ndarray | None:
        trial = point + step
        return (
            trial if np.all(np.abs(trial - self.given) < np.repeat(self.ranks.rules.trusted, len(trial) // 2)) else None
        )
