"""Places of a box where kinks hide."""

import numpy as np
import pytest

from unweave.identification.corners import (
    VERTICES,
    climb,
    face_points,
    points_beyond,
    points_beyond_each,
    points_on,
    vertices,
)


@pytest.mark.parametrize("inputs", [1, 3, 12])
def test_all_vertices_are_there_once(inputs: int) -> None:
    found = vertices(inputs, np.random.default_rng(0))
    assert found.shape == (2**inputs, inputs)
    assert len(np.unique(found, axis=0)) == 2**inputs
    assert np.all(np.abs(found) == 1.0)


def test_of_too_many_vertices_some_are_drawn() -> None:
    found = vertices(40, np.random.default_rng(0))
    assert found.shape == (VERTICES.drawn, 40)
    assert np.all(np.abs(found) == 1.0)


def test_faces_of_all_dimensions_are_drawn() -> None:
    points = face_points(4, 400, np.random.default_rng(0))
    fixed = np.count_nonzero(np.abs(points) == 1.0, axis=1)
    assert np.all(np.abs(points) <= 1.0)
    assert set(fixed) == {1, 2, 3, 4}


@pytest.mark.parametrize("inputs", [1, 2, 9])
@pytest.mark.parametrize("depth", [1e-6, 0.1, 1.5])
def test_points_beyond_a_kink_are_in_the_box_and_beyond(inputs: int, depth: float) -> None:
    rng = np.random.default_rng([inputs, 1])
    weights = rng.standard_normal(inputs)
    weights[0] = 0.0 if inputs > 2 else weights[0]
    bias = -(1.0 - depth) * float(np.sum(np.abs(weights)))
    points = points_beyond(weights, bias, 200, rng)
    assert points.shape == (200, inputs)
    assert np.all(np.abs(points) <= 1.0)
    assert np.all(points @ weights + bias >= -1e-15)
    # They spread over the corner instead of sitting at its tip.
    assert np.ptp(points @ weights) > 0.2 * min(depth, 1.0) * float(np.sum(np.abs(weights)))


def test_there_are_none_beyond_a_kink_outside() -> None:
    assert len(points_beyond(np.array([1.0, -1.0]), -2.5, 10, np.random.default_rng(0))) == 0


@pytest.mark.parametrize("is_box", [True, False])
@pytest.mark.parametrize("inputs", [1, 2, 9])
def test_points_are_moved_onto_a_kink(inputs: int, is_box: bool) -> None:
    rng = np.random.default_rng([inputs, 2])
    weights = rng.standard_normal(inputs)
    offset = 0.9 * float(np.sum(np.abs(weights)))
    points = points_on(weights, offset, rng.uniform(-1.0, 1.0, (50, inputs)), is_box=is_box)
    assert len(points) == 50
    np.testing.assert_allclose(points @ weights + offset, 0.0, atol=1e-12)
    if is_box:
        assert np.all(np.abs(points) <= 1.0)


def test_no_point_of_a_box_is_moved_onto_a_kink_outside() -> None:
    weights = np.array([1.0, -1.0])
    assert len(points_on(weights, 2.5, np.zeros((3, 2)), is_box=True)) == 0
    assert len(points_on(np.zeros(2), 1.0, np.zeros((3, 2)), is_box=False)) == 0


def test_a_climb_ends_where_a_neuron_is_largest() -> None:
    rng = np.random.default_rng(0)
    weights = rng.standard_normal(30)
    heights: list[float] = []

    def height(points: np.ndarray) -> np.ndarray:
        heights.extend(found := np.maximum(points @ weights, 0.0))
        return np.array(found)

    starts = vertices(30, rng)[:2]
    climb(height, starts, starts @ weights, flips=30, rounds=2, rng=rng)
    assert max(heights) == pytest.approx(np.sum(np.abs(weights)))


def test_a_climb_ends_at_once_where_nothing_rises() -> None:
    asked: list[int] = []

    def height(points: np.ndarray) -> np.ndarray:
        asked.append(len(points))
        return np.zeros(len(points))

    climb(height, np.ones((4, 100)), np.zeros(4), flips=64, rounds=3, rng=np.random.default_rng(0))
    assert asked == [4 * 64]


def test_points_beyond_each_kink_are_in_its_smaller_part(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights, biases = rng.standard_normal((3, 4)), np.array([-0.8, 0.8, 50.0])
    points = points_beyond_each(weights, biases, 300, rng)
    # The third one is met nowhere in the box.
    assert points.shape == (200, 4)
    assert np.max(np.abs(points)) <= 1.0
    assert np.all(points[:100] @ weights[0] + biases[0] > -1e-12)
    assert np.all(points[100:] @ weights[1] + biases[1] < 1e-12)
