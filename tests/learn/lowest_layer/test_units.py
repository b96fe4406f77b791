import pickle
from math import factorial, sqrt

import numpy as np
import pytest
from scipy.special import eval_hermitenorm, expit

from unweave.activations import RELU, SIGMOID, STEP
from unweave.exceptions import InvalidInput
from unweave.learn.lowest_layer.units import (
    UNITS,
    monic_coefficients,
    threshold_of_ratio,
    unit_coefficients,
    unit_named,
)

FUNCTIONS = {"step": lambda t: float(t >= 0), "relu": lambda t: max(t, 0.0), "sigmoid": expit}


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("threshold", [0.5, 1.0, np.sqrt(3), 2.5, 4.0])
def test_coefficients_agree_with_quadrature(name: str, threshold: float) -> None:
    from scipy.integrate import quad

    found = unit_coefficients(UNITS[name], threshold, 6)
    for k in range(7):

        def integrand(g: float, k: int = k) -> float:
            density = np.exp(-0.5 * g * g) / sqrt(2 * np.pi)
            return FUNCTIONS[name](g - threshold) * eval_hermitenorm(k, g) * density / sqrt(factorial(k))

        pieces = [(-14.0, 0.0), (0.0, threshold), (threshold, 14.0)]
        expected = sum(quad(integrand, *piece, epsabs=1e-14, epsrel=1e-13, limit=200)[0] for piece in pieces)
        assert found[k] == pytest.approx(expected, abs=1e-12)


def test_closed_forms_of_step_and_relu() -> None:
    t = 2.0
    density = np.exp(-0.5 * t * t) / sqrt(2 * np.pi)
    assert unit_coefficients(STEP, t, 4)[4] == pytest.approx((t**3 - 3 * t) * density / sqrt(24), rel=1e-12)
    assert unit_coefficients(RELU, t, 4)[4] == pytest.approx((t**2 - 1) * density / sqrt(24), rel=1e-12)


@pytest.mark.parametrize(
    ("unit", "order", "zero"),
    [(STEP, 4, np.sqrt(3)), (RELU, 4, 1.0), (SIGMOID, 4, 3.0289), (STEP, 3, 1.0), (SIGMOID, 3, 1.755)],
)
def test_coefficients_change_sign(unit, order: int, zero: float) -> None:
    below, above = unit_coefficients(unit, zero - 0.01, 4)[order], unit_coefficients(unit, zero + 0.01, 4)[order]
    assert below < 0 < above


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("threshold", [0.7, 1.5, 3.0])
def test_a_ratio_of_coefficients_gives_the_threshold(name: str, threshold: float) -> None:
    unit = UNITS[name]
    _, _, second, third = monic_coefficients(unit, threshold, 3)
    assert threshold_of_ratio(unit, float(third / second)) == pytest.approx(threshold, abs=1e-9)


def test_units_are_found_by_name_and_survive_pickling() -> None:
    assert pickle.loads(pickle.dumps(STEP)) is STEP
    with pytest.raises(InvalidInput, match="no activation of units with thresholds 'sgn'"):
        unit_named("sgn")
    with pytest.raises(InvalidInput, match="finite"):
        threshold_of_ratio(STEP, np.nan)
