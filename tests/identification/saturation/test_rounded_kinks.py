"""How far kinks are rounded off, against the closed form of the activation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from plants import Counted, planter
from unweave.activations import ELU, GELU, MISH, SELU, SILU, SOFTPLUS, Activation, elu
from unweave.identification.saturation.rounded_kinks import (
    RULES,
    RoundedKinks,
    fit_rounded_kinks,
    measure_rounded_kinks,
)
from unweave.identification.walks.hyperplanes import Hyperplanes, measure_hyperplanes
from unweave.identification.walks.kinks import KinkSearch
from unweave.identification.walks.lines import Line, far_line
from unweave.networks.network import Network
from unweave.networks.planted import general_network

EPS = float(np.finfo(float).eps)
# As on far lines: kinks are rounded within a small angle, and steps are long.
FAR = KinkSearch(noise=EPS, rounding=4 * EPS, blur=3e-4, step=3e-3)
TAILED = [SOFTPLUS, GELU, SILU]


planted = planter(general_network, 41, inputs=4, neurons=6)


def walked_corners(truth: Network, seed: int) -> tuple[Line, Hyperplanes, RoundedKinks, int]:
    line = far_line(4, np.random.default_rng([seed, 42]), radius=2e6, outer=1e-5)
    walked = FAR(truth, line)
    met = measure_hyperplanes(truth, walked, FAR)
    ask = Counted(truth)
    return line, met, measure_rounded_kinks(ask, walked, met), ask.asked


def planted_lengths(truth: Network, met: Hyperplanes) -> np.ndarray:
    weights = truth.layers[0].weights
    lengths = np.linalg.norm(weights, axis=1)
    return lengths[np.argmax(np.abs(met.normals @ (weights / lengths[:, None]).T), axis=1)]


def assert_lengths(found: np.ndarray, truth: np.ndarray, *, rtol: float) -> None:
    np.testing.assert_allclose(found, truth, rtol=rtol)


def test_the_assertion_on_lengths_can_fail() -> None:
    assert_lengths(np.array([1.0, 2.0]), np.array([1.0, 2.0]), rtol=1e-9)
    with pytest.raises(AssertionError):
        assert_lengths(np.array([1.0, 2.0]), np.array([1.0, 2.03]), rtol=1e-2)


@pytest.mark.parametrize("activation", TAILED)
@pytest.mark.parametrize("outputs", [1, 3])
def test_lengths_of_weights_show_in_rounded_kinks(activation: Activation, outputs: int, seed: int) -> None:
    truth = planted(seed, activation=activation, outputs=outputs)
    _, met, corners, asked = walked_corners(truth, seed)
    assert len(met.kinks) == 6
    assert asked == 6 * len(RULES.all_distances)
    fit = fit_rounded_kinks(corners, activation)
    assert_lengths(fit.lengths, planted_lengths(truth, met), rtol=1e-2)
    assert fit.typical_misfit < 1e-2


@pytest.mark.parametrize("activation", TAILED)
def test_the_right_activation_fits_best(activation: Activation, seed: int) -> None:
    _, _, corners, _ = walked_corners(planted(seed, activation=activation), seed)
    misfits = {each.name: fit_rounded_kinks(corners, each).typical_misfit for each in TAILED}
    assert min(misfits, key=lambda name: misfits[name]) == activation.name
    others = [misfit for name, misfit in misfits.items() if name != activation.name]
    assert min(others) > 10 * misfits[activation.name]


def test_deviations_are_those_of_the_activation(seed: int) -> None:
    """``g(l t) / l - t`` beside every kink, with t the distance and l the length of the weights."""
    truth = planted(seed, activation=SOFTPLUS)
    _, met, corners, _ = walked_corners(truth, seed)
    arguments = planted_lengths(truth, met)[:, None] * RULES.all_distances
    expected = np.log1p(np.exp(-arguments)) / planted_lengths(truth, met)[:, None]
    np.testing.assert_allclose(corners.deviations, expected, atol=1e-3)


def test_no_kinks_no_queries(seed: int) -> None:
    truth = planted(seed, activation=SOFTPLUS)
    line, met, _, _ = walked_corners(truth, seed)
    walked = FAR(truth, line)
    none = Hyperplanes(met.normals[:0], met.offsets[:0], met.jumps[:0], met.errors[:0], len(walked.kinks), ())

    def ask(points: np.ndarray) -> np.ndarray:
        raise AssertionError(f"{len(points)} queries")

    assert measure_rounded_kinks(ask, walked, none).deviations.shape == (0, len(RULES.all_distances))


def deviation(activation: Activation, arguments: np.ndarray) -> np.ndarray:
    """``g(t) - t`` for t > 0, from other formulas than the package's."""
    return {
        SOFTPLUS: np.log1p(np.exp(-arguments)),
        GELU: -arguments * special.ndtr(-arguments),
        SILU: -arguments * special.expit(-arguments),
    }[activation]


def corners_of(activation: Activation, lengths: np.ndarray) -> RoundedKinks:
    return RoundedKinks(
        RULES.all_distances, deviation(activation, lengths[:, None] * RULES.all_distances) / lengths[:, None]
    )


@pytest.mark.parametrize("activation", TAILED)
@given(st.lists(st.floats(0.05, 30.0), min_size=1, max_size=5))
def test_lengths_are_found(activation: Activation, lengths: list[float]) -> None:
    fit = fit_rounded_kinks(corners_of(activation, np.array(lengths)), activation)
    np.testing.assert_allclose(fit.lengths, lengths, rtol=1e-5)
    assert fit.typical_misfit < 1e-5


@pytest.mark.parametrize("activation", TAILED)
def test_other_activations_fit_worse(activation: Activation) -> None:
    corners = corners_of(activation, np.array([0.3, 1.0, 4.0]))
    misfits = {each: fit_rounded_kinks(corners, each).misfits for each in TAILED}
    for other in TAILED:
        assert other == activation or np.all(misfits[other] > 1e-2)
    assert np.all(misfits[activation] < 1e-5)


def test_errors_of_the_answers_show_in_the_misfit(seed: int) -> None:
    exact = corners_of(SOFTPLUS, np.array([0.5, 1.0, 2.0]))
    noise = 1e-4 * np.random.default_rng(seed).standard_normal(exact.deviations.shape)
    fit = fit_rounded_kinks(RoundedKinks(RULES.all_distances, exact.deviations + noise), SOFTPLUS)
    np.testing.assert_allclose(fit.lengths, [0.5, 1.0, 2.0], rtol=1e-2)
    assert 1e-5 < fit.typical_misfit < 1e-2


def test_a_sharp_kink_fits_nothing() -> None:
    """A relu has no rounded kink at all."""
    fit = fit_rounded_kinks(RoundedKinks(RULES.all_distances, np.zeros((2, len(RULES.all_distances)))), SOFTPLUS)
    assert np.all(fit.misfits > 0.5)


def test_no_kinks_are_no_evidence() -> None:
    fit = fit_rounded_kinks(RoundedKinks(RULES.all_distances, np.empty((0, len(RULES.all_distances)))), GELU)
    assert fit.typical_misfit == np.inf
    assert len(fit.lengths) == 0


@pytest.mark.parametrize("activation", [MISH, ELU, SELU, elu(0.5)], ids=repr)
def test_without_a_reflection_law_lengths_and_signs_are_read(activation: Activation, seed: int) -> None:
    truth = planted(seed, activation=activation)
    _, met, corners, _ = walked_corners(truth, seed)
    found = fit_rounded_kinks(corners, activation)
    weights = truth.layers[0].weights
    cosines = met.normals @ (weights / np.linalg.norm(weights, axis=1, keepdims=True)).T
    nearest = np.argmax(np.abs(cosines), axis=1)
    clear = found.misfits < 1e-4
    assert np.count_nonzero(clear) >= 4
    assert_lengths(found.lengths[clear], planted_lengths(truth, met)[clear], rtol=1e-4)
    np.testing.assert_array_equal(found.signs[clear], np.sign(cosines[np.arange(len(nearest)), nearest])[clear])
