"""Moments of labels against brute force, quadrature and closed forms."""

from math import factorial

import numpy as np
import pytest

from relu_samples import hermite_tensor, mean_tensor, planted, power
from unweave.activations import activation_named
from unweave.exceptions import InvalidInput
from unweave.learn.relu_network.starts import HermiteRegression
from unweave.numerics.symmetric_tensors import series_count
from unweave.reproduce.awasthi.contracted_moments import ContractedMoments, random_directions
from unweave.samples.hermite.inputs import Coordinates
from unweave.samples.hermite.moments import Control, HermiteMoments, LabelMoments
from unweave.samples.sources import ArraySource
from unweave.samples.sums import Halved, Moments, Statistic, accumulate


def measured(statistic: Statistic[Moments], points: np.ndarray, labels: np.ndarray) -> Halved[Moments]:
    return accumulate(ArraySource(points, labels, chunk_rows=1000), statistic).finalise()


def random_moments(rng: np.random.Generator, *, rank: int, degree: int) -> HermiteMoments:
    return HermiteMoments(rank, degree, rng.standard_normal(series_count(rank, degree)))


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5, pytest.param(6, marks=pytest.mark.slow)])
def test_moments_of_labels_are_the_means_of_hermite_tensors(order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, labels = rng.standard_normal((10, 3)), rng.standard_normal(10)
    found = measured(LabelMoments(Coordinates.identity(3), order), points, labels)
    for k in range(order + 1):
        np.testing.assert_allclose(found.whole.tensor(k), mean_tensor(points, labels, k), atol=1e-11)
        np.testing.assert_allclose(found.odd.tensor(k), mean_tensor(points[1::2], labels[1::2], k), atol=1e-11)
        assert found.whole.norm(k) == pytest.approx(np.linalg.norm(found.whole.tensor(k).ravel()))


@pytest.mark.parametrize(
    ("open_modes", "order"),
    [(1, 4), (3, 5), (4, 6), *(pytest.param(modes, 6, marks=pytest.mark.slow) for modes in (0, 2))],
)
def test_slices_are_contractions_of_the_tensors(open_modes: int, order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, labels = rng.standard_normal((4, 3)), rng.standard_normal(4)
    directions = random_directions(rng, rank=3, directions=2)
    statistic = ContractedMoments(Coordinates.identity(3), directions, open_modes, order)
    found = measured(statistic, points, labels).whole
    for k in range(open_modes, order + 1):
        for direction, part in zip(directions, found.of_order(k), strict=True):
            tensor = mean_tensor(points, labels, k)
            for _ in range(k - open_modes):
                tensor = tensor @ direction
            np.testing.assert_allclose(part, tensor, atol=1e-11)


def test_regression_is_least_squares_on_all_features(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, labels = rng.standard_normal((400, 3)), rng.standard_normal(400)
    found = measured(HermiteRegression(Coordinates.identity(3), 3), points, labels).whole
    # In monomials instead: another basis of the same polynomials.
    powers = [
        points[:, [0]] ** a * points[:, [1]] ** b * points[:, [2]] ** c
        for a, b, c in np.ndindex(4, 4, 4)
        if a + b + c < 4
    ]
    design = np.concatenate(powers, axis=1)
    solution, squares, _, _ = np.linalg.lstsq(design, labels)
    fitted = found.moments.series(points.T)
    np.testing.assert_allclose(fitted, design @ solution, atol=1e-10)
    assert found.residual_rms == pytest.approx(np.sqrt(squares[0] / (400 - 20)))


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_series_is_the_polynomial_with_these_moments(degree: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    moments, points = random_moments(rng, rank=3, degree=degree), rng.standard_normal((5, 3))
    expected = [
        sum(np.sum(moments.tensor(k) * hermite_tensor(x, k)) / factorial(k) for k in range(degree + 1)) for x in points
    ]
    np.testing.assert_allclose(moments.series(points.T), expected, atol=1e-11)


@pytest.mark.parametrize("order", [3, 4, 6])
def test_quadrature_gives_the_coefficients_of_a_smooth_network(order: int) -> None:
    tanh, weight, bias = activation_named("tanh"), np.array([0.6, -0.8]), 0.4
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    points = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    density = np.outer(weights, weights).ravel() / (2 * np.pi)
    # A mean over rows becomes the integral if the labels carry the weights of the nodes.
    labels = len(points) * density * tanh(points @ weight + bias)
    found = measured(LabelMoments(Coordinates.identity(2), order), points, labels).whole
    coefficients = tanh.hermite_coefficients(order, bias=bias)
    for k in range(order + 1):
        expected = np.sqrt(factorial(k)) * coefficients[k] * power(weight, k)
        np.testing.assert_allclose(found.tensor(k), expected, atol=1e-7)


def statistics_of_order_four(rng: np.random.Generator, coordinates: Coordinates) -> list[Statistic]:
    control = Control.shared(coordinates, random_moments(rng, rank=coordinates.rank, degree=2))
    return [
        LabelMoments(coordinates, 4),
        LabelMoments(coordinates, 4, control=control),
        HermiteRegression(coordinates, 4),
        HermiteRegression(coordinates, 4, control=control),
    ]


@pytest.mark.parametrize("which", range(4))
def test_samples_of_a_relu_network_give_its_moments_within_the_error_bars(which: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network, points = planted(rng, inputs=4, neurons=3), rng.standard_normal((100_000, 4))
    statistic = statistics_of_order_four(rng, Coordinates.identity(4))[which]
    labels = network.labels(points)
    found = measured(statistic, points, labels)
    if isinstance(statistic, HermiteRegression):
        found = found.of(lambda half: half.moments)
    for k in range(5):
        error = np.linalg.norm((found.whole.tensor(k) - network.moment(k)).ravel())
        # A few entries give no reliable bar: for orders 0 and 1 it is the root mean square of y He_k(x).
        few = np.sqrt(np.mean(labels**2 * np.sum(points**2, axis=1) ** k) / len(points))
        assert error < (4 * found.error(lambda half, k=k: half.tensor(k)) if k > 1 else 5 * few)


def test_slices_of_a_relu_network_agree_with_its_tensors(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network, points = planted(rng, inputs=4, neurons=3), rng.standard_normal((100_000, 4))
    labels, coordinates = network.labels(points), Coordinates.identity(4)
    low = measured(HermiteRegression(coordinates, 2), points, labels).whole.moments
    statistic = ContractedMoments(coordinates, network.weights, 2, 6, control=Control.shared(coordinates, low))
    found = measured(statistic, points, labels)
    for k in (2, 3, 4, 5, 6):
        expected = np.array([np.tensordot(network.moment(k), power(w, k - 2), axes=k - 2) for w in network.weights])
        assert np.linalg.norm(found.whole.of_order(k) - expected) < 4 * found.error(lambda half, k=k: half.of_order(k))


@pytest.mark.parametrize("half_of", [Control.shared, Control.crossed])
def test_a_control_that_explains_everything_leaves_no_variance(half_of: object, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, coordinates = random_moments(rng, rank=4, degree=3), Coordinates.identity(4)
    points = rng.standard_normal((51, 4))
    is_shared = half_of == Control.shared
    control = (
        Control.shared(coordinates, truth)
        if is_shared
        else Control.crossed(coordinates, Halved(truth, truth, truth, 51))
    )
    found = measured(LabelMoments(coordinates, 4, control=control), points, truth.series(points.T))
    for k in range(4):
        np.testing.assert_allclose(found.whole.tensor(k), truth.tensor(k), atol=1e-11)
    assert found.whole.norm(4) < 1e-11
    directions = random_directions(rng, rank=4, directions=3)
    slices = measured(ContractedMoments(coordinates, directions, 2, 4, control=control), points, truth.series(points.T))
    np.testing.assert_allclose(
        slices.whole.of_order(3), np.einsum("ijk,dk->dij", truth.tensor(3), directions), atol=1e-11
    )


def test_crossed_controls_give_each_half_what_the_other_has_fitted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = (random_moments(rng, rank=2, degree=1) for _ in range(2))
    control = Control.crossed(Coordinates.identity(2), Halved(one, one, other, 6))
    points, labels = rng.standard_normal((6, 2)), rng.standard_normal(6)
    np.testing.assert_allclose(control.residual(points, labels, half=0), labels - other.series(points.T))
    np.testing.assert_allclose(control.residual(points, labels, half=1), labels - one.series(points.T))


def test_moments_in_a_subspace_are_projections_of_the_moments(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, labels = rng.standard_normal((50, 5)), rng.standard_normal(50)
    basis = np.linalg.qr(rng.standard_normal((5, 2)))[0]
    everywhere = Coordinates.identity(5)
    whole = measured(LabelMoments(everywhere, 4), points, labels).whole
    inside = measured(LabelMoments(everywhere.within(basis), 4), points, labels).whole
    np.testing.assert_allclose(inside.packed, whole.projected(basis).packed, atol=1e-12)
    expected = np.einsum("ijk,ia,jb,kc->abc", whole.tensor(3), basis, basis, basis)
    np.testing.assert_allclose(inside.tensor(3), expected, atol=1e-12)


def test_a_control_of_all_coordinates_serves_a_subspace(seed: int) -> None:
    rng = np.random.default_rng(seed)
    everywhere = Coordinates.identity(5)
    inside = everywhere.within(np.linalg.qr(rng.standard_normal((5, 2)))[0])
    truth, points = random_moments(rng, rank=5, degree=2), rng.standard_normal((40, 5))
    statistic = LabelMoments(inside, 3, control=Control.shared(everywhere, truth))
    found = measured(statistic, points, truth.series(points.T)).whole
    np.testing.assert_allclose(found.up_to(2).packed, truth.projected(inside.axes).packed, atol=1e-11)
    assert found.norm(3) < 1e-11


def test_a_control_of_other_coordinates_is_refused(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inside = Coordinates.identity(5).within(np.linalg.qr(rng.standard_normal((5, 2)))[0])
    control = Control.shared(inside, random_moments(rng, rank=2, degree=2))
    with pytest.raises(InvalidInput, match="within"):
        control.moments_in(Coordinates.identity(5), np.array([1, 1]))


def test_wrong_orders_and_directions_are_refused(seed: int) -> None:
    coordinates, rng = Coordinates.identity(3), np.random.default_rng(seed)
    with pytest.raises(InvalidInput, match="orders 1 to 6"):
        LabelMoments(coordinates, 7)
    with pytest.raises(InvalidInput, match="unit length"):
        ContractedMoments(coordinates, np.ones((2, 3)), 2, 3)
    with pytest.raises(InvalidInput, match="4 modes open"):
        ContractedMoments(coordinates, np.eye(3), 4, 3)
    with pytest.raises(InvalidInput, match="orders 0 to 2"):
        random_moments(rng, rank=3, degree=2).tensor(3)
    with pytest.raises(InvalidInput, match="20 features needs more rows"):
        measured(HermiteRegression(coordinates, 3), rng.standard_normal((38, 3)), np.ones(38))
