"""Every assumption behind neurons found in the span of the Hessians, with its number, threshold and advice.

Most bounds of the theory are far from sharp: a weak verdict is information, and only fresh answers decide. Section and
theorem numbers refer to [fiedler].
"""

import numpy as np

from unweave.arrays import pack_squares
from unweave.identification.profiles import ProfileFit
from unweave.numerics.matrix_subspace import MatrixSubspace
from unweave.numerics.subspace_power import Directions
from unweave.result import Diagnostic, Verdict, at_least, at_most


def hessian_quality(subspace: MatrixSubspace, directions: Directions, fit: ProfileFit) -> list[Diagnostic]:
    """Check the assumptions behind neurons that were found in the span of the Hessians."""
    return [
        *size_limits(directions.rank, subspace.inputs),
        *span_quality(subspace),
        *direction_quality(directions),
        *consistency(subspace, directions),
        *incoherence(directions),
        *profile_quality(fit),
    ]


def size_limits(neurons: int, inputs: int) -> list[Diagnostic]:
    """How many neurons second derivatives can separate, and where the guarantees hold (section 2.7)."""
    hard = max(inputs, inputs * (inputs - 1) // 2 - 1)
    regime = neurons * np.log(max(neurons, 2)) ** 2
    return [
        at_most(
            "neurons",
            neurons,
            hard,
            "above this limit other rank-one matrices appear: identification is impossible",
        ),
        at_most(
            "neurons times their squared logarithm",
            regime,
            inputs**2,
            "guaranteed for random weights below inputs squared; recovery usually works beyond",
            weak=np.inf,
        ),
    ]


def span_quality(subspace: MatrixSubspace) -> list[Diagnostic]:
    """Gap of the singular values and learnability [fiedler, SNM3]."""
    return [
        at_least(
            "gap of the singular values",
            subspace.gap,
            100.0,
            "a small gap means a wrong number of neurons, too few Hessians or noisy answers",
            weak=10.0,
        ),
        at_least(
            "learnability (smallest second moment of the Hessians)",
            subspace.learnability,
            10 * subspace.noise**2 / max(subspace.matrices, 1),
            "some neuron hardly bends on this domain: more or wider points, or a smaller noise, would show it",
        ),
        at_most(
            "subspace error",
            subspace.error,
            1e-2,
            "directions are at best this exact before refinement",
            weak=0.3,
        ),
    ]


def direction_quality(directions: Directions) -> list[Diagnostic]:
    """Completeness, defects and hit counts of the atoms."""
    worst = float(np.max(directions.defects, initial=0.0))
    rare = int(np.min(directions.hits)) if len(directions.hits) else 0
    return [
        at_least(
            "directions found per dimension of the span",
            len(directions.atoms) / max(directions.rank, 1),
            1.0,
            "missing directions: the function is not a shallow network, or noise has raised the dimension",
            weak=0.5,
        ),
        at_most(
            "largest distance of an atom to the span",
            worst,
            directions.defect_tol,
            "spurious maximisers stay above",
        ),
        at_least("starts that met the rarest atom", rare, 2.0, "an atom met once only deserves suspicion", weak=1.0),
    ]


def consistency(subspace: MatrixSubspace, directions: Directions) -> list[Diagnostic]:
    """Distance between the span of the atoms' squares and the measured span (a check on the search itself)."""
    if not directions.is_complete or len(directions.atoms) == 0:
        return []
    squares = np.linalg.qr(pack_squares(directions.atoms).T)[0]
    distance = float(np.linalg.norm(squares - subspace.basis @ (subspace.basis.T @ squares), 2))
    return [
        at_most(
            "distance of the atoms' span to the measured span",
            distance,
            max(100 * subspace.error, 1e-9),
            "wrong or doubled directions among those found",
            weak=1.0,
        )
    ]


def incoherence(directions: Directions) -> list[Diagnostic]:
    """Coherence, frame constant and Gramian of the atoms [fiedler, Def. 2.3 and (2.10)]."""
    atoms = directions.atoms
    if len(atoms) == 0:
        return []
    cosines = atoms @ atoms.T
    coherence = float(np.max(np.abs(cosines - np.eye(len(atoms)))))
    smallest = float(np.linalg.eigvalsh(cosines**2)[0])
    frame = float(np.linalg.norm(atoms, 2) ** 2 - 1.0)
    # Babel function: sums of the largest cosines of one atom with others; below one means independent.
    largest = -np.sort(-np.abs(cosines - np.eye(len(atoms))), axis=1)
    independent = int(np.count_nonzero(np.max(np.cumsum(largest, axis=1), axis=0) < 1.0)) + 1
    per_logarithm = atoms.shape[1] / np.log(max(len(atoms), 2))
    return [
        at_most("coherence (largest cosine)", coherence, 0.99, "nearly parallel neurons are hard to separate", weak=1),
        at_most(
            "incoherence constant c2",
            coherence**2 * per_logarithm,
            10.0,
            "squared coherence times inputs over the logarithm of the neurons; random weights stay below 10",
            weak=np.inf,
        ),
        at_least(
            "smallest eigenvalue of the squared Gramian",
            smallest,
            1e-2,
            "nearly dependent as rank-one matrices: errors are amplified by its inverse",
            weak=1e-8,
        ),
        at_least(
            "atoms that are surely independent (spark bound)",
            independent,
            min(len(atoms) // 2 + 2, len(atoms)),
            "below half of the atoms the deterministic uniqueness theorem does not apply",
            weak=0,
        ),
        Diagnostic(
            "frame constant",
            frame,
            1.0,
            Verdict.OK if frame < 1.0 else Verdict.NOT_APPLICABLE,
            "the deterministic theorems need a nearly tight frame; random weights rarely are one",
        ),
    ]  # fmt: skip


def profile_quality(fit: ProfileFit) -> list[Diagnostic]:
    """How well the neurons' second derivatives fit the activation."""
    worst = float(np.max(fit.misfits, initial=0.0))
    return [
        at_most(
            "typical misfit of the profiles",
            fit.typical_misfit,
            1e-3,
            "the activation is another one",
            weak=0.1,
        ),
        at_most(
            "largest misfit of a profile",
            worst,
            1e-2,
            "this neuron is weak, or not alone on its direction",
            weak=1.0,
        ),
    ]
