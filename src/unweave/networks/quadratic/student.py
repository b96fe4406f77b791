"""A quadratic network as a vector of free parameters: outputs and exact Jacobian, in NumPy."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float64

from unweave.arrays import PerPoint, Points, Vector, unpack
from unweave.networks.quadratic.densenet import Level, QuadraticDenseNet, forward
from unweave.networks.quadratic.wiring import FIRST_LEVEL, Wiring

Parameters = Float64[np.ndarray, "parameters"]


@dataclass(frozen=True, eq=False)
class Student:
    """The shape of a network whose feature maps, and perhaps linear part and centre, are to be found.

    Args:
        wiring: widths and links.
        coefficients: of each feature's square in the output, per level.
        mean_squares: E[x^2] per input, or where it starts.
        has_affine: whether a linear part and an intercept are free.
        has_centre: whether E[x^2] is free.
    """

    wiring: Wiring
    coefficients: tuple[Float64[np.ndarray, "_"], ...]
    mean_squares: Vector
    has_affine: bool = False
    has_centre: bool = False

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Parameters of every feature map."""
        levels = range(FIRST_LEVEL, self.wiring.depth + 1)
        return tuple(width * self.wiring.terms(level) for level, width in zip(levels, self.wiring.widths, strict=True))

    @property
    def parameters(self) -> int:
        """Number of free parameters."""
        inputs = self.wiring.inputs
        return sum(self.sizes) + (inputs + 1) * self.has_affine + inputs * self.has_centre

    def matrices(self, vector: Parameters) -> list[np.ndarray]:
        """The feature maps."""
        parts = np.split(vector[: sum(self.sizes)], np.cumsum(self.sizes)[:-1])
        return [part.reshape(width, -1) for part, width in zip(parts, self.wiring.widths, strict=True)]

    def affine(self, vector: Parameters) -> tuple[Vector, float]:
        """Linear part and intercept; zero if they are not free."""
        inputs, start = self.wiring.inputs, sum(self.sizes)
        if not self.has_affine:
            return np.zeros(inputs), 0.0
        return vector[start : start + inputs], float(vector[start + inputs])

    def centre(self, vector: Parameters) -> Vector:
        """E[x^2]."""
        return vector[-self.wiring.inputs :] if self.has_centre else self.mean_squares

    def outputs(self, vector: Parameters, points: Points) -> PerPoint:
        """The output at every point."""
        _, features = forward(self.wiring, self.matrices(vector), points, points**2 - self.centre(vector))
        linear, intercept = self.affine(vector)
        values = points @ linear + intercept
        for level, coefficients in zip(features, self.coefficients, strict=True):
            values = values + level**2 @ coefficients
        return values

    def jacobian(self, vector: Parameters, points: Points) -> Float64[np.ndarray, "points parameters"]:
        """Derivatives of the outputs, by going back through the levels."""
        matrices = self.matrices(vector)
        terms, features = forward(self.wiring, matrices, points, points**2 - self.centre(vector))
        slopes = [2 * level * each for level, each in zip(features, self.coefficients, strict=True)]
        centre = np.zeros_like(points)
        for level in range(self.wiring.depth, FIRST_LEVEL - 1, -1):
            place = level - FIRST_LEVEL
            back = slopes[place] @ matrices[place]
            for source, columns in self.wiring.columns(level).items():
                if source >= FIRST_LEVEL:
                    lower = features[source - FIRST_LEVEL]
                    # A packed product has the derivative 2 C z for the symmetric matrix C behind its coefficients.
                    matrix = unpack(back[:, columns], lower.shape[1])
                    slopes[source - FIRST_LEVEL] = slopes[source - FIRST_LEVEL] + 2 * np.einsum(
                        "pij,pj->pi", matrix, lower
                    )
                elif source == 1:
                    centre -= back[:, columns]
        parts = [(s[:, :, None] * t[:, None, :]).reshape(len(points), -1) for s, t in zip(slopes, terms, strict=True)]
        if self.has_affine:
            parts += [points, np.ones((len(points), 1))]
        if self.has_centre:
            parts.append(centre)
        return np.concatenate(parts, axis=1)

    def random_start(self, rng: np.random.Generator, points: Points, *, size: float) -> Parameters:
        """Small random feature maps, in units in which inputs and their squares have size 1."""
        blocks = []
        squares = points**2 - self.mean_squares
        units = {0: _unit(points), 1: _unit(squares)}
        for sources, width in zip(self.wiring.sources, self.wiring.widths, strict=True):
            scales = [units.get(source, np.ones(self.wiring.terms_of(source))) for source in sources]
            drawn = rng.standard_normal((width, sum(map(len, scales))))
            blocks.append((size / np.sqrt(self.wiring.inputs) * drawn / np.concatenate(scales)).ravel())
        if self.has_affine:
            blocks.append(np.zeros(self.wiring.inputs + 1))
        if self.has_centre:
            blocks.append(self.mean_squares)
        return np.concatenate(blocks)

    def lower(self, level: int) -> "Student":
        """The levels up to one of them, alone."""
        count = level - FIRST_LEVEL + 1
        wiring, coefficients = self.wiring.up_to(level), self.coefficients[:count]
        return Student(wiring, coefficients, self.mean_squares, self.has_affine, self.has_centre)

    def raised(self, low: "Student", low_vector: Float64[np.ndarray, "lower"], start: Parameters) -> Parameters:
        """The parameters of lower levels, put into a start of all levels."""
        inside, low_inside = sum(self.sizes), sum(low.sizes)
        return np.concatenate([low_vector[:low_inside], start[low_inside:inside], low_vector[low_inside:]])

    def network(self, vector: Parameters, *, unit: float = 1.0) -> QuadraticDenseNet:
        """The network, with its output in a unit of the labels."""
        levels = []
        for matrix, coefficients in zip(self.matrices(vector), self.coefficients, strict=True):
            weight = float(np.abs(coefficients[0]))
            levels.append(Level(matrix.copy(), unit * weight, np.sign(coefficients)))
        linear, intercept = self.affine(vector)
        return QuadraticDenseNet(
            self.wiring,
            tuple(levels),
            self.centre(vector).copy(),
            unit * linear if self.has_affine else None,
            unit * intercept,
        )


def _unit(values: np.ndarray) -> np.ndarray:
    """Root mean square per column; 1 where a column is constant zero."""
    size = np.sqrt(np.mean(values**2, axis=0))
    return np.where(size > 0, size, 1.0)
