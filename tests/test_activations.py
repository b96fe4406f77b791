import itertools
import pickle

import numpy as np
import pytest
from scipy import integrate, optimize, special

from unweave.activations import (
    HARD_TANH,
    IDENTITY,
    LEAKY_RELU,
    NAMED,
    QUADRATIC,
    RELU,
    SIGMOID,
    SIN,
    SOFTPLUS,
    STEP,
    TANH,
    Activation,
    activation_named,
    hermite_polynomials,
    inverse_of,
    leaky_relu,
    softplus,
)
from unweave.exceptions import InvalidInput

ALL = [*NAMED.values(), softplus(2.5), softplus(0.3), leaky_relu(0.3), leaky_relu(-0.4), leaky_relu(-1.0)]
SMOOTH = [activation for activation in ALL if activation.is_smooth]
KINKED = [activation for activation in ALL if not activation.is_smooth]


def sample(seed: int, size: int = 200) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.0, 3.0, size)


@pytest.mark.parametrize("activation", SMOOTH, ids=repr)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_agree_with_central_differences(activation: Activation, order: int, seed: int) -> None:
    t, step = sample(seed), 1e-5
    difference = (activation(t + step, order - 1) - activation(t - step, order - 1)) / (2 * step)
    np.testing.assert_allclose(activation(t, order), difference, rtol=1e-6, atol=1e-8)


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


@pytest.mark.parametrize("slope", [1.0, -1.1, np.inf, np.nan])
def test_leaky_relu_needs_a_slope_that_bends_upwards(slope: float) -> None:
    with pytest.raises(InvalidInput, match="slope from -1 to below 1"):
        leaky_relu(slope)


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
    t = np.array([-1e3, -50.0, 0.0, 50.0, 1e3])
    for order in range(4):
        assert np.all(np.isfinite(activation(t, order)))


@pytest.mark.parametrize("activation", ALL, ids=repr)
def test_reflection_law_holds(activation: Activation, seed: int) -> None:
    t, law = sample(seed), activation.reflection
    expected = law.sign * activation(t) + law.slope * t + law.offset
    np.testing.assert_allclose(activation(-t), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("activation", [SIGMOID, softplus(2.5), softplus(0.3)], ids=repr)
def test_rewriting_law_holds(activation: Activation, seed: int) -> None:
    t, law = sample(seed), activation.rewriting
    assert law is not None
    assert law.base.rewriting is None
    np.testing.assert_allclose(activation(t), law.outer * law.base(law.inner * t) + law.offset, atol=1e-14)


@pytest.mark.parametrize("activation", [TANH, SIGMOID, IDENTITY], ids=repr)
def test_inverses_lead_back_to_the_argument(activation: Activation, seed: int) -> None:
    t = np.clip(sample(seed), -6.0, 6.0)
    np.testing.assert_allclose(inverse_of(activation)(activation(t)), t, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("activation", [RELU, SIN, SOFTPLUS, leaky_relu(0.3)], ids=repr)
def test_other_activations_are_not_undone(activation: Activation) -> None:
    with pytest.raises(InvalidInput, match="can't be undone: known are identity, sigmoid, tanh"):
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


def test_hermite_polynomials_are_orthonormal() -> None:
    nodes, weights = special.roots_hermitenorm(40)
    polynomials = hermite_polynomials(nodes, 12)
    gram = (polynomials * weights) @ polynomials.T / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(gram, np.eye(13), atol=1e-12)


def hermite_by_quad(activation: Activation, degree: int, *, scale: float, bias: float, order: int) -> float:
    """Adaptive quadrature, split at the kinks (or anywhere, if there are none)."""
    polynomial = special.hermitenorm(degree)

    def integrand(z: float) -> float:
        value = float(activation(np.array([scale * z + bias]), order)[0])
        return value * polynomial(z) * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi * special.factorial(degree))

    splits = np.sort([np.clip((kink - bias) / scale, -11.0, 11.0) for kink in activation.kinks or (0.0,)])
    edges = [-12.0, *splits.tolist(), 12.0]
    return sum(
        integrate.quad(integrand, left, right, epsabs=1e-13, epsrel=1e-12, limit=200)[0]
        for left, right in itertools.pairwise(edges)
    )


@pytest.mark.parametrize("activation", [TANH, SIGMOID, softplus(2.5), SIN, QUADRATIC, *KINKED], ids=repr)
@pytest.mark.parametrize(
    ("scale", "bias", "order"), [(1.0, 0.0, 0), (1.7, -0.8, 0), (-0.6, 0.5, 1), (-2.0, 1.0, 0), (1.2, 0.4, 1)]
)
def test_hermite_coefficients_agree_with_adaptive_quadrature(
    activation: Activation, scale: float, bias: float, order: int
) -> None:
    coefficients = activation.hermite_coefficients(6, scale=scale, bias=bias, order=order)
    expected = [hermite_by_quad(activation, r, scale=scale, bias=bias, order=order) for r in range(7)]
    np.testing.assert_allclose(coefficients, expected, atol=1e-11)


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
@pytest.mark.parametrize("activation", [TANH, *KINKED], ids=repr)
def test_hermite_coefficients_of_every_degree_have_their_length(activation: Activation, degree: int) -> None:
    longer = activation.hermite_coefficients(5, scale=1.3, bias=0.2)
    shorter = activation.hermite_coefficients(degree, scale=1.3, bias=0.2)
    np.testing.assert_allclose(shorter, longer[: degree + 1], atol=1e-15)


def test_relu_of_a_constant_has_one_coefficient() -> None:
    np.testing.assert_array_equal(RELU.hermite_coefficients(3, scale=0.0, bias=2.0), [2.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(RELU.hermite_coefficients(2, scale=0.0, bias=-2.0), np.zeros(3))
    np.testing.assert_array_equal(RELU.hermite_coefficients(1, scale=0.0, bias=2.0, order=1), [1.0, 0.0])


def test_hermite_coefficients_of_the_derivative_of_tanh_are_those_of_the_literature() -> None:
    published = [0.60571, 0.0, -0.25710, 0.0, 0.13986, 0.0, -0.08320, 0.0]
    np.testing.assert_allclose(TANH.hermite_coefficients(7, order=1), published, atol=5e-6)


@pytest.mark.parametrize("activation", SMOOTH, ids=repr)
@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_supremum_agrees_with_a_bounded_search(activation: Activation, order: int) -> None:
    supremum = activation.supremum(order)
    far = np.max(np.abs(activation(np.array([-1e6, 1e6]), order)))
    if np.isinf(supremum):
        assert far > 1e5
        return
    searches = [
        optimize.minimize_scalar(
            lambda t: -abs(float(activation(np.array([t]), order)[0])),
            bounds=(left, left + 0.5),
            method="bounded",
            options={"xatol": 1e-9},
        )
        for left in np.arange(-16.25, 16.0, 0.5)
    ]
    found = max(float(far), *(-float(search.fun) for search in searches))
    assert supremum == pytest.approx(found, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("activation", KINKED, ids=repr)
def test_suprema_of_kinked_activations(activation: Activation) -> None:
    assert activation.supremum(0) == (1.0 if activation == HARD_TANH else np.inf)
    assert activation.supremum(1) == 1.0
    assert activation.supremum(2) == activation.supremum(3) == 0.0


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
    ],
)
def test_unknown_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        activation_named(name)


@pytest.mark.parametrize("beta", [0.0, -1.0, np.inf, np.nan])
def test_softplus_needs_a_positive_finite_beta(beta: float) -> None:
    with pytest.raises(InvalidInput, match="positive finite beta"):
        softplus(beta)


@pytest.mark.parametrize("activation", KINKED, ids=repr)
def test_a_kink_leaves_no_hermite_coefficients_of_the_second_derivative(activation: Activation) -> None:
    with pytest.raises(InvalidInput, match="measure"):
        activation.hermite_coefficients(4, order=2)


def test_a_step_is_whether_the_argument_is_not_negative(seed: int) -> None:
    t = sample(seed)
    np.testing.assert_array_equal(STEP(t), np.where(t >= 0, 1.0, 0.0))
    np.testing.assert_array_equal(STEP(-t), STEP.reflection.sign * STEP(t) + STEP.reflection.offset)
    assert activation_named("step") is STEP
    assert not STEP.is_smooth
    assert "step" not in NAMED


def test_a_step_refuses_hermite_coefficients() -> None:
    with pytest.raises(InvalidInput, match="jumps"):
        STEP.hermite_coefficients(4)


@pytest.mark.parametrize("activation", ALL, ids=repr)
def test_activations_are_pickled_by_name(activation: Activation) -> None:
    copy = pickle.loads(pickle.dumps(activation))
    assert copy == activation
    assert np.array_equal(copy(sample(0)), activation(sample(0)))
