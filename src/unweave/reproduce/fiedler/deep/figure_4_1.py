"""Hessians fan out around the span at the base point [fiedler, Fig. 4.1], measured instead of sketched."""

from collections.abc import Sequence

import numpy as np

from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings
from unweave.reproduce.fiedler.deep.concentration import sphere_points
from unweave.reproduce.fiedler.deep.pictures import draw_cone
from unweave.reproduce.fiedler.deep.teachers import EXACT, teacher_of
from unweave.reproduce.fiedler.entangled import drift_constant, target_span
from unweave.reproduce.fiedler.entangled_metrics import projector_gap
from unweave.reproduce.fiedler.entangled_recovery import measured_span

RADII = (0.01, 0.03, 0.1, 0.2, 0.3)
# Hessians that are drawn for every radius.
DRAWN = 80


def settings(scale: Scale) -> Sequence[Settings]:
    """One network at several radii."""
    inputs, neurons = (20, "20-10-6") if scale is Scale.QUICK else (50, "50-25-10")
    return [{"inputs": inputs, "neurons": neurons, "outputs": "tanh", "radius": radius} for radius in RADII]


def measure(cell: Cell) -> Numbers:
    """Split changes of Hessians into what stays in the span at zero and what leaves it."""
    planted, radius, rng = teacher_of(cell), float(cell.settings["radius"]), np.random.default_rng([cell.seed, 3])
    inputs = planted.network.inputs
    points = sphere_points(rng, count=4 * planted.architecture.neurons, inputs=inputs, radius=radius)
    hessians, subspace = measured_span(planted.derivatives(EXACT), points, rank=planted.architecture.visible)
    target = target_span(planted.network, np.zeros(inputs))
    changes = (hessians - planted.network.hessians(np.zeros((1, inputs)))).reshape(-1, len(target))
    inside = changes @ target
    outside = changes - inside @ target.T
    leading = np.linalg.svd(outside, full_matrices=False)[2][0]
    heights = np.linalg.norm(outside, axis=1)
    widths = np.linalg.norm(inside, axis=1)
    shown = slice(None, None, max(1, len(widths) // DRAWN))
    return {
        "drift": float(np.sqrt(np.mean(heights**2))),
        "bound": drift_constant(planted.network) * radius,
        "slope": float(np.sqrt(np.mean(heights**2) / np.mean(widths**2))),
        "gap": projector_gap(target, subspace.basis),
        "inside": widths[shown].tolist(),
        "outside": (np.sign(outside @ leading) * heights)[shown].tolist(),
    }


draw = draw_cone
TITLE = "drift of Hessians out of the span at the base point"
REPETITIONS = {Scale.QUICK: 1, Scale.USUAL: 5, Scale.FULL: 10}
COLUMNS = {
    "drift": "distance of Hessians to the span",
    "bound": "bound on it (Lemma 4.2)",
    "slope": "distance over change inside",
    "gap": "sine of the angle to the span found",
}
NOTES = (
    "The published figure is a sketch without numbers. Distances are root mean squares over points and outputs.",
    "Both the distance to the span and the change inside it grow with the radius, so that the cone keeps its "
    "slope, and the span that is found does not come nearer however small the radius is.",
)
