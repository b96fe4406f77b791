"""An oracle seen in standard coordinates: inputs and outputs centred and of unit size.

All measurements are made here, so that no later stage needs to know units: a box becomes
[-1, 1]^inputs, and outputs of very different size count alike.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Points, Values, Vector
from unweave.oracles.oracle import Oracle


@runtime_checkable
class Queryable(Protocol):
    """What measurements need: a function that answers batches of points."""

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        ...

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        ...

    def query(self, points: Points) -> Values:
        """Answers at points."""
        ...


@dataclass(frozen=True)
class StandardOracle:
    """Affine coordinates ``z = (x - center) / half_width`` and ``y = (f - offset) / size``."""

    oracle: Oracle
    center: Vector
    half_width: Vector
    offset: Float64[np.ndarray, "outputs"]
    size: Float64[np.ndarray, "outputs"]

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return self.oracle.inputs

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return len(self.size)

    def query(self, points: Points) -> Values:
        """Answers in standard units at points in standard coordinates."""
        return (self.oracle.query(self.center + self.half_width * points) - self.offset) / self.size

    def sample(self, rng: np.random.Generator, points: int, *, margin: float = 0.0) -> Points:
        """Draw points from the domain, `margin` away from the faces of a box."""
        return self.oracle.domain.sample_standard(rng, points, self.inputs, margin)

    def to_standard(self, points: Points) -> Points:
        """Standard coordinates of points of the oracle."""
        return (points - self.center) / self.half_width


def standardise(oracle: Oracle, values: Values) -> StandardOracle:
    """Choose units from the domain and from the answers seen so far.

    The size of an output is the spread of the answers seen, or its magnitude where it is constant.
    """
    center, half_width = oracle.domain.frame(oracle.inputs)
    offset = np.mean(values, axis=0)
    spread = np.std(values, axis=0)
    magnitude = np.max(np.abs(values), axis=0)
    # Below the rounding of the answers a spread means nothing.
    size = np.where(spread > 1e-6 * magnitude, spread, np.where(magnitude > 0, magnitude, 1.0))
    return StandardOracle(oracle=oracle, center=center, half_width=half_width, offset=offset, size=size)
