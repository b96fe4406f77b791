"""Both sides of the propositions on the Jacobian, against matrices that are written down entry by entry."""

import numpy as np
import pytest

from unweave.activations import TANH, Activation, softplus
from unweave.reproduce.soltanolkotabi.spectrum_bounds import Ends, SpectrumBounds, planted_point, product_spectrum


def bounds(activation: Activation, seed: int) -> SpectrumBounds:
    return SpectrumBounds(planted_point(activation, inputs=4, neurons=6, samples=9, seed=seed))


@pytest.mark.parametrize("activation", [softplus(4.0), TANH])
def test_spectra_are_those_of_products_written_out(activation: Activation, seed: int) -> None:
    found, rng = bounds(activation, seed), np.random.default_rng(seed)
    point = found.point
    draws = rng.standard_normal(200_000)
    means = [np.mean(activation(np.linalg.norm(row) * draws, 1)) for row in point.weights]
    np.testing.assert_allclose(found.mean_slopes, means, atol=5e-3)
    rows, centred = [], []
    for sample in point.points:
        slopes = point.output_weights * activation(point.weights @ sample, 1)
        rows.append(np.kron(slopes, sample))
        centred.append(np.kron(slopes - point.output_weights * found.mean_slopes, sample))
    for ends, matrix in ((found.jacobian, rows), (found.centred, centred)):
        values = np.sqrt(np.linalg.eigvalsh(np.array(matrix) @ np.array(matrix).T))
        np.testing.assert_allclose([ends.smallest, ends.largest], values[[0, -1]], rtol=1e-6)


def test_squares_of_points_have_the_spectrum_of_the_khatri_rao_product(seed: int) -> None:
    points = np.random.default_rng(seed).standard_normal((7, 4))
    product = np.array([np.kron(point, point) for point in points])
    values = np.linalg.svd(product, compute_uv=False)
    ends = product_spectrum(points)
    np.testing.assert_allclose([ends.smallest, ends.largest], values[[6, 0]], rtol=1e-12)


def test_odd_activations_have_no_curvature_on_average(seed: int) -> None:
    odd, convex = bounds(TANH, seed), bounds(softplus(4.0), seed)
    assert odd.curved.largest == 0.0
    assert odd.lower_of_centred == 2.0
    assert convex.curved.smallest > 0.0


@pytest.mark.parametrize("activation", [softplus(4.0), TANH])
def test_the_bound_without_constants_holds(activation: Activation, seed: int) -> None:
    found = bounds(activation, seed)
    assert found.jacobian.largest <= found.upper_by_centring
    assert found.lower_by_centring <= found.jacobian.smallest**2 or found.centring_constant > 0.0


def test_fewer_columns_than_rows_leave_nothing(seed: int) -> None:
    matrix = np.random.default_rng(seed).standard_normal((5, 3))
    assert Ends.of(matrix).smallest == 0.0
    assert Ends.of(matrix.T).smallest > 0.0
