"""The answers that a run has paid for, kept for every later stage."""

import numpy as np

from unweave.arrays import Points, Values
from unweave.networks import Network
from unweave.oracles.standard import StandardOracle

# Answers per parameter in the refinement. Answers on a few lines or near each other count less, so
# that many must be spread over the domain.
REFINEMENT_SURPLUS = 2.0
SPREAD_SURPLUS = 1.1
# Fresh answers per parameter in the certificate, with bounds.
FRESH_SHARE = 0.4
FEWEST_FRESH, MOST_FRESH = 16, 2_000


class Answers:
    """All answers in standard coordinates: those that may be fitted, and fresh ones that never are."""

    def __init__(self, oracle: StandardOracle, rng_fit: np.random.Generator, rng_fresh: np.random.Generator) -> None:
        self._oracle = oracle
        self._rng_fit, self._rng_fresh = rng_fit, rng_fresh
        self.points, self.values = np.empty((0, oracle.inputs)), np.empty((0, oracle.outputs))
        self._spread_out = 0
        self.fresh_points, self.fresh_values = self.points, self.values

    def keep(self, points: Points, values: Values, *, are_spread: bool) -> None:
        """Keep answers that another stage has asked for."""
        self.points, self.values = (
            np.concatenate([self.points, points]),
            np.concatenate([self.values, values]),
        )
        self._spread_out += len(points) if are_spread else 0

    def ask(self, count: int) -> None:
        """Ask `count` random points of the domain."""
        points = self._oracle.sample(self._rng_fit, count)
        self.keep(points, self._oracle.query(points), are_spread=True)

    def prepare(self, parameters: int) -> None:
        """Ask what a fit of so many parameters still needs, and what its certificate still needs."""
        per_answer = parameters / self._oracle.outputs
        missing = max(
            REFINEMENT_SURPLUS * per_answer - len(self.points), SPREAD_SURPLUS * per_answer - self._spread_out
        )
        if missing > 0:
            self.ask(int(np.ceil(missing)))
        fresh = int(np.clip(FRESH_SHARE * per_answer, FEWEST_FRESH, MOST_FRESH)) - len(self.fresh_points)
        if fresh > 0:
            points = self._oracle.sample(self._rng_fresh, fresh)
            self.fresh_points = np.concatenate([self.fresh_points, points])
            self.fresh_values = np.concatenate([self.fresh_values, self._oracle.query(points)])

    def ask_more(self, parameters: int) -> None:
        """Ask once more as many answers as there are parameters: the fit needs a better foundation."""
        self.ask(int(np.ceil(parameters / self._oracle.outputs)))

    def floor(self, network: Network, noise: float) -> float:
        """The smallest residual that a right network can have: the noise, or its own rounding."""
        hidden, output = network.layers
        points = self.fresh_points[:64]
        terms = np.abs(hidden.activation(hidden.preactivations(points))) @ np.abs(output.weights.T)
        if network.skip is not None:
            terms = terms + np.abs(points) @ np.abs(network.skip.T)
        # The oracle's own rounding is that of its answers before they were centred.
        terms = terms + np.abs(output.biases) + np.abs(self._oracle.offset / self._oracle.size)
        return float(max(noise, np.finfo(float).eps * np.sqrt(np.mean(terms**2))))
