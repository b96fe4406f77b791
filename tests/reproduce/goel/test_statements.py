"""What the experiments of [goel] compute beside the algorithms, against quadrature and samples."""

import numpy as np
import pytest
from scipy.special import ndtr

from tensors import normal_mean
from unweave.activations import RELU, STEP
from unweave.learn.lowest_layer.units import monic_coefficients
from unweave.reproduce.goel.delta_search import jumps_across
from unweave.reproduce.goel.even_activations import ACTIVATIONS, normalised_coefficients
from unweave.reproduce.goel.free_exponentials import printed_objective_gradient
from unweave.reproduce.goel.jump_search import jump_errors
from unweave.reproduce.goel.planted import labels_of, orthonormal_rows, row_angles, turned
from unweave.reproduce.goel.refinement import mended_test, printed_test, search_with_exact_angles
from unweave.reproduce.goel.transfer import pairs_tensor
from unweave.reproduce.goel.unit_products import joint_probability, mended_bound, printed_bound


@pytest.mark.parametrize("cosine", [-0.5, 0.0, 0.5])
def test_joint_probabilities(cosine: float) -> None:
    from scipy.stats import multivariate_normal

    law = multivariate_normal(cov=[[1.0, cosine], [cosine, 1.0]])
    assert joint_probability(1.0, cosine) == pytest.approx(law.cdf([-1.0, -1.0]), rel=1e-5)
    if cosine == 0.0:
        assert joint_probability(8.0, 0.0) == pytest.approx(ndtr(-8.0) ** 2, rel=1e-8)
    assert joint_probability(6.0, cosine) <= mended_bound(6.0, cosine)


def test_the_printed_bound_of_two_units_is_exceeded() -> None:
    # The erratum: two rows at 60 degrees, threshold 6.
    assert joint_probability(6.0, 0.5) == pytest.approx(3.89e-13, rel=1e-2)
    assert joint_probability(6.0, 0.5) > printed_bound(6.0, 0.5)
    assert joint_probability(6.0, -0.5) < printed_bound(6.0, -0.5)


def test_exact_angles_let_the_mended_search_converge_and_the_printed_one_stand(seed: int) -> None:
    rng = np.random.default_rng(seed)
    row = orthonormal_rows(rng, rows=1, inputs=5)[0]
    start = turned(row, 0.2, rng)
    assert np.degrees(0.2) == pytest.approx(row_angles(row[None], start[None], is_signed=True)[0])
    found, accepted = search_with_exact_angles(row, start, rng, rounds=300, accepts=mended_test)
    assert row_angles(row[None], found[None], is_signed=True)[0] < 0.5 * np.degrees(0.2)
    assert 60 < accepted < 200
    assert search_with_exact_angles(row, start, rng, rounds=300, accepts=printed_test)[1] == 0


def test_angles_are_those_of_pairs_of_rows(seed: int) -> None:
    rows = orthonormal_rows(np.random.default_rng(seed), rows=3, inputs=4)
    np.testing.assert_allclose(row_angles(rows, -rows[::-1], is_signed=False), 0.0, atol=1e-6)
    np.testing.assert_allclose(row_angles(rows, -rows[:2], is_signed=False), [0.0, 0.0, 90.0], atol=1e-6)
    assert np.all(row_angles(rows[:1], -rows[:1], is_signed=True) > 179)


def test_exact_moments_of_sums_and_pairs(seed: int) -> None:
    # Units along axes: quadrature factorises, so samples are compared up to their error.
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((200_000, 3))
    labels = labels_of(points, np.eye(3), unit=RELU, threshold=0.5, upper="sum and pairs")
    coefficients = monic_coefficients(RELU, 0.5, 2)
    exact = pairs_tensor(2, coefficients, inputs=3, has_pairs=True)
    sampled = (points * labels[:, None]).T @ points / len(points) - labels.mean() * np.eye(3)
    np.testing.assert_allclose(sampled, exact, atol=0.05)
    alone = pairs_tensor(2, coefficients, inputs=3, has_pairs=False)
    np.testing.assert_allclose(alone, coefficients[2] * np.eye(3))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_coefficients_of_even_activations(name: str) -> None:
    found = normalised_coefficients(ACTIVATIONS[name])
    activation = lambda t: float(ACTIVATIONS[name](np.array(t)))  # noqa: E731
    assert found[0] == pytest.approx(normal_mean(activation, 0.0), abs=1e-9)
    fourth = normal_mean(lambda t: activation(t) * (t**4 - 6 * t**2 + 3), 0.0) / np.sqrt(24)
    assert found[4] == pytest.approx(fourth, abs=1e-9)
    assert found[1] == found[3] == 0.0


def test_products_of_two_even_units_weigh_with_the_root_of_six(seed: int) -> None:
    # The erratum of the condition: E[u(x_1) u(x_2) h_4(<z, x>)] on the unit circle, by quadrature that is exact.
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    first, second = np.meshgrid(nodes, nodes)
    measure = np.outer(weights, weights) / (2 * np.pi)
    name = "2 + h_2 + h_4 / 2"
    zeroth, _, square, _, fourth = normalised_coefficients(ACTIVATIONS[name])
    angle = np.random.default_rng(seed).uniform(0.2, 1.3)
    z = np.array([np.cos(angle), np.sin(angle)])
    along = z[0] * first + z[1] * second
    polynomial = (along**4 - 6 * along**2 + 3) / np.sqrt(24)
    found = np.sum(measure * ACTIVATIONS[name](first) * ACTIVATIONS[name](second) * polynomial)
    expected = zeroth * fourth * np.sum(z**4) + np.sqrt(6) * square**2 * np.prod(z**2)
    assert found == pytest.approx(expected, rel=1e-9)


def test_the_gradient_of_the_printed_objective() -> None:
    from scipy.optimize import approx_fprime

    sets, z = ((0, 2), (1,)), np.array([0.3, 0.1, 0.2, 0.4])

    def objective(v: np.ndarray) -> float:
        units = sum(np.exp(len(group) / 2 + v[list(group)].sum()) for group in sets)
        return float(units - 0.5 * np.sum(v) - 0.7 * np.sum(v**2))

    numeric = approx_fprime(z, objective, 1e-7)
    np.testing.assert_allclose(printed_objective_gradient(z, sets, 0.5, 0.7)[:4], numeric, atol=1e-5)


def test_errors_of_jumps_are_their_spread() -> None:
    jumps, errors = [], []
    for number in range(60):
        rng = np.random.default_rng(number)
        points = rng.standard_normal((4_000, 2))
        labels = rng.standard_normal(4_000)
        direction = np.array([[1.0, 0.0]])
        jumps.append(jumps_across(points, labels, direction, unit=STEP, threshold=0.3, width=0.2)[0])
        errors.append(jump_errors(points, labels, direction, unit=STEP, width=0.2)[0])
    assert np.std(jumps) == pytest.approx(np.mean(errors), rel=0.3)
