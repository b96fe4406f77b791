"""Compiled inner loops: NumPy arrays in, NumPy arrays out; the only place that imports JAX, an optional extra.

64-bit arithmetic is switched on inside `double_precision()` and nowhere else, so that importing
Unweave changes no global flag and no result depends on one. Parts that are compiled, and JAX with them, are loaded when
first used: a table of experiments is listed, and a design checked, without.
"""

import os
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import lazy_loader

from unweave.arrays import available_cores
from unweave.extras import need

need("jax", purpose="training in compiled batches")
# XLA reads this when its client starts; more threads than cores cost far more than they bring.
os.environ.setdefault("NPROC", str(available_cores()))

if TYPE_CHECKING:
    from unweave._kernels import diagonal_descent, landscape, polynomial_neurons, quadratic_training
else:
    __getattr__, _, _ = lazy_loader.attach(
        __name__, ["diagonal_descent", "landscape", "polynomial_neurons", "quadratic_training"]
    )


def double_precision() -> AbstractContextManager:
    """Compute in float64 inside this context, whatever JAX's global flag says."""
    import jax

    return jax.enable_x64(True)


__all__ = ["diagonal_descent", "double_precision", "landscape", "polynomial_neurons", "quadratic_training"]
