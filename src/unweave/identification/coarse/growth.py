"""Neurons behind noise: grown one by one beyond what is needed, fitted together, and pruned again.

Greedy growth alone gets stuck with too many neurons. What is pruned by the residual's own variance comes down to fewer
of them while the fit is still bad, and goes on from there; after a few rounds the answers are met up to their noise.
"""

from dataclasses import dataclass, field

import numpy as np

from unweave.identification.coarse.fit import Fitted, Neurons, NoisyFit
from unweave.numerics.least_squares import is_over


@dataclass(frozen=True, kw_only=True)
class FitSteps:
    """The largest numbers of steps.

    Args:
        alone: of a fit of one neuron.
        joint: of a fit of all after one was added or removed.
        last: of a fit after all were added, and after pruning.
    """

    alone: int = 12
    joint: int = 15
    last: int = 60


@dataclass(frozen=True, kw_only=True)
class CoarseGrowth:
    """Settings of the search.

    Args:
        pool: random neurons that the next one is chosen from, going by the residual.
        tried: of these, the most promising ones that are fitted to it alone.
        spreads: of a neuron's argument over the points: those of its neighbours in the pool lie between these.
        offset: biases of the pool, in units of that spread.
        steps: of the fits.
        joint_gain: of the squares, relative, below which a step counts as idle while neurons are added.
        added: neurons that are added in the first round, and in every later one.
        going_on: squares, relative to those before, below which still more are added in a round.
        most_width: neurons in all.
        rounds: of growing and pruning.
        dropped: share of the neurons that are dropped at random between rounds, to leave where a fit is stuck.
        cheapest: neurons whose removal is tried, going by the squares with other output weights alone; all of them once
            the answers are met.

    Heuristic: the numbers are those of a study on planted networks of 5 to 20 inputs and up to 15 neurons.
    """

    pool: int = 600
    tried: int = 3
    spreads: tuple[float, float] = (0.5, 3.0)
    offset: float = 0.7
    steps: FitSteps = field(default_factory=FitSteps)
    joint_gain: float = 3e-3
    added: tuple[int, int] = (12, 4)
    going_on: float = 0.3
    most_width: int = 30
    rounds: int = 6
    dropped: float = 1 / 3
    cheapest: int = 3

    def round(self, fit: NoisyFit, neurons: Neurons, noise: float, rng: np.random.Generator) -> Fitted:
        """Grow neurons, fit all, and prune them."""
        count, enough = len(fit.values), self.enough(fit, noise)
        current = fit(neurons, steps=self.steps.joint, gain=self.joint_gain)
        first, later = self.added
        more = later if len(neurons) else first
        while True:
            before = current.squares
            for _ in range(more):
                if current.squares <= enough * (count - current.parameters) or current.width >= self.most_width:
                    break
                current = self._grown(fit, current, rng)
            more = later
            is_enough = current.squares <= enough * (count - current.parameters)
            if is_enough or current.width >= self.most_width or current.squares > self.going_on * before or is_over():
                break
        target = 0.9 * noise**2 * (count - current.parameters)
        current = fit(current.neurons, steps=self.steps.last, gain=1e-3, target=target)
        pruned = self._pruned(fit, current, noise, tried=self.cheapest, steps=self.steps.joint)
        current = fit(pruned.neurons, steps=self.steps.last, gain=1e-4)
        if not self.is_met(fit, current, noise):
            return current
        return self._pruned(fit, current, noise, tried=current.width, steps=self.steps.last)

    def first_look(self, fit: NoisyFit, neurons: int, rng: np.random.Generator) -> float:
        """Give the squares that so many neurons leave."""
        current = fit.solved(np.empty((0, fit.points.shape[1] + 1)))
        for _ in range(neurons):
            current = self._grown(fit, current, rng)
        return current.squares

    @staticmethod
    def enough(fit: NoisyFit, noise: float) -> float:
        """Mean square up to which a residual is noise, at four standard deviations of a mean of squares."""
        return noise**2 * (1.0 + 4.0 * np.sqrt(2.0 / len(fit.values)))

    def is_met(self, fit: NoisyFit, fitted: Fitted, noise: float) -> bool:
        """Whether answers are met up to the noise."""
        return bool(fitted.squares <= self.enough(fit, noise) * (len(fit.values) - fitted.parameters))

    def thinner(self, fitted: Fitted, rng: np.random.Generator) -> Neurons:
        """Drop some neurons at random."""
        kept = max(1, int((1.0 - self.dropped) * fitted.width))
        return fitted.neurons[rng.permutation(fitted.width)[:kept]]

    def _grown(self, fit: NoisyFit, current: Fitted, rng: np.random.Generator) -> Fitted:
        """Add the neuron that explains most of what is left, and fit all."""
        left = fit.left(current)
        alone = NoisyFit(fit.points, left, fit.shape)
        pool = self._drawn(fit, rng)
        values = fit.shape.value(fit.points @ pool[:, :-1].T + pool[:, -1])
        basis = np.linalg.qr(fit.columns(current.neurons))[0]
        values -= basis @ (basis.T @ values)
        sizes = np.sqrt(np.sum(values**2, axis=0) + 1e-9 * len(left))
        scores = np.abs(values.T @ left) / sizes
        best = [
            alone(pool[index : index + 1], steps=self.steps.alone, gain=1e-4)
            for index in np.argsort(-scores)[: self.tried]
        ]
        added = min(best, key=lambda each: each.squares).neurons
        return fit(np.vstack([current.neurons, added]), steps=self.steps.joint, gain=self.joint_gain)

    def _drawn(self, fit: NoisyFit, rng: np.random.Generator) -> Neurons:
        inputs = fit.points.shape[1]
        directions = rng.standard_normal((self.pool, inputs))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        deviation = float(np.sqrt(np.mean(fit.points**2)))
        least, most = self.spreads
        spreads = least * (most / least) ** rng.uniform(size=self.pool)
        biases = self.offset * spreads * rng.standard_normal(self.pool)
        return np.column_stack([directions * (spreads / deviation)[:, None], biases])

    def _pruned(self, fit: NoisyFit, current: Fitted, noise: float, *, tried: int, steps: int) -> Fitted:
        """Remove neurons as long as an information criterion gains, with the residual's own variance."""
        count = len(fit.values)
        price = fit.points.shape[1] + 2
        while current.width > 1 and not is_over():
            variance = max(noise**2, current.squares / max(count - current.parameters, 1))
            others = [np.delete(current.neurons, neuron, axis=0) for neuron in range(current.width)]
            order = np.argsort([fit.solved(each).squares for each in others])
            for index in order[:tried]:
                smaller = fit(others[index], steps=steps, gain=1e-3)
                if smaller.squares - current.squares < variance * price * np.log(count):
                    current = smaller
                    break
            else:
                break
        return current
