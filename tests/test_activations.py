import pickle
from collections.abc import Callable
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest

from known_activations import ALL, BROKEN, KINKED
from unweave.activations import (
    ELU,
    ERF,
    HARD_SIGMOID,
    HARD_TANH,
    IDENTITY,
    LEAKY_RELU,
    NAMED,
    QUADRATIC,
    RELU,
    SELU,
    SIGMOID,
    SIN,
    SOFTPLUS,
    STEP,
    Activation,
    activation_named,
    elu,
    equivalent_names,
    inverse_of,
    leaky_relu,
    softplus,
)
from unweave.activations.table import SELU_ALPHA, SELU_SCALE
from unweave.exceptions import InvalidInput
from unweave.networks.network import Network

REFLECTING = [activation for activation in ALL if activation.reflection is not None]


def sample(seed: int, size: int = 200) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.0, 3.0, size)


@pytest.mark.parametrize("activation", ALL, ids=repr)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_agree_with_central_differences(activation: Activation, order: int, seed: int) -> None:
    t, step = sample(seed), 1e-5
    t = t[np.all(np.abs(t[:, None] - np.array(activation.breaks(3))) > 2 * step, axis=1)]
    difference = (activation(t + step, order - 1) - activation(t - step, order - 1)) / (2 * step)
    np.testing.assert_allclose(activation(t, order), difference, rtol=1e-6, atol=1e-8)


# Independent formulas in 80 digits, of which differences give derivatives.
IN_DIGITS = {
    "mish": lambda t: t * (1 - 2 / ((1 + t.exp()) ** 2 + 1)),
    "elu": lambda t: t if t > 0 else t.exp() - 1,
    "elu(0.5)": lambda t: t if t > 0 else (t.exp() - 1) / 2,
    "selu": lambda t: Decimal(SELU_SCALE) * (t if t > 0 else Decimal(SELU_ALPHA) * (t.exp() - 1)),
    "hard_sigmoid": lambda t: min(max(t / 6 + Decimal("0.5"), Decimal(0)), Decimal(1)),
}
DIFFERENCES = (
    [(0, 1)],
    [(-1, -0.5), (1, 0.5)],
    [(-1, 1), (0, -2), (1, 1)],
    [(-2, -0.5), (-1, 1), (1, -1), (2, 0.5)],
)


@pytest.mark.parametrize("name", IN_DIGITS)
@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_derivatives_agree_with_many_digits(name: str, order: int) -> None:
    t = np.array([-60.0, -20.0, -7.0, -2.5, -0.9, -0.1, 0.1, 0.4, 1.7, 6.0, 18.0, 40.0])
    with localcontext() as digits:
        digits.prec, step = 80, Decimal("1e-12")
        exact = [
            sum(
                Decimal(weight) * IN_DIGITS[name](Decimal(place) + shift * step) for shift, weight in DIFFERENCES[order]
            )
            / step**order
            for place in t
        ]
    np.testing.assert_allclose(activation_named(name)(t, order), np.array(exact, dtype=float), rtol=2e-12, atol=1e-40)


@pytest.mark.parametrize("activation", BROKEN, ids=repr)
def test_derivatives_jump_where_the_table_says_so(activation: Activation) -> None:
    for order, places in ((1, activation.kinks), (2, activation.curvature_jumps)):
        before, after = (np.array(places) + side for side in (-1e-9, 1e-9))
        assert np.all(np.abs(activation(after, order) - activation(before, order)) > 0.1)
        np.testing.assert_allclose(activation(after, order - 1), activation(before, order - 1), atol=1e-8)


@pytest.mark.parametrize("activation", ALL, ids=repr)
def test_tails_are_approached(activation: Activation) -> None:
    if activation.tails is None:
        assert activation in (SIN, QUADRATIC)
        return
    far = np.array([60.0, 1e3, 1e8])
    for side, tail in zip((-1.0, 1.0), activation.tails, strict=True):
        np.testing.assert_allclose(activation(side * far), tail(side * far), rtol=1e-15, atol=1e-6)
        np.testing.assert_allclose(activation(side * far, 1), np.full(3, tail.slope), atol=1e-6)
    assert activation.bend == activation.tails[1].slope - activation.tails[0].slope


@pytest.mark.parametrize("activation", KINKED, ids=repr)
def test_a_kinked_activation_is_linear_between_its_kinks_and_bends_at_each(activation: Activation, seed: int) -> None:
    t, step = sample(seed), 1e-6
    away = np.min(np.abs(t[:, None] - np.array(activation.kinks)), axis=1) > 1e-4
    difference = (activation(t + step) - activation(t - step)) / (2 * step)
    np.testing.assert_allclose(activation(t, 1)[away], difference[away], atol=1e-8)
    for order in (2, 3):
        np.testing.assert_array_equal(activation(t, order), np.zeros_like(t))
    kinks = np.array(activation.kinks)
    assert np.all(np.abs(activation(kinks + 1e-9, 1) - activation(kinks - 1e-9, 1)) > 0.1)


@pytest.mark.parametrize("slope", [0.01, 0.7, -0.5])
def test_leaky_relu_is_the_larger_of_two_lines(slope: float, seed: int) -> None:
    t = sample(seed)
    np.testing.assert_array_equal(leaky_relu(slope)(t), np.where(t > 0, t, slope * t))
    np.testing.assert_array_equal(leaky_relu(slope)(t, 1), np.where(t > 0, 1.0, slope))


def test_special_slopes_of_leaky_relu(seed: int) -> None:
    t = sample(seed)
    assert leaky_relu(0.0) is RELU
    np.testing.assert_array_equal(leaky_relu(-1.0)(t), np.abs(t))
    assert activation_named("leaky_relu") is LEAKY_RELU
    assert activation_named("leaky_relu(0.25)") == leaky_relu(0.25)
    assert activation_named("leaky_relu(0)") is RELU


def test_hard_tanh_is_clipped(seed: int) -> None:
    t = sample(seed)
    np.testing.assert_array_equal(HARD_TANH(t), np.where(t > 1, 1.0, np.where(t < -1, -1.0, t)))
    np.testing.assert_array_equal(HARD_TANH(t, 1), np.where(np.abs(t) < 1, 1.0, 0.0))


def test_relu_has_the_derivatives_of_its_two_sides(seed: int) -> None:
    t = sample(seed)
    np.testing.assert_array_equal(RELU(t), np.where(t > 0, t, 0.0))
    np.testing.assert_array_equal(RELU(t, 1), np.where(t > 0, 1.0, 0.0))
    np.testing.assert_array_equal(RELU(t, 2), np.zeros_like(t))


@pytest.mark.parametrize("activation", ALL, ids=repr)
def test_values_are_finite_and_quiet_far_out(activation: Activation) -> None:
    t = np.array([-1e8, -1e3, -50.0, 0.0, 50.0, 1e3, 1e8])
    for order in range(4):
        assert np.all(np.isfinite(activation(t, order)))


@pytest.mark.parametrize("activation", REFLECTING, ids=repr)
def test_reflection_law_holds(activation: Activation, seed: int) -> None:
    t, law = sample(seed), activation.reflection
    assert law is not None
    assert activation.reflected_slope == law.slope
    expected = law.sign * activation(t) + law.slope * t + law.offset
    np.testing.assert_allclose(activation(-t), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("activation", [each for each in ALL if each.reflection is None], ids=repr)
def test_no_reflection_law_is_missed(activation: Activation, seed: int) -> None:
    """No sign, slope and offset fit ``g(-t)``."""
    t = sample(seed)
    for sign in (-1, 1):
        columns = np.column_stack([t, np.ones_like(t)])
        rest = activation(-t) - sign * activation(t)
        assert np.linalg.norm(rest - columns @ np.linalg.lstsq(columns, rest, rcond=None)[0]) > 0.1
    assert activation.reflected_slope == 0.0


REWRITTEN = [each for each in ALL if each.rewriting is not None]


def test_the_rewritten_activations_are_known() -> None:
    assert [SIGMOID, HARD_SIGMOID, softplus(2.5), softplus(0.3), elu(SELU_ALPHA)] == REWRITTEN


@pytest.mark.parametrize("activation", REWRITTEN, ids=repr)
def test_rewriting_law_holds(activation: Activation, seed: int) -> None:
    t, law = sample(seed), activation.rewriting
    assert law is not None
    assert law.base.rewriting is None
    np.testing.assert_allclose(activation(t), law.outer * law.base(law.inner * t) + law.offset, atol=1e-14)


@pytest.mark.parametrize("activation", [each for each in ALL if each.inverse is not None], ids=repr)
def test_inverses_lead_back_to_the_argument(activation: Activation, seed: int) -> None:
    # Nearly saturated values have no digits left.
    t = np.clip(sample(seed), -2.5, 2.5) if activation == ERF else np.clip(sample(seed), -6.0, 6.0)
    np.testing.assert_allclose(inverse_of(activation)(activation(t)), t, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("activation", [RELU, SIN, SOFTPLUS, leaky_relu(0.3)], ids=repr)
def test_other_activations_are_not_undone(activation: Activation) -> None:
    with pytest.raises(InvalidInput, match="can't be undone: known are erf, identity, sigmoid, tanh"):
        inverse_of(activation)


@pytest.mark.parametrize("activation", ALL, ids=repr)
def test_homogeneity_is_stated_exactly_where_it_holds(activation: Activation, seed: int) -> None:
    t = sample(seed)
    scales = np.array([0.3, 2.0, 7.0])[:, None]
    degrees = [p for p in (0, 1, 2, 3) if np.allclose(activation(scales * t), scales**p * activation(t), atol=1e-9)]
    assert degrees == ([] if activation.homogeneity is None else [activation.homogeneity])


def test_sine_has_its_period_and_is_negated_by_half_of_it(seed: int) -> None:
    t = sample(seed)
    assert SIN.period is not None
    np.testing.assert_allclose(SIN(t + SIN.period), SIN(t), atol=1e-14)
    np.testing.assert_allclose(SIN(t + SIN.period / 2), -SIN(t), atol=1e-14)
    assert [activation for activation in ALL if activation.period is not None] == [SIN]


@pytest.mark.parametrize("activation", [*ALL, STEP], ids=repr)
def test_files_keep_the_activation(activation: Activation, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    weights, biases = rng.standard_normal((4, 3)), rng.standard_normal(4)
    network = Network.shallow(weights, biases, np.ones((1, 4)), np.zeros(1), activation)
    network.save(tmp_path / "network.safetensors")
    loaded = Network.load(tmp_path / "network.safetensors")
    points = rng.standard_normal((5, 3))
    assert loaded.layers[0].activation == activation
    np.testing.assert_array_equal(loaded(points), network(points))


@pytest.mark.parametrize("activation", ALL, ids=repr)
def test_names_lead_back_to_the_activation(activation: Activation) -> None:
    found = activation_named(activation.name)
    t = np.linspace(-2.0, 2.0, 9)
    assert found == activation
    assert hash(found) == hash(activation)
    np.testing.assert_array_equal(found(t), activation(t))


def test_softplus_of_beta_one_is_softplus() -> None:
    assert softplus(1.0) is SOFTPLUS
    assert softplus(2.0) != SOFTPLUS
    assert IDENTITY != "identity"


@pytest.mark.parametrize(
    "name",
    [
        *("swish", "", "softplus()", "softplus(two)", "softplus(-1)", "softplus(nan)", "softplus(2", "relu(0.1)"),
        *("leaky_relu()", "leaky_relu(1)", "leaky_relu(nan)", "leaky_relu(-2)"),
        *("elu()", "elu(0)", "elu(-1)", "elu(nan)", "selu(1)", "mish(2)"),
    ],
)
def test_unknown_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        activation_named(name)


@pytest.mark.parametrize(
    ("family", "parameters", "needed"),
    [
        (leaky_relu, [1.0, -1.1, np.inf, np.nan], "slope from -1 to below 1"),
        (elu, [0.0, -1.0, np.inf, np.nan], "positive finite alpha"),
        (softplus, [0.0, -1.0, np.inf, np.nan], "positive finite beta"),
    ],
)
def test_parameters_that_make_no_activation_are_refused(
    family: Callable[[float], Activation], parameters: list[float], needed: str
) -> None:
    for parameter in parameters:
        with pytest.raises(InvalidInput, match=needed):
            family(parameter)


def test_special_parameters_of_elu(seed: int) -> None:
    t = sample(seed)
    assert elu(1.0) is ELU
    assert activation_named("elu(0.5)") == elu(0.5)
    np.testing.assert_allclose(SELU(t), SELU_SCALE * elu(SELU_ALPHA)(t), rtol=1e-15)
    np.testing.assert_allclose(ELU(t), np.where(t > 0, t, np.exp(t) - 1), atol=1e-15)


def test_a_step_is_whether_the_argument_is_not_negative(seed: int) -> None:
    t = sample(seed)
    np.testing.assert_array_equal(STEP(t), np.where(t >= 0, 1.0, 0.0))
    law = STEP.reflection
    assert law is not None
    np.testing.assert_array_equal(STEP(-t), law.sign * STEP(t) + law.offset)
    assert activation_named("step") is STEP
    assert not STEP.is_smooth
    assert "step" not in NAMED


def test_step_and_relu_alone_vanish_below_zero() -> None:
    assert [each for each in [*ALL, STEP] if each.vanishes_below] == [RELU, STEP]


@pytest.mark.parametrize("activation", ALL, ids=repr)
def test_activations_are_pickled_by_name(activation: Activation) -> None:
    copy = pickle.loads(pickle.dumps(activation))
    assert copy == activation
    assert np.array_equal(copy(sample(0)), activation(sample(0)))


def test_equivalent_names_are_those_of_the_same_networks() -> None:
    assert equivalent_names(NAMED["tanh"]) == ("sigmoid",)
    assert equivalent_names(NAMED["sigmoid"]) == ("tanh",)
    assert equivalent_names(softplus(2.5)) == ("softplus",)
    assert equivalent_names(RELU) == ()
    assert equivalent_names(NAMED["hard_tanh"]) == ("hard_sigmoid",)
    assert equivalent_names(NAMED["hard_sigmoid"]) == ("hard_tanh",)
    assert equivalent_names(elu(SELU_ALPHA)) == ("selu",)
    assert equivalent_names(NAMED["elu"]) == ()
