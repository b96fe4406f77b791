"""Rank-one matrices of a span by [fiedler, Alg. 2.1 and 2.2], on planted spans with an error."""

from collections.abc import Sequence
from time import process_time

import numpy as np

from unweave.arrays import Atoms
from unweave.numerics.matrix_subspace import MatrixSubspace
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings
from unweave.reproduce.fiedler.entangled_metrics import distances_up_to_sign, worst_of_truth
from unweave.reproduce.fiedler.near_frames import random_atoms, rotated_span, span_of_squares
from unweave.reproduce.fiedler.power_ends import ManyStartsPower
from unweave.reproduce.fiedler.subspace_power import FixedSubspacePower, SpectralNormAscent

# Inputs, neurons.
PLANTS = {
    Scale.QUICK: ((10, 10), (10, 20)),
    Scale.USUAL: ((10, 10), (10, 20), (20, 20), (20, 36)),
    Scale.FULL: ((10, 10), (20, 20), (20, 36), (20, 76), (30, 66), (30, 154), (40, 255), (50, 377)),
}
METHODS = ("spectral ascent", "power, one by one", "power, batched")
ERROR = 1e-4
# Distance to a true atom at which it counts as found.
NEAR = 0.05
# More starts than this many times the expected ones are taken for a search without end.
PATIENCE = 10.0


def settings(scale: Scale) -> Sequence[Settings]:
    """Methods and sizes."""
    return [
        {"method": method, "inputs": inputs, "neurons": neurons}
        for inputs, neurons in PLANTS[scale]
        for method in METHODS
    ]


def measure(cell: Cell) -> Numbers:
    """Plant random atoms, turn their span, and search it."""
    inputs, neurons = int(cell.settings["inputs"]), int(cell.settings["neurons"])
    rng = np.random.default_rng([cell.seed, inputs, neurons])
    atoms = random_atoms(rng, inputs=inputs, neurons=neurons)
    span = rotated_span(span_of_squares(atoms), rng, error=ERROR)
    began = process_time()
    found, starts = _searched(str(cell.settings["method"]), span, rng)
    seconds = process_time() - began
    distances = distances_up_to_sign(found, atoms)
    return {
        "found": float(np.mean(np.min(distances, axis=0, initial=2.0) <= NEAR)),
        "false": float(np.count_nonzero(np.min(distances, axis=1, initial=2.0) > NEAR)),
        "error": worst_of_truth(found, atoms),
        "starts": float(starts),
        "expected": expected_starts(neurons),
        "seconds": seconds,
    }


def expected_starts(neurons: int) -> float:
    """Starts after which all atoms are met if each is equally likely: the coupon collector of [fiedler, Rem. 2.2]."""
    return float(neurons * np.sum(1.0 / np.arange(1, neurons + 1)))


def search_one_by_one(span: MatrixSubspace, rng: np.random.Generator, *, threshold: float = 0.9) -> tuple[Atoms, int]:
    """Run [fiedler, Alg. 2.2] as it is printed: one start at a time, until there are as many atoms as dimensions.

    Args:
        span: to be searched.
        rng: source of the starts.
        threshold: smallest accepted ``Phi``.

    Returns:
        The atoms, and how many starts it took; fewer atoms if ten times the expected starts were not enough.
    """
    power = ManyStartsPower(threshold=threshold)
    atoms, starts = np.empty((0, span.inputs)), 0
    while len(atoms) < span.rank and starts < PATIENCE * expected_starts(span.rank):
        ends = power(span, rng, starts=1)
        starts += 1
        is_new = len(ends.vectors) == 1 and np.min(distances_up_to_sign(atoms, ends.vectors), initial=2.0) > NEAR
        if is_new and not ends.unconverged:
            atoms = np.vstack([atoms, ends.vectors])
    return atoms, starts


def _searched(method: str, span: MatrixSubspace, rng: np.random.Generator) -> tuple[Atoms, int]:
    if method == METHODS[1]:
        return search_one_by_one(span, rng)
    found = (SpectralNormAscent() if method == METHODS[0] else FixedSubspacePower())(span, rng)
    return found.atoms, found.starts


TITLE = "atoms of a span with an error of 1e-4, by ascent of the spectral norm and by the subspace power method"
REPETITIONS = {Scale.QUICK: 1, Scale.USUAL: 2, Scale.FULL: 10}
COLUMNS = {
    "found": "share of atoms found",
    "false": "false atoms",
    "error": "largest distance to an atom",
    "starts": "starts",
    "expected": "coupon collector",
    "seconds": "CPU s",
}
NOTES = (
    "[fiedler] prints no numbers for these algorithms alone; step size 2 and 1000 steps are those of its Section 3.6.",
    "Where Algorithm 2.2 says until convergence, an ascent ends at a residual of 1e-9. The line that adds an "
    "atom if it is new is not "
    "legible in print: here it is new if no atom is within 0.05, up to sign.",
    "The batched form is that of the experiments: 5 m log D starts at once, always 1000 steps. Algorithm 2.1 "
    "has no rule for "
    "when to stop looking; here rounds of m starts end when all atoms are found, or after 5 m (1 + log m).",
)
