"""Hermite coefficients against quadrature, signs against brute force."""

from itertools import product

import numpy as np
import pytest
from scipy.special import eval_hermitenorm, factorial

from tensors import normal_mean
from unweave.activations import RELU, TANH
from unweave.exceptions import InvalidInput
from unweave.learn.relu_network.units import (
    equivalent_signs,
    flip_columns,
    normal_density,
    relu_coefficient,
    resolve_relu_signs,
    unit_parameters,
)
from unweave.networks.network import Network
from unweave.networks.planted import general_network, relu_network
from unweave.networks.symmetries import reflect

BIASES = np.array([-4.0, -2.5, -np.sqrt(3), -1.0, -0.3, 0.0, 0.3, 1.0, 2.5])


@pytest.mark.parametrize("order", range(9))
def test_coefficients_agree_with_quadrature(order: int) -> None:
    expected = [normal_mean(lambda t, b=b: max(t + b, 0.0) * eval_hermitenorm(order, t), -b) for b in BIASES]
    np.testing.assert_allclose(relu_coefficient(order, BIASES), expected, atol=1e-10)


@pytest.mark.parametrize("order", range(8))
def test_each_coefficient_is_the_derivative_of_the_one_before(order: int) -> None:
    difference = (relu_coefficient(order, BIASES + 1e-5) - relu_coefficient(order, BIASES - 1e-5)) / 2e-5
    np.testing.assert_allclose(relu_coefficient(order + 1, BIASES), difference, atol=1e-7)


def test_coefficients_agree_with_the_activation() -> None:
    # The activation has orthonormal polynomials.
    expected = [RELU.hermite_coefficients(7, bias=float(b)) * np.sqrt(factorial(np.arange(8))) for b in BIASES]
    found = [relu_coefficient(order, BIASES) for order in range(8)]
    np.testing.assert_allclose(np.transpose(found), expected, atol=1e-12)


@pytest.mark.parametrize(("order", "bias"), [(3, 0.0), (4, 1.0), (4, -1.0), (5, 0.0), (5, np.sqrt(3))])
def test_blind_spots_are_seen_by_the_next_order(order: int, bias: float) -> None:
    assert abs(relu_coefficient(order, np.array([bias]))[0]) < 1e-15
    assert abs(relu_coefficient(order + 1, np.array([bias]))[0]) > 0.1


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_consecutive_polynomials_are_apart_but_less_than_the_document_says(order: int) -> None:
    t = np.linspace(-6.0, 6.0, 60_001)
    smaller = np.min(np.maximum(np.abs(eval_hermitenorm(order, t)), np.abs(eval_hermitenorm(order + 1, t))))
    assert 0.6 < smaller < np.sqrt(factorial(order) / 2)


def test_the_density_is_that_of_the_normal_law() -> None:
    assert normal_density(np.zeros(1))[0] == pytest.approx(1 / np.sqrt(2 * np.pi))


def test_other_networks_are_refused(seed: int) -> None:
    rng = np.random.default_rng(seed)
    with pytest.raises(InvalidInput, match="relu network with one output"):
        unit_parameters(general_network(rng, inputs=2, neurons=2, activation=TANH))
    with pytest.raises(InvalidInput, match="one output"):
        unit_parameters(general_network(rng, inputs=2, neurons=2, outputs=2, activation=RELU))
    with pytest.raises(InvalidInput, match="zero weights"):
        unit_parameters(Network.shallow(np.zeros((1, 2)), np.ones(1), np.ones((1, 1)), np.zeros(1), RELU))


def triangle(biases: tuple[float, float, float] = (0.3, 0.5, -0.8)) -> Network:
    """Three directions at 120 degrees: all flips together change nothing if the biases add up to zero."""
    angles = 2 * np.pi / 3 * np.arange(3)
    weights = np.column_stack([np.cos(angles), np.sin(angles)])
    return Network.shallow(weights, np.array(biases), np.ones((1, 3)), np.zeros(1), RELU)


def two_triangles() -> Network:
    """Two independent ambiguities, and one neuron that has none."""
    first, second = triangle().layers[0], triangle((0.1, 0.2, -0.3)).layers[0]
    rotation = np.array([[np.cos(0.4), -np.sin(0.4)], [np.sin(0.4), np.cos(0.4)]])
    weights = np.vstack([first.weights, second.weights @ rotation.T, [[0.6, 0.8]]])
    biases = np.concatenate([first.biases, second.biases, [0.7]])
    return Network.shallow(weights, biases, np.array([[1.0, 1.0, 1.0, -2.0, -2.0, -2.0, 0.9]]), np.zeros(1), RELU)


def with_signs(network: Network, flips: np.ndarray) -> Network:
    """Weights and biases negated, nothing else."""
    hidden, output = network.layers
    signs = np.where(flips, -1.0, 1.0)
    return Network.shallow(signs[:, None] * hidden.weights, signs * hidden.biases, output.weights, output.biases, RELU)


def brute_force(network: Network, points: np.ndarray) -> set[tuple[bool, ...]]:
    """All flips that leave the values at the points as they are."""
    values = network(points)
    return {
        flips
        for flips in product((False, True), repeat=network.widths[0])
        if np.max(np.abs(with_signs(network, np.array(flips))(points) - values)) < 1e-9
    }


def cases(rng: np.random.Generator) -> list[Network]:
    generic = relu_network(rng, inputs=3, neurons=6)
    line = Network.shallow(
        np.ones((4, 1)), np.array([0.5, -0.5, 1.0, 1.0]), np.array([[1.0, 2.0, -1.0, 1.0]]), np.zeros(1), RELU
    )
    document = Network.shallow(
        np.array([[1.0, 0.0], [0.0, 1.0], [-0.6, -0.8]]), np.zeros(3), np.array([[0.6, 0.8, 1.0]]), np.zeros(1), RELU
    )
    return [generic, triangle(), triangle((0.3, 0.5, -0.7)), two_triangles(), line, document]


@pytest.mark.parametrize("case", range(6))
def test_equivalent_signs_are_those_of_brute_force(case: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = cases(rng)[case]
    choices = equivalent_signs(network)
    assert choices.is_complete
    found = {tuple(bool(flip) for flip in row) for row in choices.flips}
    assert len(found) == len(choices.flips)
    assert found == brute_force(network, 3.0 * rng.standard_normal((200, network.inputs)))
    assert not np.any(choices.flips[0])


def test_the_number_of_choices_is_as_planted() -> None:
    assert len(equivalent_signs(triangle()).flips) == 2
    assert len(equivalent_signs(triangle((0.3, 0.5, -0.7))).flips) == 1
    choices = equivalent_signs(two_triangles())
    assert len(choices.flips) == 4
    np.testing.assert_array_equal(choices.open_signs, [True] * 6 + [False])


def test_output_weights_from_a_dependence_make_signs_ambiguous(seed: int) -> None:
    # [awasthi, Claim 4.8]: without biases, for any dependent directions.
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((5, 4))
    kernel = np.linalg.svd(weights.T)[2][-1]
    network = Network.shallow(weights, np.zeros(5), kernel[None], np.zeros(1), RELU)
    choices = equivalent_signs(network)
    assert {tuple(row) for row in choices.flips.tolist()} == {(False,) * 5, (True,) * 5}
    points = rng.standard_normal((50, 4))
    np.testing.assert_allclose(with_signs(network, np.ones(5, dtype=bool))(points), network(points), atol=1e-12)


def test_the_length_of_weights_does_not_matter() -> None:
    hidden, output = triangle().layers
    factors = np.array([2.0, 0.5, 3.0])
    scaled = Network.shallow(
        factors[:, None] * hidden.weights, factors * hidden.biases, output.weights / factors, output.biases, RELU
    )
    np.testing.assert_allclose(flip_columns(scaled), flip_columns(triangle()), atol=1e-14)
    assert len(equivalent_signs(scaled).flips) == 2


@pytest.mark.parametrize(("inputs", "neurons"), [(8, 5), (6, 6), (6, 7), (5, 12), (3, 16)])
def test_signs_are_found_that_remove_the_affine_part(inputs: int, neurons: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=inputs, neurons=neurons)
    found = resolve_relu_signs(reflect(network, 0, rng.random(neurons) < 0.5), relative_tol=1e-9)
    assert found.solutions == 1
    assert found.network.skip is None
    assert not np.any(found.open_signs)
    assert found.remainder < 1e-12
    np.testing.assert_allclose(found.network.layers[0].weights, network.layers[0].weights, atol=1e-12)
    np.testing.assert_allclose(found.network.layers[0].biases, network.layers[0].biases, atol=1e-12)
    np.testing.assert_array_equal(found.network.layers[1].biases, [0.0])


def test_the_offset_decides_where_the_slope_does_not() -> None:
    # Without the equation of the offset all flips of a triangle together would be open.
    network = triangle((0.3, 0.5, -0.7))
    found = resolve_relu_signs(reflect(network, 0, np.ones(3, dtype=bool)), relative_tol=1e-9)
    assert found.solutions == 1
    np.testing.assert_allclose(found.network.layers[0].weights, network.layers[0].weights, atol=1e-12)


def test_ambiguous_signs_are_reported_as_open() -> None:
    found = resolve_relu_signs(reflect(two_triangles(), 0, np.arange(7) == 6), relative_tol=1e-9)
    assert found.solutions == 2
    np.testing.assert_array_equal(found.open_signs, [True] * 6 + [False])
    points = np.random.default_rng(0).standard_normal((20, 2))
    np.testing.assert_allclose(found.network(points), two_triangles()(points), atol=1e-12)


def test_rounding_bears_errors_of_the_affine_part(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=10, neurons=5, largest_bias=2.5)
    flipped = reflect(network, 0, np.array([True, True, False, True, False]))
    skip = flipped.skip
    assert skip is not None
    noisy = Network(flipped.layers, skip + 0.02 * rng.standard_normal(skip.shape))
    found = resolve_relu_signs(noisy, relative_tol=0.1)
    assert found.solutions == 1
    assert 0.3 < found.margin < 0.5
    np.testing.assert_allclose(found.network.layers[0].weights, network.layers[0].weights, atol=1e-12)


def test_an_affine_part_that_no_signs_explain_is_kept(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=8, neurons=4)
    # Orthogonal to all weights: signs are clear, but something is left.
    outside = np.linalg.svd(network.layers[0].weights)[2][-1]
    sloped = reflect(Network(network.layers, 0.3 * outside[None]), 0, np.array([True, False, False, True]))
    found = resolve_relu_signs(sloped, relative_tol=1e-6)
    assert found.solutions == 0
    assert found.network.skip is not None
    np.testing.assert_allclose(found.network.skip, 0.3 * outside[None], atol=1e-12)
    np.testing.assert_allclose(found.network.layers[0].weights, network.layers[0].weights, atol=1e-12)
    points = rng.standard_normal((20, 8))
    np.testing.assert_allclose(found.network(points), sloped(points), atol=1e-12)


def test_unclear_signs_stay_as_they_are(seed: int) -> None:
    network = relu_network(np.random.default_rng(seed), inputs=5, neurons=3)
    hidden, output = network.layers
    affine = -0.5 * flip_columns(network)[:, 0]
    halfway = Network.shallow(hidden.weights, hidden.biases, output.weights, affine[-1:], RELU, affine[None, :-1])
    found = resolve_relu_signs(halfway, relative_tol=1e-6)
    assert found.solutions == 0
    assert found.network is halfway
    assert found.margin < 0.25


def test_a_network_without_neurons_has_no_signs() -> None:
    network = Network.shallow(np.zeros((0, 2)), np.zeros(0), np.zeros((1, 0)), np.zeros(1), RELU)
    assert resolve_relu_signs(network, relative_tol=1e-9).solutions == 1
    assert equivalent_signs(network).flips.shape == (1, 0)


def test_signs_of_other_networks_are_refused(seed: int) -> None:
    network = general_network(np.random.default_rng(seed), inputs=2, neurons=2, activation=TANH)
    with pytest.raises(InvalidInput, match="relu"):
        equivalent_signs(network)
    with pytest.raises(InvalidInput, match="relu"):
        resolve_relu_signs(network, relative_tol=1e-9)
