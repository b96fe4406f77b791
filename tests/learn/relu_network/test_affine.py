"""Affine fits of few rows against scikit-learn, and where least squares alone would be nonsense."""

import numpy as np

from unweave.learn.relu_network.affine import PenalisedAffine


def test_one_penalty_gives_the_ridge_of_scikit_learn(seed: int) -> None:
    from sklearn.linear_model import Ridge

    rng = np.random.default_rng(seed)
    points, labels = 3.0 + rng.standard_normal((30, 4)), rng.standard_normal(30)
    spread, center = points.std(axis=0), points.mean(axis=0)
    slope, offset = PenalisedAffine(penalties=(0.1,))(points, labels)
    other = Ridge(alpha=3.0).fit((points - center) / spread, labels)
    np.testing.assert_allclose(slope, other.coef_ / spread, rtol=1e-10)
    np.testing.assert_allclose(points @ slope + offset, other.predict((points - center) / spread), rtol=1e-10)


def test_exact_labels_need_no_penalty(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, slope = rng.standard_normal((30, 4)), rng.standard_normal(4)
    found, offset = PenalisedAffine()(points, points @ slope + 2.0)
    np.testing.assert_allclose(np.append(found, offset), np.append(slope, 2.0), atol=1e-9)


def test_as_many_rows_as_inputs_are_no_nonsense(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, labels = rng.standard_normal((41, 40)), rng.standard_normal(41)
    slope, _ = PenalisedAffine()(points, labels)
    # Without a penalty slopes of this size are the rule: the noise is met, and predictions are ten times as large.
    assert np.linalg.norm(slope) < 1.0
    assert np.linalg.norm(np.linalg.lstsq(points - points.mean(axis=0), labels, rcond=None)[0]) > 1.0
