"""Error bars, rates and variance reduction, over many sets of samples of known networks."""

import numpy as np
import pytest

from relu_samples import Planted, planted
from unweave.learn.relu_network.directions import DirectionRules, active_subspace
from unweave.learn.relu_network.starts import HermiteRegression
from unweave.samples.hermite.inputs import Coordinates
from unweave.samples.hermite.moments import HermiteMoments, LabelMoments
from unweave.samples.sums import Halved, Sums


def moments_of(network: Planted, rng: np.random.Generator, *, rows: int, is_fitted: bool) -> Halved[HermiteMoments]:
    points = rng.standard_normal((rows, network.weights.shape[1]))
    chunk, coordinates = (points, network.labels(points)), Coordinates.identity(points.shape[1])
    if is_fitted:
        return Sums.empty(HermiteRegression(coordinates, 4)).add(chunk).finalise().of(lambda half: half.moments)
    return Sums.empty(LabelMoments(coordinates, 4)).add(chunk).finalise()


def error_of(found: Halved[HermiteMoments], network: Planted, order: int) -> float:
    return float(np.linalg.norm((found.whole.tensor(order) - network.moment(order)).ravel()))


@pytest.mark.parametrize("is_fitted", [False, True])
def test_halves_estimate_the_error(is_fitted: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = planted(rng, inputs=3, neurons=3)
    runs = [moments_of(network, rng, rows=16_000, is_fitted=is_fitted) for _ in range(40)]
    for order in (1, 2, 3, 4):
        true = np.sqrt(np.mean([error_of(run, network, order) ** 2 for run in runs]))
        bars = np.array([run.error(lambda half, k=order: half.tensor(k)) for run in runs])
        assert 0.6 < np.sqrt(np.mean(bars**2)) / true < 1.6
        assert np.median(bars) > 0.4 * true


@pytest.mark.parametrize("is_fitted", [False, True])
def test_errors_fall_with_the_square_root_of_the_rows(is_fitted: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = planted(rng, inputs=3, neurons=2)
    sizes = [4000, 16_000, 64_000]
    runs = [[moments_of(network, rng, rows=rows, is_fitted=is_fitted) for _ in range(12)] for rows in sizes]
    for order in (2, 3, 4):
        errors = [np.mean([error_of(found, network, order) for found in same_size]) for same_size in runs]
        slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
        assert -0.75 < slope < -0.3


def test_regression_takes_most_of_the_error_away(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = planted(rng, inputs=5, neurons=3)
    for order in (2, 3, 4):
        plain, fitted = (
            np.mean(
                [error_of(moments_of(network, rng, rows=10_000, is_fitted=is_fitted), network, order) for _ in range(5)]
            )
            for is_fitted in (False, True)
        )
        assert fitted < 0.5 * plain


def test_the_active_subspace_holds_all_weights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = planted(rng, inputs=10, neurons=3)
    # Weights at right angles: then no eigenvalue is small by chance.
    network = Planted(np.linalg.qr(rng.standard_normal((10, 3)))[0].T, network.biases, network.outer)
    found = active_subspace(moments_of_degree_two(network, rng, rows=20_000), rules=DirectionRules())
    assert found.rank == 3
    outside = network.weights - network.weights @ found.basis @ found.basis.T
    assert np.linalg.norm(outside, axis=1).max() < 0.2
    assert found.linear_outside < 0.2


def test_a_linear_part_outside_of_the_subspace_is_reported(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # A bias of 6 makes the unit linear but for one row in a billion.
    network = Planted(np.eye(6)[:2], np.array([0.0, 6.0]), np.array([1.0, 0.5]))
    found = active_subspace(moments_of_degree_two(network, rng, rows=20_000), rules=DirectionRules())
    assert found.rank == 1
    assert found.linear_outside == pytest.approx(0.5, abs=0.05)


def moments_of_degree_two(network: Planted, rng: np.random.Generator, *, rows: int) -> Halved[HermiteMoments]:
    points = rng.standard_normal((rows, network.weights.shape[1]))
    regression = HermiteRegression(Coordinates.identity(points.shape[1]), 2)
    return Sums.empty(regression).add((points, network.labels(points))).finalise().of(lambda half: half.moments)
