"""What a function does far from the centre: whether it saturates, becomes piecewise affine, or neither."""

from dataclasses import dataclass
from enum import Enum

import numpy as np

from unweave.identification.session import Probe

RAYS = 4
FACTORS = np.array([1.0, 1.5, 2.0])
MARGIN = 30.0
# Half-widths of the domain, and the rounding error of arguments that limits them where models
# calculate in single precision.
FARTHEST = 2e6
ARGUMENT_ERROR = 6e-4


class FarBehaviour(Enum):
    """How a function continues along rays."""

    JUMPS = "constant, up to an affine part, between jumps"
    KINKS = "affine between kinks"
    NEITHER = "neither constant nor affine"


@dataclass(frozen=True)
class FarLook:
    """What was seen on far rays.

    Args:
        behaviour: how the function continues.
        radius: where it was seen.
        is_sloped: whether it grows.
        size: the largest answer, with what was subtracted from it to centre the answers.
    """

    behaviour: FarBehaviour
    radius: float
    is_sloped: bool
    size: float


def far_radius(probe: Probe) -> float:
    """Far enough for thin slabs, near enough for the arguments of neurons to keep some digits."""
    return float(min(FARTHEST, ARGUMENT_ERROR / probe.oracle.oracle.ledger.answer_digits))


def look_far(probe: Probe, rng: np.random.Generator) -> FarLook:
    """Ask along a few rays and their opposites, 6 queries each.

    Along a ray a saturated function is constant and one with affine tails is affine. Their even parts tell an
    affine part, which has none, from kinks, whose even part grows with the distance.
    """
    oracle, radius = probe.oracle, far_radius(probe)
    directions = rng.standard_normal((RAYS, oracle.inputs))
    directions *= radius / np.linalg.norm(directions, axis=1, keepdims=True)
    points = np.concatenate([directions, -directions])[:, None] * FACTORS[:, None]
    values = oracle.query(points.reshape(-1, oracle.inputs)).reshape(2 * RAYS, len(FACTORS), -1)
    size = float(np.max(np.abs(oracle.offset / oracle.size)) + np.max(np.abs(values)))
    error = MARGIN * (probe.scale.noise + probe.rounding * size)
    # Medians, because with many neurons some ray passes through a slab.
    bend = np.median(np.max(np.abs(values[:, 0] - 2 * values[:, 1] + values[:, 2]), axis=1))
    slope = np.median(np.max(np.abs(values[:, 2] - values[:, 0]), axis=1))
    even = values[:RAYS] + values[RAYS:]
    growth = np.median(np.max(np.abs(even[:, 2] - even[:, 0]), axis=1))
    if bend > error:
        return FarLook(FarBehaviour.NEITHER, radius, False, size)
    if growth > error:
        return FarLook(FarBehaviour.KINKS, radius, True, size)
    return FarLook(FarBehaviour.JUMPS, radius, bool(slope > error), size)
