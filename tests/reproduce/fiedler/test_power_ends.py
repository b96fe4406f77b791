import numpy as np
import pytest

from unweave.arrays import pack_squares, unpack
from unweave.numerics import power_steps as kernel
from unweave.numerics.matrix_subspace import MatrixSubspace, span_of_hessians
from unweave.reproduce.fiedler.entangled_metrics import worst_of_found, worst_of_truth
from unweave.reproduce.fiedler.power_ends import ManyStartsPower

INPUTS = 6


def span_of(atoms: np.ndarray, *, noise: float = 0.0) -> MatrixSubspace:
    rng = np.random.default_rng(len(atoms))
    hessians = rng.normal(size=(3 * len(atoms), len(atoms))) @ pack_squares(atoms)
    hessians = hessians + noise * rng.normal(size=hessians.shape)
    return span_of_hessians(hessians, inputs=INPUTS, rank=len(atoms))


def orthonormal(seed: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((INPUTS, INPUTS)))[0]


def test_all_atoms_of_an_orthonormal_span_are_met(seed: int) -> None:
    atoms = orthonormal(seed)
    ends = ManyStartsPower()(span_of(atoms), np.random.default_rng(seed), starts=60)
    assert worst_of_truth(ends.vectors, atoms) < 1e-7
    assert worst_of_found(ends.vectors, atoms) < 1e-7
    assert (ends.starts, len(ends.vectors), ends.unconverged, ends.rejected_share) == (60, 60, 0, 0.0)
    assert np.allclose(ends.values, 1.0)


def test_early_rest_changes_nothing(seed: int) -> None:
    subspace = span_of(orthonormal(seed), noise=0.02)
    patient = ManyStartsPower(steps=400, residual_tol=0.0)(subspace, np.random.default_rng(seed), starts=20)
    quick = ManyStartsPower(steps=400, residual_tol=1e-9)(subspace, np.random.default_rng(seed), starts=20)
    assert patient.unconverged > 0 == quick.unconverged
    assert np.allclose(patient.vectors, quick.vectors, atol=1e-7)


@pytest.mark.parametrize("step", [0.5, 1.0])
def test_phi_never_falls_for_steps_up_to_one(step: float, seed: int) -> None:
    subspace = span_of(orthonormal(seed), noise=0.3)
    points = np.random.default_rng(seed).standard_normal((30, INPUTS))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    defects = np.sum((pack_squares(points) @ subspace.complement) ** 2, axis=1)
    for _ in range(15):
        ascent = kernel.ascend(points, subspace.basis, is_complement=False, step=step, steps=1)
        assert np.all(ascent.defects <= defects + 1e-12)
        points, defects = ascent.points, ascent.defects


def test_ends_are_local_maximisers(seed: int) -> None:
    subspace = span_of(orthonormal(seed), noise=0.02)
    ends = ManyStartsPower()(subspace, np.random.default_rng(seed), starts=12)
    rng = np.random.default_rng([seed, 1])
    for vector, value in zip(ends.vectors, ends.values, strict=True):
        near = vector + 1e-3 * rng.standard_normal((50, INPUTS))
        near /= np.linalg.norm(near, axis=1, keepdims=True)
        assert np.all(np.linalg.norm(pack_squares(near) @ subspace.basis, axis=1) ** 2 <= value + 1e-12)


def test_ends_satisfy_the_second_order_condition(seed: int) -> None:
    # Lemma 2.16: Phi(u) >= 2 ||P(u v^T)||^2 + v^T P(u u^T) v for all unit v orthogonal to u.
    subspace = span_of(orthonormal(seed), noise=0.05)
    ends = ManyStartsPower()(subspace, np.random.default_rng(seed), starts=12)
    matrices = unpack(subspace.basis.T, INPUTS)
    for vector, value in zip(ends.vectors, ends.values, strict=True):
        images = matrices @ vector
        projected = np.einsum("k,kij->ij", images @ vector, matrices)
        assert np.allclose(projected @ vector, value * vector, atol=1e-7)
        across = np.eye(INPUTS) - np.outer(vector, vector)
        form = across @ (2.0 * images.T @ images + projected) @ across
        assert np.linalg.eigvalsh(form)[-1] <= value + 1e-9


def test_ends_below_the_threshold_are_dropped(seed: int) -> None:
    subspace = span_of(orthonormal(seed), noise=0.3)
    ends = ManyStartsPower(steps=1, steps_per_round=1, threshold=0.8)(subspace, np.random.default_rng(1), starts=40)
    assert 0.0 < ends.rejected_share < 1.0
    assert np.all(ends.values > 0.8)
