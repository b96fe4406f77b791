"""What the output layer may do, and hidden layers that are nothing but that."""

import numpy as np
import pytest

from unweave.activations import ERF, IDENTITY, SIGMOID, TANH, Activation
from unweave.identification.peeling.output_guesses import OutputGuess, as_output_activation, output_guesses
from unweave.identification.peeling.route import LayerPeeling
from unweave.networks.network import Layer, Network
from unweave.networks.planted import deep_network
from unweave.networks.symmetries import rewrite

OUTPUTS = 3
WHOLE_TOL = LayerPeeling.whole_tol
OFFSET, SIZE = np.array([0.1, -0.2, 0.3]), np.array([0.5, 2.0, 0.05])


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.1, 0.9, {IDENTITY, TANH, SIGMOID}),
        (-0.5, 0.9, {IDENTITY, TANH}),
        (0.0, 1.0, {IDENTITY}),
        (-1.0, 0.5, {IDENTITY}),
        (-7.0, 0.5, {IDENTITY}),
    ],
)
def test_the_range_of_the_answers_tells_what_is_possible(low: float, high: float, expected: set[Activation]) -> None:
    answers = np.linspace(low, high, 10)[:, None] * np.ones(OUTPUTS)
    # The ends must come through the units unchanged.
    guesses = output_guesses(answers, np.zeros(OUTPUTS), np.ones(OUTPUTS))
    assert {guess.activation for guess in guesses} == expected


def test_units_are_taken_out_before_the_range_is_judged() -> None:
    answers = np.array([[0.2, 0.3, 0.4], [0.6, 0.7, 0.9]])
    measured = (answers - OFFSET) / SIZE
    assert np.max(np.abs(measured)) > 1
    assert len(output_guesses(measured, OFFSET, SIZE)) == 3


@pytest.mark.parametrize("activation", [TANH, SIGMOID], ids=repr)
def test_undoing_gives_the_arguments(activation: Activation, seed: int) -> None:
    arguments = np.random.default_rng(seed).uniform(-2, 2, (20, OUTPUTS))
    guess = OutputGuess(activation, OFFSET, SIZE)
    measured = (activation(arguments) - OFFSET) / SIZE
    np.testing.assert_allclose(guess.undo(measured), arguments, atol=1e-12)


def test_an_identity_keeps_its_units(seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(5, OUTPUTS))
    np.testing.assert_array_equal(OutputGuess(IDENTITY, OFFSET, SIZE).undo(values), values)


def with_outputs_as_a_layer(seed: int, activation: Activation) -> tuple[Network, Network]:
    """A network with output activation, and the same function with that activation as a hidden layer, in units."""
    rng = np.random.default_rng([seed, 41])
    truth = deep_network(rng, shape=(5, 4, OUTPUTS), output_activation=activation)
    *below, last = truth.layers
    order, signs = rng.permutation(OUTPUTS), np.array([1.0, -1.0, 1.0])
    hidden = Layer(signs[:, None] * last.weights[order], signs * last.biases[order], activation)
    matrix = np.zeros((OUTPUTS, OUTPUTS))
    matrix[order, np.arange(OUTPUTS)] = 1.0
    law = activation.reflection
    flipped = np.array(signs < 0)
    pull = matrix * np.where(flipped, law.sign, 1.0)
    offset = matrix @ np.where(flipped, law.offset, 0.0)
    output = Layer(pull / SIZE[:, None], (offset - OFFSET) / SIZE, IDENTITY)
    return truth, rewrite(Network((*below, hidden, output)))


@pytest.mark.parametrize("activation", [TANH, SIGMOID], ids=repr)
def test_an_output_activation_is_folded(activation: Activation, seed: int) -> None:
    truth, longer = with_outputs_as_a_layer(seed, activation)
    points = np.random.default_rng(seed).normal(size=(30, 5))
    np.testing.assert_allclose(OFFSET + SIZE * longer(points), truth(points), atol=1e-12)
    folded = as_output_activation(longer, OFFSET, SIZE, whole_tol=WHOLE_TOL)
    assert folded is not None
    shorter, found = folded
    assert found == activation
    assert shorter.widths == truth.widths
    np.testing.assert_allclose(shorter.layers[-1].weights, truth.layers[-1].weights, atol=1e-12)
    np.testing.assert_allclose(activation(shorter(points)), truth(points), atol=1e-12)


def changed(network: Network, *, weight: float = 0.0, bias: float = 0.0, hidden: Activation = TANH) -> Network:
    *below, last_hidden, output = network.layers
    weights, biases = output.weights.copy(), output.biases.copy()
    weights[0, np.argmin(np.abs(weights[0]))] += weight
    biases[1] += bias
    return Network((*below, Layer(last_hidden.weights, last_hidden.biases, hidden), Layer(weights, biases, IDENTITY)))


@pytest.mark.parametrize("change", [{"weight": 1e-4}, {"bias": 1e-4}, {"hidden": ERF}])
def test_more_than_an_output_activation_is_refused(change: dict, seed: int) -> None:
    _, longer = with_outputs_as_a_layer(seed, TANH)
    assert as_output_activation(changed(longer), OFFSET, SIZE, whole_tol=WHOLE_TOL) is not None
    assert as_output_activation(changed(longer, **change), OFFSET, SIZE, whole_tol=WHOLE_TOL) is None


def test_other_widths_and_shallow_networks_are_refused(seed: int) -> None:
    rng = np.random.default_rng([seed, 42])
    ones = np.ones(OUTPUTS)
    wider = deep_network(rng, shape=(5, 4, OUTPUTS + 1, OUTPUTS))
    assert as_output_activation(wider, 0 * ones, ones, whole_tol=WHOLE_TOL) is None
    shallow = Network((Layer(rng.normal(size=(3, 5)), ones, TANH), Layer(np.eye(OUTPUTS), 0 * ones, IDENTITY)))
    assert as_output_activation(shallow, 0 * ones, ones, whole_tol=WHOLE_TOL) is None
    doubled = deep_network(rng, shape=(5, 4, OUTPUTS, OUTPUTS))
    *below, output = doubled.layers
    same = Layer(np.tile([1.0, 0.0, 0.0], (OUTPUTS, 1)), output.biases, IDENTITY)
    assert as_output_activation(Network((*below, same)), 0 * ones, ones, whole_tol=WHOLE_TOL) is None
