"""Parameters and Jacobians of networks of any depth, against differences and dense products."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from unweave.activations import GELU, IDENTITY, LEAKY_RELU, RELU, SIGMOID, TANH, Activation
from unweave.exceptions import InvalidInput
from unweave.networks.network import Layer, Network
from unweave.networks.parameters import LayeredJacobian, ParameterVector, dense_jacobian, gauges, is_shallow, with_gauge
from unweave.networks.parameters import layered as layered_module
from unweave.networks.symmetries import rescale

SHAPE = (4, 5, 3, 2)


def planted(
    seed: int,
    *,
    shape: tuple[int, ...] = SHAPE,
    hidden: Activation = TANH,
    output: Activation = IDENTITY,
    has_skip: bool = False,
    points: int = 60,
) -> tuple[Network, np.ndarray]:
    rng = np.random.default_rng(seed)
    layers = tuple(
        Layer(
            rng.normal(size=(neurons, inputs)) / np.sqrt(inputs),
            0.3 * rng.normal(size=neurons),
            output if index == len(shape) - 2 else hidden,
        )
        for index, (inputs, neurons) in enumerate(pairwise(shape))
    )
    skip = rng.normal(size=(shape[-1], shape[0])) if has_skip else None
    return Network(layers, skip), rng.standard_normal((points, shape[0]))


def differences(network: Network, points: np.ndarray, h: float = 1e-6) -> np.ndarray:
    vector = ParameterVector(network)
    columns = [
        (vector.moved(h * unit)(points) - vector.moved(-h * unit)(points)).ravel() / (2 * h)
        for unit in np.eye(vector.count)
    ]
    return np.stack(columns, axis=1)


@pytest.mark.each_value
@pytest.mark.parametrize("shape", [SHAPE, (3, 2), (3, 4, 2), (3, 4, 3, 3, 1)], ids=str)
@pytest.mark.parametrize("output", [IDENTITY, TANH, SIGMOID], ids=str)
@pytest.mark.parametrize("has_skip", [False, True])
def test_the_jacobian_agrees_with_differences(
    shape: tuple[int, ...], output: Activation, has_skip: bool, seed: int
) -> None:
    network, points = planted(seed, shape=shape, output=output, has_skip=has_skip, points=7)
    np.testing.assert_allclose(LayeredJacobian(network, points).dense(), differences(network, points), atol=1e-8)
    np.testing.assert_allclose(dense_jacobian(network, points), differences(network, points), atol=1e-8)


@pytest.mark.parametrize("hidden", [GELU, RELU, LEAKY_RELU, SIGMOID], ids=str)
def test_every_activation_may_be_hidden(hidden: Activation, seed: int) -> None:
    network, points = planted(seed, hidden=hidden, output=TANH)
    np.testing.assert_allclose(dense_jacobian(network, points)[:120], differences(network, points, 1e-7), atol=1e-6)


def test_a_shallow_network_has_the_same_jacobian_either_way(seed: int) -> None:
    network, points = planted(seed, shape=(3, 4, 2), has_skip=True)
    assert is_shallow(network)
    np.testing.assert_allclose(LayeredJacobian(network, points).dense(), dense_jacobian(network, points), atol=1e-14)


@pytest.mark.parametrize("layers", [None, (0,), (1,), (2,), (0, 2)], ids=str)
@pytest.mark.parametrize("hidden", [TANH, RELU], ids=str)
@pytest.mark.parametrize("has_skip", [False, True])
def test_normal_equations_are_products_of_the_dense_jacobian(
    layers: tuple[int, ...] | None, hidden: Activation, has_skip: bool, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layered_module, "CHUNK_NUMBERS", 2_000)
    network, points = planted(seed, hidden=hidden, output=TANH, has_skip=has_skip)
    jacobian = LayeredJacobian(network, points, layers=layers)
    residuals = np.random.default_rng([seed, 1]).normal(size=(60, 2))
    gram, target = jacobian.normal_equations(residuals)
    dense = jacobian.dense()
    np.testing.assert_allclose(gram, dense.T @ dense, atol=1e-12 * np.max(np.abs(gram)))
    np.testing.assert_allclose(target, dense[:120].T @ residuals.ravel(), atol=1e-12 * np.max(np.abs(target)))


@pytest.mark.parametrize("layers", [(0,), (1,), (2,), (1, 2)], ids=str)
def test_some_layers_are_columns_of_all(layers: tuple[int, ...], seed: int) -> None:
    network, points = planted(seed, has_skip=True)
    part = LayeredJacobian(network, points, layers=layers)
    np.testing.assert_allclose(part.dense(), dense_jacobian(network, points)[:, part.is_free], atol=1e-14)
    assert part.count == sum(network.layers[k].weights.size + network.layers[k].neurons for k in layers) + (
        8 if 2 in layers else 0
    )


@pytest.mark.parametrize("has_skip", [False, True])
def test_a_step_is_counted_in_the_sizes_of_the_neurons(has_skip: bool, seed: int) -> None:
    network, _ = planted(seed, has_skip=has_skip, output=TANH)
    vector = ParameterVector(network)
    step = np.random.default_rng([seed, 2]).normal(size=vector.count)
    moved = vector.moved(step)
    np.testing.assert_allclose(vector.step_to(moved), step, atol=1e-12)
    first, second, last = network.layers
    changes = np.concatenate(
        [
            *[
                part.ravel()
                for layer, to in ((first, moved.layers[0]), (second, moved.layers[1]))
                for part in (
                    (to.weights - layer.weights) / np.linalg.norm(layer.weights, axis=1, keepdims=True),
                    (to.biases - layer.biases) / np.linalg.norm(layer.weights, axis=1),
                )
            ],
            ((moved.layers[2].weights - last.weights) / np.linalg.norm(last.weights, axis=0)).ravel(),
            moved.layers[2].biases - last.biases,
        ]
    )
    np.testing.assert_allclose(changes, step[: len(changes)], atol=1e-12)


def test_layers_that_do_not_exist_are_refused(seed: int) -> None:
    network, points = planted(seed)
    with pytest.raises(InvalidInput, match="from 0 to 2"):
        LayeredJacobian(network, points, layers=(3,))


# The scales of neurons with homogeneous activations


@pytest.mark.parametrize("hidden", [RELU, LEAKY_RELU], ids=str)
@pytest.mark.parametrize("output", [IDENTITY, TANH], ids=str)
def test_the_gauge_is_the_only_freedom_and_its_rows_remove_it(
    hidden: Activation, output: Activation, seed: int
) -> None:
    network, _ = planted(seed, hidden=hidden, output=output)
    points = 2 * np.random.default_rng([seed, 3]).standard_normal((600, SHAPE[0]))
    jacobian = dense_jacobian(network, points)
    assert gauges(network) == len(jacobian) - 1_200 == 8
    answers, rows = jacobian[:1_200], jacobian[1_200:]
    np.testing.assert_allclose(answers @ rows.T, 0.0, atol=1e-11 * np.linalg.norm(answers) * np.linalg.norm(rows))
    without, with_rows = (np.linalg.svd(matrix, compute_uv=False) for matrix in (answers, jacobian))
    assert without[-8] < 1e-12 * without[0]
    # The smallest singular value is the one that the answers have across the gauge.
    assert with_rows[-1] == pytest.approx(without[-9], rel=1e-9)


def test_the_gauge_holds_the_rescaling_of_every_neuron(seed: int) -> None:
    network, points = planted(seed, hidden=RELU)
    directions = LayeredJacobian(network, points).gauge_directions()
    for layer, neurons in enumerate(network.widths):
        for k in range(neurons):
            scaled = rescale(network, layer, np.where(np.arange(neurons) == k, 1 + 1e-7, 1.0))
            step = ParameterVector(network).step_to(scaled)
            left = step - directions.T @ (directions @ step)
            assert np.linalg.norm(left) < 1e-6 * np.linalg.norm(step)


def test_a_scale_is_free_only_where_both_of_its_layers_move(seed: int) -> None:
    network, points = planted(seed, hidden=RELU)
    for layers, free in (((0,), 0), ((0, 1), 5), ((1, 2), 3), ((0, 2), 0)):
        assert len(LayeredJacobian(network, points, layers=layers).gauge_directions()) == free


def test_a_neuron_without_weights_has_no_scale(seed: int) -> None:
    network, points = planted(seed, hidden=RELU)
    first, second, last = network.layers
    silent = replace(
        first, weights=first.weights * (np.arange(5) > 0)[:, None], biases=first.biases * (np.arange(5) > 0)
    )
    deaf = replace(second, weights=second.weights * (np.arange(5) > 0))
    directions = LayeredJacobian(Network((silent, deaf, last)), points).gauge_directions()
    assert np.sum(np.linalg.norm(directions, axis=1) > 0.5) == 7
    assert np.all(np.isfinite(directions))


def test_smooth_layers_have_no_gauge(seed: int) -> None:
    network, points = planted(seed)
    assert gauges(network) == 0
    np.testing.assert_array_equal(with_gauge(network, network(points)), network(points).ravel())
