"""Neurons that cross a chord are read off poles, and nothing else is taken for one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from unweave.identification.poles.chords import ChordSamples, ChordSampling
from unweave.identification.poles.crossings import Crossings, PoleReading


def sampled(function: object) -> ChordSamples:
    return ChordSampling().sample(function)  # pyright: ignore[reportArgumentType]


def read(function: object, *, outputs: int = 1, noise: float = 1e-16) -> Crossings:
    return PoleReading()(sampled(function), np.linspace(1.0, 0.3, outputs), noise=noise)


def test_neurons_whose_slabs_overlap_are_told_apart() -> None:
    rates, shifts = np.array([6.0, 9.0, 25.0, 300.0]), np.array([1.0, -0.6, 2.0, -200.0])
    heights = np.array([[1.0, 0.2], [-0.7, 1.0], [0.4, 0.0], [0.1, -2.0]])
    found = read(lambda t: 3.0 + np.tanh(t[:, None] * rates + shifts) @ heights, outputs=2)
    order = np.argsort(found.rates)
    assert_allclose(found.rates[order], rates, rtol=1e-4)
    assert_allclose(found.shifts[order], shifts, atol=1e-3, rtol=1e-4)
    # Those of gentle neurons, whose poles are far from the chord, are read less exactly.
    assert_allclose(found.heights[order], heights, atol=0.05)
    assert_allclose(found.heights[order][2:], heights[2:], atol=1e-3)


def test_the_arguments_are_those_of_the_neurons() -> None:
    crossings = Crossings(np.array([2.0, 5.0]), np.array([0.5, -1.0]), np.ones((2, 1)))
    assert_allclose(crossings.arguments(np.array([0.0, 0.1])), [[0.5, -1.0], [0.7, -0.5]])
    assert len(crossings.chosen(np.array([True, False]))) == 1


def test_noise_below_the_answers_is_no_neuron(seed: int) -> None:
    noise = 1e-8 * np.random.default_rng(seed).standard_normal(100_000)
    found = read(
        lambda t: (np.tanh(20.0 * t - 3.0) + noise[: len(t)])[:, None],
        noise=1e-8,
    )
    assert len(found) == 1
    assert_allclose(found.rates, 20.0, rtol=1e-3)


@pytest.mark.parametrize(
    "function",
    [
        lambda t: np.zeros((len(t), 1)),
        lambda t: np.full((len(t), 1), 7.0),
        lambda t: (1.0 - 2.0 * t)[:, None],
        lambda t: (t**3 - t)[:, None],
        lambda t: np.sin(9.0 * t)[:, None],
        lambda t: np.exp(-((6.0 * t) ** 2))[:, None],
        lambda t: np.maximum(t - 0.3, 0.0)[:, None],
        lambda t: (1.0 / (1.0 + (5.0 * t) ** 2))[:, None],
    ],
    ids=["zero", "constant", "affine", "cubic", "wave", "bump", "kink", "imaginary residue"],
)
def test_functions_without_such_poles_show_no_neuron(function: object) -> None:
    assert len(read(function)) == 0


def test_a_neuron_beside_the_chord_is_not_read() -> None:
    assert len(read(lambda t: np.tanh(20.0 * (t - 1.3))[:, None])) == 0
