from dataclasses import replace

import numpy as np
import pytest

from unweave.activations import NAMED, QUADRATIC, TANH, Activation, softplus
from unweave.exceptions import InvalidInput
from unweave.learn.overparameterized.jacobian import SpectrumSearch, TrainingPoint, jacobian_spectrum, largest_curvature

SMOOTH = [activation for activation in NAMED.values() if activation.is_smooth] + [softplus(10.0)]


def random_point(
    seed: int, activation: Activation = TANH, *, shape: tuple[int, int, int] = (7, 4, 3), trains_outputs: bool = True
) -> TrainingPoint:
    samples, neurons, inputs = shape
    rng = np.random.default_rng(seed)
    return TrainingPoint(
        rng.standard_normal((samples, inputs)),
        rng.standard_normal(samples),
        rng.standard_normal(neurons),
        rng.standard_normal((neurons, inputs)) / np.sqrt(inputs),
        activation,
        trains_outputs,
    )


def differences(point: TrainingPoint, function, step: float = 1e-5) -> np.ndarray:
    units = np.eye(point.parameters)
    return np.array(
        [(function(point.moved(step * unit)) - function(point.moved(-step * unit))) / (2 * step) for unit in units]
    )


@pytest.mark.parametrize("trains_outputs", [True, False])
@pytest.mark.parametrize("activation", SMOOTH, ids=str)
def test_derivatives_are_those_of_differences(activation: Activation, trains_outputs: bool, seed: int) -> None:
    point = random_point(seed, activation, trains_outputs=trains_outputs)
    slope = differences(point, lambda moved: moved.loss)
    assert np.linalg.norm(point.gradient - slope) <= 1e-6 * np.linalg.norm(slope)
    direction = np.random.default_rng([seed, 1]).standard_normal(point.parameters)
    product = direction @ differences(point, lambda moved: moved.gradient)
    assert np.linalg.norm(point.hessian_product(direction) - product) <= 1e-6 * np.linalg.norm(product)


@pytest.mark.parametrize("trains_outputs", [True, False])
@pytest.mark.parametrize("activation", [TANH, softplus(10.0), QUADRATIC], ids=str)
def test_products_are_those_of_the_dense_jacobian(activation: Activation, trains_outputs: bool, seed: int) -> None:
    point = random_point(seed, activation, trains_outputs=trains_outputs)
    rng = np.random.default_rng([seed, 2])
    shares, direction = rng.standard_normal(point.samples), rng.standard_normal(point.parameters)
    jacobian = differences(point, lambda moved: moved.residuals).T
    assert np.allclose(point.dense_jacobian(), jacobian, atol=1e-7)
    assert np.allclose(point.pull_back(shares), point.dense_jacobian().T @ shares, atol=1e-12)
    assert np.allclose(point.push_forward(direction), point.dense_jacobian() @ direction, atol=1e-12)
    assert point.pull_back(shares) @ direction == pytest.approx(shares @ point.push_forward(direction), rel=1e-12)


@pytest.mark.parametrize("trains_outputs", [True, False])
def test_the_gram_matrix_is_an_entrywise_product(trains_outputs: bool, seed: int) -> None:
    point = random_point(seed, trains_outputs=trains_outputs)
    dense = point.dense_jacobian()
    assert np.max(np.abs(point.gram() - dense @ dense.T)) <= 1e-12 * np.max(np.abs(point.gram()))


def test_the_second_term_of_the_quadratic_hessian_has_factor_four(seed: int) -> None:
    # [soltanolkotabi] prints half of it.
    point = random_point(seed, QUADRATIC, trains_outputs=False)
    direction = np.random.default_rng([seed, 3]).standard_normal(point.weights.shape)
    residual_matrix = (point.points * point.residuals[:, None]).T @ point.points / point.samples
    first = 2 * np.sum((direction.T * point.output_weights) @ direction * residual_matrix)
    mixed = (point.weights.T * point.output_weights) @ direction
    squares = np.sum(np.einsum("ni,ij,nj->n", point.points, mixed, point.points) ** 2) / point.samples
    form = direction.ravel() @ point.hessian_product(direction.ravel())
    assert (form - first) / squares == pytest.approx(4.0, rel=1e-10)


def test_the_spectrum_is_that_of_the_dense_matrix_with_and_without_its_entries(seed: int) -> None:
    point = random_point(seed, softplus(10.0), shape=(40, 16, 10))
    values = np.linalg.svd(point.dense_jacobian(), compute_uv=False)
    for is_matrix_free, most in ((False, 1e9), (False, 0.0), (True, 1e9)):
        search = SpectrumSearch(dense_operations=most)
        spectrum = jacobian_spectrum(point, is_matrix_free=is_matrix_free, search=search)
        assert spectrum.smallest == pytest.approx(values[-1], rel=1e-6)
        assert spectrum.largest == pytest.approx(values[0], rel=1e-9)
        assert abs(spectrum.smallest - values[-1]) <= spectrum.error


@pytest.mark.parametrize("is_matrix_free", [True, False])
def test_fewer_parameters_than_samples_leave_no_smallest_singular_value(is_matrix_free: bool, seed: int) -> None:
    point = random_point(seed, shape=(40, 3, 4))
    assert jacobian_spectrum(point, is_matrix_free=is_matrix_free).smallest == 0.0


def test_a_linear_activation_has_the_rank_of_its_inputs(seed: int) -> None:
    point = random_point(seed, NAMED["identity"], shape=(12, 10, 5), trains_outputs=False)
    assert np.linalg.matrix_rank(point.dense_jacobian()) == 5


@pytest.mark.parametrize("shape", [(7, 4, 3), (3, 1, 1)])
def test_the_largest_curvature_is_that_of_the_dense_hessian(shape: tuple[int, int, int], seed: int) -> None:
    point = random_point(seed, softplus(3.0), shape=shape)
    hessian = differences(point, lambda moved: moved.gradient)
    assert largest_curvature(point) == pytest.approx(np.linalg.eigvalsh(hessian)[-1], rel=1e-6)


def test_the_network_gives_the_same_answers(seed: int) -> None:
    point = random_point(seed)
    assert np.allclose(point.network(point.points)[:, 0] - point.labels, point.residuals, atol=1e-14)


@pytest.mark.usefixtures("without_type_checks")
def test_wrong_shapes_are_refused(seed: int) -> None:
    point = random_point(seed)
    with pytest.raises(InvalidInput, match="one label per sample"):
        replace(point, labels=point.labels[1:])
    with pytest.raises(InvalidInput, match="needs shape"):
        replace(point, weights=point.weights[1:])
    with pytest.raises(InvalidInput, match="finite"):
        replace(point, labels=np.full(point.samples, np.nan))
    with pytest.raises(InvalidInput, match="entries"):
        point.push_forward(np.zeros(3))
