import itertools
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unweave.activations import (
    IDENTITY,
    NAMED,
    RELU,
    SIN,
    SOFTPLUS,
    TANH,
    Activation,
    elu,
    leaky_relu,
    softplus,
)
from unweave.exceptions import InvalidInput
from unweave.networks.network import Layer, Network
from unweave.networks.symmetries import (
    canonical,
    is_reflectable,
    match,
    permute,
    reflect,
    rescale,
    rewrite,
    shift_phases,
)

ALL = [*NAMED.values(), softplus(2.5), leaky_relu(0.3), leaky_relu(-1.0), elu(0.5)]
GROUPS = ("weights", "biases", "output_weights", "offset", "skip")


def planted(
    rng: np.random.Generator,
    activations: list[Activation],
    *,
    inputs: int = 3,
    outputs: int = 2,
    neurons: int = 5,
    has_skip: bool = False,
) -> Network:
    """Weights keep away from zero, so that errors relative to their norm stay near rounding."""

    def away_from_zero(*shape: int) -> np.ndarray:
        return rng.uniform(0.3, 2.0, shape) * rng.choice([-1.0, 1.0], shape) / np.sqrt(shape[-1])

    widths = [inputs, *(neurons + i for i in range(len(activations))), outputs]
    layers = tuple(
        Layer(away_from_zero(n, m), rng.normal(size=n), activation)
        for m, n, activation in zip(widths, widths[1:], [*activations, IDENTITY], strict=False)
    )
    return Network(layers, rng.normal(size=(outputs, inputs)) if has_skip else None)


def moved_by_symmetries(rng: np.random.Generator, network: Network) -> Network:
    for index, neurons in enumerate(network.widths):
        activation = network.layers[index].activation
        if is_reflectable(network, index):
            network = reflect(network, index, rng.random(neurons) < 0.5)
        if activation.homogeneity is not None:
            network = rescale(network, index, rng.uniform(0.2, 5.0, neurons))
        if activation.period is not None:
            network = shift_phases(network, index, rng.integers(-3, 4, neurons))
        network = permute(network, index, rng.permutation(neurons))
    return network


def assert_same_function(network: Network, other: Network, rng: np.random.Generator) -> None:
    points = rng.normal(size=(40, network.inputs))
    values = network(points)
    np.testing.assert_allclose(other(points), values, rtol=0, atol=1e-12 * max(1.0, np.max(np.abs(values))))


def assert_same_parameters(network: Network, other: Network, *, atol: float) -> None:
    for layer, expected in zip(network.layers, other.layers, strict=True):
        np.testing.assert_allclose(layer.weights, expected.weights, atol=atol)
        np.testing.assert_allclose(layer.biases, expected.biases, atol=atol)
    skips = [np.zeros((n.outputs, n.inputs)) if n.skip is None else n.skip for n in (network, other)]
    np.testing.assert_allclose(*skips, atol=atol)


seeds = st.integers(0, 2**32 - 1)
# Plans rather than networks: type checks at run time draw random numbers, which strategies must not.
plans = st.fixed_dictionaries(
    {
        "activations": st.lists(st.sampled_from(ALL), min_size=1, max_size=3),
        "inputs": st.integers(1, 4),
        "neurons": st.integers(1, 8),
        "has_skip": st.booleans(),
    }
)


@given(plan=plans, seed=seeds)
def test_symmetries_leave_the_function_and_are_undone_by_match(plan: dict[str, Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = planted(rng, **plan)
    moved = moved_by_symmetries(rng, truth)
    assert_same_function(truth, moved, rng)
    found = match(moved, truth)
    assert found.is_comparable
    assert found.largest_error < 1e-12
    assert_same_function(truth, found.aligned, rng)
    assert_same_function(truth, found.truth, rng)


@given(plan=plans, seed=seeds)
def test_rewriting_leaves_the_function_and_is_undone_by_match(plan: dict[str, Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = planted(rng, **plan)
    rewritten = rewrite(truth)
    assert all(activation.rewriting is None for activation in rewritten.activations[:-1])
    assert_same_function(truth, rewritten, rng)
    found = match(moved_by_symmetries(rng, rewritten), truth)
    assert found.largest_error < 1e-12


@given(plan=plans, seed=seeds)
def test_the_canonical_form_is_the_same_for_equal_functions(plan: dict[str, Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = planted(rng, **plan)
    normal = canonical(truth)
    assert_same_function(truth, normal, rng)
    assert_same_parameters(canonical(normal), normal, atol=1e-12)
    assert_same_parameters(canonical(moved_by_symmetries(rng, truth)), normal, atol=1e-10)


@pytest.mark.parametrize("activation", ALL, ids=repr)
def test_the_canonical_form_is_normalised(activation: Activation, seed: int) -> None:
    normal = canonical(planted(np.random.default_rng(seed), [activation]))
    weights = normal.layers[0].weights
    largest = np.argmax(np.abs(weights), axis=1)
    # Without a reflection law signs are no choice.
    assert activation.reflection is None or np.all(weights[np.arange(len(weights)), largest] > 0.0)
    assert np.all(np.diff(weights[:, 0]) > 0.0)
    if activation.homogeneity is not None:
        np.testing.assert_allclose(np.linalg.norm(weights, axis=1), 1.0, rtol=1e-14)
    if activation.period is not None:
        assert np.all(np.abs(normal.layers[0].biases) <= np.pi / 2)


def test_neurons_that_do_nothing_are_kept(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for activation in ALL:
        truth = planted(rng, [activation])
        weights, outgoing = truth.layers[0].weights.copy(), truth.layers[1].weights.copy()
        weights[1], outgoing[:, 3] = 0.0, 0.0
        hidden, output = truth.layers
        truth = Network((replace(hidden, weights=weights), replace(output, weights=outgoing)))
        assert canonical(truth).widths == (5,)
        assert_same_function(truth, canonical(truth), rng)
        assert match(moved_by_symmetries(rng, truth), truth).largest_error < 1e-12


@pytest.mark.parametrize("activation", [RELU, NAMED["gelu"], SOFTPLUS, leaky_relu(0.3), leaky_relu(-0.5)], ids=repr)
def test_signs_with_an_affine_part_move_it_into_the_linear_part(activation: Activation, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = planted(rng, [activation])
    reflected = reflect(truth, 0, np.ones(5, dtype=bool))
    assert reflected.skip is not None
    slope = float(activation(np.ones(1))[0] - activation(-np.ones(1))[0])
    np.testing.assert_allclose(reflected.skip, slope * truth.layers[1].weights @ truth.layers[0].weights, atol=1e-14)
    assert_same_function(truth, reflected, rng)
    assert match(reflected, truth).largest_error < 1e-13


@pytest.mark.parametrize("activation", [RELU, NAMED["gelu"], SOFTPLUS, leaky_relu(0.3)], ids=repr)
def test_signs_with_an_affine_part_are_no_symmetry_elsewhere(activation: Activation, seed: int) -> None:
    rng = np.random.default_rng(seed)
    deep = planted(rng, [activation, TANH])
    assert not is_reflectable(deep, 0)
    assert is_reflectable(deep, 1)
    with pytest.raises(InvalidInput, match="affine part"):
        reflect(deep, 0, np.ones(5, dtype=bool))
    shallow = planted(rng, [activation])
    curved = replace(shallow, layers=(shallow.layers[0], replace(shallow.layers[1], activation=TANH)))
    assert not is_reflectable(curved, 0)


def perturbed(network: Network, group: str, amount: float) -> Network:
    """Change one number of a shallow network by `amount` in units of the scale of its group."""
    hidden, output = network.layers
    weights, biases, outgoing, offset = (
        array.copy() for array in (hidden.weights, hidden.biases, output.weights, output.biases)
    )
    skip = None if network.skip is None else network.skip.copy()
    if group == "weights":
        weights[2, 1] += amount * np.linalg.norm(weights[2])
    elif group == "biases":
        biases[2] -= amount * np.linalg.norm(weights[2])
    elif group == "output_weights":
        outgoing[1, 2] += amount * np.linalg.norm(outgoing[:, 2])
    elif group == "offset":
        offset[1] -= amount * max(np.max(np.abs(outgoing)), np.max(np.abs(offset)))
    elif skip is not None:
        slopes = np.max(np.abs(outgoing)) * np.max(np.abs(weights))
        skip[1, 1] += amount * max(np.max(np.abs(skip)), slopes)
    return Network.shallow(weights, biases, outgoing, offset, hidden.activation, skip)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("activation", [TANH, SOFTPLUS, NAMED["gaussian"], SIN], ids=repr)
def test_an_error_is_found_with_its_size_in_its_group(activation: Activation, group: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = planted(rng, [activation], has_skip=True)
    found = match(perturbed(truth, group, 1e-4), truth)
    assert getattr(found.errors, group) == pytest.approx(1e-4, rel=1e-6)
    assert found.largest_error == getattr(found.errors, group)
    assert all(getattr(found.errors, other) < 1e-12 for other in GROUPS if other != group)
    expected = 1e-4 * (np.arange(5) == 2) * (group in ("weights", "biases", "output_weights"))
    np.testing.assert_allclose(found.errors.neurons[0], expected, atol=1e-9)


def test_errors_do_not_depend_on_the_unit_of_the_outputs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = planted(rng, [TANH], has_skip=True)
    wrong = truth
    for group in GROUPS:
        wrong = perturbed(wrong, group, 1e-3 * (1 + GROUPS.index(group)))

    def scaled(network: Network, unit: float) -> Network:
        hidden, output = network.layers
        layers = (hidden, Layer(unit * output.weights, unit * output.biases, IDENTITY))
        return Network(layers, None if network.skip is None else unit * network.skip)

    errors = [match(scaled(wrong, unit), scaled(truth, unit)).errors for unit in (1.0, 1e-20, 1e20)]
    for group in GROUPS:
        values = [getattr(each, group) for each in errors]
        np.testing.assert_allclose(values, values[0], rtol=1e-9)


def test_one_wrong_weight_of_a_deep_network_is_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = planted(rng, [TANH, NAMED["gaussian"], SIN])
    weights = truth.layers[1].weights.copy()
    weights[3, 2] += 1e-5 * np.linalg.norm(weights[3])
    wrong = Network((truth.layers[0], replace(truth.layers[1], weights=weights), *truth.layers[2:]))
    found = match(moved_by_symmetries(rng, wrong), truth)
    assert found.errors.weights == pytest.approx(1e-5, rel=1e-6)
    assert int(np.argmax(found.errors.neurons[1])) == 3
    assert [len(each) for each in found.errors.neurons] == [5, 6, 7]


def test_another_network_has_a_large_error(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for activation in ALL:
        assert 0.05 < match(planted(rng, [activation]), planted(rng, [activation])).largest_error < np.inf


def test_a_pairing_that_greed_would_miss() -> None:
    def of_slopes(*slopes: float) -> Network:
        return Network.shallow(np.array(slopes)[:, None], np.zeros(2), np.ones((1, 2)), np.zeros(1), TANH)

    # The nearest pair is 1.2 with 1.3, which would leave 1.6 for 1.0, an error of 0.6.
    found = match(of_slopes(1.2, 1.6), of_slopes(1.3, 1.0))
    np.testing.assert_allclose(found.aligned.layers[0].weights, [[1.6], [1.2]])
    np.testing.assert_allclose(found.errors.neurons[0], [0.3 / 1.3, 0.2])


def cost_by_hand(recovered: Network, truth: Network) -> float:
    """Total cost of pairing the neurons of two shallow networks in the order in which they are."""

    def saturated(difference: np.ndarray, reference: np.ndarray) -> float:
        distance = np.max(np.abs(difference)) / np.linalg.norm(reference)
        return distance / (1 + distance)

    (hidden, output), (true_hidden, true_output) = recovered.layers, truth.layers
    return sum(
        saturated(np.append(hidden.weights[k] - w, hidden.biases[k] - true_hidden.biases[k]), w)
        + saturated(output.weights[:, k] - true_output.weights[:, k], true_output.weights[:, k])
        for k, w in enumerate(true_hidden.weights)
    )


def test_the_pairing_is_the_best_of_all_orders_and_signs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, recovered = planted(rng, [TANH], neurons=4), planted(rng, [TANH], neurons=4)
    candidates = [
        cost_by_hand(permute(reflect(recovered, 0, np.array(flipped)), 0, np.array(order)), truth)
        for flipped in itertools.product([False, True], repeat=4)
        for order in itertools.permutations(range(4))
    ]
    found = match(recovered, truth)
    assert cost_by_hand(found.aligned, found.truth) == pytest.approx(min(candidates), rel=1e-12)


def test_one_wild_neuron_does_not_upset_the_pairing_of_the_others(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = planted(rng, [TANH], neurons=20)
    weights = truth.layers[0].weights.copy()
    weights[7] *= 1e6
    wild = Network((replace(truth.layers[0], weights=weights), truth.layers[1]))
    errors = match(moved_by_symmetries(rng, wild), truth).errors.neurons[0]
    assert errors[7] > 1e3
    assert np.max(np.delete(errors, 7)) < 1e-12


def test_phases_on_both_sides_of_the_cut_are_near() -> None:
    def of_bias(bias: float) -> Network:
        return Network.shallow(np.array([[2.0]]), np.array([bias]), np.ones((1, 1)), np.zeros(1), SIN)

    found = match(of_bias(np.pi / 2 + 1e-9), of_bias(np.pi / 2 - 1e-9))
    assert found.largest_error == pytest.approx(1e-9, rel=1e-5)
    assert canonical(of_bias(-np.pi / 2)).layers[0].biases[0] == pytest.approx(np.pi / 2)


def test_a_linear_part_of_zero_is_none(seed: int) -> None:
    truth = planted(np.random.default_rng(seed), [TANH])
    with_zeros = replace(truth, skip=np.zeros((2, 3)))
    assert match(truth, with_zeros).largest_error == 0.0
    assert match(with_zeros, truth).largest_error == 0.0
    assert match(truth, truth).aligned.skip is None


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda rng: planted(rng, [TANH], neurons=6), "widths differ: the truth has (5,)"),
        (lambda rng: planted(rng, [TANH, TANH]), "widths differ"),
        (lambda rng: planted(rng, [SIN]), "activations differ"),
        (lambda rng: planted(rng, [TANH], inputs=4), "inputs differ"),
        (lambda rng: planted(rng, [TANH], outputs=1), "outputs differ"),
    ],
)
def test_other_architectures_are_not_comparable(
    make: Callable[[np.random.Generator], Network], reason: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    found = match(make(rng), planted(rng, [TANH]))
    assert not found.is_comparable
    assert found.largest_error == np.inf
    assert found.reason is not None
    assert reason in found.reason


def test_a_thousand_neurons_are_matched_in_seconds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = planted(rng, [TANH], inputs=50, neurons=1000)
    moved = moved_by_symmetries(rng, truth)
    start = time.perf_counter()
    assert match(moved, truth).largest_error < 1e-12
    assert time.perf_counter() - start < 3.0


@pytest.mark.parametrize("activation", [NAMED["mish"], NAMED["elu"], NAMED["selu"], elu(0.5)], ids=repr)
def test_without_a_reflection_law_a_sign_belongs_to_its_neuron(activation: Activation, seed: int) -> None:
    truth = planted(np.random.default_rng(seed), [activation], has_skip=True)
    assert not is_reflectable(truth, 0)
    with pytest.raises(InvalidInput, match="has no reflection law: keep its signs"):
        reflect(truth, 0, np.ones(truth.widths[0], dtype=bool))
    hidden, output = truth.layers
    weights = hidden.weights.copy()
    weights[2] *= -1.0
    flipped = Network((replace(hidden, weights=weights), output), truth.skip)
    assert match(flipped, truth).largest_error > 0.1


def test_what_is_no_symmetry_is_refused(seed: int) -> None:
    network = planted(np.random.default_rng(seed), [TANH])
    with pytest.raises(InvalidInput, match="homogeneous"):
        rescale(network, 0, np.ones(5))
    with pytest.raises(InvalidInput, match="positive"):
        rescale(planted(np.random.default_rng(seed), [NAMED["quadratic"]]), 0, np.array([1.0, 1.0, 1.0, 1.0, -1.0]))
    with pytest.raises(InvalidInput, match="periodic"):
        shift_phases(network, 0, np.ones(5, dtype=np.int64))
    with pytest.raises(InvalidInput, match="once"):
        permute(network, 0, np.array([0, 1, 2, 3, 3]))
    for layer in (1, -1):
        with pytest.raises(InvalidInput, match="hidden layers"):
            permute(network, layer, np.arange(5))


def test_the_helpers_of_these_tests_fail_on_a_wrong_answer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = planted(rng, [TANH], has_skip=True)
    for group in GROUPS:
        wrong = perturbed(truth, group, 1e-3)
        with pytest.raises(AssertionError):
            assert_same_function(truth, wrong, rng)
        with pytest.raises(AssertionError):
            assert_same_parameters(truth, wrong, atol=1e-6)
