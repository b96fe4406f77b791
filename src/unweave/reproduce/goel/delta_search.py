"""Rows under any threshold by exhaustive search: the labels jump, or bend, exactly across the boundary of a unit.

For a direction z the density of labels along it, ``phi(s) E[f | <z, x> = s]``, jumps at the threshold of a step if z is
its row, and changes its slope at that of a relu; in all other directions it is smooth. No linear part of the upper
function, no high threshold and no sign is needed, but the number of directions grows exponentially with the inputs.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unweave.activations import Activation
from unweave.arrays import Atoms, PerNeuron, PerPoint, Points, Vector
from unweave.exceptions import InvalidInput

# Inputs up to which a net of directions can be searched.
MOST_INPUTS = 4
# Rounds in which the best directions are replaced by better ones nearby, directions per round, and how radii shrink.
LOCAL_ROUNDS, LOCAL_DIRECTIONS, SHRINKAGE = 6, 60, 0.6
# Directions of a net that are projected at once.
BLOCK_DIRECTIONS = 64


@dataclass(frozen=True, eq=False)
class DeltaPeaks:
    """Directions across which labels jump or bend most.

    Args:
        rows: unit vectors.
        jumps: signed size of the jump or of the change of slope; for orthogonal rows of steps
            ``phi(t) E[dP/dX_i]``.
        spacing: angle in radians at which the net can tell directions apart.
    """

    rows: Atoms
    jumps: PerNeuron
    spacing: float


def jumps_across(
    points: Points,
    labels: PerPoint,
    directions: Atoms,
    *,
    unit: Activation,
    threshold: float,
    width: float,
) -> PerNeuron:
    """Jump of the density of labels (step), or change of its slope (relu), at a threshold along every direction.

    Args:
        points: Gaussian samples.
        labels: one per sample.
        directions: unit vectors.
        unit: step or relu.
        threshold: where to look.
        width: of the slabs above and below.

    Raises:
        InvalidInput: for sigmoid units, which neither jump nor bend.
    """
    if not unit.vanishes_below:
        raise InvalidInput(f"units need a jump or a kink to be found by it, got {unit.name}: use moments instead.")
    # Slabs are counted from 0 at two widths below the threshold to 3 just below two widths above.
    weights = np.array([0.0, -1.0, 1.0, 0.0]) if unit.name == "step" else np.array([1.0, -1.0, -1.0, 1.0]) / width
    result = np.empty(len(directions))
    for first in range(0, len(directions), BLOCK_DIRECTIONS):
        slabs = np.floor((points @ directions[first : first + BLOCK_DIRECTIONS].T - threshold) / width) + 2
        for column in range(slabs.shape[1]):
            inside = (slabs[:, column] >= 0) & (slabs[:, column] < 4)
            sums = np.bincount(slabs[inside, column].astype(np.int64), weights=labels[inside], minlength=4)
            result[first + column] = float(weights @ sums) / (width * len(points))
    return result


def delta_search(
    points: Points,
    labels: PerPoint,
    rng: np.random.Generator,
    *,
    unit: Activation,
    threshold: float,
    rank: int,
    width: float = 0.1,
    directions: int = 1_000,
) -> DeltaPeaks:
    """The strongest jumps over a random net of directions, then locally better ones with narrower slabs.

    Args:
        points: Gaussian samples.
        labels: one per sample; their mean is taken off, which lowers the variance.
        rng: for the net.
        unit: step or relu.
        threshold: of all units.
        rank: number of rows.
        width: of the slabs.
        directions: size of the net.

    Raises:
        InvalidInput: for more inputs than a net can cover.

    Guarantees: none for a net that is too coarse; that of [goel, Thm. 7] needs ``(1 / angle)^(inputs - 1)`` directions.
    """
    inputs = points.shape[1]
    if inputs > MOST_INPUTS:
        raise InvalidInput(
            f"an exhaustive search covers up to {MOST_INPUTS} inputs, got {inputs}: use moments instead."
        )
    net = rng.standard_normal((directions, inputs))
    net /= np.linalg.norm(net, axis=1, keepdims=True)
    centred = labels - labels.mean()

    def measured(candidates: np.ndarray) -> np.ndarray:
        return jumps_across(points, centred, candidates, unit=unit, threshold=threshold, width=width)

    values, spacing = measured(net), 2.0 * directions ** (-1.0 / max(inputs - 1, 1))
    rows, jumps = [], []
    for _ in range(rank):
        best = int(np.argmax(np.abs(values)))
        row, jump = _climbed(net[best], float(values[best]), spacing, rng, measured)
        rows.append(row)
        jumps.append(jump)
        # Directions next to a peak are parts of it.
        values = np.where(net @ row > np.cos(3 * spacing), 0.0, values)
    return DeltaPeaks(np.array(rows), np.array(jumps), spacing)


def _climbed(
    row: Vector,
    jump: float,
    radius: float,
    rng: np.random.Generator,
    measured: Callable[[np.ndarray], np.ndarray],
) -> tuple[Vector, float]:
    """A direction of larger absolute jump nearby, by random search with shrinking radius."""
    for _ in range(LOCAL_ROUNDS):
        near = row + radius * rng.standard_normal((LOCAL_DIRECTIONS, len(row))) / np.sqrt(len(row))
        near /= np.linalg.norm(near, axis=1, keepdims=True)
        values = measured(near)
        best = int(np.argmax(np.abs(values)))
        if abs(values[best]) > abs(jump):
            row, jump = near[best], float(values[best])
        radius *= SHRINKAGE
    return row, jump
