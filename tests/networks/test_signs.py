from dataclasses import replace

import numpy as np
import pytest

from unweave.activations import (
    GAUSSIAN,
    GELU,
    HARD_TANH,
    RELU,
    SILU,
    SIN,
    SOFTPLUS,
    TANH,
    Activation,
    leaky_relu,
    softplus,
)
from unweave.exceptions import InvalidInput
from unweave.networks.network import Layer, Network
from unweave.networks.planted import general_network
from unweave.networks.signs import SignRules, absorb_skip, explain_kinks, resolve_signs
from unweave.networks.symmetries import match, permute, reflect, rescale
from unweave.numerics.binary_systems import BinaryRules, BinarySystem

ABSOLUTE_VALUE = leaky_relu(-1.0)
# Full column rank, meet in the middle, several outputs, one input, all of one half.
SHAPES = [(6, 1, 1), (8, 5, 1), (5, 10, 1), (5, 18, 2), (3, 25, 1), (1, 5, 1)]


# Inputs, neurons and outputs.
Shape = tuple[int, int, int]


def network_of(shape: Shape, activation: Activation, rng: np.random.Generator) -> Network:
    inputs, neurons, outputs = shape
    return general_network(rng, inputs=inputs, neurons=neurons, outputs=outputs, activation=activation)


def reflected_at_random(network: Network, rng: np.random.Generator) -> Network:
    return reflect(network, 0, rng.random(network.widths[0]) < 0.5)


@pytest.mark.parametrize("activation", [SOFTPLUS, softplus(3.0), GELU, SILU], ids=str)
@pytest.mark.parametrize("shape", [(6, 1, 1), (6, 6, 1), (8, 16, 1), (5, 18, 2)])
def test_reflections_are_found_that_absorb_the_affine_part(activation: Activation, shape: Shape, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = network_of(shape, activation, rng)
    reflected = reflected_at_random(network, rng)
    found = absorb_skip(reflected, relative_tol=1e-8)
    assert found.skip is None
    points = rng.standard_normal((50, network.inputs))
    np.testing.assert_allclose(found(points), network(points), atol=1e-10)
    # The same neurons, with the same signs and in the same order.
    np.testing.assert_allclose(found.layers[0].weights, network.layers[0].weights, atol=1e-12)
    np.testing.assert_allclose(found.layers[0].biases, network.layers[0].biases, atol=1e-12)


def test_flips_are_found_in_spite_of_small_errors(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=10, neurons=15, activation=SOFTPLUS)
    reflected = reflect(network, 0, np.arange(15) % 2 == 0)
    assert reflected.skip is not None
    disturbed = replace(reflected, skip=reflected.skip + 1e-7 * rng.normal(size=reflected.skip.shape))
    found = absorb_skip(disturbed, relative_tol=1e-4)
    assert found.skip is None
    np.testing.assert_allclose(found.layers[0].weights, network.layers[0].weights, atol=1e-12)


@pytest.mark.parametrize("neurons", [4, 9])
def test_a_genuine_affine_part_stays(neurons: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=6, neurons=neurons, activation=SOFTPLUS)
    genuine = reflected_at_random(replace(network, skip=rng.normal(size=(1, 6))), rng)
    assert absorb_skip(genuine, relative_tol=1e-6) is genuine


@pytest.mark.parametrize("activation", [TANH, SIN, GAUSSIAN], ids=str)
def test_activations_without_an_affine_reflection_keep_theirs(activation: Activation, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=4, neurons=3, activation=activation)
    sloped = replace(network, skip=rng.normal(size=(1, 4)))
    assert absorb_skip(sloped, relative_tol=1e-6) is sloped
    assert absorb_skip(network, relative_tol=1e-6) is network


def test_a_network_without_neurons_keeps_its_affine_part() -> None:
    skip = np.array([[2.0, -1.0]])
    affine = Network.shallow(np.zeros((0, 2)), np.zeros(0), np.zeros((1, 0)), np.zeros(1), SOFTPLUS, skip)
    assert absorb_skip(affine, relative_tol=1e-6) is affine


def planar_units(activation: Activation) -> Network:
    """Three units at 120 degrees with equal output weights: flipping all of them changes no slope."""
    angles = 2 * np.pi / 3 * np.arange(3)
    weights = np.column_stack([np.cos(angles), np.sin(angles)])
    return Network.shallow(weights, np.array([0.3, -0.2, 0.5]), np.ones((1, 3)), np.zeros(1), activation)


def as_kinks(network: Network, rng: np.random.Generator) -> Network:
    """The same function as relu network with an affine part; order, scales and signs at random."""
    hidden, output = network.layers
    skip = np.zeros((network.outputs, network.inputs))
    if hidden.activation == HARD_TANH:
        # hard_tanh(t) = relu(t + 1) - relu(t - 1) - 1
        weights = np.vstack([hidden.weights, hidden.weights])
        biases = np.concatenate([hidden.biases + 1.0, hidden.biases - 1.0])
        outgoing, offset = np.hstack([output.weights, -output.weights]), output.biases - output.weights.sum(axis=1)
    else:
        # leaky(t) = (1 - slope) relu(t) + slope t
        slope = float(hidden.activation(np.array([-1.0]), 1)[0])
        weights, biases, outgoing = hidden.weights, hidden.biases, (1.0 - slope) * output.weights
        offset = output.biases + slope * (output.weights @ hidden.biases)
        skip = slope * (output.weights @ hidden.weights)
    kinks = Network.shallow(weights, biases, outgoing, offset, RELU, skip)
    kinks = rescale(kinks, 0, rng.uniform(0.3, 3.0, len(biases)))
    return reflected_at_random(permute(kinks, 0, rng.permutation(len(biases))), rng)


def assert_same_function(found: Network, truth: Network, rng: np.random.Generator, *, atol: float = 1e-11) -> None:
    points = 2.0 * rng.standard_normal((200, truth.inputs))
    np.testing.assert_allclose(found(points), truth(points), atol=atol, rtol=0.0)


def disturbed(network: Network, rng: np.random.Generator, size: float) -> Network:
    """Every parameter with a relative error of this size."""

    def shaken(values: np.ndarray) -> np.ndarray:
        return values * (1.0 + size * rng.uniform(-1.0, 1.0, values.shape))

    layers = (replace(each, weights=shaken(each.weights), biases=shaken(each.biases)) for each in network.layers)
    return replace(network, layers=tuple(layers), skip=None if network.skip is None else shaken(network.skip))


@pytest.mark.each_value
@pytest.mark.parametrize("activation", [RELU, SOFTPLUS, GELU, leaky_relu(0.1)], ids=str)
@pytest.mark.parametrize(("inputs", "neurons", "outputs"), SHAPES)
def test_the_only_choice_of_signs_is_found(
    activation: Activation, inputs: int, neurons: int, outputs: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=inputs, neurons=neurons, outputs=outputs, activation=activation)
    found = resolve_signs(reflected_at_random(network, rng), relative_tol=1e-8)
    assert (found.solutions, found.is_complete, found.network.skip) == (1, True, None)
    assert not found.open_signs.any()
    assert found.margin == (np.inf if neurons <= inputs * outputs else BinaryRules().window)
    assert match(found.network, network).largest_error < 1e-12
    assert_same_function(found.network, network, rng)


@pytest.mark.parametrize(("inputs", "neurons", "outputs"), [(8, 5, 1), (5, 10, 1), (4, 12, 2)])
def test_signs_are_resolved_in_spite_of_small_errors(inputs: int, neurons: int, outputs: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=inputs, neurons=neurons, outputs=outputs, activation=RELU)
    found = resolve_signs(disturbed(reflected_at_random(network, rng), rng, 1e-9), relative_tol=1e-7)
    assert found.solutions == 1
    assert match(found.network, network).largest_error < 1e-7


def test_a_choice_that_may_be_an_accident_is_no_evidence(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = reflected_at_random(general_network(rng, inputs=8, neurons=5, activation=RELU), rng)
    found = resolve_signs(network, relative_tol=1e-8, rules=SignRules(most_accidents=0.0))
    assert found.solutions == 2
    assert found.open_signs.all()


@pytest.mark.parametrize(("window", "solutions"), [(2.0, 0), (4.0, 1), (8.0, 2)])
def test_the_window_says_which_vectors_are_solutions(window: float, solutions: int) -> None:
    # Zero misses the target by 3 tolerances, one by 7.
    system = BinarySystem(np.ones((1, 1)), np.array([0.3]), 0.1, BinaryRules(window=window))
    assert len(system.solutions().vectors) == solutions


@pytest.mark.parametrize("activation", [RELU, SOFTPLUS], ids=str)
@pytest.mark.parametrize("flipped", [[], [1], [0, 2], [0, 1, 2]], ids=str)
def test_symmetric_units_have_open_signs(activation: Activation, flipped: list[int]) -> None:
    network = reflect(planar_units(activation), 0, np.isin(np.arange(3), flipped))
    found = resolve_signs(network, relative_tol=1e-8)
    assert found.solutions == 2
    assert found.open_signs.all()
    assert found.network is network
    assert found.margin < 1.0


def test_only_the_signs_that_differ_are_open(seed: int) -> None:
    rng = np.random.default_rng(seed)
    planar = planar_units(RELU)
    other = general_network(rng, inputs=2, neurons=4, activation=RELU)
    both = Network.shallow(
        np.vstack([planar.layers[0].weights, other.layers[0].weights]),
        np.concatenate([planar.layers[0].biases, other.layers[0].biases]),
        np.hstack([planar.layers[1].weights, other.layers[1].weights]),
        other.layers[1].biases,
        RELU,
    )
    found = resolve_signs(reflected_at_random(both, rng), relative_tol=1e-8)
    assert found.solutions == 2
    np.testing.assert_array_equal(found.open_signs, np.arange(7) < 3)


def test_a_neuron_below_the_tolerance_has_an_open_sign(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=5, neurons=4, activation=RELU)
    output = network.layers[1]
    weak = replace(network, layers=(network.layers[0], replace(output, weights=output.weights * [[1, 1, 1e-9, 1]])))
    found = resolve_signs(reflected_at_random(weak, rng), relative_tol=1e-7)
    assert found.solutions == 2
    np.testing.assert_array_equal(found.open_signs, np.arange(4) == 2)


@pytest.mark.parametrize(("inputs", "neurons"), [(6, 4), (6, 9), (5, 10), (4, 20)])
def test_no_signs_remove_a_genuine_affine_part(inputs: int, neurons: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=inputs, neurons=neurons, activation=RELU)
    genuine = reflected_at_random(replace(network, skip=rng.normal(size=(1, inputs))), rng)
    for found in (resolve_signs(genuine, relative_tol=1e-7), explain_kinks(genuine, relative_tol=1e-7)):
        assert found.solutions == 0
        assert found.network is genuine
        assert not found.open_signs.any()


@pytest.mark.each_value
@pytest.mark.parametrize("neurons", [12, 16, 20, 30, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("is_genuine", [False, True])
def test_too_many_neurons_for_one_equation_are_no_guess(neurons: int, is_genuine: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=1, neurons=neurons, activation=RELU)
    if is_genuine:
        network = replace(network, skip=0.3 * rng.normal(size=(1, 1)))
    kinks = reflected_at_random(network, rng)
    found = resolve_signs(kinks, relative_tol=1e-6)
    assert found.solutions == 2 or (is_genuine and found.solutions == 0)
    assert found.network is kinks
    assert found.open_signs.all() or found.is_complete


@pytest.mark.parametrize("activation", [TANH, GAUSSIAN], ids=str)
def test_without_a_slope_in_the_reflection_only_a_vanishing_affine_part_goes(activation: Activation, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=4, neurons=3, activation=activation)
    sloped = replace(network, skip=rng.normal(size=(1, 4)))
    assert resolve_signs(sloped, relative_tol=1e-6).solutions == 0
    found = resolve_signs(replace(network, skip=np.full((1, 4), 1e-9)), relative_tol=1e-6)
    assert (found.solutions, found.network.skip) == (1, None)


def test_an_integer_programme_takes_over_for_many_neurons(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=50, neurons=100, activation=RELU)
    found = resolve_signs(reflected_at_random(network, rng), relative_tol=1e-8)
    assert found.solutions == 1
    assert match(found.network, network).largest_error < 1e-12


def test_all_solutions_of_a_system_are_found(seed: int) -> None:
    """Against brute force over all 2^14 vectors, with a tolerance that lets several in."""
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(2, 14))
    planted = rng.random(14) < 0.5
    system = BinarySystem(matrix, matrix @ planted, tolerance=0.02)
    everything = (np.arange(2**14)[:, None] >> np.arange(14)) & 1 == 1
    residuals = np.linalg.norm(everything @ matrix.T - system.target, axis=1)
    expected = everything[residuals <= BinaryRules().window * 0.02]
    found = system.solutions()
    assert found.is_complete
    assert len(expected) > 1
    assert {tuple(row) for row in found.vectors} == {tuple(row) for row in expected}
    np.testing.assert_array_equal(found.vectors[0], planted)


def test_the_expected_number_of_accidents_is_that_of_unrelated_targets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix, tolerance = rng.normal(size=(2, 14)), 0.2
    sums = ((np.arange(2**14)[:, None] >> np.arange(14)) & 1) @ matrix.T
    # Where sums of random subsets are most dense, as the estimate assumes.
    targets = matrix.sum(axis=1) / 2 + 0.3 * rng.normal(size=(50, 2))
    counts = [np.sum(np.linalg.norm(sums - target, axis=1) <= tolerance) for target in targets]
    expected = BinarySystem(matrix, np.zeros(2), tolerance).expected_accidents()
    assert 0.5 < np.mean(counts) / expected < 2.0


LEAKY = [leaky_relu(0.01), leaky_relu(0.3), leaky_relu(0.05), leaky_relu(-0.4), leaky_relu(0.123456789), ABSOLUTE_VALUE]


@pytest.mark.each_value
@pytest.mark.parametrize("activation", [RELU, *LEAKY], ids=str)
@pytest.mark.parametrize("shape", [(8, 5, 1), (5, 10, 1), (4, 9, 2), (6, 1, 1)])
def test_the_activation_behind_the_kinks_is_found(activation: Activation, shape: Shape, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = network_of(shape, activation, rng)
    kinks = as_kinks(network, rng)
    assert_same_function(kinks, network, rng)
    found = explain_kinks(kinks, relative_tol=1e-8)
    assert found.solutions == 1, found.reason
    assert found.network.skip is None
    assert not found.open_signs.any()
    assert_same_function(found.network, network, rng)
    slopes = [float(each(np.array([-1.0]), 1)[0]) for each in (found.activation, activation)]
    assert abs(slopes[0] - slopes[1]) < 1e-12
    # A slope of nine digits is found up to rounding only, which makes it another activation by name.
    renamed = replace(
        found.network, layers=(replace(found.network.layers[0], activation=activation), found.network.layers[1])
    )
    assert match(renamed, network).largest_error < 1e-11
    if activation != leaky_relu(0.123456789):
        assert found.activation == activation


@pytest.mark.parametrize(("inputs", "neurons", "outputs"), [(1, 4, 1), (2, 1, 1), (5, 3, 1), (5, 10, 2), (4, 30, 1)])
def test_pairs_of_kinks_are_hard_tanh(inputs: int, neurons: int, outputs: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=inputs, neurons=neurons, outputs=outputs, activation=HARD_TANH)
    for given in (None, HARD_TANH):
        found = explain_kinks(as_kinks(network, rng), relative_tol=1e-8, activation=given)
        assert (found.activation, found.solutions, found.network.skip) == (HARD_TANH, 1, None)
        assert len(found.open_signs) == neurons
        assert not found.open_signs.any()
        assert match(found.network, network).largest_error < 1e-11
        assert_same_function(found.network, network, rng)


def test_pairs_that_can_be_formed_in_two_ways_are_open() -> None:
    rng = np.random.default_rng(0)
    equal = Network.shallow(np.ones((2, 1)), np.array([0.0, 5.0]), np.ones((1, 2)), np.zeros(1), HARD_TANH)
    found = explain_kinks(as_kinks(equal, rng), relative_tol=1e-8, activation=HARD_TANH)
    assert found.solutions == 2
    assert found.open_signs.all()


def test_one_kink_without_a_partner_is_no_hard_tanh(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinks = as_kinks(general_network(rng, inputs=5, neurons=3, activation=HARD_TANH), rng)
    hidden, output = kinks.layers
    fewer = replace(
        kinks,
        layers=(
            replace(hidden, weights=hidden.weights[1:], biases=hidden.biases[1:]),
            replace(output, weights=output.weights[:, 1:]),
        ),
    )
    assert explain_kinks(fewer, relative_tol=1e-8).activation != HARD_TANH


@pytest.mark.parametrize("activation", [RELU, leaky_relu(0.2), leaky_relu(0.07), ABSOLUTE_VALUE, HARD_TANH], ids=str)
@pytest.mark.parametrize(("inputs", "neurons"), [(8, 5), (5, 8)])
def test_kinks_with_small_errors_are_explained(activation: Activation, inputs: int, neurons: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=inputs, neurons=neurons, activation=activation)
    found = explain_kinks(disturbed(as_kinks(network, rng), rng, 1e-9), relative_tol=1e-7)
    assert (found.activation, found.solutions) == (activation, 1)
    assert match(found.network, network).largest_error < 1e-6


def test_a_given_activation_restricts_the_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinks = as_kinks(general_network(rng, inputs=5, neurons=8, activation=leaky_relu(0.1)), rng)
    assert explain_kinks(kinks, relative_tol=1e-8, activation=leaky_relu(0.1)).solutions == 1
    for other in (RELU, leaky_relu(0.2), HARD_TANH, TANH):
        found = explain_kinks(kinks, relative_tol=1e-8, activation=other)
        assert (found.solutions, found.activation) == (0, RELU)
        assert found.network is kinks
        assert str(other) in found.reason


def test_open_signs_of_kinks_are_reported(seed: int) -> None:
    kinks = as_kinks(planar_units(RELU), np.random.default_rng(seed))
    found = explain_kinks(kinks, relative_tol=1e-8)
    assert (found.activation, found.solutions) == (RELU, 2)
    assert found.open_signs.all()
    assert found.network is kinks


def test_one_kink_on_a_line_tells_no_slope() -> None:
    """Two slopes fit any leaky relu, so neither is named."""
    kink = Network.shallow(np.array([[1.0]]), np.zeros(1), np.ones((1, 1)), np.zeros(1), RELU, np.array([[0.37]]))
    assert explain_kinks(kink, relative_tol=1e-8).solutions == 0


def test_wrong_use_is_refused(seed: int) -> None:
    network = general_network(np.random.default_rng(seed), inputs=3, neurons=2, activation=SOFTPLUS)
    with pytest.raises(InvalidInput, match="explain_kinks needs a network of relu, got softplus"):
        explain_kinks(network, relative_tol=1e-8)
    with pytest.raises(InvalidInput, match="relative_tol needs to be between 0 and 1"):
        resolve_signs(network, relative_tol=0.0)
    deeper = Network((*network.layers, Layer(np.eye(1), np.zeros(1), RELU)))
    with pytest.raises(InvalidInput, match="one hidden layer"):
        resolve_signs(deeper, relative_tol=1e-8)
