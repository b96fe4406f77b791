from collections.abc import Callable

import numpy as np
import pytest

from plants import planter
from unweave.activations import RELU
from unweave.identification.probing import BendLook, FunctionScale
from unweave.networks.network import Network
from unweave.networks.planted import general_network
from unweave.numerics.finite_differences import measure_hessians
from unweave.numerics.matrix_subspace import GapRules
from unweave.oracles.oracle import CallableOracle
from unweave.oracles.views import NoiseLook, StandardOracle, standardise

INPUTS = 6
Model = Callable[[np.ndarray], np.ndarray]


planted = planter(general_network, 1, inputs=INPUTS, neurons=8)


def answering(network: Network, kind: str, seed: int) -> Model:
    noise = np.random.default_rng([seed, 2])
    return {
        "float64": network,
        "float32": lambda points: network(points).astype(np.float32),
        "noise 1e-8": lambda points: network(points) + 1e-8 * noise.standard_normal((len(points), network.outputs)),
    }[kind]


def looked_at(model: Model, seed: int) -> tuple[StandardOracle, FunctionScale]:
    """Units and scale of a model, as the pipelines find them."""
    rng = np.random.default_rng([seed, 3])
    oracle = CallableOracle(model, inputs=INPUTS)
    noise = NoiseLook()(oracle, rng)
    values = oracle.query(BendLook().points(oracle, rng))
    standard = standardise(oracle, np.concatenate([noise.values, values]))
    scale = BendLook().scale((values - standard.offset) / standard.size, noise=noise.deviation / standard.size)
    return standard, scale


def root_mean_square(array: np.ndarray) -> float:
    return float(np.sqrt(np.mean(array**2)))


@pytest.mark.parametrize("kind", ["float64", "float32", "noise 1e-8"])
def test_the_step_is_near_the_best_one(kind: str, seed: int) -> None:
    network = planted(seed)
    oracle, scale = looked_at(answering(network, kind, seed), seed)
    rng = np.random.default_rng([seed, 4])
    points = rng.standard_normal((12, INPUTS))

    def hessian_error(step: float) -> float:
        measured = measure_hessians(oracle, points, step=step).hessians * oracle.size[:, None]
        return root_mean_square(measured - network.hessians(points))

    best = min(hessian_error(candidate) for candidate in np.geomspace(1e-6, 0.5, 30))
    assert hessian_error(scale.hessian_step) < 10 * best
    actual = hessian_error(scale.hessian_step) / float(oracle.size[0])
    # The rank decision relies on the predicted error up to this factor.
    margin = GapRules().noise_margin
    assert actual / margin < scale.hessian_error < margin * actual


def test_the_step_grows_with_the_fourth_root_of_the_noise(seed: int) -> None:
    network = planted(seed)
    levels = np.array([1e-12, 1e-10, 1e-8, 1e-6])
    steps = []
    for level in levels:
        oracle = CallableOracle(network, inputs=INPUTS)
        values = oracle.query(BendLook().points(oracle, np.random.default_rng(seed)))
        steps.append(BendLook().scale(values, noise=np.array([level])).hessian_step)
    assert np.polyfit(np.log(levels), np.log(steps), 1)[0] == pytest.approx(0.25, abs=0.05)


def test_the_scale_of_a_sine_is_read_off(seed: int) -> None:
    frequency = 2.0
    oracle = CallableOracle(lambda x: np.sin(frequency * x.sum(axis=1) / np.sqrt(INPUTS)), inputs=INPUTS)
    rng, look = np.random.default_rng(seed), BendLook()
    found = [look.scale(oracle.query(look.points(oracle, rng)), noise=np.array([1e-16])) for _ in range(400)]
    # Along a random line the sine has the frequency times the cosine of a random angle.
    cosines = np.random.default_rng(0).standard_normal((100_000, INPUTS))
    cosines = frequency * cosines[:, 0] / np.linalg.norm(cosines, axis=1)
    second, fourth = (np.sqrt(0.5 * np.mean(cosines ** (2 * power))) for power in (2, 4))
    assert root_mean_square(np.array([f.second for f in found])) == pytest.approx(second, rel=0.5)
    # The fourth derivative is the larger of two lines: above the typical size, by no more than sqrt 2 on average
    # plus what the coarse rungs add.
    assert fourth <= root_mean_square(np.array([f.fourth for f in found])) <= 2 * fourth


def test_the_scale_costs_eighteen_queries() -> None:
    oracle = CallableOracle(lambda x: x[:, 0], inputs=INPUTS)
    assert len(BendLook().points(oracle, np.random.default_rng(0))) == 18


def relu_network(seed: int) -> Network:
    smooth = planted(seed)
    hidden, output = smooth.layers
    return Network.shallow(hidden.weights, hidden.biases, output.weights, output.biases, RELU)


def test_kinks_show_as_flatness_and_roughness(seed: int) -> None:
    oracle, scale = looked_at(relu_network(seed), seed)
    assert BendLook().flatness(oracle, scale.noise, np.random.default_rng(seed)).share > 0.7
    oracle, scale = looked_at(planted(seed), seed)
    assert BendLook().flatness(oracle, scale.noise, np.random.default_rng(seed)).share == 0.0
    assert scale.roughness < 0.2


def test_a_look_across_a_kink_is_rough(seed: int) -> None:
    kinked, smooth = relu_network(seed), planted(seed)
    rough = [looked_at(kinked, 100 * seed + i)[1].roughness for i in range(15)]
    even = [looked_at(smooth, 100 * seed + i)[1].roughness for i in range(15)]
    assert np.max(rough) > 0.5
    assert np.max(even) < 0.05


@pytest.mark.parametrize(
    "model",
    [lambda x: x @ np.arange(1.0, INPUTS + 1), lambda x: np.zeros(len(x)), lambda x: np.sum(x**2, axis=1)],
)
def test_affine_and_quadratic_functions_are_not_flat(model: Model, seed: int) -> None:
    oracle, scale = looked_at(model, seed)
    assert BendLook().flatness(oracle, scale.noise, np.random.default_rng(seed)).share == 0.0


def test_flatness_costs_five_queries_per_place() -> None:
    oracle, scale = looked_at(planted(0), 0)
    before = oracle.oracle.ledger.sent
    BendLook(places=7).flatness(oracle, scale.noise, np.random.default_rng(0))
    assert oracle.oracle.ledger.sent - before == 35


def test_the_step_is_finite_and_bounded_for_a_constant() -> None:
    _, scale = looked_at(lambda x: np.full(len(x), 2.0), 0)
    assert 0 < scale.hessian_step <= 0.3
    assert np.isfinite(scale.hessian_error)
