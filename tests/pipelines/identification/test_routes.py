"""Which way to the neurons is taken, that it is said, and what comes of it."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import assertions
import unweave
from assertions import EXACT
from plants import planter
from unweave.activations import GAUSSIAN, GELU, HARD_TANH, RELU, SIN, SOFTPLUS, TANH, Activation, leaky_relu
from unweave.exceptions import OracleFailed
from unweave.identification.identifier import Identifier
from unweave.networks.network import Network
from unweave.networks.planted import general_network
from unweave.oracles.oracle import CallableOracle

INPUTS = 5
HESSIANS, FAR, KINKS, POLES = "Hessians", "saturation walk", "kink walk", "pole walk"
ABSOLUTE = leaky_relu(-1.0)
Model = Callable[[np.ndarray], np.ndarray]


planted = planter(general_network, 51, inputs=INPUTS, neurons=5)


class Counted:
    """A model that counts its queries and remembers the largest input."""

    def __init__(self, model: Model) -> None:
        self.model, self.asked, self.largest = model, 0, 0.0

    def __call__(self, points: np.ndarray) -> np.ndarray:
        self.asked += len(points)
        self.largest = max(self.largest, float(np.max(np.abs(points), initial=0.0)))
        return self.model(points)


def assert_recovered(found: unweave.Result, truth: Network, *, route: str, atol: float = EXACT) -> None:
    assertions.assert_recovered(found, truth, atol=atol)
    assert_route(found, route)


def assert_route(found: unweave.Result, route: str) -> None:
    """The route is named, and the last note on routes says why."""
    assert found.route == route
    notes = [note for note in found.notes if note.startswith("Route: ")]
    assert notes
    assert notes[-1].startswith(f"Route: {route}, because ")


def test_the_assertions_can_fail(seed: int) -> None:
    truth = planted(seed, activation=TANH)
    found = unweave.identify(truth, seed=seed)
    assert_recovered(found, truth, route=FAR)
    for other, route in ((planted(seed + 1, activation=TANH), FAR), (truth, HESSIANS)):
        with pytest.raises(AssertionError):
            assert_recovered(found, other, route=route)
    with pytest.raises(AssertionError):
        assert_route(replace(found, notes=()), FAR)


@pytest.mark.parametrize(
    ("activation", "route"),
    [
        (TANH, FAR),
        (SOFTPLUS, FAR),
        (GELU, FAR),
        (SIN, HESSIANS),
        (GAUSSIAN, HESSIANS),
        (RELU, KINKS),
        (leaky_relu(0.1), KINKS),
        (leaky_relu(0.37), KINKS),
        (ABSOLUTE, KINKS),
        (HARD_TANH, KINKS),
    ],
)
def test_every_activation_goes_its_way(activation: Activation, route: str, seed: int) -> None:
    truth = planted(seed, activation=activation)
    model = Counted(truth)
    found = unweave.identify(model, inputs=INPUTS, seed=seed)
    assert_recovered(found, truth, route=route)
    assert found.network is not None
    assert found.network.layers[0].activation == activation
    assert found.network.skip is None
    assert found.queries == model.asked


@pytest.mark.parametrize(
    ("model", "word"),
    [
        (lambda x: ((x @ np.arange(10.0).reshape(5, 2) + 1) ** 2).sum(axis=1), "quadratic"),
        (lambda x: x @ np.arange(5.0) - 2.0, "affine"),
        (lambda x: np.full(len(x), 3.0), "constant"),
    ],
)
def test_functions_without_neurons_end_with_hessians(model: Model, word: str, seed: int) -> None:
    counted = Counted(model)
    found = unweave.identify(counted, inputs=INPUTS, seed=seed)
    assert_route(found, HESSIANS)
    assert word in found.reason
    assert found.queries == counted.asked < 2_000


@pytest.mark.parametrize("activation", [TANH, SOFTPLUS, RELU, leaky_relu(0.1)])
def test_a_box_is_never_left(activation: Activation, seed: int) -> None:
    truth = planted(seed, activation=activation)
    model = Counted(truth)
    # Wide enough for all neurons to bend inside: one that hardly does is found, but not pinned down.
    width = 2.0 if activation.is_smooth else 4.0
    found = unweave.identify(model, inputs=INPUTS, domain=unweave.Box(-width, width), seed=seed)
    assert_recovered(found, truth, route=HESSIANS if activation.is_smooth else KINKS)
    assert model.largest <= width * (1 + 1e-9)


@pytest.mark.parametrize(
    ("activation", "neurons", "route"), [(TANH, 2, POLES), (SOFTPLUS, 1, HESSIANS), (RELU, 2, KINKS)]
)
def test_one_input_has_no_far_lines(activation: Activation, neurons: int, route: str, seed: int) -> None:
    truth = planted(seed, activation=activation, inputs=1, neurons=neurons)
    assert_recovered(unweave.identify(truth, seed=seed), truth, route=route)


def raising(model: Model, limit: float) -> Model:
    def limited(points: np.ndarray) -> np.ndarray:
        if np.any(np.abs(points) > limit):
            raise ValueError("too far out")
        return model(points)

    return limited


def giving_nan(model: Model, limit: float) -> Model:
    return lambda points: np.where(np.any(np.abs(points) > limit, axis=1, keepdims=True), np.nan, model(points))


# Beyond 1000 the first look fails, beyond 1e8 only the walk does.
@pytest.mark.parametrize(
    ("limited", "activation", "limit"),
    [
        (raising, TANH, 1e3),
        (giving_nan, SOFTPLUS, 1e3),
        (raising, SOFTPLUS, 1e8),
        (giving_nan, TANH, 1e8),
        pytest.param(raising, SOFTPLUS, 1e3, marks=pytest.mark.slow),
        pytest.param(giving_nan, TANH, 1e3, marks=pytest.mark.slow),
        pytest.param(raising, TANH, 1e8, marks=pytest.mark.slow),
        pytest.param(giving_nan, SOFTPLUS, 1e8, marks=pytest.mark.slow),
    ],
)
def test_a_model_that_does_not_answer_far_away_is_identified_nearby(
    limited: Callable[[Model, float], Model], activation: Activation, limit: float, seed: int
) -> None:
    truth = planted(seed, activation=activation)
    model = Counted(limited(truth, limit))
    found = unweave.identify(model, inputs=INPUTS, seed=seed)
    assert_recovered(found, truth, route=HESSIANS)
    assert any("does not answer far from the centre" in note for note in found.notes)
    assert found.queries <= model.asked


@pytest.mark.parametrize("limited", [raising, giving_nan])
@pytest.mark.parametrize("limit", [6.0, 30.0, 1e3])
def test_kinks_are_walked_along_as_far_as_the_model_answers(
    limited: Callable[[Model, float], Model], limit: float, seed: int
) -> None:
    """The walk asked far out, and the error of the model ended the run."""
    truth = planted(seed, activation=RELU)
    found = unweave.identify(limited(truth, limit), inputs=INPUTS, seed=seed)
    assert_recovered(found, truth, route=KINKS)
    assert any("does not answer on a whole line" in note for note in found.notes)


@pytest.mark.parametrize("limited", [raising, giving_nan])
@pytest.mark.parametrize("activation", [RELU, TANH])
def test_a_model_that_fails_in_the_domain_is_no_unidentifiable_one(
    limited: Callable[[Model, float], Model], activation: Activation, seed: int
) -> None:
    truth = planted(seed, activation=activation)
    with pytest.raises(unweave.OracleError):
        unweave.identify(limited(truth, 2.0), inputs=INPUTS, seed=seed)


@pytest.mark.parametrize("number", range(6))
def test_a_single_relu_neuron_is_found_wherever_it_bends(number: int, seed: int) -> None:
    """A first look at 16 places may miss its only kink."""
    truth = planted(10 * seed + number, activation=RELU, neurons=1)
    assert_recovered(unweave.identify(truth, seed=seed), truth, route=KINKS)


@pytest.mark.parametrize("activation", [TANH, SOFTPLUS])
def test_walks_can_be_switched_off(activation: Activation, seed: int) -> None:
    truth = planted(seed, activation=activation)
    model = Counted(truth)
    found = Identifier(walks=False)(CallableOracle(model, inputs=INPUTS), seed=seed)
    assert_recovered(found, truth, route=HESSIANS)
    assert model.largest < 20.0


@pytest.mark.parametrize("activation", [TANH, SOFTPLUS])
def test_a_genuine_affine_part_does_not_stop_the_walk(activation: Activation, seed: int) -> None:
    rng = np.random.default_rng([seed, 52])
    truth = replace(planted(seed, activation=activation), skip=rng.standard_normal((1, INPUTS)))
    found = unweave.identify(truth, seed=seed)
    assert_recovered(found, truth, route=FAR)
    assert found.queries < 12 * truth.parameters


def test_signs_that_are_not_determined_are_reported_and_not_guessed(seed: int) -> None:
    """Three planar units at 120 degrees add up to zero: flipping all of them changes nothing."""
    angles = 2 * np.pi / 3 * np.arange(3)
    truth = Network.shallow(
        weights=np.stack([np.cos(angles), np.sin(angles)], axis=1),
        biases=np.array([0.3, -0.1, -0.2]),
        output_weights=np.ones((1, 3)),
        offset=np.zeros(1),
        activation=RELU,
    )
    found = unweave.identify(truth, seed=seed)
    assert_recovered(found, truth, route=KINKS)
    assert found.network is not None
    assert found.network.skip is not None
    assert any("signs" in note and "not determined" in note for note in found.notes)


@pytest.mark.parametrize("activation", [TANH, RELU])
def test_nearly_parallel_neurons_are_told_apart(activation: Activation, seed: int) -> None:
    """An angle of 1e-3: both neurons are there, whether or not the answers pin them down exactly."""
    rng = np.random.default_rng([seed, 53])
    truth = planted(seed, activation=activation)
    hidden, output = truth.layers
    weights, biases = hidden.weights.copy(), hidden.biases.copy()
    aside = rng.standard_normal(INPUTS)
    aside -= (aside @ weights[0]) * weights[0] / (weights[0] @ weights[0])
    weights[1] = weights[0] + 1e-3 * np.linalg.norm(weights[0]) * aside / np.linalg.norm(aside)
    biases[1] = biases[0] + 0.3
    truth = Network((replace(hidden, weights=weights, biases=biases), output))
    found = unweave.identify(truth, seed=seed)
    assert found.network is not None, found.reason
    assert unweave.match(found.network, truth).largest_error < 1e-6
    if found.outcome is not unweave.Outcome.IDENTIFIED:
        assert "nearly parallel" in found.reason


@pytest.mark.parametrize("activation", [TANH, SOFTPLUS, RELU])
def test_neurons_that_bend_far_away_are_found(activation: Activation, seed: int) -> None:
    truth = planted(seed, activation=activation)
    hidden, output = truth.layers
    biases = hidden.biases.copy()
    biases[2] = 30 * np.linalg.norm(hidden.weights[2])
    truth = Network((replace(hidden, biases=biases), output))
    found = unweave.identify(truth, seed=seed)
    assert_recovered(found, truth, route=KINKS if activation == RELU else FAR)


@pytest.mark.parametrize("activation", [TANH, SOFTPLUS, GAUSSIAN, RELU])
def test_the_budget_is_respected_to_the_query_on_every_route(activation: Activation, seed: int) -> None:
    truth = planted(seed, activation=activation)
    needed = unweave.identify(truth, seed=seed).queries
    for budget in (1, 20, 39, 45, 64, 90, 119, 150, 200, needed - 1, needed):
        model = Counted(truth)
        found = unweave.identify(model, inputs=INPUTS, budget=budget, seed=seed)
        assert model.asked == found.queries <= budget
        assert found.is_identified == (budget >= needed)
        if not found.is_identified:
            assert "budget" in found.reason + " ".join(found.notes)


# Every activation with two wrong ones, and every wrong one once.
WRONG = [
    (TANH, "gaussian"), (TANH, "relu"), (RELU, "softplus"),
    (RELU, "hard_tanh"), (SOFTPLUS, "sin"), (SOFTPLUS, "leaky_relu"),
]  # fmt: skip
OTHERS = [
    pytest.param(activation, given, marks=pytest.mark.slow)
    for activation in (TANH, RELU, SOFTPLUS)
    for given in ("softplus", "sin", "gaussian", "relu", "hard_tanh", "leaky_relu")
    if (activation, given) not in WRONG
]


@pytest.mark.parametrize(("activation", "given_activation"), [*WRONG, *OTHERS])
def test_a_wrong_activation_is_an_outcome_and_not_an_error(
    activation: Activation, given_activation: str, seed: int
) -> None:
    truth = planted(seed, activation=activation)
    found = unweave.identify(truth, activation=given_activation, budget=1_500, seed=seed)
    if given_activation != activation.name:
        assert found.reason
        # The right network under another name than the given one is welcome, a wrong one is not.
        if found.is_identified:
            assert found.network is not None
            assert "are not those of" in found.reason
            assert unweave.match(found.network, truth).largest_error < 1e-8


@pytest.mark.each_value
@pytest.mark.parametrize("kind", ["noise", "float32"])
@pytest.mark.parametrize("activation", [TANH, RELU])
def test_inexact_answers_take_the_same_way(activation: Activation, kind: str, seed: int) -> None:
    truth, rng = planted(seed, activation=activation), np.random.default_rng([seed, 54])
    models = {
        "noise": lambda points: truth(points) + 1e-8 * rng.standard_normal((len(points), 1)),
        "float32": lambda points: truth(points).astype(np.float32),
    }
    found = unweave.identify(models[kind], inputs=INPUTS, seed=seed)
    assert_recovered(found, truth, route=FAR if activation == TANH else KINKS, atol=1e-4)
    assert found.certificate is not None
    assert found.network is not None
    assert unweave.match(found.network, truth).largest_error <= found.certificate.radius


def test_a_model_that_normalises_its_inputs_is_given_up_in_time(seed: int) -> None:
    """Far out it is constant along rays, and yet it has no plateaus."""
    truth = planted(seed, activation=TANH)
    model = Counted(lambda points: truth(3 * points / np.linalg.norm(points, axis=1, keepdims=True)))
    found = unweave.identify(model, inputs=INPUTS, budget=20_000, seed=seed)
    assert not found.is_identified
    assert "budget" not in found.reason


class TestLaws:
    @settings(max_examples=6)
    @given(st.integers(0, 2**31), st.integers(1, 8))
    def test_order_signs_and_scales_of_relu_neurons_do_not_matter(self, number: int, neurons: int) -> None:
        rng = np.random.default_rng(number)
        truth = planted(number, activation=RELU, neurons=neurons)
        hidden, output = truth.layers
        order, factors = rng.permutation(neurons), rng.uniform(0.1, 10.0, neurons)
        moved = Network.shallow(
            (factors[:, None] * hidden.weights)[order],
            (factors * hidden.biases)[order],
            (output.weights / factors)[:, order],
            output.biases,
            RELU,
        )
        assert_recovered(unweave.identify(moved, seed=number % 100), truth, route=KINKS)

    @settings(max_examples=6)
    @given(st.integers(0, 2**31), st.sampled_from([RELU, TANH]))
    def test_rotating_the_inputs_rotates_the_weights(self, number: int, activation: Activation) -> None:
        rotation = np.linalg.qr(np.random.default_rng(number).standard_normal((INPUTS, INPUTS)))[0]
        truth = planted(number, activation=activation)
        hidden, output = truth.layers
        found = unweave.identify(lambda points: truth(points @ rotation.T), inputs=INPUTS, seed=number % 100)
        rotated = Network((replace(hidden, weights=hidden.weights @ rotation), output))
        assert_recovered(found, rotated, route=KINKS if activation == RELU else FAR)

    @settings(max_examples=6)
    @given(st.integers(0, 2**31), st.floats(1e-6, 1e6), st.floats(-1e3, 1e3))
    def test_units_of_the_answers_do_not_matter(self, number: int, size: float, offset: float) -> None:
        truth = planted(number, activation=RELU)
        hidden, output = truth.layers
        moved = Network.shallow(
            hidden.weights, hidden.biases, size * output.weights, size * (output.biases + offset), RELU
        )
        found = unweave.identify(moved, seed=number % 100)
        assert_recovered(found, moved, route=KINKS)


def test_a_model_that_fails_on_the_only_way_is_an_error_and_not_an_outcome(seed: int) -> None:
    truth, calls = planted(seed, activation=RELU), []

    def model(points: np.ndarray) -> np.ndarray:
        calls.append(len(points))
        if sum(calls) > 120:
            raise ConnectionError("the server is gone")
        return truth(points)

    with pytest.raises(OracleFailed, match="the server is gone"):
        unweave.identify(model, inputs=INPUTS, domain=unweave.Box(-4.0, 4.0), activation="relu", seed=seed)


@pytest.mark.parametrize("weak", [1e-6, 1e-8])
def test_large_networks_are_solved_also_where_one_neuron_is_weak(weak: float) -> None:
    rng = np.random.default_rng(5)
    weights, biases = rng.standard_normal((20, 30)) / np.sqrt(30), 0.5 * rng.standard_normal(20)
    outputs = rng.standard_normal((1, 20))
    outputs[0, 1] = weak
    truth = Network.shallow(weights, biases, outputs, np.zeros(1), RELU)
    found = unweave.identify(truth)
    assert found.is_identified
    assert found.network is not None
    assert found.certificate is not None
    assert unweave.match(found.network, truth).largest_error < found.certificate.radius < 1e-3
    # One line, one table of gradients: with a second line it would be twice as many.
    assert found.cost.queries < 6 * truth.parameters


def test_all_neurons_that_hessians_tell_apart_are_found_without_a_budget(seed: int) -> None:
    """The default budget was spent half-way with more than three neurons per input, which 20 inputs have easily."""
    truth = general_network(np.random.default_rng([seed, 61]), inputs=8, neurons=26, activation=TANH)
    oracle = CallableOracle(truth, inputs=8, domain=unweave.Box(-1, 1))
    found = Identifier(free_queries=100, free_queries_per_input=0)(oracle, seed=seed)
    assert_recovered(found, truth, route=HESSIANS, atol=1e-8)
