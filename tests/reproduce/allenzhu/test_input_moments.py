"""Constants of the assumptions on inputs against eigenvalue problems; learners of two shapes; the cut-off square."""

from math import comb

import numpy as np
import pytest
import scipy.linalg

from unweave.networks.quadratic.wiring import make_wiring
from unweave.reproduce.allenzhu import truncation
from unweave.reproduce.allenzhu.algorithm1 import GaussianFrame
from unweave.reproduce.allenzhu.distilled_learner import as_network, learner
from unweave.reproduce.allenzhu.input_moments import monomials, preserved
from unweave.reproduce.experiment import Cell


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_preserved_degrees_against_an_eigenvalue_problem(degree: int, seed: int) -> None:
    points = np.random.default_rng(seed).standard_normal((400, 2))
    terms, top = monomials(points, degree)
    assert terms.shape[1] == comb(2 + degree, degree)
    # The largest sum of squared top coefficients over the mean square: of a pencil whose one side is singular.
    values = scipy.linalg.eigh(np.diag(top.astype(float)), terms.T @ terms / len(terms), eigvals_only=True)
    assert preserved(terms, top) == pytest.approx(values[-1], rel=1e-8)


def test_the_learner_is_a_quadratic_network(seed: int) -> None:
    rng, wiring = np.random.default_rng(seed), make_wiring(5, (3, 2))
    frames = [GaussianFrame()(rng, width) for width in (3, 2)]
    small = [rng.standard_normal((3, 5)), rng.standard_normal((2, 6 + 5))]
    wide = [rng.standard_normal((7, 5)), rng.standard_normal((7, 6 + 5))]
    points = rng.standard_normal((30, 5))
    answers = learner(points, wiring, small, wide, frames)
    np.testing.assert_allclose(as_network(wiring, small, wide, frames)(points)[:, 0], answers, rtol=1e-10)
    # K of the last level feeds nothing, that of the first one does.
    same, other = [small[0], 2 * small[1]], [2 * small[0], small[1]]
    np.testing.assert_array_equal(learner(points, wiring, same, wide, frames), answers)
    assert not np.allclose(learner(points, wiring, other, wide, frames), answers)


@pytest.mark.parametrize("bound", [1.0, 3.0])
def test_the_cut_off_square_has_its_height(bound: float) -> None:
    found = truncation.measure(Cell({"bound": bound}, 0))
    assert found["height"] == pytest.approx(16 / 7)
    assert found["inside"] == 0.0
    assert found["fall"] == 0.0
