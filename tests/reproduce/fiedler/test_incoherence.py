from itertools import combinations

import numpy as np
import pytest
import scipy.linalg

from unweave.exceptions import InvalidInput
from unweave.reproduce.fiedler.incoherence import (
    coherence,
    frame_constant,
    gramian,
    gramian_constant,
    incoherence,
    isometry_bounds,
    isometry_found,
    upper_frame_constant,
    welch_bound,
)
from unweave.reproduce.fiedler.mercedes_benz import simplex_frame
from unweave.reproduce.fiedler.near_frames import random_atoms


def deviation_of_all(vectors: np.ndarray, size: int) -> float:
    """The largest of all subsets, one by one."""
    subsets = (vectors[list(chosen)] for chosen in combinations(range(len(vectors)), size))
    return max(float(np.linalg.norm(chosen @ chosen.T - np.eye(size), 2)) for chosen in subsets)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_deviations_of_subsets_lie_between_what_was_found_and_the_bound(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = random_atoms(rng, inputs=5, neurons=9)
    exact = deviation_of_all(vectors, size)
    assert isometry_found(vectors, size, rng) == pytest.approx(exact, abs=1e-9)
    assert isometry_bounds(vectors)[size - 1] >= exact - 1e-12


def test_the_constants_bracket_the_isometry_of_all_subsets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = random_atoms(rng, inputs=6, neurons=10)
    found = incoherence(vectors, isometry=0.8, rng=rng)
    unit = np.log(10) / 6
    certified, refuted = round(found.certified / unit), round(found.refuted / unit)
    assert certified < refuted
    assert deviation_of_all(vectors, certified) <= 0.8 < deviation_of_all(vectors, refuted)
    assert found.coherence == pytest.approx(coherence(vectors) ** 2 / unit)


def test_the_gramian_constant_serves_all_orders(seed: int) -> None:
    vectors = random_atoms(np.random.default_rng(seed), inputs=6, neurons=12)
    norms = [1 / scipy.linalg.eigvalsh(gramian(vectors, order))[0] for order in (2, 3, 4, 6)]
    assert norms[0] == pytest.approx(gramian_constant(vectors))
    assert max(norms[1:]) <= norms[0]


def test_dependent_squares_have_no_gramian_constant() -> None:
    vectors = random_atoms(np.random.default_rng(0), inputs=2, neurons=4)
    assert gramian_constant(vectors) > 1e12


@pytest.mark.parametrize("inputs", [2, 3, 7])
def test_simplices_are_tight_and_meet_the_welch_bound(inputs: int) -> None:
    frame = simplex_frame(inputs)
    np.testing.assert_allclose(frame.T @ frame, (inputs + 1) / inputs * np.eye(inputs), atol=1e-12)
    assert frame_constant(frame) == pytest.approx(1 / inputs)
    assert coherence(frame) == pytest.approx(welch_bound(inputs + 1, inputs)) == pytest.approx(1 / inputs)


def test_frame_constants_are_the_least_that_hold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = random_atoms(rng, inputs=4, neurons=7)
    sums = np.sum((random_atoms(rng, inputs=4, neurons=2_000) @ vectors.T) ** 2, axis=1)
    constant = frame_constant(vectors)
    assert np.all(np.abs(sums - 1) <= constant)
    assert np.max(np.abs(sums - 1)) > 0.8 * constant
    assert np.max(sums) - 1 <= upper_frame_constant(vectors) <= constant


def test_fewer_vectors_than_inputs_are_no_frame() -> None:
    vectors = np.eye(4)[:3]
    assert frame_constant(vectors) == 1.0
    assert upper_frame_constant(vectors) == pytest.approx(0.0)


@pytest.mark.parametrize("isometry", [0.0, 1.0])
def test_a_deviation_has_to_be_between_zero_and_one(isometry: float) -> None:
    with pytest.raises(InvalidInput, match="in \\(0, 1\\)"):
        incoherence(np.eye(3), isometry=isometry, rng=np.random.default_rng(0))
