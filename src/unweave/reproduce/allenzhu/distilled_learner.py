"""[allenzhu, Fig. 7]: the learner with small units K and wide units W, against the network that it stands for.

Only K feeds higher levels, by squares of ``R S``; only W feeds the output. As the squares of ``R S`` determine all
products of features, the learner is a quadratic network whose links are those of K and W times ``R * R``.
"""

from collections.abc import Sequence

import numpy as np

from unweave.arrays import pack_squares
from unweave.networks.quadratic.densenet import Level, QuadraticDenseNet
from unweave.networks.quadratic.wiring import FIRST_LEVEL, Wiring, make_wiring
from unweave.reproduce.allenzhu.algorithm1 import GaussianFrame, frame_condition
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings

POINTS = 200


def settings(scale: Scale) -> Sequence[Settings]:
    """Widths of two and three levels, and the width m of the wide units."""
    shapes = ((8, "3-2"), (8, "4-2-1")) if scale is Scale.QUICK else ((10, "3-2"), (10, "4-2-1"), (20, "6-4-2"))
    return [{"inputs": inputs, "widths": widths, "wide": 24} for inputs, widths in shapes]


def measure(cell: Cell) -> Numbers:
    """Both answers at random points, and what trains."""
    rng, inputs = np.random.default_rng(cell.seed), int(cell.settings["inputs"])
    widths = tuple(map(int, str(cell.settings["widths"]).split("-")))
    wiring = make_wiring(inputs, widths)
    frames = [GaussianFrame()(rng, width) for width in widths]
    small, wide = [], []
    for level, width in enumerate(widths, start=FIRST_LEVEL):
        read = _read_terms(wiring, level, frames)
        small.append(rng.standard_normal((width, read)) / np.sqrt(read))
        wide.append(rng.standard_normal((int(cell.settings["wide"]), read)) / np.sqrt(read))
    points = rng.standard_normal((POINTS, inputs))
    answers = learner(points, wiring, small, wide, frames)
    network = as_network(wiring, small, wide, frames)(points)[:, 0]
    return {
        "difference": float(np.max(np.abs(answers - network)) / np.max(np.abs(answers))),
        "small": float(sum(each.size for each in small)),
        "wide": float(sum(each.size for each in wide)),
        "condition": max(frame_condition(frame) for frame in frames),
    }


def learner(
    points: np.ndarray,
    wiring: Wiring,
    small: Sequence[np.ndarray],
    wide: Sequence[np.ndarray],
    frames: Sequence[np.ndarray],
) -> np.ndarray:
    """The function F of [allenzhu, Sect. 2.2] as it is written there, with level weights 1 and E[x^2] = 1."""
    given, output = {0: points, 1: points**2 - 1.0}, np.zeros(len(points))
    for number, sources in enumerate(wiring.sources):
        read = np.concatenate([given[source] for source in sources], axis=1)
        output += np.sum((read @ wide[number].T) ** 2, axis=1)
        given[FIRST_LEVEL + number] = (read @ small[number].T @ frames[number].T) ** 2
    return output


def as_network(
    wiring: Wiring, small: Sequence[np.ndarray], wide: Sequence[np.ndarray], frames: Sequence[np.ndarray]
) -> QuadraticDenseNet:
    """The quadratic network with links K (R * R) and W (R * R)."""
    levels = []
    for number, sources in enumerate(wiring.sources):
        both = []
        for matrix in (small[number], wide[number]):
            parts, begin = [], 0
            for source in sources:
                frame = None if source < FIRST_LEVEL else frames[source - FIRST_LEVEL]
                width = wiring.inputs if frame is None else len(frame)
                block = matrix[:, begin : begin + width]
                parts.append(block if frame is None else block @ pack_squares(frame))
                begin += width
            both.append(np.concatenate(parts, axis=1))
        levels.append(Level(both[0], 1.0, None, both[1]))
    return QuadraticDenseNet(wiring, tuple(levels), np.ones(wiring.inputs))


def _read_terms(wiring: Wiring, level: int, frames: Sequence[np.ndarray]) -> int:
    sources = wiring.sources[level - FIRST_LEVEL]
    return sum(wiring.inputs if source < FIRST_LEVEL else len(frames[source - FIRST_LEVEL]) for source in sources)


TITLE = "the learner with distillation, and the quadratic network that it is"
COLUMNS = {
    "difference": "largest relative difference of answers",
    "small": "entries of K",
    "wide": "entries of W",
    "condition": "condition of R*R",
}
NOTES = (
    "Figure 7 is a drawing of the learner's structure without numbers; measured is that the structure, computed as "
    "drawn, is the quadratic network of the theory.",
)
