"""The last fit reads all rows in passes, and gives what a fit in memory gives."""

from dataclasses import replace

import numpy as np
import pytest

from unweave.learn.relu_network.all_rows import AllRowsFit, PatternSums
from unweave.learn.relu_network.candidates import Finisher, Finishing, Rows
from unweave.learn.relu_network.evidence import standard_errors
from unweave.learn.relu_network.finish import with_affine_part
from unweave.learn.relu_network.pattern_fit import PatternNewton, pattern_system
from unweave.networks.network import Network
from unweave.networks.planted import relu_network
from unweave.samples.hermite.inputs import Coordinates
from unweave.samples.sources import ArraySource
from unweave.samples.sums import accumulate

INPUTS, ROWS, SPREAD = 5, 6_000, 2.0


def planted(seed: int) -> tuple[Network, np.ndarray, np.ndarray, Coordinates]:
    """A network in coordinates, and samples of it whose inputs and labels are in others."""
    rng = np.random.default_rng(seed)
    truth = relu_network(rng, inputs=INPUTS, neurons=3)
    coordinates = Coordinates(rng.standard_normal(INPUTS), np.eye(INPUTS) / 3.0)
    rows = rng.standard_normal((ROWS, INPUTS))
    labels = truth(rows)[:, 0] + 0.3 * rng.standard_normal(ROWS)
    return truth, 3.0 * rows + coordinates.origin, SPREAD * labels, coordinates


@pytest.mark.parametrize("has_affine_part", [False, True])
def test_sums_of_chunks_are_the_system_of_all_rows(has_affine_part: bool, seed: int) -> None:
    truth, points, labels, coordinates = planted(seed)
    network = with_affine_part(truth) if has_affine_part else truth
    source = ArraySource(points, labels, chunk_rows=1_000)
    found = accumulate(source, PatternSums(coordinates, network, SPREAD)).finalise().whole
    rows, values = coordinates.rows_of(points).T.copy(), labels[:, None] / SPREAD
    expected = pattern_system(network, rows, values)
    np.testing.assert_allclose(found.system.gram, expected.gram, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(found.system.products, expected.products, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(found.squares, np.sum((values - network(rows)) ** 2))
    assert found.rows == ROWS


@pytest.mark.parametrize("has_affine_part", [False, True])
def test_all_rows_are_fitted_after_a_fit_to_some(has_affine_part: bool, seed: int) -> None:
    truth, points, labels, coordinates = planted(seed)
    rows, values = coordinates.rows_of(points).T.copy(), labels[:, None] / SPREAD
    some, others = Rows(rows[:1_000], values[:1_000, 0]), Rows(rows[1_000:1_500], values[1_000:1_500, 0])
    finisher = Finisher(some, others, coordinates, Finishing())
    first = finisher(truth, np.random.default_rng(seed))
    if has_affine_part:
        first = replace(first, network=with_affine_part(first.network))
    found = AllRowsFit(steps=12, least_gain=0.0)(
        first, ArraySource(points, labels, chunk_rows=1_000), finisher, spread=SPREAD, engine=None
    )
    left = np.sum((values - found.network(rows)) ** 2)
    assert found.rows == ROWS
    assert left < np.sum((values - first.network(rows)) ** 2)
    if not has_affine_part:
        # Kinks make many minima within a fraction of the noise of one label.
        assert left < np.sum((values - PatternNewton()(truth, rows, values).network(rows)) ** 2) + 0.3**2
    errors = standard_errors(found.network, rows, values, noise=found.noise, coordinates=coordinates)
    np.testing.assert_allclose(found.errors.weights, errors.weights, rtol=1e-6)
    if not has_affine_part:
        assert np.all(found.errors.output_weights < 0.7 * first.errors.output_weights)
