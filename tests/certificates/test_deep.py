"""Certificates of networks of any depth: what they claim holds for planted networks."""

import numpy as np
import pytest

from plants import certified
from unweave.activations import IDENTITY, LEAKY_RELU, QUADRATIC, RELU, SIGMOID, TANH, Activation
from unweave.certificates import layered_claims
from unweave.certificates.certify import Certificate, certify
from unweave.certificates.large_jacobians import SingularRules, singular_by_products
from unweave.networks.network import Layer, Network
from unweave.networks.parameters import LayeredJacobian, ParameterVector
from unweave.networks.planted import deep_network
from unweave.networks.symmetries import permute, reflect, rescale
from unweave.numerics.network_fit import LevenbergMarquardt

SHAPE = (8, 7, 5, 3)


def planted(
    seed: int, *, shape: tuple[int, ...] = SHAPE, hidden: Activation = TANH, output: Activation = IDENTITY
) -> tuple[Network, np.ndarray, np.ndarray]:
    """A network, points to fit it to, and fresh ones; neurons of kinked layers are active at half of the points."""
    rng = np.random.default_rng(seed)
    network = deep_network(rng, shape=shape, shift_deviation=0.3, activation=hidden, output_activation=output)
    surplus = 2 if hidden.is_smooth else 5
    points = rng.standard_normal((surplus * network.parameters // shape[-1], shape[0]))
    if not hidden.is_smooth:
        layers, incoming = [], points
        for layer in network.layers[:-1]:
            layers.append(Layer(layer.weights, -np.median(incoming @ layer.weights.T, axis=0), hidden))
            incoming = hidden(layers[-1].preactivations(incoming))
        network = Network((*layers, network.layers[-1]))
    return network, points, rng.standard_normal((100, shape[0]))


def fitted(
    truth: Network, points: np.ndarray, fresh: np.ndarray, *, noise: float, start: float, seed: int
) -> tuple[Network, Certificate]:
    """Refine from a start nearby, on noisy answers, and certify."""
    rng = np.random.default_rng([seed, 1])
    values, fresh_values = (
        truth(asked) + noise * rng.standard_normal((len(asked), truth.outputs)) for asked in (points, fresh)
    )
    vector = ParameterVector(truth)
    network = vector.moved(start * rng.standard_normal(vector.count))
    found = LevenbergMarquardt()(network, points, values, floor=noise).network
    return found, certify(
        found, points=points, values=values, fresh_points=fresh, fresh_values=fresh_values, noise=noise
    )


@pytest.mark.parametrize("shape", [SHAPE, (8, 7, 6, 5, 4)], ids=str)
@pytest.mark.parametrize(("hidden", "output"), [(TANH, IDENTITY), (TANH, TANH), (TANH, SIGMOID), (SIGMOID, IDENTITY)])
@pytest.mark.parametrize("noise", [1e-16, 1e-10])
@pytest.mark.parametrize("number", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_the_true_error_is_below_the_radius(
    shape: tuple[int, ...], hidden: Activation, output: Activation, noise: float, number: int, seed: int
) -> None:
    truth, points, fresh = planted(100 * seed + number, shape=shape, hidden=hidden, output=output)
    found, certificate = fitted(truth, points, fresh, noise=noise, start=1e-3, seed=seed)
    error = float(np.max(np.abs(ParameterVector(found).step_to(truth))))
    if hidden is TANH:
        # Sigmoid layers have slopes of a quarter at most: several of them leave little to tell neurons by.
        assert certificate.is_isolated
        assert certificate.radius < certificate.isolation
    assert error <= certificate.radius
    assert not certificate.is_singular_estimated


def test_the_radius_is_proportional_to_the_noise(seed: int) -> None:
    truth, points, fresh = planted(seed)
    radii = [certified(truth, truth, points, fresh, noise).radius for noise in (1e-14, 1e-12, 1e-10)]
    np.testing.assert_allclose(np.diff(np.log10(radii)), 2.0, atol=0.05)
    assert not certified(truth, truth, points, fresh, 1e-3).is_isolated


def test_an_unfinished_fit_is_covered_by_its_residual(seed: int) -> None:
    truth, points, fresh = planted(seed, output=TANH)
    rng = np.random.default_rng([seed, 2])
    for size in (1e-12, 1e-10, 1e-8):
        start = ParameterVector(truth).moved(size * rng.standard_normal(truth.parameters))
        certificate = certified(start, truth, points, fresh, 1e-16)
        assert np.max(np.abs(ParameterVector(start).step_to(truth))) <= certificate.radius < np.inf


def test_other_networks_with_the_same_answers_are_beyond_the_isolation(seed: int) -> None:
    truth, points, fresh = planted(seed, output=TANH)
    certificate = certified(truth, truth, points, fresh, 1e-16)
    for layer, neurons in enumerate(truth.widths):
        order = np.arange(neurons)
        order[:2] = [1, 0]
        for other in (permute(truth, layer, order), reflect(truth, layer, np.arange(neurons) == 0)):
            np.testing.assert_allclose(other(points), truth(points), atol=1e-13)
            assert np.linalg.norm(ParameterVector(truth).step_to(other)) > certificate.isolation > 0


def test_a_silent_neuron_is_not_certified(seed: int) -> None:
    truth, points, fresh = planted(seed)
    first, second, last = truth.layers
    silent = Network((first, second, Layer(last.weights * (np.arange(5) > 0), last.biases, IDENTITY)))
    assert certified(truth, truth, points, fresh, 1e-16).is_isolated
    assert not certified(silent, silent, points, fresh, 1e-16).is_isolated


def test_unbounded_activations_are_not_certified(seed: int) -> None:
    truth, points, fresh = planted(seed, hidden=QUADRATIC)
    certificate = certified(truth, truth, points, fresh, 1e-16)
    assert not certificate.is_isolated
    assert certificate.rms_error == 0.0


@pytest.mark.parametrize("hidden", [TANH, RELU], ids=str)
def test_large_networks_are_certified_with_products_alone(
    hidden: Activation, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth, points, fresh = planted(seed, hidden=hidden, output=TANH)
    exact = certified(truth, truth, points, fresh, 1e-15)
    monkeypatch.setattr(layered_claims, "SINGULAR_RULES", SingularRules(estimated_from=0))
    by_products = certified(truth, truth, points, fresh, 1e-15)
    assert 0.99 * exact.smallest_singular < by_products.smallest_singular <= exact.smallest_singular
    assert not by_products.is_singular_estimated


def test_where_rounding_matters_the_jacobian_itself_is_factorised(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    truth, points, _ = planted(seed)
    weights = np.ones(truth.parameters)
    weights[0] = 1e9
    residuals = np.zeros((len(points), 3))
    exact = layered_claims._singular(truth, points, residuals, weights)
    assert singular_by_products(LayeredJacobian(truth, points), residuals, weights) is None
    monkeypatch.setattr(layered_claims, "SINGULAR_RULES", SingularRules(estimated_from=0))
    large = layered_claims._singular(truth, points, residuals, weights)
    np.testing.assert_allclose(large[0], exact[0], rtol=0.01)


# Piecewise linear layers


def in_the_scales_of(found: Network, truth: Network, points: np.ndarray) -> Network:
    """The truth with its neurons scaled so that the step to it has no part along the scales."""
    from scipy.optimize import root

    directions = LayeredJacobian(found, points).gauge_directions()

    def scaled(logarithms: np.ndarray) -> Network:
        network = truth
        for layer, part in enumerate(np.split(logarithms, np.cumsum(truth.widths)[:-1])):
            network = rescale(network, layer, np.exp(part))
        return network

    solution = root(
        lambda x: directions @ ParameterVector(found).step_to(scaled(x)), np.zeros(len(directions)), tol=1e-15
    )
    return scaled(solution.x)


@pytest.mark.parametrize("hidden", [RELU, LEAKY_RELU], ids=str)
@pytest.mark.parametrize("output", [IDENTITY, TANH], ids=str)
@pytest.mark.parametrize("noise", [1e-16, 1e-11])
def test_the_true_error_of_a_kinked_network_is_below_the_radius(
    hidden: Activation, output: Activation, noise: float, seed: int
) -> None:
    truth, points, fresh = planted(seed, shape=(5, 4, 3, 2), hidden=hidden, output=output)
    found, certificate = fitted(truth, points, fresh, noise=noise, start=1e-5, seed=seed)
    assert certificate.is_isolated
    step = ParameterVector(found).step_to(in_the_scales_of(found, truth, points))
    assert np.max(np.abs(step)) <= certificate.radius < certificate.isolation


def test_a_kinked_neuron_that_is_never_active_is_not_certified(seed: int) -> None:
    truth, points, fresh = planted(seed, shape=(5, 4, 3, 2), hidden=RELU)
    first, *others = truth.layers
    dead = Network((Layer(first.weights, first.biases - 20.0 * (np.arange(4) == 0), RELU), *others))
    assert not certified(dead, dead, points, fresh, 1e-16).is_isolated
