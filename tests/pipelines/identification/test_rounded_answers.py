"""Networks behind rounded answers: exact values where the answers switch give all parameters."""

from collections.abc import Callable

import numpy as np
import pytest

import unweave
from unweave import Box, CallableOracle, Network, Outcome
from unweave.activations import activation_named
from unweave.identification.estimate import rounded_rule
from unweave.networks.planted import fan_in_network
from unweave.oracles.ledger import to_bfloat16, to_float16, to_float32

ROUNDINGS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "6 decimals": lambda values: np.round(values, 6),
    "3 decimals": lambda values: np.round(values, 3),
    "float32": to_float32,
    "float16": to_float16,
    "bfloat16": lambda values: to_bfloat16(to_float32(values)),
}


def planted(name: str, seed: int, *, inputs: int = 6, neurons: int = 3) -> Network:
    rng = np.random.default_rng([seed, 21])
    return fan_in_network(rng, inputs=inputs, neurons=neurons, activation=activation_named(name))


def assert_claim_holds(found: unweave.Result, truth: Network) -> None:
    """The parameters are as near to the truth as the certificate says."""
    assert found.network is not None
    assert found.certificate is not None
    assert unweave.match(found.network, truth).largest_error <= found.certificate.radius


def test_a_claim_that_does_not_hold_is_noticed() -> None:
    truth = planted("tanh", 1)
    found = unweave.identify(truth, inputs=6)
    assert_claim_holds(found, truth)
    with pytest.raises(AssertionError):
        assert_claim_holds(found, planted("tanh", 2))


def computed_in_float32(truth: Network) -> tuple[Callable[[np.ndarray], np.ndarray], Network]:
    """A model that computes a network of tanh or ReLU in float32, and the network of its rounded parameters."""
    hidden, output = truth.layers
    tables = [each.astype(np.float32) for each in (hidden.weights, hidden.biases, output.weights, output.biases)]
    activation = np.tanh if hidden.activation.name == "tanh" else lambda inside: np.maximum(inside, 0)

    def model(points: np.ndarray) -> np.ndarray:
        weights, biases, outer, offset = tables
        return activation(points.astype(np.float32) @ weights.T + biases) @ outer.T + offset

    return model, Network.shallow(*(each.astype(np.float64) for each in tables), hidden.activation)


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
        assert_claim_holds(found, truth)
        assert unweave.match(found.network, truth).largest_error < 1e-8
        assert found.certificate.crossings >= 20
        assert f"The answers are rounded to {kind}." in found.notes
        assert "could still hide where only rounded answers were looked at" in found.reason


@pytest.mark.parametrize("decimals", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_a_network_that_only_explains_rounded_answers_is_refuted_in_words_of_its_own(decimals: int) -> None:
    """What else there is stays below half a step: rounded answers do not show it, places where they switch do."""
    truth, weak = planted("tanh", 0, inputs=3), 0.2 * 10.0**-decimals

    def model(points: np.ndarray) -> np.ndarray:
        rest = weak * np.sin(3.0 * points[:, 0] + 1.0) * np.cos(2.0 * points[:, 1])
        return np.round(truth(points)[:, 0] + rest, decimals)

    found = unweave.identify(model, inputs=3, domain=Box(-1.0, 1.0))
    assert found.outcome is Outcome.NOT_IDENTIFIED
    assert found.reason.startswith("the best network, 3 neurons of tanh, meets fresh answers"), found.reason
    assert "they do not switch from one number to the next where it says so" in found.reason


@pytest.mark.parametrize(
    ("kind", "name", "box"),
    [
        ("3 decimals", "tanh", None),
        ("3 decimals", "relu", Box(-1.0, 1.0)),
        ("float32", "tanh", Box(-1.0, 1.0)),
        ("6 decimals", "relu", None),
    ],
)
def test_runs_take_as_many_queries_as_estimated(kind: str, name: str, box: Box | None, seed: int) -> None:
    network = planted(name, seed, inputs=5)
    oracle = CallableOracle(lambda points: ROUNDINGS[kind](network(points)), inputs=5, domain=box)
    found = unweave.identify(oracle).require()
    rule = rounded_rule(oracle)
    assert rule is not None
    queries = rule(inputs=5, neurons=3, max_batch=1000).queries
    assert queries.least <= found.queries <= queries.most


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
            assert_claim_holds(found, truth)

    @pytest.mark.parametrize("name", ["tanh", "relu"])
    @pytest.mark.parametrize("network", range(3))
    def test_a_network_in_float32_is_found_as_exactly_as_its_answers_are(self, network: int, name: str) -> None:
        """As torch and Keras compute: inputs, sums and answers in float32; no place is known better than that."""
        model, single = computed_in_float32(planted(name, network, inputs=4))
        found = unweave.identify(model, inputs=4)
        assert found.is_identified, found.reason
        assert found.network is not None
        assert found.certificate is not None
        assert unweave.match(found.network, single).largest_error <= min(found.certificate.radius, 1e-3)
        assert [note for note in found.notes if "the model has no more digits" in note]
        assert found.queries < 1_500

    def test_a_fuzzy_grid_has_its_own_error(self) -> None:
        """Evaluated in float32 and rounded to 3 decimals: places are known to about 1e-7, and no better is claimed."""
        model, single = computed_in_float32(planted("tanh", 4))
        found = unweave.identify(lambda x: model(x).round(3).astype(np.float64).round(3), inputs=6)
        assert found.is_identified
        assert_claim_holds(found, single)
        assert unweave.match(found.network, single).largest_error <= 1e-4
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
            assert_claim_holds(found, truth)

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
