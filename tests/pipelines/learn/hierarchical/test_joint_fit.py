import numpy as np
import pytest

from unweave.learn.hierarchical.joint_fit import (
    HierarchicalFit,
    JointLevenbergMarquardt,
    LogisticLoss,
    Loss,
    SquaredLoss,
)
from unweave.networks.quadratic.student import Student
from unweave.networks.quadratic.teacher import GaussianInputs, Inputs, UniformInputs, make_sparse_teacher, make_teacher
from unweave.networks.quadratic.wiring import make_wiring
from unweave.reproduce.allenzhu.traces import feature_errors


def relative_error(fit: HierarchicalFit, points: np.ndarray, labels: np.ndarray) -> float:
    return float(np.mean((fit.network(points)[:, 0] - labels) ** 2) / np.var(labels))


@pytest.mark.parametrize("loss", [SquaredLoss(), LogisticLoss()])
def test_derivatives_of_losses(loss: Loss, seed: int) -> None:
    rng = np.random.default_rng(seed)
    outputs, labels, step = rng.standard_normal(20), np.sign(rng.standard_normal(20)), 1e-5
    up, down = (loss.values(outputs + sign * step, labels) for sign in (1, -1))
    np.testing.assert_allclose(loss.slopes(outputs, labels), (up - down) / (2 * step), rtol=1e-8)
    up, down = (loss.slopes(outputs + sign * step, labels) for sign in (1, -1))
    np.testing.assert_allclose(loss.curvatures(outputs, labels), (up - down) / (2 * step), rtol=1e-7)


@pytest.mark.parametrize("number", [0, *(pytest.param(number, marks=pytest.mark.slow) for number in range(1, 5))])
def test_exact_labels_give_the_network(number: int, seed: int) -> None:
    rng = np.random.default_rng([seed, number])
    teacher = make_teacher(rng, inputs=20, widths=(4, 2), level_weights=(1.0, 0.3))
    points, fresh = rng.standard_normal((2_000, 20)), rng.standard_normal((2_000, 20))
    student = Student(teacher.wiring, (np.ones(4), np.ones(2)), np.ones(20))
    fit = JointLevenbergMarquardt()(student, points, teacher(points)[:, 0], rng=rng)
    assert relative_error(fit, fresh, teacher(fresh)[:, 0]) < 1e-15
    assert max(feature_errors(fit.network, teacher, fresh)) < 1e-12


def test_too_many_features_are_harmless(seed: int) -> None:
    rng = np.random.default_rng(seed)
    teacher = make_teacher(rng, inputs=10, widths=(3, 1), level_weights=(1.0, 0.3))
    points, fresh = rng.standard_normal((2_000, 10)), rng.standard_normal((500, 10))
    student = Student(make_wiring(10, (5, 2)), (np.ones(5), np.ones(2)), np.ones(10))
    fit = JointLevenbergMarquardt()(student, points, teacher(points)[:, 0], rng=rng)
    assert relative_error(fit, fresh, teacher(fresh)[:, 0]) < 1e-15
    values = np.linalg.svd(fit.network.levels[0].features, compute_uv=False)
    assert values[3] < 1e-5 * values[2]


@pytest.mark.parametrize("weights", [pytest.param((1.0, 0.1, 0.01), marks=pytest.mark.slow), (1.0, 0.3, 0.09)])
def test_degree_sixteen(weights: tuple[float, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs: Inputs = UniformInputs()
    teacher = make_teacher(rng, inputs=12, widths=(4, 2, 1), level_weights=weights, distribution=inputs)
    points, fresh = inputs(rng, 1_200, 12), inputs(rng, 500, 12)
    student = Student(teacher.wiring, tuple(np.ones(width) for width in (4, 2, 1)), np.ones(12))
    fit = JointLevenbergMarquardt()(student, points, teacher(points)[:, 0], rng=rng)
    assert max(feature_errors(fit.network, teacher, fresh)) < 1e-5


def test_the_family_that_is_hard_for_kernels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    teacher = make_sparse_teacher(rng, inputs=15)
    points, fresh = GaussianInputs()(rng, 1_000, 15), GaussianInputs()(rng, 1_000, 15)
    student = Student(teacher.wiring, (np.ones(1), np.ones(1)), np.ones(15))
    fit = JointLevenbergMarquardt()(student, points, teacher(points)[:, 0], rng=rng)
    assert relative_error(fit, fresh, teacher(fresh)[:, 0]) < 1e-15


def test_noisy_labels_leave_a_small_error(seed: int) -> None:
    rng = np.random.default_rng(seed)
    teacher = make_teacher(rng, inputs=12, widths=(3, 2), level_weights=(1.0, 0.3))
    points, fresh = rng.standard_normal((1_500, 12)), rng.standard_normal((1_000, 12))
    clean = teacher(points)[:, 0]
    noisy = clean + 0.05 * np.std(clean) * rng.standard_normal(len(clean))
    student = Student(teacher.wiring, (np.ones(3), np.ones(2)), np.ones(12))
    fit = JointLevenbergMarquardt()(student, points, noisy, rng=rng)
    assert relative_error(fit, fresh, teacher(fresh)[:, 0]) < 1e-3
    assert fit.relative_loss == pytest.approx(0.05**2, rel=0.15)


def test_unknown_centre_and_affine_part_are_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    teacher = make_teacher(rng, inputs=8, widths=(3, 1), level_weights=(1.0, 0.3))
    points, fresh = rng.standard_normal((1_500, 8)), rng.standard_normal((500, 8))
    slope = rng.standard_normal(8)
    labels = teacher(points)[:, 0] + points @ slope - 2
    student = Student(teacher.wiring, (np.ones(3), np.ones(1)), np.mean(points**2, axis=0), True, True)
    fit = JointLevenbergMarquardt()(student, points, labels, rng=rng)
    assert relative_error(fit, fresh, teacher(fresh)[:, 0] + fresh @ slope - 2) < 1e-15
