"""Networks that scikit-learn has trained, asked through `predict` only."""

import copy
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest

import unweave
from late import sklearn
from unweave.activations import IDENTITY, RELU, SIGMOID, TANH
from unweave.networks.network import Layer, Network

EXACT = 1e-8
DATA_SETS = ("diabetes", "breast cancer", "digits")
ACTIVATIONS = {"tanh": TANH, "logistic": SIGMOID, "relu": RELU}


@cache
def data_set(name: str, *, is_scaled: bool = True) -> tuple[np.ndarray, np.ndarray]:
    load = getattr(sklearn.datasets, f"load_{name.replace(' ', '_')}")
    points, target = load(return_X_y=True)
    target = (target - target.mean()) / target.std()
    return (sklearn.preprocessing.StandardScaler().fit_transform(points) if is_scaled else points), target


def fitted(points: np.ndarray, target: np.ndarray, activation: str, **settings: object) -> Any:
    settings = {"hidden_layer_sizes": (5,), "max_iter": 100, "random_state": 0, **settings}
    with warnings.catch_warnings():
        # A model stopped early is a trained network like any other.
        warnings.simplefilter("ignore", sklearn.exceptions.ConvergenceWarning)
        return sklearn.neural_network.MLPRegressor(activation=activation, **settings).fit(points, target)


def network_of(model: Any) -> Network:
    activations = [ACTIVATIONS[model.activation]] * (len(model.coefs_) - 1) + [IDENTITY]
    parts = zip(model.coefs_, model.intercepts_, activations, strict=True)
    return Network(tuple(Layer(weights.T, biases, activation) for weights, biases, activation in parts))


def without(truth: Network, neuron: int, *, offset: np.ndarray | float = 0.0) -> Network:
    hidden, output = truth.layers
    return Network.shallow(
        weights=np.delete(hidden.weights, neuron, 0),
        biases=np.delete(hidden.biases, neuron),
        output_weights=np.delete(output.weights, neuron, 1),
        offset=output.biases + offset,
        activation=hidden.activation,
        skip=truth.skip,
    )


def assert_same_function(found: unweave.Result, model: Any, points: np.ndarray) -> None:
    """On the training data, and on random points in and far beyond them."""
    assert found.network is not None, found.reason
    center, spread = points.mean(axis=0), points.std(axis=0)
    noise = np.random.default_rng(0).standard_normal(points.shape)
    for places in (points, center + spread * noise, center + 10 * spread * noise):
        answers = model.predict(places).reshape(len(places), -1)
        np.testing.assert_allclose(found.network(places), answers, rtol=0, atol=1e-9 * np.std(answers))


def assert_recovered(
    found: unweave.Result,
    model: Any,
    points: np.ndarray,
    truth: Network | None = None,
) -> None:
    assert found.outcome is unweave.Outcome.IDENTIFIED, found.reason
    assert_same_function(found, model, points)
    assert found.network is not None
    assert unweave.match(found.network, truth or network_of(model)).largest_error <= EXACT


def ask(model: Any, points: np.ndarray, **settings: object) -> unweave.Result:
    return unweave.identify(model.predict, inputs=points.shape[1], **settings)


def test_assertions_fail_on_another_model() -> None:
    points, target = data_set("diabetes")
    first, second = (fitted(points, target, "tanh", random_state=state) for state in range(2))
    found = ask(first, points)
    with pytest.raises(AssertionError):
        assert_recovered(found, second, points)
    with pytest.raises(AssertionError):
        assert_same_function(found, second, points)


@pytest.mark.each_value
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("name", DATA_SETS)
def test_recovers_a_trained_network(name: str, activation: str) -> None:
    points, target = data_set(name)
    model = fitted(points, target, activation, solver="lbfgs")
    assert model.score(points, target) > 0.5
    found = ask(model, points)
    assert_recovered(found, model, points)
    assert found.queries <= 10 * network_of(model).parameters


def coarse_digits() -> tuple[np.ndarray, np.ndarray]:
    """Sixteen pixels, means of four each, and ten classes."""
    images, digits = sklearn.datasets.load_digits(return_X_y=True)
    pixels = images.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16)
    return sklearn.preprocessing.StandardScaler().fit_transform(pixels), np.eye(10)[digits]


def test_recovers_ten_outputs() -> None:
    points, classes = coarse_digits()
    model = fitted(points, classes, "logistic", hidden_layer_sizes=(4,), solver="lbfgs")
    assert_recovered(ask(model, points), model, points)


@pytest.mark.parametrize(
    "name", ["diabetes", *(pytest.param(name, marks=pytest.mark.slow) for name in ("breast cancer", "coarse digits"))]
)
def test_recovers_two_hidden_layers(name: str) -> None:
    points, target = coarse_digits() if name == "coarse digits" else data_set(name)
    model = fitted(points, target, "tanh", hidden_layer_sizes=(8, 5), max_iter=300)
    found = ask(model, points)
    assert_recovered(found, model, points)
    assert found.network is not None
    assert found.network.widths == (8, 5)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"hidden_layer_sizes": (6, 6)}, {"solver": "lbfgs", "max_iter": 100}])
def test_two_hidden_layers_that_are_hard_to_find_are_not_made_up(settings: dict) -> None:
    # Equal widths under one output, and steep or weak neurons of a long training.
    points, target = data_set("diabetes")
    model = fitted(points, target, "tanh", **{"hidden_layer_sizes": (8, 5), "max_iter": 300, **settings})
    found = ask(model, points)
    if found.is_identified:
        assert_recovered(found, model, points)
    else:
        assert found.network is None
        assert found.first_layer is not None
        rows, truth = found.first_layer.weights, network_of(model).layers[0].weights
        cosines = rows @ truth.T / np.linalg.norm(rows, axis=1)[:, None] / np.linalg.norm(truth, axis=1)
        np.testing.assert_allclose(np.max(np.abs(cosines), axis=1), 1.0, atol=1e-4)


def test_weights_that_training_never_moved_are_recovered() -> None:
    # Three pixels are the same in all images: only the penalty on weights has moved theirs from where they started.
    points, target = data_set("digits")
    is_constant = points.std(axis=0) == 0
    model = fitted(points, target, "tanh", solver="lbfgs")
    found = ask(model, points)
    assert_recovered(found, model, points)
    assert found.network is not None
    matched = unweave.match(found.network, network_of(model))
    idle = matched.truth.layers[0].weights[:, is_constant]
    assert np.count_nonzero(is_constant) == 3
    assert np.median(np.abs(idle)) > 0.01
    np.testing.assert_allclose(matched.aligned.layers[0].weights[:, is_constant], idle, rtol=0, atol=EXACT)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_units_of_the_inputs_do_not_matter(activation: str) -> None:
    points, target = data_set("breast cancer", is_scaled=False)
    points = points[:, :10] / points[:, :10].std(axis=0) * np.logspace(-2, 2, 10)
    scale = points.std(axis=0)
    model = fitted(points / scale, target, activation)
    # The same network in the units of the data.
    model.coefs_[0] = model.coefs_[0] / scale[:, None]
    domain = unweave.Everywhere(scale=scale, center=points.mean(axis=0))
    assert_recovered(ask(model, points, domain=domain), model, points)


@pytest.mark.parametrize("activation", ["tanh", "logistic"])
def test_network_trained_on_unscaled_inputs(activation: str) -> None:
    points, target = data_set("diabetes", is_scaled=False)
    model = fitted(points, target, activation, hidden_layer_sizes=(8,), solver="lbfgs", max_iter=500)
    domain = unweave.Everywhere(scale=points.std(axis=0), center=points.mean(axis=0))
    assert_recovered(ask(model, points, domain=domain), model, points)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_box_of_the_data(activation: str) -> None:
    points, target = data_set("diabetes")
    model = fitted(points, target, activation)
    box = unweave.Box(points.min(axis=0), points.max(axis=0))
    assert_recovered(ask(model, points, domain=box), model, points)


@pytest.mark.parametrize("state", [1, 2])
def test_steep_neurons(state: int) -> None:
    # Saturated at nearly all data, so that nearby the function is straight.
    points, target = data_set("diabetes")
    model = fitted(points, target, "tanh", solver="lbfgs", max_iter=200, random_state=state)
    assert np.max(np.linalg.norm(model.coefs_[0], axis=0)) > 10
    assert_recovered(ask(model, points), model, points)


def test_kinks_beyond_the_data() -> None:
    points, target = data_set("diabetes", is_scaled=False)
    model = fitted(points, target, "relu", hidden_layer_sizes=(8,), solver="lbfgs", max_iter=500)
    domain = unweave.Everywhere(scale=points.std(axis=0), center=points.mean(axis=0))
    arguments = points @ model.coefs_[0] + model.intercepts_[0]
    assert np.count_nonzero(np.all(arguments > 0, axis=0) | np.all(arguments < 0, axis=0)) >= 6
    assert_recovered(ask(model, points, domain=domain), model, points)


def test_relu_neuron_that_few_answers_pin_down() -> None:
    points, target = data_set("diabetes")
    model = fitted(points, target, "relu", solver="lbfgs", max_iter=200, random_state=1)
    for seed in range(4):
        assert_recovered(ask(model, points, seed=seed), model, points)


@cache
def small_model(activation: str) -> Any:
    return fitted(*data_set("diabetes"), activation)


def changed(
    activation: str,
) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A trained model, and its weights, biases, output weights and offset, which may be changed."""
    model = copy.deepcopy(small_model(activation))
    return model, model.coefs_[0], model.intercepts_[0], model.coefs_[1], model.intercepts_[1]


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_neuron_without_output_is_not_reported(activation: str) -> None:
    points, _ = data_set("diabetes")
    model, _, _, output_weights, _ = changed(activation)
    output_weights[2] = 0.0
    assert_recovered(ask(model, points), model, points, without(network_of(model), 2))


def test_relu_neuron_that_no_training_point_activates_is_found() -> None:
    points, _ = data_set("diabetes")
    model, weights, biases, _, _ = changed("relu")
    biases[2] = -1.1 * np.max(points @ weights[:, 2])
    assert np.all(points @ weights[:, 2] + biases[2] < 0)
    assert_recovered(ask(model, points), model, points)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_neuron_without_inputs_is_part_of_the_offset(activation: str) -> None:
    points, _ = data_set("diabetes")
    model, weights, biases, output_weights, _ = changed(activation)
    weights[:, 2] = 0.0
    constant = output_weights[2] * ACTIVATIONS[activation](biases[2:3])
    assert_recovered(ask(model, points), model, points, without(network_of(model), 2, offset=constant))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_duplicate_neurons_are_one(activation: str) -> None:
    points, _ = data_set("diabetes")
    model, weights, biases, output_weights, _ = changed(activation)
    weights[:, 2], biases[2] = weights[:, 1], biases[1]
    merged = copy.deepcopy(model)
    merged.coefs_[1][1] += output_weights[2]
    assert_recovered(ask(model, points), model, points, without(network_of(merged), 2))


def test_mirrored_twins_of_relu_leave_an_affine_part() -> None:
    # a relu(z) + b relu(-z) = (a + b) relu(z) - b z.
    points, _ = data_set("diabetes")
    model, weights, biases, output_weights, offset = changed("relu")
    weights[:, 2], biases[2] = -weights[:, 1], -biases[1]
    merged = copy.deepcopy(model)
    merged.coefs_[1][1] += output_weights[2]
    hidden, output = without(network_of(merged), 2).layers
    truth = Network.shallow(
        weights=hidden.weights,
        biases=hidden.biases,
        output_weights=output.weights,
        offset=offset - output_weights[2] * biases[1],
        activation=RELU,
        skip=-output_weights[2][:, None] * weights[:, 1],
    )
    found = ask(model, points)
    assert_recovered(found, model, points, truth)
    assert any("affine part" in note for note in found.notes)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_weak_neuron_is_found(activation: str) -> None:
    points, _ = data_set("diabetes")
    model, _, _, output_weights, _ = changed(activation)
    output_weights[2] = 1e-5
    assert_recovered(ask(model, points), model, points)


@pytest.mark.parametrize("activation", [pytest.param("tanh", marks=pytest.mark.slow), "relu"])
def test_neuron_near_the_rounding_is_not_vouched_for(activation: str) -> None:
    points, _ = data_set("diabetes")
    model, _, _, output_weights, _ = changed(activation)
    output_weights[2] = 1e-12
    found = ask(model, points)
    assert found.outcome is unweave.Outcome.PARTLY_IDENTIFIED
    assert found.network is not None
    # Either it is said to be missing, or it was found and is said to be uncertain.
    is_missing = found.network.widths == (4,)
    assert ("left unexplained" if is_missing else "not pinned down") in found.reason
    assert_same_function(found, model, points)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_neuron_below_the_rounding_does_not_exist(activation: str) -> None:
    points, _ = data_set("diabetes")
    model, _, _, output_weights, _ = changed(activation)
    output_weights[2] = 1e-18
    assert_recovered(ask(model, points), model, points, without(network_of(model), 2))


def test_neurons_that_regularisation_has_nearly_removed_are_not_vouched_for() -> None:
    points, target = data_set("diabetes")
    settings = {"hidden_layer_sizes": (10,), "solver": "lbfgs", "alpha": 1.0, "max_iter": 1000, "random_state": 1}
    model = fitted(points, target, "logistic", **settings)
    sizes = np.linalg.norm(model.coefs_[0], axis=0) * np.abs(model.coefs_[1][:, 0])
    assert np.count_nonzero(sizes < 0.01 * np.max(sizes)) == 2
    found = ask(model, points)
    assert found.outcome is unweave.Outcome.PARTLY_IDENTIFIED
    assert "not pinned down" in found.reason
    assert_same_function(found, model, points)
