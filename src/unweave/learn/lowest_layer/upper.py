"""What stands above a lowest layer, once its directions are known: a regression on few numbers."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from jaxtyping import Float64

from unweave.arrays import PerPoint

Hidden = Float64[np.ndarray, "points neurons"]
Labels = PerPoint


@dataclass(frozen=True, eq=False)
class UpperPolynomial:
    """A polynomial in the values of the units.

    Args:
        terms: units that are multiplied, one tuple per term; the empty one is the constant.
        coefficients: one per term.
    """

    terms: tuple[tuple[int, ...], ...]
    coefficients: Float64[np.ndarray, "terms"]

    def __call__(self, hidden: Hidden) -> Labels:
        """Value at every sample."""
        return _design(hidden, self.terms) @ self.coefficients


@dataclass(frozen=True, eq=False)
class UpperTable:
    """The mean label of every pattern of active steps, and a polynomial for patterns that were not seen.

    Args:
        values: mean label by pattern.
        rest: for all other patterns.
    """

    values: dict[bytes, float]
    rest: UpperPolynomial

    def __call__(self, hidden: Hidden) -> Labels:
        """Value at every sample."""
        predicted = self.rest(hidden)
        patterns, inverse = np.unique(hidden > 0, axis=0, return_inverse=True)
        for index, pattern in enumerate(patterns):
            known = self.values.get(pattern.tobytes())
            if known is not None:
                predicted[inverse.ravel() == index] = known
        return predicted


Upper = Callable[[Hidden], Labels]


@dataclass(frozen=True, kw_only=True)
class UpperFitRules:
    """How the upper part is fitted, which decides predictions and no claim.

    Args:
        degree: factors of the products of units, at most, where units are not steps; chosen.
        samples: that are used: the fit has a few hundred coefficients.
        least_active: samples, or a quarter of few, on which a product must not vanish to get a coefficient; chosen.
        most_products: of units in any order, beyond which the degree is lowered; chosen, for the time.
        rank_tol: singular values below this share of the largest are taken for zero; chosen, above rounding.
    """

    degree: int = 3
    samples: int = 200_000
    least_active: int = 50
    most_products: int = 1_600
    rank_tol: float = 1e-12


UPPER_RULES = UpperFitRules()


def fit_polynomial(
    hidden: Hidden,
    labels: Labels,
    *,
    degree: int,
    weights: PerPoint | None = None,
    rules: UpperFitRules = UPPER_RULES,
) -> UpperPolynomial:
    """Least squares on all products of up to `degree` units that are active often enough.

    Args:
        hidden: values of the units.
        labels: one per sample.
        degree: largest number of factors.
        weights: of the squared errors; all alike if omitted.
        rules: which products get a coefficient.
    """
    units = hidden.shape[1]
    while degree > 1 and sum(units**k for k in range(degree + 1)) > rules.most_products:
        degree -= 1
    is_active = hidden != 0
    terms: list[tuple[int, ...]] = [()]
    for factors in range(1, degree + 1):
        for term in combinations_with_replacement(range(units), factors):
            together = np.all(is_active[:, list(term)], axis=1)
            if np.count_nonzero(together) >= min(rules.least_active, max(len(labels) // 4, 1)):
                terms.append(term)
    design = _design(hidden, tuple(terms))
    if weights is not None:
        roots = np.sqrt(weights)
        design, labels = roots[:, None] * design, roots * labels
    coefficients = np.linalg.lstsq(design, labels, rcond=rules.rank_tol)[0]
    return UpperPolynomial(tuple(terms), coefficients)


def fit_table(
    hidden: Hidden, labels: Labels, *, weights: PerPoint | None = None, rules: UpperFitRules = UPPER_RULES
) -> UpperTable:
    """The mean label of every pattern of steps, and least squares on single steps for the others."""
    given = np.ones(len(labels)) if weights is None else weights
    patterns, inverse = np.unique(hidden > 0, axis=0, return_inverse=True)
    means = np.bincount(inverse.ravel(), weights=given * labels) / np.bincount(inverse.ravel(), weights=given)
    values = {pattern.tobytes(): float(mean) for pattern, mean in zip(patterns, means, strict=True)}
    return UpperTable(values, fit_polynomial(hidden, labels, degree=1, weights=weights, rules=rules))


def _design(hidden: Hidden, terms: tuple[tuple[int, ...], ...]) -> Float64[np.ndarray, "points terms"]:
    return np.stack([np.prod(hidden[:, list(term)], axis=1) for term in terms], axis=1)
