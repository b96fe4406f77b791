"""Array types with named axes, checks at the boundary, packed symmetric matrices, chunks, threads of linear algebra.

Axes have fixed names throughout: points, inputs, neurons, outputs, rank, layers. A packed
symmetric matrix holds the upper triangle row by row with off-diagonal entries times sqrt 2, so
that the Euclidean inner product of two packed matrices is their Frobenius inner product.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import Field, fields, replace
from functools import lru_cache
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float64, Int64
from threadpoolctl import ThreadpoolController

from unweave.exceptions import InvalidInput

Points = Float64[np.ndarray, "points inputs"]
Values = Float64[np.ndarray, "points outputs"]
Vector = Float64[np.ndarray, "inputs"]
Gradients = Float64[np.ndarray, "points outputs inputs"]
PackedHessians = Float64[np.ndarray, "points outputs packed"]
Atoms = Float64[np.ndarray, "neurons inputs"]
PerNeuron = Float64[np.ndarray, "neurons"]
PerPoint = Float64[np.ndarray, "points"]
PerOutput = Float64[np.ndarray, "outputs"]
PointMask = Bool[np.ndarray, "points"]

SQRT2 = float(np.sqrt(2.0))
# Intermediate arrays hold about this many numbers (32 MiB): large enough for fast matrix products, small enough that a
# million points and a thousand neurons fit into any memory.
CHUNK_NUMBERS = 2**22
# Threads that BLAS may use where they save time.
ALLOWED_THREADS: ContextVar[int] = ContextVar("allowed_threads", default=1)


def as_float64(value: Any, *, name: str, ndim: int) -> np.ndarray:
    """Return `value` as a finite float64 array of `ndim` axes, or say what is wrong with it."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{name} needs numbers, got {type(value).__name__}: {error}.") from error
    if array.ndim != ndim:
        raise InvalidInput(f"{name} needs {ndim} axes, got shape {array.shape}: reshape it.")
    if not np.all(np.isfinite(array)):
        bad = int(np.size(array) - np.count_nonzero(np.isfinite(array)))
        raise InvalidInput(f"{name} needs finite numbers, got {bad} that are NaN or infinite.")
    return array


def frozen(array: np.ndarray) -> np.ndarray:
    """Copy an array into one that can't be written to."""
    copy = np.array(array, order="C")
    copy.setflags(write=False)
    return copy


@runtime_checkable
class Dataclass(Protocol):
    """Any dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


Record = TypeVar("Record", bound=Dataclass)


def with_rows(record: Record, rows: Sequence[int] | np.ndarray) -> Record:
    """Give a frozen dataclass with some rows of all its arrays: numbers of rows, or which are kept."""
    arrays = {each.name: getattr(record, each.name) for each in fields(record)}
    return replace(record, **{name: array[rows] for name, array in arrays.items() if isinstance(array, np.ndarray)})


def root_mean_square(values: np.ndarray) -> float:
    """Of all entries."""
    return float(np.sqrt(np.mean(values**2)))


# Numbers in one batch of points that are asked together: 32 MB.
BATCH_NUMBERS = 4_000_000


def batched_by_size(items: list[int], numbers: int) -> Iterator[list[int]]:
    """Split items, each of which needs so many numbers, into batches that fit into memory."""
    size = max(1, BATCH_NUMBERS // max(numbers, 1))
    return (items[first : first + size] for first in range(0, len(items), size))


def spread_of_columns(values: np.ndarray) -> Float64[np.ndarray, "columns"]:
    """Standard deviation of every column, also where squares would overflow or vanish."""
    unit = unit_of_columns(values)
    return unit * np.std(values / unit, axis=0)


def unit_of_columns(values: np.ndarray) -> Float64[np.ndarray, "columns"]:
    """A power of two near the largest magnitude of every column: squares in this unit are numbers, without rounding."""
    _, exponents = np.frexp(np.max(np.abs(values), axis=0))
    return np.ldexp(1.0, exponents - 1)


def kept_errors(errors: Float64[np.ndarray, "points outputs"], *, most: int = 500) -> tuple[float, ...]:
    """Give the largest error over the outputs at every point, in ascending order; evenly spread ones if there are many.

    Args:
        errors: in absolute value.
        most: that are kept: enough to draw how they are distributed, little beside the parameters of a network.
    """
    largest = np.sort(np.max(errors, axis=1))
    if len(largest) > most:
        largest = largest[np.linspace(0, len(largest) - 1, most).round().astype(int)]
    return tuple(largest.tolist())


@lru_cache(maxsize=64)
def upper_triangle(inputs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row indices, column indices and isometry weights of the packed layout."""
    rows, columns = np.triu_indices(inputs)
    weights = np.where(rows == columns, 1.0, SQRT2)
    return rows, columns, weights


def packed_size(inputs: int) -> int:
    """Number of entries of a packed symmetric matrix, which is the dimension of their space."""
    return inputs * (inputs + 1) // 2


def pack(matrices: Float64[np.ndarray, "*batch inputs inputs"]) -> Float64[np.ndarray, "*batch packed"]:
    """Pack symmetric matrices; slight asymmetry is averaged out."""
    rows, columns, weights = upper_triangle(matrices.shape[-1])
    return 0.5 * (matrices[..., rows, columns] + matrices[..., columns, rows]) * weights


def unpack(packed: Float64[np.ndarray, "*batch packed"], inputs: int) -> np.ndarray:
    """Inverse of `pack`."""
    rows, columns, weights = upper_triangle(inputs)
    matrices = np.empty((*packed.shape[:-1], inputs, inputs))
    entries = packed / weights
    matrices[..., rows, columns] = entries
    matrices[..., columns, rows] = entries
    return matrices


def pack_squares(vectors: Float64[np.ndarray, "*batch inputs"]) -> Float64[np.ndarray, "*batch packed"]:
    """Pack the rank-one matrices ``u u^T`` of the given vectors."""
    rows, columns, weights = upper_triangle(vectors.shape[-1])
    return vectors[..., rows] * vectors[..., columns] * weights


def available_cores() -> int:
    """Count the cores that this process may use, which can be fewer than the machine has."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@lru_cache(maxsize=1)
def _blas(_modules: int) -> ThreadpoolController:
    """Find the libraries of linear algebra, a search of milliseconds that is valid until more is imported."""
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def limited_threads() -> Iterator[None]:
    """Limit BLAS to one thread inside this context, but for what `threads_for` allows more to.

    Threads wait for each other longer than small matrices take: four of five CPU seconds were seen to be lost.
    """
    blas = _blas(len(sys.modules))
    token = ALLOWED_THREADS.set(min([available_cores(), *(pool["num_threads"] for pool in blas.info())]))
    try:
        with blas.limit(limits=1):
            yield
    finally:
        ALLOWED_THREADS.reset(token)


@contextmanager
def threads_for(parameters: int, *, large: int = 1_000) -> Iterator[None]:
    """Let BLAS use as many threads as there are cores, or as it was told to, for networks of many parameters.

    Args:
        parameters: how many there are.
        large: from so many on threads save time; chosen, where the matrices of a fit have millions of entries.
    """
    allowed = ALLOWED_THREADS.get()
    if allowed == 1 or parameters < large:
        yield
        return
    with _blas(len(sys.modules)).limit(limits=allowed):
        yield


def significant_bits(values: Float64[np.ndarray, "values"]) -> Int64[np.ndarray, "values"]:
    """Count the binary digits that values need from their first one on, beside zeros at the end."""
    digits = np.finfo(float).nmant + 1
    integers = np.ldexp(np.abs(np.frexp(values)[0]), digits).astype(np.int64)
    lowest = (integers & -integers).astype(np.float64)
    return np.where(integers > 0, digits + 1 - np.frexp(lowest)[1], 0).astype(np.int64)


def in_chunks(
    function: Callable[..., np.ndarray], arrays: tuple[np.ndarray, ...], shape: tuple[int, ...], numbers: int
) -> np.ndarray:
    """Apply `function`, which needs `numbers` numbers per row, to a bounded number of rows at a time."""
    result = np.empty((len(arrays[0]), *shape))
    for rows in slices(len(result), max(1, CHUNK_NUMBERS // numbers)):
        result[rows] = function(*(array[rows] for array in arrays))
    return result


def slices(length: int, step: int) -> Iterator[slice]:
    """Cut a length into steps."""
    return (slice(start, start + step) for start in range(0, length, step))
