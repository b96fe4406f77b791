"""Students of planted networks by stochastic gradient descent, all parameters free [fiedler, Sec. 1.3].

Students have the architecture of their teacher and begin with parameters drawn from the same distribution. In [fiedler]
the time of training is limited, to minutes or hours of a GPU; here the steps are, so that results do not depend on the
machine.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64

from unweave.activations import TANH
from unweave.arrays import Points, Values, slices
from unweave.networks.network import Layer, Network

# Standard deviation of shifts of shallow and of deep teachers: N(0, 0.05) and N(0, 0.005), read as in Section 4.4.
SHALLOW_SHIFTS, DEEP_SHIFTS = 0.05, 0.005
# Samples that the training error is measured on, at most, and that are in memory at once.
LOOKED_AT, ROWS_AT_ONCE = 20_000, 4_096


@dataclass(frozen=True)
class Training:
    """How a student ended.

    Args:
        network: the student.
        steps: gradient steps taken.
        looks: steps after which the training error was measured.
        losses: mean squared error on the training samples then.
        networks: students then, if they were asked for.
    """

    network: Network
    steps: int
    looks: tuple[int, ...]
    losses: tuple[float, ...]
    networks: tuple[Network, ...] = ()


@dataclass(frozen=True)
class StudentDescent:
    """Settings of stochastic gradient descent on the mean squared error (1.10) or (1.12).

    Args:
        rate: step size.
        batch: samples per step.
        steps: most gradient steps.
        tol: mean squared error at which training ends.
        looks: how often the training error is measured.
        trains_outputs: whether the last layer is trained, too; sums of neurons have none to train.
        keeps_networks: whether the student is kept at every look.
    """

    rate: float = 0.005
    batch: int = 64
    steps: int = 100_000
    tol: float = 1e-8
    looks: int = 40
    trains_outputs: bool = False
    keeps_networks: bool = False

    def __call__(self, student: Network, points: Points, values: Values, rng: np.random.Generator) -> Training:
        """Train a student on samples."""
        weights = [layer.weights.copy() for layer in student.layers]
        biases = [layer.biases.copy() for layer in student.layers]
        trained = len(weights) if self.trains_outputs else len(weights) - 1
        batches, looks, losses, kept = _batches(len(points), self.batch, rng), [], [], []
        every, step = max(1, self.steps // self.looks), 0
        while True:
            if step % every == 0:
                looks.append(step)
                current = _with(student, weights, biases)
                losses.append(training_error(current, points, values))
                kept += [current] if self.keeps_networks else []
            if step == self.steps or losses[-1] < self.tol:
                break
            rows = next(batches)
            slopes = gradients(student, weights, biases, points[rows], values[rows])
            for layer, (slope, bias_slope) in enumerate(slopes[:trained]):
                weights[layer] -= self.rate * slope
                biases[layer] -= self.rate * bias_slope
            step += 1
        return Training(_with(student, weights, biases), step, tuple(looks), tuple(losses), tuple(kept))


def gradients(
    student: Network, weights: list[np.ndarray], biases: list[np.ndarray], points: Points, values: Values
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Gradients of ``mean |f(x) - y|^2`` in the weights and biases of every layer."""
    inputs, slopes = [points], []
    for layer, weight, bias in zip(student.layers, weights, biases, strict=True):
        arguments = inputs[-1] @ weight.T + bias
        if layer.activation == TANH:
            # The slope from the value: exponentials are most of the time.
            inputs.append(np.tanh(arguments))
            slopes.append(1.0 - inputs[-1] ** 2)
        else:
            inputs.append(layer.activation(arguments))
            slopes.append(layer.activation(arguments, 1))
    back, found = (2.0 / len(points)) * (inputs[-1] - values), []
    for place in reversed(range(len(weights))):
        back = back * slopes[place]
        found.append((back.T @ inputs[place], np.sum(back, axis=0)))
        back = back @ weights[place] if place else back
    return found[::-1]


def training_error(student: Network, points: Points, values: Values) -> float:
    """Mean squared error (1.10), on at most so many samples that it takes little time."""
    count = min(len(points), LOOKED_AT)
    parts = (slice(each.start, min(each.stop, count)) for each in slices(count, ROWS_AT_ONCE))
    return float(sum(np.sum((student(points[rows]) - values[rows]) ** 2) for rows in parts)) / count


def shallow_teacher(rng: np.random.Generator, *, inputs: int, neurons: int) -> Network:
    """Draw a teacher, or the start of a student, as in [fiedler, Sec. 1.3.1]."""
    weights = rng.standard_normal((neurons, inputs))
    return Network.shallow(
        weights=weights / np.linalg.norm(weights, axis=1, keepdims=True),
        biases=SHALLOW_SHIFTS * rng.standard_normal(neurons),
        output_weights=np.ones((1, neurons)),
        offset=np.zeros(1),
        activation=TANH,
    )


def _with(student: Network, weights: list[np.ndarray], biases: list[np.ndarray]) -> Network:
    """The student with these parameters."""
    layers = zip(student.layers, weights, biases, strict=True)
    return replace(
        student,
        layers=tuple(Layer(each, bias, layer.activation) for layer, each, bias in layers),
    )


def _batches(count: int, batch: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Rows of one batch after the other, shuffled anew in every pass."""
    while True:
        order = rng.permutation(count)
        for rows in slices(count, batch):
            yield order[rows]


def uniform_relative(student: Network, truth: Network, points: Float64[np.ndarray, "points inputs"]) -> float:
    """Relative uniform error of [fiedler, Sec. 1.3.2]."""
    expected = truth(points)
    differences = np.linalg.norm(student(points) - expected, axis=1)
    return float(np.max(differences) / np.max(np.linalg.norm(expected, axis=1)))
