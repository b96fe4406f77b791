"""Lowest layers of thresholded units under unknown functions, against planted rows."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import unweave
from unweave.activations import IDENTITY, RELU, STEP, TANH, Activation
from unweave.exceptions import InvalidInput
from unweave.identification.plateaus.entry import identify_lowest_layer
from unweave.networks.network import Layer, Network
from unweave.networks.planted import (
    ThresholdFunction,
    any_of,
    conditioned_rows,
    pairs_only,
    sum_and_pairs,
    threshold_function,
    upper_network,
)
from unweave.oracles.oracle import CallableOracle
from unweave.result import Outcome

INPUTS = 3
Above = Callable[[np.ndarray], np.ndarray]


def planted(
    seed: int,
    above: Above,
    *,
    activation: Activation = STEP,
    threshold: float = 1.0,
    condition: float = 1.0,
    inputs: int = INPUTS,
    rows: int | None = None,
) -> ThresholdFunction:
    rng = np.random.default_rng([seed, 7])
    return threshold_function(
        rng, inputs=inputs, threshold=threshold, activation=activation, above=above, condition=condition, rows=rows
    )


def network_above(seed: int, *, activation: Activation = TANH) -> Network:
    # Wide enough for some relu neuron to see every unit where all units are off.
    return upper_network(np.random.default_rng([seed, 8]), INPUTS, neurons=24, activation=activation)


def assert_rows(found: Layer | None, truth: Layer, *, atol: float = 1e-10) -> None:
    """The same unit rows and thresholds, in any order."""
    assert found is not None
    planes = [np.hstack([layer.weights, layer.biases[:, None]]) for layer in (found, truth)]
    assert planes[0].shape == planes[1].shape
    distances = np.linalg.norm(planes[0][:, None] - planes[1][None], axis=2)
    assert sorted(np.argmin(distances, axis=1)) == list(range(truth.neurons))
    assert np.max(np.min(distances, axis=1)) <= atol


class Recorded:
    """Remembers every point that it was asked."""

    def __init__(self, model: Callable[[np.ndarray], np.ndarray]) -> None:
        self.model = model
        self.asked: list[np.ndarray] = []

    def __call__(self, points: np.ndarray) -> np.ndarray:
        self.asked.append(points)
        return self.model(points)

    @property
    def points(self) -> np.ndarray:
        return np.concatenate(self.asked)


@pytest.mark.each_value
@pytest.mark.parametrize("activation", [STEP, RELU], ids=repr)
@pytest.mark.parametrize("above", [any_of, sum_and_pairs, "network", "relu network"])
def test_planted_rows_are_found(activation: Activation, above: Above | str, seed: int) -> None:
    # Low thresholds and correlated rows for one activation, high ones and orthogonal rows for the other.
    threshold, condition = (0.5, 3.0) if activation == STEP else (6.0, 1.0)
    if isinstance(above, str):
        above = network_above(seed, activation=RELU if above == "relu network" else TANH)
    truth = planted(seed, above, activation=activation, threshold=threshold, condition=condition)
    found = identify_lowest_layer(truth, inputs=INPUTS, seed=seed)
    assert found.outcome is Outcome.PARTLY_IDENTIFIED
    assert found.first_layer is not None
    assert found.first_layer.activation == activation
    assert_rows(found.first_layer, truth.lowest)
    assert "no other one." in found.reason


def test_the_assertion_can_fail(seed: int) -> None:
    layer = planted(seed, any_of).lowest
    assert_rows(replace(layer, weights=layer.weights[::-1]), layer)
    for wrong in (
        replace(layer, biases=layer.biases + 1e-9),
        replace(layer, weights=-layer.weights),
        Layer(layer.weights[1:], layer.biases[1:], layer.activation),
        Layer(layer.weights[[0, 0, 2]], layer.biases, layer.activation),
    ):
        with pytest.raises(AssertionError):
            assert_rows(wrong, layer)


def test_no_point_is_asked_twice_and_all_are_counted(seed: int) -> None:
    model = Recorded(planted(seed, any_of, condition=3.0))
    found = identify_lowest_layer(model, inputs=INPUTS, seed=seed)
    assert found.queries == len(model.points)
    assert len(np.unique(model.points, axis=0)) == len(model.points)
    # 59 fresh points with a neighbour each, and 32 pairs near the centre for every row, judge what was found.
    judging = 2 * 59 + 2 * 32 * INPUTS
    # Lines that only confirm cost as much for few inputs as for many.
    assert found.queries - judging < 500 + 100 * INPUTS * (INPUTS + 1)


def test_the_same_seed_asks_the_same(seed: int) -> None:
    truth = planted(seed, sum_and_pairs)
    asked = []
    for each in (seed, seed, seed + 1):
        model = Recorded(truth)
        identify_lowest_layer(model, inputs=INPUTS, seed=each)
        asked.append(model.points)
    np.testing.assert_array_equal(asked[0], asked[1])
    assert not np.array_equal(asked[0][:50], asked[2][:50])


@pytest.mark.parametrize("budget", [1, 300, 1_200])
def test_a_budget_is_never_exceeded_and_what_was_found_is_right(budget: int, seed: int) -> None:
    truth = planted(seed, any_of, activation=RELU)
    oracle = CallableOracle(truth, inputs=INPUTS, budget=budget)
    found = identify_lowest_layer(oracle, seed=seed)
    assert oracle.ledger.sent == found.queries <= budget
    if found.first_layer is None:
        assert found.outcome is Outcome.NOT_IDENTIFIED
        assert "budget" in found.reason
        return
    assert found.outcome is Outcome.PARTLY_IDENTIFIED
    assert "there may be more" in found.reason
    assert "ended early" in found.reason
    products = np.abs(found.first_layer.weights @ truth.lowest.weights.T)
    np.testing.assert_allclose(np.max(products, axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("rows", [1, 2])
def test_fewer_rows_than_inputs_are_counted(rows: int, seed: int) -> None:
    truth = planted(seed, sum_and_pairs, rows=rows)
    assert_rows(identify_lowest_layer(truth, inputs=INPUTS, seed=seed).first_layer, truth.lowest)


def test_more_rows_than_inputs_are_found(seed: int) -> None:
    truth = planted(seed, any_of, inputs=3, rows=5)
    found = identify_lowest_layer(truth, inputs=3, seed=seed, quiet_lines=40)
    assert_rows(found.first_layer, truth.lowest)


def test_every_row_may_have_its_own_threshold(seed: int) -> None:
    thresholds = np.random.default_rng(seed).uniform(0.5, 3.0, INPUTS)
    truth = planted(seed, any_of, condition=3.0)
    truth = replace(truth, lowest=replace(truth.lowest, biases=-thresholds))
    assert_rows(identify_lowest_layer(truth, inputs=INPUTS, seed=seed).first_layer, truth.lowest)


def test_steps_need_no_place_where_all_are_off(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lowest = Layer(conditioned_rows(rng, 5, 5, condition=2.0), rng.uniform(-1.0, 1.0, 5), STEP)
    truth = ThresholdFunction(lowest, lambda values: values @ np.arange(1.0, 6.0)[:, None])
    layer = identify_lowest_layer(truth, inputs=5, seed=seed).first_layer
    assert layer is not None
    # The rows point away from the centre, where some of them are on.
    signs = np.where(lowest.biases > 0.0, -1.0, 1.0)
    assert_rows(layer, Layer(signs[:, None] * lowest.weights, signs * lowest.biases, STEP))


def test_steps_that_act_only_in_pairs_are_found(seed: int) -> None:
    truth = planted(seed, pairs_only)
    assert_rows(identify_lowest_layer(truth, inputs=INPUTS, seed=seed).first_layer, truth.lowest)


def test_a_relu_that_is_never_seen_from_a_plateau_is_missed_and_that_is_said(seed: int) -> None:
    # The last unit acts only where the first is on, and there answers are constant nowhere.
    truth = planted(seed, lambda values: values[:, :1] * (1.0 + values[:, -1:]) + values[:, 1:-1].sum(axis=1)[:, None])
    truth = replace(truth, lowest=replace(truth.lowest, activation=RELU))
    found = identify_lowest_layer(truth, inputs=INPUTS, seed=seed)
    assert found.first_layer is not None
    assert found.first_layer.neurons == INPUTS - 1
    assert "there may be more" in found.reason
    names = [check.name for check in found.diagnostics if check.verdict.value == "fail"]
    assert "places where answers change in directions that no row sees" in names


def test_kinks_of_higher_units_that_are_dead_on_the_plateau_are_refused(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.5, 1.5, (INPUTS, INPUTS))

    def above(values: np.ndarray) -> np.ndarray:
        return np.maximum(values @ weights.T - 0.5, 0.0).sum(axis=1)[:, None]

    found = identify_lowest_layer(planted(seed, above, activation=RELU), inputs=INPUTS, seed=seed)
    assert found.outcome is Outcome.NOT_IDENTIFIED
    assert "hyperplanes between these goes on far away" in found.reason


def test_nearly_equal_rows_are_told_apart(seed: int) -> None:
    truth = planted(seed, any_of)
    weights = truth.lowest.weights.copy()
    weights[1] = weights[0] + 1e-2 * weights[1]
    weights[1] /= np.linalg.norm(weights[1])
    truth = replace(truth, lowest=replace(truth.lowest, weights=weights))
    assert_rows(identify_lowest_layer(truth, inputs=INPUTS, seed=seed).first_layer, truth.lowest, atol=1e-8)


def test_units_of_the_inputs_and_several_outputs_change_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scales, center = rng.uniform(0.1, 10.0, INPUTS), rng.standard_normal(INPUTS)
    truth = planted(seed, any_of, activation=RELU)

    def model(points: np.ndarray) -> np.ndarray:
        answers = truth((points - center) / scales)
        return 100.0 + np.hstack([answers, -3.0 * answers])

    domain = unweave.Everywhere(scale=scales, center=center)
    layer = identify_lowest_layer(model, inputs=INPUTS, domain=domain, seed=seed).first_layer
    weights = truth.lowest.weights / scales
    biases = truth.lowest.biases - weights @ center
    lengths = np.linalg.norm(weights, axis=1)
    assert_rows(layer, Layer(weights / lengths[:, None], biases / lengths, RELU), atol=1e-9)


def test_single_precision_answers_do_for_steps(seed: int) -> None:
    truth = planted(seed, sum_and_pairs)
    found = identify_lowest_layer(lambda points: truth(points).astype(np.float32), inputs=INPUTS, seed=seed)
    assert_rows(found.first_layer, truth.lowest)


def ball(points: np.ndarray) -> np.ndarray:
    return (np.linalg.norm(points, axis=1) > 1.5)[:, None].astype(float)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (lambda points: np.full((len(points), 1), 2.5), "met no hyperplane"),
        (lambda points: np.sin(points.sum(axis=1)), "constant around none"),
        (ball, "not those of hyperplanes"),
    ],
    ids=["constant", "smooth", "ball"],
)
def test_other_functions_are_refused(model: Callable[..., object], reason: str, seed: int) -> None:
    found = identify_lowest_layer(model, inputs=3, seed=seed)
    assert found.outcome is Outcome.NOT_IDENTIFIED
    assert found.first_layer is None
    assert reason in found.reason


def test_noise_is_refused(seed: int) -> None:
    truth, rng = planted(seed, any_of), np.random.default_rng(seed)
    found = identify_lowest_layer(
        lambda points: truth(points) + 1e-6 * rng.standard_normal((len(points), 1)), inputs=INPUTS, seed=seed
    )
    assert found.outcome is Outcome.NOT_IDENTIFIED


@pytest.mark.parametrize(
    "arguments",
    [{"seed": -1}, {"seed": 1.5}, {"quiet_lines": 0}, {"domain": unweave.Box(-1.0, 1.0)}, {"inputs": None}],
    ids=str,
)
@pytest.mark.usefixtures("without_type_checks")
def test_wrong_use_raises_before_any_query(arguments: dict[str, object]) -> None:
    model = Recorded(any_of)
    with pytest.raises(InvalidInput):
        identify_lowest_layer(model, **{"inputs": 3, **arguments})  # type: ignore[arg-type]
    assert model.asked == []


@pytest.mark.each_value
@pytest.mark.parametrize("activation", [None, "step"])
@pytest.mark.parametrize(("above", "threshold"), [(any_of, 0.5), (sum_and_pairs, 6.0)])
def test_identify_finds_the_rows_of_steps(activation: str | None, above: Above, threshold: float, seed: int) -> None:
    truth = planted(seed, above, threshold=threshold)
    found = unweave.identify(truth, inputs=INPUTS, seed=seed, activation=activation)
    assert found.outcome is Outcome.PARTLY_IDENTIFIED
    assert found.route == "plateau walk"
    assert_rows(found.first_layer, truth.lowest)


@pytest.mark.parametrize("threshold", [1.0, 6.0])
def test_identify_finds_the_rows_of_relus_under_a_polynomial(threshold: float, seed: int) -> None:
    truth = planted(seed, sum_and_pairs, activation=RELU, threshold=threshold)
    found = unweave.identify(truth, inputs=INPUTS, seed=seed)
    assert found.outcome is Outcome.PARTLY_IDENTIFIED
    assert found.route == "plateau walk"
    assert_rows(found.first_layer, truth.lowest)


def test_identify_finds_a_whole_relu_network_that_is_off_around_the_centre(seed: int) -> None:
    lowest = planted(seed, any_of, activation=RELU, threshold=8.0).lowest
    truth = Network((lowest, Layer(np.arange(1.0, 1.0 + INPUTS)[None], np.array([0.5]), IDENTITY)))
    found = unweave.identify(truth, seed=seed)
    assert found.is_identified
    assert unweave.match(found.require().network, truth).largest_error < 1e-8  # type: ignore[arg-type]


def test_identify_still_reads_a_constant_function(seed: int) -> None:
    found = unweave.identify(lambda points: np.full((len(points), 1), 2.5), inputs=3, seed=seed)
    assert found.outcome is unweave.Outcome.PARTLY_IDENTIFIED
    assert found.network is not None
    assert found.network.widths == (0,)


@pytest.mark.parametrize("rows", [2, 3])
def test_parallel_hyperplanes_of_rounded_answers_are_no_layer(rows: int) -> None:
    """A smooth neuron rounded to one decimal was read as a lowest layer of two steps."""
    direction = np.random.default_rng(rows).standard_normal(6)
    thresholds = np.arange(rows) - 0.3

    def rounded(points: np.ndarray) -> np.ndarray:
        return np.round(-1.7 - 0.1 * np.sum(points @ direction[:, None] > thresholds, axis=1), 1)

    found = unweave.identify(rounded, inputs=6)
    assert found.first_layer is None
    assert "rounded" in found.reason


def test_parallel_hyperplanes_of_outputs_rounded_to_different_digits_are_no_layer() -> None:
    """Steps of 1/4 and of 1/3 in float32: multiples of no one number, but with few digits."""
    direction = np.random.default_rng(2).standard_normal(3)

    def rounded(points: np.ndarray) -> np.ndarray:
        places = points @ direction
        return np.column_stack([0.25 * (places > 0.2), (places > -0.3).astype(np.float32) / np.float32(3.0)])

    found = unweave.identify(rounded, inputs=3)
    assert found.first_layer is None
    assert "rounded" in found.reason


def test_parallel_hyperplanes_of_other_answers_are_a_layer() -> None:
    direction = np.random.default_rng(2).standard_normal(6)
    found = unweave.identify(lambda points: (points @ direction > 0.2) + 0.7 * (points @ direction > -0.3), inputs=6)
    assert found.first_layer is not None
    assert found.first_layer.neurons == 2


def bent_label(points: np.ndarray) -> np.ndarray:
    """The sign of a network of two tanh neurons, whose boundary has two asymptotes."""
    rows = np.array([[0.9, 0.4], [-0.5, 0.8]])
    return np.tanh(points @ rows.T + [0.3, -0.4]) @ [1.0, 1.3] > 0.1


def nearly_flat(points: np.ndarray) -> np.ndarray:
    return points @ [1.0, 0.3] > 1e-3 * np.arctan(points @ [-0.2, 0.7])


@pytest.mark.parametrize(("boundary", "reason"), [(bent_label, "of 59 fresh answers differ"), (nearly_flat, "none of")])
def test_asymptotes_of_curved_boundaries_are_no_rows(boundary: Above, reason: str) -> None:
    """They were "a lowest layer of steps" to ten digits, with a seventh of the domain on the wrong side."""
    found = identify_lowest_layer(lambda x: boundary(x).astype(float), inputs=2)
    assert found.outcome is Outcome.NOT_IDENTIFIED
    assert reason in found.reason
    assert found.first_layer is None


def test_units_that_are_linear_beyond_their_jump_are_no_steps(seed: int) -> None:
    """A hard shrink was "constant on plateaus", with two rows of step."""
    row = np.random.default_rng(seed).standard_normal(3)
    row *= 1.5 / np.linalg.norm(row)
    shrunk = lambda x: (x @ row) * (np.abs(x @ row) > 0.5)  # noqa: E731
    found = identify_lowest_layer(shrunk, inputs=3, seed=seed)
    assert found.first_layer is None
    assert "of 59 fresh points they also change nearby" in found.reason
