"""The first layer of a network that is not shallow: the door to deep networks.

Far out, upper layers see saturated neurons only, so that their answers are constant between the slabs
of first-layer neurons. Directions are exact whatever the upper layers do; lengths come from the tails,
biases only to about the width of a slab, because upper layers can absorb the rest.
"""

from itertools import combinations

import numpy as np

from unweave.activations import TANH
from unweave.identification.saturation.jumps import JumpWalk
from unweave.identification.saturation.ridges import Ridge, measure_ridges
from unweave.identification.session import Probe, Run
from unweave.identification.walks.lines import far_line
from unweave.networks.network import Layer
from unweave.result import Diagnostic, at_most

FEWEST_LINES, LINES = 3, 8
# Two directions are one if their difference is below this. A true hyperplane is met on nearly every
# line; a reading in two slabs that overlap a little is off by as much, one where they overlap more is met once.
SAME_DIRECTION = 5e-3
SIGHTINGS = 2
# Lines are walked until the two best sightings of every hyperplane agree so well.
AGREEMENT = 3e-5
# Angle at which lines end, before their last direction.
OUTER = 1e-2


def find_first_layer(run: Run, probe: Probe, *, radius: float, noise: float) -> tuple[Layer, Diagnostic]:
    """Walk far lines until one shows no new hyperplane that was met twice."""
    oracle = probe.oracle
    found: list[list[Ridge]] = []
    new = 0
    for number in range(1, LINES + 1):
        line = far_line(oracle.inputs, run.rng_walk, radius=radius, outer=OUTER)
        jumps = JumpWalk(noise, (TANH,))(oracle.query, line)
        before = sum(len(sightings) >= SIGHTINGS for sightings in found)
        for ridge in measure_ridges(oracle.query, line, jumps, noise=noise):
            same = next((sightings for sightings in found if _is_same(ridge, sightings[0])), None)
            if same is None:
                found.append([ridge])
            else:
                same.append(ridge)
        new = sum(len(sightings) >= SIGHTINGS for sightings in found) - before
        confirmed = [sightings for sightings in found if len(sightings) >= SIGHTINGS]
        is_settled = all(_best_pair(sightings)[0] < AGREEMENT for sightings in confirmed)
        if new == 0 and is_settled and number >= FEWEST_LINES:
            break
    seen = [_mean(sightings) for sightings in found if len(sightings) >= SIGHTINGS]
    lengths = np.array([ridge.length for ridge in seen])
    layer = Layer(
        weights=lengths[:, None] * np.array([ridge.normal for ridge in seen]).reshape(-1, oracle.inputs),
        biases=lengths * np.array([ridge.offset for ridge in seen]),
        activation=TANH,
    )
    return layer, at_most(
        "hyperplanes that the last far line was the second to show",
        new,
        0.0,
        "others may be missing: the first layer is not complete",
    )


def _mean(sightings: list[Ridge]) -> Ridge:
    """One reading of a hyperplane: direction and length of the two that agree best, the median offset."""
    _, one, other = _best_pair(sightings)
    normal = one.normal + _sign(one, other) * other.normal
    offset = float(np.median([_sign(one, ridge) * ridge.offset for ridge in sightings]))
    return Ridge(normal / np.linalg.norm(normal), offset, 0.5 * (one.length + other.length))


def _best_pair(sightings: list[Ridge]) -> tuple[float, Ridge, Ridge]:
    """The two sightings whose directions agree best, and by how much they differ."""
    pairs = [(_distance(one, other), one, other) for one, other in combinations(sightings, 2)]
    return min(pairs, key=lambda pair: pair[0])


def _is_same(one: Ridge, other: Ridge) -> bool:
    return _distance(one, other) < SAME_DIRECTION


def _distance(one: Ridge, other: Ridge) -> float:
    return float(np.linalg.norm(one.normal - _sign(one, other) * other.normal))


def _sign(one: Ridge, other: Ridge) -> float:
    return 1.0 if one.normal @ other.normal > 0 else -1.0
