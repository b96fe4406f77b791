"""Local maximisers of ``Phi`` for random atoms, more than inputs [fiedler, Thm. 2.10]: count, distance, the others."""

from collections.abc import Sequence

import numpy as np

from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings
from unweave.reproduce.fiedler.entangled_metrics import distances_up_to_sign, worst_of_truth
from unweave.reproduce.fiedler.frame_bounds import overcomplete_constant, overcomplete_threshold
from unweave.reproduce.fiedler.incoherence import coherence, gramian_constant
from unweave.reproduce.fiedler.near_frames import local_maximisers, random_atoms, rotated_span, span_of_squares

# Inputs and neurons.
PLANTS = {
    Scale.QUICK: ((10, 10), (10, 25), (10, 40)),
    Scale.USUAL: ((10, 10), (10, 25), (10, 40), (20, 30), (20, 60)),
    Scale.FULL: ((10, 10), (10, 25), (20, 30), (20, 76), (20, 160), (30, 60), (30, 160), (50, 120), (50, 400)),
}
ERRORS = (0.001, 0.03)


def settings(scale: Scale) -> Sequence[Settings]:
    """Sizes and errors of the span."""
    return [
        {"inputs": inputs, "neurons": neurons, "error": error} for inputs, neurons in PLANTS[scale] for error in ERRORS
    ]


def measure(cell: Cell) -> Numbers:
    """Find the maximisers from 5 m log D starts and sort them by whether they are near an atom."""
    inputs, neurons = int(cell.settings["inputs"]), int(cell.settings["neurons"])
    error = float(cell.settings["error"])
    rng = np.random.default_rng(cell.seed)
    atoms = random_atoms(rng, inputs=inputs, neurons=neurons)
    span = rotated_span(span_of_squares(atoms), rng, error=error)
    found = local_maximisers(span, random_atoms(rng, inputs=inputs, neurons=int(5 * neurons * np.log(inputs))))
    distances = np.min(distances_up_to_sign(found.vectors, atoms), axis=1)
    near = distances <= np.sqrt(error)
    spurious = float(np.max(found.values[~near])) if np.any(~near) else np.nan
    size = {"neurons": neurons, "inputs": inputs, "error": error}
    constant = overcomplete_constant(spurious, **size) if np.any(~near) else 0.0
    above = found.values > overcomplete_threshold(constant=constant, **size)
    return {
        "regime": overcomplete_threshold(constant=1.0, neurons=neurons, inputs=inputs, error=0.0),
        "coherence": coherence(atoms) ** 2 * inputs / np.log(neurons),
        "gramian": gramian_constant(atoms),
        "found": float(np.mean(np.min(distances_up_to_sign(atoms, found.vectors), axis=1) <= np.sqrt(error))),
        "near": float(np.count_nonzero(near & above)) / neurons,
        "distance": worst_of_truth(found.vectors, atoms),
        "bound": float(np.sqrt(error)),
        "smallest": float(np.min(found.values[near])),
        "spurious": spurious,
        "constant": constant,
        "unconverged": float(found.unconverged),
    }


TITLE = "local maximisers of Phi for random atoms: two per atom above a level, within the root of the error"
REPETITIONS = {Scale.QUICK: 1, Scale.USUAL: 2, Scale.FULL: 10}
COLUMNS = {
    "regime": "m log(m)^2 / D^2 (at most 1)",
    "coherence": "c2",
    "gramian": "c3",
    "found": "share of atoms found",
    "near": "maximisers above the level per atom (1)",
    "distance": "largest distance of an atom",
    "bound": "bound on it",
    "smallest": "smallest Phi near an atom",
    "spurious": "largest Phi elsewhere",
    "constant": "least C of (2.54)",
    "unconverged": "starts still moving",
}
NOTES = (
    "The constants of the theorem are not explicit. Measured is the least C with which no maximiser that was "
    "found elsewhere is "
    "above the level of (2.54): 0 where all were near atoms.",
    "The bound on the distance is the root of the error; distances are seen to be of the order of the error itself.",
)
