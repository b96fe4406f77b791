"""Places on the kinks of a network, and beside them, where answers switch: two kinks close together show there."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Points
from unweave.identification.corners import beside_kinks
from unweave.identification.crossings.search import CrossingSearch, Lines, RoundedAnswers
from unweave.networks.network import Layer, Network


@dataclass(frozen=True, kw_only=True)
class KinkLines:
    """Settings of lines along kinks.

    Args:
        distances: from every kink at which a network is judged; on both sides, and on the kink.
        draws: times as many places on a kink that are drawn, since the function may be flat along it at some.
        fewest: lines on a kink, or as near as the nearest distance, that must be there: one may lie where two kinks
            cross that were taken for one.
    """

    distances: tuple[float, ...] = (1e-9, 1e-7, 1e-5, 1e-3)
    draws: int = 4
    fewest: int = 2

    @property
    def per_kink(self) -> int:
        """How many lines are laid along a kink, at most."""
        return 2 * len(self.distances) + 1

    def __call__(
        self, network: Network, answers: RoundedAnswers, search: CrossingSearch, rng: np.random.Generator
    ) -> Lines:
        """Lay lines along every kink of a network of one hidden layer."""
        hidden, output = network.layers
        numbers, beside = np.arange(1, len(self.distances) + 1), np.array(self.distances)
        numbers, distances = np.concatenate([[0], numbers, numbers]), np.concatenate([[0.0], beside, -beside])
        places = np.concatenate([numbers + draw * (len(beside) + 1) for draw in range(self.draws)])
        lines = search.lines(network, answers, np.empty((0, hidden.inputs)))
        for neuron in range(hidden.neurons) if hidden.activation.kinks else ():
            alone = replace(hidden, weights=hidden.weights[[neuron]], biases=hidden.biases[[neuron]])
            points, normals = beside_kinks(
                Network((alone, replace(output, weights=output.weights[:, [neuron]]))),
                places,
                np.tile(distances, self.draws),
                sample=lambda count: answers.oracle.sample(rng, count),
                is_box=answers.is_box,
            )
            drawn = search.lines(network, answers, points, within=normals)
            # Those on the kink first, and no more in all than one draw has.
            is_beside = np.min(_distances(alone, drawn.origins), axis=(1, 2)) > self._nearest
            order = np.argsort(is_beside, kind="stable")
            lines = lines.with_others(drawn.chosen(order[: len(hidden.activation.kinks) * self.per_kink]))
        return lines

    def are_seen(self, network: Network, places: Points) -> bool:
        """Whether enough places lie on every kink of a network; always so if it has none."""
        counts = np.count_nonzero(_distances(network.layers[0], places) <= self._nearest, axis=0)
        return bool(np.all(counts >= self.fewest))

    @property
    def _nearest(self) -> float:
        """Distance from a kink up to which a place is on it, with some room for rounding."""
        return 2.0 * self.distances[0]


def _distances(hidden: Layer, places: Points) -> Float64[np.ndarray, "points neurons kinks"]:
    """How far places are from the kinks of a layer."""
    lengths = np.maximum(np.linalg.norm(hidden.weights, axis=1), np.finfo(float).tiny)
    arguments = hidden.preactivations(places)[:, :, None] - np.array(hidden.activation.kinks)
    return np.abs(arguments) / lengths[:, None]
