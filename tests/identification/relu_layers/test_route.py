"""Parallel lines: shallow networks bend them alike, deep ones do not."""

from dataclasses import replace

import numpy as np
import pytest

from unweave.activations import RELU
from unweave.identification.relu_layers.route import share_of_common_bends
from unweave.identification.walks.kinks import KinkedLine, KinkSearch
from unweave.identification.walks.lines import far_line
from unweave.networks.network import Network
from unweave.networks.planted import deep_network, general_network

EPS = float(np.finfo(float).eps)
EXACT = KinkSearch(noise=EPS, rounding=4 * EPS)


def walked(network: Network, seed: int) -> tuple[KinkedLine, KinkedLine]:
    line = far_line(network.inputs, np.random.default_rng([seed, 81]), radius=3.0, outer=1e-3)
    return EXACT(network, line), EXACT(network, replace(line, base=-10 * line.base, unit=10 * line.unit))


@pytest.mark.parametrize("outputs", [1, 3])
def test_a_shallow_network_bends_parallel_lines_alike(outputs: int, seed: int) -> None:
    rng = np.random.default_rng([seed, 82])
    network = general_network(rng, inputs=6, neurons=12, outputs=outputs, activation=RELU)
    assert share_of_common_bends(*walked(network, seed)) >= 0.9


@pytest.mark.parametrize("outputs", [1, 3])
def test_a_deep_network_does_not(outputs: int, seed: int) -> None:
    rng = np.random.default_rng([seed, 83])
    network = deep_network(rng, shape=(8, 7, 7, outputs), activation=RELU, shift_deviation=0.3)
    assert share_of_common_bends(*walked(network, seed)) <= 0.5


def test_missing_bends_count(seed: int) -> None:
    rng = np.random.default_rng([seed, 84])
    network = general_network(rng, inputs=4, neurons=6, activation=RELU)
    one, _ = walked(network, seed)
    fewer = KinkedLine(one.line, one.kinks[:3], one.pieces[:4])
    assert share_of_common_bends(one, one) == 1.0
    assert share_of_common_bends(one, fewer) == share_of_common_bends(fewer, one) == pytest.approx(0.5)


def test_lines_without_bends(seed: int) -> None:
    def affine(points: np.ndarray) -> np.ndarray:
        return points @ np.ones((4, 1))

    line = far_line(4, np.random.default_rng(seed), radius=2.0, outer=1e-2)
    straight = EXACT(affine, line)
    bent, _ = walked(general_network(np.random.default_rng(seed), inputs=4, neurons=3, activation=RELU), seed)
    assert share_of_common_bends(straight, straight) == 1.0
    assert share_of_common_bends(straight, bent) == share_of_common_bends(bent, straight) == 0.0
