import numpy as np
import pytest

from unweave.activations import ELU, GELU, MISH, NAMED, SELU, TANH, Activation, softplus
from unweave.identification.profiles import ProfileFit, fit_profiles, neuron_profiles
from unweave.networks.network import Network
from unweave.networks.planted import general_network
from unweave.networks.symmetries import match
from unweave.numerics.finite_differences import HessianSample

INPUTS, NEURONS, POINTS = 5, 7, 60
DISTINCT_NAMES = ("tanh", "softplus", "erf", "gelu", "silu", "sin", "gaussian")
SMOOTH = (*(NAMED[name] for name in (*DISTINCT_NAMES, "sigmoid")), softplus(2.0))
# Those that no rewriting turns into one another.
DISTINCT = tuple(NAMED[name] for name in DISTINCT_NAMES)


def planted(
    seed: int, activation: Activation, *, neurons: int = NEURONS, outputs: int = 2, noise: float = 0.0
) -> tuple[Network, HessianSample, np.ndarray]:
    """A network, a sample of its exact derivatives, and its directions with random signs."""
    rng = np.random.default_rng(seed)
    network = general_network(rng, inputs=INPUTS, neurons=neurons, outputs=outputs, activation=activation)
    points = rng.standard_normal((POINTS, INPUTS))
    hessians = network.hessians(points)
    sample = HessianSample(
        points=points,
        values=network(points),
        gradients=network.gradients(points),
        hessians=hessians + noise * rng.standard_normal(hessians.shape),
        frame=np.eye(INPUTS),
        step=1e-3,
    )
    weights = network.layers[0].weights
    signs = rng.choice([-1.0, 1.0], size=(neurons, 1))
    return network, sample, signs * weights / np.linalg.norm(weights, axis=1, keepdims=True)


def assembled(network: Network, atoms: np.ndarray, fit: ProfileFit) -> Network:
    """A network with the fitted neurons, up to its affine part."""
    return Network.shallow(
        weights=fit.scales[:, None] * atoms,
        biases=fit.biases,
        output_weights=fit.curvatures / fit.scales**2,
        offset=network.layers[-1].biases,
        activation=fit.activation,
    )


def neuron_errors(found: Network, truth: Network) -> float:
    errors = match(found, truth).errors
    return max(errors.weights, errors.biases, errors.output_weights)


@pytest.mark.each_value
@pytest.mark.parametrize("activation", SMOOTH, ids=str)
@pytest.mark.parametrize("outputs", [1, 2])
def test_exact_profiles_give_the_neurons_back(activation: Activation, outputs: int, seed: int) -> None:
    network, sample, atoms = planted(seed, activation, outputs=outputs)
    profiles = neuron_profiles(sample, atoms)
    fit = fit_profiles(profiles, activation)
    assert profiles.residual < 1e-13
    assert fit.typical_misfit < 1e-9
    assert np.all(fit.scales > 0)
    assert neuron_errors(assembled(network, atoms, fit), network) < 1e-8


def test_the_error_measure_notices_a_wrong_bias(seed: int) -> None:
    network, sample, atoms = planted(seed, TANH)
    fit = fit_profiles(neuron_profiles(sample, atoms), TANH)
    wrong = ProfileFit(TANH, fit.scales, fit.biases + 1e-3, fit.curvatures, fit.misfits)
    assert neuron_errors(assembled(network, atoms, wrong), network) > 1e-4


@pytest.mark.parametrize("activation", DISTINCT, ids=str)
def test_the_right_activation_has_the_smallest_misfit(activation: Activation, seed: int) -> None:
    _, sample, atoms = planted(seed, activation, neurons=4)
    profiles = neuron_profiles(sample, atoms)
    misfits = {other: fit_profiles(profiles, other).typical_misfit for other in DISTINCT}
    others = [misfit for other, misfit in misfits.items() if other != activation]
    assert misfits[activation] < 1e-4 * min(others)


def test_profiles_are_the_second_derivatives_along_the_neurons(seed: int) -> None:
    network, sample, atoms = planted(seed, GELU)
    profiles = neuron_profiles(sample, atoms)
    hidden, output = network.layers
    scales = np.linalg.norm(hidden.weights, axis=1)
    bends = GELU(sample.points @ hidden.weights.T + hidden.biases, 2) * scales**2
    np.testing.assert_allclose(profiles.coefficients, bends[:, None, :] * output.weights, atol=1e-11)
    np.testing.assert_allclose(profiles.positions, sample.points @ atoms.T, atol=1e-13)


def test_positions_and_atoms_are_along_the_frame(seed: int) -> None:
    # A network that bends along four of the five inputs only, measured along these.
    rng = np.random.default_rng(seed)
    frame = np.linalg.qr(rng.normal(size=(INPUTS, 4)))[0]
    inner = general_network(rng, inputs=4, neurons=6)
    hidden, output = inner.layers
    network = Network.shallow(hidden.weights @ frame.T, hidden.biases, output.weights, output.biases, hidden.activation)
    points = rng.standard_normal((POINTS, INPUTS))
    sample = HessianSample(
        points, network(points), network.gradients(points), network.hessians(points), np.eye(INPUTS), 1e-3
    ).along(frame)
    atoms = hidden.weights / np.linalg.norm(hidden.weights, axis=1, keepdims=True)
    fit = fit_profiles(neuron_profiles(sample, atoms), TANH)
    np.testing.assert_allclose(fit.scales[:, None] * atoms, hidden.weights, atol=1e-8)
    np.testing.assert_allclose(fit.biases, hidden.biases, atol=1e-8)


def test_errors_grow_in_proportion_to_the_noise(seed: int) -> None:
    levels, errors = np.geomspace(1e-7, 1e-4, 4), []
    for noise in levels:
        network, sample, atoms = planted(seed, TANH, noise=noise)
        fit = fit_profiles(neuron_profiles(sample, atoms), TANH)
        errors.append(neuron_errors(assembled(network, atoms, fit), network))
    assert np.polyfit(np.log(levels), np.log(errors), 1)[0] == pytest.approx(1.0, abs=0.15)


def test_some_neurons_can_be_fitted_alone(seed: int) -> None:
    _, sample, atoms = planted(seed, TANH)
    profiles = neuron_profiles(sample, atoms)
    whole, some = fit_profiles(profiles, TANH), fit_profiles(profiles, TANH, neurons=np.array([5, 1]))
    np.testing.assert_allclose(some.scales, whole.scales[[5, 1]], rtol=1e-9)
    np.testing.assert_allclose(some.biases, whole.biases[[5, 1]], atol=1e-9)
    np.testing.assert_allclose(some.curvatures, whole.curvatures[:, [5, 1]], rtol=1e-9)


def test_missing_atoms_leave_a_residual(seed: int) -> None:
    _, sample, atoms = planted(seed, TANH)
    assert neuron_profiles(sample, atoms[1:]).residual > 1e-2


def test_no_neurons_fit_trivially(seed: int) -> None:
    _, sample, _ = planted(seed, TANH)
    fit = fit_profiles(neuron_profiles(sample, np.empty((0, INPUTS))), TANH)
    assert fit.scales.shape == (0,)
    assert fit.typical_misfit == 0.0


def test_the_sign_of_a_direction_is_read_off_mish(seed: int) -> None:
    network, sample, atoms = planted(seed, MISH)
    fit = fit_profiles(neuron_profiles(sample, atoms), MISH)
    np.testing.assert_allclose(fit.scales[:, None] * atoms, network.layers[0].weights, atol=1e-6)
    np.testing.assert_allclose(fit.biases, network.layers[0].biases, atol=1e-6)


@pytest.mark.parametrize("activation", [ELU, SELU], ids=repr)
def test_weights_are_read_off_one_sided_profiles(activation: Activation, seed: int) -> None:
    """Biases only up to the distance of the points beside the jump of the second derivative."""
    network, sample, atoms = planted(seed, activation)
    fit = fit_profiles(neuron_profiles(sample, atoms), activation)
    np.testing.assert_allclose(fit.scales[:, None] * atoms, network.layers[0].weights, atol=1e-3)
    np.testing.assert_allclose(fit.biases, network.layers[0].biases, atol=0.5)
    assert np.median(np.abs(fit.biases - network.layers[0].biases)) < 0.1
    assert np.max(fit.misfits) < 1e-3
