import numpy as np
import pytest

from unweave.arrays import pack, unpack
from unweave.reproduce.fiedler.entangled import normalised
from unweave.reproduce.fiedler.entangled_metrics import (
    distances_up_to_sign,
    false_positives,
    mean_error,
    projector_distance,
    projector_gap,
    rightly_assigned,
    shift_error,
    uniform_error,
    worst_of_found,
    worst_of_truth,
)

INPUTS = 6


def bases(seed: int, rank: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    size = INPUTS * (INPUTS + 1) // 2
    first = np.linalg.qr(rng.standard_normal((size, rank)))[0]
    return first, np.linalg.qr(first + 0.1 * rng.standard_normal(first.shape))[0]


def dense_projector(basis: np.ndarray) -> np.ndarray:
    columns = unpack(basis.T, INPUTS).reshape(basis.shape[1], -1).T
    return columns @ columns.T


def test_packing_is_an_isometry(seed: int) -> None:
    matrices = np.random.default_rng(seed).standard_normal((2, INPUTS, INPUTS))
    matrices = matrices + np.swapaxes(matrices, 1, 2)
    first, second = pack(matrices)
    assert first @ second == pytest.approx(np.sum(matrices[0] * matrices[1]), rel=1e-12)


def test_projector_distances_are_those_of_dense_projectors(seed: int) -> None:
    first, second = bases(seed)
    difference = dense_projector(first) - dense_projector(second)
    assert projector_distance(first, second) == pytest.approx(np.linalg.norm(difference), rel=1e-10)
    assert projector_gap(first, second) == pytest.approx(np.linalg.norm(difference, 2), rel=1e-10)


def test_projector_distances_reach_the_rounding_floor(seed: int) -> None:
    first, _ = bases(seed)
    rotated = first @ np.linalg.qr(np.random.default_rng(seed).standard_normal((4, 4)))[0]
    assert projector_distance(first, rotated) < 1e-14


def test_distances_are_up_to_sign_and_not_lost_in_a_cosine(seed: int) -> None:
    truth = normalised(np.random.default_rng(seed).standard_normal((3, INPUTS)))
    off = normalised(truth + 1e-11 * np.random.default_rng([seed, 1]).standard_normal(truth.shape))
    distances = distances_up_to_sign(np.concatenate([-off, truth]), truth)
    brute = [[min(np.linalg.norm(u - v), np.linalg.norm(u + v)) for v in truth] for u in (*-off, *truth)]
    assert np.allclose(distances, brute, rtol=1e-4, atol=1e-15)
    assert 1e-12 < distances[0, 0] < 1e-10


def test_errors_look_from_both_sides() -> None:
    truth, found = np.eye(3), np.array([[-1.0, 0, 0], [0, 1, 0], [0.6, 0.8, 0]])
    assert worst_of_truth(found, truth) == pytest.approx(np.sqrt(2))
    assert worst_of_found(found, truth) == pytest.approx(np.sqrt(0.4))
    assert false_positives(found, truth) == pytest.approx(1 / 3)
    assert rightly_assigned(found, truth) == pytest.approx(2 / 3)
    assert worst_of_truth(np.empty((0, 3)), truth) == np.inf


def test_errors_of_outputs() -> None:
    truth, found = np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 1.0]])
    assert mean_error(found, truth) == pytest.approx(0.5)
    assert uniform_error(found, truth) == pytest.approx(0.2)


def test_shifts_are_compared_after_pairing_and_without_signs() -> None:
    directions, shifts = np.eye(3), np.array([1.0, -2.0, 2.0])
    order = np.array([2, 0, 1])
    found = {"found_directions": -directions[order], "true_directions": directions}
    assert shift_error(-shifts[order], shifts, **found) == 0.0
    assert shift_error(-shifts[order] + [0.0, 0.0, 0.3], shifts, **found) == pytest.approx(0.1)
