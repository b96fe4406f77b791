from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assertions import farthest_direction
from tensors import span_of
from unweave.arrays import pack_squares, packed_size, unpack
from unweave.numerics.matrix_subspace import MatrixSubspace, span_of_hessians
from unweave.numerics.subspace_power import Directions
from unweave.reproduce.fiedler.subspace_power import (
    FixedSubspacePower,
    SpectralNormAscent,
    defects_of,
    distinct_directions,
    residuals_of,
    spectral_step,
    top_eigenpairs,
    with_positive_top,
)

# One shape for all tests of the compiled method.
INPUTS, NEURONS = 6, 8
Method = Callable[[MatrixSubspace, np.random.Generator], Directions]
METHODS = [FixedSubspacePower(), SpectralNormAscent()]


def random_atoms(seed: int, *, neurons: int = NEURONS) -> np.ndarray:
    """The least coherent of some draws: a fixed number of steps promises nothing for others."""
    draws = np.random.default_rng([seed, 1]).normal(size=(40, neurons, INPUTS))
    draws /= np.linalg.norm(draws, axis=2, keepdims=True)
    coherence = np.max(np.abs(draws @ np.swapaxes(draws, 1, 2) - np.eye(neurons)), axis=(1, 2))
    return draws[np.argmin(coherence)]


def random_span(rng: np.random.Generator, rank: int) -> MatrixSubspace:
    """A span of arbitrary symmetric matrices."""
    return span_of_hessians(rng.normal(size=(rank + 3, packed_size(INPUTS))), inputs=INPUTS, rank=rank)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_all_atoms_of_an_exact_span_are_found(method: Method, seed: int) -> None:
    atoms = random_atoms(seed)
    found = method(span_of(atoms), np.random.default_rng(seed))
    assert found.is_complete
    assert farthest_direction(found.atoms, atoms) < 1e-6
    assert found.hits.sum() + found.rejected + found.unconverged == found.starts
    assert np.all(found.defects < found.defect_tol)
    assert np.all(found.residuals < 1e-6)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_orthonormal_atoms_are_found_exactly(method: Method, seed: int) -> None:
    atoms = np.linalg.qr(np.random.default_rng(seed).normal(size=(INPUTS, INPUTS)))[0]
    found = method(span_of(atoms), np.random.default_rng(seed))
    assert found.is_complete
    assert farthest_direction(found.atoms, atoms) < 1e-9


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_atoms_are_as_exact_as_the_span(method: Method, seed: int) -> None:
    atoms = random_atoms(seed)
    span = span_of(atoms, noise=1e-4)
    found = method(span, np.random.default_rng(seed))
    assert found.is_complete
    assert farthest_direction(found.atoms, atoms) < span.error


def test_both_methods_agree_on_a_noisy_span(seed: int) -> None:
    span = span_of(random_atoms(seed), noise=1e-3)
    power, ascent = (method(span, np.random.default_rng(seed)) for method in METHODS)
    assert farthest_direction(power.atoms, ascent.atoms) < 1e-6


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_an_empty_span_has_no_directions(method: Method) -> None:
    span = span_of_hessians(np.zeros((4, packed_size(INPUTS))), inputs=INPUTS, rank=0)
    found = method(span, np.random.default_rng(0))
    assert found.atoms.shape == (0, INPUTS)
    assert found.is_complete
    assert found.starts == 0


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("delta", [0.01, 0.05])
def test_a_spurious_maximiser_is_rejected(method: Method, delta: float, seed: int) -> None:
    # Lemma 2.19: the second axis is a local maximiser with Phi = delta of a span close to that of the first.
    w, u = np.eye(INPUTS)[:2]
    column = np.sqrt(1 - delta) * pack_squares(w) - np.sqrt(delta) * pack_squares(u)
    span = span_of_hessians(np.outer([1.0, 1.0], column), inputs=INPUTS, rank=1)
    found = method(span, np.random.default_rng(seed))
    assert found.is_complete
    assert farthest_direction(found.atoms, w[None]) < 1e-6


# The subspace power method as [fiedler] runs it


def test_starts_and_threshold_are_those_published() -> None:
    settings = FixedSubspacePower()
    assert (settings.step, settings.steps) == (2.0, 1_000)
    span = span_of(random_atoms(0))
    assert settings.starts(span) == int(np.ceil(5 * NEURONS * np.log(INPUTS)))
    assert settings.accepted_value(span) == 0.9
    # 2/5 of 36 is 14.4.
    assert settings.accepted_value(span_of(random_atoms(0, neurons=14))) == 0.9
    assert settings.accepted_value(span_of(random_atoms(0, neurons=15))) == 0.99
    assert FixedSubspacePower(threshold=0.5).accepted_value(span) == 0.5


def test_no_start_is_judged_by_its_residual_unless_asked(seed: int) -> None:
    span = span_of(random_atoms(seed))
    hasty = FixedSubspacePower(steps=3)(span, np.random.default_rng(seed))
    assert hasty.unconverged == 0
    strict = FixedSubspacePower(steps=3, residual_tol=1e-8)(span, np.random.default_rng(seed))
    assert strict.unconverged > 0
    assert len(strict.atoms) < NEURONS


def test_too_many_ends_leave_those_that_were_met_most_often(seed: int) -> None:
    # After a few steps many ends pass a low threshold without being atoms.
    span = span_of(random_atoms(seed))
    method = FixedSubspacePower(steps=5, threshold=0.3, merging_distance=0.05)
    found = method(span, np.random.default_rng(seed))
    assert len(found.atoms) <= NEURONS
    assert found.rejected > 0
    assert found.hits.sum() + found.rejected == found.starts


def test_fewer_atoms_than_dimensions_are_incomplete(seed: int) -> None:
    found = FixedSubspacePower()(random_span(np.random.default_rng(seed), NEURONS), np.random.default_rng(seed))
    assert not found.is_complete
    assert found.rejected > 0


# The ascent of the spectral norm


@given(seed=st.integers(0, 10_000), rank=st.integers(1, 15), step=st.floats(0.05, 20.0))
def test_the_leading_eigenvalue_never_falls(seed: int, rank: int, step: float) -> None:
    rng = np.random.default_rng(seed)
    span = random_span(rng, rank)
    coefficients = with_positive_top(rng.normal(size=(5, rank)), span)
    values, _ = top_eigenpairs(coefficients, span)
    for _ in range(6):
        coefficients = spectral_step(coefficients, span, step=step)
        grown, _ = top_eigenpairs(coefficients, span)
        assert np.all(grown >= values - 1e-13)
        values = grown


def test_the_gain_of_a_step_is_bounded_below(seed: int) -> None:
    # Lemma 2.12: at least step / (1 + step) |U| (|U| - top) with U the projected square.
    rng = np.random.default_rng(seed)
    span, step = span_of(random_atoms(seed)), 2.0
    coefficients = with_positive_top(rng.normal(size=(30, NEURONS)), span)
    values, vectors = top_eigenpairs(coefficients, span)
    size = np.linalg.norm(pack_squares(vectors) @ span.basis, axis=1)
    grown, _ = top_eigenpairs(spectral_step(coefficients, span, step=step), span)
    assert np.all(grown - values >= step / (1 + step) * size * (size - values) - 1e-12)


def test_starts_have_unit_norm_and_their_spectral_norm_as_eigenvalue(seed: int) -> None:
    rng = np.random.default_rng(seed)
    span = random_span(rng, NEURONS)
    coefficients = with_positive_top(rng.normal(size=(20, NEURONS)), span)
    matrices = unpack(coefficients @ span.basis.T, INPUTS)
    values, vectors = top_eigenpairs(coefficients, span)
    np.testing.assert_allclose(np.linalg.norm(matrices, axis=(1, 2)), 1.0, atol=1e-12)
    np.testing.assert_allclose(values, np.linalg.norm(matrices, 2, axis=(1, 2)), atol=1e-12)
    np.testing.assert_allclose(np.einsum("sij,sj->si", matrices, vectors), values[:, None] * vectors, atol=1e-12)


def test_an_ascent_that_may_not_finish_is_unconverged(seed: int) -> None:
    found = SpectralNormAscent(steps=2)(span_of(random_atoms(seed)), np.random.default_rng(seed))
    assert found.unconverged == found.starts == int(np.ceil(5 * NEURONS * (1 + np.log(NEURONS))))
    assert len(found.atoms) == 0


def test_the_search_ends_when_all_are_found(seed: int) -> None:
    found = SpectralNormAscent()(span_of(random_atoms(seed)), np.random.default_rng(seed))
    assert found.starts % NEURONS == 0
    assert found.starts < 5 * NEURONS * (1 + np.log(NEURONS))


# Shared pieces


def test_defects_and_residuals_vanish_at_the_atoms_only(seed: int) -> None:
    atoms = random_atoms(seed)
    span = span_of(atoms)
    assert np.max(defects_of(atoms, span)) < 1e-24
    assert np.max(residuals_of(atoms, span)) < 1e-12
    others = random_atoms(seed + 1)
    projected = pack_squares(others) @ span.basis
    np.testing.assert_allclose(defects_of(others, span), 1 - np.sum(projected**2, axis=1), atol=1e-12)
    images = np.einsum("kij,kj->ki", unpack(projected @ span.basis.T, INPUTS), others)
    expected = np.linalg.norm(images - np.sum(projected**2, axis=1)[:, None] * others, axis=1)
    np.testing.assert_allclose(residuals_of(others, span), expected, atol=1e-12)


def test_vectors_equal_up_to_sign_are_one_direction() -> None:
    first, second = np.eye(INPUTS)[:2]
    near = (first + 0.01 * second) / np.linalg.norm(first + 0.01 * second)
    vectors = np.array([first, second, -near, -second, first])
    atoms, hits = distinct_directions(vectors, np.array([0.3, 0.2, 0.1, 0.4, 0.5]), distance=0.1)
    np.testing.assert_array_equal(atoms, [-near, second])
    np.testing.assert_array_equal(hits, [3, 2])


def test_no_vectors_are_no_directions() -> None:
    atoms, hits = distinct_directions(np.empty((0, 4)), np.empty(0), distance=0.1)
    assert atoms.shape == (0, 4)
    assert hits.shape == (0,)
