"""Neurons that bend at few samples only: found in the residuals of a relu network that meets all others exactly.

Moments hide neurons with large biases: they are an affine part and nothing else at most samples. Where exact labels are
met but for a few points, these are the points beyond the kinks of such neurons, and the residual there is linear:
``a (<w, x> + b)`` for one of them. So ``inputs + 1`` points of one neuron give it, and all its other points agree.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Points, Values, root_mean_square
from unweave.learn.relu_network.next_neuron import with_neuron
from unweave.networks.network import Network

# Residuals above this share of the answers belong to missing neurons; agreement is ten times as strict.
OUTLIER = 1e-8
# Points beyond those that determine a neuron which have to agree with it: by accident none does.
CONFIRMING = 5
# Random choices of points that are solved in one go.
BATCH = 256


@dataclass(frozen=True)
class RareNeurons:
    """Settings of the search for neurons that bend at few samples.

    Args:
        trials: random choices of points for every neuron. One of them has to lie within one neuron: with a share s of
            the points of one sign, ``s^-(inputs + 1)`` choices are needed on average.
        most: neurons that are added at most.
    """

    trials: int = 4_096
    most: int = 16

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
                chosen = np.flatnonzero(sign * residuals > OUTLIER * size)
                plane = self._plane(lifted[chosen], residuals[chosen], OUTLIER / 10 * size, rng)
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
        if count < unknowns + CONFIRMING:
            return None
        best = np.zeros(count, dtype=bool)
        for _ in range(0, self.trials, BATCH):
            # Sorting random numbers chooses without repetition.
            choices = np.argpartition(rng.random((BATCH, count)), unknowns - 1, axis=1)[:, :unknowns]
            sound = np.abs(np.linalg.det(lifted[choices])) > np.finfo(float).eps
            choices = choices[sound]
            planes = np.linalg.solve(lifted[choices], residuals[choices][:, :, None])[:, :, 0]
            agrees = np.abs(planes @ lifted.T - residuals) < tolerance
            winner = int(np.argmax(agrees.sum(axis=1))) if len(planes) else -1
            best = agrees[winner] if winner >= 0 and agrees[winner].sum() > best.sum() else best
            if best.sum() >= max(unknowns + CONFIRMING, count // 2):
                break
        if best.sum() < unknowns + CONFIRMING:
            return None
        return np.linalg.lstsq(lifted[best], residuals[best], rcond=None)[0]


def _with_plane(network: Network, plane: Float64[np.ndarray, "lifted"], sign: float) -> Network:
    """Add the neuron whose values on its active side are those of the plane, all of this sign."""
    height = sign * float(np.linalg.norm(plane[:-1]))
    return with_neuron(network, plane / height, height)
