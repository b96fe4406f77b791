"""Networks that are learnt in two parts, and where they may be cut."""

import numpy as np
import pytest

from halfspace_samples import largest_angle, planted_rows, values_of
from unweave.activations import RELU
from unweave.exceptions import InvalidInput


def test_a_cut_with_rare_outputs_allows_modular_learning(seed: int) -> None:
    from sklearn.linear_model import LinearRegression

    from unweave.learn.lowest_layer.estimators import LowestLayerRegressor
    from unweave.reproduce.goel.modular import modular_fit

    rng = np.random.default_rng(seed)
    rows, points = planted_rows(rng, 3, 3), rng.standard_normal((40_000, 3))
    labels = np.tanh(values_of(points, rows, 1.5, RELU).sum(axis=1) * 0.2) * 5
    fit = modular_fit(points, labels, LowestLayerRegressor(random_state=seed), LinearRegression(), rng)
    assert largest_angle(rows, fit.lower.weights_) < 1
    assert 0 < fit.cut.score < 0.5
    assert fit.cut.score <= fit.cut.upper
    assert np.corrcoef(fit.predict(points), labels)[0, 1] > 0.99


def test_a_cut_with_frequent_outputs_scores_badly(seed: int) -> None:
    from unweave.reproduce.goel.modular import cut_score

    rng = np.random.default_rng(seed)
    assert cut_score(rng.uniform(0.5, 1.5, (500, 3)), rng).score > 0.7
    with pytest.raises(InvalidInput, match="non-negative"):
        cut_score(-np.ones((5, 2)), rng)
