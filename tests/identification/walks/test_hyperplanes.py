"""Hyperplanes behind kinks, against planted relu networks."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from helpers.plants import planter
from unweave.activations import RELU
from unweave.identification.walks.hyperplanes import (
    Hyperplanes,
    hyperplanes_between,
    measure_hyperplanes,
    measure_sides,
    read_weak_kinks,
)
from unweave.identification.walks.kinks import KinkSearch
from unweave.identification.walks.lines import Line, random_line
from unweave.networks.network import Network
from unweave.networks.planted import general_network
from unweave.oracles.oracle import Everywhere

EPS = float(np.finfo(float).eps)
EXACT = KinkSearch(noise=EPS, rounding=4 * EPS)


@dataclass
class Asked:
    """A model that remembers what it was asked."""

    network: Network
    noise: float = 0.0
    points: list[np.ndarray] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(3)

    def __call__(self, points: np.ndarray) -> np.ndarray:
        self.points.append(points)
        values = self.network(points)
        return values + self.noise * self.rng.standard_normal(values.shape)

    @property
    def count(self) -> int:
        return sum(map(len, self.points))


relu_network = planter(general_network, 11, inputs=6, neurons=8, activation=RELU)


def line_of(seed: int, inputs: int) -> Line:
    return random_line(Everywhere(), inputs, np.random.default_rng([seed, 12]))


def planted_terms(network: Network, line: Line) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Normals (forward), offsets and jumps of all neurons, in the order in which the line meets them."""
    hidden, output = network.layers
    lengths = np.linalg.norm(hidden.weights, axis=1)
    signs = np.sign(hidden.weights @ line.direction)
    normals = (signs / lengths)[:, None] * hidden.weights
    offsets = signs / lengths * hidden.biases
    order = np.argsort(-(normals @ line.base + offsets) / (normals @ line.direction))
    return normals[order], offsets[order], (output.weights * lengths).T[order]


def assert_hyperplanes(met: Hyperplanes, network: Network, line: Line, *, atol: float) -> None:
    normals, offsets, jumps = planted_terms(network, line)
    assert met.unresolved == 0
    assert met.normals.shape == normals.shape
    np.testing.assert_allclose(met.normals, normals, atol=atol)
    np.testing.assert_allclose(met.offsets, offsets, atol=atol * (1 + np.max(np.abs(offsets))))
    np.testing.assert_allclose(met.jumps, jumps, atol=atol * np.max(np.abs(jumps)))
    assert met.kinks == tuple(range(len(normals)))


def test_the_assertion_on_hyperplanes_can_fail(seed: int) -> None:
    truth, line = relu_network(seed), line_of(seed, 6)
    met = measure_hyperplanes(truth, EXACT(truth, line), EXACT)
    assert_hyperplanes(met, truth, line, atol=1e-4)
    hidden, output = truth.layers
    tilted = hidden.weights.copy()
    tilted[2, 1] += 1e-2
    for other in (
        relu_network(seed + 1),
        Network.shallow(tilted, hidden.biases, output.weights, output.biases, RELU),
        Network.shallow(hidden.weights, hidden.biases + 1e-2, output.weights, output.biases, RELU),
        Network.shallow(hidden.weights, hidden.biases, 1.01 * output.weights, output.biases, RELU),
    ):
        with pytest.raises(AssertionError):
            assert_hyperplanes(met, other, line, atol=1e-4)


@pytest.mark.parametrize(("inputs", "neurons", "outputs"), [(2, 1, 1), (6, 8, 1), (5, 12, 3), (10, 20, 2)])
def test_planted_hyperplanes_are_read(inputs: int, neurons: int, outputs: int, seed: int) -> None:
    truth = relu_network(seed, inputs=inputs, neurons=neurons, outputs=outputs)
    line = line_of(seed, inputs)
    met = measure_hyperplanes(truth, EXACT(truth, line), EXACT)
    assert_hyperplanes(met, truth, line, atol=1e-4)
    assert np.all(met.errors < 1e-2)


def test_inexact_answers_are_read_as_exactly_as_expected(seed: int) -> None:
    model, line = Asked(relu_network(seed), noise=1e-8), line_of(seed, 6)
    settings = KinkSearch(noise=1e-8, rounding=4 * EPS)
    met = measure_hyperplanes(model, settings(model, line), settings)
    normals, _, _ = planted_terms(model.network, line)
    assert len(met.kinks) == len(normals)
    distances = np.linalg.norm(met.normals - normals, axis=1)
    assert np.all(distances <= 10 * met.errors)
    assert np.median(distances) < 1e-3


def test_a_piece_costs_one_query_per_input_and_one_more(seed: int) -> None:
    model, line = Asked(relu_network(seed)), line_of(seed, 6)
    walked = EXACT(model, line)
    model.points.clear()
    measure_hyperplanes(model, walked, EXACT)
    # A piece whose gradient does not fit the slope along the line is measured a second time.
    assert model.count in [(6 + 1) * (len(walked.pieces) + again) for again in range(3)]
    assert len(model.points) <= 2


def crossed_network(seed: int) -> tuple[Network, Network, Line]:
    """A kink on a line, the same and a hyperplane beside the place where a gradient is measured, and the line."""
    rng = np.random.default_rng([seed, 13])
    line = line_of(seed, 4)
    # With a slope on both sides: in a flat piece steps would be longer.
    skip = 0.5 * line.direction[None]
    simple = Network.shallow(line.direction[None], np.zeros(1), np.ones((1, 1)), np.zeros(1), RELU, skip)
    model = Asked(simple)
    walked = EXACT(model, line)
    model.points.clear()
    measure_hyperplanes(model, walked, EXACT)
    # The first batch has one point per piece, each followed by one step per input.
    places = np.concatenate(model.points).reshape(-1, 5, 4)
    # Perpendicular to the line, which never meets it.
    normal = rng.standard_normal(4)
    normal -= (normal @ line.direction) * line.direction
    normal /= np.linalg.norm(normal)
    # Half-way on the step that crosses it most steeply, so that steps of a tenth do not cross it.
    place, moved = places[-1, 0], places[-1, 1 + int(np.argmax(np.abs(normal)))]
    offset = -normal @ (0.5 * (place + moved))
    crossed = Network.shallow(
        np.vstack([line.direction, normal]), np.array([0.0, offset]), np.array([[1.0, 0.7]]), np.zeros(1), RELU, skip
    )
    return simple, crossed, line


def test_a_step_across_a_hyperplane_is_noticed_and_repaired(seed: int) -> None:
    simple, crossed, line = crossed_network(seed)
    model = Asked(crossed)
    walked = EXACT(model, line)
    assert len(walked.kinks) == 1
    model.points.clear()
    met = measure_hyperplanes(model, walked, EXACT)
    assert len(model.points) == 2
    assert len(model.points[1]) in (5, 10)
    assert_hyperplanes(met, simple, line, atol=1e-4)


def test_an_affine_function_has_no_hyperplanes(seed: int) -> None:
    line = line_of(seed, 3)
    slope = np.random.default_rng(seed).standard_normal((2, 3))

    def ask(points: np.ndarray) -> np.ndarray:
        return points @ slope.T + 1.0

    met = measure_hyperplanes(ask, EXACT(ask, line), EXACT)
    assert met.normals.shape == (0, 3)
    assert met.jumps.shape == (0, 2)
    assert met.unresolved == 0


def test_an_unresolved_kink_is_counted_and_not_trusted(seed: int) -> None:
    """Two kinks nearer to each other than any search resolves: one place, no clear reading."""
    line = line_of(seed, 4)
    weights = np.random.default_rng([seed, 14]).standard_normal((2, 4))
    biases = -weights @ line.points(np.array([0.7, 0.7 + 1e-10]))[[0, 1]].T
    truth = Network.shallow(weights, np.diag(biases).copy(), np.array([[1.0, 1.4]]), np.zeros(1), RELU)
    met = measure_hyperplanes(truth, EXACT(truth, line), EXACT)
    assert met.unresolved + np.count_nonzero(met.errors < EXACT.largest_error) >= 1
    if met.unresolved:
        assert np.all(met.errors[: met.unresolved] >= EXACT.largest_error)


def test_sides_are_the_gradients_of_the_pieces(seed: int) -> None:
    truth, line = relu_network(seed, outputs=2), line_of(seed, 6)
    walked = EXACT(truth, line)
    sides = measure_sides(truth, walked, EXACT, [0, 3, 4])
    assert set(sides) == {0, 3, 4}
    for index, side in sides.items():
        assert side.index == index
        np.testing.assert_allclose(side.gradient, truth.gradients(side.point[None])[0], atol=1e-4)
        position = (side.point - line.base) @ line.direction
        assert np.count_nonzero(position > [kink.position for kink in walked.kinks]) == index
    # Only kinks between two measured pieces are read.
    assert hyperplanes_between(sides, walked, EXACT).kinks == (3,)


def test_hyperplanes_can_be_chosen(seed: int) -> None:
    truth, line = relu_network(seed, outputs=2), line_of(seed, 6)
    met = measure_hyperplanes(truth, EXACT(truth, line), EXACT)
    chosen = met.chosen([4, 1])
    assert chosen.kinks == (4, 1)
    np.testing.assert_array_equal(chosen.normals, met.normals[[4, 1]])
    np.testing.assert_array_equal(chosen.jumps, met.jumps[[4, 1]])
    assert met.chosen([]).normals.shape == (0, 6)


def weak_network(seed: int, *, weak: float) -> Network:
    """A network of which one neuron has a small output weight."""
    truth = relu_network(seed, inputs=40, neurons=12)
    hidden, output = truth.layers
    pulls = output.weights.copy()
    pulls[0, 3] = weak
    return Network.shallow(hidden.weights, hidden.biases, pulls, output.biases, RELU)


def test_a_weak_kink_is_read_with_steps_that_others_allow(seed: int) -> None:
    truth, line = weak_network(seed, weak=1e-6), line_of(seed, 40)
    walked = EXACT(truth, line)
    first = measure_hyperplanes(truth, walked, EXACT)
    met = read_weak_kinks(truth, walked, EXACT, first)
    order = np.argsort(met.kinks)
    normals, _, jumps = planted_terms(truth, line)
    weak = int(np.argmin(np.abs(jumps[:, 0])))
    assert dict(zip(first.kinks, first.errors, strict=True)).get(weak, np.inf) > EXACT.poor
    assert met.unresolved == 0
    assert np.all(met.errors < EXACT.poor)
    np.testing.assert_array_less(np.linalg.norm(met.normals[order] - normals, axis=1), 3 * met.errors[order])


@pytest.mark.parametrize("outputs", [1, 3])
def test_kinks_that_were_read_well_are_not_asked_again(outputs: int, seed: int) -> None:
    model, line = Asked(relu_network(seed, inputs=40, neurons=12, outputs=outputs)), line_of(seed, 40)
    walked = EXACT(model, line)
    met = measure_hyperplanes(model, walked, EXACT)
    poor = [kink for kink, error in zip(met.kinks, met.errors, strict=True) if error > EXACT.poor]
    model.points.clear()
    again = read_weak_kinks(model, walked, EXACT, met)
    assert model.count <= 2 * 2 * len(poor) * 41
    assert sorted(again.kinks) == list(met.kinks)


def test_long_steps_cross_no_known_hyperplane(seed: int) -> None:
    model, line = Asked(weak_network(seed, weak=1e-6)), line_of(seed, 40)
    walked = EXACT(model, line)
    met = measure_hyperplanes(model, walked, EXACT)
    known = met.chosen([row for row, error in enumerate(met.errors) if error <= EXACT.poor])
    pieces = range(len(walked.pieces))
    model.points.clear()
    measure_sides(model, walked, EXACT, pieces)
    short = model.points[0]
    model.points.clear()
    measure_sides(model, walked, EXACT, pieces, known=known)
    asked = model.points[0].reshape(len(pieces), 41, 40)
    sides = np.sign(asked @ known.normals.T + known.offsets)
    assert np.all(sides == sides[:, :1])
    lengths = np.linalg.norm(asked[:, 1:] - asked[:, :1], axis=2)
    before = short.reshape(asked.shape)
    assert np.median(lengths / np.linalg.norm(before[:, 1:] - before[:, :1], axis=2)) > 100
