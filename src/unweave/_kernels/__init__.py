"""Compiled inner loops: NumPy arrays in, NumPy arrays out; the only place that imports JAX.

64-bit arithmetic is switched on inside `double_precision()` and nowhere else, so that importing
Unweave changes no global flag and no result depends on one.
"""

import os
from contextlib import AbstractContextManager

from threadpoolctl import threadpool_info, threadpool_limits


def available_cores() -> int:
    """Cores that this process may use, which can be fewer than the machine has."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


# XLA reads this when its client starts; more threads than cores cost far more than they bring.
os.environ.setdefault("NPROC", str(available_cores()))

import jax  # noqa: E402  (after the thread limit)


def double_precision() -> AbstractContextManager:
    """Context in which JAX computes in float64, whatever the global flag says."""
    return jax.enable_x64(True)


def limited_threads() -> AbstractContextManager:
    """Context in which BLAS uses no more threads than there are cores (or than it was told to use)."""
    pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    return threadpool_limits(limits=min([available_cores(), *pools]), user_api="blas")


def padded_length(count: int) -> int:
    """The next length of a coarse ladder: bounds how many shapes get compiled."""
    length = 8
    while length < count:
        length = length + length // 2 if length & (length - 1) == 0 else (length // 3) * 4
    return length
