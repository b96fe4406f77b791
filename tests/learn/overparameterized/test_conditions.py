import numpy as np
import pytest

from unweave.activations import IDENTITY, QUADRATIC, RELU, TANH, Activation, softplus
from unweave.learn.overparameterized.activation_constants import mean_curvature
from unweave.learn.overparameterized.conditions import network_conditions, sample_conditions
from unweave.learn.overparameterized.jacobian import TrainingPoint, jacobian_spectrum
from unweave.result import Verdict


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
