"""Where derivatives come from: the central differences of [fiedler], a cheaper scheme, or a known network.

All three answer the same two questions, so that a pipeline can be run with each. The exact ones are for tests and
benchmarks, which hold the network.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Gradients, PackedHessians, Points, packed_size, upper_triangle
from unweave.exceptions import InvalidInput
from unweave.networks.network import Network
from unweave.numerics.finite_differences import measure_hessians
from unweave.oracles.oracle import Oracle
from unweave.oracles.views import StandardOracle

# The step of [fiedler, Sec. 4.4]: truncation of order 1e-5, rounding of order 1e-11 in float64.
DIFFERENCE_STEP = 5e-3
# Numbers per block of stencil points that are in memory at once.
BLOCK_NUMBERS = 2**23


class DerivativeSource(ABC):
    """Gradients and Hessians of all outputs at given points."""

    @abstractmethod
    def gradients(self, points: Points) -> Gradients:
        """Gradient of every output at every point."""

    @abstractmethod
    def hessians(self, points: Points) -> PackedHessians:
        """Hessian of every output at every point, packed."""


@dataclass(frozen=True)
class EntrywiseDifferences(DerivativeSource):
    """Central differences, entry by entry, as in [fiedler, (4.76) and (4.77)].

    Every entry of the upper triangle of a Hessian asks its own four points,
    ``[f(x + e_i + e_j) - f(x - e_i + e_j) - f(x + e_i - e_j) + f(x - e_i - e_j)] / 4`` in units of the step; the last
    sign is printed wrongly there. That makes 2 D (D + 1) queries for a Hessian and 2 D for a gradient.
    """

    oracle: Oracle
    step: float = DIFFERENCE_STEP

    def __post_init__(self) -> None:
        if not (np.isfinite(self.step) and self.step > 0):
            raise InvalidInput(f"a finite-difference step must be positive and finite, got {self.step}.")

    def gradients(self, points: Points) -> Gradients:
        """Gradients by central differences, 2 D queries each."""
        inputs = self.oracle.inputs
        forward, backward = np.split(self._answers(points, np.vstack([np.eye(inputs), -np.eye(inputs)])), 2, axis=1)
        return np.swapaxes(forward - backward, 1, 2) / (2 * self.step)

    def hessians(self, points: Points) -> PackedHessians:
        """Hessians by central differences, 2 D (D + 1) queries each."""
        stencil, weights = entrywise_stencil(self.oracle.inputs), upper_triangle(self.oracle.inputs)[2]
        block = max(1, BLOCK_NUMBERS // stencil.size)
        parts = []
        for first in range(0, len(points), block):
            answers = self._answers(points[first : first + block], stencil)
            both, one, other, none = np.split(answers, 4, axis=1)
            entries = (both - one - other + none) / (4 * self.step**2)
            parts.append(np.swapaxes(entries, 1, 2) * weights)
        return np.concatenate(parts)

    def _answers(self, points: Points, stencil: np.ndarray) -> Float64[np.ndarray, "points stencil outputs"]:
        asked = (points[:, None] + self.step * stencil).reshape(-1, self.oracle.inputs)
        return self.oracle.query(asked).reshape(len(points), len(stencil), -1)


@dataclass(frozen=True)
class SharedDifferences(DerivativeSource):
    """Central differences of the same order that share answers: D^2 + D + 1 queries for a Hessian."""

    oracle: Oracle
    outputs: int
    step: float = DIFFERENCE_STEP

    def gradients(self, points: Points) -> Gradients:
        """Gradients by central differences, 2 D queries each."""
        return EntrywiseDifferences(self.oracle, self.step).gradients(points)

    def hessians(self, points: Points) -> PackedHessians:
        """Hessians by central differences, D^2 + D + 1 queries each."""
        return measure_hessians(self._plain(), points, step=self.step).hessians

    def _plain(self) -> StandardOracle:
        """The oracle in its own units."""
        inputs, outputs = self.oracle.inputs, self.outputs
        return StandardOracle(self.oracle, np.zeros(inputs), np.ones(inputs), np.zeros(outputs), np.ones(outputs))


@dataclass(frozen=True, eq=False)
class ExactDerivatives(DerivativeSource):
    """The derivatives of a known network, without queries: the baseline of the tables of [fiedler, Sec. 4.4]."""

    network: Network

    def gradients(self, points: Points) -> Gradients:
        """Exact gradients."""
        return self.network.gradients(points)

    def hessians(self, points: Points) -> PackedHessians:
        """Exact Hessians."""
        return self.network.hessians(points)


def entrywise_hessian_queries(inputs: int) -> int:
    """Queries of one Hessian by `EntrywiseDifferences`."""
    return 4 * packed_size(inputs)


@lru_cache(maxsize=4)
def entrywise_stencil(inputs: int) -> Float64[np.ndarray, "stencil inputs"]:
    """The four points of every entry of the upper triangle, in units of the step; a diagonal entry steps twice."""
    axes = np.eye(inputs)
    rows, columns, _ = upper_triangle(inputs)
    first, second = axes[rows], axes[columns]
    return np.concatenate([first + second, second - first, first - second, -first - second])
