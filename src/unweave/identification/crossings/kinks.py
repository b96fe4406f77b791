"""Places on the kinks of a network, and beside them, where answers switch: two kinks close together show there."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float64

from unweave.arrays import Points
from unweave.identification.corners import beside_kinks
from unweave.identification.crossings.search import CrossingSearch, Lines, RoundedAnswers
from unweave.networks.network import Layer, Network


@dataclass(frozen=True, kw_only=True)
class KinkLines:
    """Settings of lines along kinks.

    Args:
        distances: from every kink at which a network is judged; on both sides, and on the kink. What differs up to a
            distance between two of them is seen at the smaller one, ten times smaller at most, which the radius allows
            for (`Examination.unlucky`).
        draws: times as many places on a kink that are drawn, since the function may be flat along it at some.
        needed: distance up to which all of them must be there: two kinks that were taken for one differ from it in
            between, on both sides, or on one side only if their output weights have different signs.
    """

    distances: tuple[float, ...] = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
    draws: int = 8
    needed: float = 1e-4

    @property
    def per_kink(self) -> int:
        """How many lines are laid along a kink, at most."""
        return 2 * len(self.distances) + 1

    def __call__(
        self, network: Network, answers: RoundedAnswers, search: CrossingSearch, rng: np.random.Generator
    ) -> Lines:
        """Lay lines along every kink of a network of one hidden layer."""
        hidden, output = network.layers
        numbers = np.arange(1, len(self.distances) + 1)
        numbers = np.concatenate([[0], numbers, numbers])
        places = np.concatenate([numbers + draw * (len(self.distances) + 1) for draw in range(self.draws)])
        lines = search.lines(network, answers, np.empty((0, hidden.inputs)))
        for neuron in range(hidden.neurons) if hidden.activation.kinks else ():
            alone = replace(hidden, weights=hidden.weights[[neuron]], biases=hidden.biases[[neuron]])
            points, normals = beside_kinks(
                Network((alone, replace(output, weights=output.weights[:, [neuron]]))),
                places,
                np.tile(self._signed, self.draws),
                sample=lambda count: answers.oracle.sample(rng, count),
                is_box=answers.is_box,
            )
            drawn = search.lines(network, answers, points, within=normals)
            # One per kink and distance: the first of the draws.
            found = self._at_distances(alone, drawn.origins)
            is_first = np.any(found & (np.cumsum(found, axis=0) == 1), axis=(1, 2, 3))
            lines = lines.with_others(drawn.chosen(is_first))
        return lines

    def are_seen(self, network: Network, places: Points) -> bool:
        """Whether places lie close beside every kink of a network, on both sides; always so if it has none."""
        found = np.any(self._at_distances(network.layers[0], places), axis=0)
        is_needed = (self._signed != 0.0) & (np.abs(self._signed) <= self.needed)
        return bool(np.all(found[..., is_needed]))

    @property
    def _signed(self) -> Float64[np.ndarray, "distances"]:
        beside = np.array(self.distances)
        return np.concatenate([[0.0], beside, -beside])

    def _at_distances(self, hidden: Layer, places: Points) -> Bool[np.ndarray, "points neurons kinks distances"]:
        """Whether places are at the distances from the kinks of a layer, up to rounding."""
        lengths = np.maximum(np.linalg.norm(hidden.weights, axis=1), np.finfo(float).tiny)
        arguments = hidden.preactivations(places)[:, :, None] - np.array(hidden.activation.kinks)
        room = 0.5 * np.where(self._signed == 0.0, self.distances[0], np.abs(self._signed))
        return np.abs((arguments / lengths[:, None])[..., None] - self._signed) < room
