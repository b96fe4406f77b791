"""Assumptions behind neurons from Hessians: broken ones are noticed."""

import numpy as np

from unweave.arrays import pack_squares
from unweave.identification.hessians import diagnostics
from unweave.numerics.matrix_subspace import span_of_hessians
from unweave.numerics.subspace_power import Directions
from unweave.result import Verdict


def directions_of(atoms: np.ndarray) -> Directions:
    count = len(atoms)
    return Directions(
        atoms=atoms,
        defects=np.zeros(count),
        residuals=np.zeros(count),
        hits=np.full(count, 3),
        rank=count,
        starts=3 * count,
        rejected=0,
        unconverged=0,
        defect_tol=1e-8,
    )


def verdicts(found: list) -> dict[str, Verdict]:
    return {diagnostic.name: diagnostic.verdict for diagnostic in found}


def test_too_many_neurons_fail_the_size_limit() -> None:
    assert verdicts(diagnostics.size_limits(9, 5))["neurons"] is Verdict.OK
    assert verdicts(diagnostics.size_limits(10, 5))["neurons"] is Verdict.FAIL


def test_parallel_atoms_fail_incoherence(seed: int) -> None:
    atoms = np.random.default_rng(seed).standard_normal((4, 6))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    apart = verdicts(diagnostics.incoherence(directions_of(atoms)))
    assert apart["smallest eigenvalue of the squared Gramian"] is Verdict.OK
    atoms[1] = atoms[0]
    parallel = verdicts(diagnostics.incoherence(directions_of(atoms)))
    assert parallel["smallest eigenvalue of the squared Gramian"] is Verdict.FAIL
    assert parallel["coherence (largest cosine)"] is not Verdict.OK


def test_wrong_atoms_fail_consistency(seed: int) -> None:
    rng = np.random.default_rng(seed)
    atoms, others = (a / np.linalg.norm(a, axis=1, keepdims=True) for a in rng.standard_normal((2, 4, 6)))
    subspace = span_of_hessians(rng.standard_normal((9, 4)) @ pack_squares(atoms), inputs=6, rank=4)
    (right,) = diagnostics.consistency(subspace, directions_of(atoms))
    (wrong,) = diagnostics.consistency(subspace, directions_of(others))
    assert right.verdict is Verdict.OK
    assert wrong.verdict is not Verdict.OK
