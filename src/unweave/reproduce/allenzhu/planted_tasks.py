"""Planted quadratic networks with samples and fresh points, for the statements of [allenzhu]."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from unweave.arrays import PerPoint, Points
from unweave.networks.quadratic.densenet import QuadraticDenseNet
from unweave.networks.quadratic.student import Student
from unweave.networks.quadratic.teacher import GaussianInputs, Inputs, make_teacher
from unweave.reproduce.allenzhu.baselines import TrainingSamples
from unweave.reproduce.allenzhu.traces import feature_errors

FRESH_POINTS = 10_000
OTHER_SIZES = (
    "[allenzhu] prints no numbers for this statement: sizes are ours. Teachers are random blocks with singular values "
    "within [1/1.3, 1.3], every level scaled to features of mean square 1; errors are relative to the variance of "
    "labels."
)


@dataclass(frozen=True, eq=False)
class PlantedTask:
    """A random teacher, samples, and fresh points.

    Args:
        seed: of everything.
        inputs: number of inputs.
        widths: features per level, from level 2 on.
        weights: of the levels.
        samples: for training.
        draw: the distribution of inputs.
    """

    seed: int
    inputs: int
    widths: Sequence[int]
    weights: Sequence[float]
    samples: int
    draw: Inputs = field(default_factory=GaussianInputs)

    @cached_property
    def teacher(self) -> QuadraticDenseNet:
        """The planted network."""
        rng = np.random.default_rng([self.seed, self.inputs])
        return make_teacher(
            rng, inputs=self.inputs, widths=self.widths, level_weights=self.weights, distribution=self.draw
        )

    @cached_property
    def points(self) -> Points:
        """Inputs for training."""
        return self.draw(np.random.default_rng([self.seed, self.inputs, 1]), self.samples, self.inputs)

    @cached_property
    def fresh(self) -> Points:
        """Inputs for judging."""
        return self.draw(np.random.default_rng([self.seed, self.inputs, 2]), FRESH_POINTS, self.inputs)

    @property
    def labels(self) -> PerPoint:
        """Of the training points."""
        return self.teacher(self.points)[:, 0]

    @cached_property
    def truth(self) -> PerPoint:
        """Of the fresh points."""
        return self.teacher(self.fresh)[:, 0]

    @property
    def means(self) -> np.ndarray:
        """E[x^2], which all methods know."""
        return np.ones(self.inputs)

    @property
    def rng(self) -> np.random.Generator:
        """Randomness of a method."""
        return np.random.default_rng([self.seed, self.inputs, 3])

    @property
    def training_samples(self) -> TrainingSamples:
        """What every method is given."""
        return TrainingSamples(self.teacher.wiring, self.points, self.labels, self.means, self.seed)

    def student(self) -> Student:
        """A network of the same shape, its weights unknown."""
        wiring = self.teacher.wiring
        return Student(wiring, tuple(np.ones(width) for width in wiring.widths), self.means)

    def error(self, network: QuadraticDenseNet) -> float:
        """Mean squared error on fresh points, relative to the variance of the labels."""
        return float(np.mean((network(self.fresh)[:, 0] - self.truth) ** 2) / np.var(self.truth))

    def feature_errors(self, network: QuadraticDenseNet) -> tuple[float, ...]:
        """Errors of features up to a rotation, level by level."""
        return feature_errors(network, self.teacher, self.fresh)
