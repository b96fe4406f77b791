"""Networks in other programs: the same numbers bit for bit, and the same answers."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import unweave
from unweave.activations import IDENTITY, STEP, activation_named
from unweave.activations.formulas import Reflection
from unweave.activations.table import NAMED, Activation
from unweave.exceptions import InvalidInput
from unweave.networks.network import Layer, Network

NAMES = [*NAMED, "step", "softplus(2.5)", "leaky_relu(0.3)", "leaky_relu(-0.5)", "elu(0.5)"]


def planted(seed: int, *names: str, outputs: int = 2, skip: bool = False) -> Network:
    """A network of some layers with large biases, so that both tails of every activation are asked."""
    rng = np.random.default_rng([seed, len(names)])
    sizes = [3, *(5 + index for index in range(len(names)))]
    layers = [
        Layer(2.0 * rng.standard_normal((after, before)), 5.0 * rng.standard_normal(after), activation_named(name))
        for name, (before, after) in zip(names, pairwise(sizes), strict=True)
    ]
    last = Layer(rng.standard_normal((outputs, sizes[-1])), rng.standard_normal(outputs), IDENTITY)
    return Network((*layers, last), rng.standard_normal((outputs, 3)) if skip else None)


def points_of(network: Network, seed: int) -> np.ndarray:
    rng = np.random.default_rng([seed, 7])
    return rng.standard_normal((200, network.inputs)) * 10.0 ** rng.uniform(-2, 1.5, (200, 1))


def assert_same(answers: np.ndarray, network: Network, points: np.ndarray) -> None:
    expected = network(points)
    assert answers.dtype == np.float64
    np.testing.assert_allclose(answers, expected, rtol=0.0, atol=1e-12 * float(np.std(expected)))


@pytest.mark.each_value
@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_a_torch_module_gives_the_same_answers(name: str, skip: bool, seed: int) -> None:
    import torch

    network = planted(seed, name, skip=skip)
    points, module = points_of(network, seed), network.to_torch()
    with torch.no_grad():
        assert_same(module(torch.tensor(points)).numpy(), network, points)


@pytest.mark.parametrize("skip", [False, True])
def test_a_torch_module_has_the_same_numbers(skip: bool, seed: int, tmp_path: Path) -> None:
    import torch

    network = planted(seed, "tanh", "relu", skip=skip)
    module = network.to_torch()
    linear = [part for part in module.modules() if isinstance(part, torch.nn.Linear)]
    layers = linear[:3]
    for part, layer in zip(layers, network.layers, strict=True):
        np.testing.assert_array_equal(part.weight.detach().numpy(), layer.weights)
        np.testing.assert_array_equal(part.bias.detach().numpy(), layer.biases)
    assert not module.training
    network.to_safetensors(tmp_path / "state.safetensors")
    arrays = load_file(tmp_path / "state.safetensors")
    numbers = [each for layer in network.layers for each in (layer.weights, layer.biases)]
    numbers += [] if network.skip is None else [network.skip]
    assert all(any(np.array_equal(array, each) for array in arrays.values()) for each in numbers)
    state = {key: torch.tensor(array) for key, array in arrays.items()}
    other = planted(seed + 1, "tanh", "relu", skip=skip).to_torch()
    assert other.load_state_dict(state).missing_keys == []
    points = torch.tensor(points_of(network, seed))
    assert torch.equal(other(points), module(points))


@pytest.mark.each_value
@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_an_onnx_file_gives_the_same_answers(name: str, skip: bool, seed: int, tmp_path: Path) -> None:
    import onnxruntime

    network = planted(seed, name, skip=skip)
    network.to_onnx(tmp_path / "network.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "network.onnx"))
    points = points_of(network, seed)
    assert_same(session.run(None, {"points": points})[0], network, points)


@pytest.mark.parametrize("skip", [False, True])
def test_an_onnx_file_holds_the_same_numbers(skip: bool, seed: int, tmp_path: Path) -> None:
    import onnx
    from onnx import numpy_helper

    network = planted(seed, "tanh", "silu", skip=skip)
    network.to_onnx(tmp_path / "network.onnx")
    arrays = [numpy_helper.to_array(each) for each in onnx.load(tmp_path / "network.onnx").graph.initializer]
    for layer in network.layers:
        assert any(np.array_equal(array, layer.weights) for array in arrays)
        assert any(np.array_equal(array, layer.biases) for array in arrays)
    # Points are multiplied by it from the left.
    assert network.skip is None or any(np.array_equal(array, network.skip.T) for array in arrays)


@pytest.mark.parametrize(("name", "theirs"), [("tanh", "tanh"), ("sigmoid", "logistic"), ("relu", "relu")])
@pytest.mark.parametrize("outputs", [1, 3])
def test_a_regressor_has_the_same_numbers_and_answers(name: str, theirs: str, outputs: int, seed: int) -> None:
    network = planted(seed, name, name, outputs=outputs)
    model = network.to_sklearn()
    assert model.activation == theirs
    for coefs, intercepts, layer in zip(model.coefs_, model.intercepts_, network.layers, strict=True):
        np.testing.assert_array_equal(coefs, layer.weights.T)
        np.testing.assert_array_equal(intercepts, layer.biases)
    points = points_of(network, seed)
    assert_same(model.predict(points).reshape(len(points), -1), network, points)


@pytest.mark.parametrize(("outputs", "classes"), [(1, ["no", "yes"]), (3, [4, 7, 9])])
def test_a_classifier_gives_the_probabilities_of_its_logits(outputs: int, classes: list, seed: int) -> None:
    network = planted(seed, "tanh", outputs=outputs)
    model, points = network.to_sklearn(classes=classes), points_of(network, seed)
    logits = np.hstack([np.zeros((len(points), 1)), network(points)]) if outputs == 1 else network(points)
    expected = np.exp(logits - logits.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(points), expected, atol=1e-12)
    np.testing.assert_array_equal(model.predict(points), np.array(classes)[np.argmax(expected, axis=1)])


@pytest.mark.parametrize(
    ("network", "problem"),
    [
        (planted(0, "tanh", skip=True), "no affine part"),
        (planted(0, "gelu"), "no activation gelu"),
        (planted(0, "tanh", "relu"), "one activation for all layers, this one has relu, tanh"),
        (
            Network((*planted(0, "tanh").layers[:-1], Layer(np.ones((1, 5)), np.ones(1), STEP))),
            "no step at their output",
        ),
    ],
)
def test_what_scikit_learn_can_not_hold_is_refused_by_name(network: Network, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        network.to_sklearn()


@pytest.mark.parametrize("classes", [["one"], ["a", "a"], ["b", "a"], [1, 2, 3]])
def test_classes_that_do_not_fit_are_refused(classes: list) -> None:
    with pytest.raises(InvalidInput, match="need 2 different classes in order"):
        planted(0, "tanh", outputs=1).to_sklearn(classes=classes)


def test_an_activation_that_others_do_not_know_is_refused_by_name(tmp_path: Path) -> None:
    own = Activation("own", (np.cosh, np.sinh, np.cosh, np.sinh), Reflection(sign=1))
    network = unweave.Network.shallow(np.ones((1, 2)), np.ones(1), np.ones((1, 1)), np.zeros(1), own)
    with pytest.raises(InvalidInput, match="no activation own"):
        network.to_torch()
    with pytest.raises(InvalidInput, match="no operators for the activation own"):
        network.to_onnx(tmp_path / "own.onnx")
