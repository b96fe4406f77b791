from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from plants import certified, shallow_and_points
from unweave.activations import GELU, HARD_TANH, LEAKY_RELU, RELU, SIN, SOFTPLUS, TANH, Activation
from unweave.certificates import certify as certificates
from unweave.certificates.certify import Certificate, certify
from unweave.certificates.large_jacobians import SingularRules
from unweave.networks.network import Layer, Network
from unweave.networks.parameters import ParameterVector, dense_jacobian, scale_directions
from unweave.networks.planted import general_network
from unweave.networks.symmetries import rescale
from unweave.numerics.network_fit import LevenbergMarquardt

INPUTS, NEURONS = 5, 6


# A network, points to fit it to, and fresh ones.
planted = partial(shallow_and_points, inputs=INPUTS, neurons=NEURONS, per_parameter=4, fresh=200)


def relative_step(found: Network, truth: Network) -> np.ndarray:
    """All parameters of the truth minus those found, in the relative units of the found network."""
    vector = ParameterVector(found)
    hidden, output = (
        (replace(true, weights=true.weights - layer.weights, biases=true.biases - layer.biases))
        for true, layer in zip(truth.layers, found.layers, strict=True)
    )
    parts = [
        hidden.weights / vector.neuron_sizes[:, None],
        hidden.biases / vector.neuron_sizes,
        output.weights / vector.output_sizes,
        output.biases,
    ]
    if truth.skip is not None and found.skip is not None:
        parts.append(truth.skip - found.skip)
    return np.concatenate([part.ravel() for part in parts])


def fitted_and_certified(
    truth: Network,
    points: np.ndarray,
    fresh: np.ndarray,
    rng: np.random.Generator,
    *,
    noise: float,
    start_error: float,
) -> tuple[Network, Certificate]:
    """The network that noisy answers lead to from a start near the truth, and its certificate."""
    values, fresh_values = (
        truth(asked) + noise * rng.standard_normal((len(asked), truth.outputs)) for asked in (points, fresh)
    )
    start = ParameterVector(truth).moved(start_error * rng.standard_normal(truth.parameters))
    found = LevenbergMarquardt()(start, points, values, floor=noise).network
    return found, certify(
        found, points=points, values=values, fresh_points=fresh, fresh_values=fresh_values, noise=noise
    )


def test_the_relative_step_leads_from_one_network_to_the_other(seed: int) -> None:
    one, points, _ = planted(seed, outputs=2, has_skip=True)
    other, _, _ = planted(seed + 1, outputs=2, has_skip=True)
    moved = ParameterVector(one).moved(relative_step(one, other))
    np.testing.assert_allclose(moved(points), other(points), atol=1e-12)


@pytest.mark.parametrize("activation", [TANH, SOFTPLUS, GELU, SIN], ids=str)
@pytest.mark.parametrize(("outputs", "has_skip"), [(1, False), (2, True)])
@pytest.mark.parametrize("noise", [1e-15, 1e-10])
def test_the_true_error_is_below_the_radius(
    activation: Activation, outputs: int, has_skip: bool, noise: float, seed: int
) -> None:
    network, points, fresh = planted(seed, activation=activation, outputs=outputs, has_skip=has_skip)
    rng = np.random.default_rng([seed, 1])
    found, certificate = fitted_and_certified(network, points, fresh, rng, noise=noise, start_error=1e-4)
    error = float(np.max(np.abs(relative_step(found, network))))
    assert certificate.is_isolated
    assert error <= certificate.radius


def test_an_unfinished_fit_is_covered_by_its_residual(seed: int) -> None:
    network, points, fresh = planted(seed)
    rng = np.random.default_rng([seed, 2])
    for size in (1e-12, 1e-10, 1e-8):
        start = ParameterVector(network).moved(size * rng.standard_normal(network.parameters))
        certificate = certified(start, network, points, fresh, noise=1e-15)
        error = float(np.max(np.abs(relative_step(start, network))))
        assert error <= certificate.radius


def test_other_networks_with_the_same_answers_are_beyond_the_isolation(seed: int) -> None:
    network, points, fresh = planted(seed)
    certificate = certified(network, network, points, fresh, noise=1e-15)
    hidden, output = network.layers
    signs, order = np.ones(NEURONS), np.arange(NEURONS)
    signs[0], order[:2] = -1.0, [1, 0]
    flipped = Network.shallow(
        signs[:, None] * hidden.weights, signs * hidden.biases, output.weights * signs, output.biases, TANH
    )
    swapped = Network.shallow(
        hidden.weights[order], hidden.biases[order], output.weights[:, order], output.biases, TANH
    )
    for other in (flipped, swapped):
        np.testing.assert_allclose(other(points), network(points), atol=1e-12)
        assert np.linalg.norm(relative_step(network, other)) > certificate.isolation > 0


@pytest.mark.parametrize("activation", [TANH, SOFTPLUS, SIN], ids=str)
@pytest.mark.parametrize("outputs", [1, 2])
def test_the_residuals_bend_by_no_more_than_the_bound(activation: Activation, outputs: int, seed: int) -> None:
    network, points, _ = planted(seed, activation=activation, outputs=outputs, has_skip=True)
    weights = certificates._curvature_weights(network, points)
    vector, jacobian = ParameterVector(network), dense_jacobian(network, points)
    rng = np.random.default_rng([seed, 3])
    for size in (1e-2, 1e-1, 1.0):
        for _ in range(5):
            # Some steps move everything, some a single neuron.
            step = size * rng.standard_normal(vector.count) * (rng.random(vector.count) < rng.random())
            moved = (vector.moved(step)(points) - network(points)).ravel() - jacobian @ step
            assert np.linalg.norm(moved) <= 0.5 * np.sum((weights * step) ** 2) + 1e-12


def test_large_noise_leaves_no_isolation(seed: int) -> None:
    network, points, fresh = planted(seed)
    certificate = certified(network, network, points, fresh, noise=1e-1)
    assert not certificate.is_isolated
    assert certificate.radius == np.inf
    assert certificate.isolation == 0.0


def test_the_radius_grows_with_the_noise(seed: int) -> None:
    network, points, fresh = planted(seed)
    levels = np.array([1e-13, 1e-12, 1e-11])
    radii = [certified(network, network, points, fresh, noise=level).radius for level in levels]
    assert np.polyfit(np.log(levels), np.log(radii), 1)[0] == pytest.approx(1.0, abs=0.1)


def test_fresh_errors_count_even_where_the_noise_is_said_to_be_small(seed: int) -> None:
    network, points, fresh = planted(seed)
    certificate = certify(
        network,
        points=points,
        values=network(points),
        fresh_points=fresh,
        fresh_values=network(fresh) + 1e-12,
        noise=1e-16,
    )
    assert certificate.radius > 0.5 * certified(network, network, points, fresh, noise=1e-12).radius


def test_duplicate_neurons_are_not_isolated(seed: int) -> None:
    network, points, fresh = planted(seed)
    hidden, output = network.layers
    # The first neuron split into two with the same answers in sum.
    split = Network.shallow(
        np.vstack([hidden.weights, hidden.weights[:1]]),
        np.append(hidden.biases, hidden.biases[0]),
        np.hstack([np.concatenate([[0.3], np.ones(NEURONS - 1)]) * output.weights, 0.7 * output.weights[:, :1]]),
        output.biases,
        TANH,
    )
    np.testing.assert_allclose(split(points), network(points), atol=1e-12)
    certificate = certified(split, network, points, fresh, noise=1e-15)
    assert not certificate.is_isolated
    assert certificate.smallest_singular < 1e-12


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e200])
def test_a_network_that_has_run_away_is_not_isolated(size: float) -> None:
    truth, points, fresh = planted(3, activation=TANH)
    output = truth.layers[1]
    away = replace(truth, layers=(truth.layers[0], replace(output, weights=size * output.weights)))
    with np.errstate(over="ignore", invalid="ignore"):
        found = certified(away, truth, points, fresh, noise=1e-12)
    assert not found.is_isolated


def test_errors_on_fresh_points_are_reported(seed: int) -> None:
    network, points, fresh = planted(seed, outputs=2)
    wrong = replace(
        network, layers=(network.layers[0], replace(network.layers[1], biases=network.layers[1].biases + 0.1))
    )
    certificate = certified(wrong, network, points, fresh, noise=1e-15)
    assert certificate.largest_error == pytest.approx(0.1)
    assert certificate.rms_error == pytest.approx(0.1)
    assert certificate.fresh_queries == 200
    assert not certificate.is_isolated


@pytest.mark.parametrize("queries", [1, 16, 299, 2_000])
def test_the_coverage_is_distribution_free(queries: int, seed: int) -> None:
    network, points, _ = planted(seed)
    fresh = np.random.default_rng(seed).standard_normal((queries, INPUTS))
    certificate = certified(network, network, points, fresh, noise=1e-15)
    # If a share of 1 - coverage were worse, all queries would miss it with probability 1 - confidence.
    assert certificate.coverage**queries == pytest.approx(1 - certificate.confidence)
    assert certificate.confidence == 0.95


def test_299_fresh_queries_cover_99_percent() -> None:
    network, points, _ = planted(0)
    fresh = np.random.default_rng(0).standard_normal((299, INPUTS))
    assert certified(network, network, points, fresh, noise=1e-15).coverage >= 0.99


def test_an_affine_function_is_certified_everywhere(seed: int) -> None:
    rng = np.random.default_rng(seed)
    affine = Network.shallow(
        np.zeros((0, INPUTS)),
        np.zeros(0),
        np.zeros((1, 0)),
        rng.normal(size=1),
        TANH,
        rng.normal(size=(1, INPUTS)),
    )
    points, fresh = rng.standard_normal((2, 40, INPUTS))
    certificate = certified(affine, affine, points, fresh, noise=1e-12)
    assert certificate.is_isolated
    assert certificate.isolation == np.inf
    assert 0 < certificate.radius < 1e-10


@pytest.mark.parametrize("activation", [TANH, RELU, LEAKY_RELU], ids=str)
@pytest.mark.parametrize("has_skip", [False, True])
def test_the_estimated_singular_value_is_on_the_safe_side(
    has_skip: bool, activation: Activation, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant = planted if activation.is_smooth else planted_kinks
    network, points, fresh = plant(seed, has_skip=has_skip, activation=activation)
    exact = certified(network, network, points, fresh, noise=1e-15)
    assert not exact.is_singular_estimated
    monkeypatch.setattr(certificates, "SINGULAR_RULES", SingularRules(estimated_from=0))
    estimated = certified(network, network, points, fresh, noise=1e-15)
    assert estimated.is_singular_estimated
    assert 0.3 * exact.smallest_singular < estimated.smallest_singular <= exact.smallest_singular


# Piecewise-linear activations


def planted_kinks(
    seed: int, *, activation: Activation = RELU, outputs: int = 1, has_skip: bool = False
) -> tuple[Network, np.ndarray, np.ndarray]:
    """A network whose neurons are active at a sixth of the points at least, points to fit it to, and fresh ones."""
    network, points, fresh = planted(seed, activation=activation, outputs=outputs, has_skip=has_skip)
    # Long weights, so that a hard tanh reaches both of its kinks.
    weights = 2 * network.layers[0].weights
    biases = 0.9 * network.layers[0].biases * np.linalg.norm(weights, axis=1)
    return replace(network, layers=(Layer(weights, biases, activation), network.layers[1])), points, fresh


def in_the_scales_of(found: Network, truth: Network) -> Network:
    """The truth with neurons scaled so that the step to it has no part along their scales, solved by halving."""
    low, high = np.full(NEURONS, 0.5), np.full(NEURONS, 2.0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        hidden, output = rescale(truth, 0, 1 / middle).layers
        incoming = np.column_stack([hidden.weights, hidden.biases]) - np.column_stack(
            [found.layers[0].weights, found.layers[0].biases]
        )
        vector = ParameterVector(found)
        outgoing = (output.weights - found.layers[1].weights).T / vector.output_sizes[:, None]
        step = np.hstack([incoming / vector.neuron_sizes[:, None], outgoing])
        is_above = np.einsum("kj,kj->k", step, scale_directions(found)) > 0
        low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
    return rescale(truth, 0, 2 / (low + high))


def test_the_scales_are_found_again(seed: int) -> None:
    network, _, _ = planted_kinks(seed)
    factors = np.random.default_rng(seed).uniform(0.7, 1.4, NEURONS)
    again = in_the_scales_of(network, rescale(network, 0, factors))
    assert np.max(np.abs(relative_step(network, again))) < 1e-12
    other, _, _ = planted_kinks(seed + 1)
    assert np.max(np.abs(relative_step(network, in_the_scales_of(network, other)))) > 0.1


@pytest.mark.parametrize("activation", [RELU, LEAKY_RELU, HARD_TANH], ids=str)
@pytest.mark.parametrize(("outputs", "has_skip"), [(1, False), (2, True)])
@pytest.mark.parametrize("noise", [1e-15, 1e-8])
@pytest.mark.parametrize("number", range(3))
def test_the_true_error_of_a_kinked_network_is_below_the_radius(
    activation: Activation, outputs: int, has_skip: bool, noise: float, number: int, seed: int
) -> None:
    network, points, fresh = planted_kinks(
        100 * seed + number, activation=activation, outputs=outputs, has_skip=has_skip
    )
    rng = np.random.default_rng([seed, number])
    found, certificate = fitted_and_certified(network, points, fresh, rng, noise=noise, start_error=1e-6)
    assert certificate.is_isolated
    truth = network if activation == HARD_TANH else in_the_scales_of(found, network)
    assert np.max(np.abs(relative_step(found, truth))) <= certificate.radius < certificate.isolation


@pytest.mark.parametrize("activation", [RELU, HARD_TANH], ids=str)
@pytest.mark.parametrize("outputs", [1, 2])
def test_kinked_residuals_bend_by_no_more_than_the_bound_within_the_reach(
    activation: Activation, outputs: int, seed: int
) -> None:
    network, points, _ = planted_kinks(seed, activation=activation, outputs=outputs, has_skip=True)
    kept, reach = certificates._steady_points(network, points, 0.1)
    points = points[kept]
    weights, vector = certificates._curvature_weights(network, points), ParameterVector(network)
    jacobian = dense_jacobian(network, points)[: points.shape[0] * outputs]
    rng = np.random.default_rng([seed, 3])
    is_active = network.layers[0].preactivations(points) > 0
    for _ in range(20):
        step = rng.standard_normal(vector.count) * (rng.random(vector.count) < rng.random())
        incoming = np.column_stack([part.reshape(NEURONS, -1) for part in vector.split(step)[:2]])
        step *= 0.999 * reach / np.max(np.linalg.norm(incoming, axis=1) / vector.neuron_sizes, initial=1e-3)
        moved = vector.moved(step)
        bend = (moved(points) - network(points)).ravel() - jacobian @ step
        assert np.linalg.norm(bend) <= 0.5 * np.sum((weights * step) ** 2) + 1e-12
        if activation == RELU:
            np.testing.assert_array_equal(moved.layers[0].preactivations(points) > 0, is_active)


def test_the_reach_is_that_of_the_nearest_point_kept() -> None:
    # One neuron with the kink x_1 = 0; the distance in units of |(x, 1)| by hand.
    network = Network.shallow(np.array([[2.0, 0.0]]), np.zeros(1), np.ones((1, 1)), np.zeros(1), RELU)
    points = np.column_stack([np.linspace(0.01, 1.0, 40), np.zeros(40)])
    kept, reach = certificates._steady_points(network, points, 0.1)
    np.testing.assert_array_equal(kept, np.arange(4, 40))
    assert reach == pytest.approx(points[4, 0] / np.hypot(points[4, 0], 1.0))
    few, _ = certificates._steady_points(network, points[:5], 0.1)
    np.testing.assert_array_equal(few, np.arange(5))


def test_a_kinked_network_is_no_farther_isolated_than_its_points_keep_their_pattern(seed: int) -> None:
    network, points, fresh = planted_kinks(seed)
    certificate = certified(network, network, points, fresh, noise=1e-15)
    assert 0 < certificate.isolation <= certificates._steady_points(network, points, 0.1)[1]
    # Noise whose radius would reach over the kinks leaves no claim.
    assert not certified(network, network, points, fresh, noise=1e-3).is_isolated


@pytest.mark.parametrize("activation", [RELU, LEAKY_RELU], ids=str)
def test_a_network_without_one_of_the_neurons_is_not_certified(activation: Activation, seed: int) -> None:
    network, points, fresh = planted_kinks(seed, activation=activation)
    hidden, output = network.layers
    fewer = Network.shallow(hidden.weights[1:], hidden.biases[1:], output.weights[:, 1:], output.biases, activation)
    values = network(points)
    found = LevenbergMarquardt(steps=10)(fewer, points, values, floor=1e-15).network
    certificate = certified(found, network, points, fresh, noise=1e-15)
    assert certificate.rms_error > 1e-3
    assert not certificate.is_isolated


@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize("limit", [10_000, 0])
def test_a_neuron_that_hardly_bends_is_not_certified(
    side: float, limit: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificates, "SINGULAR_RULES", SingularRules(estimated_from=limit))
    network, points, fresh = planted_kinks(seed, has_skip=True)
    hidden, output = network.layers
    arguments = np.sort(side * points @ hidden.weights[0])
    # Four points beyond the kink do not determine the five weights and the bias.
    biases = np.append(-side * np.mean(arguments[-5:-3]), hidden.biases[1:])
    rare = replace(network, layers=(replace(hidden, biases=biases), output))
    assert certified(network, network, points, fresh, noise=1e-15).is_isolated
    assert not certified(rare, rare, points, fresh, noise=1e-15).is_isolated


@pytest.mark.slow
def test_the_estimate_of_a_medium_relu_network_is_half_of_the_exact_value(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=60, neurons=40, activation=RELU)
    points, fresh = rng.standard_normal((5_400, 60)), rng.standard_normal((100, 60))
    found = []
    for limit in (10_000, 0):
        monkeypatch.setattr(certificates, "SINGULAR_RULES", SingularRules(estimated_from=limit))
        found.append(certified(network, network, points, fresh, noise=1e-15).smallest_singular)
    assert 0.5 * found[0] * (1 - 1e-9) <= found[1] < 0.6 * found[0]
