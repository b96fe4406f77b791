import numpy as np
import pytest

from unweave.activations import IDENTITY, RELU, SIGMOID, SOFTPLUS, TANH, Activation
from unweave.arrays import packed_size, unpack
from unweave.exceptions import InvalidInput
from unweave.networks.network import Layer, Network
from unweave.networks.planted import deep_network
from unweave.reproduce.fiedler.entangled import (
    a_posteriori_bound,
    a_priori_bound,
    bending_layers,
    drift_constant,
    entangled_bounds,
    entangled_weights,
    hessian_coefficients,
    hessians_from_entangled,
    hessians_needed,
    largest_hessian,
    measured_drift,
    normalised,
    preactivations,
    sensitivities,
    slopes,
    target_span,
    wedin_bound,
)
from unweave.reproduce.fiedler.entangled_metrics import projector_gap

INPUTS = 6
SHAPES = [(5,), (6, 4), (6, 5, 3), (6, 5, 4, 3)]


def planted(
    seed: int, widths: tuple[int, ...] = (6, 4), activation: Activation = TANH, output: Activation = TANH
) -> tuple[Network, np.ndarray]:
    rng = np.random.default_rng([seed, len(widths)])
    network = deep_network(
        rng, shape=(INPUTS, *widths, 3), activation=activation, output_activation=output, shift_deviation=0.5
    )
    return network, rng.standard_normal(INPUTS)


def central(function, point: np.ndarray, step: float) -> np.ndarray:
    """Jacobian by central differences, one row per component."""
    columns = [(function(point + h) - function(point - h)) / (2 * step) for h in step * np.eye(len(point))]
    return np.array(columns).T


@pytest.mark.parametrize("activation", [TANH, SIGMOID, SOFTPLUS], ids=str)
@pytest.mark.parametrize("widths", SHAPES, ids=str)
def test_entangled_weights_are_the_gradients_of_the_preactivations(
    widths: tuple[int, ...], activation: Activation, seed: int
) -> None:
    network, point = planted(seed, widths, activation)
    for layer, rows in enumerate(entangled_weights(network, point)):
        # Cut the network after this layer, without its activation: its exact gradients are an independent way.
        last = Layer(network.layers[layer].weights, network.layers[layer].biases, IDENTITY)
        cut = Network((*network.layers[:layer], last))
        assert np.allclose(rows, cut.gradients(point[None])[0], atol=1e-12, rtol=0)
        assert np.allclose(
            rows, central(lambda x, k=layer: preactivations(network, x)[k], point, 1e-5), atol=1e-8, rtol=0
        )


@pytest.mark.parametrize("output", [TANH, IDENTITY], ids=str)
@pytest.mark.parametrize("widths", SHAPES, ids=str)
def test_hessians_are_combinations_of_squares(widths: tuple[int, ...], output: Activation, seed: int) -> None:
    network, point = planted(seed, widths, output=output)
    hessians = hessians_from_entangled(entangled_weights(network, point), hessian_coefficients(network, point))
    assert np.allclose(hessians, network.hessians(point[None])[0], atol=1e-12)
    numeric = central(lambda x: network.gradients(x[None])[0].ravel(), point, 1e-4)
    assert np.allclose(unpack(hessians, INPUTS).reshape(-1, INPUTS), numeric, atol=1e-6)


@pytest.mark.parametrize("widths", SHAPES, ids=str)
def test_gradients_factor_through_every_layer(widths: tuple[int, ...], seed: int) -> None:
    network, point = planted(seed, widths)
    gradients = network.gradients(point[None])[0]
    rows, tables, diagonals = (f(network, point) for f in (entangled_weights, sensitivities, slopes))
    for layer in range(len(network.layers)):
        assert np.allclose((tables[layer] * diagonals[layer]) @ rows[layer], gradients, atol=1e-12)


def test_the_first_layer_does_not_move(seed: int) -> None:
    network, point = planted(seed)
    assert np.array_equal(entangled_weights(network, point)[0], entangled_weights(network, -point)[0])
    assert not np.allclose(entangled_weights(network, point)[1], entangled_weights(network, -point)[1])


def test_linear_outputs_are_not_seen() -> None:
    assert bending_layers((TANH, TANH, IDENTITY)) == 2
    assert bending_layers((TANH, TANH, TANH)) == 3


@pytest.mark.parametrize("output", [TANH, IDENTITY], ids=str)
def test_the_target_span_holds_the_hessians_at_its_point(output: Activation, seed: int) -> None:
    network, point = planted(seed, output=output)
    basis = target_span(network, point)
    assert basis.shape == (packed_size(INPUTS), 10 if output == IDENTITY else 13)
    hessians = network.hessians(point[None])[0]
    assert np.allclose(hessians @ basis @ basis.T, hessians, atol=1e-12)


def test_a_skip_part_is_refused() -> None:
    network = Network((Layer(np.eye(2), np.zeros(2), TANH), Layer(np.eye(2), np.zeros(2), IDENTITY)), skip=np.eye(2))
    with pytest.raises(InvalidInput, match="skip"):
        entangled_weights(network, np.zeros(2))


def test_zero_rows_have_no_direction() -> None:
    with pytest.raises(InvalidInput, match="direction"):
        normalised(np.zeros((1, 3)))


@pytest.mark.parametrize("is_sharper", [False, True])
@pytest.mark.parametrize("output", [TANH, IDENTITY], ids=str)
def test_bounds_hold_at_random_points(is_sharper: bool, output: Activation, seed: int) -> None:
    network, _ = planted(seed, (6, 5, 3), output=output)
    bounds = entangled_bounds(network, is_sharper=is_sharper)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        point = rng.standard_normal(INPUTS)
        other = point + 10.0 ** rng.uniform(-3, 0) * rng.standard_normal(INPUTS)
        rows, moved = entangled_weights(network, point), entangled_weights(network, other)
        for layer, table in enumerate(hessian_coefficients(network, point)):
            assert np.linalg.norm(rows[layer], 2) <= bounds.norms[layer] * (1 + 1e-12)
            drift = np.linalg.norm(rows[layer] - moved[layer], 2) / np.linalg.norm(point - other)
            assert drift <= bounds.drifts[layer] * (1 + 1e-9)
            assert np.max(np.linalg.norm(table, axis=1)) <= bounds.coefficients[layer] * (1 + 1e-12)
        assert np.max(np.linalg.norm(network.hessians(point[None])[0], axis=1)) <= largest_hessian(network)


def test_the_sharper_bounds_are_sharper(seed: int) -> None:
    network, _ = planted(seed, (6, 5, 3))
    assert drift_constant(network) < 0.1 * drift_constant(network, is_sharper=False)


def test_the_plain_bound_is_the_printed_formula(seed: int) -> None:
    network, _ = planted(seed, (6, 5, 3))
    sizes = [np.linalg.norm(layer.weights, 2) for layer in network.layers]
    kappa, layer = 2.0, 4
    terms = [kappa ** (layer + k - 2) * np.prod(sizes[: k - 1]) for k in range(1, layer)]
    bounds = entangled_bounds(network, is_sharper=False)
    # Unit rows: their norms do not appear.
    assert np.isclose(bounds.drifts[layer - 1], np.prod(sizes) * np.sum(terms), rtol=1e-6)
    assert np.isclose(bounds.norms[layer - 1], kappa ** (layer - 1) * np.prod(sizes), rtol=1e-6)
    assert np.isclose(bounds.coefficients[0], 1.0 * kappa**3 * sizes[1] * sizes[2], rtol=1e-6)


def test_kinks_have_no_bounds(seed: int) -> None:
    network, _ = planted(seed, activation=RELU)
    with pytest.raises(InvalidInput, match="bounded derivatives"):
        entangled_bounds(network)


def test_drift_bounds_every_hessian(seed: int) -> None:
    network, center = planted(seed)
    rng = np.random.default_rng(seed)
    basis, constant = target_span(network, center), drift_constant(network)
    for radius in (1e-3, 1e-1):
        point = center + radius * rng.standard_normal(INPUTS)
        hessians = network.hessians(point[None])[0]
        outside = np.linalg.norm(hessians - hessians @ basis @ basis.T, axis=1)
        assert np.max(outside) <= constant * np.linalg.norm(point - center)


def test_wedin_bounds_the_angle_of_perturbed_spans(seed: int) -> None:
    rng = np.random.default_rng(seed)
    true = rng.standard_normal((12, 4)) @ rng.standard_normal((4, 30))
    measured = true + 1e-2 * rng.standard_normal(true.shape)
    left, values, _ = np.linalg.svd(measured)
    exact = np.linalg.qr(true)[0][:, :4]
    bound = wedin_bound(float(np.linalg.norm(measured - true, 2)), float(values[3]))
    assert projector_gap(exact, left[:, :4]) <= bound < 1.0
    # Not by orders of magnitude, either.
    assert bound < 10 * projector_gap(exact, left[:, :4])


def test_the_a_posteriori_bound_holds_for_measured_hessians(seed: int) -> None:
    network, center = planted(seed, (4, 2), output=IDENTITY)
    points = center + 0.01 * np.random.default_rng(seed).standard_normal((60, INPUTS))
    hessians = network.hessians(points).reshape(-1, packed_size(INPUTS))
    left, values, _ = np.linalg.svd(hessians.T)
    smallest = float(values[5] / np.sqrt(len(hessians)))
    bound = a_posteriori_bound(smallest=smallest, drift=measured_drift(network, points, center))
    error = projector_gap(target_span(network, center), left[:, :6])
    assert error <= bound * (1 + 1e-9)
    rms = float(np.sqrt(np.mean(np.sum((points - center) ** 2, axis=1))))
    assert bound <= a_posteriori_bound(smallest=smallest, drift=drift_constant(network) * rms)


def test_the_theorem_is_void_where_its_assumption_fails() -> None:
    assert a_priori_bound(learnability=2.0, drift=0.1) == pytest.approx(0.2)
    assert a_priori_bound(learnability=2.0, drift=0.1, differentiation_error=0.5) == pytest.approx(2.4)
    assert a_priori_bound(learnability=2.0, drift=0.1, differentiation_error=1.0) == np.inf
    assert wedin_bound(1.0, 0.0) == np.inf


def test_the_printed_denominator_is_too_large() -> None:
    # One matrix 1 + e in place of 1: the inequality behind the printed form would need 2 e + e^2 <= e^2.
    error = 0.1
    assert abs(1.0 - (1.0 + error) ** 2) > error**2
    printed = np.sqrt(0.5 * 2.0 - 0.5**2)
    assert 2.0 * 0.6 / printed < a_priori_bound(learnability=2.0, drift=0.1, differentiation_error=0.5)


def test_more_hessians_are_needed_for_smaller_failure() -> None:
    needed = [hessians_needed(0.5, largest=2.0, neurons=10, failure=failure) for failure in (0.1, 0.01)]
    assert needed[0] == pytest.approx(64 * np.log(200))
    assert needed[1] > needed[0]


@pytest.mark.parametrize("extra", [0, 1])
def test_few_outputs_bound_the_rank_near_a_point(extra: int, seed: int) -> None:
    # Near the base point Hessians are affine in the point: outputs times (inputs + 1) dimensions, and what is
    # beyond is of second order.
    network = deep_network(np.random.default_rng(seed), shape=(INPUTS, 6, 4 + extra, 1))
    points = np.random.default_rng([seed, 1]).standard_normal((80, INPUTS))
    limit = network.outputs * (INPUTS + 1)
    shares = []
    for radius in (1e-3, 1e-4):
        values = np.linalg.svd(network.hessians(radius * points).reshape(80, -1), compute_uv=False)
        shares.append(values[limit] / values[limit - 1])
    assert shares[1] < 0.2 * shares[0]
