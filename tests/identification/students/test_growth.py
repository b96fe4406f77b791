"""Students: grown wider than needed, and thinned out to the planted network."""

from dataclasses import replace

import numpy as np
import pytest

from unweave.activations import SIN, TANH
from unweave.identification.students.growth import Growth, Lesson, random_neurons
from unweave.networks.network import Network
from unweave.networks.planted import general_network
from unweave.networks.symmetries import match

GROWTH = Growth()


def lesson_of(network: Network, seed: int) -> Lesson:
    """Answers of a network, relative to their spread."""
    points = np.random.default_rng(seed).standard_normal((500, network.inputs))
    values = network(points)
    return Lesson(points[:400], values[:400], points[400:], values[400:], exact=1e-11)


def planted(seed: int, **sizes: int) -> Network:
    return general_network(np.random.default_rng(seed), activation=SIN, **{"inputs": 2, "neurons": 4, **sizes})


def test_a_student_is_grown_and_thinned_to_the_network(seed: int) -> None:
    truth = planted(seed)
    lesson, rng = lesson_of(truth, seed), np.random.default_rng(seed)
    student = GROWTH.grown(GROWTH.started(SIN, 5, lesson, rng), 9, lesson, rng)
    assert student.fits, student.residual
    thinned = GROWTH.thinned(student, lesson)
    assert thinned.is_exact
    assert len(thinned.neurons) == 4
    assert match(replace(thinned.network(), skip=None), truth).largest_error < 1e-6


def test_a_network_that_lacks_a_neuron_is_gone_on_from(seed: int) -> None:
    truth = planted(seed)
    lesson, rng = lesson_of(truth, seed), np.random.default_rng(seed)
    hidden, output = truth.layers
    lacking = Network.shallow(hidden.weights[:3], hidden.biases[:3], output.weights[:, :3], output.biases, SIN)
    student = GROWTH.grown(GROWTH.continued(lacking, lesson), 6, lesson, rng)
    assert student.fits, student.residual


def test_neurons_that_others_replace_are_missed_least(seed: int) -> None:
    truth = planted(seed)
    hidden, output = truth.layers
    doubled = Network.shallow(
        np.vstack([hidden.weights, hidden.weights[:1]]),
        np.append(hidden.biases, hidden.biases[0]),
        np.hstack([output.weights, output.weights[:, :1]]),
        output.biases,
        SIN,
    )
    student = replace(GROWTH, steps=0).continued(doubled, lesson_of(doubled, seed))
    missed = student.missed()
    assert max(missed[0], missed[4]) < 1e-3 * np.min(missed[1:4])


@pytest.mark.parametrize("inputs", [1, 3])
def test_the_network_of_a_student_is_what_was_fitted(inputs: int, seed: int) -> None:
    truth = planted(seed, inputs=inputs, outputs=2)
    lesson = lesson_of(truth, seed)
    student = GROWTH.started(TANH, 3, lesson, np.random.default_rng(seed))
    errors = student.network()(lesson.other_points) - lesson.other_values
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(student.error, rel=1e-6)


def test_random_neurons_have_arguments_of_size_one() -> None:
    rng = np.random.default_rng(0)
    neurons = random_neurons(rng, 2_000, 5)
    arguments = np.hstack([rng.standard_normal((200, 5)), np.ones((200, 1))]) @ neurons.T
    assert np.std(arguments) == pytest.approx(np.sqrt(2.0), rel=0.1)
