"""[allenzhu, Thm. 3]: labels that no network explains: the risk of what is learnt against that of the best network."""

from collections.abc import Sequence

import numpy as np

from unweave.arrays import PerPoint, Points
from unweave.learn.hierarchical.joint_fit import JointLevenbergMarquardt
from unweave.reproduce.allenzhu.planted_tasks import OTHER_SIZES, PlantedTask
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings

NOISE, FUNCTION = "noise", "a sine of the inputs"


def settings(scale: Scale) -> Sequence[Settings]:
    """Shares of what can't be explained, of two kinds."""
    inputs, samples = {Scale.QUICK: (6, (600,)), Scale.USUAL: (10, (1_000, 4_000)), Scale.FULL: (20, (2_000, 20_000))}[
        scale
    ]
    return [
        {"inputs": inputs, "samples": count, "disturbance": kind, "share": share}
        for count in samples
        for kind in (NOISE, FUNCTION)
        for share in (0.01, 0.1)
    ]


def measure(cell: Cell) -> Numbers:
    """The risk on fresh points over OPT, and the distance to the planted network."""
    given = cell.settings
    task = PlantedTask(cell.seed, int(given["inputs"]), (3, 2), (1.0, 0.3), int(given["samples"]))
    size, kind = float(np.sqrt(float(given["share"])) * np.std(task.truth)), str(given["disturbance"])
    rng = np.random.default_rng([cell.seed, 7])
    labels = task.labels + size * _disturbance(kind, task.points, rng)
    fresh = task.truth + size * _disturbance(kind, task.fresh, rng)
    fit = JointLevenbergMarquardt(restarts=4)(task.student(), task.points, labels, rng=task.rng)
    opt = float(np.mean((task.truth - fresh) ** 2))
    risk = float(np.mean((fit.network(task.fresh)[:, 0] - fresh) ** 2))
    return {
        "opt": opt / float(np.var(fresh)),
        "risk": risk / float(np.var(fresh)),
        "ratio": risk / opt,
        "distance": task.error(fit.network),
    }


def _disturbance(kind: str, points: Points, rng: np.random.Generator) -> PerPoint:
    """Numbers of mean square 1, at random or by a function that is no polynomial."""
    if kind == NOISE:
        return rng.standard_normal(len(points))
    return np.sqrt(2.0) * np.sin(3.0 * np.sum(points, axis=1) / np.sqrt(points.shape[1]))


TITLE = "learning from labels beyond the class"
COLUMNS = {
    "opt": "OPT",
    "risk": "risk of what is learnt",
    "ratio": "risk / OPT: 1 + gamma",
    "distance": "distance to the planted network",
}
NOTES = (
    OTHER_SIZES,
    "The theorem: risk at most (1 + gamma) OPT + e^2 for any constant gamma > 0. OPT is that of the planted "
    "network. Training is second order, on all levels at once, instead of Algorithm 1.",
)
