import numpy as np
import pytest

from unweave.activations import SIGMOID, TANH, Activation
from unweave.arrays import pack_squares
from unweave.networks.planted import unit_network
from unweave.reproduce.experiment import Cell
from unweave.reproduce.fiedler.learnability import learnability_bounds, measure


@pytest.mark.parametrize(("activation", "neurons"), [(TANH, 4), (TANH, 7), (SIGMOID, 5)], ids=str)
def test_alpha_is_that_of_the_second_moment(activation: Activation, neurons: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = unit_network(rng, inputs=5, neurons=neurons, activation=activation)
    hidden = network.layers[0]
    found = learnability_bounds(hidden.weights, hidden.biases, activation)
    points = rng.standard_normal((200_000, 5))
    slopes = activation(points @ hidden.weights.T + hidden.biases, 2)
    squares = pack_squares(hidden.weights).T
    moment = squares @ (slopes.T @ slopes / len(points)) @ squares.T
    assert np.linalg.eigvalsh(moment)[-neurons] == pytest.approx(found.alpha, rel=0.1)
    assert found.explicit <= found.product <= found.alpha


def test_orthonormal_weights_leave_nothing_to_chance() -> None:
    found = learnability_bounds(np.eye(3), np.zeros(3), TANH)
    # The Gramian is the identity, and cosines are zero: the diagonal of E_2 beside the common mean, which vanishes.
    second = TANH.hermite_coefficients(60, scale=1.0, bias=0.0, order=2)
    assert found.product == pytest.approx(found.alpha) == pytest.approx(np.sum(second**2))
    assert found.explicit == pytest.approx(np.sum(second[4:] ** 2))


def test_the_error_of_the_span_is_below_its_bound(seed: int) -> None:
    numbers = measure(Cell({"inputs": 6, "neurons": 5}, seed))
    assert 0 < float(numbers["error"]) <= float(numbers["bound"]) < 0.1
