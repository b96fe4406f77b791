import numpy as np
import pytest
import scipy.linalg

from unweave.arrays import pack_squares, packed_size
from unweave.exceptions import InvalidInput
from unweave.numerics.matrix_subspace import GapRules, MatrixSubspace, rank_at_gap, span_of_hessians

INPUTS = 6
SIZE = packed_size(INPUTS)


def planted_hessians(seed: int, *, matrices: int, neurons: int, noise: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Packed Hessians with random coefficients in random atoms, and the packed atoms."""
    rng = np.random.default_rng(seed)
    atoms = rng.normal(size=(neurons, INPUTS))
    squares = pack_squares(atoms / np.linalg.norm(atoms, axis=1, keepdims=True))
    exact = rng.normal(size=(matrices, neurons)) @ squares
    return exact + noise * rng.normal(size=exact.shape), squares


def subspace_error(span: MatrixSubspace, squares: np.ndarray) -> float:
    """Operator norm of the difference of the projectors."""
    truth = scipy.linalg.orth(squares.T)
    return float(np.linalg.norm(span.basis @ span.basis.T - truth @ truth.T, 2))


@pytest.mark.parametrize("neurons", [1, 4, 12])
@pytest.mark.parametrize("surplus", [1, 4])
def test_the_span_is_that_of_the_atoms(neurons: int, surplus: int, seed: int) -> None:
    # Both layouts: fewer and more Hessians than entries of a packed matrix.
    hessians, squares = planted_hessians(seed, matrices=surplus * neurons + 2, neurons=neurons)
    span = span_of_hessians(hessians, inputs=INPUTS, rank=neurons)
    assert subspace_error(span, squares) < 1e-12
    assert (span.rank, span.matrices, span.inputs) == (neurons, surplus * neurons + 2, INPUTS)


@pytest.mark.parametrize("matrices", [9, 60])
def test_basis_and_complement_are_orthonormal_and_complete(matrices: int, seed: int) -> None:
    span = span_of_hessians(planted_hessians(seed, matrices=matrices, neurons=7)[0], inputs=INPUTS, rank=7)
    together = np.hstack([span.basis, span.complement])
    np.testing.assert_allclose(together.T @ together, np.eye(SIZE), atol=1e-13)


def test_singular_values_are_those_of_all_hessians(seed: int) -> None:
    for matrices in (9, 60):
        hessians, _ = planted_hessians(seed, matrices=matrices, neurons=7, noise=1e-3)
        span = span_of_hessians(hessians, inputs=INPUTS, rank=7)
        np.testing.assert_allclose(span.singular_values, scipy.linalg.svdvals(hessians), rtol=1e-10, atol=1e-13)
        assert span.gap == pytest.approx(span.singular_values[6] / span.singular_values[7])
        assert span.learnability == pytest.approx(span.singular_values[6] ** 2 / matrices)


@pytest.mark.parametrize("neurons", [1, 5, 14])
@pytest.mark.parametrize("noise", [0.0, 1e-8, 1e-4])
def test_the_rank_shows_as_a_gap(neurons: int, noise: float, seed: int) -> None:
    hessians, _ = planted_hessians(seed, matrices=3 * neurons + 2, neurons=neurons, noise=noise)
    assert span_of_hessians(hessians, inputs=INPUTS, floor=noise).rank == neurons


def test_a_common_mean_is_no_gap(seed: int) -> None:
    hessians, squares = planted_hessians(seed, matrices=40, neurons=6, noise=1e-7)
    shifted = hessians + 1e4 * squares.sum(axis=0)
    assert span_of_hessians(shifted, inputs=INPUTS, floor=1e-7).rank == 6


def test_noise_alone_has_no_rank(seed: int) -> None:
    noise = 1e-5 * np.random.default_rng(seed).normal(size=(50, SIZE))
    # The floor stands for a typical spectral norm, so leave some room above it.
    span = span_of_hessians(noise, inputs=INPUTS, floor=1.5e-5)
    assert span.rank == 0
    assert span.basis.shape == (SIZE, 0)
    assert span.complement.shape == (SIZE, SIZE)
    assert span.learnability == 0.0
    assert span.error == 1.0


def test_without_a_gap_everything_above_the_noise_counts(seed: int) -> None:
    hessians = np.random.default_rng(seed).normal(size=(60, SIZE))
    span = span_of_hessians(hessians, inputs=INPUTS, floor=1e-9)
    assert span.rank == SIZE
    assert span.complement.shape == (SIZE, 0)


def test_the_error_is_proportional_to_the_noise(seed: int) -> None:
    levels = np.geomspace(1e-8, 1e-3, 6)
    errors = []
    for noise in levels:
        hessians, squares = planted_hessians(seed, matrices=60, neurons=8, noise=noise)
        errors.append(subspace_error(span_of_hessians(hessians, inputs=INPUTS, rank=8), squares))
    assert np.polyfit(np.log(levels), np.log(errors), 1)[0] == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("matrices", [10, 16, 60])
@pytest.mark.parametrize("noise", [1e-7, 1e-4])
def test_the_error_proxy_tracks_the_true_error(matrices: int, noise: float, seed: int) -> None:
    hessians, squares = planted_hessians(seed, matrices=matrices, neurons=8, noise=noise)
    span = span_of_hessians(hessians, inputs=INPUTS, rank=8, floor=noise)
    actual = subspace_error(span, squares)
    assert actual / 3 < span.error < 30 * actual


def test_wedin_bounds_the_error(seed: int) -> None:
    exact, squares = planted_hessians(seed, matrices=60, neurons=8)
    noise = 1e-3 * np.random.default_rng([seed, 1]).normal(size=exact.shape)
    span = span_of_hessians(exact + noise, inputs=INPUTS, rank=8)
    assert subspace_error(span, squares) <= 2 * np.linalg.norm(noise) / span.singular_values[7]


def test_the_span_does_not_depend_on_the_order_or_mixing_of_the_hessians(seed: int) -> None:
    hessians, _ = planted_hessians(seed, matrices=30, neurons=8, noise=1e-3)
    mixing = np.linalg.qr(np.random.default_rng([seed, 2]).normal(size=(30, 30)))[0]
    first = span_of_hessians(hessians, inputs=INPUTS, rank=8)
    second = span_of_hessians(mixing @ hessians, inputs=INPUTS, rank=8)
    np.testing.assert_allclose(first.basis @ first.basis.T, second.basis @ second.basis.T, atol=1e-12)
    np.testing.assert_allclose(first.singular_values, second.singular_values, atol=1e-12)


def test_a_span_without_an_outside_has_an_infinite_gap(seed: int) -> None:
    hessians, _ = planted_hessians(seed, matrices=5, neurons=5)
    assert span_of_hessians(hessians, inputs=INPUTS, rank=5).gap == np.inf


def test_more_dimensions_than_hessians_are_refused(seed: int) -> None:
    hessians, _ = planted_hessians(seed, matrices=5, neurons=5)
    with pytest.raises(InvalidInput, match=r"at least rank=6 Hessians .* got 5 of 21"):
        span_of_hessians(hessians, inputs=INPUTS, rank=6)


def test_more_dimensions_than_entries_are_refused(seed: int) -> None:
    hessians, _ = planted_hessians(seed, matrices=60, neurons=5)
    with pytest.raises(InvalidInput, match="at least rank=22"):
        span_of_hessians(hessians, inputs=INPUTS, rank=22)


def test_hessians_of_another_size_are_refused() -> None:
    with pytest.raises(InvalidInput, match="6 inputs have 21 entries, got 15"):
        span_of_hessians(np.zeros((4, 15)), inputs=INPUTS)


@pytest.mark.parametrize(
    ("rules", "rank"),
    [
        (GapRules(), 4),
        (GapRules(smallest_gap=4.0), 2),
        (GapRules(smallest_gap=4.0, noise_margin=10.0), 4),
        (GapRules(noise_alone=101.0), 0),
    ],
    ids=str,
)
def test_the_rules_say_what_counts_as_a_gap(rules: GapRules, rank: int) -> None:
    # The largest ratio is 4.5, after two values, and ends in 20 times the noise.
    assert rank_at_gap(np.array([10.0, 9.0, 2.0, 1.9]), 0.1, rules=rules) == rank
