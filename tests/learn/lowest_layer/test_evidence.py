"""What a certificate of a lowest layer claims, against simulations."""

import numpy as np

from unweave.learn.lowest_layer.evidence import LowestLayerEvidence


def test_regression_limits_hold_for_all_rows_together(seed: int) -> None:
    rng = np.random.default_rng([seed, 12])
    inputs, rows, trials = 6, 8, 2_000
    errors = rng.uniform(1e-4, 1e-2, rows)
    across = rng.standard_normal((trials, rows, inputs - 1)) / np.sqrt(inputs - 1)
    angles = errors * np.linalg.norm(across, axis=2)
    limits = LowestLayerEvidence(least_squares_confidence=0.95).regression_limits(errors, inputs=inputs)
    share = np.mean(np.all(angles <= limits, axis=1))
    assert 0.93 < share < 0.98
