"""Where an oracle may be asked: all of space with a typical scale, or a box."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64

from unweave.arrays import Points, Vector, as_float64
from unweave.exceptions import InvalidInput


@dataclass(frozen=True)
class Everywhere:
    """All of space. Points are drawn from a Gaussian with this centre and standard deviation.

    Args:
        scale: how far from the centre the function is interesting; one number or one per input.
        center: where it is interesting; zero if omitted.
    """

    scale: float | Vector = 1.0
    center: float | Vector = 0.0

    def __post_init__(self) -> None:
        scale = np.asarray(self.scale, dtype=np.float64)
        if not (np.all(np.isfinite(scale)) and np.all(scale > 0)):
            raise InvalidInput(f"Everywhere needs a positive finite scale, got {self.scale}.")
        if not np.all(np.isfinite(np.asarray(self.center, dtype=np.float64))):
            raise InvalidInput(f"Everywhere needs a finite center, got {self.center}.")

    def frame(self, inputs: int) -> tuple[Vector, Vector]:
        """Centre and half-width per input: the unit of length of every measurement."""
        return _per_input(self.center, inputs, "center"), _per_input(self.scale, inputs, "scale")

    def sample_standard(self, rng: np.random.Generator, points: int, inputs: int, margin: float) -> Points:  # noqa: ARG002
        """Draw points in standard coordinates ``(x - center) / half-width``."""
        return rng.standard_normal((points, inputs))

    def contains(self, points: Points) -> Bool[np.ndarray, "points"]:
        """Whether each point may be asked: always."""
        return np.ones(len(points), dtype=bool)


@dataclass(frozen=True)
class Box:
    """The points between `lower` and `upper`, one bound per input or one for all."""

    lower: float | Vector
    upper: float | Vector

    def __post_init__(self) -> None:
        lower, upper = np.asarray(self.lower, dtype=np.float64), np.asarray(self.upper, dtype=np.float64)
        if not (np.all(np.isfinite(lower)) and np.all(np.isfinite(upper)) and np.all(lower < upper)):
            raise InvalidInput(f"Box needs finite bounds with lower < upper, got {self.lower} and {self.upper}.")

    def frame(self, inputs: int) -> tuple[Vector, Vector]:
        """Centre and half-width per input: the unit of length of every measurement."""
        lower, upper = _per_input(self.lower, inputs, "lower"), _per_input(self.upper, inputs, "upper")
        return 0.5 * (lower + upper), 0.5 * (upper - lower)

    def sample_standard(self, rng: np.random.Generator, points: int, inputs: int, margin: float) -> Points:
        """Draw points uniformly, at least `margin` half-widths away from every face."""
        return rng.uniform(-1.0 + margin, 1.0 - margin, (points, inputs))

    def contains(self, points: Points) -> Bool[np.ndarray, "points"]:
        """Whether each point may be asked; rounding in the last digits is forgiven."""
        center, half_width = self.frame(points.shape[1])
        return np.all(np.abs(points - center) <= half_width * (1 + 1e-12) + 1e-300, axis=1)


Domain = Everywhere | Box


def _per_input(value: float | Vector, inputs: int, name: str) -> Float64[np.ndarray, "inputs"]:
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0:
        return np.full(inputs, float(array))
    array = as_float64(array, name=name, ndim=1)
    if len(array) != inputs:
        raise InvalidInput(f"the domain needs one {name} per input, {inputs} in all, got {len(array)}.")
    return array
