"""Networks behind rounded answers: exact values where the answers switch give all parameters."""

from collections.abc import Callable

import numpy as np
import pytest

import unweave
from unweave import Box, Network, Outcome
from unweave.activations import activation_named
from unweave.oracles.answer_kinds import to_bfloat16, to_float16, to_float32

ROUNDINGS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "6 decimals": lambda values: np.round(values, 6),
    "3 decimals": lambda values: np.round(values, 3),
    "float32": to_float32,
    "float16": to_float16,
    "bfloat16": lambda values: to_bfloat16(to_float32(values)),
}


def planted(name: str, seed: int, *, inputs: int = 6, neurons: int = 3) -> Network:
    rng = np.random.default_rng([seed, 21])
    return Network.shallow(
        rng.standard_normal((neurons, inputs)) / np.sqrt(inputs),
        0.3 * rng.standard_normal(neurons),
        rng.choice([-1.0, 1.0], (1, neurons)) * rng.uniform(0.3, 2.0, (1, neurons)),
        0.3 * rng.standard_normal(1),
        activation_named(name),
    )


class TestExactParameters:
    """Parameters are known to far more digits than answers have."""

    @pytest.mark.each_value
    @pytest.mark.parametrize("kind", ROUNDINGS)
    @pytest.mark.parametrize("name", ["relu", "tanh"])
    def test_without_bounds(self, name: str, kind: str, seed: int) -> None:
        self.check(name, kind, seed, None)

    @pytest.mark.each_value
    @pytest.mark.parametrize("kind", ["bfloat16", "3 decimals"])
    @pytest.mark.parametrize("name", ["tanh", "relu", "sigmoid"])
    def test_in_a_box(self, name: str, kind: str, seed: int) -> None:
        self.check(name, kind, seed, Box(-1.0, 1.0))

    def check(self, name: str, kind: str, seed: int, domain: Box | None) -> None:
        truth = planted(name, seed)
        found = unweave.identify(lambda x: ROUNDINGS[kind](truth(x)), inputs=6, domain=domain, seed=seed)
        assert found.outcome is Outcome.IDENTIFIED, found.reason
        assert found.network is not None
        assert found.certificate is not None
        error = unweave.match(found.network, truth).largest_error
        assert error < 1e-8
        assert error <= found.certificate.radius
        assert found.certificate.crossings >= 20
        assert f"The answers are rounded to {kind}." in found.notes
        assert "could still hide where only rounded answers were looked at" in found.reason


def test_exact_answers_cost_nothing_more() -> None:
    truth = planted("tanh", 1)
    found = unweave.identify(truth, inputs=6)
    assert found.is_identified
    assert found.certificate is not None
    assert found.certificate.crossings == 0
    assert "locating crossings" not in found.cost.stage_queries


class TestHonestFailures:
    """Nothing is claimed that coarse answers hide."""

    def test_rounding_that_is_too_coarse(self) -> None:
        truth = planted("tanh", 2)
        found = unweave.identify(lambda x: np.round(truth(x), 0) + 0.5, inputs=6, domain=Box(-1.0, 1.0))
        assert found.outcome is not Outcome.IDENTIFIED

    @pytest.mark.slow
    def test_a_model_with_no_more_digits_than_its_answers(self) -> None:
        """Inside, all is rounded to float16: answers switch more than once around one place."""
        truth = planted("tanh", 3)
        hidden, output = truth.layers

        def model(points: np.ndarray) -> np.ndarray:
            inner = to_float16(np.tanh(to_float16(to_float16(points) @ hidden.weights.T + hidden.biases)))
            return to_float16(inner @ output.weights.T + output.biases)

        found = unweave.identify(model, inputs=6)
        if found.is_identified:
            assert found.network is not None
            assert found.certificate is not None
            assert unweave.match(found.network, truth).largest_error <= found.certificate.radius

    def test_a_fuzzy_grid_has_its_own_error(self) -> None:
        """Evaluated in float32 and rounded to 3 decimals: places are known to about 1e-7, and no better is claimed."""
        truth = planted("tanh", 4)
        hidden, output = truth.layers
        tables = [each.astype(np.float32) for each in (hidden.weights, hidden.biases, output.weights, output.biases)]
        inner, shift, outer, offset = (each.astype(np.float64) for each in tables)
        single = Network.shallow(inner, shift, outer, offset, hidden.activation)

        def model(points: np.ndarray) -> np.ndarray:
            weights, biases, outer, offset = tables
            return np.round(np.tanh(points.astype(np.float32) @ weights.T + biases) @ outer.T + offset, 3)

        found = unweave.identify(lambda x: model(x).astype(np.float64).round(3), inputs=6)
        assert found.is_identified
        assert found.network is not None
        assert found.certificate is not None
        assert unweave.match(found.network, single).largest_error <= min(found.certificate.radius, 1e-4)
        assert found.certificate.crossing_error > 1e-9

    @pytest.mark.parametrize("budget", [300, 600, 900, 1_200, 1_800])
    def test_a_budget_that_ends_on_the_way_is_never_exceeded(self, budget: int) -> None:
        truth, asked = planted("tanh", 5), [0]

        def model(points: np.ndarray) -> np.ndarray:
            asked[0] += len(points)
            return np.round(truth(points), 3)

        found = unweave.identify(model, inputs=6, budget=budget)
        assert asked[0] == found.cost.queries <= budget
        if found.is_identified:
            assert found.network is not None
            assert found.certificate is not None
            assert unweave.match(found.network, truth).largest_error <= found.certificate.radius

    def test_another_activation_is_not_taken_for_tanh(self) -> None:
        """Fits up to the rounding may have any activation; exact values do not."""
        truth = planted("erf", 6)
        found = unweave.identify(lambda x: np.round(truth(x), 2), inputs=6, domain=Box(-1.0, 1.0))
        assert not found.is_identified or found.equivalent_activations == ("erf",)

    def test_nothing_is_asked_outside_of_a_box(self) -> None:
        truth, farthest = planted("relu", 7), [0.0]

        def model(points: np.ndarray) -> np.ndarray:
            farthest[0] = max(farthest[0], float(np.max(np.abs(points))))
            return np.round(truth(points), 3)

        assert unweave.identify(model, inputs=6, domain=Box(-1.0, 1.0)).is_identified
        assert farthest[0] <= 1.0
