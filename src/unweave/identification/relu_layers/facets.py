"""The first of two layers of kinks read on roomy facets: once both are known roughly, its neurons are read exactly.

Across the hyperplane of a first-layer neuron, where no other kink is near, the gradient changes by a multiple of its
weights, whatever the layers above do. With both layers known, steps can be as long as the cells on both sides allow, so
that gradients are exact to rounding; where the two affine pieces meet is the hyperplane. Weights of a first layer are
linearly independent here, so that one argument alone can change its sign: one cell is a side of many facets, and a
neuron costs little more than one gradient.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.arrays import PerPoint, Points, Values, Vector, root_mean_square
from unweave.identification.probing import Probe
from unweave.identification.walks.cells import measure_gradients, safe_steps
from unweave.identification.walks.hyperplanes import Hyperplanes
from unweave.identification.walks.kinked_terms import KinkedTerms
from unweave.networks.network import Network


@dataclass(frozen=True, kw_only=True)
class Facets:
    """Settings of the reading.

    Args:
        cells: that are tried, at random arguments of the first layer; chosen.
        arguments: smallest and largest typical argument there, in units of the domain; chosen: around those that it
            takes at random inputs and near the place where all its hyperplanes meet, where cells are simple.
        shared: a cell serves a neuron if its facet there is at least this share as roomy as the best one; chosen: half
            a digit more error saves nearly half of the gradients.
        share_of_room: how far to the nearest kink an axis is followed: half of the way leaves room for the errors of
            the layers.
        longest_step: in half-widths of the domain.
    """

    cells: int = 400
    arguments: tuple[float, float] = (0.02, 2.0)
    shared: float = 0.3
    share_of_room: float = 0.5
    longest_step: float = 50.0

    def __call__(self, probe: Probe, network: Network, terms: KinkedTerms, rng: np.random.Generator) -> KinkedTerms:
        """Read the hyperplanes of a first layer again, on the roomiest facets; those that are worse stay as they are.

        Args:
            probe: what is asked.
            network: both layers, roughly; the weights of the first are linearly independent.
            terms: the hyperplanes of the first, in the same order.
            rng: for the cells.
        """
        cells = self._chosen(_Cells.drawn(network, self.cells, self.arguments, rng))
        for arguments, neurons in cells:
            read = self._read(probe, network, arguments, neurons)
            for row in range(len(neurons)):
                with_it = terms.extended(read.chosen([row]))
                # A reading that is not of the same hyperplane has met another kink.
                terms = with_it if len(with_it.offsets) == len(terms.offsets) else terms
        return terms

    def _chosen(self, cells: "_Cells") -> list[tuple[Vector, list[int]]]:
        """Few cells, and the neurons that are read at the facets of each: those without a facet are left out."""
        needed = self.shared * np.max(cells.room, axis=0)
        is_good = (cells.room >= needed) & (needed > 0.0)
        chosen: list[tuple[Vector, list[int]]] = []
        while np.any(is_good):
            best = int(np.argmax(np.count_nonzero(is_good, axis=1)))
            neurons = np.flatnonzero(is_good[best])
            chosen.append((cells.arguments[best], [int(neuron) for neuron in neurons]))
            is_good[:, neurons] = False
        return chosen

    def _read(self, probe: Probe, network: Network, arguments: Vector, neurons: list[int]) -> Hyperplanes:
        """Read the neurons whose facets a cell has, from gradients there and behind each of them."""
        first = network.layers[0]
        behind = np.tile(arguments, (len(neurons) + 1, 1))
        behind[np.arange(1, len(behind)), neurons] *= -1.0
        points = (behind - first.biases) @ np.linalg.pinv(first.weights).T
        steps = np.array([self._steps(network, point) for point in points])

        def errors_at(_: Points, values: Values) -> PerPoint:
            return probe.scale.noise + probe.rounding * (1.0 + np.max(np.abs(values), axis=1))

        values, gradients, errors = measure_gradients(probe.oracle.query, points, steps, errors_at)
        doubts = np.array(
            [2.0 * root_mean_square(error[:-1] / step) for error, step in zip(errors, steps, strict=True)]
        )
        left, sizes, right = np.linalg.svd(gradients[1:] - gradients[0], full_matrices=False)
        changes = np.maximum(sizes[:, 0], np.finfo(float).tiny)
        forward = np.sign(np.sum(right[:, 0] * first.weights[neurons], axis=1))[:, None]
        normals, pulls = forward * right[:, 0], forward * left[:, :, 0]
        middles = 0.5 * (points[1:] + points[0])
        apart = (
            values[1:]
            - values[0]
            + np.einsum("noi,ni->no", gradients[1:], middles - points[1:])
            - np.einsum("oi,ni->no", gradients[0], middles - points[0])
        )
        distances = np.sum(apart * pulls, axis=1) / changes
        return Hyperplanes(
            normals=normals,
            offsets=distances - np.sum(normals * middles, axis=1),
            jumps=changes[:, None] * pulls,
            errors=np.hypot(doubts[1:], doubts[0]) * np.sqrt(first.inputs) / changes,
            unresolved=0,
            kinks=tuple(neurons),
        )

    def _steps(self, network: Network, point: Vector) -> Vector:
        first, second = network.layers[:2]
        below = first.preactivations(point[None])[0]
        above = second.preactivations(first.activation(below)[None])[0]
        slopes = (second.weights * first.activation(below, 1)) @ first.weights
        return safe_steps(
            np.concatenate([below, above]),
            np.concatenate([first.weights, slopes]),
            share=self.share_of_room,
            longest=self.longest_step,
        )


@dataclass(frozen=True)
class _Cells:
    """Cells of a network, by arguments of its first layer.

    Args:
        arguments: one point in every cell.
        room: how exactly a neuron can be read between it and the cell in which its argument alone is the opposite: the
            distance of the nearest kink times the change of the gradient. Zero if a neuron above switches between them.
    """

    arguments: Float64[np.ndarray, "cells neurons"]
    room: Float64[np.ndarray, "cells neurons"]

    @staticmethod
    def drawn(network: Network, count: int, sizes: tuple[float, float], rng: np.random.Generator) -> "_Cells":
        """Draw arguments of different size and any sign."""
        first = network.layers[0]
        smallest, largest = np.log(sizes)
        size = np.exp(rng.uniform(smallest, largest, (count, 1)))
        arguments = (
            size * rng.uniform(0.5, 1.5, (count, first.neurons)) * rng.choice([-1.0, 1.0], (count, first.neurons))
        )
        products, inverse = first.weights @ first.weights.T, np.linalg.pinv(first.weights)
        room = np.array([_room(network, products, each) for each in arguments])
        reach = 1.0 + np.linalg.norm((arguments - first.biases) @ inverse.T, axis=1)
        return _Cells(arguments, room / reach[:, None])


def _room(network: Network, products: Float64[np.ndarray, "neurons neurons"], arguments: Vector) -> Vector:
    """The room at every facet between a cell and those behind it.

    Args:
        network: two layers.
        products: of the weights of the first with each other.
        arguments: of the first layer.
    """
    first, second, output = network.layers
    bend = first.activation
    changes, bends = bend(-arguments) - bend(arguments), bend(-arguments, 1) - bend(arguments, 1)
    above = second.preactivations(bend(arguments)[None])[0]
    behind = above[:, None] + second.weights * changes
    slopes = second.weights * bend(arguments, 1)
    across = slopes @ products
    lengths = np.sum(across * slopes, axis=1)
    moved = 2.0 * second.weights * across * bends + (second.weights * bends) ** 2 * np.diag(products)
    lengths_behind = np.maximum(lengths[:, None] + moved, 0.0)
    tiny = np.finfo(float).tiny
    below = float(np.min(np.abs(arguments) / np.sqrt(np.diag(products))))
    here = float(np.min(np.abs(above) / np.sqrt(np.maximum(lengths, tiny)), initial=np.inf))
    there = np.min(np.abs(behind) / np.sqrt(np.maximum(lengths_behind, tiny)), axis=0, initial=np.inf)
    is_same = np.all(behind * above[:, None] > 0.0, axis=0)
    pulls = output.weights @ (second.activation(above, 1)[:, None] * second.weights) * bends
    return np.where(is_same, np.minimum(min(below, here), there), 0.0) * np.linalg.norm(pulls, axis=0)
