"""Starts for a relu network by local search, which asks nothing of the inputs.

Neurons are added one by one where they explain most of what is left, all are fitted together after each, and those that
the rest can do without are taken away again. Greedy growth alone ends with too many neurons, of which some stand in for
one that was not found yet; without them the next round finds it.
"""

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from unweave.arrays import Points, Values
from unweave.learn.relu_network.finish import with_affine_part
from unweave.learn.relu_network.missing_neurons import NextNeuron
from unweave.learn.relu_network.units import with_neurons
from unweave.networks.network import Network
from unweave.numerics.network_fit import LevenbergMarquardt


@dataclass(frozen=True, eq=False)
class _Grown:
    """A network, and the sum of the squares that it leaves."""

    network: Network
    squares: float

    @property
    def neurons(self) -> int:
        return self.network.widths[0]


@dataclass(frozen=True, kw_only=True)
class Growth:
    """Settings of the search. Heuristic: numbers were chosen on planted networks of 5 to 20 inputs.

    Args:
        next_neuron: where a neuron is added.
        joint: fit of all neurons after one was added or taken away.
        last: the same once their number is settled.
        per_input: neurons for every input at most, and never fewer than `least`.
        least: see `per_input`.
        rounds: of growing and thinning.
        idle_rounds: in a row without gain after which the search goes on.
        least_gain: in units of the price of a neuron, below which a round counts as idle.
        dropped: share of the neurons that are dropped at random between rounds, to leave where a fit is stuck.
        misses: neurons in a row that are added although they do not pay: two may do what neither does alone.
        cheapest: neurons whose removal is tried, going by what is left without them before others make up for it.
        rows: that are used, the first ones; and for every number of the largest network at least `rows_per_number`.
        rows_per_number: see `rows`.
        exact: share of the labels that is left where they are exact and all neurons are found.
    """

    next_neuron: NextNeuron = field(default_factory=partial(NextNeuron, most_rows=3_000))
    joint: LevenbergMarquardt = field(default_factory=partial(LevenbergMarquardt, steps=8, orthogonal_limit=0))
    last: LevenbergMarquardt = field(default_factory=partial(LevenbergMarquardt, steps=25, orthogonal_limit=0))
    per_input: int = 3
    least: int = 8
    rounds: int = 6
    idle_rounds: int = 0
    least_gain: float = 0.5
    dropped: float = 1 / 3
    misses: int = 1
    cheapest: int = 3
    rows: int = 10_000
    rows_per_number: int = 3
    exact: float = 1e-7

    def __call__(self, affine: Network, points: Points, values: Values, rng: np.random.Generator) -> Network:
        """Grow a network from an affine one.

        Args:
            affine: fitted to the samples, without neurons.
            points: inputs, of about standard coordinates.
            values: their labels.
            rng: for the places of neurons.

        Returns:
            A network with an affine part, so that signs are still open.
        """
        points, values = points[: self.rows], values[: self.rows]
        search = _Search(self, points, values, rng)
        current = best = search.measured(with_affine_part(affine))
        idle = 0
        for _ in range(self.rounds):
            grown = search.fitted(search.grown(current).network, self.last)
            current = search.fitted(search.thinned(grown).network, self.last)
            gain = search.price(best) - search.price(current)
            idle = 0 if gain > self.least_gain * search.price_of_neuron else idle + 1
            best = current = current if gain > 0.0 else best
            if search.is_exact(best) or not best.neurons or idle > self.idle_rounds:
                break
            if idle or best.neurons == grown.neurons:
                current = search.without_some(best)
        return best.network


@dataclass(frozen=True, eq=False)
class _Search:
    rules: Growth
    points: Points
    values: Values
    rng: np.random.Generator

    @property
    def _most(self) -> int:
        """Neurons that the rows allow."""
        rows, inputs = self.points.shape
        by_rows = rows // (self.rules.rows_per_number * (inputs + 1)) - 1
        return min(by_rows, max(self.rules.least, self.rules.per_input * inputs))

    def measured(self, network: Network) -> _Grown:
        return _Grown(network, float(np.sum((self.values - network(self.points)) ** 2)))

    def fitted(self, network: Network, fit: LevenbergMarquardt) -> _Grown:
        return self.measured(
            fit(network, self.points, self.values, floor=0.0).network if network.widths[0] else network
        )

    def is_exact(self, grown: _Grown) -> bool:
        return grown.squares <= self.rules.exact**2 * float(np.sum(self.values**2))

    def price(self, grown: _Grown) -> float:
        """The information criterion of Schwarz."""
        # Exact labels leave rounding, of which less is no gain.
        least = max(self.rules.exact**2 * float(np.sum(self.values**2)), np.finfo(float).tiny)
        return len(self.points) * float(np.log(max(grown.squares, least))) + grown.neurons * self.price_of_neuron

    @property
    def price_of_neuron(self) -> float:
        """What a neuron has to gain."""
        rows, inputs = self.points.shape
        return (inputs + 1) * float(np.log(rows))

    def grown(self, current: _Grown) -> _Grown:
        """Add neurons as long as they pay."""
        best, missed = current, 0
        while current.neurons < self._most and missed <= self.rules.misses and not self.is_exact(best):
            more = self.rules.next_neuron(current.network, self.points, self.values, self.rng)
            current = self.fitted(more, self.rules.joint)
            if self.price(current) < self.price(best):
                best, missed = current, 0
            else:
                missed += 1
        return best

    def without_some(self, current: _Grown) -> _Grown:
        """Drop some neurons at random."""
        kept = max(1, int((1.0 - self.rules.dropped) * current.neurons))
        chosen = np.zeros(current.neurons, dtype=bool)
        chosen[self.rng.permutation(current.neurons)[:kept]] = True
        return self.fitted(with_neurons(current.network, chosen), self.rules.joint)

    def thinned(self, current: _Grown) -> _Grown:
        """Take neurons away as long as that pays."""
        while current.neurons:
            others = [
                self.measured(with_neurons(current.network, kept)) for kept in ~np.eye(current.neurons, dtype=bool)
            ]
            for other in sorted(others, key=lambda each: each.squares)[: self.rules.cheapest]:
                fewer = self.fitted(other.network, self.rules.joint)
                if self.price(fewer) < self.price(current):
                    current = fewer
                    break
            else:
                break
        return current
