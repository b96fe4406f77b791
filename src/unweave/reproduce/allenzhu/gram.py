"""Backward feature correction in its purest form: alternating least squares on Gram matrices, for three levels.

With features of level 2 given, the output is linear in the Gram matrices ``M_l = weight_l W_l^T W_l``. Each round
solves for both and reads the features of level 2 from ``M_2`` again. No gradient goes through features: they improve
only because the third level takes away what they had wrongly absorbed. Heuristic; contracts if the information gap is
strong.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.arrays import PerPoint, Points, Vector, pack_squares, packed_size, unpack
from unweave.exceptions import InvalidInput
from unweave.networks.quadratic.densenet import Level, QuadraticDenseNet
from unweave.networks.quadratic.wiring import make_wiring

# Singular values of the least squares problem below this share count as none.
CUT_OFF = 1e-12


@dataclass(frozen=True, eq=False)
class QuadraticForm:
    """A quadratic form in the centred squares of the inputs, and its leading features."""

    matrix: Float64[np.ndarray, "inputs inputs"]
    mean_squares: Vector
    constant: float
    leading: Float64[np.ndarray, "features inputs"]

    def outputs(self, points: Points) -> PerPoint:
        """The form at every point."""
        squares = points**2 - self.mean_squares
        return np.einsum("pi,ij,pj->p", squares, self.matrix, squares) + self.constant

    def features(self, points: Points) -> Float64[np.ndarray, "points features"]:
        """The leading features."""
        return (points**2 - self.mean_squares) @ self.leading.T


def level_two_features(points: Points, labels: PerPoint, mean_squares: Vector, *, width: int) -> QuadraticForm:
    """The best quadratic form in the centred squares, with an intercept."""
    squares = points**2 - mean_squares
    design = np.concatenate([pack_squares(squares), np.ones((len(points), 1))], axis=1)
    solution = _least_squares(design, labels)
    matrix = unpack(solution[:-1], squares.shape[1])
    return QuadraticForm(matrix, mean_squares, float(solution[-1]), _leading(matrix, width))


@dataclass(frozen=True, eq=False)
class GramRounds:
    """Networks of level 2 after every round, the first one without the third level, and what each leaves.

    Args:
        networks: the features of level 2, as networks.
        relative_errors: mean squared residual of each round, relative to the variance of the labels.
    """

    networks: tuple[QuadraticDenseNet, ...]
    relative_errors: tuple[float, ...]


def alternate_gram(
    points: Points, labels: PerPoint, mean_squares: Vector, *, width: int, rounds: int = 6
) -> GramRounds:
    """Solve for both levels in turn with the features of level 2.

    Args:
        points: inputs.
        labels: of a network whose third level reads level 2 and the inputs.
        mean_squares: E[x^2] per input.
        width: features of level 2.
        rounds: how many corrections.

    Raises:
        InvalidInput: if there are fewer samples than unknowns.
    """
    inputs = points.shape[1]
    unknowns = packed_size(inputs) + packed_size(packed_size(width) + inputs)
    if len(points) <= unknowns:
        raise InvalidInput(f"alternate_gram needs more than {unknowns} samples, one per unknown, got {len(points)}.")
    squares = points**2 - mean_squares
    lower = pack_squares(squares)
    solution = _least_squares(lower, labels)
    errors = [float(np.mean((lower @ solution - labels) ** 2))]
    leading = [_leading(unpack(solution, inputs), width)]
    for _ in range(rounds):
        features = squares @ leading[-1].T
        read = np.concatenate([pack_squares(features), points], axis=1)
        design = np.concatenate([lower, pack_squares(read)], axis=1)
        solution = _least_squares(design, labels)
        errors.append(float(np.mean((design @ solution - labels) ** 2)))
        leading.append(_leading(unpack(solution[: lower.shape[1]], inputs), width))
    wiring = make_wiring(inputs, (width,))
    networks = tuple(QuadraticDenseNet(wiring, (Level(matrix, 1.0),), mean_squares) for matrix in leading)
    return GramRounds(networks, tuple(error / float(np.var(labels)) for error in errors))


def _least_squares(design: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """In units in which columns have size 1; products of the same inputs in two levels make it singular."""
    sizes = np.linalg.norm(design, axis=0)
    scaled = design / sizes
    values, vectors = np.linalg.eigh(scaled.T @ scaled)
    kept = values > CUT_OFF * values[-1]
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=kept)
    solution = vectors @ (inverse * (vectors.T @ (scaled.T @ labels)))
    # Normal equations lose half of the digits; one step on the residual brings them back.
    solution = solution + vectors @ (inverse * (vectors.T @ (scaled.T @ (labels - scaled @ solution))))
    return solution / sizes


def _leading(matrix: np.ndarray, width: int) -> np.ndarray:
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.sqrt(np.maximum(values[::-1][:width, None], 0.0)) * vectors[:, ::-1][:, :width].T
