"""Gradients and Hessians by central differences.

A Hessian costs D^2 + D + 1 queries: the centre, the axes on both sides, and one diagonal pair per
pair of axes; its gradient and value come with it for free.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float64

from unweave.arrays import (
    PackedHessians,
    Points,
    Values,
    pack,
    packed_size,
    unpack,
    upper_triangle,
)
from unweave.exceptions import InvalidInput
from unweave.networks.network import Network
from unweave.oracles.views import Queryable

# Numbers per block of stencil points that are in memory at once.
BLOCK_NUMBERS = 2**23


@dataclass(frozen=True)
class HessianSample:
    """Measured derivatives at points, along the columns of an orthonormal `frame`.

    Args:
        points: where they were measured, in all inputs.
        values: the answers there.
        gradients: first derivatives along the frame.
        hessians: second derivatives along the frame, packed.
        frame: orthonormal directions, one per column.
        step: the finite-difference step.
    """

    points: Points
    values: Values
    gradients: Float64[np.ndarray, "points outputs directions"]
    hessians: Float64[np.ndarray, "points outputs packed"]
    frame: Float64[np.ndarray, "inputs directions"]
    step: float

    @property
    def matrices(self) -> int:
        """Number of measured Hessian matrices, points times outputs."""
        return self.hessians.shape[0] * self.hessians.shape[1]

    def along(self, frame: Float64[np.ndarray, "inputs directions"]) -> "HessianSample":
        """The same derivatives along fewer directions, inside those that were measured."""
        inner = self.frame.T @ frame
        matrices = unpack(self.hessians, self.frame.shape[1])
        return HessianSample(
            points=self.points,
            values=self.values,
            gradients=self.gradients @ inner,
            hessians=pack(inner.T @ matrices @ inner),
            frame=frame,
            step=self.step,
        )

    def extended(self, more: "HessianSample") -> "HessianSample":
        """Both samples together; they share the frame."""
        return HessianSample(
            points=np.concatenate([self.points, more.points]),
            values=np.concatenate([self.values, more.values]),
            gradients=np.concatenate([self.gradients, more.gradients]),
            hessians=np.concatenate([self.hessians, more.hessians]),
            frame=self.frame,
            step=self.step,
        )


def hessian_queries(directions: int) -> int:
    """Queries that one Hessian costs."""
    return directions**2 + directions + 1


@dataclass(frozen=True)
class Stencil:
    """Answers on the stencil of a Hessian around points, before anything is made of them.

    The same answers serve several guesses about the output activation, which is undone before the
    differences are taken.

    Args:
        points: the centres, in all inputs.
        answers: at the centre, on the axes and on the diagonals of `hessian_stencil`.
        frame: orthonormal directions, one per column.
        step: the finite-difference step.
    """

    points: Points
    answers: Float64[np.ndarray, "points stencil outputs"]
    frame: Float64[np.ndarray, "inputs directions"]
    step: float

    def sample(self, undo: Callable[[np.ndarray], np.ndarray]) -> HessianSample:
        """Values, gradients and Hessians of `undo` after the answers."""
        values, directions = undo(self.answers), self.frame.shape[1]
        forward, backward = values[:, 1 : directions + 1], values[:, directions + 1 : 2 * directions + 1]
        return HessianSample(
            points=self.points,
            values=values[:, 0],
            gradients=np.swapaxes(forward - backward, 1, 2) / (2 * self.step),
            hessians=hessians_from_stencil(values, directions, step=self.step),
            frame=self.frame,
            step=self.step,
        )


def measure_stencil(oracle: Queryable, points: Points, *, step: float, frame: np.ndarray) -> Stencil:
    """Ask the stencil of a Hessian along `frame`, d^2 + d + 1 queries per point."""
    _check_step(step)
    return Stencil(
        points, _stencil_values(oracle, points, hessian_stencil(frame.shape[1]) @ frame.T, step=step), frame, step
    )


def measure_hessians(
    oracle: Queryable,
    points: Points,
    *,
    step: float,
    frame: np.ndarray | None = None,
    model: Network | None = None,
) -> HessianSample:
    """Values, gradients and Hessians along `frame` (all axes if omitted), d^2 + d + 1 queries each.

    With a `model` that is nearly right only the difference to it is measured, and the exact
    derivatives of the model are added: truncation then acts on the small difference alone, so that
    larger steps, with less noise, are allowed.
    """
    _check_step(step)
    frame = np.eye(oracle.inputs) if frame is None else frame
    directions = frame.shape[1]
    values = _stencil_values(oracle, points, hessian_stencil(directions) @ frame.T, step=step, model=model)
    forward, backward = values[:, 1 : directions + 1], values[:, directions + 1 : 2 * directions + 1]
    center, gradients = values[:, 0], np.swapaxes(forward - backward, 1, 2) / (2 * step)
    hessians = hessians_from_stencil(values, directions, step=step)
    if model is not None:
        center = center + model(points)
        gradients = gradients + model.gradients(points) @ frame
        hessians = hessians + pack(frame.T @ unpack(model.hessians(points), oracle.inputs) @ frame)
    return HessianSample(points, center, gradients, hessians, frame, step)


@lru_cache(maxsize=16)
def hessian_stencil(directions: int) -> Float64[np.ndarray, "stencil directions"]:
    """Centre, +axes, -axes, +pairs, -pairs, in units of the step."""
    axes = np.eye(directions)
    rows, columns = np.triu_indices(directions, 1)
    pairs = axes[rows] + axes[columns]
    return np.concatenate([np.zeros((1, directions)), axes, -axes, pairs, -pairs])


def hessians_from_stencil(
    values: Float64[np.ndarray, "points stencil outputs"], directions: int, *, step: float
) -> PackedHessians:
    """Combine the answers on the Hessian stencil: second-order accurate, exact on cubics."""
    rows, columns, weights = upper_triangle(directions)
    center = values[:, :1]
    axis_sums = values[:, 1 : directions + 1] + values[:, directions + 1 : 2 * directions + 1] - 2 * center
    diagonal_pairs = values[:, 2 * directions + 1 :]
    half = diagonal_pairs.shape[1] // 2
    pair_sums = diagonal_pairs[:, :half] + diagonal_pairs[:, half:] - 2 * center
    packed = np.empty((len(values), packed_size(directions), values.shape[2]))
    is_diagonal = rows == columns
    packed[:, is_diagonal] = axis_sums
    off_rows, off_columns = rows[~is_diagonal], columns[~is_diagonal]
    packed[:, ~is_diagonal] = 0.5 * (pair_sums - axis_sums[:, off_rows] - axis_sums[:, off_columns])
    return np.swapaxes(packed * weights[:, None], 1, 2) / step**2


def _stencil_values(
    oracle: Queryable, points: Points, stencil: np.ndarray, *, step: float, model: Network | None = None
) -> Float64[np.ndarray, "points stencil outputs"]:
    block = max(1, BLOCK_NUMBERS // stencil.size)
    parts = []
    for first in range(0, len(points), block):
        asked = (points[first : first + block, None] + step * stencil).reshape(-1, oracle.inputs)
        values = oracle.query(asked) if model is None else oracle.query(asked) - model(asked)
        parts.append(values.reshape(-1, len(stencil), oracle.outputs))
    return np.concatenate(parts) if parts else np.empty((0, len(stencil), oracle.outputs))


def _check_step(step: float) -> None:
    if not (np.isfinite(step) and step > 0):
        raise InvalidInput(f"a finite-difference step must be positive and finite, got {step}.")
