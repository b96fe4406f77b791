"""The neurons behind the jumps on a far line, read off inside their slabs.

In a slab the function depends on one neuron alone, and its profile is known from the line. So one
answer beside the line, a step along one axis away, gives the argument of the neuron there, and with
it one weight, without a finite-difference error. The bias comes from the slab's mirror image: a
hyperplane is met at x and near -x, and the distance to -x is twice its distance from the centre.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Points, Values, Vector
from unweave.identification.saturation.jumps import Jump
from unweave.identification.walks.lines import Line
from unweave.identification.walks.searches import Ask, Search, run_together

# Step along the axes, in units of the slab's width along the line; arguments beyond the largest are
# asked again with a step that is this much smaller.
STEP = 0.6
LARGEST_ARGUMENT = 2.5
SHRINK = 0.05
ATTEMPTS = 4
# How far on both sides of the mirror image its plateaus are looked for, in arguments.
PLATEAU = 40.0


@dataclass(frozen=True)
class Slab:
    """A neuron ``height g(weights x + bias)`` in standard coordinates, and how well the slab agrees with it.

    Args:
        weights: one per input.
        bias: the bias.
        height: output weights.
        jump: where it was found.
        mismatch: relative difference between the weights along the line and the rate of the jump.
    """

    weights: Float64[np.ndarray, "inputs"]
    bias: float
    height: Float64[np.ndarray, "outputs"]
    jump: Jump
    mismatch: float


def measure_slabs(ask: Ask, line: Line, jumps: list[Jump]) -> list[Slab]:
    """Read the neuron behind every jump: one query per input and about five more."""
    return run_together((_neuron(line, jump) for jump in jumps), ask)


def _neuron(line: Line, jump: Jump) -> Search:
    point = line.points(np.array([jump.position]))[0]
    weights = np.full(len(point), np.nan)
    step = STEP / jump.rate
    for _ in range(ATTEMPTS):
        axes = np.flatnonzero(np.isnan(weights))
        values = yield point + step * np.eye(len(point))[axes]
        arguments = jump.argument(values)
        is_seen = np.abs(arguments) < LARGEST_ARGUMENT
        # What is added is what the rounded points differ by.
        moved = (point[axes] + step) - point[axes]
        weights[axes[is_seen]] = arguments[is_seen] / moved[is_seen]
        if np.all(is_seen):
            break
        step *= SHRINK
    if np.any(np.isnan(weights)):
        return []
    along = float(weights @ line.direction)
    shift = yield from _mirror(line, jump, -point)
    if shift is None and abs(weights @ point) < 0.4 * PLATEAU:
        # The mirror image should have been seen, but for another slab across it: another line will do.
        return []
    bias = -0.5 * jump.rate * shift if shift is not None else float(-weights @ point)
    return [Slab(weights, bias, jump.height, jump, abs(along - jump.rate) / jump.rate)]


def _mirror(line: Line, jump: Jump, center: Vector) -> Generator[Points, Values, float | None]:
    """How far from the mirrored point, along the line, the hyperplane is met again; None if it is not seen."""
    reach = PLATEAU / jump.rate
    left, value, right = yield center + np.array([-reach, 0.0, reach])[:, None] * line.direction
    size = float(np.max(np.abs(jump.height)))
    if np.max(np.abs(right - left - 2 * jump.height)) > 1e-2 * size:
        return None
    mirrored = Jump(0.0, jump.rate, jump.height, 0.5 * (left + right), jump.activation, jump.misfit)
    shift = 0.0
    for _ in range(ATTEMPTS + 4):
        argument = float(mirrored.argument(value[None])[0])
        if abs(argument) < LARGEST_ARGUMENT / 2:
            return shift - argument / jump.rate
        shift -= float(np.clip(argument, -8.0, 8.0)) / jump.rate
        value = (yield center[None] + shift * line.direction)[0]
    return None
