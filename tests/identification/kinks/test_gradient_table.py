"""Networks solved from gradients in roomy cells, against planted ones."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.plants import in_own_units
from unweave.activations import RELU, Activation, leaky_relu
from unweave.exceptions import StageFailed
from unweave.identification.kinks.gradient_table import Gradients, GradientTable
from unweave.networks.network import Network
from unweave.networks.symmetries import match

INPUTS, NEURONS = 12, 9
ROUNDING = 1e-14


def planted(
    seed: int, *, outputs: int = 1, activation: Activation = RELU, has_skip: bool = False, neurons: int = NEURONS
) -> Network:
    rng = np.random.default_rng([seed, 31])
    return Network.shallow(
        rng.standard_normal((neurons, INPUTS)) / np.sqrt(INPUTS),
        0.5 * rng.standard_normal(neurons),
        rng.standard_normal((outputs, neurons)),
        rng.standard_normal(outputs),
        activation,
        skip=rng.standard_normal((outputs, INPUTS)) if has_skip else None,
    )


def rough(truth: Network, seed: int, size: float = 1e-4) -> Network:
    """The planted network with errors, as a walk leaves it."""
    rng, hidden = np.random.default_rng([seed, 32]), truth.layers[0]
    weights = hidden.weights + size * rng.standard_normal(hidden.weights.shape)
    moved = replace(hidden, weights=weights, biases=hidden.biases + size * rng.standard_normal(hidden.neurons))
    return replace(truth, layers=(moved, truth.layers[1]))


def measured(truth: Network, start: Network, seed: int, error: float = 0.0) -> Gradients:
    rng = np.random.default_rng([seed, 33])

    def answer(points: np.ndarray) -> np.ndarray:
        return truth(points) + error * rng.choice([-1.0, 1.0], (len(points), truth.outputs))

    def errors_at(points: np.ndarray, values: np.ndarray) -> np.ndarray:
        # Rounding of terms, which are larger than values, far from the centre.
        rounding = ROUNDING * np.sqrt(1.0 + np.sum(points**2, axis=1))
        return np.maximum(rounding, max(error, ROUNDING) * np.ones(len(values)))

    oracle = in_own_units(answer, inputs=INPUTS, outputs=truth.outputs)
    return GradientTable()(oracle, start, errors_at, np.random.default_rng([seed, 34]))


@pytest.mark.parametrize("has_skip", [False, True], ids=["", "skip"])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("activation", [RELU, leaky_relu(0.1)], ids=str)
def test_a_rough_network_is_made_exact(activation: Activation, outputs: int, has_skip: bool, seed: int) -> None:
    truth = planted(seed, outputs=outputs, activation=activation, has_skip=has_skip)
    start = rough(truth, seed)
    fit = measured(truth, start, seed).solve(start)
    assert fit.residual <= 1.0
    assert fit.claim.is_made
    found = match(replace(fit.network, skip=None), replace(truth, skip=None)).largest_error
    assert found < min(1e-11, fit.claim.radius)
    if truth.skip is not None and fit.network.skip is not None:
        np.testing.assert_allclose(fit.network.skip, truth.skip, atol=1e-12)


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("error", [1e-12, 1e-8])
def test_no_errors_of_answers_within_the_bound_lead_out_of_the_radius(error: float, outputs: int, seed: int) -> None:
    truth = planted(seed, outputs=outputs)
    start = rough(truth, seed)
    fit = measured(truth, start, seed, error).solve(start)
    true_error = match(fit.network, truth).largest_error
    assert error < true_error < fit.claim.radius
    # A bound that is far from sharp says nothing.
    assert fit.claim.radius < 3e3 * true_error


def test_steps_that_have_crossed_a_kink_are_noticed_and_left_out(seed: int) -> None:
    truth = planted(seed)
    start = rough(truth, seed)
    gradients = measured(truth, start, seed)
    # In two cells one step goes a little over the next kink, as it does where a kink is not where it seems to be.
    steps, crossing = gradients.steps.copy(), gradients.gradients.copy()
    steps[:2, 0] *= 1.002 / GradientTable().share_of_room
    points = gradients.points[:2] + steps[:2, :1] * np.eye(INPUTS)[0]
    crossing[:2, :, 0] = (truth(points) - gradients.values[:2]) / steps[:2, :1]
    wrong = replace(gradients, steps=steps, gradients=crossing)
    assert wrong.solve(start).residual > 1e6
    kept, fit = wrong.settled(start)
    assert len(kept.points) < len(gradients.points)
    assert fit.residual <= 1.0
    assert match(fit.network, truth).largest_error < 1e-11


def test_neurons_that_no_cell_tells_apart_are_refused() -> None:
    truth = planted(0)
    hidden = truth.layers[0]
    weights, biases = hidden.weights.copy(), hidden.biases.copy()
    weights[1], biases[1] = weights[0], biases[0]
    twins = replace(truth, layers=(replace(hidden, weights=weights, biases=biases), truth.layers[1]))
    with pytest.raises(StageFailed, match="tell all neurons apart"):
        measured(twins, twins, 0)
