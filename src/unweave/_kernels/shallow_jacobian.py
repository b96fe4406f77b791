"""Products with the Jacobian of a shallow network with respect to its parameters, matrix-free.

For ``f = c + A g(V x + b) + B x`` the Jacobian at many points is far too large to store; its
products with vectors are a few matrix products per block of points.
"""

import jax
import jax.numpy as jnp
import numpy as np

from unweave._kernels import double_precision

# Rows per compiled step: the points x neurons intermediates of one block stay in cache.
BLOCK = 2048


class JacobianProducts:
    """Products ``J v`` and ``J^T w`` at fixed points and parameters; holds values and slopes once."""

    def __init__(self, points: np.ndarray, values: np.ndarray, slopes: np.ndarray, output_weights: np.ndarray) -> None:
        """Take points (rows x inputs), ``g`` and ``g'`` there (rows x neurons), and A (outputs x neurons)."""
        self._rows = len(points)
        padding = -len(points) % BLOCK
        with double_precision():
            self._points, self._values, self._slopes = (
                jnp.asarray(np.pad(array, ((0, padding), (0, 0))).reshape(-1, BLOCK, array.shape[1]))
                for array in (points, values, slopes)
            )
            self._output_weights = jnp.asarray(output_weights)

    def forward(self, weights: np.ndarray, biases: np.ndarray, output_weights: np.ndarray) -> np.ndarray:
        """``J v`` for a change of V, b and A: rows x outputs."""
        with double_precision():
            blocks = _forward(
                self._points,
                self._values,
                self._slopes,
                self._output_weights,
                weights,
                biases,
                output_weights,
            )
            return np.asarray(blocks).reshape(-1, blocks.shape[2])[: self._rows]

    def backward(self, residuals: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``J^T w``: the parts for V, b and A."""
        padded = np.pad(residuals, ((0, -len(residuals) % BLOCK), (0, 0)))
        with double_precision():
            parts = _backward(
                self._points,
                self._values,
                self._slopes,
                self._output_weights,
                padded.reshape(-1, BLOCK, residuals.shape[1]),
            )
            weights, biases, output_weights = (np.asarray(part) for part in parts)
            return weights, biases, output_weights


@jax.jit
def _forward(points, values, slopes, output_weights, d_weights, d_biases, d_output_weights):
    def block(_, part):
        x, value, slope = part
        moved = slope * (x @ d_weights.T + d_biases)
        return 0, moved @ output_weights.T + value @ d_output_weights.T

    return jax.lax.scan(block, 0, (points, values, slopes))[1]


@jax.jit
def _backward(points, values, slopes, output_weights, residuals):
    neurons, inputs, outputs = slopes.shape[2], points.shape[2], residuals.shape[2]

    def block(total, part):
        x, value, slope, residual = part
        pulled = slope * (residual @ output_weights)
        return (total[0] + pulled.T @ x, total[1] + pulled.sum(axis=0), total[2] + residual.T @ value), None

    start = (jnp.zeros((neurons, inputs)), jnp.zeros(neurons), jnp.zeros((outputs, neurons)))
    return jax.lax.scan(block, start, (points, values, slopes, residuals))[0]
