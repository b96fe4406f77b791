import numpy as np
import pytest

from plants import shallow_network
from unweave.activations import GELU, HARD_TANH, IDENTITY, LEAKY_RELU, RELU, SIN, TANH, Activation
from unweave.exceptions import InvalidInput
from unweave.networks.network import Layer, Network
from unweave.networks.parameters import JacobianOperator, ParameterVector, dense_jacobian, scale_directions, with_gauge
from unweave.networks.symmetries import rescale

INPUTS, NEURONS = 3, 4


def planted(
    seed: int, *, outputs: int = 2, has_skip: bool = True, activation: Activation = TANH, neurons: int = NEURONS
) -> tuple[Network, np.ndarray]:
    rng = np.random.default_rng(seed)
    network = shallow_network(
        rng, inputs=INPUTS, neurons=neurons, outputs=outputs, activation=activation, has_skip=has_skip
    )
    return network, rng.standard_normal((9, INPUTS))


@pytest.mark.each_value
@pytest.mark.parametrize("outputs", [1, 2, 3])
@pytest.mark.parametrize("has_skip", [False, True])
@pytest.mark.parametrize("activation", [TANH, GELU, SIN, RELU, LEAKY_RELU, HARD_TANH], ids=str)
def test_the_jacobian_agrees_with_differences(outputs: int, has_skip: bool, activation: Activation, seed: int) -> None:
    network, points = planted(seed, outputs=outputs, has_skip=has_skip, activation=activation)
    vector = ParameterVector(network)
    h = 1e-5
    columns = [
        (vector.moved(h * unit)(points) - vector.moved(-h * unit)(points)).ravel() / (2 * h)
        for unit in np.eye(vector.count)
    ]
    jacobian = dense_jacobian(network, points)
    assert jacobian.shape == (9 * outputs + len(scale_directions(network)), network.parameters)
    np.testing.assert_allclose(jacobian[: 9 * outputs], np.stack(columns, axis=1), atol=1e-8)


@pytest.mark.parametrize("outputs", [1, 2, 3])
@pytest.mark.parametrize("has_skip", [False, True])
@pytest.mark.parametrize("activation", [TANH, RELU], ids=str)
@pytest.mark.parametrize("neurons", [2, 20])
def test_the_operator_is_the_dense_jacobian(
    outputs: int, has_skip: bool, activation: Activation, neurons: int, seed: int
) -> None:
    network, points = planted(seed, outputs=outputs, has_skip=has_skip, activation=activation, neurons=neurons)
    dense, operator = dense_jacobian(network, points), JacobianOperator(network, points)
    assert operator.shape == dense.shape
    rng = np.random.default_rng([seed, 1])
    step, rows = rng.normal(size=dense.shape[1]), rng.normal(size=dense.shape[0])
    np.testing.assert_allclose(operator.forward(step), dense @ step, atol=1e-12)
    np.testing.assert_allclose(operator.backward(rows), dense.T @ rows, atol=1e-12)


def test_the_operator_handles_more_points_than_fit_in_a_block(seed: int) -> None:
    network, _ = planted(seed)
    points = np.random.default_rng(seed).standard_normal((2_050, INPUTS))
    dense, operator = dense_jacobian(network, points), JacobianOperator(network, points)
    step, rows = np.ones(dense.shape[1]), np.ones(dense.shape[0])
    np.testing.assert_allclose(operator.forward(step), dense @ step, atol=1e-11)
    np.testing.assert_allclose(operator.backward(rows), dense.T @ rows, atol=1e-10)


@pytest.mark.parametrize("neurons", [2, 20])
@pytest.mark.parametrize("activation", [TANH, RELU], ids=str)
def test_products_in_single_precision_have_six_digits(neurons: int, activation: Activation, seed: int) -> None:
    network, points = planted(seed, outputs=2, has_skip=True, activation=activation, neurons=neurons)
    exact, operator = JacobianOperator(network, points), JacobianOperator(network, points, precision=np.float32)
    rng = np.random.default_rng([seed, 2])
    step, rows = rng.normal(size=exact.shape[1]), rng.normal(size=exact.shape[0])
    for mine, theirs in (
        (operator.forward(step), exact.forward(step)),
        (operator.backward(rows), exact.backward(rows)),
    ):
        assert mine.dtype == np.float64
        assert 0.0 < np.linalg.norm(mine - theirs) < 1e-6 * np.linalg.norm(theirs)


@pytest.mark.parametrize("flag", [False, True])
def test_products_are_float64_whatever_the_global_flag(flag: bool, seed: int) -> None:
    import jax

    network, points = planted(seed)
    dense = dense_jacobian(network, points)
    with jax.enable_x64(flag):
        operator = JacobianOperator(network, points)
        forward, backward = operator.forward(np.ones(dense.shape[1])), operator.backward(np.ones(len(dense)))
    for product, expected in ((forward, dense.sum(axis=1)), (backward, dense.sum(axis=0))):
        assert type(product) is np.ndarray
        assert product.dtype == np.float64
        np.testing.assert_allclose(product, expected, atol=1e-13)


@pytest.mark.parametrize("has_skip", [False, True])
def test_a_step_is_counted_in_the_sizes_of_the_neurons(has_skip: bool, seed: int) -> None:
    network, _ = planted(seed, has_skip=has_skip)
    vector = ParameterVector(network)
    assert vector.count == network.parameters
    hidden, output = network.layers
    # The network itself, in its own units: weights of length one, output weights of length one.
    own = [
        hidden.weights / np.linalg.norm(hidden.weights, axis=1, keepdims=True),
        hidden.biases / np.linalg.norm(hidden.weights, axis=1),
        output.weights / np.linalg.norm(output.weights, axis=0),
        output.biases,
        *([network.skip] if network.skip is not None else []),
    ]
    doubled = vector.moved(np.concatenate([part.ravel() for part in own]))
    np.testing.assert_allclose(doubled.layers[0].weights, 2 * hidden.weights)
    np.testing.assert_allclose(doubled.layers[0].biases, 2 * hidden.biases)
    np.testing.assert_allclose(doubled.layers[1].weights, 2 * output.weights)
    np.testing.assert_allclose(doubled.layers[1].biases, 2 * output.biases)
    if network.skip is not None:
        np.testing.assert_allclose(doubled.skip, 2 * network.skip)
    else:
        assert doubled.skip is None


# The scale of a neuron with a homogeneous activation


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("activation", [RELU, LEAKY_RELU], ids=str)
def test_the_gauge_is_the_only_freedom_and_its_rows_remove_it(outputs: int, activation: Activation, seed: int) -> None:
    network, _ = planted(seed, outputs=outputs, has_skip=False, activation=activation)
    points = np.random.default_rng([seed, 2]).standard_normal((400, INPUTS))
    jacobian = dense_jacobian(network, points)
    answers, gauge = jacobian[: 400 * outputs], jacobian[400 * outputs :]
    assert gauge.shape == (NEURONS, network.parameters)
    np.testing.assert_allclose(answers @ gauge.T, 0.0, atol=1e-12 * np.linalg.norm(answers) * np.linalg.norm(gauge))
    without, with_rows = (np.linalg.svd(matrix, compute_uv=False) for matrix in (answers, jacobian))
    assert without[-NEURONS] < 1e-12 * without[0]
    # The smallest singular value is the one that the answers have across the gauge.
    assert with_rows[-1] == pytest.approx(without[-NEURONS - 1], rel=1e-9)
    assert with_rows[-1] > 1e-4 * with_rows[0]


@pytest.mark.parametrize("outputs", [1, 3])
def test_the_gauge_is_the_rescaling_of_a_neuron(outputs: int, seed: int) -> None:
    network, _ = planted(seed, outputs=outputs, activation=RELU)
    vector, direction = ParameterVector(network), np.zeros(network.parameters)
    factor = 1 - 1e-7
    scaled = rescale(network, 0, np.where(np.arange(NEURONS) == 1, factor, 1.0))
    for part, (moved, own) in enumerate(zip(scaled.layers, network.layers, strict=True)):
        weights, biases = moved.weights - own.weights, moved.biases - own.biases
        if part == 0:
            direction[: NEURONS * INPUTS] = (weights / vector.neuron_sizes[:, None]).ravel()
            direction[NEURONS * INPUTS : NEURONS * (INPUTS + 1)] = biases / vector.neuron_sizes
        else:
            first = NEURONS * (INPUTS + 1)
            direction[first : first + outputs * NEURONS] = (weights / vector.output_sizes).ravel()
    points = np.random.default_rng(seed).standard_normal((50, INPUTS))
    row = dense_jacobian(network, points)[50 * outputs + 1]
    cosine = row @ direction / (np.linalg.norm(row) * np.linalg.norm(direction))
    assert abs(cosine) == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("activation", [RELU, LEAKY_RELU], ids=str)
def test_a_least_squares_step_changes_no_scale(activation: Activation, seed: int) -> None:
    network, _ = planted(seed, activation=activation)
    rng = np.random.default_rng([seed, 3])
    points = rng.standard_normal((300, INPUTS))
    jacobian = dense_jacobian(network, points)
    residuals = with_gauge(network, rng.standard_normal((300, 2)))
    assert len(residuals) == len(jacobian)
    step = np.linalg.lstsq(jacobian, residuals, rcond=None)[0]
    np.testing.assert_allclose(jacobian[-NEURONS:] @ step, 0.0, atol=1e-11)


@pytest.mark.parametrize("activation", [TANH, HARD_TANH], ids=str)
def test_other_activations_have_no_gauge(activation: Activation, seed: int) -> None:
    network, points = planted(seed, activation=activation)
    assert scale_directions(network).shape == (0, INPUTS + 3)
    assert dense_jacobian(network, points).shape == JacobianOperator(network, points).shape == (18, network.parameters)
    np.testing.assert_array_equal(with_gauge(network, network(points)), network(points).ravel())


def test_no_step_changes_nothing(seed: int) -> None:
    network, points = planted(seed)
    vector = ParameterVector(network)
    np.testing.assert_array_equal(vector.moved(np.zeros(vector.count))(points), network(points))


def test_a_neuron_of_size_zero_counts_in_absolute_units() -> None:
    network = Network.shallow(np.zeros((1, 2)), np.ones(1), np.zeros((1, 1)), np.zeros(1), TANH)
    vector = ParameterVector(network)
    np.testing.assert_array_equal(vector.neuron_sizes, [1.0])
    np.testing.assert_array_equal(vector.output_sizes, [1.0])


def test_a_network_without_neurons_has_an_affine_jacobian(seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(4, 2))
    network = Network.shallow(np.zeros((0, 2)), np.zeros(0), np.zeros((1, 0)), np.zeros(1), TANH, np.ones((1, 2)))
    expected = np.hstack([np.ones((4, 1)), points])
    np.testing.assert_array_equal(dense_jacobian(network, points), expected)


def test_only_shallow_networks_have_products_without_a_matrix(seed: int) -> None:
    rng = np.random.default_rng(seed)
    layers = [Layer(rng.normal(size=(3, 3)), np.zeros(3), activation) for activation in (TANH, TANH, IDENTITY)]
    for wrong in (tuple(layers), tuple(layers[:2]), (layers[2],)):
        with pytest.raises(InvalidInput, match="one hidden layer"):
            JacobianOperator(Network(wrong), np.zeros((1, 3)))
