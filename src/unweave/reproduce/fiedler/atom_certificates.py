"""What eigenvalues certify about atoms [fiedler, Thm. 2.1]: bound and distance, for matrices near rank one."""

from collections.abc import Sequence

import numpy as np

from unweave.arrays import Atoms, pack_squares, unpack
from unweave.numerics.matrix_subspace import MatrixSubspace
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings
from unweave.reproduce.fiedler.entangled_metrics import distances_up_to_sign
from unweave.reproduce.fiedler.frame_bounds import atom_certificate
from unweave.reproduce.fiedler.incoherence import frame_constant
from unweave.reproduce.fiedler.near_frames import PlantedSpan, coefficients_of

# Inputs, neurons, noise of the frame, error of the span.
PLANTS = ((20, 20, 0.0, 0.001), (20, 20, 0.02, 0.01), (20, 22, 0.0, 0.01), (30, 36, 0.0, 0.01))
LARGER = ((40, 41, 0.0, 0.002), (40, 50, 0.0, 0.002))
# Share of something else in the span, beside one atom.
MIXTURES = (0.0, 0.1, 0.3)


def settings(scale: Scale) -> Sequence[Settings]:
    """Plants and mixtures."""
    plants = PLANTS if scale is Scale.QUICK else PLANTS + LARGER
    return [
        {"inputs": inputs, "neurons": neurons, "noise": noise, "error": error, "mixture": mixture}
        for inputs, neurons, noise, error in plants
        for mixture in MIXTURES
    ]


def measure(cell: Cell) -> Numbers:
    """Mix every atom with something else in the span, and compare the eigenvector with the atom."""
    rng = np.random.default_rng(cell.seed)
    planted = PlantedSpan.of(cell.settings, rng)
    atoms, span, error, frame = planted.atoms, planted.span, planted.error, frame_constant(planted.atoms)
    checked = [
        _checked(matrix, span, atoms, error, frame) for matrix in _mixtures(rng, span, atoms, cell.settings["mixture"])
    ]
    distances, full, blind = np.array(checked).T
    held = np.isfinite(full)
    return {
        "frame": frame,
        "share": float(np.mean(held)),
        "distance": float(np.max(distances[held])) if np.any(held) else np.nan,
        "bound": float(np.median(full[held])) if np.any(held) else np.nan,
        "blind": float(np.median(blind[held])) if np.any(held) else np.nan,
        "ratio": float(np.max(distances[held] / full[held])) if np.any(held) else np.nan,
        "blind_ratio": float(np.max(distances[held] / blind[held])) if np.any(held) else np.nan,
    }


def _mixtures(rng: np.random.Generator, span: MatrixSubspace, atoms: Atoms, share: float | str) -> np.ndarray:
    """Matrices of the span, packed and of unit norm: one per atom, mixed with random ones."""
    near = pack_squares(atoms) @ span.basis
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    aside = rng.standard_normal(near.shape)
    mixed = near + float(share) * aside / np.linalg.norm(aside, axis=1, keepdims=True)
    return (mixed / np.linalg.norm(mixed, axis=1, keepdims=True)) @ span.basis.T


def _checked(
    matrix: np.ndarray, span: MatrixSubspace, atoms: Atoms, error: float, frame: float
) -> tuple[float, float, float]:
    """Distance to the atom of the largest coefficient, its bound, and the bound by eigenvalues alone."""
    values, vectors = np.linalg.eigh(unpack(matrix, span.inputs))
    coefficients = coefficients_of(matrix, span, atoms)
    first = int(np.argmax(coefficients))
    distance = float(distances_up_to_sign(vectors[:, -1][None], atoms[first][None])[0, 0])
    others = float(np.linalg.norm(np.delete(coefficients, first)))
    bound = atom_certificate(values[-1], values[-2], error=error, frame=frame, others=others)
    return distance, bound, atom_certificate(values[-1], values[-2], error=error, frame=frame)


TITLE = "an atom's certificate from two eigenvalues, the error of the span and the frame constant"
REPETITIONS = {Scale.QUICK: 1, Scale.USUAL: 3, Scale.FULL: 20}
COLUMNS = {
    "frame": "nu",
    "share": "share of matrices that the theorem is about",
    "distance": "largest distance of eigenvector to atom",
    "bound": "bound (median)",
    "blind": "bound without coefficients (median)",
    "ratio": "largest distance / bound",
    "blind_ratio": "the same without coefficients",
}
NOTES = (
    "The condition is printed with the wrong sign of 2 delta: here (1 - nu) lambda_1 > lambda_2 + 2 delta, "
    "which makes the "
    "denominator positive.",
    "The printed bound needs the coefficients of the other atoms. Where only eigenvalues are known, their norm "
    "is bounded "
    "from lambda_1, delta and nu: the column without coefficients.",
    "Where the share is 0 no matrix fulfils the condition, and there is nothing to compare.",
)
