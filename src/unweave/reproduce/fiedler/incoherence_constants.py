"""Incoherence constants of random directions [fiedler, Def. 2.3 and Prop. 2.2]."""

from collections.abc import Sequence

import numpy as np

from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings
from unweave.reproduce.fiedler import incoherence as measures
from unweave.reproduce.fiedler.near_frames import random_atoms

SIZES = {Scale.QUICK: (10, 20, 40), Scale.USUAL: (10, 20, 40, 80), Scale.FULL: (10, 20, 40, 80, 160, 240, 320)}
# Neurons are inputs to these powers.
ORDERS = (1.0, 1.5)
ISOMETRY = 0.75


def settings(scale: Scale) -> Sequence[Settings]:
    """Inputs, and the power of the inputs that makes the neurons."""
    return [{"inputs": inputs, "order": order} for order in ORDERS for inputs in SIZES[scale]]


def measure(cell: Cell) -> Numbers:
    """Draw directions and measure their constants."""
    inputs, order = int(cell.settings["inputs"]), float(cell.settings["order"])
    rng = np.random.default_rng([cell.seed, inputs, int(10 * order)])
    atoms = random_atoms(rng, inputs=inputs, neurons=int(np.ceil(inputs**order - 1e-9)))
    found = measures.incoherence(atoms, isometry=ISOMETRY, rng=rng)
    return {
        "neurons": float(len(atoms)),
        "certified": found.certified,
        "refuted": found.refuted,
        "coherence_constant": found.coherence,
        "gramian": found.gramian,
        "coherence": measures.coherence(atoms),
        "welch": measures.welch_bound(len(atoms), inputs),
        "frame": measures.upper_frame_constant(atoms),
    }


TITLE = "incoherence constants of uniform directions: they should not depend on the size"
COLUMNS = {
    "neurons": "neurons",
    "certified": "c1 certified",
    "refuted": "c1 refuted",
    "coherence_constant": "c2",
    "gramian": "c3",
    "coherence": "largest cosine",
    "welch": "Welch bound",
    "frame": "nu (upper)",
}
NOTES = (
    f"c1 is for the deviation {ISOMETRY}: subsets of ceil(c1 D / log m) are that close to orthonormal. All "
    f"subsets can't be "
    "visited, so c1 is bracketed: certified by Gershgorin circles, refuted by the worst subset that a search "
    "found.",
    "No constants are printed in [fiedler]. nu is far above 1 for random directions, so that Theorems 2.1 to "
    "2.8 do not "
    "apply to them; that is why [fiedler, Thm. 2.10] uses c1 to c3.",
)
