"""What labels say by themselves, by rules that can be changed."""

import numpy as np
import pytest

from unweave.activations import RELU, SIGMOID, STEP
from unweave.learn.lowest_layer.labels import LABEL_RULES, LabelRules, read_labels

NOISE = 0.1


@pytest.fixture
def points(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((4_000, 3))


@pytest.mark.parametrize(("jump", "is_told"), [(2.0, True), (0.5, False)])
def test_noisy_steps_are_told_if_they_are_six_times_the_noise(
    points: np.ndarray, seed: int, jump: float, is_told: bool
) -> None:
    is_active = points[:, 0] > 1.0
    labels = jump * is_active + NOISE * np.random.default_rng(seed + 1).standard_normal(len(points))
    read = read_labels(points, labels, STEP)
    assert read.noise == pytest.approx(NOISE, rel=0.3)
    assert (jump > LABEL_RULES.step_separation * NOISE) == is_told
    if is_told:
        np.testing.assert_array_equal(read.is_active, is_active)
    else:
        assert read.is_active is None


def test_noisy_relu_labels_are_active_above_the_noise(points: np.ndarray, seed: int) -> None:
    labels = 3.0 * np.maximum(points[:, 0] - 1.0, 0.0)
    labels += NOISE * np.random.default_rng(seed + 1).standard_normal(len(points))
    for rules in (LABEL_RULES, LabelRules(active_noise=8.0)):
        read = read_labels(points, labels, RELU, rules=rules)
        assert read.level == read.offset + rules.active_noise * read.noise
        np.testing.assert_array_equal(read.is_active, labels > read.level)


def test_values_that_few_samples_share_are_no_atoms(points: np.ndarray) -> None:
    # One sample of six is quiet.
    labels = np.maximum(points[:, 0] + 1.0, 0.0)
    assert read_labels(points, labels, RELU).is_exact
    assert not read_labels(points, labels, RELU, rules=LabelRules(atom_share=0.3)).is_exact


def test_units_that_are_never_quiet_show_no_active_samples(points: np.ndarray) -> None:
    assert read_labels(points, points[:, 0], SIGMOID).is_active is None
