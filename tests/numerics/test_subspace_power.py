from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assertions import farthest_direction
from plants import unit_rows
from tensors import span_of
from unweave.arrays import pack_squares, packed_size, unpack
from unweave.numerics import power_steps as kernel
from unweave.numerics.matrix_subspace import MatrixSubspace, span_of_hessians
from unweave.numerics.subspace_power import (
    Directions,
    SubspacePower,
    accepted_defect,
    merging_angle,
)

INPUTS, NEURONS = 6, 8


def random_atoms(seed: int, *, inputs: int = INPUTS, neurons: int = NEURONS) -> np.ndarray:
    return unit_rows(np.random.default_rng([seed, 1]), neurons, inputs)


def span_with_basis(basis: np.ndarray, inputs: int, *, error: float = 1e-8) -> MatrixSubspace:
    """A subspace given by orthonormal packed columns, with singular values that state its error."""
    rank = basis.shape[1]
    complement = np.linalg.qr(basis, mode="complete")[0][:, rank:]
    values = np.concatenate([np.ones(rank), np.full(complement.shape[1], error)])
    return MatrixSubspace(basis, complement, values, matrices=len(values), inputs=inputs)


def unit_vectors(seed: int, count: int, inputs: int = INPUTS) -> np.ndarray:
    return unit_rows(np.random.default_rng([seed, 2]), count, inputs)


def closed_form(vectors: np.ndarray, atoms: np.ndarray) -> np.ndarray:
    """``Phi(u) = b^T G_2^-1 b`` with ``b_k = <u, w_k>^2``, for vectors of any length."""
    b = (vectors @ atoms.T) ** 2
    return np.einsum("uk,uk->u", b, np.linalg.solve((atoms @ atoms.T) ** 2, b.T).T)


def test_the_distance_notices_a_missing_and_a_wrong_atom(seed: int) -> None:
    atoms = random_atoms(seed)
    assert farthest_direction(-atoms[::-1], atoms) < 1e-15
    assert farthest_direction(atoms[1:], atoms) > 0.1
    assert farthest_direction(atoms + 0.01, atoms) > 1e-3


@pytest.mark.parametrize(("inputs", "neurons"), [(2, 1), (6, 8), (8, 20), (12, 40)])
def test_all_atoms_of_exact_spans_are_found(inputs: int, neurons: int, seed: int) -> None:
    atoms = random_atoms(seed, inputs=inputs, neurons=neurons)
    found = SubspacePower()(span_of(atoms), np.random.default_rng(seed))
    assert found.is_complete
    assert farthest_direction(found.atoms, atoms) < 1e-7
    np.testing.assert_allclose(np.linalg.norm(found.atoms, axis=1), 1.0, atol=1e-14)
    assert np.all(found.defects <= found.defect_tol)
    assert found.hits.sum() + found.rejected + found.unconverged == found.starts


@pytest.mark.slow
def test_everything_is_found_near_the_limit_of_the_theory(seed: int) -> None:
    inputs, neurons = 12, 58
    assert neurons >= 0.4 * inputs**2
    atoms = random_atoms(seed, inputs=inputs, neurons=neurons)
    found = SubspacePower()(span_of(atoms), np.random.default_rng(seed))
    assert found.is_complete
    assert farthest_direction(found.atoms, atoms) < 1e-7
    assert found.starts < 5 * neurons * np.log(inputs)


def test_orthonormal_atoms_are_found_exactly(seed: int) -> None:
    atoms = np.linalg.qr(np.random.default_rng(seed).normal(size=(INPUTS, INPUTS)))[0]
    found = SubspacePower()(span_of(atoms), np.random.default_rng(seed))
    assert found.is_complete
    assert farthest_direction(found.atoms, atoms) < 1e-10


def test_atoms_are_as_exact_as_the_span(seed: int) -> None:
    atoms = random_atoms(seed)
    levels, errors = np.geomspace(1e-8, 1e-4, 5), []
    for noise in levels:
        span = span_of(atoms, noise=noise)
        found = SubspacePower()(span, np.random.default_rng(seed))
        assert found.is_complete
        errors.append(farthest_direction(found.atoms, atoms))
        assert errors[-1] < span.error
    assert np.polyfit(np.log(levels), np.log(errors), 1)[0] == pytest.approx(1.0, abs=0.1)


def test_an_empty_span_has_no_directions() -> None:
    empty = span_of_hessians(np.zeros((4, packed_size(INPUTS))), inputs=INPUTS, rank=0)
    found = SubspacePower()(empty, np.random.default_rng(0))
    assert found.atoms.shape == (0, INPUTS)
    assert found.is_complete


def test_a_span_without_rank_one_matrices_yields_nothing(seed: int) -> None:
    random = np.linalg.qr(np.random.default_rng(seed).normal(size=(packed_size(INPUTS), NEURONS)))[0]
    found = SubspacePower(rounds_without_news=2)(span_with_basis(random, INPUTS), np.random.default_rng(seed))
    assert len(found.atoms) == 0
    assert not found.is_complete
    assert found.rejected + found.unconverged == found.starts > 0


# Facts about Phi, checked against the closed form.


def test_phi_is_its_closed_form(seed: int) -> None:
    atoms, vectors = random_atoms(seed), unit_vectors(seed, 20)
    span = span_of(atoms)
    expected = closed_form(vectors, atoms)
    for columns, is_complement in ((span.basis, False), (span.complement, True)):
        ascent = kernel.ascend(vectors, columns, is_complement=is_complement, step=1.0, steps=0)
        np.testing.assert_allclose(1.0 - ascent.defects, expected, atol=1e-12)
        np.testing.assert_allclose(ascent.points, vectors, atol=1e-15)


def test_phi_is_one_at_the_atoms(seed: int) -> None:
    atoms = random_atoms(seed)
    span = span_of(atoms)
    ascent = kernel.ascend(atoms, span.complement, is_complement=True, step=2.0, steps=50)
    assert np.max(ascent.defects) < 1e-24
    assert np.max(ascent.residuals) < 1e-13
    np.testing.assert_allclose(ascent.points, atoms, atol=1e-12)


def test_a_step_goes_along_the_gradient(seed: int) -> None:
    atoms, vectors = random_atoms(seed), unit_vectors(seed, 20)
    span, h = span_of(atoms), 1e-5
    gradient = np.stack(
        [(closed_form(vectors + h * e, atoms) - closed_form(vectors - h * e, atoms)) / (2 * h) for e in np.eye(INPUTS)],
        axis=1,
    )
    for step in (0.5, 2.0):
        moved = vectors + 2.0 * step * gradient / 4.0
        moved /= np.linalg.norm(moved, axis=1, keepdims=True)
        ascent = kernel.ascend(vectors, span.basis, is_complement=False, step=step, steps=1)
        np.testing.assert_allclose(ascent.points, moved, atol=1e-8)
    # The residual is a quarter of the gradient along the sphere.
    tangential = gradient - np.sum(gradient * vectors, axis=1, keepdims=True) * vectors
    start = kernel.ascend(vectors, span.basis, is_complement=False, step=1.0, steps=0)
    np.testing.assert_allclose(start.residuals, np.linalg.norm(tangential, axis=1) / 4.0, atol=1e-8)


@given(seed=st.integers(0, 10_000), rank=st.integers(1, NEURONS), step=st.floats(0.01, 1.0))
def test_phi_never_falls_for_steps_up_to_one(seed: int, rank: int, step: float) -> None:
    # Any span of symmetric matrices, not only spans of rank-one ones; padded to the same shape.
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(packed_size(INPUTS), rank)))[0]
    points, defects = unit_vectors(seed, 20), np.inf
    for _ in range(8):
        ascent = kernel.ascend(points, basis, is_complement=False, step=step, steps=1)
        assert np.all(ascent.defects <= defects + 1e-14)
        points, defects = ascent.points, ascent.defects


@pytest.mark.parametrize("delta", [0.01, 0.3])
def test_a_spurious_maximiser_is_rejected(delta: float, seed: int) -> None:
    # Lemma 2.19: u is a local maximiser with Phi = delta of a span close to that of w alone.
    w, u = np.eye(INPUTS)[:2]
    column = np.sqrt(1 - delta) * pack_squares(w) - np.sqrt(delta) * pack_squares(u)
    span = span_with_basis(column[:, None], INPUTS, error=2 * np.sqrt(delta))
    near = u + 1e-3 * unit_vectors(seed, 20)
    ends = kernel.ascend(
        near / np.linalg.norm(near, axis=1, keepdims=True),
        span.basis,
        is_complement=False,
        step=1.0,
        steps=5_000,
    )
    np.testing.assert_allclose(ends.defects, 1 - delta, atol=1e-9)
    np.testing.assert_allclose(np.abs(ends.points @ u), 1.0, atol=1e-9)
    assert np.all(ends.defects > accepted_defect(span))
    found = SubspacePower()(span, np.random.default_rng(seed))
    assert np.all(np.abs(found.atoms @ u) < 0.1)
    if delta < accepted_defect(span):
        assert farthest_direction(found.atoms, w[None]) < 1e-6
    else:
        assert len(found.atoms) == 0
        assert found.rejected > 0


# The kernels


def test_basis_and_complement_give_the_same_ascent(seed: int) -> None:
    span, starts = span_of(random_atoms(seed)), unit_vectors(seed, 20)
    one = kernel.ascend(starts, span.basis, is_complement=False, step=2.0, steps=10)
    other = kernel.ascend(starts, span.complement, is_complement=True, step=2.0, steps=10)
    np.testing.assert_allclose(one.points, other.points, atol=1e-10)
    np.testing.assert_allclose(one.defects, other.defects, atol=1e-12)
    np.testing.assert_allclose(one.residuals, other.residuals, atol=1e-10)


def test_both_polishes_reach_the_same_atoms(seed: int) -> None:
    atoms = random_atoms(seed)
    span = span_of(atoms)
    starts = atoms + 0.1 * unit_vectors(seed, len(atoms))
    starts /= np.linalg.norm(starts, axis=1, keepdims=True)
    for columns, is_complement in ((span.basis, False), (span.complement, True)):
        ends = kernel.polish(starts, columns, is_complement=is_complement, residual_tol=1e-11, steps=90)
        assert np.all(ends.residuals <= 1e-11)
        assert farthest_direction(ends.points[ends.defects < 1e-9], atoms) < 1e-7


def test_the_ascent_turns_with_the_coordinates(seed: int) -> None:
    atoms, starts = random_atoms(seed), unit_vectors(seed, 20)
    rotation = np.linalg.qr(np.random.default_rng([seed, 3]).normal(size=(INPUTS, INPUTS)))[0]
    plain = kernel.ascend(starts, span_of(atoms).basis, is_complement=False, step=2.0, steps=10)
    turned = kernel.ascend(starts @ rotation, span_of(atoms @ rotation).basis, is_complement=False, step=2.0, steps=10)
    np.testing.assert_allclose(turned.points, plain.points @ rotation, atol=1e-9)


def test_signs_and_order_of_the_atoms_do_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    atoms = random_atoms(seed)
    changed = (rng.choice([-1.0, 1.0], size=(NEURONS, 1)) * atoms)[rng.permutation(NEURONS)]
    first, second = (SubspacePower()(span_of(each), np.random.default_rng(seed)) for each in (atoms, changed))
    assert first.is_complete
    assert second.is_complete
    assert farthest_direction(first.atoms, second.atoms) < 1e-8


def test_many_starts_are_climbed_in_blocks(seed: int) -> None:
    span, starts = span_of(random_atoms(seed)), unit_vectors(seed, kernel.BLOCK + 5)
    together = kernel.ascend(starts, span.basis, is_complement=False, step=2.0, steps=10)
    alone = kernel.ascend(starts[-3:], span.basis, is_complement=False, step=2.0, steps=10)
    np.testing.assert_allclose(together.points[-3:], alone.points, atol=1e-10)
    assert together.points.shape == starts.shape


@pytest.mark.parametrize("is_complement", [False, True])
def test_a_gauss_newton_step_solves_its_least_squares_problem(is_complement: bool, seed: int) -> None:
    # The residuals of 1 - Phi are u^T C_j u with all C_j of the complement: solve the linearised problem densely.
    atoms = random_atoms(seed)
    span, damping = span_of(atoms), 0.7
    starts = atoms + 0.02 * unit_vectors(seed, len(atoms))
    starts /= np.linalg.norm(starts, axis=1, keepdims=True)
    columns = span.complement if is_complement else span.basis
    part = kernel._Span(columns, is_complement=is_complement, inputs=INPUTS)
    dampings = np.full(len(starts), damping)
    moves = kernel._gauss_newton_step(
        starts, dampings, part.images(starts), is_complement=is_complement, longest=kernel.SphereRules().longest_step
    )
    matrices = unpack(span.complement.T, INPUTS)
    for start, move in zip(starts, moves, strict=True):
        across = np.linalg.svd(start[None])[2][1:].T
        jacobian = 2.0 * (matrices @ start) @ across
        residuals = (matrices @ start) @ start
        # Half the Hessian of the sum of squares is J^T J; the damping is added to the whole Hessian.
        normal = 2.0 * jacobian.T @ jacobian + damping * np.eye(INPUTS - 1)
        expected = -across @ np.linalg.solve(normal, 2.0 * jacobian.T @ residuals)
        np.testing.assert_allclose(move, expected, atol=1e-10)


def test_starts_without_a_definite_matrix_stay(seed: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(4, INPUTS, INPUTS))
    matrices = root @ root.transpose(0, 2, 1) + np.eye(INPUTS)
    matrices[1] -= 1e3 * np.eye(INPUTS)
    right = rng.normal(size=(4, INPUTS))
    solutions = kernel._solve_definite(matrices, right)
    assert not np.any(solutions[1])
    for row in (0, 2, 3):
        np.testing.assert_allclose(matrices[row] @ solutions[row], right[row], atol=1e-9)


def test_the_polish_stops_after_its_steps(seed: int) -> None:
    # No rank-one matrices in this span: most starts converge slowly, to something that is no atom.
    random = np.linalg.qr(np.random.default_rng(seed).normal(size=(packed_size(INPUTS), NEURONS)))[0]
    starts = unit_vectors(seed, 20)
    ends = kernel.polish(starts, random, is_complement=False, residual_tol=0.0, steps=12)
    assert ends.steps == 12
    before = kernel.ascend(starts, random, is_complement=False, step=1.0, steps=0)
    assert np.all(ends.defects <= before.defects + 1e-14)


def test_starts_do_not_depend_on_their_neighbours(seed: int) -> None:
    span, starts = span_of(random_atoms(seed)), unit_vectors(seed, 20)
    together = kernel.polish(starts, span.basis, is_complement=False, residual_tol=1e-11, steps=90)
    for row in (0, 7, 19):
        alone = kernel.polish(starts[row : row + 1], span.basis, is_complement=False, residual_tol=1e-11, steps=90)
        np.testing.assert_allclose(alone.points[0], together.points[row], atol=1e-9)


# What is accepted, and what is the same


def test_the_accepted_defect_follows_the_subspace_error() -> None:
    span = span_of(random_atoms(0))
    defects = [accepted_defect(replace(span, noise=0.0, singular_values=values_with_error(error)))
               for error in (0.0, 1e-5, 1e-3, 0.5)]  # fmt: skip
    assert defects == pytest.approx([1e-11, 50e-10, 50e-6, 0.1])


def test_the_merging_angle_follows_the_subspace_error() -> None:
    span = span_of(random_atoms(0))
    angles = [merging_angle(replace(span, noise=0.0, singular_values=values_with_error(error)))
              for error in (0.0, 1e-4, 0.5)]  # fmt: skip
    assert angles == pytest.approx([1e-5, 3e-4, 0.3])


def values_with_error(error: float) -> np.ndarray:
    return np.concatenate([np.ones(NEURONS), np.full(packed_size(INPUTS) - NEURONS, error)])


def test_completeness_is_a_count() -> None:
    numbers = np.zeros(2)
    found = Directions(np.eye(3)[:2], numbers, numbers, np.ones(2, dtype=np.int64), 2, 8, 0, 0, 0.1)
    assert found.is_complete
    assert not replace(found, rank=3).is_complete
