"""Weights beside a chord are those that were planted, and their error is known."""

import numpy as np
from numpy.testing import assert_allclose

from unweave.identification.poles.chords import Chord
from unweave.identification.poles.crossings import Crossings
from unweave.identification.poles.slabs import SlabSteps

WEIGHTS = np.array([[30.0, -10.0, 5.0], [4.0, 25.0, -40.0]])
BIASES = np.array([3.0, -6.0])
HEIGHTS = np.array([[1.0, -0.5], [0.3, 2.0]])
CHORD = Chord(np.array([0.1, 0.0, -0.2]), np.array([0.6, 0.5, -0.4]))


def planted(points: np.ndarray) -> np.ndarray:
    return np.tanh(points @ WEIGHTS.T + BIASES) @ HEIGHTS


def exact_crossings() -> Crossings:
    return Crossings(WEIGHTS @ CHORD.half, WEIGHTS @ CHORD.middle + BIASES, HEIGHTS)


def test_weights_are_read_exactly() -> None:
    neurons = SlabSteps()(planted, CHORD, exact_crossings())
    assert_allclose(neurons.weights, WEIGHTS, rtol=1e-9)
    assert_allclose(neurons.biases, BIASES, rtol=1e-9)
    assert np.all(neurons.mismatches < 1e-9)


def test_a_gentle_neuron_that_was_not_read_hardly_matters() -> None:
    neurons = SlabSteps()(
        lambda points: planted(points) + np.tanh(points @ [0.4, 0.3, -0.2])[:, None], CHORD, exact_crossings()
    )
    assert_allclose(neurons.weights, WEIGHTS, atol=0.05)
    assert np.all(neurons.mismatches < 1e-2)


def test_the_mismatch_tells_of_a_wrong_rate() -> None:
    exact = exact_crossings()
    wrong = Crossings(exact.rates * [1.0, 1.3], exact.shifts * [1.0, 1.3], exact.heights)
    assert SlabSteps()(planted, CHORD, wrong).mismatches[1] > 0.1


def test_steps_stay_in_the_box() -> None:
    asked: list[np.ndarray] = []

    def ask(points: np.ndarray) -> np.ndarray:
        asked.append(points)
        return planted(points)

    corner = Chord(np.zeros(3), np.ones(3))
    crossings = Crossings(np.array([40.0, 30.0]), np.array([-39.9, 29.9]), HEIGHTS)
    SlabSteps()(ask, corner, crossings)
    assert np.max(np.abs(np.concatenate(asked))) <= 1.0
