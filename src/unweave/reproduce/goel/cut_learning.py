"""[goel, App. E]: a network that is learnt at a cut, first below and then above.

Verdict: the cut is claimed to separate both parts if its score, with its upper limit, is small, and the lower part is
identified, at least in part.
"""

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from unweave.activations import RELU, TANH
from unweave.learn.lowest_layer.estimators import LowestLayerRegressor
from unweave.networks.planted import upper_network
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings
from unweave.reproduce.goel.modular import modular_fit
from unweave.reproduce.goel.planted import MISSED, orthonormal_rows, row_angles
from unweave.result import Outcome

SAMPLES = {Scale.QUICK: 30_000, Scale.USUAL: 200_000, Scale.FULL: 1_000_000}
INPUTS, FRESH, LARGEST_SCORE, DEGREE = 3, 20_000, 0.5, 4
CUTS = ("sum and pairs", "network of two layers")
THRESHOLDS = (0.5, 1.0, 1.5, 2.0)


def settings(scale: Scale) -> list[Settings]:
    """Give what lies above, and thresholds."""
    return [{"above": above, "threshold": t, "samples": SAMPLES[scale]} for above in CUTS for t in THRESHOLDS]


def measure(cell: Cell) -> Numbers:
    """Learn the lowest layer, then what lies above it."""
    rng, samples = np.random.default_rng(cell.seed), int(cell.settings["samples"])
    rows = orthonormal_rows(rng, rows=INPUTS, inputs=INPUTS)
    points = rng.standard_normal((samples + FRESH, INPUTS))
    values = RELU(points @ rows.T - float(cell.settings["threshold"]))
    if cell.settings["above"] == "sum and pairs":
        total = values.sum(axis=1)
        labels = total + (total**2 - np.sum(values**2, axis=1)) / 2
    else:
        labels = upper_network(rng, INPUTS, activation=TANH)(values)[:, 0]
    lower = LowestLayerRegressor(random_state=cell.seed)
    upper = make_pipeline(PolynomialFeatures(DEGREE), LinearRegression())
    fit = modular_fit(points[:samples], labels[:samples], lower, upper, rng)
    exact = labels[samples:]
    left = float(np.mean((fit.predict(points[samples:]) - exact) ** 2) / np.var(exact))
    found = fit.lower.weights_
    angle = float(np.median(row_angles(rows, found, is_signed=True))) if len(found) else MISSED
    is_lower = fit.lower.outcome_ is not Outcome.NOT_IDENTIFIED
    return {
        "score": fit.cut.score,
        "upper": fit.cut.upper,
        "median angle": angle,
        "left": left,
        "claimed": float(is_lower and fit.cut.upper < LARGEST_SCORE),
    }


TITLE = "networks that are learnt at a cut"
COLUMNS = {
    "score": "mu of the cut: smaller is more independent",
    "upper": "its upper limit",
    "median angle": "median angle of the rows below, degrees",
    "left": "share of the variance left on fresh samples",
    "claimed": f"verdict: lower part identified and mu below {LARGEST_SCORE:g}",
}
NOTES = (
    "Appendix E names a property of a cut, E(prod_S X) / E(X_j) < mu^(|S| - 1), and no algorithm. The lower part "
    "is learnt here as if labels were linear in its units, and refined; the upper part by regression on "
    f"polynomials of degree {DEGREE} of the units, as which the appendix models it.",
    f"{INPUTS} orthonormal rows of relu units; the network above has tanh layers with random weights.",
)
