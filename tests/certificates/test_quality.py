"""Assumptions behind a recovered network, against Monte Carlo and closed forms."""

import numpy as np
import pytest

import unweave
from unweave.activations import RELU, SIGMOID, SOFTPLUS, TANH, Activation
from unweave.certificates import claims
from unweave.networks.network import Network
from unweave.networks.planted import general_network, unit_network
from unweave.result import Verdict


@pytest.mark.each_value
@pytest.mark.parametrize("activation", [TANH, SIGMOID])
@pytest.mark.parametrize("order", [1, 2])
def test_second_moments_agree_with_monte_carlo(activation, order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=5, neurons=4, activation=activation)
    hidden = network.layers[0]
    units = hidden.weights / np.linalg.norm(hidden.weights, axis=1, keepdims=True)
    exact = claims._second_moment(claims.hermite_table(network, order=order), units @ units.T)
    samples = activation(hidden.preactivations(rng.standard_normal((400_000, 5))), order)
    np.testing.assert_allclose(exact, samples.T @ samples / len(samples), atol=0.01 * np.max(np.abs(exact)))


def test_hermite_table_agrees_with_the_activation(seed: int) -> None:
    network = general_network(np.random.default_rng(seed), inputs=5, neurons=3)
    hidden = network.layers[0]
    table = claims.hermite_table(network, order=1)
    for k in range(3):
        scale, bias = float(np.linalg.norm(hidden.weights[k])), float(hidden.biases[k])
        expected = TANH.hermite_coefficients(claims.QUALITY_RULES.highest_degree, scale=scale, bias=bias, order=1)
        np.testing.assert_allclose(table[k], expected, atol=1e-12)


def test_learnability_matches_the_figure_of_the_specification() -> None:
    """D = 20, m = 36 gave 5.96e-2 for one draw of a network with unit weights, in [fiedler]; the scale must agree."""
    network = unit_network(np.random.default_rng(0), inputs=20, neurons=36)
    found = {item.name: item.value for item in claims.excitation(network)}
    table = claims.hermite_table(network, order=2)
    learnability = found["learnability of the recovered network, relative"] * np.max(np.sum(table**2, axis=1))
    assert 0.02 < learnability < 0.12


@pytest.mark.parametrize(
    ("activation", "domain", "fewest"),
    [(TANH, unweave.Box(-2.0, 2.0), 18), (TANH, None, 10), (SOFTPLUS, None, 9), (RELU, None, 5)],
)
def test_every_diagnostic_of_a_clean_run_is_finite_and_explained(
    activation: Activation, domain: unweave.Box | None, fewest: int, seed: int
) -> None:
    truth = general_network(np.random.default_rng(seed), inputs=6, neurons=7, activation=activation)
    found = unweave.identify(truth, domain=domain, seed=seed)
    assert found.is_identified, found.reason
    assert len(found.diagnostics) >= fewest
    assert all(np.isfinite(item.value) and item.advice for item in found.diagnostics)
    assert len({item.name for item in found.diagnostics}) == len(found.diagnostics)
    assert Verdict.FAIL not in {item.verdict for item in found.diagnostics}


def test_network_without_neurons_has_no_excitation() -> None:
    empty = Network.shallow(np.empty((0, 3)), np.empty(0), np.empty((1, 0)), np.zeros(1), TANH)
    assert claims.excitation(empty) == []
