import numpy as np
import pytest

from plants import in_own_units
from unweave.activations import TANH
from unweave.arrays import pack, unpack
from unweave.exceptions import InvalidInput
from unweave.networks.network import Network
from unweave.networks.planted import general_network
from unweave.numerics import finite_differences as derivatives
from unweave.numerics.finite_differences import (
    hessian_queries,
    measure_hessians,
    measure_stencil,
)
from unweave.oracles.views import StandardOracle

INPUTS = 4


class Polynomial:
    """A random polynomial ``sum_n <T_n, x^n>`` with symmetric tensors up to some degree, two outputs."""

    def __init__(self, rng: np.random.Generator, degree: int) -> None:
        self.tensors = [rng.normal(size=(2, *[INPUTS] * n)) for n in range(degree + 1)]

    def __call__(self, points: np.ndarray) -> np.ndarray:
        return np.stack([self._line(point, np.zeros(INPUTS), 0) for point in points])

    def derivative(self, points: np.ndarray, directions: np.ndarray, order: int) -> np.ndarray:
        rows = zip(points, directions, strict=True)
        return np.stack([self._line(point, direction, order) for point, direction in rows])

    def _line(self, point: np.ndarray, direction: np.ndarray, order: int) -> np.ndarray:
        """Derivative at 0 of ``t -> p(point + t direction)``, by expanding in the powers of t."""
        total = np.zeros(2)
        for degree, tensor in enumerate(self.tensors):
            # powers[k] is the coefficient of t^k in the tensor applied to the slots done so far.
            powers = [tensor]
            for _ in range(degree):
                powers = [
                    (powers[k] @ point if k < len(powers) else 0.0) + (powers[k - 1] @ direction if k > 0 else 0.0)
                    for k in range(len(powers) + 1)
                ]
            if order < len(powers):
                total = total + powers[order] * np.prod(np.arange(1, order + 1))
        return total

    def hessians(self, points: np.ndarray) -> np.ndarray:
        """By polarisation: ``u^T H v`` from second derivatives along u + v and u - v."""
        axes = np.eye(INPUTS)
        matrices = np.empty((len(points), 2, INPUTS, INPUTS))
        for i in range(INPUTS):
            for j in range(INPUTS):
                plus, minus = (np.tile(axes[i] + s * axes[j], (len(points), 1)) for s in (1, -1))
                sums = self.derivative(points, plus, 2) - self.derivative(points, minus, 2)
                matrices[:, :, i, j] = 0.25 * sums
        return pack(matrices)


def test_hessians_are_exact_on_cubics(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cubic, points = Polynomial(rng, 3), rng.normal(size=(5, INPUTS))
    sample = measure_hessians(in_own_units(cubic, outputs=2, inputs=INPUTS), points, step=0.5)
    np.testing.assert_allclose(sample.hessians, cubic.hessians(points), atol=1e-11)
    np.testing.assert_allclose(sample.values, cubic(points), atol=1e-12)


def test_gradients_are_exact_on_quadratics(seed: int) -> None:
    rng = np.random.default_rng(seed)
    quadratic, points = Polynomial(rng, 2), rng.normal(size=(5, INPUTS))
    oracle = in_own_units(quadratic, outputs=2, inputs=INPUTS)
    axes = [quadratic.derivative(points, np.tile(axis, (5, 1)), 1) for axis in np.eye(INPUTS)]
    expected = np.stack(axes, axis=2)
    np.testing.assert_allclose(measure_hessians(oracle, points, step=0.5).gradients, expected, atol=1e-11)


def planted(seed: int, *, outputs: int = 2) -> tuple[Network, StandardOracle, np.ndarray]:
    rng = np.random.default_rng([seed, 5])
    network = general_network(rng, inputs=INPUTS, neurons=7, outputs=outputs)
    return network, in_own_units(network, outputs=outputs, inputs=INPUTS), rng.normal(size=(6, INPUTS))


@pytest.mark.parametrize("outputs", [1, 2, 3])
def test_derivatives_agree_with_the_exact_ones_of_a_network(outputs: int, seed: int) -> None:
    network, oracle, points = planted(seed, outputs=outputs)
    sample = measure_hessians(oracle, points, step=1e-3)
    assert sample.matrices == 6 * outputs
    np.testing.assert_allclose(sample.hessians, network.hessians(points), atol=1e-3)
    np.testing.assert_allclose(sample.gradients, network.gradients(points), atol=1e-4)
    np.testing.assert_allclose(sample.values, network(points), rtol=1e-13)


def slope(steps: np.ndarray, errors: list[float]) -> float:
    return float(np.polyfit(np.log(steps), np.log(errors), 1)[0])


def test_errors_fall_with_the_square_of_the_step(seed: int) -> None:
    network, oracle, points = planted(seed)
    steps = np.geomspace(5e-3, 2e-2, 5)
    samples = [measure_hessians(oracle, points, step=step) for step in steps]
    exact_hessians, exact_gradients = network.hessians(points), network.gradients(points)
    assert slope(steps, [np.linalg.norm(s.hessians - exact_hessians) for s in samples]) == pytest.approx(2, abs=0.1)
    assert slope(steps, [np.linalg.norm(s.gradients - exact_gradients) for s in samples]) == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize("inputs", [1, 2, 5, 9])
def test_a_hessian_costs_its_queries_and_no_more(inputs: int) -> None:
    oracle = in_own_units(lambda x: x[:, 0], inputs=inputs)
    measure_hessians(oracle, np.zeros((3, inputs)), step=0.1)
    assert hessian_queries(inputs) == inputs**2 + inputs + 1
    assert oracle.oracle.ledger.sent == 3 * hessian_queries(inputs)


def random_frame(seed: int, directions: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng([seed, 6]).normal(size=(INPUTS, directions)))[0]


@pytest.mark.parametrize("directions", [1, 3])
def test_along_a_frame_only_its_directions_are_paid(directions: int, seed: int) -> None:
    network, oracle, points = planted(seed)
    frame = random_frame(seed, directions)
    sample = measure_hessians(oracle, points, step=1e-3, frame=frame)
    assert oracle.oracle.ledger.sent == len(points) * hessian_queries(directions)
    exact = pack(frame.T @ unpack(network.hessians(points), INPUTS) @ frame)
    np.testing.assert_allclose(sample.hessians, exact, atol=1e-3)
    np.testing.assert_allclose(sample.gradients, network.gradients(points) @ frame, atol=1e-4)


def test_a_sample_can_be_seen_along_a_smaller_frame_afterwards(seed: int) -> None:
    _, oracle, points = planted(seed)
    frame = random_frame(seed, 2)
    later = measure_hessians(oracle, points, step=1e-3).along(frame)
    asked = measure_hessians(oracle, points, step=1e-3, frame=frame)
    np.testing.assert_allclose(later.hessians, asked.hessians, atol=1e-3)
    np.testing.assert_allclose(later.gradients, asked.gradients, atol=1e-4)
    np.testing.assert_array_equal(later.frame, frame)


def test_samples_can_be_joined(seed: int) -> None:
    _, oracle, points = planted(seed)
    whole = measure_hessians(oracle, points, step=1e-3)
    parts = [measure_hessians(oracle, part, step=1e-3) for part in (points[:2], points[2:])]
    joined = parts[0].extended(parts[1])
    for name in ("points", "values", "gradients", "hessians", "frame"):
        np.testing.assert_allclose(getattr(joined, name), getattr(whole, name), rtol=1e-6, atol=1e-8)
    assert joined.matrices == whole.matrices


def test_small_blocks_give_the_same_derivatives(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _, oracle, points = planted(seed)
    whole = measure_hessians(oracle, points, step=1e-2)
    monkeypatch.setattr(derivatives, "BLOCK_NUMBERS", 200)
    np.testing.assert_allclose(measure_hessians(oracle, points, step=1e-2).hessians, whole.hessians, atol=1e-9)


def test_no_points_give_no_derivatives() -> None:
    _, oracle, _ = planted(0)
    sample = measure_hessians(oracle, np.empty((0, INPUTS)), step=1e-2)
    assert sample.hessians.shape == (0, 2, 10)
    assert sample.matrices == oracle.oracle.ledger.sent == 0


@pytest.mark.parametrize("directions", [1, 3, INPUTS])
def test_a_stencil_holds_what_a_hessian_sample_needs(directions: int, seed: int) -> None:
    _, oracle, points = planted(seed)
    frame = random_frame(seed, directions)
    stencil = measure_stencil(oracle, points, step=1e-2, frame=frame)
    assert oracle.oracle.ledger.sent == len(points) * hessian_queries(directions)
    sample = stencil.sample(np.positive)
    expected = measure_hessians(oracle, points, step=1e-2, frame=frame)
    for name in ("points", "values", "gradients", "hessians", "frame", "step"):
        np.testing.assert_allclose(getattr(sample, name), getattr(expected, name), rtol=1e-12, atol=1e-12)


def test_an_output_activation_is_undone_before_the_differences_and_for_nothing(seed: int) -> None:
    network, _, points = planted(seed)
    oracle = in_own_units(lambda x: TANH(0.1 * network(x)), outputs=2, inputs=INPUTS)
    frame = random_frame(seed, 3)
    stencil = measure_stencil(oracle, points, step=1e-3, frame=frame)
    before = oracle.oracle.ledger.sent
    sample = stencil.sample(lambda values: 10.0 * np.arctanh(values))
    assert oracle.oracle.ledger.sent == before
    np.testing.assert_allclose(sample.values, network(points), atol=1e-12)
    np.testing.assert_allclose(sample.gradients, network.gradients(points) @ frame, atol=1e-4)
    exact = pack(frame.T @ unpack(network.hessians(points), INPUTS) @ frame)
    np.testing.assert_allclose(sample.hessians, exact, atol=1e-3)


@pytest.mark.parametrize("step", [0.0, -1e-3, np.nan, np.inf])
def test_steps_must_be_positive_and_finite(step: float) -> None:
    _, oracle, points = planted(0)
    with pytest.raises(InvalidInput, match="positive and finite"):
        measure_hessians(oracle, points, step=step)
    with pytest.raises(InvalidInput, match="positive and finite"):
        measure_stencil(oracle, points, step=step, frame=np.eye(INPUTS))
    assert oracle.oracle.ledger.sent == 0
