"""Kinks of the first layer go on in slices, those of later layers do not."""

from dataclasses import replace

import numpy as np

from unweave.activations import RELU
from unweave.identification.probing import Probing
from unweave.identification.relu_layers.crossings import Accuracy
from unweave.identification.relu_layers.first_layer import FirstReluLayerSearch
from unweave.identification.relu_layers.slices import SliceLook
from unweave.identification.session import Session
from unweave.identification.walks.kinks import KinkedLine, KinkSearch
from unweave.identification.walks.lines import far_line
from unweave.networks.network import Layer, Network
from unweave.networks.planted import deep_network
from unweave.oracles.oracle import CallableOracle

EPS = float(np.finfo(float).eps)
EXACT = KinkSearch(noise=EPS, rounding=4 * EPS, step=0.01)


def planted(seed: int, *shape: int) -> Network:
    return deep_network(np.random.default_rng([seed, 151]), shape=shape, activation=RELU, shift_deviation=0.3)


def first_layer_kinks(walked: KinkedLine, first: Layer) -> set[int]:
    """Kinks on the line that lie on a hyperplane of the layer."""
    positions = np.array([kink.position for kink in walked.kinks])
    distances = np.abs(first.preactivations(walked.line.points(positions)))
    return {int(index) for index in np.flatnonzero(np.min(distances, axis=1) < 1e-8 * (1.0 + np.abs(positions)))}


def test_first_layer_kinks_are_let_through_and_later_ones_are_not(seed: int) -> None:
    network, rng = planted(seed, 100, 8, 8, 1), np.random.default_rng([seed, 152])
    walked = EXACT(network, far_line(100, rng, radius=10.0, outer=0.02))
    resolved = [index for index, kink in enumerate(walked.kinks) if kink.is_resolved]
    likely = SliceLook()(network, walked, EXACT, resolved, Accuracy(EPS, 4 * EPS, 1.0), rng=rng)
    expected = first_layer_kinks(walked, network.layers[0])
    assert likely <= expected < set(resolved)
    assert len(likely) >= len(expected) - 1


def test_a_look_costs_no_gradient(seed: int) -> None:
    network, asked = planted(seed, 400, 6, 6, 1), []

    def ask(points: np.ndarray) -> np.ndarray:
        asked.append(len(points))
        return network(points)

    rng = np.random.default_rng([seed, 153])
    walked = EXACT(network, far_line(400, rng, radius=20.0, outer=0.02))
    SliceLook()(ask, walked, EXACT, list(range(len(walked.kinks))), Accuracy(EPS, 4 * EPS, 1.0), rng=rng)
    assert 0 < sum(asked) <= 60 * len(walked.kinks)


def test_layers_are_found_through_slices_with_fewer_queries(seed: int) -> None:
    truth, costs, rows = planted(seed, 300, 6, 12, 1), [], []
    for slices in (SliceLook(), SliceLook(fewest=301)):
        oracle = CallableOracle(truth, inputs=300)
        session = Session(oracle, np.random.default_rng([seed, 154]))
        found = replace(FirstReluLayerSearch(), slices=slices)(session, Probing()(session))
        costs.append(oracle.ledger.sent)
        rows.append(found.neurons)
        assert found.is_complete
        assert found.later_kinks > 0
    assert rows == [6, 6]
    assert costs[0] < costs[1]
