"""How far consecutive Hermite polynomials are from a common zero: the constants of [awasthi, Lemma 4.3]."""

from math import factorial, sqrt

import numpy as np
from numpy.polynomial import hermite_e

from unweave.reproduce.experiment import ONCE, Cell, Numbers, Scale, Settings

DEGREES = {Scale.QUICK: 8, Scale.USUAL: 12, Scale.FULL: 16}
# Roots of polynomials of a higher degree than these lose digits to their conditioning.
IMAGINARY_TOL = 1e-7


def root_separation(degree: int) -> float:
    """Give the minimum over all x of ``max(|He_k(x)|, |He_{k+1}(x)|)``.

    Where one of both is larger than the other, the minimum of its absolute value would be a zero; so the minimum lies
    where they are equal, at a root of ``He_{k+1} - He_k`` or of ``He_{k+1} + He_k``.
    """
    values = []
    for sign in (1.0, -1.0):
        roots = hermite_e.hermeroots([*[0.0] * degree, sign, 1.0])
        real = np.real(roots[np.abs(np.imag(roots)) < IMAGINARY_TOL])
        values.append(np.abs(hermite_e.hermeval(real, [*[0.0] * degree, 1.0])))
    return float(np.min(np.concatenate(values)))


def printed_separation(degree: int) -> float:
    """Give the bound as printed, ``sqrt(k! / 2)``, which does not hold from degree 1 on."""
    return sqrt(factorial(degree) / 2)


def proven_separation(degree: int) -> float:
    """Give what the proof of the lemma shows from degree 2 on, ``sqrt((k - 1)! / 2)``; 0 below."""
    return sqrt(factorial(degree - 1) / 2) if degree >= 2 else 0.0


def settings(scale: Scale) -> list[Settings]:
    """Give all degrees."""
    return [{"degree": degree} for degree in range(DEGREES[scale] + 1)]


def measure(cell: Cell) -> Numbers:
    """Find the smallest value that two consecutive polynomials share."""
    degree = int(cell.settings["degree"])
    return {"minimum": root_separation(degree), "proven": proven_separation(degree)}


def published(settings: Settings) -> dict[str, float]:
    """Give the printed bound."""
    return {"minimum": printed_separation(int(settings["degree"]))}


TITLE = "separation of the roots of consecutive Hermite polynomials"
REPETITIONS = ONCE
COLUMNS = {"minimum": "min of max(|He_k|, |He_k+1|) (printed bound)", "proven": "bound that the proof shows"}
NOTES = (
    "The printed bound sqrt(k!/2) holds for k = 0 only. The proof bounds the polynomials of degrees k + 1 and "
    "k + 2 by it, which is sqrt((k-1)!/2) for degrees k and k + 1, and it needs k + 1 >= 2.",
    "That consecutive polynomials have no common zero, which is all that the algorithms use, stands.",
)
