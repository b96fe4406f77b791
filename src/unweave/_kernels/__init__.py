"""Compiled inner loops: NumPy arrays in, NumPy arrays out; the only place that imports JAX, an optional extra.

64-bit arithmetic is switched on inside `double_precision()` and nowhere else, so that importing
Unweave changes no global flag and no result depends on one.
"""

import os
from contextlib import AbstractContextManager

from unweave.arrays import available_cores
from unweave.extras import need

need("jax", purpose="training in compiled batches")
# XLA reads this when its client starts; more threads than cores cost far more than they bring.
os.environ.setdefault("NPROC", str(available_cores()))

import jax  # noqa: E402  (after the thread limit)


def double_precision() -> AbstractContextManager:
    """Compute in float64 inside this context, whatever JAX's global flag says."""
    return jax.enable_x64(True)
