import numpy as np
import pytest

from unweave.exceptions import StageFailed
from unweave.networks.planted import deep_network
from unweave.reproduce.fiedler.deep_labels import Architecture
from unweave.reproduce.fiedler.derivative_sources import ExactDerivatives
from unweave.reproduce.fiedler.entangled import entangled_weights, normalised
from unweave.reproduce.fiedler.entangled_metrics import worst_of_truth
from unweave.reproduce.fiedler.entangled_recovery import EntangledSearch, measured_span


def test_directions_are_found_near_zero(seed: int) -> None:
    network = deep_network(np.random.default_rng([seed, 3]), shape=(12, 8, 5, 6), shift_deviation=0.02)
    architecture = Architecture(12, (8, 5), 6, network.activations)
    found, seconds = EntangledSearch()(ExactDerivatives(network), architecture, np.random.default_rng(seed))
    truth = np.concatenate([normalised(rows) for rows in entangled_weights(network, np.zeros(12))[:-1]])
    assert worst_of_truth(found.ends.vectors, truth) < 0.05
    assert set(seconds) == {"span", "power method"}
    assert found.points.shape == (4 * 19, 12)


def test_points_are_as_far_as_asked() -> None:
    architecture = Architecture(
        50, (40, 30), 10, deep_network(np.random.default_rng(0), shape=(2, 2, 2, 2)).activations
    )
    search = EntangledSearch(spread=0.3)
    near = search.points(architecture, np.random.default_rng(1), shrunk=0.5)
    assert np.sqrt(np.mean(np.sum(near**2, axis=1))) == pytest.approx(0.15, rel=0.05)
    # The coupon collector's number with a margin of five.
    assert search.starts(85) == 1889


def test_too_few_hessians_are_a_failure() -> None:
    network = deep_network(np.random.default_rng(0), shape=(5, 4, 3, 1))
    with pytest.raises(StageFailed, match="can't span 7 dimensions"):
        measured_span(ExactDerivatives(network), np.zeros((3, 5)), rank=7)
