from pathlib import Path

import numpy as np
import pytest

from unweave.exceptions import InvalidInput, UnreadableFile
from unweave.networks.quadratic.densenet import QuadraticDenseNet
from unweave.networks.quadratic.student import Student
from unweave.networks.quadratic.teacher import (
    GaussianInputs,
    Inputs,
    MixedGaussianInputs,
    UniformInputs,
    effective_gaps,
    make_sparse_teacher,
    make_teacher,
    make_toy_teacher,
)
from unweave.reproduce.allenzhu.traces import feature_errors, linear_residual, procrustes_error


def test_toy_is_its_formula(seed: int) -> None:
    points = np.random.default_rng(seed).standard_normal((50, 4))
    q = points**2 - 1
    upper = (q[:, 0] ** 2 + points[:, 2]) ** 2 + (q[:, 1] ** 2 + points[:, 3]) ** 2
    expected = q[:, 0] ** 2 + q[:, 1] ** 2 + 0.2 * upper
    np.testing.assert_allclose(make_toy_teacher(0.2)(points)[:, 0], expected, rtol=1e-13)


def test_teacher_reads_squares_of_features(seed: int) -> None:
    rng = np.random.default_rng(seed)
    teacher = make_teacher(rng, inputs=8, widths=(3, 2, 1), level_weights=(1.0, 0.3, 0.1))
    points = rng.standard_normal((20, 8))
    blocks = [level.features for level in teacher.levels]
    second = (points**2 - 1) @ blocks[0].T
    squares = [0, 3, 5]  # where the products of a feature with itself stand among the six of three features
    third = second**2 @ blocks[1][:, squares].T + points @ blocks[1][:, 6:].T
    fourth = third**2 @ blocks[2][:, [0, 2]].T + (points**2 - 1) @ blocks[2][:, 3:].T
    expected = (second**2).sum(1) + 0.3 * (third**2).sum(1) + 0.1 * (fourth**2).sum(1)
    np.testing.assert_allclose(teacher(points)[:, 0], expected, rtol=1e-12)
    np.testing.assert_allclose(teacher.truncate(3)(points)[:, 0], expected - 0.1 * (fourth**2).sum(1), rtol=1e-10)


@pytest.mark.parametrize("inputs", [GaussianInputs(), UniformInputs(), MixedGaussianInputs()])
def test_inputs_have_unit_squares_and_teachers_unit_features(inputs: Inputs, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = inputs(rng, 40_000, 6)
    np.testing.assert_allclose(np.mean(points**2, axis=0), 1.0, atol=0.05)
    teacher = make_teacher(rng, inputs=6, widths=(3, 2), level_weights=(1.0, 0.3), distribution=inputs)
    for level in (2, 3):
        assert np.mean(teacher.features(points, level) ** 2) == pytest.approx(1.0, abs=0.15)
    assert 0.1 < effective_gaps(teacher, points)[0] < 3.0


def test_blocks_of_a_teacher_are_well_conditioned(seed: int) -> None:
    rng = np.random.default_rng(seed)
    teacher = make_teacher(rng, inputs=9, widths=(4, 2), level_weights=(1.0, 0.3), condition=1.5, is_normalised=False)
    values = np.linalg.svd(teacher.levels[0].features, compute_uv=False)
    assert values.max() == pytest.approx(1.5)
    assert values.min() == pytest.approx(1 / 1.5)


def test_sparse_teacher_has_small_supports(seed: int) -> None:
    teacher = make_sparse_teacher(np.random.default_rng(seed), inputs=20)
    for level in teacher.levels:
        np.testing.assert_allclose(np.sum(level.features[:, -20:] != 0), 4)


def test_jacobian_against_finite_differences(seed: int) -> None:
    rng = np.random.default_rng(seed)
    teacher = make_teacher(rng, inputs=5, widths=(3, 2, 2), level_weights=(1.0, 0.5, 0.4))
    signs = (np.array([1.0, -1.0, 1.0]), np.ones(2), np.array([0.5, -0.5]))
    student = Student(teacher.wiring, signs, np.ones(5), has_affine=True, has_centre=True)
    points = rng.standard_normal((7, 5))
    vector = student.random_start(rng, points, size=1.0) + 0.1 * rng.standard_normal(student.parameters)
    exact = student.jacobian(vector, points)
    step = 1e-6
    for number, direction in enumerate(np.eye(student.parameters)):
        ends = [student.outputs(vector + sign * step * direction, points) for sign in (1, -1)]
        np.testing.assert_allclose(exact[:, number], (ends[0] - ends[1]) / (2 * step), rtol=1e-6, atol=1e-7)


def test_student_is_its_network(seed: int) -> None:
    rng = np.random.default_rng(seed)
    teacher = make_teacher(rng, inputs=5, widths=(3, 2), level_weights=(1.0, 0.5))
    student = Student(teacher.wiring, (np.array([2.0, -2.0, 2.0]), np.ones(2)), np.ones(5), True, True)
    points = rng.standard_normal((9, 5))
    vector = rng.standard_normal(student.parameters)
    values = student.network(vector, unit=3.0)(points)[:, 0]
    np.testing.assert_allclose(values, 3.0 * student.outputs(vector, points), rtol=1e-12)


def test_a_saved_network_answers_the_same(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    teacher = make_teacher(rng, inputs=5, widths=(3, 2), level_weights=(1.0, 0.5))
    student = Student(teacher.wiring, (np.array([2.0, -2.0, 2.0]), np.ones(2)), np.full(5, 0.7), True)
    network = student.network(rng.standard_normal(student.parameters))
    network.save(tmp_path / "net.safetensors")
    points = rng.standard_normal((30, 5))
    again = QuadraticDenseNet.load(tmp_path / "net.safetensors")
    np.testing.assert_array_equal(again(points), network(points))
    np.testing.assert_array_equal(again.mean_squares, 0.7)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(UnreadableFile, match="quadratic"):
        QuadraticDenseNet.load(path)


def test_wrong_inputs_are_refused(seed: int) -> None:
    teacher = make_toy_teacher()
    with pytest.raises(InvalidInput, match="4 columns"):
        teacher(np.zeros((2, 3)))
    with pytest.raises(InvalidInput, match="positive"):
        make_teacher(np.random.default_rng(seed), inputs=4, widths=(2,), level_weights=(-1.0,))


def test_feature_error_forgets_rotations_only(seed: int) -> None:
    rng = np.random.default_rng(seed)
    true = rng.standard_normal((100, 3))
    rotation, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    assert procrustes_error(true, true @ rotation) < 1e-14
    assert procrustes_error(true, 2 * true) == pytest.approx(1.0)
    assert procrustes_error(true, np.pad(true, ((0, 0), (0, 2)))) < 1e-14
    assert linear_residual(true, true @ rng.standard_normal((3, 3))) < 1e-12
    assert procrustes_error(true, rng.standard_normal((100, 3))) > 0.5
    assert linear_residual(true, rng.standard_normal((100, 3))) > 0.5


def test_feature_error_is_brute_force_over_rotations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    true, found = rng.standard_normal((50, 2)), rng.standard_normal((50, 2))
    angles = np.linspace(0, 2 * np.pi, 4_001)
    tried = []
    for angle in angles:
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        tried += [np.sum((true - found @ turn) ** 2), np.sum((true - found * [1, -1] @ turn) ** 2)]
    assert procrustes_error(true, found) == pytest.approx(min(tried) / np.sum(true**2), rel=1e-5)


def test_scale_of_weights_does_not_count(seed: int) -> None:
    rng = np.random.default_rng(seed)
    teacher = make_teacher(rng, inputs=5, widths=(3,), level_weights=(4.0,))
    student = Student(teacher.wiring, (np.ones(3),), np.ones(5))
    same = student.network(2 * teacher.levels[0].features.ravel())
    assert max(feature_errors(same, teacher, rng.standard_normal((50, 5)))) < 1e-13
