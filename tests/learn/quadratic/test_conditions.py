from dataclasses import replace

import numpy as np
import pytest

from squares import planted_rank, random_labels
from unweave.learn.quadratic.conditions import check_conditions
from unweave.learn.quadratic.optimality import OptimalityTest
from unweave.learn.quadratic.problem import QuadraticProblem
from unweave.result import Diagnostic, Verdict


def conditions(problem: QuadraticProblem) -> dict[str, Diagnostic]:
    return {check.name: check for check in check_conditions(OptimalityTest.of(problem))}


def test_good_samples_meet_every_condition(seed: int) -> None:
    found = conditions(random_labels(seed, samples=15, inputs=8))
    missed = {name for name, check in found.items() if check.verdict is not Verdict.OK}
    assert missed <= {
        "rank of the squares of the points, against products of two inputs",
        "distance of the second moments from the identity",
        "largest distance of a kurtosis from 3",
    }
    assert found["neurons, against twice the inputs"].value == 16
    assert found["rank of the squares of the points, against points"].value == 15


def test_two_positive_and_one_negative_neuron_are_too_few_for_two_inputs(seed: int) -> None:
    problem = random_labels(seed, samples=6, inputs=2, output_weights=np.array([1.0, 1.0, -1.0]))
    found = conditions(problem)
    assert found["neurons with positive output weights"].verdict is Verdict.OK
    short = found["neurons with negative output weights"]
    assert (short.value, short.threshold, short.verdict) == (1.0, 2.0, Verdict.FAIL)
    assert "spurious minima" in short.advice
    assert found["neurons, against twice the inputs"].verdict is Verdict.FAIL


def test_labels_of_the_wrong_sign_have_a_floor(seed: int) -> None:
    problem, _ = planted_rank(seed, samples=20, inputs=4, rank=2)
    assert conditions(problem)["smallest label in the sign of the output weights"].verdict is Verdict.OK
    labels = problem.labels.copy()
    labels[3] = -2.0
    found = conditions(replace(problem, labels=labels))["smallest label in the sign of the output weights"]
    assert (found.value, found.verdict) == (-2.0, Verdict.FAIL)
    assert f"{4.0 / 40:.3e}" in found.advice


def test_fewer_points_than_inputs_are_reported(seed: int) -> None:
    found = conditions(random_labels(seed, samples=3, inputs=5))["points, against inputs"]
    assert (found.value, found.threshold, found.verdict) == (3.0, 5.0, Verdict.WEAK)
    assert "span 3 of 5" in found.advice


def test_more_points_than_products_of_inputs_are_reported(seed: int) -> None:
    found = conditions(random_labels(seed, samples=30, inputs=5))
    assert found["points, against products of two inputs"].verdict is Verdict.WEAK
    assert found["rank of the squares of the points, against points"].value == 15


def test_columns_that_do_not_vary_are_reported(seed: int) -> None:
    problem = random_labels(seed, samples=9, inputs=5)
    points = problem.points.copy()
    points[:, 1], points[:, 2], points[:, 4] = 0.0, 1.0, -3.0
    found = conditions(replace(problem, points=points))
    assert found["columns that are zero"].value == 1
    assert found["columns that are zero"].verdict is Verdict.WEAK
    assert found["columns that are constant"].value == 2
    assert found["columns that are constant"].verdict is Verdict.WEAK


@pytest.mark.parametrize("factor", [1.0, -1.0, 2.5])
def test_parallel_points_are_reported_with_their_labels(factor: float, seed: int) -> None:
    problem = random_labels(seed, samples=9, inputs=5)
    points, labels = problem.points.copy(), problem.labels.copy()
    points[7], labels[7] = factor * points[2], factor**2 * labels[2] + 0.5
    found = conditions(replace(problem, points=points, labels=labels))["pairs of parallel points"]
    assert (found.value, found.verdict) == (1.0, Verdict.WEAK)
    assert "points 2 and 7" in found.advice


def test_gaussian_moments_matter_for_one_theorem_only(seed: int) -> None:
    problem = random_labels(seed, samples=200, inputs=5)
    found = conditions(replace(problem, points=problem.points + 4.0))
    assert found["largest mean of an input"].verdict is Verdict.NOT_APPLICABLE
