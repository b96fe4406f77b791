from dataclasses import replace

import numpy as np
import pytest

from unweave.activations import ERF, GAUSSIAN, GELU, SILU, SIN, SOFTPLUS, TANH, Activation, softplus
from unweave.assembly.profiles import fit_profiles, neuron_profiles
from unweave.assembly.shallow import absorb_skip, assemble
from unweave.measurements.derivatives import HessianSample
from unweave.networks import Network
from unweave.planted import general_network
from unweave.symmetries import match, reflect

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


def reflected_at_random(network: Network, rng: np.random.Generator) -> Network:
    return reflect(network, 0, rng.random(network.widths[0]) < 0.5)


@pytest.mark.parametrize("activation", [SOFTPLUS, softplus(3.0), GELU, SILU], ids=str)
@pytest.mark.parametrize(("inputs", "neurons", "outputs"), [(6, 1, 1), (6, 6, 1), (8, 16, 1), (5, 18, 2)])
def test_reflections_are_found_that_absorb_the_affine_part(
    activation: Activation, inputs: int, neurons: int, outputs: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=inputs, neurons=neurons, outputs=outputs, activation=activation)
    reflected = reflected_at_random(network, rng)
    found = absorb_skip(reflected, relative_tol=1e-8)
    assert found.skip is None
    points = rng.standard_normal((50, inputs))
    np.testing.assert_allclose(found(points), network(points), atol=1e-10)
    # The same neurons, with the same signs and in the same order.
    np.testing.assert_allclose(found.layers[0].weights, network.layers[0].weights, atol=1e-12)
    np.testing.assert_allclose(found.layers[0].biases, network.layers[0].biases, atol=1e-12)


def test_flips_are_found_in_spite_of_small_errors(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=10, neurons=15, activation=SOFTPLUS)
    reflected = reflect(network, 0, np.arange(15) % 2 == 0)
    assert reflected.skip is not None
    disturbed = replace(reflected, skip=reflected.skip + 1e-7 * rng.normal(size=reflected.skip.shape))
    found = absorb_skip(disturbed, relative_tol=1e-4)
    assert found.skip is None
    np.testing.assert_allclose(found.layers[0].weights, network.layers[0].weights, atol=1e-12)


@pytest.mark.parametrize("neurons", [4, 9])
def test_a_genuine_affine_part_stays(neurons: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=6, neurons=neurons, activation=SOFTPLUS)
    genuine = reflected_at_random(replace(network, skip=rng.normal(size=(1, 6))), rng)
    assert absorb_skip(genuine, relative_tol=1e-6) is genuine


@pytest.mark.parametrize("activation", [TANH, SIN, GAUSSIAN], ids=str)
def test_activations_without_an_affine_reflection_keep_theirs(activation: Activation, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=4, neurons=3, activation=activation)
    sloped = replace(network, skip=rng.normal(size=(1, 4)))
    assert absorb_skip(sloped, relative_tol=1e-6) is sloped
    assert absorb_skip(network, relative_tol=1e-6) is network


def test_a_network_without_neurons_keeps_its_affine_part() -> None:
    skip = np.array([[2.0, -1.0]])
    affine = Network.shallow(np.zeros((0, 2)), np.zeros(0), np.zeros((1, 0)), np.zeros(1), SOFTPLUS, skip)
    assert absorb_skip(affine, relative_tol=1e-6) is affine
