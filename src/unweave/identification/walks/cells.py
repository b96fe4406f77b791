"""Gradients in cells between kinks that are known: with the longest steps that stay in the cell."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Atoms, PerNeuron, Points, Values, Vector, batched_by_size
from unweave.identification.walks.lines import Ask

# Gives the largest error of every answer, from points and answers.
ErrorsAt = Callable[[Points, Values], Float64[np.ndarray, "points"]]


def safe_steps(
    arguments: PerNeuron,
    slopes: Atoms,
    *,
    share: float,
    longest: float,
) -> Vector:
    """Give the longest safe step along every axis, to the roomier side.

    Args:
        arguments: of all neurons at a point; each has its kink at zero.
        slopes: their gradients in the cell of that point.
        share: how far to the nearest kink an axis is followed.
        longest: step.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.abs(arguments)[:, None] / np.abs(slopes)
    towards = slopes * np.sign(arguments)[:, None]
    forward = np.min(np.where(towards < 0.0, room, np.inf), axis=0, initial=np.inf)
    backward = np.min(np.where(towards > 0.0, room, np.inf), axis=0, initial=np.inf)
    steps = share * np.where(forward >= backward, forward, -backward)
    return np.clip(steps, -longest, longest)


def measure_gradients(
    ask: Ask, points: Points, steps: Float64[np.ndarray, "points inputs"], errors_at: ErrorsAt
) -> tuple[Values, Float64[np.ndarray, "points outputs inputs"], Float64[np.ndarray, "points inputs+1"]]:
    """Measure values, gradients, by one step along every axis, and errors of answers, in batches that fit into memory.

    The errors are those after every step and, last, at the points.
    """
    cells, inputs = points.shape
    values, gradients, errors, axes = [], [], np.empty((cells, inputs + 1)), np.arange(inputs)
    for some in batched_by_size(list(range(cells)), inputs * (inputs + 1)):
        asked = np.repeat(points[some, None], inputs + 1, axis=1)
        asked[:, axes, axes] += steps[some]
        taken = asked[:, axes, axes] - points[some]
        flat = ask(asked.reshape(-1, inputs))
        answers = flat.reshape(len(asked), inputs + 1, -1)
        values.append(answers[:, -1])
        gradients.append(np.swapaxes((answers[:, :-1] - answers[:, -1:]) / taken[:, :, None], 1, 2))
        errors[some] = errors_at(asked.reshape(-1, inputs), flat).reshape(len(asked), inputs + 1)
    return np.concatenate(values), np.concatenate(gradients), errors
