"""Preconditioners of large fits."""

import numpy as np

from unweave.numerics.conjugate_gradients import factored


def test_a_matrix_that_rounding_makes_indefinite_isfactored() -> None:
    singular = np.outer(np.arange(1.0, 5.0), np.arange(1.0, 5.0))
    indefinite = singular - 1e-13 * np.eye(4)
    factor, _ = factored(indefinite)
    np.testing.assert_allclose(np.triu(factor).T @ np.triu(factor), singular, atol=1e-8)
