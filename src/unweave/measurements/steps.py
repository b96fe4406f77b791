"""How large a finite-difference step should be, from the noise and the function itself."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Points, Values
from unweave.oracles.standard import StandardOracle

# Half-widths of the second differences that look at the function, in half-widths of the domain.
LADDER = np.array([0.0125, 0.05, 0.2, 0.5])
BASE_POINTS = 2
LARGEST_STEP = 0.3
SMALLEST_STEP = 1e-5


@dataclass(frozen=True)
class FunctionScale:
    """What a few second differences say about the function, in standard units.

    Args:
        second: root mean square of the second derivative along random lines.
        fourth: root mean square of the fourth derivative (at least what the noise can hide).
        noise: standard deviation of an answer, root mean square over the outputs.
        points: what was asked, so that no answer is lost.
        values: what was answered.
    """

    second: float
    fourth: float
    noise: float
    points: Points
    values: Values

    @property
    def hessian_step(self) -> float:
        """Step that balances rounding ``1.6 noise / h^2`` against truncation ``h^2 f''''/6``."""
        return self._clip((10.0 * self.noise / self.fourth) ** 0.25)

    @property
    def gradient_step(self) -> float:
        """Step that balances rounding ``0.7 noise / h`` against truncation ``h^2 f'''/6``."""
        third = np.sqrt(max(self.second, 1e-300) * self.fourth)
        return self._clip((2.0 * self.noise / max(third, 1e-300)) ** (1 / 3))

    @property
    def third_step(self) -> float:
        """Step of third differences: balances ``1.6 noise / h^3`` against ``h^2 f^(5) / 4``."""
        return self._clip((10.0 * self.noise / self.fourth) ** 0.2)

    @property
    def hessian_error(self) -> float:
        """Expected error of one entry of a measured Hessian."""
        h = self.hessian_step
        return 1.6 * self.noise / h**2 + h**2 * self.fourth / 6.0

    def _clip(self, step: float) -> float:
        return float(np.clip(step, SMALLEST_STEP, LARGEST_STEP))


def measure_scale(
    oracle: StandardOracle, noise: Float64[np.ndarray, "outputs"], rng: np.random.Generator
) -> FunctionScale:
    """Look at the function along two random lines, 18 queries.

    The fourth derivative comes from pairs of second differences; the finest pair that rises above
    the noise is used.

    Assumes: the function is smooth on the scale of the domain. Guarantees: heuristic.
    """
    bases = oracle.sample(rng, BASE_POINTS, margin=LADDER[-1])
    directions = rng.standard_normal(bases.shape)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    offsets = np.concatenate([[0.0], LADDER, -LADDER])
    points = (bases[:, None] + offsets[:, None] * directions[:, None]).reshape(-1, oracle.inputs)
    values = oracle.query(points)
    table = values.reshape(BASE_POINTS, len(offsets), -1)
    rungs = len(LADDER)
    second = (table[:, 1 : rungs + 1] + table[:, rungs + 1 :] - 2 * table[:, :1]) / (LADDER**2)[:, None]
    fine, coarse = LADDER[:-1] ** 2, LADDER[1:] ** 2
    fourth = _root_mean_square(12.0 * np.diff(second, axis=1) / (coarse - fine)[:, None])
    level = float(np.sqrt(np.mean(noise**2)))
    hidden = 12.0 * 2.5 * level / (fine * (coarse - fine))
    visible = np.flatnonzero(fourth > 5 * hidden)
    chosen = visible[0] if len(visible) else len(fine) - 1
    return FunctionScale(
        second=float(_root_mean_square(second)[chosen]),
        fourth=float(max(fourth[chosen], hidden[chosen] * 0.1, np.finfo(float).tiny)),
        noise=level,
        points=points,
        values=values,
    )


def _root_mean_square(table: np.ndarray) -> np.ndarray:
    """Root mean square over base points (first axis) and outputs (last axis)."""
    return np.sqrt(np.mean(table**2, axis=(0, 2)))
