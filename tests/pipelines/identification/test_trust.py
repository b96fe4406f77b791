"""What strangers broke: every wrong claim about the answers of a black box, and every run that did not end."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import unweave
from late import sklearn
from plants import Counted, hashed
from typechecking import without_checks
from unweave import Box, Everywhere, InvalidInput, Outcome
from unweave.activations import HARD_TANH, LEAKY_RELU, RELU, SELU, TANH, leaky_relu
from unweave.networks.network import Network

Function = Callable[[np.ndarray], np.ndarray]


class TestUnits:
    @pytest.mark.each_value
    @pytest.mark.parametrize("scale", [1e-290, 1e160, 1e290])
    @pytest.mark.parametrize("domain", [Everywhere(), Box(-1, 1)], ids=["everywhere", "box"])
    def test_answers_whose_squares_are_no_numbers_are_read(self, scale: float, domain: Everywhere | Box) -> None:
        rng = np.random.default_rng(7)
        truth = Network.shallow(
            rng.standard_normal((4, 4)), rng.standard_normal(4), rng.standard_normal((1, 4)), np.zeros(1), RELU
        )
        found = unweave.identify(lambda x: scale * truth(x), inputs=4, domain=domain)
        assert found.is_identified


class TestHints:
    def test_the_right_activation_is_not_denied_where_neurons_do_not_bend(self) -> None:
        """In a box neurons of leaky_relu that do not bend are an affine part, and the others may be relu beside one."""
        activation = leaky_relu(0.1)
        for seed in range(6):
            rng = np.random.default_rng(seed)
            truth = Network.shallow(
                rng.standard_normal((2, 3)),
                rng.standard_normal(2),
                rng.standard_normal((1, 2)),
                np.zeros(1),
                activation,
            )
            found = unweave.identify(truth, domain=Box(-1, 1), activation=activation)
            assert "was given, but" not in found.reason


class TestRoughFunctions:
    @pytest.mark.parametrize(
        "function",
        [
            lambda x: np.sin(1e4 * x + 3e3),
            lambda x: np.exp(-((300 * x + 90) ** 2)),
            lambda x: hashed(x)[:, None],
        ],
        ids=["fast sine", "narrow bump", "hash"],
    )
    def test_what_is_as_rough_as_noise_is_not_affine(self, function: Function) -> None:
        """audit A2: all of these were "an affine function, identified", with a radius of up to 5e44."""
        for domain in (Everywhere(), Box(-1, 1)):
            found = unweave.identify(function, inputs=1, domain=domain)
            assert not found.is_identified
            assert found.queries < 5_000

    def test_hash_noise_is_no_network(self) -> None:
        """audit A2: noise of 0.1 excused neurons that were missing."""
        rng = np.random.default_rng(0)
        truth = Network.shallow(
            rng.standard_normal((4, 2)), rng.standard_normal(4), 0.3 * np.ones((1, 4)), np.zeros(1), RELU
        )
        found = unweave.identify(
            lambda x: truth(x) + 0.1 * np.sqrt(12) * hashed(x)[:, None], inputs=2, domain=Box(-1, 1)
        )
        assert found.outcome is Outcome.NOT_IDENTIFIED
        assert "too rough or noisy" in found.reason

    @pytest.mark.parametrize("inputs", [1, 5, 6])
    def test_a_slab_that_nothing_meets_is_not_excluded(self, inputs: int) -> None:
        """audit A3: Gaussian neurons of weight 1,000 were "a constant function, identified"."""
        direction = np.random.default_rng(inputs).standard_normal(inputs)
        found = unweave.identify(
            lambda x: np.exp(-((1e3 * (x @ direction) + 300) ** 2))[:, None], inputs=inputs, seed=inputs
        )
        assert not found.is_identified

    def test_tiny_answers_do_not_overflow(self) -> None:
        """audit B2: an OverflowError for answers with a spread near 1e-300."""
        found = unweave.identify(lambda x: np.exp(-((1e3 * x + 300) ** 2)), inputs=1, domain=Box(-1, 1))
        assert not found.is_identified

    @pytest.mark.parametrize("size", [1e-14, 1e-17, 1e-30])
    def test_an_output_that_is_zero_at_first_may_be_small_elsewhere(self, size: float) -> None:
        """Of size 1e-17 it was "identified" as zero, though four vertices and one point in 67 show that it is not."""
        rng = np.random.default_rng(7)
        truth = Network.shallow(rng.standard_normal((4, 3)), 0.2 * np.ones(4), np.ones((1, 4)), np.zeros(1), RELU)

        def model(points: np.ndarray) -> np.ndarray:
            return np.hstack([truth(points), size * np.maximum(points[:, :1] - 0.97, 0.0)])

        found = unweave.identify(model, inputs=3, domain=Box(-1, 1), seed=3)
        assert found.outcome is Outcome.NOT_IDENTIFIED
        assert "times less" in found.reason
        assert "neighbouring answers" not in found.reason


@pytest.mark.parametrize(("upper", "seed"), [((1e-2, 1e3), 5), ((1e-3, 1e3, 1.0), 11)])
def test_the_radius_holds_for_large_biases_if_inputs_have_different_units(upper: tuple[float, ...], seed: int) -> None:
    """Biases were off by 3.7e-8 and 9.9e-8, and the radii 2.9e-8 and 7.6e-8."""
    rng, reach = np.random.default_rng(seed + 500), np.array(upper)
    weights = rng.standard_normal((4, len(reach)))
    biases = -np.sum(weights * reach * (2.0 * rng.random(weights.shape) - 1.0), axis=1)
    truth = Network.shallow(weights, biases, rng.uniform(0.5, 1.5, (1, 4)), np.full(1, 0.1), RELU)
    found = unweave.identify(truth, domain=Box(-reach, reach), seed=seed)
    assert found.is_identified
    assert found.network is not None
    assert found.certificate is not None
    assert unweave.match(found.network, truth).largest_error <= found.certificate.radius


class TestLimits:
    def test_a_small_budget_buys_a_small_word(self) -> None:
        rng = np.random.default_rng(3)
        truth = Network.shallow(
            rng.standard_normal((3, 4)) / 2, 0.3 * rng.standard_normal(3), np.ones((1, 3)), np.zeros(1), RELU
        )
        enough = unweave.identify(truth, domain=Box(-1, 1))
        model = Counted(truth)
        found = unweave.identify(model, inputs=4, domain=Box(-1, 1), budget=enough.queries - 200)
        assert enough.is_identified
        assert found.outcome is Outcome.PARTLY_IDENTIFIED
        assert "of the spread) on at least" in found.reason
        assert model.asked == found.queries <= enough.queries - 200

    def test_rounded_answers_end_within_the_default_budget(self) -> None:
        """audit B3: 418,813 queries for answers of two inputs that were rounded to one digit."""
        found = unweave.identify(lambda x: np.round(np.tanh(x.sum(axis=1, keepdims=True)), 1), inputs=2)
        assert not found.is_identified
        assert found.queries <= 11_000

    @pytest.mark.parametrize(
        ("kind", "domain"), [("tree", Everywhere()), ("tree", Box(-1, 1)), ("neighbours", Box(-1, 1))], ids=str
    )
    def test_functions_that_are_constant_in_parts_end_soon(self, kind: str, domain: Box | Everywhere) -> None:
        rng = np.random.default_rng(1)
        centers, values = rng.standard_normal((20, 3)), rng.standard_normal(32)

        def model(x: np.ndarray) -> np.ndarray:
            if kind == "tree":
                return values[(x[:, [0, 1, 2, 0, 1]] > centers[:5, 0]) @ 2 ** np.arange(5)][:, None]
            return values[np.argmin(((x[:, None] - centers) ** 2).sum(axis=2), axis=1)][:, None]

        found = unweave.identify(model, inputs=3, domain=domain)
        assert not found.is_identified
        assert found.network is None
        assert found.queries <= 5_000

    def test_a_model_that_raises_far_out_is_charged_for_what_it_was_sent(self) -> None:
        """audit B4: up to 1.23 budgets reached the model."""

        def raises(x: np.ndarray) -> np.ndarray:
            if np.max(np.abs(x)) > 50:
                raise ValueError("too far")
            return np.tanh(x @ np.array([[1.0, 0.5], [0.2, -1.0]])).sum(axis=1, keepdims=True)

        model = Counted(raises)
        found = unweave.identify(model, inputs=2, budget=150)
        assert model.asked == found.queries <= 150

    @pytest.mark.parametrize(
        "settings",
        [
            {"activation": np.tanh},
            {"domain": "box"},
            {"progress": 3},
            {"inputs": 10**9},
            {"confidence": 1.0},
            {"confidence": None},
            {"seconds": True},
            {"coverage": 0},
            {"coverage": 1 - 1e-12},
            {"seconds": -1},
        ],
        ids=str,
    )
    def test_wrong_use_is_refused_before_a_query(self, settings: dict[str, object]) -> None:
        """audit B5: these raised other types, or after queries were spent."""
        model = Counted(np.tanh)
        with without_checks(), pytest.raises(InvalidInput):
            unweave.identify(model, **{"inputs": 1, **settings})  # pyright: ignore[reportArgumentType]
        assert model.asked == 0

    @pytest.mark.parametrize(
        "make",
        [lambda: Everywhere(scale=1e308), lambda: Box("a", 1), lambda: Box([0, 0], [1]), lambda: Box([[0.0]], 1)],  # pyright: ignore[reportArgumentType]
    )
    def test_domains_refuse_wrong_bounds(self, make: Callable[[], object]) -> None:
        """audit B5: some of these were accepted, others raised other types."""
        with without_checks(), pytest.raises(InvalidInput):
            make()

    def test_seconds_end_a_run(self) -> None:
        def slow(x: np.ndarray) -> np.ndarray:
            time.sleep(0.02)
            return np.tanh(x @ np.ones((2, 3)) * np.arange(1, 4)).sum(axis=1, keepdims=True)

        model = Counted(slow)
        found = unweave.identify(model, inputs=2, seconds=0.05)
        assert not found.is_identified
        assert "the time that was given is over" in found.reason + " ".join(found.notes)

    @pytest.mark.parametrize("calls", range(2, 14, 2))
    def test_seconds_end_a_run_at_any_moment(self, calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
        clock = iter(np.concatenate([np.zeros(calls), np.full(100_000, 1e9)]))
        monkeypatch.setattr("unweave.oracles.ledger.time.monotonic", lambda: float(next(clock)))
        truth = Network.shallow(np.eye(2), np.array([0.3, -0.2]), np.ones((1, 2)), np.zeros(1), RELU)
        found = unweave.identify(truth, seconds=5.0)
        assert not found.is_identified


class TestClaims:
    def test_an_offset_of_1e10_does_not_change_what_errors_mean(self) -> None:
        """audit A9: "5e-17 of their spread" was 3e-6 of the spread."""
        rng = np.random.default_rng(2)
        truth = Network.shallow(
            rng.standard_normal((4, 3)), rng.standard_normal(4), rng.standard_normal((1, 4)), np.array([1e10]), RELU
        )
        found = unweave.identify(truth)
        assert found.network is not None
        assert found.certificate is not None
        points = rng.standard_normal((1_000, 3))
        errors = np.abs(found.network(points) - truth(points)) / np.std(truth(points))
        assert float(np.max(errors)) <= 10 * max(found.certificate.largest_error, found.certificate.noise)

    @pytest.mark.parametrize("angle", [1e-2, 1e-3, 1e-4])
    def test_a_cancelling_pair_is_not_taken_for_one_neuron(self, angle: float) -> None:
        """audit A4: of two nearly equal leaky ReLUs of opposite weight one was missing, unnoticed."""
        rng = np.random.default_rng(int(1 / angle))
        weights, biases = rng.standard_normal((6, 3)) / np.sqrt(3), 0.3 * rng.standard_normal(6)
        weights[1] = weights[0] + angle * rng.standard_normal(3)
        biases[1] = biases[0] + angle * rng.standard_normal()
        outgoing = rng.standard_normal((1, 6))
        outgoing[0, 1] = -outgoing[0, 0]
        truth = Network.shallow(weights, biases, outgoing, np.zeros(1), LEAKY_RELU)
        found = unweave.identify(truth)
        assert found.network is not None
        points = rng.standard_normal((100_000, 3))
        is_right = np.abs(found.network(points) - truth(points)) <= 1e-9
        assert np.mean(is_right) >= (1.0 if found.is_identified else 0.95)
        assert found.is_identified or "at least 95% of the domain" in found.reason

    def test_an_affine_function_far_out_is_not_called_identified(self) -> None:
        """A neuron that bends outside the domain shows far from the centre, where walks and trials look."""

        def model(x: np.ndarray) -> np.ndarray:
            return x[:, :1] + 5 * np.clip(3 * x.sum(axis=1, keepdims=True) - 60.0, 0.0, 1.0)

        found = unweave.identify(model, inputs=3)
        assert found.network is None or not (found.is_identified and found.network.widths == (0,))

    def test_more_coverage_costs_more_fresh_queries(self) -> None:
        truth = Network.shallow(np.eye(2), np.array([0.3, -0.2]), np.ones((1, 2)), np.zeros(1), RELU)
        usual = unweave.identify(truth)
        more = unweave.identify(truth, coverage=0.999, confidence=0.99)
        assert usual.certificate is not None
        assert more.certificate is not None
        assert more.certificate.coverage >= 0.999 > usual.certificate.coverage >= 0.95
        assert more.certificate.fresh_queries > 4_600 > usual.certificate.fresh_queries

    @pytest.mark.parametrize(
        "domain",
        [
            pytest.param(Box(1e5, 1e5 + 1), marks=pytest.mark.slow),
            Box(np.array([0.0, -3.0]), 1e4),
            Everywhere(30.0, 1e3),
        ],
        ids=str,
    )
    def test_the_radius_is_that_of_the_parameters_that_are_delivered(self, domain: Box | Everywhere) -> None:
        center, half_width = domain.frame(2)
        weights = np.array([[0.9, 0.4], [-0.3, 0.8]]) / half_width
        biases = np.array([0.0097, 0.38])
        # Neurons bend within the domain, with biases that are the small difference of large numbers.
        weights -= np.outer(weights @ center / (center @ center), center) if np.any(center) else 0.0
        truth = Network.shallow(weights, biases, np.ones((1, 2)), np.zeros(1), TANH)
        found = unweave.identify(truth, domain=domain)
        assert found.certificate is not None
        assert found.network is not None
        assert unweave.match(found.network, truth).largest_error <= found.certificate.radius

    def test_a_second_kink_that_few_vertices_show_is_found(self) -> None:
        """A hard tanh in 30 dimensions: one of its kinks is 7 standard deviations of a vertex away."""
        weights = np.full((1, 30), 30**-0.5)
        truth = Network.shallow(weights, np.array([4.0]), np.ones((1, 1)), np.zeros(1), HARD_TANH)

        def model(x: np.ndarray) -> np.ndarray:
            return truth(x) + np.maximum(x @ np.linspace(-1.0, 1.0, 30)[:, None], 0.0)

        found = unweave.identify(model, inputs=30, domain=Box(-1.0, 1.0))
        vertex = -np.ones((1, 30))
        assert (
            not found.is_identified or found.network is None or abs(found.network(vertex) - model(vertex))[0, 0] < 1e-9
        )

    def test_a_hint_that_contradicts_is_said_first(self) -> None:
        truth = Network.shallow(
            np.array([[1.0, 0.2], [-0.3, 1.0]]), np.array([0.3, -0.2]), np.ones((1, 2)), np.zeros(1), RELU
        )
        found = unweave.identify(truth, neurons=5)
        assert found.reason.startswith("5 neurons were given")

    def test_a_network_that_explains_nothing_contradicts_no_hint(self) -> None:
        """The other neurons do change the answers: they were not found."""
        rng = np.random.default_rng(12)
        weights, biases = 3.0 * rng.standard_normal((2, 12)).T, rng.uniform(-3.0, 3.0, 12)
        truth = Network.shallow(weights, biases, rng.standard_normal((1, 12)), np.zeros(1), TANH)
        found = unweave.identify(truth, neurons=12, domain=Box(-1.0, 1.0), budget=1_500)
        assert found.outcome is Outcome.NOT_IDENTIFIED
        assert found.reason.startswith("12 neurons were given, and no network with as many was found")
        assert "no network of the known kinds" in found.reason
        assert "but the answers need" not in found.reason


STEPS: dict[str, Callable[[], Any]] = {
    "tree": lambda: sklearn.tree.DecisionTreeRegressor(random_state=0),
    "forest": lambda: sklearn.ensemble.RandomForestRegressor(3, random_state=0),
    "boosting": lambda: sklearn.ensemble.GradientBoostingRegressor(n_estimators=20, random_state=0),
    "neighbours": lambda: sklearn.neighbors.KNeighborsRegressor(3),
}


class TestStepsOnAnUnboundedDomain:
    @pytest.mark.parametrize(
        ("inputs", "kind"),
        [
            *((2, kind) for kind in STEPS),
            (11, "tree"),
            *(pytest.param(6, kind, marks=pytest.mark.slow) for kind in STEPS),
            *(pytest.param(11, kind, marks=pytest.mark.slow) for kind in STEPS if kind != "tree"),
        ],
    )
    def test_they_end_within_5000_queries(self, inputs: int, kind: str) -> None:
        """They have as many hyperplanes as there is budget for, and each costs hundreds of queries to read."""
        rng = np.random.default_rng(inputs)
        points = rng.standard_normal((300, inputs))
        labels = np.sin(points[:, 0]) + points[:, 1] * points[:, -1]
        found = unweave.identify(STEPS[kind]().fit(points, labels).predict, inputs=inputs)
        assert found.outcome is Outcome.NOT_IDENTIFIED
        assert found.queries <= 5_000
        assert "steps" in found.reason

    def test_a_polytope_is_no_function_of_local_steps(self) -> None:
        rng = np.random.default_rng(26)
        weights, thresholds = rng.standard_normal((6, 8)), 0.3 + rng.random(6)
        found = unweave.identify(lambda x: np.all(x @ weights.T < thresholds, axis=1).astype(float), inputs=8)
        assert found.first_layer is not None
        assert found.first_layer.neurons == 6

    def test_a_polytope_of_many_faces_is_none_either(self, seed: int) -> None:
        """Of twelve faces that were read few places were seen elsewhere, since they are outside of others."""
        rng = np.random.default_rng([seed, 20])
        rows = np.linalg.qr(rng.standard_normal((20, 20)))[0]
        threshold = rng.uniform(0.5, 3.0)
        found = unweave.identify(lambda x: np.any(x @ rows.T > threshold, axis=1).astype(float), inputs=20, seed=seed)
        assert found.first_layer is not None
        layer = found.first_layer
        overlaps = layer.weights @ rows.T / np.linalg.norm(layer.weights, axis=1, keepdims=True)
        np.testing.assert_allclose(np.sort(np.max(np.abs(overlaps), axis=0)), np.ones(20), atol=1e-12)


@pytest.mark.parametrize(("reach", "fresh"), [(np.inf, 59), (6.0, 299)])
def test_where_nothing_farther_out_is_answered_more_fresh_points_are_asked(reach: float, fresh: int) -> None:
    """An affine function was identified from 59 points, although a neuron bent at the end of the domain."""

    def model(points: np.ndarray) -> np.ndarray:
        if np.max(np.abs(points)) > reach:
            raise ValueError("too far away")
        return points @ np.array([[1.0], [-2.0]])

    found = unweave.identify(model, inputs=2)
    assert found.is_identified
    assert found.certificate is not None
    assert found.certificate.fresh_queries == fresh


def test_two_kinks_close_together_are_not_called_one() -> None:
    """A network from random starts was identified although its examination had missed answers between the two."""
    rows = np.array(
        [
            [0.17942335, -0.03140983, -0.11520968, 0.25079473],
            [-0.0262662, 0.00924733, 0.02544901, 0.34478159],
            [0.17942335, -0.03140983, -0.11520968, 0.25084361],
        ]
    )
    planted = Network.shallow(
        rows[:, :-1], rows[:, -1], np.array([[5.2011453, 2.20148835, 4.76186479]]), np.zeros(1), SELU
    )
    found = unweave.identify(planted, inputs=3, domain=unweave.Box(-1.0, 1.0), seed=115136440)
    assert not found.is_identified
    assert found.network is None or found.is_imitation or "misses" in found.reason


def test_an_answer_that_is_too_large_is_no_failure_of_the_model() -> None:
    """A power that only one route looked at far from the centre raised, as if the model had not answered."""

    def power(points: np.ndarray) -> np.ndarray:
        arguments = 1.06 * points + 0.68
        return np.sign(arguments) * np.abs(arguments) ** 44

    found = unweave.identify(power, inputs=1, seed=115136484)
    assert found.outcome is Outcome.NOT_IDENTIFIED
    assert "too large to be computed with" in found.reason
