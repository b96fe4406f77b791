"""Constants of activations against quadrature, and the conditions that rest on them."""

import numpy as np
import pytest
from scipy import special

from unweave.activations import (
    ERF,
    IDENTITY,
    NAMED,
    QUADRATIC,
    RELU,
    TANH,
    Activation,
    Reflection,
    Rewriting,
    activation_named,
    softplus,
)
from unweave.exceptions import InvalidInput
from unweave.learn.overparameterized.conditions import (
    activation_constants,
    mean_curvature,
    mean_slope,
    network_conditions,
    sample_conditions,
    slope_variance,
)
from unweave.learn.overparameterized.jacobian import TrainingPoint, jacobian_spectrum
from unweave.result import Verdict

SCALES = (0.25, 0.5, 1.0, 2.0, 4.0)
EVERY = [*NAMED.values(), softplus(10.0), softplus(100.0)]


def expectation(function, scale: float) -> float:
    """Adaptive quadrature with breaks where kinks and sharp bends are."""
    from scipy import integrate

    breaks = [place / scale for place in (-1.0, -0.1, 0.0, 0.1, 1.0) if abs(place / scale) < 12]

    def integrand(z: float) -> float:
        return float(function(np.array([z]))[0]) * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)

    return integrate.quad(integrand, -12.0, 12.0, points=breaks, limit=400, epsabs=1e-11, epsrel=1e-11)[0]


def logistic_mean(t: float) -> float:
    return mean_slope(NAMED["sigmoid"], t)


def ndist(t: float) -> float:
    return float(special.ndtr(t))


# Closed forms of mean slope and mean curvature.
CLOSED = {
    "quadratic": (lambda _: 0.0, lambda _: 2.0),
    "softplus": (lambda _: 0.5, logistic_mean),
    "softplus(10.0)": (lambda _: 0.5, lambda s: 10 * logistic_mean(10 * s)),
    "tanh": (lambda s: 4 * logistic_mean(2 * s), lambda _: 0.0),
    "erf": (lambda s: 2 / np.sqrt(np.pi) / np.sqrt(1 + 2 * s**2), lambda _: 0.0),
    "gelu": (lambda _: 0.5, lambda s: (2 + s**2) / (np.sqrt(2 * np.pi) * (1 + s**2) ** 1.5)),
    "sin": (lambda s: np.exp(-(s**2) / 2), lambda _: 0.0),
    "gaussian": (lambda _: 0.0, lambda s: -2 / (1 + 2 * s**2) ** 1.5),
    "relu": (lambda _: 0.5, lambda s: 1 / (s * np.sqrt(2 * np.pi))),
    "leaky_relu(0.01)": (lambda _: 0.505, lambda s: 0.99 / (s * np.sqrt(2 * np.pi))),
    "hard_tanh": (lambda s: 2 * ndist(1 / s) - 1, lambda _: 0.0),
    "identity": (lambda _: 1.0, lambda _: 0.0),
}


def custom(name: str, *derivatives, sign: int = 1, slope: float = 0.0, law: Rewriting | None = None) -> Activation:
    return Activation(name, (*derivatives, np.zeros_like), Reflection(sign=sign, slope=slope), rewriting=law)


# Activations that users may bring: name, (value, slope, curvature), closed forms, bounds, case.
ARCTAN = custom("arctan", np.arctan, lambda t: 1 / (1 + t**2), lambda t: -2 * t / (1 + t**2) ** 2, sign=-1)
COSINE = custom("cos", np.cos, lambda t: -np.sin(t), lambda t: -np.cos(t))
SMOOTHED = custom(
    "smoothed_relu",
    lambda t: t * special.ndtr(3 * t) + np.exp(-4.5 * t**2) / (3 * np.sqrt(2 * np.pi)),
    lambda t: special.ndtr(3 * t),
    lambda t: 3 * np.exp(-4.5 * t**2) / np.sqrt(2 * np.pi),
    slope=-1.0,
)
SOLTANOLKOTABI_ERF = custom(
    "soltanolkotabi_erf",
    lambda t: np.sqrt(2) * special.erf(t / np.sqrt(2)),
    lambda t: 2 / np.sqrt(np.pi) * np.exp(-(t**2) / 2),
    lambda t: -2 * t / np.sqrt(np.pi) * np.exp(-(t**2) / 2),
    sign=-1,
    law=Rewriting(ERF, 1 / np.sqrt(2), np.sqrt(2), 0.0),
)
ELU = custom(
    "elu",
    lambda t: np.where(t > 0, t, np.expm1(np.minimum(t, 0.0))),
    lambda t: np.where(t > 0, 1.0, np.exp(np.minimum(t, 0.0))),
    lambda t: np.where(t > 0, 0.0, np.exp(np.minimum(t, 0.0))),
)


def elu_curvature(s: float) -> float:
    return float(np.exp(s**2 / 2) * special.ndtr(-s))


CUSTOM = [
    (ARCTAN, lambda s: np.sqrt(np.pi / 2) * np.exp(1 / (2 * s**2)) * special.erfc(1 / (s * np.sqrt(2))) / s,
     lambda _: 0.0, (1.0, 3 * np.sqrt(3) / 8), "b"),
    (COSINE, lambda _: 0.0, lambda s: -np.exp(-(s**2) / 2), (1.0, 1.0), "a"),
    (SMOOTHED, lambda _: 0.5, lambda s: 3 / np.sqrt(2 * np.pi * (1 + 9 * s**2)), (1.0, 3 / np.sqrt(2 * np.pi)), "a"),
    (SOLTANOLKOTABI_ERF, lambda s: 2 / np.sqrt(np.pi) / np.sqrt(1 + s**2), lambda _: 0.0,
     (2 / np.sqrt(np.pi), 2 * np.exp(-0.5) / np.sqrt(np.pi)), "b"),
    (ELU, lambda s: 0.5 + elu_curvature(s), elu_curvature, (1.0, 1.0), "a"),
]  # fmt: skip


@pytest.mark.parametrize("activation", EVERY, ids=str)
def test_means_are_those_of_adaptive_quadrature(activation: Activation) -> None:
    for scale in SCALES:
        slope = expectation(lambda z, s=scale: activation(s * z, 1), scale)
        curvature = expectation(lambda z, s=scale: activation(s * z, 1) * z / s, scale)
        assert mean_slope(activation, scale) == pytest.approx(slope, abs=1e-8)
        assert mean_curvature(activation, scale) == pytest.approx(curvature, abs=1e-8)
        if activation.is_smooth:
            direct = expectation(lambda z, s=scale: activation(s * z, 2), scale)
            assert mean_curvature(activation, scale) == pytest.approx(direct, abs=1e-8)


@pytest.mark.each_value
@pytest.mark.parametrize("name", CLOSED)
@pytest.mark.parametrize("scale", [*SCALES, 0.01, 30.0])
def test_means_are_those_of_closed_forms(name: str, scale: float) -> None:
    slope, curvature = CLOSED[name]
    assert mean_slope(activation_named(name), scale) == pytest.approx(slope(scale), abs=1e-11)
    assert mean_curvature(activation_named(name), scale) == pytest.approx(curvature(scale), abs=1e-11 / scale)


@pytest.mark.parametrize(
    ("activation", "slope", "curvature", "bounds", "case"), CUSTOM, ids=lambda part: str(part)[:12]
)
def test_users_may_bring_their_own_activation(activation, slope, curvature, bounds, case) -> None:
    for scale in SCALES:
        assert mean_slope(activation, scale) == pytest.approx(slope(scale), abs=1e-11)
        assert mean_curvature(activation, scale) == pytest.approx(curvature(scale), abs=1e-11)
    constants = activation_constants(activation)
    assert (constants.slope_bound, constants.curvature_bound) == pytest.approx(bounds, rel=1e-6)
    assert constants.case == case


def test_published_numbers_are_met() -> None:
    assert mean_curvature(softplus(1.0), 1.0) == pytest.approx(0.206621, abs=1e-6)
    assert mean_curvature(softplus(10.0), 0.25) == pytest.approx(1.310751, abs=1e-6)
    assert mean_curvature(softplus(10.0), 1.0) == pytest.approx(0.392596, abs=1e-6)
    assert mean_slope(NAMED["tanh"], 1.0) == pytest.approx(0.605706, abs=1e-6)
    assert slope_variance(NAMED["tanh"], 1.0) == pytest.approx(0.097524, abs=1e-6)
    assert slope_variance(softplus(10.0), 1.0) == pytest.approx(0.210740, abs=1e-6)
    silu = [mean_curvature(NAMED["silu"], scale) for scale in SCALES]
    assert silu == pytest.approx([0.4851, 0.4470, 0.3508, 0.2120, 0.1056], abs=6e-5)


def test_a_simple_formula_is_near_the_logistic_mean() -> None:
    t = np.geomspace(0.01, 100.0, 60)
    exact = np.array([logistic_mean(value) for value in t])
    ratio = 1 / np.sqrt(2 * np.pi * (t**2 + 8 / np.pi)) / exact
    assert np.all(ratio >= 1 - 1e-9)
    assert 1.030 <= np.max(ratio) <= 1.032


BOUNDS = {
    "softplus(10.0)": (1.0, 2.5, np.log(2) / 10, "a"),
    "sigmoid": (0.25, 1 / (6 * np.sqrt(3)), 0.5, "b"),
    "tanh": (1.0, 4 / (3 * np.sqrt(3)), 0.0, "b"),
    "erf": (2 / np.sqrt(np.pi), 2 / np.sqrt(np.pi) * np.sqrt(2 / np.e), 0.0, "b"),
    "gelu": (1.1289, 2 / np.sqrt(2 * np.pi), 0.0, "a"),
    "silu": (1.0998, 0.5, 0.0, "a"),
    "sin": (1.0, 1.0, 0.0, "b"),
    "quadratic": (np.inf, 2.0, 0.0, "outside"),
    "relu": (1.0, np.inf, 0.0, "outside"),
    "hard_tanh": (1.0, np.inf, 0.0, "outside"),
    "identity": (1.0, 0.0, 0.0, "outside"),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_and_cases_are_those_of_the_table(name: str) -> None:
    slope, curvature, zero, case = BOUNDS[name]
    constants = activation_constants(activation_named(name))
    assert constants.slope_bound == pytest.approx(slope, rel=1e-4)
    assert constants.curvature_bound == pytest.approx(curvature, rel=1e-4)
    assert constants.at_zero == pytest.approx(zero, abs=1e-12)
    assert constants.case == case
    assert bool(constants.reason) == (case == "outside")


def test_the_mean_of_slope_times_input_is_along_the_weights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights, points = np.array([0.6, -1.1, 0.4]), rng.standard_normal((200_000, 3))
    activation = softplus(10.0)
    mean = np.mean(activation(points @ weights, 1)[:, None] * points, axis=0)
    assert np.allclose(mean, mean_curvature(activation, float(np.linalg.norm(weights))) * weights, atol=0.01)


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan])
def test_a_scale_needs_to_be_positive(scale: float) -> None:
    with pytest.raises(InvalidInput, match="positive"):
        mean_slope(NAMED["tanh"], scale)


def conditions(seed: int, activation: Activation, *, neurons: int = 8, inputs: int = 5, samples: int = 20) -> dict:
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((neurons, inputs))
    points, labels = rng.standard_normal((samples, inputs)), rng.standard_normal(samples)
    point = TrainingPoint(points, labels, np.ones(neurons), weights, activation)
    return {part.name: part for part in network_conditions(point, jacobian_spectrum(point))}


@pytest.mark.parametrize("activation", [softplus(10.0), TANH], ids=str)
def test_a_wide_network_of_the_theory_is_fine(activation: Activation, seed: int) -> None:
    found = conditions(seed, activation)
    assert {part.verdict for part in found.values()} == {Verdict.OK, Verdict.NOT_APPLICABLE}
    assert found["hidden weights per sample"].value == 2.0


def test_narrow_networks_and_few_samples_are_named(seed: int) -> None:
    assert conditions(seed, TANH, neurons=3)["hidden weights per sample"].verdict is Verdict.FAIL
    assert conditions(seed, TANH, neurons=3)["spread of the Jacobian"].verdict is Verdict.FAIL
    assert conditions(seed, TANH, neurons=5)["hidden weights per sample"].verdict is Verdict.WEAK
    assert conditions(seed, TANH, samples=4)["samples per input"].verdict is Verdict.WEAK


@pytest.mark.parametrize("activation", [RELU, QUADRATIC, IDENTITY], ids=str)
def test_activations_outside_of_the_theory_are_named(activation: Activation, seed: int) -> None:
    found = conditions(seed, activation)
    assert found["activation within the theory"].verdict is Verdict.WEAK
    assert len(found["activation within the theory"].advice) > 20
    assert (found["variance of the slope"].verdict is Verdict.FAIL) == (activation == IDENTITY)


def test_constants_without_a_name_are_only_told(seed: int) -> None:
    found = conditions(seed, softplus(10.0))["smallest mean curvature"]
    assert found.verdict is Verdict.NOT_APPLICABLE
    lengths = np.linalg.norm(np.random.default_rng(seed).standard_normal((8, 5)), axis=1)
    assert found.value == pytest.approx(mean_curvature(softplus(10.0), float(np.max(lengths))))


def test_gaussian_samples_are_told_from_others(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.standard_normal(400)
    plain = rng.standard_normal((400, 6))
    assert {part.verdict for part in sample_conditions(plain, labels)} == {Verdict.OK}
    for changed, name in (
        (plain + 0.5, "mean of the inputs, in standard errors"),
        (plain * np.array([3.0, 1, 1, 1, 1, 1]), "covariance of the inputs, in standard errors"),
        (np.sign(plain), "tails of the inputs, in standard errors"),
    ):
        verdicts = {part.name: part.verdict for part in sample_conditions(changed, labels)}
        assert verdicts[name] is Verdict.WEAK


def test_conflicting_and_constant_samples_are_counted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, labels = rng.standard_normal((10, 3)), rng.standard_normal(10)
    points[4], points[5], points[6], labels[6] = points[0], points[0], points[1], labels[1]
    points[:, 2] = 7.0
    found = {part.name: part for part in sample_conditions(points, labels)}
    assert found["conflicting samples"].value == 2
    assert found["conflicting samples"].verdict is Verdict.FAIL
    assert found["constant inputs"].value == 1
