import numpy as np
import pytest

from unweave.activations import TANH
from unweave.networks.network import Layer, Network
from unweave.networks.planted import deep_network
from unweave.reproduce.experiment import Cell
from unweave.reproduce.fiedler.student_trials import student_trial
from unweave.reproduce.fiedler.students import (
    StudentDescent,
    gradients,
    shallow_teacher,
    training_error,
    uniform_relative,
)


def deep(rng: np.random.Generator) -> Network:
    return deep_network(rng, shape=(4, 5, 3, 2), output_activation=TANH)


def parts(network: Network) -> tuple[list[np.ndarray], list[np.ndarray]]:
    return [layer.weights.copy() for layer in network.layers], [layer.biases.copy() for layer in network.layers]


def loss(network: Network, weights: list[np.ndarray], biases: list[np.ndarray], points: np.ndarray, values: np.ndarray):
    layers = zip(network.layers, weights, biases, strict=True)
    student = Network(tuple(Layer(weight, bias, layer.activation) for layer, weight, bias in layers))
    return np.mean(np.sum((student(points) - values) ** 2, axis=1))


@pytest.mark.parametrize("is_deep", [False, True])
def test_gradients_agree_with_differences(is_deep: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = deep(rng) if is_deep else shallow_teacher(rng, inputs=4, neurons=6)
    points, values = rng.standard_normal((9, 4)), rng.standard_normal((9, network.outputs))
    weights, biases = parts(network)
    found = gradients(network, weights, biases, points, values)
    for place, (slope, bias_slope) in enumerate(found):
        for array, expected in ((weights[place], slope), (biases[place], bias_slope)):
            for index in np.ndindex(array.shape):
                kept, sides = array[index], []
                for step in (1e-5, -1e-5):
                    array[index] = kept + step
                    sides.append(loss(network, weights, biases, points, values))
                array[index] = kept
                assert (sides[0] - sides[1]) / 2e-5 == pytest.approx(expected[index], abs=1e-7)


def test_small_students_become_their_teachers(seed: int) -> None:
    rng = np.random.default_rng([seed, 1])
    truth = shallow_teacher(rng, inputs=3, neurons=1)
    points = rng.standard_normal((400, 3))
    descent = StudentDescent(rate=0.05, steps=20_000)
    ended = descent(shallow_teacher(rng, inputs=3, neurons=1), points, truth(points), rng)
    assert ended.losses[-1] < 1e-8
    assert ended.steps < 20_000
    np.testing.assert_allclose(ended.network.layers[0].weights, truth.layers[0].weights, atol=1e-3)
    assert ended.network.layers[1].weights == 1.0


def test_training_lowers_the_loss_of_deep_students(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, student = deep(rng), deep(rng)
    points = rng.standard_normal((500, 4))
    descent = StudentDescent(rate=0.1, batch=32, steps=600, looks=4, trains_outputs=True, keeps_networks=True)
    ended = descent(student, points, truth(points), rng)
    assert (ended.looks, len(ended.networks)) == ((0, 150, 300, 450, 600), 5)
    assert ended.losses[-1] < 0.5 * ended.losses[0]
    assert ended.losses[-1] == pytest.approx(training_error(ended.network, points, truth(points)))
    assert uniform_relative(ended.network, truth, points) < uniform_relative(student, truth, points)


def test_training_errors_are_of_at_most_so_many_samples(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = (shallow_teacher(rng, inputs=2, neurons=2) for _ in range(2))
    points = rng.standard_normal((21_000, 2))
    expected = np.mean((one(points[:20_000]) - other(points[:20_000])) ** 2)
    assert training_error(one, points, other(points)) == pytest.approx(expected)


def test_a_trial_compares_student_and_teacher(seed: int) -> None:
    settings = {"inputs": 6, "order": 0.5, "rate": 0.05, "steps": 12_000}
    numbers = student_trial(Cell(settings, seed), samples=300, points=1_000)
    assert (numbers["neurons"], numbers["samples"], numbers["parameters"]) == (1.0, 300.0, 7.0)
    assert float(numbers["loss"]) < 1e-8
    assert max(float(numbers[name]) for name in ("uniform", "weights", "shifts")) < 1e-2
