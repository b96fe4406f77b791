import numpy as np
import pytest

from unweave.activations import TANH
from unweave.exceptions import InvalidInput
from unweave.networks.network import Network
from unweave.networks.planted import unit_network
from unweave.networks.symmetries import match
from unweave.numerics.subspace_power import SubspacePower
from unweave.oracles.oracle import CallableOracle
from unweave.reproduce.experiment import Cell
from unweave.reproduce.fiedler.entangled_metrics import worst_of_truth
from unweave.reproduce.fiedler.shallow_identification import (
    ShallowReference,
    ShallowReferenceIdentifier,
    WeightRecovery,
)
from unweave.reproduce.fiedler.shallow_trials import matched, neurons_of, trial, uniform_difference
from unweave.reproduce.fiedler.shift_descent import StochasticShiftDescent
from unweave.reproduce.fiedler.subspace_power import FixedSubspacePower

INPUTS, NEURONS = 8, 11
# The search of the reference, with fewer steps: these sizes are far from the limit.
QUICK = WeightRecovery(search=FixedSubspacePower(steps=200))


def planted(seed: int) -> Network:
    return unit_network(np.random.default_rng([seed, 5]), inputs=INPUTS, neurons=NEURONS)


def identified(network: Network, **changed: object) -> ShallowReference:
    identify = ShallowReferenceIdentifier(recovery=QUICK, **changed)
    return identify(CallableOracle(network, inputs=INPUTS), TANH, NEURONS, seed=3)


def test_networks_are_identified_with_their_signs(seed: int) -> None:
    network = planted(seed)
    found = identified(network)
    assert found.network is not None
    assert found.started is not None
    assert match(found.network, network).largest_error < 1e-3
    # Weights with their signs: outer weights stay one.
    order = matched(found.started.weights, network.layers[0].weights)
    np.testing.assert_allclose(found.started.weights[order], network.layers[0].weights, atol=1e-4)


def test_descent_improves_shifts_until_the_error_is_small(seed: int) -> None:
    network = planted(seed)
    found = identified(network, step=0.3, descent=StochasticShiftDescent(rate=0.1, tol=1e-7, epochs=200))
    assert found.started is not None
    assert found.network is not None
    assert found.refined is not None
    assert found.refined.is_converged
    order, biases = matched(found.started.weights, network.layers[0].weights), network.layers[0].biases
    before = np.linalg.norm(found.started.shifts[order] - biases)
    after = np.linalg.norm(found.network.layers[0].biases[order] - biases)
    assert after < 0.2 * before


def test_queries_are_those_of_the_settings() -> None:
    network = planted(0)
    identify = ShallowReferenceIdentifier(recovery=QUICK)
    oracle = CallableOracle(network, inputs=INPUTS)
    found = identify(oracle, TANH, NEURONS, seed=3)
    # ceil(11 log 8) Hessians of 2 D (D + 1) queries, 4 m + 1 at the origin, m D^2 samples.
    assert found.queries == (23 * 144, 45, 704)
    assert oracle.ledger.sent == sum(found.queries)


def test_runs_repeat_exactly() -> None:
    one, other = identified(planted(1)), identified(planted(1))
    assert one.network is not None
    assert other.network is not None
    assert np.array_equal(one.network.layers[0].biases, other.network.layers[0].biases)


def test_missing_directions_leave_no_network() -> None:
    recovery = WeightRecovery(search=FixedSubspacePower(steps=5, threshold=1 - 1e-12))
    found = ShallowReferenceIdentifier(recovery=recovery)(
        CallableOracle(planted(0), inputs=INPUTS), TANH, NEURONS, seed=3
    )
    assert not found.directions.is_complete
    assert found.network is None
    assert found.queries[1:] == (0, 0)


def test_both_searches_end_at_the_same_weights(seed: int) -> None:
    network = planted(seed)
    weights = network.layers[0].weights
    errors = []
    for search in (FixedSubspacePower(steps=400), SubspacePower()):
        recovery = WeightRecovery(search=search)
        found, _ = recovery(CallableOracle(network, inputs=INPUTS), NEURONS, np.random.default_rng(seed))
        errors.append(worst_of_truth(found.atoms, weights))
    assert errors[0] == pytest.approx(errors[1], rel=1e-3)
    assert errors[0] < 1e-4


@pytest.mark.parametrize("neurons", [0, 28, 40])
def test_numbers_of_neurons_beyond_the_limit_are_refused(neurons: int) -> None:
    oracle = CallableOracle(planted(0), inputs=INPUTS)
    with pytest.raises(InvalidInput, match="fewer than 28 neurons"):
        ShallowReferenceIdentifier()(oracle, TANH, neurons, seed=0)
    assert oracle.ledger.sent == 0


@pytest.mark.parametrize(("inputs", "order", "neurons"), [(20, 2.0, 160), (35, 2.0, 490), (50, 1.0, 20), (25, 0.5, 2)])
def test_numbers_of_neurons_are_rounded_up(inputs: int, order: float, neurons: int) -> None:
    assert neurons_of(inputs, order) == neurons


def test_a_trial_measures_what_it_planted(seed: int) -> None:
    numbers = trial(Cell({"inputs": 8, "order": 1.0}, seed), points=2_000)
    assert (numbers["neurons"], numbers["found"], numbers["false"], numbers["signs"]) == (4.0, 1.0, 0.0, 1.0)
    assert all(0 <= float(numbers[name]) < 1e-3 for name in ("weights", "span", "shifts", "uniform"))


def test_uniform_differences_are_over_all_parts(seed: int) -> None:
    network = planted(seed)
    shifted = Network.shallow(
        network.layers[0].weights, network.layers[0].biases, network.layers[1].weights, np.ones(1), TANH
    )
    assert uniform_difference(network, shifted, 120_000, np.random.default_rng(0)) == pytest.approx(1.0)
