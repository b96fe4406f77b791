import numpy as np
import pytest

from assertions import largest_distance
from plants import unit_rows
from unweave.exceptions import InvalidInput
from unweave.learn.relu_network.jennrich import Jennrich
from unweave.numerics.symmetric_tensors import leading_directions, packed_powers


def planted(rng: np.random.Generator, *, entries: int, rank: int, slices: int) -> tuple[np.ndarray, ...]:
    factors, last = unit_rows(rng, rank, entries), rng.normal(size=(rank, slices))
    return np.einsum("ia,ib,is->abs", factors, factors, last), factors, last


@pytest.mark.parametrize(("entries", "rank", "slices"), [(6, 6, 6), (12, 5, 2), (4, 1, 3), (5, 4, 40), (8, 8, 2)])
def test_terms_of_an_exact_tensor_are_found(entries: int, rank: int, slices: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tensor, factors, last = planted(rng, entries=entries, rank=rank, slices=slices)
    found = Jennrich()(tensor, rng)
    assert found.rank == rank
    assert found.residual < 1e-11
    assert largest_distance(found.factors, factors) < 1e-9 * found.condition**2
    rebuilt = np.einsum("ia,ib,is->abs", found.factors, found.factors, found.last_factors)
    np.testing.assert_allclose(rebuilt, tensor, atol=1e-10 * np.linalg.norm(last))


@pytest.mark.parametrize(("inputs", "rank", "order"), [(8, 8, 1), (5, 12, 2), (4, 15, 3)])
def test_more_terms_than_inputs_are_found_by_flattening(inputs: int, rank: int, order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = unit_rows(rng, rank, inputs)
    powers = packed_powers(vectors, order)
    tensor = np.einsum("i,ia,ib,is->abs", rng.choice([-1.0, 1.0], rank), powers, powers, vectors)
    found = Jennrich()(tensor, rng)
    directions, qualities = leading_directions(found.factors, inputs, order)
    assert largest_distance(directions, vectors) < 1e-9
    assert np.min(qualities) > 1 - 1e-9


def test_a_given_rank_is_used(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tensor, _, _ = planted(rng, entries=6, rank=4, slices=5)
    found = Jennrich()(tensor, rng, rank=3)
    assert found.factors.shape == (3, 6)
    assert found.residual > 1e-3


def test_noise_below_the_floor_adds_no_terms(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tensor, factors, _ = planted(rng, entries=8, rank=3, slices=6)
    noise = 1e-5 * rng.normal(size=tensor.shape)
    found = Jennrich()(tensor + noise, rng, floor=float(np.linalg.norm(noise.reshape(8, -1), 2)))
    assert found.rank == 3
    assert found.gap > 100.0
    assert largest_distance(found.factors, factors) < 1e-2


def test_nothing_but_noise_has_no_terms(seed: int) -> None:
    noise = np.random.default_rng(seed).normal(size=(5, 5, 4))
    found = Jennrich()(noise, np.random.default_rng(seed), floor=float(np.linalg.norm(noise)))
    assert found.rank == 0
    assert found.residual == pytest.approx(1.0)
    assert found.gap == 0.0


@pytest.mark.parametrize("tensor", [np.zeros((4, 4, 2)), np.zeros((3, 3, 1))])
def test_a_zero_tensor_has_no_terms(tensor: np.ndarray) -> None:
    found = Jennrich()(tensor, np.random.default_rng(0))
    assert found.rank == 0
    assert found.residual == 0.0


def test_errors_are_in_proportion_to_the_noise(seed: int) -> None:
    rng = np.random.default_rng(seed)
    factors = np.linalg.qr(rng.normal(size=(6, 6)))[0] + 0.2 * rng.normal(size=(6, 6))
    factors /= np.linalg.norm(factors, axis=1, keepdims=True)
    tensor = np.einsum("ia,ib,is->abs", factors, factors, rng.normal(size=(6, 10)))
    noise = rng.normal(size=tensor.shape)
    sizes = np.array([1e-8, 1e-6, 1e-4])
    errors = [largest_distance(Jennrich()(tensor + e * noise, rng, rank=6).factors, factors) for e in sizes]
    assert np.polyfit(np.log(sizes), np.log(errors), 1)[0] == pytest.approx(1.0, abs=0.15)


def test_joint_diagonalisation_lowers_the_residual(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tensor, _, _ = planted(rng, entries=8, rank=8, slices=12)
    noisy = tensor + 1e-4 * rng.normal(size=tensor.shape)
    alone = Jennrich(draws=1, joint_steps=0)(noisy, np.random.default_rng(seed), rank=8)
    joint = Jennrich(draws=1)(noisy, np.random.default_rng(seed), rank=8)
    assert joint.joint_steps > 0
    assert joint.residual < alone.residual


def test_more_draws_never_leave_a_larger_residual(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tensor, _, _ = planted(rng, entries=7, rank=7, slices=7)
    noisy = tensor + 1e-3 * rng.normal(size=tensor.shape)
    one, many = (
        Jennrich(draws=draws, joint_steps=0)(noisy, np.random.default_rng(seed), rank=7).residual for draws in (1, 30)
    )
    assert many <= one


def test_an_anchor_is_the_denominator(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tensor, factors, _ = planted(rng, entries=6, rank=4, slices=5)
    anchor = factors.T @ (np.array([1.0, -2.0, 3.0, -1.0])[:, None] * factors)
    found = Jennrich()(tensor, rng, anchor=anchor)
    assert largest_distance(found.factors, factors) < 1e-9


def test_conjugate_pairs_keep_their_plane() -> None:
    # Slices that rotate a plane: no real eigenvectors.
    tensor = np.zeros((2, 2, 2))
    tensor[:, :, 0], tensor[:, :, 1] = [[1.0, 0.0], [0.0, -1.0]], [[0.0, 1.0], [1.0, 0.0]]
    found = Jennrich(draws=5)(tensor, np.random.default_rng(0), rank=2)
    assert found.complex_pairs == 1
    assert np.linalg.matrix_rank(found.factors) == 2
    np.testing.assert_allclose(np.linalg.norm(found.factors, axis=1), 1.0, atol=1e-12)


def test_singular_denominators_are_rejected_but_do_not_fail(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tensor, factors, _ = planted(rng, entries=5, rank=3, slices=4)
    found = Jennrich(draws=4)(tensor, rng, rank=3, anchor=np.outer(factors[0], factors[0]))
    assert found.rejected == 4
    assert found.denominator_condition > 1e10


@pytest.mark.parametrize("rank", [-1, 4])
def test_the_rank_has_to_fit_the_tensor(rank: int) -> None:
    with pytest.raises(InvalidInput, match="rank"):
        Jennrich()(np.zeros((3, 3, 2)), np.random.default_rng(0), rank=rank)
