import numpy as np
import pytest

from unweave.activations import softplus
from unweave.explore.landscape.experiment import LandscapeDesign
from unweave.reproduce.soltanolkotabi.training_curves import training_curves

SHARP = softplus(10.0)


def test_training_curves_fall_to_the_tolerance(seed: int) -> None:
    design = LandscapeDesign(SHARP, samples=15, planted=3, starts=1, has_random_labels=True)
    curves = training_curves(design, neurons=20, inputs=5, steps=8_000, error_tol=1e-3, seed=seed)
    assert curves.errors.shape == (3, len(curves.steps))
    assert np.all(np.diff(curves.errors, axis=1) <= 0)
    assert np.all(curves.errors[:, -1] <= 1e-3)


@pytest.mark.slow
def test_random_labels_are_fitted_from_two_weights_per_sample_on(seed: int) -> None:
    design = LandscapeDesign(SHARP, planted=3, starts=1, has_random_labels=True)
    for neurons in (20, 30):
        curves = training_curves(design, neurons=neurons, inputs=10, seed=seed)
        assert np.all(curves.errors[:, -1] <= 1e-5)
