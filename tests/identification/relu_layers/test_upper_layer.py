"""Lines and points in the orthant: they stay there, and meet what they are for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unweave.activations import RELU, leaky_relu
from unweave.exceptions import StageFailed
from unweave.identification.relu_layers.upper_layer import Orthant, join, segment
from unweave.identification.walks.lines import Line
from unweave.networks.network import Layer, Network
from unweave.networks.planted import general_network

seeds = st.integers(0, 2**32 - 1)
ORTHANT = Orthant()


def lines(inputs: int, seed: int) -> list[Line]:
    return list(ORTHANT.edge_lines(inputs, np.random.default_rng(seed)))


def ends_of(line: Line) -> np.ndarray:
    return line.points(np.array([line.position(line.first), line.position(line.last)]))


def crossings(line: Line, normal: np.ndarray, offset: float) -> bool:
    before, after = ends_of(line) @ normal + offset
    return bool(before * after < 0)


@given(seeds, st.integers(1, 7))
def test_lines_stay_in_the_orthant(seed: int, inputs: int) -> None:
    walked = lines(inputs, seed)
    assert len(walked) == ORTHANT.rays + (inputs if inputs > 1 else 0)
    for line in walked:
        ends = ends_of(line)
        assert np.all(ends >= 0.0)
        assert np.all(ends <= ORTHANT.axis * (1 + 1e-12))
        assert np.linalg.norm(line.direction) == pytest.approx(1.0)


@given(seeds, st.integers(2, 8))
def test_weights_of_both_signs_are_met_twice(seed: int, inputs: int) -> None:
    rng = np.random.default_rng([seed, 1])
    # Weights that are not too small for the length of the axes.
    normal = rng.choice([-1.0, 1.0], inputs) * rng.uniform(0.1, 1.0, inputs)
    normal[rng.choice(inputs, 2, replace=False)] *= np.sign(normal[:2]) * np.array([1.0, -1.0])
    offset = rng.uniform(-1.0, 1.0)
    met = sum(crossings(line, normal, offset) for line in lines(inputs, seed)[:inputs])
    is_mixed = np.any(normal > 0) and np.any(normal < 0)
    assert met >= 2 if is_mixed else met == 0


@given(seeds, st.integers(1, 8))
def test_weights_of_one_sign_are_met_by_rays(seed: int, inputs: int) -> None:
    rng = np.random.default_rng([seed, 2])
    normal = rng.uniform(0.3, 1.0, inputs)
    offset = -rng.uniform(0.1, 0.5) * np.sum(normal)
    rays = lines(inputs, seed)[-ORTHANT.rays :]
    expected = [ends_of(ray)[1] @ normal + offset > 0 for ray in rays]
    assert [crossings(ray, normal, offset) for ray in rays] == expected


@given(seeds, st.integers(1, 5))
def test_a_segment_leads_from_one_point_to_the_other(seed: int, inputs: int) -> None:
    start, end = np.random.default_rng(seed).standard_normal((2, inputs))
    np.testing.assert_allclose(ends_of(segment(start, end)), np.stack([start, end]), atol=1e-12)


@given(seeds, st.integers(1, 8))
def test_points_beside_are_positive_and_on_both_sides(seed: int, inputs: int) -> None:
    rng = np.random.default_rng(seed)
    normal, offset = rng.standard_normal(inputs), rng.standard_normal()
    meets = not (np.all(normal > 0) and offset > 0) and not (np.all(normal < 0) and offset < 0)
    if not meets:
        return
    points = ORTHANT.points_beside(normal, offset, 200, rng)
    assert np.all(points >= 0.0)
    assert np.all(np.isfinite(points))
    arguments = points @ normal + offset
    assert 20 <= np.count_nonzero(arguments > 0) <= 180


def test_points_beside_are_near_the_corner(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = ORTHANT.points_beside(np.array([1.0, -0.01, 0.5]), -0.3, 100, rng)
    # No point has to go farther than the hyperplane's own axis.
    assert np.max(points[:, [0, 2]]) < 10.0


def planted(seed: int, *, outputs: int, has_skip: bool) -> tuple[Layer, Network]:
    rng = np.random.default_rng([seed, 101])
    first = Layer(rng.standard_normal((4, 6)), rng.standard_normal(4), RELU)
    upper = general_network(rng, inputs=4, neurons=5, outputs=outputs, activation=RELU)
    skip = rng.standard_normal((outputs, 4)) if has_skip else None
    return first, Network(upper.layers, skip)


@pytest.mark.parametrize(("outputs", "has_skip", "neurons"), [(2, False, 5), (1, True, 7), (3, True, 9)])
def test_the_joined_network_is_the_composition(outputs: int, has_skip: bool, neurons: int, seed: int) -> None:
    first, upper = planted(seed, outputs=outputs, has_skip=has_skip)
    joined = join(first, upper)
    points = 3.0 * np.random.default_rng([seed, 102]).standard_normal((100, 6))
    values = np.maximum(points @ first.weights.T + first.biases, 0.0)
    np.testing.assert_allclose(joined(points), upper(values), atol=1e-12)
    assert joined.widths[0] == 4
    assert joined.widths[1] <= neurons
    assert joined.skip is None


def test_slopes_of_one_sign_need_one_neuron(seed: int) -> None:
    first, upper = planted(seed, outputs=1, has_skip=True)
    assert upper.skip is not None
    joined = join(first, Network(upper.layers, -np.abs(upper.skip)))
    assert joined.widths == (4, 6)


def test_an_affine_part_above_leaky_relu_is_refused(seed: int) -> None:
    first, upper = planted(seed, outputs=1, has_skip=True)
    leaky = Layer(first.weights, first.biases, leaky_relu(0.1))
    with pytest.raises(StageFailed, match="can't be written without a skip"):
        join(leaky, upper)
