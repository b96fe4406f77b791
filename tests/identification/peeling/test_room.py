"""Hessians above a layer of tanh are asked inside the cube of its values, whatever the noise."""

import numpy as np
import pytest

from unweave.activations import IDENTITY, TANH
from unweave.arrays import Points, Values
from unweave.identification.peeling.output_guesses import OutputGuess
from unweave.identification.peeling.peeled_oracle import PeeledOracle
from unweave.identification.peeling.upper_layers import UpperLayers
from unweave.networks.network import Layer
from unweave.networks.planted import general_network
from unweave.numerics.subspace_power import SubspacePower

NEURONS, OUTPUTS = 5, 3


class Asked:
    """A network that remembers the largest input that it was asked."""

    inputs, outputs = NEURONS, OUTPUTS

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self._network = general_network(rng, inputs=NEURONS, neurons=4, outputs=OUTPUTS)
        self.largest = 0.0

    def query(self, points: Points) -> Values:
        self.largest = max(self.largest, float(np.max(np.abs(points))))
        return np.sin(3.0 * self._network(points))


@pytest.mark.parametrize("noise", [1e-14, 1e-6, 1e-4, 1e-1])
def test_no_point_leaves_the_cube(noise: float, seed: int) -> None:
    """audit B1: the inverse of tanh has no value outside."""
    asked = Asked(seed)
    peeled = PeeledOracle(asked, Layer(np.eye(NEURONS), np.zeros(NEURONS), TANH))
    guesses = (OutputGuess(IDENTITY, np.zeros(OUTPUTS), np.ones(OUTPUTS)),)
    above = UpperLayers(peeled, np.eye(NEURONS), guesses, noise, SubspacePower())
    rng = np.random.default_rng([seed, 1])
    list(above.starts(rng))
    list(above._deep_starts(rng))
    assert 0.0 < asked.largest <= np.arctanh(0.9801)
