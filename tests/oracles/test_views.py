"""Views of an oracle: standard coordinates and logits behind probabilities; the noise and the digits of answers."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import softmax

import unweave
from plants import planter
from unweave.exceptions import BadAnswer, BudgetExhausted
from unweave.networks.network import Network
from unweave.networks.planted import deep_network, general_network
from unweave.oracles.logits import LogitsOracle
from unweave.oracles.oracle import Box, CallableOracle, Domain, Everywhere
from unweave.oracles.views import (
    NoiseLook,
    StandardOracle,
    are_probabilities,
    standardise,
)

DOMAINS = [
    Box(np.array([0.0, -3.0, 10.0]), np.array([1.0, 5.0, 10.5])),
    Everywhere(scale=np.array([0.1, 1.0, 20.0]), center=np.array([5.0, 0.0, -1.0])),
]


def model(points: np.ndarray) -> np.ndarray:
    return np.stack([np.sin(points.sum(axis=1)), 1e6 + 1e3 * points[:, 0]], axis=1)


def planted(domain: Domain, seed: int, *, points: int = 40) -> tuple[StandardOracle, np.ndarray, np.ndarray]:
    oracle = CallableOracle(model, inputs=3, domain=domain)
    center, half_width = domain.frame(3)
    rng = np.random.default_rng(seed)
    asked = center + half_width * domain.sample_standard(rng, points, 3, 0.0)
    values = oracle.query(asked)
    return standardise(oracle, values), asked, values


@pytest.mark.parametrize("domain", DOMAINS)
def test_answers_come_in_units_of_their_spread(domain: Domain, seed: int) -> None:
    oracle, asked, _ = planted(domain, seed)
    values = oracle.query(oracle.to_standard(asked))
    np.testing.assert_allclose(values.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(values.std(axis=0), 1.0, rtol=1e-9)
    assert (oracle.inputs, oracle.outputs) == (3, 2)


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_answers_are_those_of_the_oracle(domain: Domain, seed: int) -> None:
    oracle, asked, values = planted(domain, seed)
    answers = oracle.query(oracle.to_standard(asked)) * oracle.size + oracle.offset
    np.testing.assert_allclose(answers, values, rtol=1e-9)
    assert oracle.oracle.ledger.sent == 2 * len(asked)


def test_an_answer_far_out_that_is_too_large_to_be_computed_with_is_a_bad_one() -> None:
    oracle = CallableOracle(lambda points: np.sinh(points), inputs=1)
    standard = standardise(oracle, oracle.query(np.linspace(-2.0, 2.0, 20)[:, None]))
    assert np.all(np.isfinite(standard.query(np.array([[-7.0], [7.0], [100.0]]))))
    with pytest.raises(BadAnswer, match=r"of 1\.9e\+260 far from the centre is more than 1e\+60 times") as failure:
        standard.query(np.array([[1.0], [600.0]]))
    assert failure.value.queries == oracle.ledger.sent == 25


def test_a_large_answer_in_the_domain_is_given() -> None:
    """The first answers may be tiny, as those beside a narrow bump."""
    oracle = CallableOracle(lambda points: np.exp(-(points**2)), inputs=1)
    standard = standardise(oracle, oracle.query(np.linspace(20.0, 21.0, 20)[:, None]))
    assert standard.query(np.zeros((1, 1)))[0, 0] > 1e100


def test_a_box_becomes_the_standard_box(seed: int) -> None:
    oracle, _, _ = planted(DOMAINS[0], seed)
    corners = np.array([[0.0, -3.0, 10.0], [1.0, 5.0, 10.5]])
    np.testing.assert_allclose(oracle.to_standard(corners), [[-1.0] * 3, [1.0] * 3], atol=1e-12)


@pytest.mark.parametrize("margin", [0.0, 0.4])
def test_samples_keep_the_margin_from_the_faces(margin: float, seed: int) -> None:
    oracle, _, _ = planted(DOMAINS[0], seed)
    points = oracle.sample(np.random.default_rng(seed), 500, margin=margin)
    assert np.max(np.abs(points)) <= 1 - margin
    assert np.max(np.abs(points)) > 0.95 * (1 - margin)
    oracle.query(points + margin)


def test_samples_without_a_box_are_standard_normal(seed: int) -> None:
    oracle, _, _ = planted(DOMAINS[1], seed)
    points = oracle.sample(np.random.default_rng(seed), 4_000)
    np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=0.1)
    np.testing.assert_allclose(points.std(axis=0), 1.0, atol=0.1)


def test_a_constant_output_is_measured_by_its_magnitude() -> None:
    oracle = CallableOracle(model, inputs=3)
    # Two units of the last digit are rounding, and four if neighbours differ as much.
    values = np.array([[5.0, 0.0, 1e8, 1e8], [5.0, 0.0, 1e8 + 2.0**-25, 1e8 + 2.0**-24]])
    found = standardise(oracle, values, scatter=np.array([0.0, 0.0, 0.0, 2.0**-25]))
    np.testing.assert_array_equal(found.size, [5.0, 1.0, 1e8 + 2.0**-25, 1e8 + 2.0**-24])


@pytest.mark.parametrize(("kind", "offset"), [(np.float16, 200.0), (np.float32, 2e6), (np.float64, 3e14)])
def test_few_digits_do_not_change_the_unit_of_errors(kind: type, offset: float) -> None:
    """Answers that are the same nearby and take six values in the domain have a spread, if a coarse one."""
    oracle = CallableOracle(lambda x: (x[:, :1] + offset).astype(kind), inputs=1, domain=Box(0.0, 0.7))
    noise = NoiseLook()(oracle, np.random.default_rng(0))
    values = oracle.query(np.linspace(0.0, 0.7, 50)[:, None])
    np.testing.assert_array_equal(standardise(oracle, values, scatter=noise.scatter).size, np.std(values, axis=0))


def test_an_offset_does_not_change_the_unit_of_errors() -> None:
    """audit A9: errors are relative to the spread of the answers, however large their offset is."""
    oracle = CallableOracle(model, inputs=3)
    found = standardise(oracle, np.array([[1e10 - 1.0], [1e10 + 1.0]]))
    np.testing.assert_allclose(found.size, [1.0])


def test_logits_are_centred_and_counted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((4, 3))
    inner = CallableOracle(lambda points: softmax(points @ weights.T + 2.0, axis=1), inputs=3, budget=12)
    inner.query(np.zeros((1, 3)))
    oracle = LogitsOracle(inner)
    points = rng.standard_normal((7, 3))
    logits = points @ weights.T
    np.testing.assert_allclose(oracle.query(points), logits - logits.mean(axis=1, keepdims=True), atol=1e-12)
    assert oracle.ledger.sent == inner.ledger.sent == 8
    with pytest.raises(BudgetExhausted):
        oracle.query(np.zeros((5, 3)))
    assert inner.ledger.sent == 8


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([[0.2, 0.8], [0.5, 0.5]], True),
        ([[0.2, 0.7], [0.5, 0.5]], False),
        ([[1.2, -0.2], [0.5, 0.5]], False),
        ([[1.0], [1.0]], False),
    ],
)
def test_probabilities_are_recognised(values: list[list[float]], expected: bool) -> None:
    assert are_probabilities(np.array(values)) is expected


@pytest.mark.parametrize("is_deep", [False, True])
def test_a_classifier_is_identified_up_to_the_shift_of_its_logits(is_deep: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = (
        deep_network(rng, shape=(6, 5, 3, 4), shift_deviation=0.2)
        if is_deep
        else general_network(rng, inputs=4, neurons=5, outputs=3)
    )
    found = unweave.identify(lambda points: softmax(truth(points), axis=1), inputs=truth.inputs, seed=seed)
    assert found.is_identified
    assert found.network is not None
    assert found.network.widths == truth.widths
    assert "softmax" in found.reason
    points = rng.standard_normal((200, truth.inputs))
    np.testing.assert_allclose(softmax(found.network(points), axis=1), softmax(truth(points), axis=1), atol=1e-9)


# Noise

INPUTS = 6


def in_precision(network: Network, dtype: type) -> Callable[[np.ndarray], np.ndarray]:
    """A tanh network that computes everything in another type of number."""
    hidden, output = network.layers
    arrays = [array.astype(dtype) for array in (hidden.weights, hidden.biases, output.weights, output.biases)]
    weights, biases, output_weights, offset = arrays

    def answer(points: np.ndarray) -> np.ndarray:
        return np.tanh(points.astype(dtype) @ weights.T + biases) @ output_weights.T + offset

    return answer


smooth_network = planter(general_network, 1, inputs=INPUTS, neurons=8)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rounding_errors_are_estimated(dtype: type, seed: int) -> None:
    network = smooth_network(seed)
    model = in_precision(network, dtype)
    # The rounding of the parameters is no noise: both models have those of the coarser type.
    truth = in_precision(network, np.longdouble) if dtype is np.float64 else rounded(network)
    points = np.random.default_rng([seed, 2]).standard_normal((2_000, INPUTS))
    actual = np.std((model(points) - truth(points)).astype(float))
    probes = [
        NoiseLook()(CallableOracle(model, inputs=INPUTS), np.random.default_rng([seed, 3, probe])) for probe in range(9)
    ]
    assert all(probe.is_deterministic for probe in probes)
    # Two lines are a small sample: most estimates, not all, are right within the factor.
    assert actual / 5 < np.median([probe.deviation[0] for probe in probes]) < 5 * actual


def rounded(network: Network) -> Callable[[np.ndarray], np.ndarray]:
    """The network with parameters and points rounded to float32, evaluated in float64."""
    hidden, output = network.layers
    weights, biases, output_weights, offset = (
        array.astype(np.float32).astype(float)
        for array in (hidden.weights, hidden.biases, output.weights, output.biases)
    )
    return lambda x: np.tanh(x.astype(np.float32).astype(float) @ weights.T + biases) @ output_weights.T + offset


@pytest.mark.parametrize("level", [1e-8, 1e-4])
def test_additive_noise_is_estimated(level: float, seed: int) -> None:
    network, noise = smooth_network(seed), np.random.default_rng([seed, 4])
    oracle = CallableOracle(
        lambda points: network(points) + level * noise.standard_normal((len(points), 1)), inputs=INPUTS
    )
    found = NoiseLook()(oracle, np.random.default_rng([seed, 3]))
    assert level / 5 < found.deviation[0] < 5 * level
    assert not found.is_deterministic
    assert level / 5 < found.repeat_spread < 10 * level


def test_every_output_has_its_own_noise(seed: int) -> None:
    network, noise = smooth_network(seed, outputs=3), np.random.default_rng([seed, 4])
    levels = np.array([1e-9, 1e-3, 1e-6])
    oracle = CallableOracle(
        lambda points: network(points) + levels * noise.standard_normal((len(points), 3)), inputs=INPUTS
    )
    found = NoiseLook()(oracle, np.random.default_rng([seed, 3]))
    assert found.deviation.shape == found.magnitude.shape == (3,)
    assert np.all((levels / 5 < found.deviation) & (found.deviation < 5 * levels))


def test_a_kink_on_one_line_is_no_noise(seed: int) -> None:
    network = smooth_network(seed)
    probe = NoiseLook()(CallableOracle(network, inputs=INPUTS), np.random.default_rng(seed))
    first = probe.points[: NoiseLook().line_points]
    middle, along = first[4] + 0.3 * (first[5] - first[4]), first[1] - first[0]

    def kinked(points: np.ndarray) -> np.ndarray:
        return network(points) + np.abs((points - middle) @ along / np.linalg.norm(along))[:, None]

    found = NoiseLook()(CallableOracle(kinked, inputs=INPUTS), np.random.default_rng(seed))
    np.testing.assert_array_equal(found.points, probe.points)
    assert found.deviation[0] < 20 * probe.deviation[0]


def test_it_costs_two_lines_and_the_repeats_and_hands_the_answers_on(seed: int) -> None:
    network = smooth_network(seed, outputs=2)
    oracle = CallableOracle(network, inputs=INPUTS)
    found = NoiseLook()(oracle, np.random.default_rng(seed))
    assert oracle.ledger.sent == 21
    np.testing.assert_allclose(found.values, network(found.points), rtol=1e-14)
    np.testing.assert_array_equal(found.magnitude, np.max(np.abs(found.values), axis=0))


def test_a_constant_has_the_noise_of_its_rounding() -> None:
    found = NoiseLook()(CallableOracle(lambda points: np.full(len(points), 3.0), inputs=2), np.random.default_rng(0))
    assert 0 < found.deviation[0] < 3 * np.finfo(float).eps * 3.0


def test_zero_still_has_positive_noise() -> None:
    found = NoiseLook()(CallableOracle(lambda points: 0.0 * points[:, 0], inputs=2), np.random.default_rng(0))
    assert found.deviation[0] > 0


def test_a_model_with_a_memory_is_not_deterministic() -> None:
    calls = iter(range(10))
    oracle = CallableOracle(lambda points: points[:, 0] + 1e-3 * next(calls), inputs=2)
    found = NoiseLook()(oracle, np.random.default_rng(0))
    assert found.repeat_spread == pytest.approx(1e-3)


@pytest.mark.parametrize(
    "domain", [Box(-1.0, 1.0), Box(np.full(INPUTS, 10.0), np.full(INPUTS, 10.5)), Everywhere(100.0)]
)
def test_the_lines_follow_the_domain(domain: Box | Everywhere, seed: int) -> None:
    oracle = CallableOracle(lambda points: np.sin(points.sum(axis=1)), inputs=INPUTS, domain=domain)
    found = NoiseLook()(oracle, np.random.default_rng(seed))
    assert np.all(domain.contains(found.points))


@pytest.mark.parametrize("domain", [Box(59813.017, 59815.2), Everywhere(scale=0.3, center=-1234.5)])
def test_points_are_kept_where_the_model_was_asked(domain: Box | Everywhere, seed: int) -> None:
    """Far from zero coordinates are rounded; of a steep function that is more than the rounding of its answers."""
    asked = []

    def model(points: np.ndarray) -> np.ndarray:
        asked.append(points)
        return points[:, :1]

    oracle = CallableOracle(model, inputs=3, domain=domain)
    view = standardise(oracle, np.array([[0.0], [1.0]]))
    points = view.sample(np.random.default_rng(seed), 50)
    points = np.concatenate([points, np.ones((1, 3)), -np.ones((1, 3))])
    view.query(points)
    kept = view.as_asked(points)
    np.testing.assert_array_equal(kept, (asked[-1] - view.center) / view.half_width)
    np.testing.assert_allclose(kept, points, atol=1e-10)
    # What was kept is asked at the same places again.
    view.query(kept)
    np.testing.assert_array_equal(asked[-1], asked[-2])
