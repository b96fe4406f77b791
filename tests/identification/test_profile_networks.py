from dataclasses import replace

import numpy as np
import pytest

from unweave.activations import ERF, GAUSSIAN, GELU, SILU, SIN, SOFTPLUS, TANH, Activation
from unweave.identification.profile_networks import assemble
from unweave.identification.profiles import fit_profiles, neuron_profiles
from unweave.networks.network import Network
from unweave.networks.planted import general_network
from unweave.networks.symmetries import match
from unweave.numerics.finite_differences import HessianSample

INPUTS, NEURONS = 5, 7


def exact_sample(network: Network, points: np.ndarray) -> HessianSample:
    return HessianSample(
        points=points,
        values=network(points),
        gradients=network.gradients(points),
        hessians=network.hessians(points),
        frame=np.eye(points.shape[1]),
        step=1e-3,
    )


def directions_of(network: Network) -> np.ndarray:
    weights = network.layers[0].weights
    return weights / np.linalg.norm(weights, axis=1, keepdims=True)


@pytest.mark.each_value
@pytest.mark.parametrize("activation", [TANH, SOFTPLUS, ERF, GELU, SILU, SIN, GAUSSIAN], ids=str)
@pytest.mark.parametrize("has_skip", [False, True])
def test_the_planted_network_is_put_together(activation: Activation, has_skip: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=INPUTS, neurons=NEURONS, outputs=2, activation=activation)
    if has_skip:
        network = replace(network, skip=rng.normal(size=(2, INPUTS)))
    points = rng.standard_normal((50, INPUTS))
    sample, atoms = exact_sample(network, points), -directions_of(network)
    fit = fit_profiles(neuron_profiles(sample, atoms), activation)
    found = assemble(sample, atoms, fit, outside=np.zeros((2, INPUTS)))
    assert match(found, network).largest_error < 1e-8
    fresh = rng.standard_normal((100, INPUTS))
    np.testing.assert_allclose(found(fresh), network(fresh), atol=1e-7)


def test_along_a_frame_the_slope_outside_is_added(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = np.linalg.qr(rng.normal(size=(INPUTS, 3)))[0]
    inner = general_network(rng, inputs=3, neurons=4)
    hidden, output = inner.layers
    network = Network.shallow(
        hidden.weights @ frame.T,
        hidden.biases,
        output.weights,
        output.biases,
        TANH,
        rng.normal(size=(1, INPUTS)),
    )
    points = rng.standard_normal((40, INPUTS))
    whole = exact_sample(network, points)
    sample = whole.along(frame)
    outside = np.mean(whole.gradients - whole.gradients @ frame @ frame.T, axis=0)
    atoms = directions_of(inner)
    found = assemble(sample, atoms, fit_profiles(neuron_profiles(sample, atoms), TANH), outside=outside)
    assert match(found, network).largest_error < 1e-8
