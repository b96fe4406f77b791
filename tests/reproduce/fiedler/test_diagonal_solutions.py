from dataclasses import replace

import numpy as np
import pytest

from unweave.activations import IDENTITY, SIGMOID, SOFTPLUS, TANH, Activation
from unweave.identification.peeling.reparametrised import ReparametrisedNetwork
from unweave.networks.network import Network
from unweave.networks.planted import deep_network
from unweave.networks.symmetries import match
from unweave.reproduce.fiedler.diagonal_solutions import consistency_defect, exact_solution, with_consistent_left

INPUTS = 7
SHAPES = [(5,), (7, 4), (6, 6, 3), (6, 5, 4, 2)]


def planted(seed: int, widths: tuple[int, ...], activation: Activation = TANH, output: Activation = TANH) -> Network:
    rng = np.random.default_rng([seed, *widths])
    return deep_network(rng, shape=(INPUTS, *widths, 4), activation=activation, output_activation=output)


def solved(network: Network, seed: int, point: np.ndarray, *, is_scaled_outside: bool) -> ReparametrisedNetwork:
    """With a random order of the hidden neurons, and random scales and signs."""
    rng = np.random.default_rng([seed, 1])
    orders = tuple(rng.permutation(layer.neurons) for layer in network.layers[:-1])
    scales = tuple(rng.uniform(0.3, 3.0, w.neurons) * rng.choice([-1.0, 1.0], w.neurons) for w in network.layers)
    return exact_solution(
        network,
        point,
        orders=(*orders, np.arange(network.outputs)),
        scales=scales,
        is_scaled_outside=is_scaled_outside,
    )


@pytest.mark.each_value
@pytest.mark.parametrize("is_scaled_outside", [False, True])
@pytest.mark.parametrize("widths", SHAPES, ids=str)
@pytest.mark.parametrize(("activation", "output"), [(TANH, TANH), (TANH, IDENTITY), (SOFTPLUS, SIGMOID)], ids=str)
def test_both_solutions_are_the_network(
    widths: tuple[int, ...], activation: Activation, output: Activation, is_scaled_outside: bool, seed: int
) -> None:
    network = planted(seed, widths, activation, output)
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((50, INPUTS))
    model = solved(network, seed, rng.standard_normal(INPUTS), is_scaled_outside=is_scaled_outside)
    assert np.allclose(model(points), network(points), atol=1e-11)


@pytest.mark.parametrize("is_scaled_outside", [False, True])
def test_ordinary_weights_are_those_of_the_network(is_scaled_outside: bool, seed: int) -> None:
    network = planted(seed, (6, 5, 4), output=IDENTITY)
    model = solved(network, seed, np.zeros(INPUTS), is_scaled_outside=is_scaled_outside)
    assert match(model.network(), network).largest_error < 1e-11


@pytest.mark.parametrize("is_scaled_outside", [False, True])
@pytest.mark.parametrize("widths", SHAPES, ids=str)
def test_left_diagonals_follow_from_the_others(widths: tuple[int, ...], is_scaled_outside: bool, seed: int) -> None:
    point = np.random.default_rng(seed).standard_normal(INPUTS)
    model = solved(planted(seed, widths), seed, point, is_scaled_outside=is_scaled_outside)
    assert consistency_defect(model, point) < 1e-10
    spoiled = replace(model, left=(model.left[0], *(2.0 * left for left in model.left[1:])))
    assert consistency_defect(spoiled, point) == pytest.approx(1.0, abs=1e-9)
    mended = with_consistent_left(spoiled, point)
    assert all(np.allclose(one, other, rtol=1e-9) for one, other in zip(mended.left, model.left, strict=True))


def test_hidden_signs_need_not_be_guessed_for_odd_activations(seed: int) -> None:
    # Any signs of right diagonals do, if shifts turn with them (Proposition 4.4); the output's must be right.
    network = planted(seed, (6, 5))
    model = solved(network, seed, np.zeros(INPUTS), is_scaled_outside=True)
    signs = [np.random.default_rng([seed, layer]).choice([-1.0, 1.0], len(r)) for layer, r in enumerate(model.right)]
    right = tuple(sign * right for sign, right in zip(signs, model.right, strict=True))
    shifts = tuple(sign * shift for sign, shift in zip(signs, model.shifts, strict=True))
    turned = replace(model, right=right, shifts=shifts, outer=(*(1.0 / r for r in right[:-1]), model.outer[-1]))
    points = np.random.default_rng(seed).standard_normal((20, INPUTS))
    assert np.allclose(turned(points), signs[-1] * network(points), atol=1e-11)
