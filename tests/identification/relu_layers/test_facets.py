"""First layers of two, read exactly on roomy facets."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import unweave
from unweave.activations import RELU, Activation, leaky_relu
from unweave.exceptions import StageFailed
from unweave.identification.probing import Probe, Probing
from unweave.identification.relu_layers.facets import Facets
from unweave.identification.relu_layers.search import ReluLayers, TwoLayerSearch
from unweave.identification.session import Session
from unweave.identification.walks.kinked_terms import KinkedTerms
from unweave.networks.network import Layer, Network
from unweave.networks.planted import deep_network
from unweave.numerics.network_fit import DeepRules, LevenbergMarquardt
from unweave.oracles.oracle import Box, CallableOracle
from unweave.oracles.views import in_oracle_units

# As for networks that are too large to be refined as a whole.
UNPOLISHED = TwoLayerSearch(refine=LevenbergMarquardt(deep=DeepRules(limit=0)))
SHAPES = [(8, 5, 5, 1), (12, 6, 8, 2), (20, 10, 10, 3)]


def planted(seed: int, *shape: int, activation: Activation = RELU) -> Network:
    """A network whose first layer has unit weights, so that its rows are terms."""
    network = deep_network(np.random.default_rng([seed, 171]), shape=shape, activation=activation, shift_deviation=0.3)
    lengths = np.linalg.norm(network.layers[0].weights, axis=1)
    first = replace(network.layers[0], weights=network.layers[0].weights / lengths[:, None])
    return replace(network, layers=(first, *network.layers[1:]))


def started(network: Network, seed: int) -> tuple[Session, Probe]:
    session = Session(CallableOracle(network, inputs=network.inputs), np.random.default_rng([seed, 172]))
    return session, Probing()(session)


def rough(network: Network, seed: int, *, error: float) -> tuple[Network, KinkedTerms]:
    """The network and its first layer with errors as a walk leaves them."""
    rng, first = np.random.default_rng([seed, 173]), network.layers[0]
    normals = first.weights + error * rng.standard_normal(first.weights.shape) / np.sqrt(network.inputs)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    offsets = first.biases + error * rng.standard_normal(first.neurons)
    jumps = np.ones((first.neurons, network.outputs))
    terms = KinkedTerms(normals, offsets, jumps, np.full(first.neurons, error), np.ones(first.neurons))
    moved = replace(first, weights=normals, biases=offsets)
    return replace(network, layers=(moved, *network.layers[1:])), terms


def errors_of(terms: KinkedTerms, first: Layer) -> np.ndarray:
    """How far every hyperplane is from the planted one."""
    return np.hypot(np.linalg.norm(terms.normals - first.weights, axis=1), np.abs(terms.offsets - first.biases))


def in_standard(network: Network, probe: Probe) -> Network:
    """The network in the units that terms have: those of inputs are one where the domain has no end."""
    output = network.layers[-1]
    scaled = Layer(
        output.weights / probe.oracle.size[:, None],
        (output.biases - probe.oracle.offset) / probe.oracle.size,
        output.activation,
    )
    return replace(network, layers=(*network.layers[:-1], scaled))


@pytest.mark.each_value
@pytest.mark.parametrize("activation", [RELU, leaky_relu(0.1)], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_hyperplanes_are_read_to_rounding(shape: tuple[int, ...], activation: Activation, seed: int) -> None:
    truth = planted(seed, *shape, activation=activation)
    session, probe = started(truth, seed)
    network, terms = rough(in_standard(truth, probe), seed, error=1e-7)
    before = session.oracle.ledger.sent
    read = Facets()(probe, network, terms, np.random.default_rng(seed))
    errors = errors_of(read, truth.layers[0])
    assert np.all(errors[read.errors < 1e-9] < 1e-9)
    assert np.median(errors) < 1e-11
    # Two gradients per neuron without shared cells.
    assert session.oracle.ledger.sent - before < 2 * shape[1] * (shape[0] + 1)


def test_a_neuron_that_hardly_ever_shows_stays_as_it_was(seed: int) -> None:
    """No cell that is tried has a facet of it: only a neuron above that is off there sees it."""
    truth = planted(seed, 8, 5, 6, 1)
    first, second, output = truth.layers
    weights, biases = second.weights.copy(), second.biases.copy()
    weights[1:, 2], weights[0], biases[0] = 0.0, 0.0, -500.0
    weights[0, 2] = 1.0
    truth = replace(truth, layers=(first, replace(second, weights=weights, biases=biases), output))
    _, probe = started(truth, seed)
    network, terms = rough(in_standard(truth, probe), seed, error=1e-7)
    read = Facets()(probe, network, terms, np.random.default_rng(seed))
    assert np.array_equal(read.normals[2], terms.normals[2])
    assert np.all(np.delete(read.errors, 2) < 1e-9)
    assert np.all(np.delete(errors_of(read, first), 2) < 1e-10)


def test_readings_across_a_kink_that_is_not_known_are_left_out(seed: int) -> None:
    truth = planted(seed, 8, 5, 5, 1)
    _, probe = started(truth, seed)
    network, terms = rough(in_standard(truth, probe), seed, error=1e-7)
    first, second, output = network.layers
    fewer = Layer(second.weights[1:], second.biases[1:], RELU), replace(output, weights=output.weights[:, 1:])
    read = Facets()(probe, Network((first, *fewer)), terms, np.random.default_rng(seed))
    assert read.normals.shape == terms.normals.shape
    # What was read beside the unknown neuron is far off, or as exact as elsewhere.
    assert np.all(errors_of(read, truth.layers[0]) < 1e-6)


def recovered(model: Callable[[np.ndarray], np.ndarray], inputs: int, seed: int) -> tuple[ReluLayers, Network]:
    session = Session(CallableOracle(model, inputs=inputs), np.random.default_rng([seed, 174]))
    probe = Probing()(session)
    found = UNPOLISHED(session, probe)
    assert found.network is not None
    return found, in_oracle_units(found.network, probe.oracle)


@pytest.mark.each_value
@pytest.mark.parametrize("activation", [RELU, leaky_relu(0.1)], ids=str)
@pytest.mark.parametrize("shape", [(12, 6, 5, 2), (20, 10, 8, 1)], ids=str)
def test_large_networks_are_exact_without_a_common_refinement(
    shape: tuple[int, ...], activation: Activation, seed: int
) -> None:
    truth = planted(seed, *shape, activation=activation)
    _, network = recovered(truth, shape[0], seed)
    points = np.random.default_rng([seed, 175]).standard_normal((500, shape[0]))
    assert np.max(np.abs(network(points) - truth(points))) < 1e-10 * np.std(truth(points))


def test_an_offset_costs_its_digits_only(seed: int) -> None:
    truth = planted(seed, 12, 6, 5, 1)
    _, network = recovered(lambda points: truth(points) + 1e5, 12, seed)
    points = np.random.default_rng([seed, 176]).standard_normal((500, 12))
    assert np.max(np.abs(network(points) - 1e5 - truth(points))) < 1e-6


def test_a_budget_that_ends_before_leaves_the_rough_network(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = planted(seed, 12, 6, 5, 1)

    def exhausted(*_: object) -> KinkedTerms:
        raise unweave.BudgetExhausted(needed=100, left=99, budget=2_000)

    monkeypatch.setattr(Facets, "__call__", exhausted)
    _, network = recovered(truth, 12, seed)
    points = np.random.default_rng([seed, 177]).standard_normal((500, 12))
    assert np.max(np.abs(network(points) - truth(points))) < 1e-5 * np.std(truth(points))


def test_a_box_is_refused(seed: int) -> None:
    oracle = CallableOracle(planted(seed, 8, 5, 5, 1), inputs=8, domain=Box(-1.0, 1.0))
    session = Session(oracle, np.random.default_rng(seed))
    with pytest.raises(StageFailed, match="box"):
        UNPOLISHED(session, Probing()(session))


def test_neurons_whose_change_is_not_seen_stay_as_they_were(seed: int) -> None:
    """The function is constant, whatever the network says of it."""
    truth = planted(seed, 8, 5, 5, 1)
    _, probe = started(truth, seed)
    network, terms = rough(in_standard(truth, probe), seed, error=1e-7)
    constant = CallableOracle(lambda points: np.ones((len(points), 1)), inputs=8)
    read = Facets()(
        replace(probe, oracle=replace(probe.oracle, oracle=constant)), network, terms, np.random.default_rng(seed)
    )
    assert np.array_equal(read.normals, terms.normals)
    assert np.array_equal(read.errors, terms.errors)
