"""Which answers would tell most about a network."""

import numpy as np

from unweave.activations import RELU
from unweave.identification.telling_points import leverages, most_telling
from unweave.networks.network import Network
from unweave.networks.planted import deep_network


def nearly_parallel() -> Network:
    """Two neurons in four inputs whose kinks are near each other, and a third one."""
    weights = np.array([[1.0, 0.5, -0.5, 0.2], [1.0, 0.5, -0.5, 0.3], [0.1, -1.0, 0.3, 0.4]])
    return Network.shallow(weights, np.array([-0.4, -0.4, 0.2]), np.array([[5.0, -4.0, 1.0]]), np.zeros(1), RELU)


def test_between_two_kinks_that_few_answers_tell_apart(seed: int) -> None:
    network, rng = nearly_parallel(), np.random.default_rng(seed)
    hidden = network.layers[0]

    def is_between(points: np.ndarray) -> np.ndarray:
        return np.logical_xor(*(hidden.preactivations(points)[:, :2] > 0.0).T)

    points, candidates = rng.uniform(-1.0, 1.0, (300, 4)), rng.uniform(-1.0, 1.0, (2_000, 4))
    points = points[~is_between(points)]
    chosen = most_telling(network, points, candidates, 20)
    assert np.mean(is_between(candidates)) < 0.1
    assert np.all(is_between(chosen))
    least = leverages(network, points, chosen)
    others = leverages(network, points, candidates)
    assert least is not None
    assert others is not None
    assert np.min(least) >= np.sort(others)[-20]


def test_neurons_that_no_fitted_answer_shows_are_asked_first(seed: int) -> None:
    """A triangle with exact zeros ended a run (campaign, uneven weights, 57539559)."""
    network, rng = nearly_parallel(), np.random.default_rng(seed)
    points, elsewhere = rng.uniform(-1.0, 1.0, (400, 4)), rng.uniform(-1.0, 1.0, (300, 4))
    is_active = [network.layers[0].preactivations(each)[:, 2] > 0.0 for each in (points, elsewhere)]
    spread = leverages(network, points[~is_active[0]], elsewhere)
    assert spread is not None
    assert np.all(np.isinf(spread[is_active[1]]))
    assert np.all(np.isfinite(spread[~is_active[1]]))


def test_none_are_chosen_for_deep_networks_and_for_too_few_answers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    deep = deep_network(rng, shape=(4, 4, 3, 1))
    candidates = rng.standard_normal((50, 4))
    assert most_telling(deep, rng.standard_normal((100, 4)), candidates, 5).shape == (0, 4)
    assert most_telling(nearly_parallel(), rng.standard_normal((3, 4)), candidates, 5).shape == (0, 4)
