"""Neurons that others can replace are taken away, and no others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unweave
from unweave.activations import IDENTITY, TANH
from unweave.identification.peeling.thinning import removals
from unweave.identification.peeling.wide_starts import WideStarts
from unweave.networks.network import Layer, Network

INPUTS, POINTS = 4, 200
POWER = WideStarts().smallest_power
KINDS = ["duplicate", "mirrored", "constant", "dead"]


def minimal(rng: np.random.Generator, widths: tuple[int, ...]) -> Network:
    layers, before = [], INPUTS
    for width in widths:
        directions = np.linalg.qr(rng.normal(size=(before, before)))[0][:width]
        layers.append(Layer(1.5 * directions, rng.uniform(-0.5, 0.5, width), TANH))
        before = width
    signs = rng.choice([-1.0, 1.0], (2, before))
    return Network((*layers, Layer(signs * rng.uniform(0.5, 2.0, (2, before)), rng.normal(size=2), IDENTITY)))


def with_extra(network: Network, index: int, kind: str, rng: np.random.Generator) -> Network:
    """The same function with one more neuron in a hidden layer, at a random place."""
    layer, following = network.layers[index : index + 2]
    weights, bias = layer.weights[0], layer.biases[0]
    outgoing, offset = following.weights.copy(), following.biases
    new = rng.normal(size=len(outgoing))
    if kind == "duplicate":
        outgoing[:, 0] -= new
    elif kind == "mirrored":
        weights, bias = -weights, -bias
        outgoing[:, 0] += new
    elif kind == "constant":
        weights = np.zeros_like(weights)
        offset = offset - new * np.tanh(bias)
    else:
        weights, new = rng.normal(size=len(weights)), 0.0 * new
    place = int(rng.integers(layer.neurons + 1))
    layers = list(network.layers)
    layers[index] = Layer(
        np.insert(layer.weights, place, weights, axis=0), np.insert(layer.biases, place, bias), layer.activation
    )
    layers[index + 1] = Layer(np.insert(outgoing, place, new, axis=1), offset, following.activation)
    return Network(tuple(layers))


@given(
    kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=4),
    index=st.sampled_from([0, 1]),
    seed=st.integers(0, 10_000),
)
def test_what_is_too_much_goes_first_and_the_rest_is_needed(kinds: list[str], index: int, seed: int) -> None:
    rng = np.random.default_rng([seed, 51])
    truth = wide = minimal(rng, (3, 3))
    for kind in kinds:
        wide = with_extra(wide, index, kind, rng)
    points = rng.normal(size=(POINTS, INPUTS))
    np.testing.assert_allclose(wide(points), truth(points), atol=1e-10)
    for _ in kinds:
        wide = next(removals(wide, index, points, smallest_power=POWER))
        np.testing.assert_allclose(wide(points), truth(points), atol=1e-7)
    assert wide.widths == truth.widths
    assert unweave.match(wide, truth).largest_error <= 1e-6
    for smaller in removals(wide, index, points, smallest_power=POWER):
        assert np.max(np.abs(smaller(points) - truth(points))) > 1e-3


@pytest.mark.parametrize("index", [0, 1])
def test_every_neuron_is_offered_once(index: int, seed: int) -> None:
    rng = np.random.default_rng([seed, 52])
    network = minimal(rng, (4, 3))
    smaller = list(removals(network, index, rng.normal(size=(POINTS, INPUTS)), smallest_power=POWER))
    assert len(smaller) == network.widths[index]
    left_out = {
        int(np.flatnonzero([not np.any(np.all(row == each.layers[index].weights, axis=1)) for row in rows])[0])
        for each in smaller
        for rows in [network.layers[index].weights]
    }
    assert left_out == set(range(network.widths[index]))


def test_what_is_handed_on_is_the_least_squares_share(seed: int) -> None:
    rng = np.random.default_rng([seed, 53])
    network, points = minimal(rng, (3,)), rng.normal(size=(POINTS, INPUTS))
    values = np.tanh(network.layers[0].preactivations(points))
    for smaller in removals(network, 0, points, smallest_power=POWER):
        kept = np.tanh(smaller.layers[0].preactivations(points))
        design = np.hstack([kept, np.ones((POINTS, 1))])
        best = design @ np.linalg.lstsq(design, network(points), rcond=None)[0]
        np.testing.assert_allclose(smaller(points), best, atol=1e-9)
    assert values.shape == (POINTS, 3)
