"""Claims that rest on places where rounded answers switch hold where there are few such places, or none."""

import numpy as np
import pytest

import unweave
from unweave import Box, Network, Outcome
from unweave.activations import activation_named


def kinked(weights: np.ndarray, biases: list[float], outer: list[float]) -> Network:
    return Network.shallow(weights, np.array(biases), np.array([outer]), np.array([0.2]), activation_named("relu"))


def distances(found: Network, truth: Network) -> np.ndarray:
    """How far each kink of a network is from the nearest one of another, relative to the weights of its neuron."""
    rows = [np.column_stack([each.layers[0].weights, each.layers[0].biases]) for each in (found, truth)]
    ours, theirs = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in rows)
    return np.min([np.linalg.norm(ours[:, None] - sign * theirs, axis=2) for sign in (1.0, -1.0)], axis=(0, 2))


class TestKinksThatRoundingHides:
    """One kink in the place of two close together: no switch of the answers lies between them."""

    @pytest.mark.parametrize("gap", [1e-3, 1e-2])
    def test_along_one_input(self, gap: float) -> None:
        """No line runs along the kink, and one of two kinks 0.01 apart was claimed to be exact to 5e-10."""
        truth = kinked(np.array([[1.0], [1.0], [-1.0]]), [-0.1, -0.1 - gap, 0.3], [1.0, 1.0, 0.7])
        found = unweave.identify(lambda x: np.round(truth(x), 2), inputs=1, domain=Box(-1.0, 1.0), seed=1)
        assert found.network is not None, found.reason
        assert found.certificate is not None
        assert np.max(distances(found.network, truth)) <= found.certificate.radius

    @pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3, 4))])
    @pytest.mark.parametrize(("gap", "second"), [(5e-6, 1.3), (1e-4, -0.4), (3e-8, -0.4)])
    def test_between_several_inputs(self, gap: float, second: float, seed: int) -> None:
        """Where the function is flat along a kink, or the kinks are both on one side of that in their place."""
        rng = np.random.default_rng([seed, 22])
        row, turn = rng.standard_normal(3) / np.sqrt(3.0), gap * rng.standard_normal(3)
        weights = np.stack([row, row + turn, rng.standard_normal(3)])
        truth = kinked(weights, [0.1, 0.1 - gap, -0.2], [0.9, second, 0.8])
        found = unweave.identify(lambda x: np.round(truth(x), 2), inputs=3, domain=Box(-1.0, 1.0), seed=seed)
        if found.is_identified:
            assert found.network is not None
            assert found.certificate is not None
            assert np.max(distances(found.network, truth)) <= found.certificate.radius


def test_a_model_that_fails_far_out_is_identified() -> None:
    """Places are drawn farther out than the domain reaches, where the model need not answer."""
    rng = np.random.default_rng(3)
    truth = Network.shallow(
        0.3 * rng.standard_normal((2, 3)) / np.sqrt(3.0),
        0.3 * rng.standard_normal(2),
        rng.uniform(0.5, 2.0, (1, 2)),
        rng.standard_normal(1),
        activation_named("tanh"),
    )

    def model(points: np.ndarray) -> np.ndarray:
        if np.any(np.abs(points) > 8.0):
            raise ValueError("inputs must be within 8")
        return np.round(truth(points), 4)

    found = unweave.identify(model, inputs=3, seed=1)
    assert found.is_identified, found.reason
    assert found.network is not None
    assert found.certificate is not None
    assert found.certificate.crossings >= 20
    assert unweave.match(found.network, truth).largest_error <= found.certificate.radius


def test_a_network_that_the_switches_contradict_is_right_nowhere() -> None:
    """Decimals that were rounded in float32 switch at other places: "right on 82.9 %" was claimed, with 0 misses."""
    rng = np.random.default_rng(1)
    truth = Network.shallow(
        rng.standard_normal((1, 4)) / 2.0,
        0.3 * rng.standard_normal(1),
        np.array([[1.3]]),
        np.array([0.4]),
        activation_named("tanh"),
    )

    def model(points: np.ndarray) -> np.ndarray:
        return np.round(truth(points).astype(np.float32), 4).astype(np.float64)

    found = unweave.identify(model, inputs=4, domain=Box(-1.0, 1.0), seed=1)
    assert "misses 0 of" not in found.reason
    if found.outcome is Outcome.NOT_IDENTIFIED:
        assert "do not switch from one number to the next where it says so" in found.reason


def test_a_network_that_meets_the_answers_is_not_said_to_miss_them() -> None:
    """Where a ReLU is off nothing switches, so that its kink is not told: that is the reason, and no other."""
    truth = kinked(np.array([[0.5, -0.4, 0.3]]), [0.2], [1.3])
    found = unweave.identify(lambda x: np.round(100.0 * truth(x), 1), inputs=3, seed=1)
    assert "no network of the known kinds explains the answers" not in found.reason
    if found.outcome is Outcome.NOT_IDENTIFIED:
        assert "do not tell all of its parameters" in found.reason


def test_a_staircase_of_rounding_is_no_layer_of_steps() -> None:
    """Decimals that are moved by a third are on no known grid: "2 rows of step, thresholds to about 4e-16" was said."""
    truth = kinked(np.array([[0.6, -0.5, 0.2], [0.3, 0.7, -0.4]]), [-0.3, -0.2], [0.9, -1.1])
    found = unweave.identify(lambda x: np.round(truth(x) - 0.2, 4) + 1.0 / 3.0, inputs=3, seed=3)
    assert found.first_layer is None, found.reason


class TestDecimalsInFloat32:
    """What `np.round` makes of the answers of most deployed models."""

    @pytest.mark.each_value
    @pytest.mark.parametrize("domain", [None, Box(-1.0, 1.0)])
    @pytest.mark.parametrize("activation", ["tanh", "relu"])
    def test_networks_are_identified(self, activation: str, domain: Box | None, seed: int) -> None:
        rng = np.random.default_rng([seed, 23])
        truth = Network.shallow(
            rng.standard_normal((3, 5)) / np.sqrt(5.0),
            0.3 * rng.standard_normal(3),
            rng.uniform(0.5, 1.5, (1, 3)),
            rng.standard_normal(1),
            activation_named(activation),
        )
        found = unweave.identify(lambda x: np.round(truth(x).astype(np.float32), 4), inputs=5, domain=domain, seed=seed)
        assert found.is_identified, found.reason
        assert found.network is not None
        assert found.certificate is not None
        assert "4 decimals in float32" in found.reason + " ".join(found.notes)
        assert unweave.match(found.network, truth).largest_error <= min(found.certificate.radius, 1e-7)

    def test_a_threshold_is_not_known_beyond_the_decimals(self) -> None:
        """The first switch behind a ReLU that is off was claimed as its threshold to 5e-7, and was 3e-6 off."""
        weights = np.array([-0.78, -0.37, -0.002, -0.5])

        def model(points: np.ndarray) -> np.ndarray:
            values = 1.118 - 1.3148 * np.maximum(points @ weights - 0.1607, 0.0)
            return np.round(values.astype(np.float32), 5).astype(np.float64)

        found = unweave.identify(model, inputs=4, seed=1)
        assert found.first_layer is None, found.reason
        assert "5 decimals in float32" in found.reason + " ".join(found.notes)
