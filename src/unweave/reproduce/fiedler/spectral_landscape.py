"""Local maximisers of the spectral norm in a span [fiedler, Thm. 2.2]: no first eigenvalue between two levels."""

from collections.abc import Sequence

import numpy as np

from unweave.numerics.matrix_subspace import MatrixSubspace
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings
from unweave.reproduce.fiedler.entangled_metrics import distances_up_to_sign
from unweave.reproduce.fiedler.frame_bounds import spectral_dichotomy
from unweave.reproduce.fiedler.incoherence import frame_constant
from unweave.reproduce.fiedler.near_frames import PlantedSpan
from unweave.reproduce.fiedler.subspace_power import spectral_step, top_eigenpairs, with_positive_top

# Inputs, neurons, noise of the frame, error of the span.
PLANTS = ((12, 12, 0.0, 0.001), (12, 12, 0.002, 0.001), (20, 20, 0.0, 0.005), (12, 13, 0.0, 0.01))
LARGER = ((56, 57, 0.0, 0.0003),)
STARTS, STEPS, STEP = 40, 400, 2.0


def settings(scale: Scale) -> Sequence[Settings]:
    """List plants: the last of the quick ones is outside the conditions."""
    plants = PLANTS if scale is not Scale.FULL else PLANTS + LARGER
    return [
        {"inputs": inputs, "neurons": neurons, "noise": noise, "error": error}
        for inputs, neurons, noise, error in plants
    ]


def measure(cell: Cell) -> Numbers:
    """Ascend by [fiedler, Alg. 2.1] from random matrices of the span."""
    rng = np.random.default_rng(cell.seed)
    planted = PlantedSpan.of(cell.settings, rng)
    atoms, span, error, frame = planted.atoms, planted.span, planted.error, frame_constant(planted.atoms)
    values, vectors, falls, moved = ascended(span, rng.standard_normal((STARTS, span.rank)))
    levels = spectral_dichotomy(error=error, frame=frame)
    good = values**2 >= levels.good
    distances = np.min(distances_up_to_sign(vectors, atoms), axis=1)
    return {
        "frame": frame,
        "applies": float(levels.applies),
        "low": levels.spurious,
        "high": levels.good,
        "smallest": float(np.min(values**2)),
        "between": float(levels.between(values**2)) if levels.applies else np.nan,
        "distance": float(np.max(distances[good])) if np.any(good) else np.nan,
        "falls": float(falls),
        "moved": moved,
    }


def ascended(span: MatrixSubspace, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray, int, float]:
    """First eigenvalues and eigenvectors at the ends, how many steps lowered one, and the longest last step."""
    coefficients = with_positive_top(coefficients, span)
    before, falls, moved = top_eigenpairs(coefficients, span)[0], 0, np.inf
    for _ in range(STEPS):
        after = spectral_step(coefficients, span, step=STEP)
        moved, coefficients = float(np.max(np.linalg.norm(after - coefficients, axis=1))), after
        values = top_eigenpairs(coefficients, span)[0]
        falls += int(np.count_nonzero(values < before - 1e-12))
        before = values
        if moved < 1e-10:
            break
    return *top_eigenpairs(coefficients, span), falls, moved


TITLE = "local maximisers of the spectral norm: the squared first eigenvalue avoids a gap"
COLUMNS = {
    "frame": "nu",
    "applies": "conditions hold (1 or 0)",
    "low": "38 delta + 13 nu",
    "high": "1 - 38 delta - 13 nu",
    "smallest": "smallest squared lambda_1",
    "between": "maximisers between (0 by the theorem)",
    "distance": "largest distance of a good one to an atom",
    "falls": "steps that lower lambda_1 (0 by Lemma 2.11)",
    "moved": "longest last step",
}
NOTES = (
    "Maximisers are the ends of projected ascent [fiedler, Alg. 2.1] from random matrices of the span: what it "
    "does not reach "
    "is not seen.",
    "The condition needs nu below 1/52, which holds for as many nearly orthonormal atoms as inputs; the last "
    "row of the "
    "usual size is a tight frame of one atom more, to which the theorem does not apply.",
)
