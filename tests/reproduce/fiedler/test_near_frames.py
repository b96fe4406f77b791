import numpy as np
import pytest

from unweave.arrays import pack, pack_squares, unpack
from unweave.reproduce.fiedler import near_frames as frames
from unweave.reproduce.fiedler.entangled_metrics import distances_up_to_sign, projector_gap
from unweave.reproduce.fiedler.incoherence import frame_constant, gramian


@pytest.mark.parametrize(("neurons", "noise"), [(8, 0.0), (8, 0.05), (10, 0.0)])
def test_frames_are_as_tight_as_asked(neurons: int, noise: float, seed: int) -> None:
    vectors = frames.near_frame(np.random.default_rng(seed), inputs=8, neurons=neurons, noise=noise)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0)
    tight = neurons / 8 - 1
    assert tight - 1e-12 <= frame_constant(vectors) <= tight + 0.02 + 6 * noise


@pytest.mark.parametrize("error", [1e-6, 0.01, 0.3])
def test_spans_are_turned_by_the_error(error: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    span = frames.span_of_squares(frames.random_atoms(rng, inputs=6, neurons=8))
    turned = frames.rotated_span(span, rng, error=error)
    assert projector_gap(span.basis, turned.basis) == pytest.approx(error, rel=1e-6)


def test_values_agree_with_the_closed_form(seed: int) -> None:
    # [fiedler, Lemma 2.17]
    rng = np.random.default_rng(seed)
    atoms, vectors = frames.random_atoms(rng, inputs=6, neurons=8), frames.random_atoms(rng, inputs=6, neurons=5)
    squares = (vectors @ atoms.T) ** 2
    closed = np.einsum("ik,ki->i", squares, np.linalg.solve(gramian(atoms, 2), squares.T))
    np.testing.assert_allclose(frames.values_at(frames.span_of_squares(atoms), vectors), closed, atol=1e-12)


def test_the_second_order_condition_is_that_of_the_sphere(seed: int) -> None:
    # Along a great circle the second derivative of Phi is four times the difference of both sides of (2.38).
    rng = np.random.default_rng(seed)
    span = frames.span_of_squares(frames.random_atoms(rng, inputs=5, neurons=6))
    vector = frames.random_atoms(rng, inputs=5, neurons=1)[0]
    tangent = np.linalg.svd(vector[None])[2][1:]
    across, step = frames.random_atoms(rng, inputs=4, neurons=3_000) @ tangent, 1e-3
    one, other = (frames.values_at(span, np.cos(step) * vector + side * np.sin(step) * across) for side in (1, -1))
    curvatures = (one - 2 * frames.values_at(span, vector[None]) + other) / step**2
    assert np.max(curvatures) / 4 == pytest.approx(frames.ascent_left(span, vector), abs=0.05)


def test_maximisers_of_an_exact_span_are_the_atoms(seed: int) -> None:
    rng = np.random.default_rng(seed)
    atoms = frames.random_atoms(rng, inputs=6, neurons=8)
    span = frames.span_of_squares(atoms)
    found = frames.local_maximisers(span, frames.random_atoms(rng, inputs=6, neurons=120))
    assert len(found.vectors) == 8
    assert np.max(np.min(distances_up_to_sign(found.vectors, atoms), axis=0)) < 1e-8
    np.testing.assert_allclose(found.values, 1.0)
    assert max(frames.ascent_left(span, vector) for vector in found.vectors) < 0
    assert frames.ascent_left(span, frames.random_atoms(rng, inputs=6, neurons=1)[0]) > 0


def test_the_spurious_maximiser_is_one_and_is_far_from_all_atoms(seed: int) -> None:
    # [fiedler, Lemma 2.19]: its value is the squared error.
    atoms = frames.near_frame(np.random.default_rng(seed), inputs=6, neurons=4, noise=0.0)
    span, aside = frames.spurious_span(atoms, error=0.2)
    assert projector_gap(span.basis, frames.span_of_squares(atoms).basis) == pytest.approx(0.2)
    found = frames.local_maximisers(span, aside[None])
    assert found.values[0] == pytest.approx(0.04)
    assert frames.ascent_left(span, found.vectors[0]) < 0
    assert np.min(distances_up_to_sign(found.vectors, atoms)) == pytest.approx(np.sqrt(2))


def test_coefficients_rebuild_the_matrix(seed: int) -> None:
    rng = np.random.default_rng(seed)
    atoms = frames.random_atoms(rng, inputs=5, neurons=6)
    span = frames.rotated_span(frames.span_of_squares(atoms), rng, error=0.1)
    wanted = rng.standard_normal(6)
    projected = pack_squares(atoms) @ span.basis @ span.basis.T
    matrix = wanted @ projected
    np.testing.assert_allclose(frames.coefficients_of(pack(unpack(matrix, 5)), span, atoms), wanted, atol=1e-10)
