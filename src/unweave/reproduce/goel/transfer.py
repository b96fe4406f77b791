"""[goel, Thm. 4 and Claim 2]: minima of the objective of f are nearly minima of that of its linear part.

Moments are exact: for orthonormal rows and the sum of all units and pairs the entry whose indices hit unit i just m_i
times is ``D_R prod_{i in R} u_{m_i}``, with R the units that are hit and D_R the mixed derivative of the upper function
at the mean of the units.
"""

from itertools import product

import numpy as np
import scipy  # its parts are loaded when first used

from unweave.arrays import Vector
from unweave.learn.lowest_layer.units import monic_coefficients, unit_coefficients, unit_named
from unweave.numerics.symmetric_tensors import Tensor
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings
from unweave.reproduce.goel.landscapes import Landscape

INPUTS = 4
THRESHOLDS = (2.0, 2.5, 3.0, 4.0)
# Step of the differences of gradients, for second derivatives.
DIFFERENCE = 1e-5


def pairs_tensor(order: int, coefficients: Vector, *, inputs: int, has_pairs: bool) -> Tensor:
    """Give the exact moment of ``sum_i X_i``, and of all pairs if asked for, of units along the axes.

    Args:
        order: of the moment, at least 1.
        coefficients: of the unit, not normalised, orders 0 to `order`.
        inputs: number of units.
        has_pairs: whether ``sum_{i<j} X_i X_j`` is added.
    """
    tensor = np.zeros((inputs,) * order)
    for index in product(range(inputs), repeat=order):
        hit, counts = np.unique(index, return_counts=True)
        derivative = {1: 1.0 + has_pairs * (inputs - 1) * coefficients[0], 2: float(has_pairs)}.get(len(hit), 0.0)
        tensor[index] = derivative * np.prod(coefficients[counts])
    return tensor


def _landscape(unit_name: str, threshold: float, *, has_pairs: bool) -> Landscape:
    unit = unit_named(unit_name)
    monic, normal = monic_coefficients(unit, threshold, 4), unit_coefficients(unit, threshold, 4)
    second, fourth = (pairs_tensor(k, monic, inputs=INPUTS, has_pairs=has_pairs) for k in (2, 4))
    return Landscape(second, fourth, float(normal[2]), float(normal[4]))


def _hessian(landscape: Landscape, z: Vector) -> np.ndarray:
    steps = DIFFERENCE * np.eye(len(z))
    rows = [landscape.one_by_one(z + step)[1] - landscape.one_by_one(z - step)[1] for step in steps]
    hessian = np.array(rows) / (2 * DIFFERENCE)
    return 0.5 * (hessian + hessian.T)


def settings(_: Scale) -> list[Settings]:
    """Give units and thresholds."""
    return [{"unit": unit, "threshold": t} for unit in ("step", "relu") for t in THRESHOLDS]


def measure(cell: Cell) -> Numbers:
    """Compare the landscape with that of single units."""
    name, threshold = str(cell.settings["unit"]), float(cell.settings["threshold"])
    whole, linear = (_landscape(name, threshold, has_pairs=has_pairs) for has_pairs in (True, False))
    start = 0.5 * np.random.default_rng(cell.seed).standard_normal(INPUTS)
    z = scipy.optimize.minimize(whole.one_by_one, start, jac=True, method="BFGS", options={"gtol": 1e-11}).x
    gradients = [landscape.one_by_one(z)[1] for landscape in (whole, linear)]
    hessians = [_hessian(landscape, z) for landscape in (whole, linear)]
    lowest = [float(np.linalg.eigvalsh(hessian)[0]) for hessian in hessians]
    return {
        "gradient": float(np.linalg.norm(gradients[1])),
        "gradient bound": float(np.linalg.norm(gradients[0]) + np.linalg.norm(gradients[1] - gradients[0])),
        "eigenvalue": lowest[1],
        "eigenvalue bound": lowest[0] - float(np.linalg.norm(hessians[1] - hessians[0], 2)),
        "angle": float(np.degrees(np.arccos(min(np.max(np.abs(z)) / np.linalg.norm(z), 1.0)))),
    }


TITLE = "minima of the objective, and of that of the linear part"
REPETITIONS = {Scale.QUICK: 3, Scale.USUAL: 10, Scale.FULL: 50}
COLUMNS = {
    "gradient": "|grad G_lin| at a minimum of G",
    "gradient bound": "|grad G| + |grad (G - G_lin)|",
    "eigenvalue": "least eigenvalue of the Hessian of G_lin",
    "eigenvalue bound": "that of G minus |Hessian of the difference|",
    "angle": "angle of the minimum to a row, degrees",
}
NOTES = (
    f"{INPUTS} orthonormal rows, sum of all units and pairs, exact moments; objectives in units of |u_4|.",
    "Theorem 4 is the triangle inequality at one point; what it is for shows in the last column: the higher the "
    "threshold, the nearer the minima are to rows.",
    "The definition of an approximate minimum is printed with lambda_min(Hessian) <= tau; it is >= -tau.",
)
