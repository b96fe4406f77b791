"""Whether models have more digits than their answers."""

import numpy as np
import pytest

from unweave.activations import TANH
from unweave.exceptions import StageFailed
from unweave.identification.crossings.digits import DigitsLook
from unweave.identification.crossings.search import CrossingSearch, RoundedAnswers
from unweave.networks.network import Network
from unweave.oracles.ledger import FLOAT32, to_float32
from unweave.oracles.oracle import CallableOracle
from unweave.oracles.views import StandardOracle

SEEDS = range(5)


def secret(seed: int) -> Network:
    rng = np.random.default_rng(seed)
    tables = rng.standard_normal((3, 4)), rng.standard_normal(3), rng.standard_normal((1, 3)), rng.standard_normal(1)
    return Network.shallow(*map(to_float32, tables), TANH)


def in_float32(network: Network, points: np.ndarray) -> np.ndarray:
    hidden, output = network.layers
    tables = [each.astype(np.float32) for each in (hidden.weights, hidden.biases, output.weights, output.biases)]
    return np.tanh(points.astype(np.float32) @ tables[0].T + tables[1]) @ tables[2].T + tables[3]


def look(network: Network, *, is_single: bool, guess: Network | None = None) -> None:
    """Locate ten places as the stage does, and look around them."""

    def model(points: np.ndarray) -> np.ndarray:
        return in_float32(network, points) if is_single else network(points).astype(np.float32)

    oracle = StandardOracle(CallableOracle(model, inputs=4), np.zeros(4), np.ones(4), np.zeros(1), np.ones(1))
    answers, guess = RoundedAnswers(oracle, FLOAT32), guess or network
    points = np.random.default_rng(9).standard_normal((10, 4))
    lines = CrossingSearch().lines(guess, answers, points)
    crossings = CrossingSearch()(answers, lines, error=1e-6, tol=1e-11)
    assert len(crossings.distances) >= 5
    DigitsLook()(guess, answers, crossings)


@pytest.mark.parametrize("number", SEEDS)
def test_a_network_whose_answers_alone_are_rounded_has_more(number: int) -> None:
    look(secret(number), is_single=False)


@pytest.mark.parametrize("number", SEEDS)
def test_a_guess_that_is_wrong_in_the_seventh_digit_does_not_matter(number: int) -> None:
    network = secret(number)
    hidden, output = network.layers
    guess = Network.shallow(1.0000003 * hidden.weights, hidden.biases, output.weights, output.biases, TANH)
    look(network, is_single=False, guess=guess)


@pytest.mark.parametrize("number", SEEDS)
def test_a_network_that_computes_in_float32_has_none(number: int) -> None:
    with pytest.raises(StageFailed, match="the model has no more digits"):
        look(secret(number), is_single=True)
