"""[goel, Alg. 2 and Lemma 3]: the tangent of an angle from two quantiles, and where these lie [Lemma 6]."""

from math import cos, sin, tan

import numpy as np
from scipy.special import ndtri

from unweave.activations import STEP
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings
from unweave.reproduce.goel.planted import labels_of, orthonormal_rows, turned
from unweave.reproduce.goel.slab_refinement import QUANTILE_LEVELS, estimate_tan_alpha

INPUTS, WIDTH, QUIET_MARGIN = 5, 0.1, 0.2
SAMPLES = {Scale.QUICK: 300_000, Scale.USUAL: 1_000_000, Scale.FULL: 10_000_000}
ANGLES, THRESHOLDS = (0.1, 0.2, 0.4), (1.5, 2.0, 2.5)


def settings(scale: Scale) -> list[Settings]:
    """Give angles and thresholds."""
    return [{"angle": a, "threshold": t, "samples": SAMPLES[scale]} for t in THRESHOLDS for a in ANGLES]


def measure(cell: Cell) -> Numbers:
    """Measure the tangent of an angle by two quantiles."""
    angle, threshold = float(cell.settings["angle"]), float(cell.settings["threshold"])
    rng = np.random.default_rng(cell.seed)
    rows = orthonormal_rows(rng, rows=INPUTS, inputs=INPUTS)
    direction = turned(rows[0], angle, rng)
    points = rng.standard_normal((int(cell.settings["samples"]), INPUTS))
    is_active = labels_of(points, rows, unit=STEP, threshold=threshold, upper="OR") > 0
    quiet = np.max(points @ rows[1:].T, axis=1) < threshold - QUIET_MARGIN
    all_of_them = estimate_tan_alpha(points, is_active, direction, width=WIDTH)
    quiet_ones = estimate_tan_alpha(points[quiet], is_active[quiet], direction, width=WIDTH)
    upper = (threshold + float(ndtri(QUANTILE_LEVELS[1])) * sin(angle)) / cos(angle)
    return {
        "tangent": tan(angle),
        "estimate": all_of_them.tangent,
        "quiet": quiet_ones.tangent,
        "threshold": quiet_ones.threshold,
        "quantile": upper * cos(angle) / threshold,
    }


def published(settings: Settings) -> dict[str, float]:
    """Give the threshold that was planted: the quantile hits it."""
    return {"threshold": float(settings["threshold"]), "quantile": 1.0}


TITLE = "tangents from two quantiles"
REPETITIONS = {Scale.QUICK: 2, Scale.USUAL: 3, Scale.FULL: 10}
COLUMNS = {
    "tangent": "tan alpha",
    "estimate": "estimate from all samples",
    "quiet": "without samples of other half spaces",
    "threshold": "threshold from them",
    "quantile": "t_2 cos(alpha) / t, exact (printed bound)",
}
NOTES = (
    "The box of Algorithm 2 is missing in the text that was used; it is rebuilt from Lemmas 3 to 6.",
    "Other half spaces lift the floor of both quantiles, eta = d exp(-Omega(t^2)) in Lemma 3, and the tangent with "
    "them. Without their samples it is somewhat too small: what is left out lies on one side of the slab.",
    "Lemma 6 bounds t_2 by t / cos(alpha); the quantile at 0.6 lies beyond, where the probability is above 1/2.",
)
