import numpy as np
import pytest

from unweave.activations import ERF, GAUSSIAN, GELU, RELU, SIGMOID, SILU, SIN, SOFTPLUS, TANH, Activation
from unweave.exceptions import InvalidInput
from unweave.networks.network import Network
from unweave.networks.planted import unit_network
from unweave.networks.symmetries import match
from unweave.oracles.oracle import CallableOracle
from unweave.oracles.views import StandardOracle
from unweave.reproduce.fiedler.shallow_model import (
    SignsAndShifts,
    inverse_second_derivative,
    monotone_limit,
    signs_and_shifts,
    unit_network_from,
)

INPUTS, NEURONS = 8, 12
# An activation and the shifts that its second derivative tells apart.
ADMISSIBLE = [(TANH, 0.6), (SIGMOID, 1.2), (ERF, 0.6), (SIN, 1.4)]


def planted(
    seed: int, activation: Activation = TANH, *, largest_shift: float = 0.5
) -> tuple[Network, np.ndarray, np.ndarray]:
    """A network with unit weights, its directions with random signs, and these signs."""
    rng = np.random.default_rng(seed)
    network = unit_network(rng, inputs=INPUTS, neurons=NEURONS, activation=activation, largest_shift=largest_shift)
    signs = rng.choice([-1.0, 1.0], size=NEURONS)
    return network, signs[:, None] * network.layers[0].weights, signs


def found_by(
    network: Network,
    atoms: np.ndarray,
    activation: Activation = TANH,
    *,
    largest_shift: float = 0.6,
    step: float = 1e-3,
) -> SignsAndShifts:
    oracle = CallableOracle(network, inputs=INPUTS)
    return signs_and_shifts(oracle, atoms, activation, largest_shift=largest_shift, step=step)


@pytest.mark.parametrize(("activation", "largest_shift"), ADMISSIBLE, ids=str)
def test_signs_and_shifts_are_found(activation: Activation, largest_shift: float, seed: int) -> None:
    network, atoms, signs = planted(seed, activation, largest_shift=0.9 * largest_shift)
    found = found_by(network, atoms, activation, largest_shift=largest_shift, step=3e-3)
    np.testing.assert_array_equal(found.signs, signs)
    np.testing.assert_array_equal(found.weights, network.layers[0].weights)
    np.testing.assert_allclose(found.shifts, network.layers[0].biases, atol=3e-3)
    assert found.clipped == 0
    assert found.uncertain_signs == 0
    assert match(unit_network_from(found, activation), network).largest_error < 5e-3


def test_the_coefficients_are_the_derivatives_at_the_shifts(seed: int) -> None:
    network, atoms, signs = planted(seed)
    found = found_by(network, atoms, step=1e-3)
    shifts = network.layers[0].biases
    np.testing.assert_allclose(found.second, TANH(shifts, 2), atol=1e-3)
    np.testing.assert_allclose(found.third, signs * TANH(shifts, 3), atol=1e-2)
    np.testing.assert_array_equal(found.sign_margins, np.abs(found.third))
    assert found.smallest_third == pytest.approx(abs(TANH(np.array([0.6]), 3)[0]))


def test_it_costs_four_queries_per_neuron_and_one_more() -> None:
    network, atoms, _ = planted(0)
    oracle = CallableOracle(network, inputs=INPUTS, budget=4 * NEURONS + 1)
    signs_and_shifts(oracle, atoms, TANH, largest_shift=0.6, step=1e-2)
    assert oracle.ledger.sent == 4 * NEURONS + 1


def test_the_error_of_the_shifts_falls_with_the_square_of_the_step(seed: int) -> None:
    network, atoms, _ = planted(seed, largest_shift=0.4)
    steps = np.geomspace(5e-3, 4e-2, 4)
    errors = [np.linalg.norm(found_by(network, atoms, step=step).shifts - network.layers[0].biases) for step in steps]
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(2.0, abs=0.1)


def test_shifts_do_not_depend_on_the_given_signs(seed: int) -> None:
    network, atoms, _ = planted(seed)
    one, other = found_by(network, atoms), found_by(network, -atoms)
    np.testing.assert_allclose(one.shifts, other.shifts, atol=1e-9)
    np.testing.assert_array_equal(one.signs, -other.signs)
    np.testing.assert_array_equal(one.weights, other.weights)


def test_condition_numbers_are_those_of_the_gramians(seed: int) -> None:
    network, atoms, _ = planted(seed)
    found = found_by(network, atoms)
    overlaps = atoms @ atoms.T
    assert found.second_condition == pytest.approx(np.linalg.cond(overlaps**2), rel=1e-9)
    assert found.third_condition == pytest.approx(np.linalg.cond(overlaps**3), rel=1e-9)
    # The smallest eigenvalue only grows with the order (Lemma 2.22).
    smallest = [np.linalg.eigvalsh(overlaps**order)[0] for order in (2, 3, 4)]
    assert smallest == sorted(smallest)


def test_shifts_outside_the_interval_are_cut_and_counted(seed: int) -> None:
    network, atoms, _ = planted(seed, largest_shift=0.6)
    found = found_by(network, atoms, largest_shift=0.2)
    outside = np.abs(network.layers[0].biases) > 0.2
    assert found.clipped == np.count_nonzero(outside)
    np.testing.assert_allclose(found.shifts[outside], 0.2 * np.sign(network.layers[0].biases[outside]))


def test_a_step_below_the_noise_shows_in_the_margins(seed: int) -> None:
    network, atoms, _ = planted(seed)
    oracle = CallableOracle(lambda points: network(points).astype(np.float32), inputs=INPUTS)
    found = signs_and_shifts(oracle, atoms, TANH, largest_shift=0.6, step=1e-3)
    assert np.max(found.sign_margins) > 1.5 * TANH.supremum(3)


def test_a_standard_oracle_in_the_units_of_the_model_will_do(seed: int) -> None:
    network, atoms, _ = planted(seed)
    oracle = StandardOracle(
        CallableOracle(network, inputs=INPUTS), np.zeros(INPUTS), np.ones(INPUTS), np.zeros(1), np.ones(1)
    )
    found = signs_and_shifts(oracle, atoms, TANH, largest_shift=0.6, step=1e-3)
    np.testing.assert_array_equal(found.shifts, found_by(network, atoms).shifts)


@pytest.mark.parametrize(
    ("activation", "limit"),
    [
        (TANH, np.arctanh(1 / np.sqrt(3))),
        (SIGMOID, np.log(2 + np.sqrt(3))),
        (ERF, np.sqrt(0.5)),
        (SIN, np.pi / 2),
        (SOFTPLUS, 0.0),
        (GELU, 0.0),
        (SILU, 0.0),
        (GAUSSIAN, 0.0),
        (RELU, 0.0),
    ],
    ids=str,
)
def test_the_second_derivative_is_monotone_up_to_the_limit(activation: Activation, limit: float) -> None:
    assert monotone_limit(activation) == pytest.approx(limit, abs=1e-12)


@pytest.mark.parametrize(("activation", "largest_shift"), ADMISSIBLE, ids=str)
def test_the_inverse_of_the_second_derivative(activation: Activation, largest_shift: float) -> None:
    shifts = np.linspace(-largest_shift, largest_shift, 101)
    found = inverse_second_derivative(activation(shifts, 2), activation, largest_shift=largest_shift)
    np.testing.assert_allclose(found, shifts, atol=1e-14)


def test_values_without_an_inverse_go_to_the_nearer_end() -> None:
    ends = inverse_second_derivative(np.array([-5.0, 5.0]), TANH, largest_shift=0.6)
    # The second derivative of tanh falls.
    np.testing.assert_allclose(ends, [0.6, -0.6], atol=1e-15)


@pytest.mark.parametrize(
    ("activation", "largest_shift"),
    [(TANH, 0.66), (SIGMOID, 1.5), (SOFTPLUS, 0.1), (TANH, 0.0), (TANH, -0.1), (TANH, np.nan)],
    ids=str,
)
def test_shifts_beyond_the_monotone_interval_are_refused(activation: Activation, largest_shift: float) -> None:
    network, atoms, _ = planted(0)
    oracle = CallableOracle(network, inputs=INPUTS)
    with pytest.raises(InvalidInput, match="largest shift above 0 and at most"):
        signs_and_shifts(oracle, atoms, activation, largest_shift=largest_shift, step=1e-2)
    assert oracle.ledger.sent == 0


def test_wrong_arguments_are_refused_before_asking() -> None:
    network, atoms, _ = planted(0)
    oracle = CallableOracle(network, inputs=INPUTS)
    two = CallableOracle(lambda points: np.zeros((len(points), 2)), inputs=INPUTS, outputs=2)
    narrow = CallableOracle(network, inputs=INPUTS - 1)
    for asked, given, step, problem in (
        (oracle, atoms, 0.0, "positive and finite"),
        (oracle, 2.0 * atoms, 1e-2, "unit directions"),
        (oracle, np.concatenate([atoms, -atoms[:1]]), 1e-2, f"neurons 0 and {NEURONS} overlap by 1.000000"),
        (two, atoms, 1e-2, "one output, got 2"),
        (narrow, atoms, 1e-2, "columns, one per input"),
    ):
        with pytest.raises(InvalidInput, match=problem):
            signs_and_shifts(asked, given, TANH, largest_shift=0.6, step=step)
        assert asked.ledger.sent == 0


def test_several_outputs_are_refused_when_they_answer() -> None:
    _, atoms, _ = planted(0)
    oracle = CallableOracle(lambda points: np.zeros((len(points), 2)), inputs=INPUTS)
    with pytest.raises(InvalidInput, match="one output, got 2"):
        signs_and_shifts(oracle, atoms, TANH, largest_shift=0.6, step=1e-2)
