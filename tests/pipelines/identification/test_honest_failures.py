"""What is no shallow network, or not determined, ends honestly; wrong use asks nothing."""

import numpy as np
import pytest

import unweave
from assertions import assert_answers_alike, assert_recovered
from plants import Counted
from unweave.activations import (
    IDENTITY,
    TANH,
)
from unweave.exceptions import InvalidInput, NotIdentified
from unweave.networks.network import Layer, Network
from unweave.networks.planted import general_network


def assert_are_among(weights: np.ndarray, truth: np.ndarray, *, atol: float = 1e-4) -> None:
    """Every row has the direction of a different row of the truth, up to sign."""
    rows, truth = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (weights, truth))
    cosines = np.abs(rows @ truth.T)
    assert np.all(np.max(cosines, axis=1) > 1 - atol**2)
    assert len(set(np.argmax(cosines, axis=1))) == len(rows)


def test_assertion_on_directions_can_fail(seed: int) -> None:
    truth = np.random.default_rng(seed).standard_normal((3, 5))
    assert_are_among(-2 * truth[[2, 0]], truth)
    for wrong in (truth + 1e-2 * np.eye(5)[0], truth[[0, 0]]):
        with pytest.raises(AssertionError):
            assert_are_among(wrong, truth)


class TestHonestFailures:
    def test_affine_function(self, seed: int) -> None:
        slope = np.random.default_rng(seed).standard_normal((2, 5))
        found = unweave.identify(lambda points: points @ slope.T + 1.5, inputs=5, seed=seed)
        assert found.is_identified
        assert found.network is not None
        assert found.network.widths == (0,)
        assert found.network.skip is not None
        np.testing.assert_allclose(found.network.skip, slope, atol=1e-12)
        assert "affine" in found.reason

    @pytest.mark.parametrize("value", [0.0, 3.0])
    def test_constant_function(self, value: float) -> None:
        """audit A3: a constant answer is no evidence against features that are too narrow to be met."""
        found = unweave.identify(lambda points: np.full(len(points), value), inputs=5)
        assert found.outcome is unweave.Outcome.PARTLY_IDENTIFIED
        assert "constant on at least 95%" in found.reason

    @pytest.mark.parametrize("width", [*(pytest.param(width, marks=pytest.mark.slow) for width in (1, 3)), 8])
    def test_deep_network(self, width: int, seed: int) -> None:
        """The network within its radius, or the first layer with the planted directions, or one that answers alike."""
        rng = np.random.default_rng(seed)
        first, second = rng.standard_normal((width, 5)) / 2, rng.standard_normal((4, width))
        truth = Network(
            (
                Layer(first, np.full(width, 0.1), TANH),
                Layer(second, np.full(4, 0.2), TANH),
                Layer(np.ones((1, 4)), np.zeros(1), IDENTITY),
            )
        )
        found = unweave.identify(truth, seed=seed)
        if found.is_identified:
            assert found.network is not None
            assert found.certificate is not None
            assert unweave.match(found.network, truth).largest_error <= found.certificate.radius
            return
        if found.is_imitation:
            assert_answers_alike(found, truth, unweave.Everywhere(), 5)
            return
        assert found.network is None
        assert "shallow" in found.reason
        assert (found.outcome is unweave.Outcome.PARTLY_IDENTIFIED) == (found.first_layer is not None)
        if found.first_layer is not None:
            assert_are_among(found.first_layer.weights, first)

    @pytest.mark.parametrize("neurons", [14, pytest.param(30, marks=pytest.mark.slow)])
    def test_too_many_neurons_for_second_derivatives(self, neurons: int, seed: int) -> None:
        truth, domain = general_network(np.random.default_rng(seed), inputs=5, neurons=neurons), unweave.Box(-2.0, 2.0)
        found = unweave.identify(truth, domain=domain, seed=seed)
        if found.is_identified:
            assert found.network is not None
            assert found.network.widths == (neurons,)
            return
        if found.is_imitation:
            assert_answers_alike(found, truth, domain, 5)
            return
        assert found.outcome is unweave.Outcome.NOT_IDENTIFIED
        assert "more neurons than second derivatives can separate" in found.reason

    def test_quadratic_function(self, seed: int) -> None:
        weights = np.random.default_rng(seed).standard_normal((4, 5))
        found = unweave.identify(lambda points: ((points @ weights.T + 1) ** 2).sum(axis=1), inputs=5, seed=seed)
        assert found.outcome is unweave.Outcome.NOT_IDENTIFIED
        assert "quadratic" in found.reason

    def test_unknown_activation(self, seed: int) -> None:
        weights = np.random.default_rng(seed).standard_normal((2, 14)) / 4
        found = unweave.identify(lambda points: np.arctan(points @ weights.T + 0.2).sum(axis=1), inputs=14, seed=seed)
        assert found.outcome is unweave.Outcome.NOT_IDENTIFIED
        assert "not among the known ones" in found.reason
        with pytest.raises(NotIdentified, match="known kinds"):
            found.require()

    @pytest.mark.parametrize("budget", [1, 20, 39, 100, 300])
    def test_budget_too_small_is_respected_to_the_query(self, budget: int, seed: int) -> None:
        model = Counted(general_network(np.random.default_rng(seed), inputs=6, neurons=6))
        found = unweave.identify(model, inputs=6, budget=budget, seed=seed)
        assert model.asked == found.queries <= budget
        assert found.outcome is unweave.Outcome.NOT_IDENTIFIED
        assert "budget" in found.reason

    def test_exact_budget_is_enough(self, seed: int) -> None:
        truth = general_network(np.random.default_rng(seed), inputs=4, neurons=3)
        needed = unweave.identify(truth, seed=seed).queries
        assert_recovered(unweave.identify(truth, budget=needed, seed=seed), truth)
        assert not unweave.identify(truth, budget=needed - 1, seed=seed).is_identified

    def test_random_answers(self, seed: int) -> None:
        truth, luck = general_network(np.random.default_rng(seed), inputs=5, neurons=4), np.random.default_rng(seed)
        found = unweave.identify(
            lambda points: truth(points) * (luck.random((len(points), 1)) > 0.3), inputs=5, seed=seed
        )
        assert found.outcome is unweave.Outcome.NOT_IDENTIFIED
        assert "change between calls" in found.reason

    def test_rounded_inputs_are_not_called_neurons_that_are_saturated(self) -> None:
        """Waves bend at all places; what hides it is the grid of the inputs."""
        weights = np.array([[0.9, -0.5], [0.5, 1.2], [-0.3, 0.8]])

        def model(points: np.ndarray) -> np.ndarray:
            seen = np.round(points.astype(np.float32), 3).astype(np.float64)
            return np.sin(seen @ weights + [0.2, -0.4]) @ [1.0, -0.7]

        found = unweave.identify(model, inputs=3)
        assert found.outcome is unweave.Outcome.NOT_IDENTIFIED
        assert "no curvature was seen" in found.reason
        assert "or bend by less than their answers are wrong, as where inputs are rounded" in found.reason

    def test_model_with_a_memory(self, seed: int) -> None:
        truth, calls = general_network(np.random.default_rng(seed), inputs=5, neurons=4), []

        def model(points: np.ndarray) -> np.ndarray:
            calls.append(len(points))
            return truth(points) + 0.05 * len(calls)

        found = unweave.identify(model, inputs=5, seed=seed)
        assert found.outcome is unweave.Outcome.NOT_IDENTIFIED
        assert "change between calls" in found.reason


class TestWrongUse:
    @pytest.mark.usefixtures("without_type_checks")
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({}, "needs inputs="),
            ({"inputs": 0}, "inputs to be a whole number"),
            ({"inputs": 3, "activation": "identity"}, "determines its neurons"),
            ({"inputs": 3, "activation": "quadratic"}, "determines its neurons"),
            ({"inputs": 3, "activation": "nonsense"}, "unknown activation"),
            ({"inputs": 3, "neurons": 0}, "neurons to be a whole number"),
            ({"inputs": 3, "budget": 0}, "budget to be a whole number"),
            ({"inputs": 3, "seed": -1}, "seed of at least 0"),
            ({"inputs": 3, "domain": unweave.Box(np.zeros(2), np.ones(2))}, "3 in all, got 2"),
        ],
    )
    def test_nothing_is_queried(self, settings: dict, message: str) -> None:
        def model(_: np.ndarray) -> np.ndarray:
            raise AssertionError("queried")

        with pytest.raises(InvalidInput, match=message):
            unweave.identify(model, **settings)


def test_a_time_limit_is_not_called_a_budget() -> None:
    found = unweave.identify(np.tanh, inputs=1, seconds=1e-9)
    assert not found.is_identified
    assert found.reason == "the time that was given is over: give more seconds."
