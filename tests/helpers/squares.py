"""Samples for networks of squares, shared by the tests of their training."""

import numpy as np

from unweave.learn.quadratic.optimality import OptimalityTest
from unweave.learn.quadratic.problem import QuadraticProblem
from unweave.learn.quadratic.search import ConjugateGradients


def both_signs(inputs: int) -> np.ndarray:
    return np.concatenate([np.ones(inputs), -np.ones(inputs)])


def random_labels(
    seed: int, *, samples: int, inputs: int, output_weights: np.ndarray | None = None
) -> QuadraticProblem:
    """Gaussian points with labels that have nothing to do with them."""
    rng = np.random.default_rng([seed, samples, inputs])
    weights = both_signs(inputs) if output_weights is None else output_weights
    return QuadraticProblem(rng.standard_normal((samples, inputs)), rng.standard_normal(samples), weights)


def planted_rank(
    seed: int, *, samples: int, inputs: int, rank: int, sign: float = 1.0
) -> tuple[QuadraticProblem, np.ndarray]:
    """Labels of a semidefinite matrix, which is returned too, for one neuron more than inputs of its sign."""
    rng = np.random.default_rng([seed, samples, inputs, rank])
    points, factor = rng.standard_normal((samples, inputs)), rng.standard_normal((rank, inputs)) / np.sqrt(inputs)
    labels = sign * np.sum((points @ factor.T) ** 2, axis=1)
    return QuadraticProblem(points, labels, np.full(inputs + 1, sign)), sign * factor.T @ factor


def rank_deficient_saddle(problem: QuadraticProblem, seed: int) -> np.ndarray:
    """Half of the positive neurons at their own optimum, all others zero: critical, but not a minimum."""
    rows, rng = problem.inputs // 2, np.random.default_rng([seed, 17])
    part = QuadraticProblem(problem.points, problem.labels, problem.output_weights[:rows])
    start = rng.standard_normal((rows, problem.inputs)) / np.sqrt(problem.inputs)
    descent = ConjugateGradients(steps=5_000, gap_tol=0.0, escape=lambda *_: None)
    weights = np.zeros((problem.neurons, problem.inputs))
    weights[:rows] = descent(start, OptimalityTest.of(part), rng).weights
    return weights
