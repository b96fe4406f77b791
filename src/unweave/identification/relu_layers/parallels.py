"""Two parallel lines tell a shallow piecewise linear network from a deeper one.

Each neuron of a shallow network bends every line in one direction by the same amount, wherever the line
lies. Under further layers the bends depend on what those let through.
"""

import numpy as np
from jaxtyping import Float64

from unweave.identification.walks.kinks import KinkedLine

# Bends are the same if they differ by this share of the largest one.
SAME_BEND = 1e-6


def share_of_common_bends(one: KinkedLine, other: KinkedLine) -> float:
    """Share of the bends on a line that a parallel one has as well: about 1 for shallow networks.

    Where the lines have different numbers of bends, the share of the larger number; 1 if there are none.
    """
    first, second = _bends(one), _bends(other)
    if len(first) == 0 or len(second) == 0:
        return float(len(first) == len(second))
    distances = np.max(np.abs(first[:, None] - second[None]), axis=2)
    allowed = SAME_BEND * max(float(np.max(np.abs(first))), float(np.max(np.abs(second))))
    common = np.count_nonzero(np.min(distances, axis=1) <= allowed)
    return float(common / max(len(first), len(second)))


def _bends(walked: KinkedLine) -> Float64[np.ndarray, "kinks outputs"]:
    """Changes of slope at the kinks that were resolved."""
    pairs = zip(walked.kinks, walked.pieces, walked.pieces[1:], strict=False)
    bends = [after.slope - before.slope for kink, before, after in pairs if kink.is_resolved and before and after]
    outputs = len(bends[0]) if bends else 1
    return np.array(bends).reshape(-1, outputs)
