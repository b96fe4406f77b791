"""What strangers broke about kinks: those that are close together, far out, or cut off the corner of a box."""

import numpy as np
import pytest

import unweave
from plants import hashed
from unweave import Box, Everywhere, Outcome
from unweave.activations import HARD_SIGMOID, HARD_TANH, LEAKY_RELU, RELU, TANH, Activation
from unweave.networks.network import Network


def vertices(inputs: int) -> np.ndarray:
    return 2.0 * ((np.arange(2**inputs)[:, None] >> np.arange(inputs)) & 1) - 1.0


def farthest_kink(network: Network, truth: Network) -> float:
    """Distance of the neuron that is farthest from all that were planted, relative to its length."""
    rows = [np.column_stack([each.layers[0].weights, each.layers[0].biases]) for each in (network, truth)]
    found, planted = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in rows)
    apart = [np.linalg.norm(found[:, None] - sign * planted, axis=2) for sign in (1.0, -1.0)]
    return float(np.max(np.min(np.minimum(*apart), axis=1)))


class TestKinksCloseTogether:
    @pytest.mark.parametrize("domain", [Everywhere(), Box(-1, 1)], ids=["everywhere", "box"])
    def test_two_kinks_in_one_slab_are_not_called_one(self, domain: Everywhere | Box) -> None:
        """Between them, in a millionth of the domain, one neuron with both weights is wrong; elsewhere it is right."""
        rng = np.random.default_rng(4)
        weights, biases = rng.standard_normal((3, 4)), 0.3 * rng.standard_normal(3)
        weights[1], biases[1] = weights[0] + 1e-6 * rng.standard_normal(4), biases[0] + 1e-6
        truth = Network.shallow(weights, biases, np.array([[1.0, 1.0, -0.7]]), np.zeros(1), RELU)
        found = unweave.identify(truth, domain=domain)
        assert found.outcome is not Outcome.IDENTIFIED or found.network.widths == (3,)

    # One of every activation.
    @pytest.mark.parametrize(
        "seed", [19, 114, 173, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (6, 70, 238))]
    )
    def test_the_radius_holds_for_one_in_the_place_of_two(self, seed: int) -> None:
        """Behind noise two kinks may be taken for one, which may be farther from both than they are from each other."""
        rng = np.random.default_rng(seed)
        inputs, angle = int(rng.integers(2, 10)), 10.0 ** rng.uniform(-7, -4)
        weights = rng.standard_normal((3, inputs))
        biases = 0.5 * rng.standard_normal(3)
        weights /= np.sqrt(inputs)
        weights[1] = weights[0] + angle * rng.standard_normal(inputs)
        biases[1] = biases[0] + angle * rng.standard_normal()
        outgoing = rng.standard_normal((2, 3))
        outgoing[:, 1] = rng.uniform(-1.5, 1.5) * outgoing[:, 0]
        noise = 10.0 ** rng.uniform(-10, -6)
        truth = Network.shallow(weights, biases, outgoing, np.zeros(2), (RELU, LEAKY_RELU, HARD_TANH)[seed % 3])
        found = unweave.identify(
            lambda points: truth(points) + noise * hashed(points)[:, None], inputs=inputs, domain=Box(-1, 1), seed=seed
        )
        assert (
            found.outcome is not Outcome.IDENTIFIED or farthest_kink(found.network, truth) <= found.certificate.radius
        )

    @pytest.mark.each_value
    @pytest.mark.parametrize("number", [5, 16, 17, 24])
    @pytest.mark.parametrize("domain", [Everywhere(), Box(-1, 1)], ids=["everywhere", "box"])
    def test_behind_noise_neither_if_their_signs_differ(self, domain: Everywhere | Box, number: int) -> None:
        """One kink in the place of two lies beside both of them then, where it is right."""
        rng = np.random.default_rng(number)
        inputs, neurons, angle = int(rng.integers(3, 9)), int(rng.integers(3, 9)), 10.0 ** rng.uniform(-6, -2)
        weights, biases = rng.standard_normal((neurons, inputs)), 0.5 * rng.standard_normal(neurons)
        weights[1] = weights[0] + angle * rng.standard_normal(inputs)
        biases[1] = biases[0] + angle * rng.standard_normal()
        truth = Network.shallow(weights, biases, rng.standard_normal((1, neurons)), np.zeros(1), RELU)
        noise, source = 10.0 ** rng.uniform(-12, -7), np.random.default_rng(number)
        found = unweave.identify(
            lambda points: truth(points) + noise * source.standard_normal((len(points), 1)),
            inputs=inputs,
            domain=domain,
            seed=number,
        )
        assert found.outcome is not Outcome.IDENTIFIED or found.network.widths == (neurons,)


class TestKinksFarOut:
    def test_neurons_that_are_straight_near_the_centre_are_found(self) -> None:
        """A hard sigmoid bends where its argument is 3 or -3: far from most points that are asked first."""
        rng = np.random.default_rng(4)
        truth = Network.shallow(
            rng.standard_normal((4, 8)) / np.sqrt(8),
            0.3 * rng.standard_normal(4),
            rng.standard_normal((1, 4)),
            np.zeros(1),
            HARD_SIGMOID,
        )
        found = unweave.identify(truth)
        assert found.is_identified
        assert found.network is not None
        assert found.network.widths == (4,)

    @pytest.mark.parametrize("distance", [200.0, 5_000.0])
    def test_a_neuron_far_outside_of_the_domain_is_not_forgotten(self, distance: float) -> None:
        rng = np.random.default_rng(5)
        weights, biases = rng.standard_normal((4, 5)), rng.standard_normal(4)
        weights /= np.linalg.norm(weights, axis=1, keepdims=True)
        biases[3] = -distance
        truth = Network.shallow(weights, biases, np.array([[1.0, -1.0, 1.0, 1.0]]), np.zeros(1), RELU)
        found = unweave.identify(truth)
        assert found.outcome is Outcome.PARTLY_IDENTIFIED
        assert "as far from the centre as the domain reaches" in found.reason

    def test_a_model_that_answers_near_the_centre_only_is_tried_there(self) -> None:
        rng = np.random.default_rng(6)
        truth = Network.shallow(
            rng.standard_normal((3, 4)), rng.standard_normal(3), rng.standard_normal((1, 3)), np.zeros(1), TANH
        )

        def model(points: np.ndarray) -> np.ndarray:
            if np.max(np.abs(points)) > 1_000.0:
                raise ValueError("too far away")
            return truth(points)

        found = unweave.identify(model, inputs=4)
        assert found.is_identified
        assert "farther out than 300 times the reach of the domain" in found.reason


class TestBoxes:
    def test_a_kink_that_cuts_off_a_corner_is_found(self) -> None:
        """audit A1: one neuron that bends in a corner only was read as an affine function."""

        def model(x: np.ndarray) -> np.ndarray:
            return x[:, :1] + 10 * np.maximum(x.sum(axis=1, keepdims=True) - 2.6, 0.0)

        found = unweave.identify(model, inputs=3, domain=Box(0, 1))
        assert found.is_identified
        assert found.network is not None
        corners = 0.5 * (1.0 + vertices(3))
        np.testing.assert_allclose(found.network(corners), model(corners), atol=1e-9)

    def test_all_neurons_in_a_box_are_found(self) -> None:
        """audit A1: 3 of 6 neurons were called all of them."""
        rng = np.random.default_rng([77, 2, 6, 13])
        truth = Network.shallow(
            rng.standard_normal((6, 2)), rng.standard_normal(6), rng.standard_normal((1, 6)), np.zeros(1), RELU
        )
        found = unweave.identify(truth, domain=Box(-1, 1), seed=13)
        assert found.is_identified
        assert found.network is not None
        points = np.concatenate([rng.uniform(-1, 1, (20_000, 2)), vertices(2)])
        np.testing.assert_allclose(found.network(points), truth(points), atol=1e-9)

    @pytest.mark.each_value
    @pytest.mark.parametrize("activation", [RELU, LEAKY_RELU], ids=str)
    @pytest.mark.parametrize("number", range(6))
    def test_ordinary_networks_in_a_box_are_right_at_every_vertex(self, activation: Activation, number: int) -> None:
        """audit A1: 8 % to 18 % of ordinary networks were wrong."""
        rng = np.random.default_rng([1, number])
        inputs, neurons = int(rng.integers(2, 8)), int(rng.integers(1, 13))
        truth = Network.shallow(
            rng.standard_normal((neurons, inputs)) / np.sqrt(inputs),
            rng.uniform(0.3, 2.0) * rng.standard_normal(neurons),
            rng.standard_normal((1, neurons)),
            np.zeros(1),
            activation,
        )
        found = unweave.identify(truth, domain=Box(-1, 1), seed=number)
        assert found.is_identified, found.reason
        assert found.network is not None
        assert found.certificate is not None
        points = np.concatenate([rng.uniform(-1, 1, (20_000, inputs)), vertices(inputs)])
        np.testing.assert_allclose(found.network(points), truth(points), atol=1e-8)
        assert found.certificate.fresh_queries >= 299
        assert found.certificate.trials >= 2**inputs
