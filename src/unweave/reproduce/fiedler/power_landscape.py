"""Local maximisers of ``Phi`` in a span [fiedler, Thm. 2.6, 2.7 and 2.8]: levels, distances and how many there are."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unweave.arrays import Atoms, pack_squares
from unweave.numerics.matrix_subspace import MatrixSubspace
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings
from unweave.reproduce.fiedler import frame_bounds as bounds
from unweave.reproduce.fiedler.entangled_metrics import distances_up_to_sign
from unweave.reproduce.fiedler.incoherence import frame_constant, upper_frame_constant
from unweave.reproduce.fiedler.near_frames import (
    Maximisers,
    ascent_left,
    coefficients_of,
    local_maximisers,
    near_frame,
    random_atoms,
    rotated_span,
    span_of_squares,
    spurious_span,
)

# Plant, inputs, neurons, noise of the frame, error of the span.
PLANTS = (
    ("rotated", 12, 12, 0.0, 0.002),
    ("rotated", 12, 12, 0.002, 0.005),
    ("rotated", 20, 20, 0.02, 0.005),
    ("rotated", 20, 21, 0.0, 0.005),
    ("spurious", 20, 12, 0.0, 0.01),
)
LARGER = (("rotated", 64, 65, 0.0, 0.001), ("rotated", 40, 46, 0.0, 0.005), ("spurious", 40, 30, 0.001, 0.005))


@dataclass(frozen=True)
class Landscape:
    """A planted span, its distance to that of the atoms, and the maximisers that were found."""

    span: MatrixSubspace
    atoms: Atoms
    error: float
    frame: float
    found: Maximisers


def settings(scale: Scale) -> Sequence[Settings]:
    """List plants."""
    plants = {Scale.QUICK: PLANTS, Scale.USUAL: PLANTS + LARGER[1:], Scale.FULL: PLANTS + LARGER}[scale]
    return [
        {"plant": plant, "inputs": inputs, "neurons": neurons, "noise": noise, "error": error}
        for plant, inputs, neurons, noise, error in plants
    ]


def measure(cell: Cell) -> Numbers:
    """Find the maximisers, and compare with each theorem."""
    planted = plant(cell)
    return {
        "frame": planted.frame,
        **_levels(planted),
        **_distances(planted),
        **_counted(planted),
        "unconverged": float(planted.found.unconverged),
    }


def plant(cell: Cell) -> Landscape:
    """Plant what the settings say and search it from random starts, and from where the spurious maximiser is."""
    given = cell.settings
    rng = np.random.default_rng(cell.seed)
    inputs, neurons, error = int(given["inputs"]), int(given["neurons"]), float(given["error"])
    atoms = near_frame(rng, inputs=inputs, neurons=neurons, noise=float(given["noise"]))
    starts = random_atoms(rng, inputs=inputs, neurons=int(np.ceil(5 * neurons * np.log(inputs))))
    if given["plant"] == "spurious":
        span, aside = spurious_span(atoms, error=error)
        return Landscape(span, atoms, error, upper_frame_constant(atoms), _all_found(span, np.vstack([starts, aside])))
    span = rotated_span(span_of_squares(atoms), rng, error=error)
    return Landscape(span, atoms, error, frame_constant(atoms), _all_found(span, starts))


def _all_found(span: MatrixSubspace, starts: Atoms) -> Maximisers:
    """The ends that fulfil the second-order condition; saddles are left, but for one that starts there."""
    found = local_maximisers(span, starts)
    kept = [place for place, vector in enumerate(found.vectors) if ascent_left(span, vector) < 1e-7]
    return Maximisers(found.vectors[kept], found.values[kept], found.unconverged)


def _levels(planted: Landscape) -> Numbers:
    """Levels of [fiedler, Thm. 2.7], and what is between."""
    levels = bounds.power_dichotomy(error=planted.error, frame=planted.frame)
    values = planted.found.values
    good = values >= levels.good
    return {
        "low": levels.spurious,
        "largest_low": float(np.max(values[~good])) if np.any(~good) else np.nan,
        "high": levels.good,
        "smallest_high": float(np.min(values[good])),
        "between": float(levels.between(values)) if levels.applies else np.nan,
    }


def _distances(planted: Landscape) -> Numbers:
    """Distances of good maximisers, their bounds, and the caps of [fiedler, Thm. 2.6]."""
    levels = bounds.power_dichotomy(error=planted.error, frame=planted.frame)
    good = planted.found.values >= levels.good
    vectors, values = planted.found.vectors[good], planted.found.values[good]
    others = [_others(vector, planted) for vector in vectors]
    given = {"error": planted.error, "frame": planted.frame}
    by_value = [
        bounds.maximiser_distance(value, others=rest, **given) for value, rest in zip(values, others, strict=True)
    ]
    to_atoms = distances_up_to_sign(vectors, planted.atoms)
    distances = np.min(to_atoms, axis=1)
    # The cosine of the worst-served atom with its nearest maximiser.
    cosine = 1.0 - 0.5 * float(np.max(np.min(to_atoms, axis=0))) ** 2
    return {
        "distance": float(np.max(distances)),
        "bound_value": float(np.max(by_value)),
        "bound_good": bounds.good_maximiser_distance(others=max(others), **given),
        "ratio": float(np.max(distances / by_value)),
        "cap": bounds.cap_cosine(**given),
        "cosine": cosine,
    }


def _others(vector: np.ndarray, planted: Landscape) -> float:
    span = planted.span
    projected = span.basis @ (span.basis.T @ pack_squares(vector))
    coefficients = coefficients_of(projected, span, planted.atoms)
    return float(np.linalg.norm(np.delete(coefficients, int(np.argmax(coefficients)))))


def _counted(planted: Landscape) -> Numbers:
    """How many maximisers are above the level of [fiedler, Thm. 2.8], per atom; 1 up to sign by the theorem."""
    threshold = bounds.counting_threshold(error=planted.error, frame=planted.frame)
    above = planted.found.values >= threshold
    return {
        "threshold": threshold if np.isfinite(threshold) else np.nan,
        "count": float(np.count_nonzero(above)) / len(planted.atoms) if np.isfinite(threshold) else np.nan,
        "root": float(np.sqrt(planted.error)),
    }


TITLE = "local maximisers of Phi: levels, distances to atoms, and their number"
COLUMNS = {
    "frame": "nu",
    "low": "Thm 2.7: spurious at most",
    "largest_low": "largest spurious Phi",
    "high": "Thm 2.7: good at least",
    "smallest_high": "smallest good Phi",
    "between": "between (0)",
    "distance": "largest distance",
    "bound_value": "Cor 2.2",
    "bound_good": "(2.33)",
    "ratio": "distance / Cor 2.2",
    "cap": "Thm 2.6: cosine at least",
    "cosine": "smallest cosine",
    "threshold": "Thm 2.8: threshold",
    "count": "maximisers above per atom (1)",
    "root": "Thm 2.8: distance at most",
    "unconverged": "starts still moving",
}
NOTES = (
    "nan: the theorem's conditions do not hold, or there was nothing of that kind.",
    "Maximisers are the ends of 5 m log D ascents that fulfil (2.38); what no start reaches is not seen. "
    "Opposite vectors are "
    "counted once.",
    "Rotated spans are turned into random directions by one angle, so that delta is exact. Spurious ones hold "
    "the maximiser of "
    "[fiedler, Lemma 2.19], which needs fewer atoms than inputs; nu is then of the upper half of (2.10), which "
    "is all that "
    "the proofs use.",
    "Threshold 9 of Theorem 2.7 is used where 7 is printed in Theorem 2.6, and (2.33) with the numerator of "
    "Corollary 2.2.",
)
