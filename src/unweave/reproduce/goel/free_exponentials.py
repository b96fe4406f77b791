"""[goel, Thm. 9]: exponential units without threshold, and why the printed objective has no maximum."""

from math import exp

import numpy as np

from unweave.arrays import Vector
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings
from unweave.reproduce.goel.exponential_units import hessian_clusters, simplex_sets

SAMPLES = {Scale.QUICK: 120_000, Scale.USUAL: 1_000_000, Scale.FULL: 10_000_000}
CASES = {"two sets": ((0, 2), (1, 4)), "three sets": ((0, 1), (2, 3), (4, 5))}
INPUTS, PRODUCTS = 7, 0.02
# Penalties of the printed objective: the first is small, the second meets Lemma 21 only by little.
PENALTIES = ((0.1, 0.1), (1.0, 1.0))
STEPS, STEP, RUNAWAY = 4_000, 0.01, 8.0


def printed_objective_gradient(z: Vector, sets: tuple[tuple[int, ...], ...], lam: float, gamma: float) -> Vector:
    """Give the gradient of ``g(z) - lambda |z|_1 - gamma |z|^2`` for ``z >= 0`` and units without products."""
    gradient = -lam - 2 * gamma * z
    for group in sets:
        members = list(group)
        gradient[members] += exp(min(len(group) / 2 + float(z[members].sum()), 100.0))
    return gradient


def ascent_end(sets: tuple[tuple[int, ...], ...], rng: np.random.Generator, lam: float, gamma: float) -> float:
    """Ascend the printed objective from near zero; give the largest entry where it stops, or is beyond all bounds."""
    z = 0.1 * rng.random(INPUTS)
    for _ in range(STEPS):
        gradient = printed_objective_gradient(z, sets, lam, gamma)
        moved = np.maximum(z + STEP * gradient / max(float(np.abs(gradient).max()), 1.0), 0.0)
        if np.max(np.abs(moved - z)) < 1e-9 or np.max(moved) > RUNAWAY:
            return float(np.max(moved))
        z = moved
    return float(np.max(z))


def settings(scale: Scale) -> list[Settings]:
    """Give all families of sets."""
    return [{"sets": name, "samples": SAMPLES[scale]} for name in CASES]


def measure(cell: Cell) -> Numbers:
    """Find sets of units by exponentials."""
    rng, truth = np.random.default_rng(cell.seed), CASES[str(cell.settings["sets"])]
    points = rng.standard_normal((int(cell.settings["samples"]), INPUTS))
    values = np.exp(np.column_stack([points[:, list(group)].sum(axis=1) for group in truth]))
    total = values.sum(axis=1)
    labels = total + PRODUCTS * (total**2 - np.sum(values**2, axis=1)) / 2
    hessian, simplex = hessian_clusters(points, labels), simplex_sets(points, labels)
    return {
        "hessian": float(sorted(hessian.sets) == sorted(truth)),
        "hessian claimed": float(hessian.is_reliable),
        "simplex": float(sorted(simplex.sets) == sorted(truth)),
        "simplex claimed": float(simplex.is_reliable),
        "printed end": min(ascent_end(truth, rng, lam, gamma) for lam, gamma in PENALTIES),
    }


TITLE = "sets under exponential units without threshold"
REPETITIONS = {Scale.QUICK: 3, Scale.USUAL: 5, Scale.FULL: 20}
COLUMNS = {
    "hessian": "rows of the moment of order 2: sets are right",
    "hessian claimed": "verdict",
    "simplex": "maxima on a simplex: right",
    "simplex claimed": "verdict",
    "printed end": f"largest entry after ascent of the printed objective (beyond {RUNAWAY:g}: unbounded)",
}
NOTES = (
    "The printed objective g(z) - lambda |z|_1 - gamma |z|^2 grows without bound, because g is exponential: ascent "
    "runs away. On the simplex z >= 0, sum z = 1 it has a maximum for every set.",
    "Rows of the moment of order 2 are equal for inputs of one set; no optimisation is needed.",
)
