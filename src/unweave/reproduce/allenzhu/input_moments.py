"""[allenzhu, Prop. 5.1]: the assumptions on inputs, measured: isotropy, hyper-contractivity, preserved degrees."""

from collections.abc import Sequence
from itertools import combinations_with_replacement
from math import factorial

import numpy as np

from unweave.networks.quadratic.teacher import GaussianInputs, Inputs, MixedGaussianInputs, UniformInputs
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings

DISTRIBUTIONS: dict[str, Inputs] = {
    "Gaussian": GaussianInputs(),
    "mixture of Gaussians": MixedGaussianInputs(),
    "uniform": UniformInputs(),
}
POLYNOMIALS = 200


def settings(scale: Scale) -> Sequence[Settings]:
    """Distributions and degrees."""
    points = {Scale.QUICK: 20_000, Scale.USUAL: 30_000, Scale.FULL: 2_000_000}[scale]
    degrees = (1, 2) if scale is Scale.QUICK else (1, 2, 4)
    return [
        {"distribution": name, "inputs": 4, "degree": degree, "points": points}
        for name in DISTRIBUTIONS
        for degree in degrees
    ]


def measure(cell: Cell) -> Numbers:
    """The least constants that a sample of the distribution allows."""
    given, rng = cell.settings, np.random.default_rng(cell.seed)
    inputs, degree = int(given["inputs"]), int(given["degree"])
    points = DISTRIBUTIONS[str(given["distribution"])](rng, int(given["points"]), inputs)
    squares = points**2 - np.mean(points**2, axis=0)
    moments = [np.linalg.eigvalsh(each.T @ each / len(each))[-1] for each in (points, squares)]
    terms, top = monomials(points, degree)
    values = terms @ rng.standard_normal((terms.shape[1], POLYNOMIALS))
    fourth = np.mean(values**4, axis=0) / np.mean(values**2, axis=0) ** 2
    return {
        "isotropy": float(max(moments)),
        "fourth": float(np.max(fourth)),
        "fourth_bound": float(9**degree),
        "kept": preserved(terms, top),
        "kept_bound": float(factorial(degree)),
    }


def monomials(points: np.ndarray, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """All monomials up to a degree, one per column, and which of them have that degree."""
    columns, sizes = [np.ones(len(points))], [0]
    for size in range(1, degree + 1):
        for chosen in combinations_with_replacement(range(points.shape[1]), size):
            columns.append(np.prod(points[:, list(chosen)], axis=1))
            sizes.append(size)
    return np.stack(columns, axis=1), np.array(sizes) == degree


def preserved(terms: np.ndarray, top: np.ndarray) -> float:
    """The largest sum of squared coefficients of the top degree over the mean square of a polynomial.

    For given top coefficients the best lower ones leave the residual of a regression, whose second moments are the
    Schur complement.
    """
    upper, lower = terms[:, top], terms[:, ~top]
    rest = upper - lower @ np.linalg.lstsq(lower, upper)[0]
    return float(1.0 / np.linalg.eigvalsh(rest.T @ rest / len(rest))[0])


TITLE = "assumptions on the distribution of inputs, measured on samples"
COLUMNS = {
    "isotropy": "c_6 of (5.1)",
    "fourth": "E f^4 / (E f^2)^2, largest",
    "fourth_bound": "9^q (Gaussian)",
    "kept": "c_1(q) of (5.4)",
    "kept_bound": "q! (Gaussian)",
}
NOTES = (
    f"The fourth moment is the largest among {POLYNOMIALS} random polynomials, not over all; c_1 is over all of "
    "them, for the sample. 9^q is the bound of hyper-contractivity for Gaussians, q! the one that [allenzhu] "
    "prints.",
)
