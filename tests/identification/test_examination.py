"""What errors of fitted answers allow elsewhere."""

import numpy as np
import pytest

from plants import shallow_and_points
from unweave.activations import RELU, TANH, Activation
from unweave.identification.examination import leverages
from unweave.numerics.network_fit import LevenbergMarquardt


@pytest.mark.parametrize("activation", [TANH, RELU])
def test_leverages_are_the_spread_of_refitted_values(activation: Activation) -> None:
    """Compared with values of many networks, each refitted to answers with noise of its own."""
    rng = np.random.default_rng(3)
    truth, points, fresh = shallow_and_points(3, inputs=5, neurons=6, activation=activation, per_parameter=4, fresh=200)
    noise, elsewhere = 1e-7, 2.0 * fresh[:20]
    answers = (truth(points) + noise * rng.standard_normal((len(points), truth.outputs)) for _ in range(100))
    refitted = [LevenbergMarquardt()(truth, points, values, floor=noise).network for values in answers]
    spread = np.sqrt(np.mean([(each(elsewhere) - truth(elsewhere)) ** 2 for each in refitted], axis=0))
    expected = leverages(truth, points, elsewhere)
    assert expected is not None
    np.testing.assert_allclose(spread.max(axis=1) / noise, expected, rtol=0.4)
