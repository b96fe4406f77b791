"""Matrices R that feed features to higher levels by the squares of ``R z``, never trained.

The squares determine all products of features if the matrix ``R*R`` is invertible; how well conditioned it is decides
how fast stochastic gradient descent goes.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64

from unweave.arrays import pack_squares, upper_triangle

Frame = Float64[np.ndarray, "rows features"]


@runtime_checkable
class FrameKind(Protocol):
    """A way to choose the matrix R."""

    def __call__(self, rng: np.random.Generator, width: int) -> Frame:
        """A frame of ``width (width + 1) / 2`` rows."""
        ...


@dataclass(frozen=True)
class GaussianFrame:
    """Independent entries of variance ``1 / width^2``, as in the theory; often badly conditioned."""

    def __call__(self, rng: np.random.Generator, width: int) -> Frame:
        """A frame of ``width (width + 1) / 2`` rows."""
        return rng.standard_normal((width * (width + 1) // 2, width)) / width


@dataclass(frozen=True)
class StructuredFrame:
    """The rows ``e_i`` and ``(e_i + e_j) / sqrt 2``; conditions of 2.4 for two features to 10 for twelve."""

    def __call__(self, rng: np.random.Generator, width: int) -> Frame:
        """A frame of ``width (width + 1) / 2`` rows."""
        del rng
        rows, columns, _ = upper_triangle(width)
        frame = np.eye(width)[rows] + np.eye(width)[columns]
        return frame / np.linalg.norm(frame, axis=1, keepdims=True)


def frame_condition(frame: Frame) -> float:
    """Condition number of ``R*R``."""
    values = np.linalg.svd(pack_squares(frame), compute_uv=False)
    return float(values[0] / values[-1])
