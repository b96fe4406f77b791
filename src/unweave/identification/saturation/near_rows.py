"""Lengths, biases and output weights of all neurons from a few points near the centre, with directions as they are.

Seven points around each neuron, one system for all: far points tell directions to rounding, but move the rounding of
large arguments into all that does not grow with the distance.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Float64

from unweave.arrays import Points, Values
from unweave.exceptions import StageFailed
from unweave.networks.network import Network
from unweave.oracles.views import StandardOracle


@dataclass(frozen=True, kw_only=True)
class NearRows:
    """Settings of the points near the centre that tell lengths, biases and output weights of all neurons together.

    Args:
        arguments: of every neuron at its own points.
        reach: arguments of other neurons there, about: far enough for them to differ from point to point, and so near
            that rounding of arguments stays at a few units of the last digit.
        shortest: length of weights, relative to the typical one, that still counts for the distance.
        nearest: shares of the reach at which points are.
        steps: of Gauss and Newton; two reach rounding from an error of 1e-8.
        largest: numbers in the table of derivatives: 800 MB.
    """

    arguments: tuple[float, ...] = (-1.8, -1.2, -0.6, 0.0, 0.6, 1.2, 1.8)
    reach: float = 8.0
    shortest: float = 0.1
    nearest: tuple[float, float] = (0.3, 1.0)
    steps: int = 3
    largest: int = 100_000_000

    def __call__(self, oracle: StandardOracle, network: Network, rng: np.random.Generator) -> "Near":
        """Ask near the centre where each neuron bends.

        Raises:
            StageFailed: if there are too many neurons for one system.
        """
        hidden = network.layers[0]
        (neurons, inputs), outputs = hidden.weights.shape, network.outputs
        rows = neurons * len(self.arguments) * outputs
        if rows * (neurons * (2 + outputs) + outputs) > self.largest:
            raise StageFailed(f"{neurons} neurons and {outputs} outputs are too many for one system.")
        lengths = np.linalg.norm(hidden.weights, axis=1)
        normals = hidden.weights / lengths[:, None]
        points = rng.standard_normal((neurons, len(self.arguments), inputs))
        points -= np.einsum("kri,ki->kr", points, normals)[:, :, None] * normals[:, None]
        reach = self.reach / np.maximum(lengths, self.shortest * np.median(lengths))
        sizes = reach[:, None] * rng.uniform(*self.nearest, points.shape[:2])
        points *= (sizes / np.maximum(np.linalg.norm(points, axis=2), np.finfo(float).tiny))[:, :, None]
        along = (np.array(self.arguments) - hidden.biases[:, None]) / lengths[:, None]
        points = (points + along[:, :, None] * normals[:, None]).reshape(-1, inputs)
        return Near(points, oracle.query(points))


@dataclass(frozen=True)
class Near:
    """Answers near the centre.

    Args:
        points: where it was asked.
        values: the answers.
    """

    points: Points
    values: Values

    def system(self, network: Network) -> Float64[np.ndarray, "rows unknowns"]:
        """Derivatives by relative lengths, biases, relative output weights and offsets, output by output."""
        hidden, output = network.layers
        arguments = hidden.preactivations(self.points)
        values, slopes = hidden.activation(arguments), hidden.activation(arguments, 1)
        neurons, outputs, count = hidden.neurons, network.outputs, len(self.points)
        sizes = np.linalg.norm(output.weights, axis=0)
        table = np.zeros((outputs, count, neurons * (2 + outputs) + outputs))
        for number, pulls in enumerate(output.weights):
            table[number, :, :neurons] = slopes * (arguments - hidden.biases) * pulls
            table[number, :, neurons : 2 * neurons] = slopes * pulls
            first = neurons * (2 + number)
            table[number, :, first : first + neurons] = values * sizes
            table[number, :, neurons * (2 + outputs) + number] = 1.0
        return table.reshape(outputs * count, -1)

    def residuals(self, network: Network) -> Float64[np.ndarray, "rows"]:
        """What a network leaves of the answers, output by output."""
        return (self.values - network(self.points)).T.ravel()

    def deviation(self, network: Network) -> float:
        """Standard deviation of the errors of answers, from what the spare ones leave."""
        residuals = self.residuals(network)
        unknowns = network.layers[0].neurons * (2 + network.outputs) + network.outputs
        return float(np.sqrt(np.sum(residuals**2) / (len(residuals) - unknowns)))

    def take_steps(self, network: Network, *, steps: int) -> tuple[Network, "NearSystem"]:
        """Take steps of Gauss and Newton with directions as they are, all with the first derivatives."""
        system = NearSystem.of(self.system(network))
        best, left = network, np.inf
        for _ in range(steps + 1):
            residuals = self.residuals(network)
            size = float(np.linalg.norm(residuals))
            if not size < left:
                break
            best, left = network, size
            network = _changed(network, system.solution(residuals))
        return best, system


@dataclass(frozen=True)
class NearSystem:
    """A system of least squares with columns of length one, and its normal equations.

    Args:
        columns: scaled.
        sizes: of the columns before.
        triangle: Cholesky factor of the normal equations.
    """

    columns: Float64[np.ndarray, "rows unknowns"]
    sizes: Float64[np.ndarray, "unknowns"]
    triangle: Float64[np.ndarray, "unknowns unknowns"]

    @classmethod
    def of(cls, columns: Float64[np.ndarray, "rows unknowns"]) -> "NearSystem":
        """Factorise the normal equations.

        Raises:
            StageFailed: if they are singular.
        """
        sizes = np.linalg.norm(columns, axis=0)
        if not np.all(sizes > 0.0):
            raise StageFailed("answers beside the kink of a neuron that was found far away do not depend on it.")
        columns /= sizes
        try:
            triangle = scipy.linalg.cholesky(columns.T @ columns, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError as failure:
            raise StageFailed("neurons near the centre are not told apart.") from failure
        return cls(columns, sizes, triangle)

    def solution(self, target: Float64[np.ndarray, "rows"]) -> Float64[np.ndarray, "unknowns"]:
        """Solve for the unknowns, with one step of refinement."""
        first = self._solve_normal_equations(target)
        return (first + self._solve_normal_equations(target - self.columns @ first)) / self.sizes

    def _solve_normal_equations(self, target: np.ndarray) -> np.ndarray:
        return scipy.linalg.cho_solve((self.triangle, False), self.columns.T @ target, check_finite=False)

    def inverse(self) -> Float64[np.ndarray, "unknowns rows"]:
        """The matrix that gives the unknowns."""
        found = scipy.linalg.cho_solve((self.triangle, False), self.columns.T, check_finite=False)
        found /= self.sizes[:, None]
        return found


def _changed(network: Network, step: Float64[np.ndarray, "unknowns"]) -> Network:
    """The network after a step of the near system."""
    hidden, output = network.layers
    neurons, outputs = hidden.neurons, network.outputs
    sizes = np.linalg.norm(output.weights, axis=0)
    pulls = step[2 * neurons : neurons * (2 + outputs)].reshape(outputs, neurons)
    return replace(
        network,
        layers=(
            replace(
                hidden,
                weights=hidden.weights * (1.0 + step[:neurons, None]),
                biases=hidden.biases + step[neurons : 2 * neurons],
            ),
            replace(output, weights=output.weights + sizes * pulls, biases=output.biases + step[-outputs:]),
        ),
    )
