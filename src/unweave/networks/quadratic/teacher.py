"""Planted quadratic networks with an information gap, and the inputs that go with them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol, runtime_checkable

import numpy as np

from unweave.arrays import Points, packed_size, upper_triangle
from unweave.exceptions import InvalidInput
from unweave.networks.quadratic.densenet import Level, QuadraticDenseNet
from unweave.networks.quadratic.wiring import FIRST_LEVEL, Wiring, make_wiring

# Samples that the size of features is averaged over when a teacher is normalised.
NORMALISING_POINTS = 50_000


@runtime_checkable
class Inputs(Protocol):
    """A distribution of inputs."""

    def __call__(self, rng: np.random.Generator, points: int, inputs: int) -> Points:
        """Draw points."""
        ...


@dataclass(frozen=True)
class GaussianInputs:
    """Independent standard Gaussian inputs."""

    def __call__(self, rng: np.random.Generator, points: int, inputs: int) -> Points:
        """Draw points."""
        return rng.standard_normal((points, inputs))


@dataclass(frozen=True)
class UniformInputs:
    """Independent inputs on ``[-sqrt 3, sqrt 3]``: bounded, mean 0, variance 1."""

    def __call__(self, rng: np.random.Generator, points: int, inputs: int) -> Points:
        """Draw points."""
        return rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), (points, inputs))


@dataclass(frozen=True)
class MixedGaussianInputs:
    """A mixture of centred Gaussians whose covariances have ones on the diagonal.

    Args:
        components: how many Gaussians.
        correlation: strength of the correlations, 0 to below 1.
        seed: which mixture.
    """

    components: int = 3
    correlation: float = 0.5
    seed: int = 0

    def __call__(self, rng: np.random.Generator, points: int, inputs: int) -> Points:
        """Draw points."""
        factors = [self._factor(number, inputs) for number in range(self.components)]
        member = rng.integers(self.components, size=points)
        drawn = rng.standard_normal((points, inputs))
        for number, factor in enumerate(factors):
            drawn[member == number] = drawn[member == number] @ factor.T
        return drawn

    def _factor(self, number: int, inputs: int) -> np.ndarray:
        rotation, _ = np.linalg.qr(np.random.default_rng([self.seed, number]).standard_normal((inputs, inputs)))
        factor = np.eye(inputs) + self.correlation * rotation
        return factor / np.linalg.norm(factor, axis=1, keepdims=True)


def make_teacher(
    rng: np.random.Generator,
    *,
    inputs: int,
    widths: Sequence[int],
    level_weights: Sequence[float],
    connections: Sequence[Sequence[int]] | None = None,
    condition: float = 1.3,
    distribution: Inputs | None = None,
    is_normalised: bool = True,
) -> QuadraticDenseNet:
    """A random, well conditioned target whose level l reads the squares of features of lower levels.

    Args:
        rng: randomness.
        inputs: number of inputs.
        widths: features per level, from level 2 on.
        level_weights: weight of each level in the output; falling weights are the information gap.
        connections: what each level reads; the default of `make_wiring` if omitted.
        condition: singular values of every block lie within ``[1/condition, condition]``, before normalisation.
        distribution: of the inputs; Gaussian if omitted.
        is_normalised: whether every level is scaled so that its features have mean square 1.

    Raises:
        InvalidInput: for a wiring that breaks the rules, or weights that are not positive.
    """
    wiring = make_wiring(inputs, widths, connections)
    if len(level_weights) != len(wiring.widths) or min(level_weights) <= 0:
        raise InvalidInput(f"level_weights need {len(wiring.widths)} positive numbers, got {tuple(level_weights)}.")
    if condition < 1:
        raise InvalidInput(f"condition needs to be at least 1, got {condition}.")
    levels = tuple(
        Level(_random_features(rng, wiring, level, condition), float(weight))
        for level, weight in enumerate(level_weights, start=FIRST_LEVEL)
    )
    draw = GaussianInputs() if distribution is None else distribution
    teacher = QuadraticDenseNet(wiring, levels, np.ones(inputs))
    return _normalised(teacher, draw(rng, NORMALISING_POINTS, inputs)) if is_normalised else teacher


def squares_only(block: np.ndarray, width: int) -> np.ndarray:
    """A map of the squares of `width` features, written for all their products."""
    rows, columns, _ = upper_triangle(width)
    wide = np.zeros((len(block), packed_size(width)))
    wide[:, rows == columns] = block
    return wide


def _random_features(rng: np.random.Generator, wiring: Wiring, level: int, condition: float) -> np.ndarray:
    width, blocks = wiring.widths[level - FIRST_LEVEL], []
    for source in wiring.sources[level - FIRST_LEVEL]:
        entering = wiring.inputs if source < FIRST_LEVEL else wiring.widths[source - FIRST_LEVEL]
        left, _, right = np.linalg.svd(rng.standard_normal((width, entering)), full_matrices=False)
        block = left @ (np.geomspace(condition, 1 / condition, left.shape[1])[:, None] * right)
        blocks.append(block if source < FIRST_LEVEL else squares_only(block, entering))
    return np.concatenate(blocks, axis=1)


def _normalised(teacher: QuadraticDenseNet, points: Points) -> QuadraticDenseNet:
    for number in range(len(teacher.levels)):
        part = teacher.levels[number]
        scale = np.sqrt(np.mean(teacher.features(points, FIRST_LEVEL + number) ** 2))
        levels = list(teacher.levels)
        levels[number] = replace(part, features=part.features / scale)
        teacher = replace(teacher, levels=tuple(levels))
    return teacher


def make_sparse_teacher(
    rng: np.random.Generator, *, inputs: int, level_weights: Sequence[float] = (1.0, 0.1)
) -> QuadraticDenseNet:
    """The family that is hard for every kernel: one feature per level, supports of ``2^(L-1)`` inputs, no scaling.

    Links to the input and to its squares have that many entries of equal size at random places; all others are 1.
    """
    depth = FIRST_LEVEL + len(level_weights) - 1
    support = 2 ** (depth - 1)
    if support > inputs:
        raise InvalidInput(f"{depth - 1} levels need supports of {support} inputs, got {inputs}.")
    connections = ((1, 0), *((level - 1, level - 3) for level in range(FIRST_LEVEL + 1, depth + 1)))
    wiring = make_wiring(inputs, (1,) * len(level_weights), connections)
    levels = []
    for sources, weight in zip(wiring.sources, level_weights, strict=True):
        blocks = [_sparse_row(rng, inputs, support) if source < FIRST_LEVEL else np.ones((1, 1)) for source in sources]
        levels.append(Level(np.concatenate(blocks, axis=1), float(weight)))
    return QuadraticDenseNet(wiring, tuple(levels), np.ones(inputs))


def _sparse_row(rng: np.random.Generator, inputs: int, support: int) -> np.ndarray:
    row = np.zeros((1, inputs))
    row[0, rng.choice(inputs, size=support, replace=False)] = 1 / np.sqrt(support)
    return row


def make_toy_teacher(weight: float = 0.1) -> QuadraticDenseNet:
    """``q_1^2 + q_2^2 + weight ((q_1^2 + x_3)^2 + (q_2^2 + x_4)^2)`` with ``q = x^2 - 1``, on four inputs."""
    wiring = make_wiring(4, (2, 2))
    lower = np.eye(2, 4)
    upper = np.concatenate([squares_only(np.eye(2), 2), np.eye(2, 4, k=2)], axis=1)
    return QuadraticDenseNet(wiring, (Level(lower, 1.0), Level(upper, weight)), np.ones(4))


def effective_gaps(teacher: QuadraticDenseNet, points: Points) -> tuple[float, ...]:
    """Standard deviation of what each level adds, relative to the level below: what the weights alone do not tell."""
    levels = range(FIRST_LEVEL, teacher.depth + 1)
    spreads = [float(np.std(teacher.contribution(points, level))) for level in levels]
    return tuple(above / below for below, above in pairwise(spreads))
