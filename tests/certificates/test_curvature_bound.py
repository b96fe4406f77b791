"""The bound on the bending of deep networks, against second derivatives by brute force."""

from dataclasses import replace

import numpy as np
import pytest

from unweave.activations import IDENTITY, LEAKY_RELU, QUADRATIC, RELU, SIGMOID, SIN, TANH, Activation
from unweave.certificates.curvature_bound import LayeredCurvature
from unweave.networks.network import Layer, Network
from unweave.networks.parameters import LayeredJacobian, ParameterVector
from unweave.networks.planted import deep_network

SHAPES = [(2, 3, 2), (3, 3, 2, 2), (2, 3, 2, 2, 1)]


def planted(
    seed: int, shape: tuple[int, ...], hidden: Activation, output: Activation, *, points: int = 12
) -> tuple[Network, np.ndarray]:
    """A network whose neurons have different sizes."""
    rng = np.random.default_rng(seed)
    network = deep_network(rng, shape=shape, shift_deviation=0.3, activation=hidden, output_activation=output)
    layers = tuple(
        replace(layer, weights=layer.weights * rng.uniform(0.5, 2.0, (layer.neurons, 1))) for layer in network.layers
    )
    return Network(layers), rng.standard_normal((points, shape[0]))


def second_derivatives(network: Network, points: np.ndarray, h: float = 1e-5) -> np.ndarray:
    """Second derivatives of all values in the parameters in the units of `network`, by differences of the Jacobian."""
    vector = ParameterVector(network)

    def jacobian(step: np.ndarray) -> np.ndarray:
        moved = vector.moved(step)
        rows = np.vstack(list(LayeredJacobian(moved, points).rows()))
        return rows / ParameterVector(moved).units * vector.units

    return np.stack([(jacobian(h * unit) - jacobian(-h * unit)) / (2 * h) for unit in np.eye(vector.count)], axis=2)


def worst_steps(tensor: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Steps that bend the values as much as alternating eigenvectors can find."""
    scaled, found = tensor / np.outer(weights, weights), []
    for _ in range(5):
        direction = rng.standard_normal(len(tensor))
        for _ in range(20):
            matrix = np.einsum("r,rij->ij", direction, scaled)
            values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
            step = vectors[:, np.argmax(np.abs(values))]
            direction = np.einsum("rij,i,j->r", scaled, step, step)
        found.append(step / weights)
    return found


def per_layer(network: Network, step: np.ndarray) -> np.ndarray:
    return np.array([np.linalg.norm(step[block]) for block in ParameterVector(network).blocks])


@pytest.mark.each_value
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("hidden", "output"), [(TANH, IDENTITY), (TANH, TANH), (SIGMOID, SIGMOID), (SIN, TANH)])
def test_values_never_bend_more_than_the_bound(
    shape: tuple[int, ...], hidden: Activation, output: Activation, seed: int
) -> None:
    network, points = planted(seed, shape, hidden, output)
    curvature, vector = LayeredCurvature(network, points), ParameterVector(network)
    per_parameter = np.concatenate(
        [
            np.full(block.stop - block.start, weight)
            for weight, block in zip(curvature.weights, vector.blocks, strict=True)
        ]
    )
    tensor = second_derivatives(network, points)
    bends, worst = curvature.bends(np.zeros(len(network.layers))), 0.0
    for step in worst_steps(tensor, per_parameter, np.random.default_rng(seed)):
        bend, norms = np.linalg.norm(np.einsum("rij,i,j->r", tensor, step, step)), per_layer(network, step)
        assert bend <= norms @ bends @ norms
        worst = max(worst, bend / float(np.sum((per_parameter * step) ** 2)))
    # Neither exceeded nor far from sharp on networks this small.
    assert 0.05 < worst <= 1.0


@pytest.mark.each_value
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("output", [IDENTITY, TANH], ids=str)
@pytest.mark.parametrize("size", [0.3, 0.03])
def test_the_bound_of_a_ball_holds_everywhere_in_it(
    shape: tuple[int, ...], output: Activation, size: float, seed: int
) -> None:
    network, points = planted(seed, shape, TANH, output)
    curvature, vector = LayeredCurvature(network, points), ParameterVector(network)
    rng, depth = np.random.default_rng([seed, 1]), len(network.layers)
    bends = curvature.bends(np.full(depth, size))
    assert np.all(bends >= curvature.bends(np.zeros(depth)))
    for _ in range(3):
        step = rng.standard_normal(vector.count)
        for block in vector.blocks:
            step[block] *= size / np.linalg.norm(step[block])
        moved = vector.moved(step)
        # The second derivative at the other network, in the units of this one.
        tensor = second_derivatives(moved, points)
        ratios = vector.units / ParameterVector(moved).units
        tensor = tensor * np.outer(ratios, ratios)
        for direction in worst_steps(tensor, np.ones(vector.count), rng)[:2]:
            norms = per_layer(network, direction)
            assert np.linalg.norm(np.einsum("rij,i,j->r", tensor, direction, direction)) <= norms @ bends @ norms


def test_the_excess_grows_from_one_with_the_ball(seed: int) -> None:
    network, points = planted(seed, SHAPES[1], TANH, TANH)
    curvature = LayeredCurvature(network, points)
    excesses = [curvature.excess(curvature.weights, ball) for ball in (0.0, 1e-3, 1e-2, 1e-1)]
    assert excesses[0] <= 1.0 + 1e-12
    assert np.all(np.diff(excesses) > 0)


@pytest.mark.parametrize("hidden", [RELU, LEAKY_RELU], ids=str)
def test_kinked_values_do_not_reach_a_kink_within_the_ball(hidden: Activation, seed: int) -> None:
    network, points = planted(seed, SHAPES[1], hidden, IDENTITY)
    curvature, vector = LayeredCurvature(network, points), ParameterVector(network)
    depth, reach = len(network.layers), float(np.min(curvature.reaches))
    assert np.all(np.isinf(curvature.bends(np.full(depth, 1.01 * reach))))
    radii = np.full(depth, 0.99 * reach)
    bends = curvature.bends(radii)
    jacobian = np.vstack(list(LayeredJacobian(network, points).rows()))
    rng = np.random.default_rng([seed, 2])
    for _ in range(50):
        step = rng.standard_normal(vector.count)
        for block in vector.blocks:
            step[block] *= radii[0] / np.linalg.norm(step[block])
        moved = vector.moved(step)
        for layer, other, values, others in zip(
            network.layers[:-1],
            moved.layers[:-1],
            hidden_values(network, points),
            hidden_values(moved, points),
            strict=True,
        ):
            np.testing.assert_array_equal(layer.preactivations(values) > 0, other.preactivations(others) > 0)
        bend = (moved(points) - network(points)).ravel() - jacobian @ step
        assert np.linalg.norm(bend) <= 0.5 * radii @ bends @ radii + 1e-14


def hidden_values(network: Network, points: np.ndarray) -> list[np.ndarray]:
    """What comes into every hidden layer."""
    values = [points]
    for layer in network.layers[:-2]:
        values.append(layer.activation(layer.preactivations(values[-1])))
    return values


def test_the_bound_does_not_depend_on_the_chunks(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    network, points = planted(seed, SHAPES[1], TANH, TANH, points=50)
    whole = LayeredCurvature(network, points).bends(np.full(3, 0.1))
    monkeypatch.setattr("unweave.certificates.curvature_bound.CHUNK_NUMBERS", 500)
    np.testing.assert_allclose(LayeredCurvature(network, points).bends(np.full(3, 0.1)), whole, rtol=1e-12)


def test_an_affine_network_does_not_bend(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = Network((Layer(rng.normal(size=(2, 3)), np.zeros(2), IDENTITY),))
    curvature = LayeredCurvature(network, rng.normal(size=(5, 3)))
    np.testing.assert_array_equal(curvature.bends(np.ones(1)), 0.0)
    np.testing.assert_array_equal(curvature.weights, 1.0)


def test_unbounded_derivatives_have_no_bound(seed: int) -> None:
    network, points = planted(seed, SHAPES[1], QUADRATIC, IDENTITY)
    assert not LayeredCurvature(network, points).is_bounded
    network, points = planted(seed, SHAPES[1], TANH, IDENTITY)
    assert LayeredCurvature(network, points).is_bounded
