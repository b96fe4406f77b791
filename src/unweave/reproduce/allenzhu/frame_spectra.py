"""[allenzhu, Lemma C.6]: singular values of R*R for a random matrix R of variance 1 / k^2."""

from collections.abc import Sequence

import numpy as np

from unweave.arrays import pack_squares
from unweave.reproduce.allenzhu.algorithm1 import GaussianFrame, StructuredFrame, frame_condition
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings


def settings(scale: Scale) -> Sequence[Settings]:
    """Numbers of features."""
    widths = {Scale.QUICK: (2, 6), Scale.USUAL: (2, 4, 8, 16), Scale.FULL: (2, 4, 8, 16, 32)}[scale]
    return [{"features": width} for width in widths]


def measure(cell: Cell) -> Numbers:
    """Both ends of the spectrum, in the units of the lemma."""
    width = int(cell.settings["features"])
    frame = GaussianFrame()(np.random.default_rng(cell.seed), width)
    values = np.linalg.svd(pack_squares(frame), compute_uv=False)
    return {
        "smallest": float(values[-1]),
        "scaled": float(values[-1] * width**4),
        "largest": float(values[0]),
        "norm": float(np.linalg.norm(frame, 2)),
        "condition": float(values[0] / values[-1]),
        "structured": frame_condition(StructuredFrame()(np.random.default_rng(cell.seed), width)),
    }


TITLE = "random frames that feed features to higher levels"
REPETITIONS = {Scale.QUICK: 5, Scale.USUAL: 50, Scale.FULL: 1_000}
COLUMNS = {
    "smallest": "s_min(R*R)",
    "scaled": "times k^4",
    "largest": "s_max(R*R)",
    "norm": "|R|",
    "condition": "condition of R*R",
    "structured": "the same, structured frame",
}
NOTES = (
    "The lemma: s_min is at least 1 / O(k^4 p^2), s_max and |R| are O(1 + log(k/p) / k^2) and O(1 + sqrt(log(1/p)) "
    "/ k), with probability 1 - p. No constants are printed.",
    "The structured frame, with rows e_i and (e_i + e_j) / sqrt 2, is ours.",
)
