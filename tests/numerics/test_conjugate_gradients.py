"""Preconditioners of large fits."""

import numpy as np
import pytest

from unweave.arrays import pack
from unweave.numerics.conjugate_gradients import across_gram, factored


def test_a_matrix_that_rounding_makes_indefinite_isfactored() -> None:
    singular = np.outer(np.arange(1.0, 5.0), np.arange(1.0, 5.0))
    indefinite = singular - 1e-13 * np.eye(4)
    factor, _ = factored(indefinite)
    np.testing.assert_allclose(np.triu(factor).T @ np.triu(factor), singular, atol=1e-8)


@pytest.mark.parametrize("inputs", [1, 2, 5])
def test_what_weights_across_their_directions_move_is_summed_as_it_is_defined(inputs: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights, (slopes, bends, factors) = rng.standard_normal((7, inputs)), rng.standard_normal((3, 7))
    linear, whole = 0.0, 0.0
    for w, slope, bend, factor in zip(weights, slopes, bends, factors, strict=True):
        across = np.eye(inputs) - np.outer(w, w) / (w @ w)
        columns = [
            np.concatenate([slope * d, bend * pack(np.outer(w, d) + np.outer(d, w)) / np.sqrt(2)]) for d in across
        ]
        whole = whole + factor * sum(np.outer(column, column) for column in columns)
        linear = linear + factor * slope**2 * across
    np.testing.assert_allclose(across_gram(weights, slopes, bends, factors), whole, atol=1e-12)
    np.testing.assert_allclose(across_gram(weights, slopes, None, factors), linear, atol=1e-12)
