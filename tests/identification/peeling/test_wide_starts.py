"""Layers above a known one from values alone."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import unweave
from unweave.activations import TANH
from unweave.identification.peeling.wide_starts import WideStarts
from unweave.networks.network import Network
from unweave.networks.planted import deep_network

INPUTS = 5


def planted(seed: int, widths: tuple[int, ...], *, outputs: int = 2) -> Network:
    rng = np.random.default_rng([seed, 71])
    return deep_network(rng, shape=(INPUTS, *widths, outputs), shift_deviation=0.2)


def students(
    truth: Network, seed: int, *, width: int, depth: int, bias_error: float = 0.0, starts: int = 8
) -> Iterator[Network]:
    below = truth.layers[0]
    points = np.random.default_rng([seed, 72]).normal(size=(200, INPUTS))
    return WideStarts(starts=starts)(
        replace(below, biases=below.biases + bias_error),
        points,
        truth(points),
        width=width,
        depth=depth,
        is_below_exact=bias_error == 0.0,
        floor=1e-15,
        rng=np.random.default_rng([seed, 73]),
    )


@pytest.mark.parametrize(
    ("widths", "outputs"), [((4, 2), 2), ((4, 3), 1), pytest.param((3, 3), 2, marks=pytest.mark.slow)]
)
def test_the_layers_above_are_found_in_their_widths(widths: tuple[int, int], outputs: int, seed: int) -> None:
    truth = planted(seed, widths, outputs=outputs)
    found = next(students(truth, seed, width=widths[1] + 2, depth=1))
    assert found.widths == truth.widths
    assert unweave.match(found, truth).largest_error < 1e-3


def test_two_layers_above(seed: int) -> None:
    truth = planted(seed, (4, 3, 2))
    found = next(students(truth, seed, width=4, depth=2))
    assert found.widths == truth.widths
    assert unweave.match(found, truth).largest_error < 1e-2


def test_rough_biases_below_are_repaired(seed: int) -> None:
    truth = planted(seed, (4, 2))
    found = next(students(truth, seed, width=4, depth=1, bias_error=1e-3))
    assert found.widths == truth.widths
    assert unweave.match(found, truth).largest_error < 1e-2


def test_a_student_that_is_too_small_gives_nothing(seed: int) -> None:
    truth = planted(seed, (4, 3))
    assert list(students(truth, seed, width=1, depth=1, starts=3)) == []


@pytest.mark.parametrize(("width", "depth", "outputs"), [(3, 1, 2), (5, 2, 1)])
def test_parameters_are_those_above_the_known_layer(width: int, depth: int, outputs: int) -> None:
    truth = planted(0, (4, *[width] * depth), outputs=outputs)
    below = truth.layers[0]
    assert below.activation == TANH
    counted = WideStarts().parameters(below, outputs=outputs, width=width, depth=depth)
    assert counted == truth.parameters - below.weights.size - below.biases.size
