"""Hermite cumulants: the logarithm of moments, in which products of independent factors are sums.

The series ``sum_k <T_k, z^k> / k!`` of the moments of y is ``E[y exp(<z, x> - |z|^2 / 2)]``. If y is a product of
factors that depend on orthogonal projections of x, such as the indicator of an intersection of half spaces with
orthogonal normals, the series is the product of theirs and its logarithm the sum: no cross terms are left, whatever the
thresholds. From order 3 on these are the cumulants of the inputs under the weights y.
"""

from itertools import permutations

import numpy as np

from unweave.exceptions import InvalidInput
from unweave.samples.hermite.moments import HermiteMoments
from unweave.samples.hermite.multi_indices import multi_indices

HIGHEST_ORDER = 4


def hermite_cumulants(moments: HermiteMoments) -> HermiteMoments:
    """Derivatives at zero of the logarithm of the series, in the place of the moments.

    Args:
        moments: orders 0 to 4 at most; order 0 is the mean of y.

    Raises:
        InvalidInput: for orders above 4, or a mean that is not positive.
    """
    mean = float(moments.entries(0)[0])
    if moments.degree > HIGHEST_ORDER or not mean > 0:
        raise InvalidInput(
            f"cumulants need moments up to order {HIGHEST_ORDER} and a positive mean, "
            f"got order {moments.degree} and {mean}."
        )
    ratios = [moments.tensor(order) / mean for order in range(1, moments.degree + 1)]
    packed = [np.array([np.log(mean)])]
    for order in range(1, moments.degree + 1):
        tensor = ratios[order - 1] - _products(ratios, order)
        packed.append(tensor[tuple(multi_indices(moments.rank, order).T)])
    return HermiteMoments(moments.rank, moments.degree, np.concatenate(packed))


def with_mean(moments: HermiteMoments, mean: float) -> HermiteMoments:
    """The moments of the labels plus the constant that makes their mean `mean`: only order 0 changes."""
    return HermiteMoments(moments.rank, moments.degree, np.concatenate([[mean], moments.packed[1:]]))


def symmetrised(tensor: np.ndarray) -> np.ndarray:
    """The mean over all orders of the axes."""
    return np.mean([np.transpose(tensor, axes) for axes in permutations(range(tensor.ndim))], axis=0)


def _products(ratios: list[np.ndarray], order: int) -> np.ndarray:
    """What products of moments of lower orders contribute to the moment of this order."""
    if order == 1:
        return np.zeros_like(ratios[0])
    outer, first, second = np.multiply.outer, ratios[0], ratios[1]
    square = outer(first, first)
    if order == 2:
        return square
    if order == 3:
        return 3 * symmetrised(outer(first, second)) - 2 * outer(square, first)
    return (
        4 * symmetrised(outer(first, ratios[2]))
        + 3 * symmetrised(outer(second, second))
        - 12 * symmetrised(outer(square, second))
        + 6 * outer(square, square)
    )
