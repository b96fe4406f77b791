"""Several neurons on one direction, against planted ones."""

import numpy as np
import pytest

from unweave.activations import GAUSSIAN, GELU, MISH, SOFTPLUS, TANH, Activation
from unweave.identification.hessians.collinear import (
    SplitRules,
    _dictionary_starts,
    _variable_projection,
    split_collinear,
)
from unweave.identification.profiles import ProfileFit, Profiles


def poor_fit(activation: Activation, outputs: int) -> ProfileFit:
    """One neuron that explains nothing."""
    return ProfileFit(activation, np.ones(1), np.zeros(1), np.zeros((outputs, 1)), np.ones(1))


@pytest.mark.parametrize("activation", [TANH, SOFTPLUS, GELU, GAUSSIAN], ids=str)
@pytest.mark.parametrize("outputs", [1, 3])
def test_two_neurons_on_a_direction_are_told_apart(activation: Activation, outputs: int) -> None:
    rng = np.random.default_rng([outputs, *activation.name.encode()])
    positions, scales, biases = rng.standard_normal(120), np.array([0.7, 1.9]), np.array([-1.1, 0.8])
    weights = rng.standard_normal((2, outputs))
    values = activation(positions[:, None] * scales + biases, 2) @ weights
    profiles = Profiles(positions[:, None], values[:, :, None], 0.0)
    split = split_collinear(profiles, poor_fit(activation, outputs), SplitRules())
    assert split is not None
    assert list(split.atom) == [0, 0]
    assert np.all(split.fit.misfits < 1e-9)
    order = np.argsort(split.fit.scales)
    np.testing.assert_allclose(split.fit.scales[order], scales, rtol=1e-6)
    np.testing.assert_allclose(split.fit.biases[order], biases, rtol=1e-6)
    np.testing.assert_allclose(split.fit.curvatures.T[order], weights, rtol=1e-6)


def test_a_profile_that_no_neurons_explain_is_left_as_it_is() -> None:
    positions = np.random.default_rng(0).standard_normal(120)
    profiles = Profiles(positions[:, None], np.sign(np.sin(40 * positions))[:, None, None], 0.0)
    assert split_collinear(profiles, poor_fit(TANH, 1), SplitRules()) is None


def test_parts_that_run_away_are_flat() -> None:
    """Second derivatives of mish are no numbers for huge arguments."""
    positions = 1e3 * np.random.default_rng(1).standard_normal(60)
    profiles = Profiles(positions[:, None], np.exp(-np.abs(positions))[:, None, None], 0.0)
    split = split_collinear(profiles, poor_fit(MISH, 1), SplitRules())
    assert split is None or np.all(np.isfinite(split.fit.misfits))


@pytest.mark.parametrize("bias", [170.0, 180.0, 190.0])
def test_parts_without_curvature_end_without_a_warning(bias: float) -> None:
    """tanh bends by 1e-160 there: weights that make up for it have squares beyond all numbers."""
    rng = np.random.default_rng(0)
    positions, targets = rng.standard_normal(30), rng.standard_normal((30, 1))
    starts = np.array([[1.0, 1.5, bias, bias + 5.0], [1.0, 2.0, 0.5, -0.5]])
    fit = _variable_projection(positions, targets, TANH, starts, SplitRules().fit)
    assert np.all(np.isfinite(fit.losses))
    assert fit.losses[1] < np.sum(targets**2)


@pytest.mark.parametrize("seed", [211, 259, 276])
def test_steps_that_are_no_numbers_are_not_taken(seed: int) -> None:
    """Two neurons are fitted to a profile that is visible at two points only, and run away."""
    rng = np.random.default_rng(seed)
    positions = 0.7 * rng.standard_normal(14)
    values = 1e-3 * rng.standard_normal((14, 1))
    positions[0], values[:2, 0] = 0.79, (-1.0, -0.08)
    fit = SplitRules().fit
    starts = np.array(_dictionary_starts(positions, values, GELU, 2, fit))
    found = _variable_projection(positions, values / np.linalg.norm(values), GELU, starts, fit)
    assert np.all(np.isfinite(found.parameters))
    assert np.all(np.isfinite(found.losses))
    # Flat parts explain nothing: what a fit says it leaves is what its neurons leave.
    scales, biases = np.split(found.parameters, 2, axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        shapes = np.nan_to_num(GELU(positions[:, None] * scales[:, None, :] + biases[:, None, :], 2))
    left = values / np.linalg.norm(values) - shapes @ found.weights
    np.testing.assert_allclose(found.losses, np.sum(left**2, axis=(1, 2)), atol=1e-9)
