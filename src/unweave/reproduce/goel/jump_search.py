"""[goel, Thm. 7, Cor. 1 and Lemma 8]: rows without high thresholds or linear parts, by exhaustive search for jumps.

Verdict: rows are claimed if they differ, and the jump along each is significant on samples that were not searched.
"""

from math import exp, pi, sqrt

import numpy as np
from scipy.special import ndtr

from unweave.activations import RELU, STEP, Activation
from unweave.arrays import Atoms, PerNeuron, PerPoint, Points
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings
from unweave.reproduce.goel.delta_search import delta_search, jumps_across
from unweave.reproduce.goel.planted import orthonormal_rows, row_angles

SAMPLES = {Scale.QUICK: 60_000, Scale.USUAL: 500_000, Scale.FULL: 4_000_000}
NET = {Scale.QUICK: 40, Scale.USUAL: 600, Scale.FULL: 4_000}
INPUTS = {Scale.QUICK: 2, Scale.USUAL: 3, Scale.FULL: 3}
THRESHOLD, WIDTH, RELU_WIDTH = 0.3, 0.1, 0.2
# A jump is claimed beyond so many standard errors: one in millions by chance.
CLAIMED_ERRORS = 5.0
CASES = ("pairs only", "signs mixed", "nothing", "relu, pairs only")


def labels_of_case(values: Points, case: str) -> PerPoint:
    """Give labels without a linear part, with derivatives of both signs, or without any row."""
    total = values.sum(axis=1)
    pairs = (total**2 - np.sum(values**2, axis=1)) / 2
    if case == "signs mixed":
        signs = (-1.0) ** np.arange(values.shape[1])
        return values @ signs + 0.5 * pairs
    return pairs


def jump_errors(points: Points, labels: PerPoint, directions: Atoms, *, unit: Activation, width: float) -> PerNeuron:
    """Estimate standard errors of the jumps: a sum over the samples of some slabs."""
    slabs = 1.0 if unit is STEP else 2.0
    near = np.abs(points @ directions.T - THRESHOLD) < slabs * width
    sums = np.sqrt(np.sum(near * (labels**2)[:, None], axis=0))
    return sums / (width if unit is STEP else width**2) / len(points)


def settings(scale: Scale) -> list[Settings]:
    """Give what is planted beyond single units."""
    return [
        {"case": case, "inputs": INPUTS[scale], "samples": SAMPLES[scale], "directions": NET[scale]} for case in CASES
    ]


def measure(cell: Cell) -> Numbers:
    """Search directions for a jump, and compare it with the prediction."""
    inputs, samples, directions = (int(cell.settings[name]) for name in ("inputs", "samples", "directions"))
    case, rng = str(cell.settings["case"]), np.random.default_rng(cell.seed)
    unit, width = (RELU, RELU_WIDTH) if case.startswith("relu") else (STEP, WIDTH)
    rows = orthonormal_rows(rng, rows=inputs, inputs=inputs)
    points = rng.standard_normal((samples, inputs))
    labels = labels_of_case(unit(points @ rows.T - THRESHOLD), case.removeprefix("relu, "))
    if case == "nothing":
        labels = rng.permutation(labels)
    half = samples // 2
    found = delta_search(
        points[:half],
        labels[:half],
        rng,
        unit=unit,
        threshold=THRESHOLD,
        rank=inputs,
        width=width,
        directions=directions,
    )
    centred = labels[half:] - labels[half:].mean()
    jumps = jumps_across(points[half:], centred, found.rows, unit=unit, threshold=THRESHOLD, width=width)
    errors = jump_errors(points[half:], centred, found.rows, unit=unit, width=width)
    at_rows = jumps_across(points, labels - labels.mean(), rows, unit=unit, threshold=THRESHOLD, width=width)
    angles = row_angles(rows, found.rows, is_signed=True)
    return {
        "median angle": float(np.median(angles)),
        "largest angle": float(np.max(angles)),
        "weakest": float(np.min(np.abs(jumps) / errors)),
        "claimed": float(np.all(np.abs(jumps) > CLAIMED_ERRORS * errors) and _are_distinct(found.rows)),
        "jump": float(np.abs(at_rows[0])),
        "predicted": _predicted(case, inputs),
    }


def _are_distinct(rows: Atoms) -> bool:
    """Tell whether no two rows see the same jump: slabs of this width do not tell smaller angles."""
    cosines = rows @ rows.T - 2 * np.eye(len(rows))
    return bool(np.max(cosines) < np.cos(2 * WIDTH))


def _predicted(case: str, inputs: int) -> float:
    """The jump along the first row: density at the threshold times the mean derivative of the upper function."""
    density = exp(-(THRESHOLD**2) / 2) / sqrt(2 * pi)
    active = float(ndtr(-THRESHOLD))
    mean = density - THRESHOLD * active if case.startswith("relu") else active
    if case == "nothing":
        return 0.0
    others = (inputs - 1) * mean
    return density * (1 + 0.5 * others if case == "signs mixed" else others)


TITLE = "rows where labels jump or bend"
COLUMNS = {
    "median angle": "median angle in degrees",
    "largest angle": "largest angle",
    "weakest": "weakest jump on fresh samples / its error",
    "claimed": f"verdict: all beyond {CLAIMED_ERRORS:g}",
    "jump": "jump (relu: change of slope) at the first row",
    "predicted": "phi(t) E(dP/dX_1)",
}
NOTES = (
    f"Threshold {THRESHOLD:g}, orthonormal rows. The number of samples is polynomial, that of directions is not: "
    "exhaustive up to 4 inputs here.",
    "In the case without rows the labels are shuffled: nothing may be claimed there.",
    "Claim 4 is printed with the absolute value of cot(alpha), which has its sign; the extra terms of Lemma 19 "
    "belong to one side only and cancel.",
)
