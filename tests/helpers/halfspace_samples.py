"""Planted lowest layers and unions of half spaces with known rows."""

import numpy as np

from unweave.activations import Activation


def planted_rows(rng: np.random.Generator, rows: int, inputs: int, *, mixing: float = 0.0) -> np.ndarray:
    """Unit rows: orthonormal ones, mixed with each other."""
    found = np.linalg.qr(rng.standard_normal((inputs, rows)))[0].T
    found = found + mixing * rng.standard_normal((rows, rows)) @ found / np.sqrt(rows)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def near(rng: np.random.Generator, rows: np.ndarray, size: float) -> np.ndarray:
    """Unit rows about this far from others."""
    moved = rows + size * rng.standard_normal(rows.shape) / np.sqrt(rows.shape[1])
    return moved / np.linalg.norm(moved, axis=1, keepdims=True)


def values_of(points: np.ndarray, rows: np.ndarray, threshold: float, unit: Activation) -> np.ndarray:
    return unit(points @ rows.T - threshold)


def any_of(values: np.ndarray) -> np.ndarray:
    """``1 - prod (1 - X_i)``."""
    return 1.0 - np.prod(1.0 - values, axis=1)


def with_pairs(values: np.ndarray) -> np.ndarray:
    """The sum of all units and of all products of two."""
    total = values.sum(axis=1)
    return total + (total**2 - np.sum(values**2, axis=1)) / 2


def largest_angle(truth: np.ndarray, found: np.ndarray, *, is_signed: bool = True) -> float:
    """Largest angle in degrees between true rows and those found; 180 if their numbers differ."""
    from scipy.optimize import linear_sum_assignment

    if len(truth) != len(found):
        return 180.0
    cosines = truth @ found.T if is_signed else np.abs(truth @ found.T)
    mine, its = linear_sum_assignment(-cosines)
    signs = np.sign(np.einsum("ni,ni->n", truth[mine], found[its]))[:, None] if not is_signed else 1.0
    distances = np.linalg.norm(truth[mine] - signs * found[its], axis=1)
    return float(np.degrees(np.max(2 * np.arcsin(np.clip(distances / 2, 0, 1)))))
