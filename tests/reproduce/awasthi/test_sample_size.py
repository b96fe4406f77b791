"""Predicted errors against brute force and against errors that were made."""

import numpy as np
import pytest

from relu_samples import hermite_tensor, planted
from unweave.exceptions import InvalidInput
from unweave.reproduce.awasthi.sample_size import expected_error, hermite_square_norms, rows_needed
from unweave.samples.hermite.inputs import Coordinates
from unweave.samples.hermite.moments import LabelMoments
from unweave.samples.sums import Sums


@pytest.mark.parametrize("order", range(7))
def test_norms_are_those_of_the_hermite_tensors(order: int, seed: int) -> None:
    points = np.random.default_rng(seed).standard_normal((4, 3))
    expected = [np.sum(hermite_tensor(point, order) ** 2) for point in points]
    found = hermite_square_norms(np.sum(points**2, axis=1), rank=3, order=order)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_predicted_errors_are_those_that_are_made(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network, coordinates = planted(rng, inputs=4, neurons=3), Coordinates.identity(4)
    runs = []
    for _ in range(40):
        points = rng.standard_normal((2000, 4))
        runs.append(Sums.empty(LabelMoments(coordinates, 4)).add((points, network.labels(points))).finalise().whole)
    pilot = rng.standard_normal((20_000, 4))
    for order in (1, 2, 3, 4):
        squares = [np.sum((run.tensor(order) - network.moment(order)) ** 2) for run in runs]
        predicted = expected_error(network.labels(pilot), np.sum(pilot**2, axis=1), rank=4, order=order, rows=2000)
        assert 0.6 < predicted / np.sqrt(np.mean(squares)) < 1.7


def test_rows_needed_give_the_error_asked_for(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels, square_lengths = rng.standard_normal(100), rng.chisquare(5, 100)
    rows = rows_needed(labels, square_lengths, rank=5, order=3, error=0.01)
    assert expected_error(labels, square_lengths, rank=5, order=3, rows=rows) == pytest.approx(0.01, rel=1e-3)
    with pytest.raises(InvalidInput, match="positive"):
        rows_needed(labels, square_lengths, rank=5, order=3, error=0.0)
