import numpy as np
import pytest

from unweave.activations import IDENTITY, TANH, Activation
from unweave.exceptions import InvalidInput
from unweave.identification.peeling.layer_assignment import (
    LayerAssignment,
    effects_on_outputs,
    hidden_layers_from,
    lines_through,
    nesting_order,
    nesting_residual,
    null_space_layers,
)
from unweave.networks.network import Network
from unweave.networks.planted import deep_network
from unweave.reproduce.fiedler.entangled import entangled_weights, normalised, sensitivities
from unweave.reproduce.fiedler.entangled_metrics import distances_up_to_sign

INPUTS, OUTPUTS = 24, 10
SHAPES = [(20, 12), (20, 15, 10), (22, 18, 14, 10)]


def planted(seed: int, widths: tuple[int, ...], output: Activation = IDENTITY) -> Network:
    rng = np.random.default_rng([seed, *widths])
    return deep_network(rng, shape=(INPUTS, *widths, OUTPUTS), output_activation=output)


def mixed_directions(network: Network, seed: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """All hidden entangled weights at zero in random order, with random signs and errors, and their layers."""
    rng = np.random.default_rng([seed, 1])
    layers = entangled_weights(network, np.zeros(INPUTS))[:-1]
    labels = np.concatenate([np.full(len(rows), layer) for layer, rows in enumerate(layers)])
    order = rng.permutation(len(labels))
    directions = normalised(np.concatenate(layers))[order] * rng.choice([-1.0, 1.0], (len(order), 1))
    errors = rng.standard_normal(directions.shape)
    directions = directions + noise * normalised(errors)
    return normalised(directions), labels[order]


def labelled(network: Network, seed: int, *, noise: float) -> tuple[LayerAssignment, np.ndarray]:
    directions, labels = mixed_directions(network, seed, noise)
    rng = np.random.default_rng([seed, 2])
    points = 0.1 / np.sqrt(INPUTS) * rng.standard_normal((60, INPUTS))
    gradients = network.gradients(np.zeros((1, INPUTS)))[0]
    outputs = normalised(gradients) if network.activations[-1] != IDENTITY else None
    effects, _ = effects_on_outputs(directions, network.hessians(points), outputs)
    return null_space_layers(directions, effects, gradients, rng=rng), labels


@pytest.mark.each_value
@pytest.mark.parametrize("output", [TANH, IDENTITY], ids=str)
@pytest.mark.parametrize("widths", SHAPES, ids=str)
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_null_space_labels_are_right_at_any_depth(
    widths: tuple[int, ...], output: Activation, noise: float, seed: int
) -> None:
    found, labels = labelled(planted(seed, widths, output), seed, noise=noise)
    assert found.layers == len(widths)
    assert np.array_equal(found.labels, labels)
    assert found.widths == widths
    assert found.gap > 2.0
    assert found.order_margin > 0.05
    assert np.min(found.strengths) > 0.05


def test_the_null_space_has_one_dimension_per_hidden_layer(seed: int) -> None:
    # With exact vectors and exact effects, from sensitivities: an independent way to them.
    network = planted(seed, (20, 15, 10))
    zero = np.zeros(INPUTS)
    directions = normalised(np.concatenate(entangled_weights(network, zero)[:-1]))
    effects = normalised(np.concatenate([table.T for table in sensitivities(network, zero)[:-1]]))
    gradients = network.gradients(zero[None])[0]
    found = null_space_layers(directions, effects, gradients, rng=np.random.default_rng(seed))
    assert np.all(found.spectrum[-3:] < 1e-12)
    assert found.spectrum[-4] > 1e-2
    assert found.gap > 1e9


def test_effects_are_those_of_the_sensitivities(seed: int) -> None:
    network = planted(seed, (20, 12), TANH)
    zero = np.zeros(INPUTS)
    directions = normalised(np.concatenate(entangled_weights(network, zero)[:-1]))
    points = 0.01 / np.sqrt(INPUTS) * np.random.default_rng(seed).standard_normal((60, INPUTS))
    outputs = normalised(network.gradients(zero[None])[0])
    effects, series = effects_on_outputs(directions, network.hessians(points), outputs)
    truth = normalised(np.concatenate([table.T for table in sensitivities(network, zero)[:-1]]))
    assert np.max(np.diag(distances_up_to_sign(effects, truth))) < 0.1
    assert series.shape == (32, 60, OUTPUTS)


def test_one_output_is_refused(seed: int) -> None:
    directions = normalised(np.random.default_rng(seed).standard_normal((30, INPUTS)))
    with pytest.raises(InvalidInput, match="more outputs"):
        null_space_layers(directions, np.ones((30, 1)), np.ones((1, INPUTS)), rng=np.random.default_rng(0))


def test_lines_are_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    axes = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.6, 0.8]])
    truth = rng.integers(3, size=60)
    lengths = rng.choice([-1.0, 1.0], 60) * rng.uniform(0.5, 2.0, 60)
    rows = lengths[:, None] * axes[truth] + 0.02 * rng.standard_normal((60, 3))
    labels, margins = lines_through(rows, lines=3, rng=rng)
    assert len({(int(a), int(b)) for a, b in zip(labels, truth, strict=True)}) == 3
    assert np.min(margins) > 0.1


def test_layers_are_counted_by_the_largest_ratio() -> None:
    assert hidden_layers_from(np.array([1.0, 0.5, 0.36, 0.33, 0.045, 0.031, 0.012])) == 3
    assert hidden_layers_from(np.array([1.0, 0.6, 0.5, 1e-16, 1e-18])) == 2


def test_nesting_gives_the_order(seed: int) -> None:
    layers = [normalised(rows) for rows in entangled_weights(planted(seed, (20, 15, 10)), np.zeros(INPUTS))]
    assert nesting_residual(layers[0], layers[1]) < 1e-12
    assert nesting_residual(layers[1], layers[0]) > 0.1
    order, margin = nesting_order((layers[1], layers[2], layers[0]))
    assert np.array_equal(order, [2, 0, 1])
    assert margin > 0.1


def test_equal_widths_leave_the_order_open(seed: int) -> None:
    layers = [normalised(rows) for rows in entangled_weights(planted(seed, (9, 9)), np.zeros(INPUTS))]
    assert abs(nesting_order((layers[1], layers[0]))[1]) < 1e-9
    assert nesting_residual(np.empty((0, INPUTS)), layers[0]) == 1.0
