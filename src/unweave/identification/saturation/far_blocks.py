"""Closed form for networks that saturate: every neuron alone in its slab, far from the centre.

Far out the slabs of two neurons hardly meet: nearly all places on the hyperplane of one neuron are in the tails of all
others. What answers differ by there, within a slab, is that neuron alone. So after a walk, which knows all neurons to
three digits and more, points are placed in slabs, and each neuron is solved for from its own answers: a small system
of least squares each, instead of one for all. Far points tell directions to rounding, and lengths, biases and output
weights to fewer digits: these are solved for afterwards, all together, from a few points near the centre.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64, Int64
from threadpoolctl import threadpool_limits

from unweave.arrays import Atoms, PerNeuron
from unweave.exceptions import StageFailed
from unweave.networks.network import Layer, Network
from unweave.oracles.views import StandardOracle


@dataclass(frozen=True, kw_only=True)
class FarBlocks:
    """Settings of the points in slabs.

    Args:
        separation: argument that all other neurons have at least: there tanh differs from its limit by 8e-11.
        tail: argument beyond which a neuron is constant to rounding: ``4 exp(-2 * 20) = 2e-17``.
        profile: arguments at one place of every neuron, which tell its length and its output weights.
        pair: arguments at the other places, which tell its direction.
        more_places: beyond one per input; the surplus tells whether a neuron was overlooked.
        crowding: expected number of other slabs at a place: a half of all places is free then.
        jitter: how far places are drawn around axes at right angles, relative to these.
        growth: of the distance if places are still missing after two more draws.
        rounds: of draws, at most.
        at_once: numbers in one batch: 32 MB.
    """

    separation: float = 12.0
    tail: float = 20.0
    profile: tuple[float, ...] = (-1.6, -0.9, -0.3, 0.4, 1.0, 1.7)
    pair: tuple[float, float] = (-0.2, 1.5)
    more_places: int = 6
    crowding: float = 0.7
    jitter: float = 0.5
    growth: float = 1.3
    rounds: int = 60
    at_once: int = 4_000_000

    def __call__(self, oracle: StandardOracle, network: Network, rng: np.random.Generator) -> "Blocks":
        """Ask in the slabs of all neurons of a network that is known roughly.

        Raises:
            StageFailed: if a neuron has no places that others leave free.
        """
        hidden = network.layers[0]
        places = self._places(hidden, rng)
        profile, pair = np.array(self.profile), np.array(self.pair)
        points = np.empty((hidden.neurons, len(profile) + 2 * (places.shape[1] - 1), hidden.inputs))
        lengths = np.linalg.norm(hidden.weights, axis=1)
        steps = hidden.weights / lengths[:, None] ** 2
        points[:, : len(profile)] = places[:, :1] + profile[:, None] * steps[:, None]
        points[:, len(profile) :] = (places[:, 1:, None] + pair[:, None] * steps[:, None, None]).reshape(
            hidden.neurons, -1, hidden.inputs
        )
        values = np.concatenate([oracle.query(some.reshape(-1, hidden.inputs)) for some in self._batches(points)])
        return Blocks(points, values.reshape(*points.shape[:2], -1), self._tails(hidden, points), len(profile))

    def _batches(self, points: np.ndarray) -> Iterator[np.ndarray]:
        per_neuron = points[0].size
        count = max(1, self.at_once // per_neuron)
        return (points[i : i + count] for i in range(0, len(points), count))

    def _places(self, hidden: Layer, rng: np.random.Generator) -> Float64[np.ndarray, "neurons places inputs"]:
        """Points on every hyperplane where all other neurons are in their tails."""
        neurons, inputs = hidden.weights.shape
        lengths = np.linalg.norm(hidden.weights, axis=1)
        normals = hidden.weights / lengths[:, None]
        distances = hidden.biases / lengths
        # A place is this far from the slabs of others, also when it is moved along the profile.
        clear, moved = self.separation / lengths, max(map(abs, self.profile)) / lengths
        # Of a random point on a sphere of radius R a share ``0.8 c sqrt(inputs) / R`` is nearer than c to a hyperplane.
        radius = 0.8 * np.sqrt(inputs) * float(np.sum(clear)) / self.crowding
        places = np.empty((neurons, inputs + self.more_places, inputs))
        # Axes at right angles tell all components of a direction alike, also when they are projected to a hyperplane.
        axes = rng.standard_normal((places.shape[1], inputs))
        axes[-inputs:] = np.linalg.qr(axes[-inputs:])[0]
        axes /= np.linalg.norm(axes, axis=1, keepdims=True)
        open_neurons, open_places = np.nonzero(np.ones(places.shape[:2], dtype=bool))
        # Single precision tells distances of many units.
        coarse, coarse_distances, coarse_clear = (each.astype(np.float32) for each in (normals, distances, clear))
        for number in range(1, self.rounds + 1):
            if number % 3 == 0:
                radius *= self.growth
            is_free = np.empty(len(open_neurons), dtype=bool)
            count = max(1, self.at_once // neurons)
            for i in range(0, len(open_neurons), count):
                k = open_neurons[i : i + count]
                points = self.jitter / np.sqrt(inputs) * rng.standard_normal((len(k), inputs))
                points += axes[open_places[i : i + count]]
                points -= np.einsum("pi,pi->p", points, normals[k])[:, None] * normals[k]
                points *= (radius * rng.uniform(0.7, 1.0, len(k)) / np.linalg.norm(points, axis=1))[:, None]
                points -= distances[k][:, None] * normals[k]
                room = np.abs(points.astype(np.float32) @ coarse.T + coarse_distances) - coarse_clear
                room[np.arange(len(k)), k] = np.inf
                is_free[i : i + count] = np.min(room, axis=1) > moved[k]
                places[k, open_places[i : i + count]] = points
            open_neurons, open_places = open_neurons[~is_free], open_places[~is_free]
            if len(open_neurons) == 0:
                return places
        missing = len(set(open_neurons.tolist()))
        raise StageFailed(
            f"{missing} of {neurons} neurons are never alone: wherever one of them changes, others are not saturated."
        )

    def _tails(self, hidden: Layer, points: np.ndarray) -> Int64[np.ndarray, "tails 2"]:
        """Neurons and others whose tails are not constant to rounding somewhere in their blocks."""
        found = []
        for neuron, block in enumerate(points):
            is_near = np.min(np.abs(hidden.preactivations(block)), axis=0) < self.tail
            is_near[neuron] = False
            others = np.flatnonzero(is_near)
            found.append(np.column_stack([np.full(len(others), neuron), others]))
        return np.concatenate(found)


@dataclass(frozen=True)
class Blocks:
    """Answers in the slabs of all neurons.

    Args:
        points: of every neuron: a profile at one place, and pairs at others.
        values: the answers.
        tails: pairs of a neuron and another one that is not constant to rounding in its block.
        profile: how many points the profile has.
    """

    points: Float64[np.ndarray, "neurons rows inputs"]
    values: Float64[np.ndarray, "neurons rows outputs"]
    tails: Int64[np.ndarray, "tails 2"]
    profile: int

    def differences(self, table: np.ndarray) -> np.ndarray:
        """Differences within every place, along the second axis: what is constant there drops out."""
        first, rest = table[:, : self.profile], table[:, self.profile :]
        return np.concatenate([first[:, 1:] - first[:, :1], rest[:, 1::2] - rest[:, ::2]], axis=1)

    def sums(self, table: Float64[np.ndarray, "neurons rows"]) -> Float64[np.ndarray, "neurons differences"]:
        """Sums of bounds at both points of every difference."""
        first, rest = table[:, : self.profile], table[:, self.profile :]
        return np.concatenate([first[:, 1:] + first[:, :1], rest[:, 1::2] + rest[:, ::2]], axis=1)

    @property
    def radii(self) -> PerNeuron:
        """How far the points of every neuron are from the centre, at most."""
        return np.sqrt(np.max(np.einsum("kri,kri->kr", self.points, self.points), axis=1))

    def settled(self, network: Network, *, sweeps: int = 6, contraction: float = 0.5) -> Network:
        """Solve for all neurons, each from its own block, until nothing is left but rounding.

        Args:
            network: roughly right.
            sweeps: at most.
            contraction: of what is left, above which it is rounding.
        """
        left = np.inf
        for _ in range(sweeps):
            residuals = self.residuals(network)
            size = float(np.sqrt(np.mean(residuals**2)))
            if not size < contraction * left:
                break
            left, network = size, self._take_step(network, residuals)
        return network

    def residuals(self, network: Network) -> Float64[np.ndarray, "neurons differences outputs"]:
        """What a network leaves of the differences within places."""
        hidden, output = network.layers
        pulls = output.weights.T
        own = hidden.activation(self.arguments(hidden))
        left = self.differences(self.values) - self.differences(own)[:, :, None] * pulls[:, None]
        for neuron, others in self.others():
            values = hidden.activation(self.points[neuron] @ hidden.weights[others].T + hidden.biases[others])
            left[neuron] -= self.differences(values[None])[0] @ pulls[others]
        return left

    def misfit(self, network: Network, errors: Float64[np.ndarray, "neurons rows"]) -> float:
        """What is left of the differences, in units of the largest errors of answers: root mean square."""
        allowed = np.sqrt(network.outputs) * self.sums(errors)
        return float(np.sqrt(np.mean((np.linalg.norm(self.residuals(network), axis=2) / allowed) ** 2)))

    def others(self) -> Iterator[tuple[int, np.ndarray]]:
        """Neurons, each with those whose tails reach into its block."""
        borders = np.flatnonzero(np.diff(self.tails[:, 0], prepend=-1))
        for group in np.split(self.tails, borders[1:]) if len(self.tails) else []:
            yield int(group[0, 0]), group[:, 1]

    def arguments(self, hidden: Layer) -> Float64[np.ndarray, "neurons rows"]:
        """Arguments of every neuron in its own block."""
        return np.einsum("kri,ki->kr", self.points, hidden.weights) + hidden.biases[:, None]

    def columns(self, hidden: Layer) -> Float64[np.ndarray, "neurons differences unknowns"]:
        """Derivatives of the differences, per output weight, by what a neuron is made of.

        That is its length, relatively; its direction, in units of the argument at the farthest point; its bias; and
        its output weight, relatively.
        """
        arguments = self.arguments(hidden)
        values, slopes = hidden.activation(arguments), hidden.activation(arguments, 1)
        mirrored = _mirrored(self.points, _mirrors(hidden)[:, None])[:, :, 1:] / self.radii[:, None, None]
        ones = np.ones((*arguments.shape, 1))
        along = (arguments - hidden.biases[:, None])[:, :, None]
        inner = slopes[:, :, None] * np.concatenate([along, mirrored, ones], axis=2)
        return self.differences(np.concatenate([inner, values[:, :, None]], axis=2))

    def steps(self, network: Network, columns: np.ndarray, residuals: np.ndarray) -> np.ndarray:
        """Solve for the change of every neuron, in the units of the columns, from what is left along its outputs."""
        pulls = network.layers[1].weights.T
        shares = np.einsum("kro,ko->kr", residuals, pulls) / np.sum(pulls**2, axis=1)[:, None]
        with threadpool_limits(1):
            orthogonal, triangle = np.linalg.qr(columns)
            return np.linalg.solve(triangle, np.einsum("krp,kr->kp", orthogonal, shares)[:, :, None])[:, :, 0]

    def _take_step(self, network: Network, residuals: np.ndarray) -> Network:
        """One step of Gauss and Newton in every block."""
        hidden, output = network.layers
        pulls = output.weights.T
        units = pulls / np.linalg.norm(pulls, axis=1)[:, None]
        columns, along = self.columns(hidden), np.einsum("kro,ko->kr", residuals, units)
        steps = self.steps(network, columns, residuals)
        sideways = np.concatenate([np.zeros((hidden.neurons, 1)), steps[:, 1:-2]], axis=1)
        turned = _mirrored(sideways[:, None], _mirrors(hidden)[:, None])[:, 0] / self.radii[:, None]
        across = residuals - along[:, :, None] * units[:, None]
        values = columns[:, :, -1]
        pulls = pulls * (1.0 + steps[:, -1:])
        pulls = pulls + np.einsum("kro,kr->ko", across, values) / np.einsum("kr,kr->k", values, values)[:, None]
        moved = replace(
            hidden,
            weights=hidden.weights * (1.0 + steps[:, :1]) + turned,
            biases=hidden.biases + steps[:, -2],
        )
        return replace(network, layers=(moved, replace(output, weights=pulls.T)))


def _mirrors(hidden: Layer) -> Atoms:
    """Normals of mirrors that take the direction of every neuron to the first axis."""
    normals = hidden.weights / np.linalg.norm(hidden.weights, axis=1, keepdims=True)
    normals[:, 0] += np.where(normals[:, 0] < 0.0, -1.0, 1.0)
    return normals / np.linalg.norm(normals, axis=1, keepdims=True)


def _mirrored(points: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Points on the other side of mirrors."""
    return points - 2.0 * np.sum(points * normals, axis=-1, keepdims=True) * normals
