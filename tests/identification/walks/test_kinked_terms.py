"""Kinked terms: one per hyperplane, the better reading, and none that the answers do not need."""

import numpy as np
import pytest

from unweave.activations import RELU
from unweave.identification.walks.hyperplanes import Hyperplanes
from unweave.identification.walks.kinked_terms import KinkedTerms
from unweave.networks.network import Layer, Network
from unweave.networks.planted import general_network

INPUTS = 4


def hyperplanes(normals: np.ndarray, offsets: np.ndarray, jumps: np.ndarray, errors: np.ndarray) -> Hyperplanes:
    return Hyperplanes(normals, offsets, jumps, errors, 0, tuple(range(len(normals))))


def planted(seed: int, neurons: int = 5, outputs: int = 2) -> tuple[Network, Hyperplanes]:
    """A relu network, and its hyperplanes read exactly."""
    network = general_network(
        np.random.default_rng([seed, 61]), inputs=INPUTS, neurons=neurons, outputs=outputs, activation=RELU
    )
    hidden, output = network.layers
    lengths = np.linalg.norm(hidden.weights, axis=1)
    met = hyperplanes(
        hidden.weights / lengths[:, None],
        hidden.biases / lengths,
        (output.weights * lengths).T.copy(),
        np.full(neurons, 1e-6),
    )
    return network, met


def shaken(met: Hyperplanes, rng: np.random.Generator, size: float) -> Hyperplanes:
    """Another reading of the same hyperplanes, from lines that met them the other way round, with errors."""
    signs = rng.choice([-1.0, 1.0], len(met.offsets))
    normals = met.normals + size * rng.standard_normal(met.normals.shape) / np.sqrt(INPUTS)
    normals *= (signs / np.linalg.norm(normals, axis=1))[:, None]
    offsets = signs * (met.offsets + size * rng.standard_normal(len(signs)))
    return hyperplanes(normals, offsets, met.jumps, np.full(len(signs), 2 * size))


def assert_same_function(found: Network, truth: Network, *, atol: float) -> None:
    points = np.random.default_rng(0).standard_normal((200, INPUTS))
    np.testing.assert_allclose(found(points), truth(points), atol=atol)


def test_the_assertion_on_functions_can_fail(seed: int) -> None:
    truth, _ = planted(seed)
    assert_same_function(truth, truth, atol=0.0)
    with pytest.raises(AssertionError):
        assert_same_function(planted(seed + 1)[0], truth, atol=1e-2)


def test_no_terms_are_an_affine_function(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, slope = rng.standard_normal((40, INPUTS)), rng.standard_normal((2, INPUTS))
    terms = KinkedTerms.none(INPUTS, 2)
    assert terms.network().widths == (0,)
    found = terms.fitted(points, points @ slope.T + 1.0)
    assert found.skip is not None
    np.testing.assert_allclose(found.skip, slope, atol=1e-12)


@pytest.mark.parametrize("size", [1e-6, 1e-4, 2e-3])
def test_a_hyperplane_met_on_two_lines_is_one_term(size: float, seed: int) -> None:
    _, met = planted(seed)
    again = shaken(met, np.random.default_rng([seed, 62]), size)
    for first, second in ((met, again), (again, met)):
        terms = KinkedTerms.none(INPUTS, 2).extended(first).extended(second)
        assert len(terms.offsets) == 5
        np.testing.assert_array_equal(terms.sightings, 2.0)
        # Whichever came first, the better reading is kept.
        np.testing.assert_allclose(terms.normals, met.normals, atol=1e-12 if size > 1e-6 else 1e-5)


def test_terms_that_are_known_stay_as_they_are(seed: int) -> None:
    _, met = planted(seed)
    some = KinkedTerms.none(INPUTS, 2).extended(met.chosen([0, 1, 2]))
    again = hyperplanes(met.normals, met.offsets, 1e-3 * met.jumps, met.errors)
    terms = some.extended_by_new(again)
    assert len(terms.offsets) == 5
    np.testing.assert_array_equal(terms.jumps[:3], met.jumps[:3])
    np.testing.assert_array_equal(terms.jumps[3:], again.jumps[3:])


def test_hyperplanes_that_differ_by_more_than_their_errors_are_two_terms(seed: int) -> None:
    _, met = planted(seed)
    moved = hyperplanes(met.normals, met.offsets + 1e-3, met.jumps, met.errors)
    assert len(KinkedTerms.none(INPUTS, 2).extended(met).extended(moved).offsets) == 10
    tilted = met.normals + 1e-3 * np.roll(met.normals, 1, axis=1)
    tilted /= np.linalg.norm(tilted, axis=1, keepdims=True)
    other = hyperplanes(tilted, met.offsets, met.jumps, met.errors)
    assert len(KinkedTerms.none(INPUTS, 2).extended(met).extended(other).offsets) == 10


def test_exact_terms_give_the_network_back_with_its_affine_part(seed: int) -> None:
    truth, met = planted(seed)
    flipped = hyperplanes(-met.normals, -met.offsets, met.jumps, met.errors)
    points = np.random.default_rng([seed, 63]).standard_normal((60, INPUTS))
    for each in (met, flipped):
        found = KinkedTerms.none(INPUTS, 2).extended(each).fitted(points, truth(points))
        assert found.widths == (5,)
        assert_same_function(found, truth, atol=1e-9)


def test_a_term_that_the_answers_do_not_need_vanishes(seed: int) -> None:
    truth, met = planted(seed)
    rng = np.random.default_rng([seed, 64])
    normal = rng.standard_normal((1, INPUTS))
    wrong = hyperplanes(normal / np.linalg.norm(normal), np.array([0.1]), np.ones((1, 2)), np.array([1e-6]))
    points = rng.standard_normal((80, INPUTS))
    terms = KinkedTerms.none(INPUTS, 2).extended(met).extended(wrong)
    found = terms.fitted(points, truth(points))
    assert found.widths == (5,)
    assert_same_function(found, truth, atol=1e-9)
    # Seen twice it is believed, and with fewer answers than unknowns nothing can be said against it.
    assert terms.extended(wrong).fitted(points, truth(points)).widths == (6,)
    assert terms.fitted(points[:11], truth(points[:11])).widths == (6,)


def test_points_on_hyperplanes_are_known(seed: int) -> None:
    _, met = planted(seed)
    terms = KinkedTerms.none(INPUTS, 2).extended(met)
    rng = np.random.default_rng([seed, 62])
    points = 10.0 * rng.standard_normal((5, INPUTS))
    on = points - np.sum((met.normals * points).T, axis=0)[:, None] * met.normals - met.offsets[:, None] * met.normals
    numbers = terms.at(on, np.zeros(5))
    np.testing.assert_array_equal(numbers, np.arange(5))
    np.testing.assert_array_equal(terms.at(on + 0.01 * met.normals, np.zeros(5)), np.full(5, -1))
    np.testing.assert_array_equal(terms.at(on + 0.01 * met.normals, np.full(5, 0.02)), np.arange(5))
    np.testing.assert_array_equal(KinkedTerms.none(INPUTS, 2).at(on, np.zeros(5)), np.full(5, -1))


def test_a_term_goes_through_points(seed: int) -> None:
    _, met = planted(seed)
    rng = np.random.default_rng([seed, 63])
    terms = KinkedTerms.none(INPUTS, 2).extended(shaken(met, rng, 1e-5))
    points = rng.standard_normal((12, INPUTS))
    points -= (points @ met.normals[2] + met.offsets[2])[:, None] * met.normals[2]
    better = terms.through(2, points)
    sign = np.sign(better.normals[2] @ met.normals[2])
    np.testing.assert_allclose(sign * better.normals[2], met.normals[2], rtol=0.0, atol=1e-14)
    assert sign * better.offsets[2] == pytest.approx(met.offsets[2], abs=1e-14)
    assert better.normals[2] @ terms.normals[2] > 0
    assert better.errors[2] < 1e-13
    np.testing.assert_array_equal(np.delete(better.normals, 2, 0), np.delete(terms.normals, 2, 0))


def test_of_terms_that_lie_on_each_other_the_best_read_one_counts() -> None:
    """Signs of normals mean nothing here, and far out the same angle is a larger distance."""
    normals = np.array([[1.0, 0.0], [-1.0, 1e-5], [0.0, 1.0], [1.0, 1e-5]])
    offsets = np.array([0.5, -0.5, 0.5, 0.7])
    terms = KinkedTerms(normals, offsets, np.ones((4, 1)), np.array([1e-6, 1e-9, 1e-9, 1e-6]), np.ones(4))
    assert terms.apart(1e-4).tolist() == [False, True, True, True]
    assert terms.apart(1e-6).tolist() == [True] * 4


def test_the_nearest_term_is_that_of_the_same_hyperplane(seed: int) -> None:
    rng = np.random.default_rng(seed)
    normals, offsets = rng.standard_normal((4, 3)), rng.standard_normal(4)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    terms = KinkedTerms(normals, offsets, np.ones((4, 1)), np.zeros(4), np.ones(4))
    layer = Layer(-2.0 * normals[[2, 0]] + 1e-4, -2.0 * offsets[[2, 0]], RELU)
    assert [terms.nearest(layer, neuron) for neuron in range(2)] == [2, 0]
