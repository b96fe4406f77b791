"""Dense references and planted symmetric tensors for the tests of decompositions."""

from functools import reduce

import numpy as np

from unweave.numerics.symmetric_tensors import symmetric_size, unpack_tensors


def power(vector: np.ndarray, order: int) -> np.ndarray:
    """The tensor power by outer products."""
    return reduce(np.multiply.outer, [vector] * order, np.array(1.0))


def sum_of_powers(coefficients: np.ndarray, vectors: np.ndarray, order: int) -> np.ndarray:
    return sum(c * power(w, order) for c, w in zip(coefficients, vectors, strict=True))


def random_directions(rng: np.random.Generator, neurons: int, inputs: int) -> np.ndarray:
    vectors = rng.standard_normal((neurons, inputs))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def symmetric_noise(rng: np.random.Generator, inputs: int, order: int) -> np.ndarray:
    """A symmetric Gaussian tensor, standard in the packed entries."""
    if order == 0:
        return np.array(rng.standard_normal())
    return unpack_tensors(rng.standard_normal((1, symmetric_size(inputs, order))), inputs, order)[0]


def disturbed(tensors: tuple[np.ndarray, ...], rng: np.random.Generator, size: float) -> list[np.ndarray]:
    """Tensors of orders 0, 1, ... with symmetric noise of this size in each packed entry."""
    inputs = len(tensors[1])
    # Sums of arrays without axes are scalars, hence the conversion.
    return [np.asarray(tensor + size * symmetric_noise(rng, inputs, k)) for k, tensor in enumerate(tensors)]


def largest_distance(found: np.ndarray, directions: np.ndarray) -> float:
    """Largest distance of a direction to the nearest found one, up to sign; infinite if their numbers differ."""
    if len(found) != len(directions):
        return np.inf
    overlaps = directions @ found.T
    nearest = np.argmax(np.abs(overlaps), axis=1)
    if len(set(nearest)) < len(nearest):
        return np.inf
    signs = np.sign(overlaps[np.arange(len(directions)), nearest])
    return float(np.max(np.linalg.norm(directions - signs[:, None] * found[nearest], axis=1), initial=0.0))
