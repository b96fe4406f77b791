"""[awasthi, Alg. 5] from samples to a predictor."""

from functools import partial

import numpy as np
import pytest

from unweave.networks.planted import relu_network
from unweave.reproduce.awasthi.measured_noise import noisy_tensors, recover_measured
from unweave.reproduce.awasthi.predictor import TWO_FEATURES, PredictorSettings, consolidated, fit_predictor
from unweave.reproduce.awasthi.risk import population_risk, risk_by_order
from unweave.reproduce.awasthi.tensor_algorithms import RecoveredUnits

INPUTS, NEURONS = 5, 3


def recovered(
    points: np.ndarray, values: np.ndarray, *, is_controlled: bool, rng: np.random.Generator
) -> RecoveredUnits:
    noisy = noisy_tensors(points, values, highest=4, is_controlled=is_controlled)
    return recover_measured(noisy, order=1, most_neurons=2 * NEURONS, rng=rng)


@pytest.mark.parametrize("is_controlled", [True, False])
def test_no_predictor_is_the_zero_function(is_controlled: bool, seed: int) -> None:
    """audit A17: three of six predictors from 20,000 samples were the zero function."""
    nothing = relu_network(np.random.default_rng(0), inputs=INPUTS, neurons=0)
    for number in range(6):
        rng = np.random.default_rng([seed, number])
        truth = relu_network(rng, inputs=INPUTS, neurons=NEURONS)
        points = rng.standard_normal((20_000, INPUTS))
        found = fit_predictor(
            points,
            truth(points),
            recover=partial(recovered, is_controlled=is_controlled, rng=rng),
            settings=PredictorSettings(accuracy=0.02, neurons=NEURONS, bound=2.0, features=TWO_FEATURES),
        )
        assert found.left_out == 0
        assert found.gap < 0.02**2 / 100
        # Plain estimates may show no neuron; the best affine function, orders 0 and 1, is found in any case.
        zero = population_risk(nothing, truth)
        affine = zero - float(np.sum(risk_by_order(truth, nothing, highest=1)))
        assert population_risk(found.network, truth) < 1.05 * affine < zero
        assert not is_controlled or len(found.units.biases) > 0
        assert consolidated(found.network).widths[0] <= len(found.units.biases) + 2
