"""Neurons that moments miss, found in what a relu network leaves of the labels.

`NextNeuron` takes of many random neurons the one that explains most: moments miss neurons that are weak, or that bend
at few samples, and noise hides which samples these are. The fit of all neurons makes it exact; this is its start.

`RareNeurons` finds neurons that bend at few samples only, where all other labels are met exactly: the points that are
not met are those beyond the kinks of such neurons, and the residual there is linear: ``a (<w, x> + b)`` for one of
them. So ``inputs + 1`` points of one neuron give it, and all its other points agree.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64

from unweave.arrays import PerPoint, Points, Values, root_mean_square
from unweave.networks.network import Network


@dataclass(frozen=True)
class NextNeuron:
    """Settings of the search.

    Args:
        most: neurons that are added to a network, one after the other; chosen, for the time.
        directions: random directions that are tried in every round, with all kinks.
        rounds: rounds; after the first they are drawn around the best direction, ever closer.
        most_rows: rows that are used, the first ones.
        kinks: distances of kinks from the centre of the samples, in standard deviations. They are so close that the
            best of them explains 90 % of the bend of any neuron in between, calculated for Gaussian inputs. Beyond,
            fewer than 50 of the rows tell of a neuron.
    """

    most: int = 3
    directions: int = 96
    rounds: int = 4
    most_rows: int = 8_000
    kinks: tuple[float, ...] = (-2.5, -2.0, -1.4, -0.7, 0.0, 0.7, 1.4, 2.0, 2.5)

    def __call__(self, network: Network, points: Points, values: Values, rng: np.random.Generator) -> Network:
        """The network with one neuron more, and an affine part.

        Args:
            network: shallow relu network with one output, fitted to the samples.
            points: of about standard coordinates.
            values: their labels.
            rng: for the directions.
        """
        points, values = points[: self.most_rows], values[: self.most_rows]
        inputs = points.shape[1]
        affine = np.linalg.qr(np.column_stack([points, np.ones(len(points))]))[0]
        left = (values - network(points))[:, 0]
        left -= affine @ (affine.T @ left)
        best, center, spread = (0.0, np.zeros(inputs + 1), 0.0), np.zeros(inputs), 1.0
        for _ in range(self.rounds):
            drawn = center + spread * rng.standard_normal((self.directions, inputs))
            drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
            best = max(
                best, *(_gain(points, left, affine, drawn, kink) for kink in self.kinks), key=lambda each: each[0]
            )
            center, spread = best[1][:-1], 0.5 * spread / np.sqrt(inputs) if spread == 1.0 else 0.5 * spread
        skip = np.zeros((1, inputs)) if network.skip is None else network.skip
        return with_neuron(replace(network, skip=skip), best[1], best[2])


def _gain(
    points: Points,
    left: PerPoint,
    affine: Float64[np.ndarray, "points lifted"],
    directions: Float64[np.ndarray, "directions inputs"],
    kink: float,
) -> tuple[float, Float64[np.ndarray, "lifted"], float]:
    """What the best of some neurons explains beside affine functions; its weights and bias; its output weight.

    The residuals have no affine part any more, so that it suffices to take the size of it off every neuron.
    """
    bent = np.maximum(points @ directions.T - kink, 0.0)
    sizes = np.sum(bent**2, axis=0) - np.sum((affine.T @ bent) ** 2, axis=0)
    sizes = np.where(sizes > 0.0, sizes, np.inf)
    products = left @ bent
    winner = int(np.argmax(products**2 / sizes))
    gain = float(products[winner] ** 2 / sizes[winner])
    return gain, np.append(directions[winner], -kink), float(products[winner] / sizes[winner])


def with_neuron(network: Network, plane: Float64[np.ndarray, "lifted"], height: float) -> Network:
    """A shallow network of one output with one neuron more, given its weights and bias and its output weight."""
    hidden, output = network.layers
    return Network.shallow(
        np.vstack([hidden.weights, plane[:-1]]),
        np.append(hidden.biases, plane[-1]),
        np.append(output.weights, [[height]], axis=1),
        output.biases,
        hidden.activation,
        network.skip,
    )


@dataclass(frozen=True)
class RareNeurons:
    """Settings of the search for neurons that bend at few samples.

    Args:
        trials: random choices of points for every neuron. One of them has to lie within one neuron: with a share s of
            the points of one sign, ``s^-(inputs + 1)`` choices are needed on average. These do for two neurons of equal
            shares up to eleven inputs.
        most: neurons that are added at most; chosen, to end the search.
        outlier: residuals above this share of the answers belong to missing neurons: a hundred times those of answers
            that are met exactly. Agreement is ten times as strict.
        confirming: points beyond those that determine a neuron which have to agree with it. By accident not even one
            does: agreement to 1e-9 of the answers has a chance of about 1e-9 for every point.
        batch: random choices of points that are solved in one go; chosen, for the time.
    """

    trials: int = 4_096
    most: int = 16
    outlier: float = 1e-8
    confirming: int = 5
    batch: int = 256

    def __call__(self, network: Network, points: Points, values: Values, rng: np.random.Generator) -> Network:
        """Add neurons as long as some are found that agree with more points than determine them.

        Args:
            network: shallow, relu, one output; exact at most of the points.
            points: the samples.
            values: their exact labels.
            rng: for the choices of points.

        Returns:
            The network with more neurons, unit weights and negative biases: on their rare side; the affine part of the
            network has what the other side needs. The network itself if none is found.

        Assumes: exact labels, and more than ``inputs + 6`` samples beyond the kink of a neuron.
        """
        size = float(np.sqrt(np.mean(values**2)))
        lifted = np.column_stack([points, np.ones(len(points))])
        for _ in range(self.most):
            residuals = (values - network(points))[:, 0]
            found = None
            for sign in (1.0, -1.0):
                chosen = np.flatnonzero(sign * residuals > self.outlier * size)
                plane = self._plane(lifted[chosen], residuals[chosen], self.outlier / 10 * size, rng)
                found = found if plane is None else _with_plane(network, plane, sign)
            if found is None or not root_mean_square(values - found(points)) < root_mean_square(
                values - network(points)
            ):
                return network
            network = found
        return network

    def _plane(
        self,
        lifted: Float64[np.ndarray, "outliers lifted"],
        residuals: Float64[np.ndarray, "outliers"],
        tolerance: float,
        rng: np.random.Generator,
    ) -> Float64[np.ndarray, "lifted"] | None:
        """Slope and constant that agree with most outliers, if they agree with more than determine them."""
        count, unknowns = lifted.shape
        if count < unknowns + self.confirming:
            return None
        best = np.zeros(count, dtype=bool)
        for _ in range(0, self.trials, self.batch):
            # Sorting random numbers chooses without repetition.
            choices = np.argpartition(rng.random((self.batch, count)), unknowns - 1, axis=1)[:, :unknowns]
            sound = np.abs(np.linalg.det(lifted[choices])) > np.finfo(float).eps
            choices = choices[sound]
            planes = np.linalg.solve(lifted[choices], residuals[choices][:, :, None])[:, :, 0]
            agrees = np.abs(planes @ lifted.T - residuals) < tolerance
            winner = int(np.argmax(agrees.sum(axis=1))) if len(planes) else -1
            best = agrees[winner] if winner >= 0 and agrees[winner].sum() > best.sum() else best
            if best.sum() >= max(unknowns + self.confirming, count // 2):
                break
        if best.sum() < unknowns + self.confirming:
            return None
        return np.linalg.lstsq(lifted[best], residuals[best], rcond=None)[0]


def _with_plane(network: Network, plane: Float64[np.ndarray, "lifted"], sign: float) -> Network:
    """Add the neuron whose values on its active side are those of the plane, all of this sign."""
    height = sign * float(np.linalg.norm(plane[:-1]))
    return with_neuron(network, plane / height, height)
