from dataclasses import replace

import numpy as np
import pytest

from unweave import certificates
from unweave.activations import GELU, SIN, SOFTPLUS, TANH, Activation
from unweave.certificates import Certificate, certify
from unweave.networks import Network
from unweave.parameters import ParameterVector, dense_jacobian
from unweave.planted import general_network
from unweave.refinement import LevenbergMarquardt

INPUTS, NEURONS = 5, 6


def planted(
    seed: int, *, activation: Activation = TANH, outputs: int = 1, has_skip: bool = False
) -> tuple[Network, np.ndarray, np.ndarray]:
    """A network, points to fit it to, and fresh ones."""
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=INPUTS, neurons=NEURONS, outputs=outputs, activation=activation)
    if has_skip:
        network = replace(network, skip=rng.normal(size=(outputs, INPUTS)))
    points = rng.standard_normal((4 * network.parameters, INPUTS))
    return network, points, rng.standard_normal((200, INPUTS))


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


def certified(network: Network, truth: Network, points: np.ndarray, fresh: np.ndarray, noise: float) -> Certificate:
    return certify(
        network,
        points=points,
        values=truth(points),
        fresh_points=fresh,
        fresh_values=truth(fresh),
        noise=noise,
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
    values, fresh_values = (
        network(asked) + noise * rng.standard_normal((len(asked), outputs)) for asked in (points, fresh)
    )
    start = ParameterVector(network).moved(1e-4 * rng.standard_normal(network.parameters))
    found = LevenbergMarquardt()(start, points, values, floor=noise).network
    certificate = certify(
        found, points=points, values=values, fresh_points=fresh, fresh_values=fresh_values, noise=noise
    )
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


@pytest.mark.parametrize("has_skip", [False, True])
def test_the_estimated_singular_value_is_on_the_safe_side(
    has_skip: bool, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, points, fresh = planted(seed, has_skip=has_skip)
    exact = certified(network, network, points, fresh, noise=1e-15)
    assert not exact.is_singular_estimated
    monkeypatch.setattr(certificates, "EXACT_SINGULAR_LIMIT", 0)
    estimated = certified(network, network, points, fresh, noise=1e-15)
    assert estimated.is_singular_estimated
    assert 0.3 * exact.smallest_singular < estimated.smallest_singular <= exact.smallest_singular
