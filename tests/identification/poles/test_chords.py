"""Sampling along chords is dense where the function needs it, and nowhere else."""

import numpy as np
import pytest

from unweave.identification.poles.chords import Chord, ChordSampling
from unweave.identification.walks.lines import random_line
from unweave.oracles.oracle import Box


def test_a_chord_of_a_box_stays_inside(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for inputs in (2, 7, 30):
        chord = Chord.of_line(random_line(Box(-1.0, 1.0), inputs, rng))
        ends = chord.points(np.array([-1.0, 1.0]))
        assert np.all(np.abs(ends) <= 1.0)
        assert np.max(np.abs(ends)) > 0.999


@pytest.mark.parametrize("rate", [1.0, 30.0, 3e4])
def test_cubics_between_the_samples_meet_a_steep_function(rate: float) -> None:
    def function(positions: np.ndarray) -> np.ndarray:
        return np.tanh(rate * (positions - 0.1234))[:, None]

    samples = ChordSampling().sample(function)
    assert np.all(np.diff(samples.positions) > 0.0)
    np.testing.assert_array_equal(samples.values, function(samples.positions))
    dense = np.linspace(-1.0, 1.0, 400_001)
    error = np.interp(dense, samples.positions, samples.values[:, 0]) - function(dense)[:, 0]
    # Straight lines between samples are worse than cubics; both see every slab.
    assert np.max(np.abs(error)) < 0.05
    assert len(samples.positions) <= 33 + 14 * np.log2(max(rate, 2.0))


def test_a_smooth_function_costs_two_rounds() -> None:
    assert len(ChordSampling().sample(lambda t: np.sin(t)[:, None]).positions) == 33


def test_no_more_is_asked_than_allowed(seed: int) -> None:
    asked = [0]

    def noise(positions: np.ndarray) -> np.ndarray:
        asked[0] += len(positions)
        return np.random.default_rng(seed).standard_normal((len(positions), 1))

    ChordSampling(most=100).sample(noise)
    assert asked[0] <= 100
