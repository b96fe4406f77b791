"""The closed form of the population risk, against quadrature, samples' laws and the series."""

import numpy as np
import pytest

from unweave.activations import RELU
from unweave.networks.network import Network
from unweave.networks.planted import general_network, relu_network
from unweave.networks.symmetries import reflect, rescale
from unweave.reproduce.awasthi.population_regression import regress_in_expectation
from unweave.reproduce.awasthi.risk import bivariate_cdf, population_risk, relu_products, risk_by_order
from unweave.reproduce.awasthi.tensor_algorithms import RecoveredUnits

# A grid in two dimensions; kinks limit its accuracy.
AXIS = np.linspace(-8.5, 8.5, 601)
GRID = np.stack(np.meshgrid(AXIS, AXIS), axis=-1).reshape(-1, 2)
WEIGHTS = np.exp(-0.5 * np.sum(GRID**2, axis=1)) / (2 * np.pi) * (AXIS[1] - AXIS[0]) ** 2


def mean_square(one: Network, other: Network) -> float:
    return float(WEIGHTS @ (one(GRID) - other(GRID))[:, 0] ** 2)


@pytest.mark.parametrize("biases", [(), (0.0, 0.0, 1.0), (3.0, -3.0)])
def test_the_risk_is_the_mean_square(biases: tuple[float, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    one = relu_network(rng, inputs=2, neurons=3, special_biases=biases)
    other = relu_network(rng, inputs=2, neurons=4, special_biases=biases)
    assert population_risk(one, other) == pytest.approx(mean_square(one, other), rel=1e-4)


def test_affine_parts_and_lengths_count(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one = general_network(rng, inputs=2, neurons=3, activation=RELU)
    other = general_network(rng, inputs=2, neurons=2, activation=RELU)
    one = Network(one.layers, skip=rng.normal(size=(1, 2)))
    assert population_risk(one, other) == pytest.approx(mean_square(one, other), rel=1e-4)
    assert population_risk(rescale(one, 0, rng.uniform(0.1, 5.0, 3)), other) == pytest.approx(
        population_risk(one, other), rel=1e-12
    )


def test_the_same_function_has_no_risk(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = relu_network(rng, inputs=4, neurons=5)
    flipped = reflect(network, 0, np.array([True, False, True, True, False]))
    # Neurons meet themselves and their opposites here.
    assert population_risk(network, flipped) < 1e-13
    assert population_risk(network, network) < 1e-13


@pytest.mark.parametrize("correlation", [-0.999, -0.4, 0.0, 0.3, 0.95])
def test_the_bivariate_distribution_function(correlation: float) -> None:
    from scipy.stats import multivariate_normal

    values = np.array([-2.0, -0.7, 0.0, 1e-3, 1.3])
    first, second = np.meshgrid(values, values, indexing="ij")
    found = bivariate_cdf(first, second, np.full(first.shape, correlation))
    law = multivariate_normal(cov=[[1.0, correlation], [correlation, 1.0]])
    expected = [[law.cdf([h, k]) for k in values] for h in values]
    np.testing.assert_allclose(found, expected, atol=2e-6)


def test_products_go_over_into_those_of_parallel_units() -> None:
    biases, others = np.array([0.4, -0.8]), np.array([1.1, 0.2, -0.5])
    angle = 1e-5
    near, exact = np.array([[np.cos(angle), np.sin(angle)]] * 2), np.array([[1.0, 0.0]] * 2)
    along = np.array([[1.0, 0.0]] * 3)
    for sign in (1.0, -1.0):
        one = relu_products(near, biases, sign * along, others)
        np.testing.assert_allclose(one, relu_products(exact, biases, sign * along, others), atol=1e-9)


def test_orders_add_up_to_the_risk(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = (relu_network(rng, inputs=3, neurons=3) for _ in range(2))
    terms = risk_by_order(one, other, highest=60)
    assert np.all(terms >= -1e-15)
    rest = 1 - np.cumsum(terms) / population_risk(one, other)
    assert np.all(rest > 0)
    # Terms fall like k^(-5/2), so what is left falls like k^(-3/2).
    assert rest[60] < 2e-3
    assert rest[60] < 0.5 * rest[30]


def test_regression_in_expectation_gives_the_target_whatever_the_signs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = relu_network(rng, inputs=4, neurons=6)
    hidden, output = truth.layers
    signs = rng.choice([-1.0, 1.0], 6)
    units = RecoveredUnits(signs[:, None] * hidden.weights, signs * hidden.biases, output.weights[0], (6, 6))
    found = regress_in_expectation(units, truth)
    points = rng.standard_normal((100, 4))
    np.testing.assert_allclose(found(points), truth(points), atol=1e-5)
    # Without one of the neurons there is something left.
    fewer = RecoveredUnits(units.directions[1:], units.biases[1:], units.output_weights[1:], (5, 5))
    assert population_risk(regress_in_expectation(fewer, truth), truth) > 1e-4
