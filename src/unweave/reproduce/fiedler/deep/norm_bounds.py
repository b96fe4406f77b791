"""Bounds on entangled weights, their drift and the coefficients of Hessians [fiedler, Lemma 4.2]."""

from collections.abc import Sequence

import numpy as np

from unweave.arrays import Vector
from unweave.networks.network import Network
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings
from unweave.reproduce.fiedler.deep.teachers import set_ups, teacher_of
from unweave.reproduce.fiedler.entangled import (
    EntangledBounds,
    entangled_bounds,
    entangled_weights,
    hessian_coefficients,
)

PAIRS = {Scale.QUICK: 20, Scale.USUAL: 100, Scale.FULL: 1_000}
FORMS = {"printed": False, "sharper": True}


def settings(scale: Scale) -> Sequence[Settings]:
    """Depths and output activations; points are at several distances."""
    small, large = ("8-6-4", "10-8-6-3"), ("50-25-10", "50-25-50", "50-35-25-10")
    rows = set_ups(10, small) if scale is Scale.QUICK else set_ups(50, large)
    return [row | {"pairs": PAIRS[scale]} for row in rows]


def measure(cell: Cell) -> Numbers:
    """The largest ratios of what is measured at random points to its bounds, over all layers."""
    network, rng = teacher_of(cell).network, np.random.default_rng([cell.seed, 4])
    bounds = {name: entangled_bounds(network, is_sharper=is_sharper) for name, is_sharper in FORMS.items()}
    found = {f"{part}_{name}": 0.0 for name in FORMS for part in ("norm", "drift", "coefficient")}
    for _ in range(int(cell.settings["pairs"])):
        point = rng.standard_normal(network.inputs)
        other = point + 10.0 ** rng.uniform(-3.0, 0.5) * rng.standard_normal(network.inputs)
        for name, bound in bounds.items():
            for part, ratio in _ratios(network, bound, point, other).items():
                found[f"{part}_{name}"] = max(found[f"{part}_{name}"], ratio)
    return dict(found)


def _ratios(network: Network, bounds: EntangledBounds, point: Vector, other: Vector) -> dict[str, float]:
    """The largest ones over the layers at a pair of points."""
    here, there = entangled_weights(network, point), entangled_weights(network, other)
    distance = float(np.linalg.norm(point - other))
    norms = [np.linalg.norm(rows, 2) / bound for rows, bound in zip(here, bounds.norms, strict=True)]
    # The first layer does not drift: its bound is zero.
    drifts = [
        np.linalg.norm(one - two, 2) / (bound * distance)
        for one, two, bound in zip(here[1:], there[1:], bounds.drifts[1:], strict=True)
    ]
    tables = zip(hessian_coefficients(network, point), bounds.coefficients, strict=True)
    coefficients = [np.max(np.linalg.norm(table, axis=1)) / bound for table, bound in tables if bound > 0]
    return {"norm": float(max(norms)), "drift": float(max(drifts)), "coefficient": float(max(coefficients))}


TITLE = "entangled weights and coefficients of Hessians over their bounds"
REPETITIONS = {Scale.QUICK: 2, Scale.USUAL: 5, Scale.FULL: 10}
COLUMNS = {
    f"{part}_{name}": f"{words}, {name}"
    for name in FORMS
    for part, words in (("norm", "norm (4.28)"), ("drift", "drift (4.29)"), ("coefficient", "coefficient (4.30)"))
}
NOTES = (
    "Largest ratios over layers and random pairs of points, which are 1 at most where the statement holds. The "
    "printed bounds take one constant for three derivatives of the activations, the sharper ones keep the first "
    "and the second apart.",
    "The coefficients of a bending output layer are bounded by the second derivative alone, which (4.30) leaves out.",
)
