"""Dense references and planted symmetric tensors for the tests of decompositions, and means over normal variables."""

from collections.abc import Callable
from functools import reduce

import numpy as np

from unweave.arrays import pack_squares
from unweave.numerics.matrix_subspace import MatrixSubspace, span_of_hessians
from unweave.numerics.symmetric_tensors import entry_count, unpack_tensors


def power(vector: np.ndarray, order: int) -> np.ndarray:
    """The tensor power by outer products."""
    return reduce(np.multiply.outer, [vector] * order, np.array(1.0))


def sum_of_powers(coefficients: np.ndarray, vectors: np.ndarray, order: int) -> np.ndarray:
    return sum(c * power(w, order) for c, w in zip(coefficients, vectors, strict=True))


def symmetric_noise(rng: np.random.Generator, inputs: int, order: int) -> np.ndarray:
    """A symmetric Gaussian tensor, standard in the packed entries."""
    if order == 0:
        return np.array(rng.standard_normal())
    return unpack_tensors(rng.standard_normal((1, entry_count(inputs, order))), inputs, order)[0]


def disturbed(tensors: tuple[np.ndarray, ...], rng: np.random.Generator, size: float) -> list[np.ndarray]:
    """Tensors of orders 0, 1, ... with symmetric noise of this size in each packed entry."""
    inputs = len(tensors[1])
    # Sums of arrays without axes are scalars, hence the conversion.
    return [np.asarray(tensor + size * symmetric_noise(rng, inputs, k)) for k, tensor in enumerate(tensors)]


def normal_mean(function: Callable[[float], float], kink: float) -> float:
    """Mean over a standard normal variable, by quadrature on both sides of a kink."""
    from scipy.integrate import quad

    weighted = lambda t: function(t) * np.exp(-0.5 * t * t) / np.sqrt(2 * np.pi)  # noqa: E731
    return sum(quad(weighted, *ends, epsabs=1e-13, limit=200)[0] for ends in ((-15.0, kink), (kink, 15.0)))


def span_of(atoms: np.ndarray, *, noise: float = 0.0) -> MatrixSubspace:
    """The span of the atoms' squares, from random combinations of them with errors of this size."""
    rng = np.random.default_rng(len(atoms))
    hessians = rng.normal(size=(2 * len(atoms) + 4, len(atoms))) @ pack_squares(atoms)
    hessians = hessians + noise * rng.normal(size=hessians.shape)
    return span_of_hessians(hessians, inputs=atoms.shape[1], rank=len(atoms), floor=noise)
