"""Lengths from rounded kinks, against profiles in closed form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from unweave.activations import GELU, SILU, SOFTPLUS, Activation
from unweave.identification.saturation.rounded_kinks import DISTANCES, Corners
from unweave.identification.saturation.rounded_neurons import fit_corners

TAILED = [SOFTPLUS, GELU, SILU]


def deviation(activation: Activation, arguments: np.ndarray) -> np.ndarray:
    """``g(t) - t`` for t > 0, from other formulas than the package's."""
    return {
        SOFTPLUS: np.log1p(np.exp(-arguments)),
        GELU: -arguments * special.ndtr(-arguments),
        SILU: -arguments * special.expit(-arguments),
    }[activation]


def corners_of(activation: Activation, lengths: np.ndarray) -> Corners:
    return Corners(DISTANCES, deviation(activation, lengths[:, None] * DISTANCES) / lengths[:, None])


@pytest.mark.parametrize("activation", TAILED)
@given(st.lists(st.floats(0.05, 30.0), min_size=1, max_size=5))
def test_lengths_are_found(activation: Activation, lengths: list[float]) -> None:
    fit = fit_corners(corners_of(activation, np.array(lengths)), activation)
    np.testing.assert_allclose(fit.lengths, lengths, rtol=1e-5)
    assert fit.typical_misfit < 1e-5


@pytest.mark.parametrize("activation", TAILED)
def test_other_activations_fit_worse(activation: Activation) -> None:
    corners = corners_of(activation, np.array([0.3, 1.0, 4.0]))
    misfits = {each: fit_corners(corners, each).misfits for each in TAILED}
    for other in TAILED:
        assert other == activation or np.all(misfits[other] > 1e-2)
    assert np.all(misfits[activation] < 1e-5)


def test_errors_of_the_answers_show_in_the_misfit(seed: int) -> None:
    exact = corners_of(SOFTPLUS, np.array([0.5, 1.0, 2.0]))
    noise = 1e-4 * np.random.default_rng(seed).standard_normal(exact.deviations.shape)
    fit = fit_corners(Corners(DISTANCES, exact.deviations + noise), SOFTPLUS)
    np.testing.assert_allclose(fit.lengths, [0.5, 1.0, 2.0], rtol=1e-2)
    assert 1e-5 < fit.typical_misfit < 1e-2


def test_a_sharp_kink_fits_nothing() -> None:
    """A relu has no rounded kink at all."""
    fit = fit_corners(Corners(DISTANCES, np.zeros((2, len(DISTANCES)))), SOFTPLUS)
    assert np.all(fit.misfits > 0.5)


def test_no_kinks_are_no_evidence() -> None:
    fit = fit_corners(Corners(DISTANCES, np.empty((0, len(DISTANCES)))), GELU)
    assert fit.typical_misfit == np.inf
    assert len(fit.lengths) == 0
