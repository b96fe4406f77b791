"""How kinks are rounded off: what a smooth activation with affine tails leaves between its two tails."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.identification.walks.hyperplanes import Hyperplanes
from unweave.identification.walks.kinks import KinkedLine
from unweave.identification.walks.searches import Ask

# Distances from the hyperplane, in half-widths of the domain: three per octave of the lengths of
# weights that a network in standard coordinates has.
DISTANCES = 0.02 * 1.7 ** np.arange(18)


@dataclass(frozen=True)
class Corners:
    """Distance of the function from its tails beside every kink.

    Args:
        distances: from the hyperplane, on its positive side.
        deviations: of the function from the tail there, along the jump of the neuron.
    """

    distances: Float64[np.ndarray, "samples"]
    deviations: Float64[np.ndarray, "neurons samples"]


def measure_corners(ask: Ask, walked: KinkedLine, met: Hyperplanes) -> Corners:
    """Sample the function beside the kinks of a line, 18 queries each."""
    line = walked.line
    if not met.kinks:
        return Corners(DISTANCES, np.empty((0, len(DISTANCES))))
    positions = np.array([walked.kinks[k].position for k in met.kinks])
    along = met.normals @ line.direction
    places = positions[:, None] + DISTANCES / along[:, None]
    values = ask(line.points(places.ravel())).reshape(*places.shape, -1)
    deviations = np.empty(places.shape)
    for neuron, kink in enumerate(met.kinks):
        tail = walked.pieces[kink + 1]
        jump = met.jumps[neuron]
        # A kink that was read has a piece on either side.
        expected = np.array([tail.at(place) for place in places[neuron]])  # pyright: ignore[reportOptionalMemberAccess]
        deviations[neuron] = (values[neuron] - expected) @ jump / (jump @ jump)
    return Corners(DISTANCES, deviations)
