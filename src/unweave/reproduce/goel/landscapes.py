"""The two objectives of [goel, Sec. 2.1] whose minima are the rows of a lowest layer, in corrected forms.

With the moments ``M_k = E[f He_k(x)]`` and normalised polynomials, ``E[f H_2(z)] = M_2(z, z) / sqrt 2``,
``E[f H_4(z)] = M_4(z, z, z, z) / sqrt 24`` and ``E[f psi(v, w)] = M_4(v, v, w, w) / 2``. Minima are the columns of
the inverse of the rows, scaled by roots of the coefficients; rows are ``M_2 z`` up to length. `WhitenedPower` finds the
same with less work.

Corrected: the printed psi has a wrong sign and mixed normalisations; both objectives need the sign of the coefficient
of order 4; and a minimum is longer than 1 by a factor that depends on the penalty, so it is scaled afterwards.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Float64

from unweave.arrays import Atoms, PerPoint, Points, Vector
from unweave.numerics.symmetric_tensors import Tensor

# Spread of random starts of one column.
START_SPREAD = 0.5
# Minima are the same if they differ, up to sign, by less than this share of their length.
SAME_MINIMUM = 0.15
# A minimum whose order 2 is not within these factors of the coefficient is not a column.
ORDER_2_RANGE = (0.3, 3.0)
GRADIENT_TOL = 1e-9
# Columns have lengths near 1. Where noise or products make an objective unbounded, descent ends at entries so large.
LARGEST_ENTRY = 100.0


@dataclass(frozen=True, eq=False)
class Landscape:
    """Both objectives of one set of moments.

    Args:
        second: moment of order 2, un-normalised.
        fourth: moment of order 4, un-normalised.
        coefficient_2: normalised Hermite coefficient of order 2 of the units.
        coefficient_4: of order 4; its sign matters.
        smallest_weight: smallest linear coefficient of a unit; below, the objectives have no minimum.
        penalty: weight of order 2 in units of the smallest one for which there are minima.
        pull: weight gamma of the single terms in the simultaneous objective.
    """

    second: Float64[np.ndarray, "inputs inputs"]
    fourth: Tensor
    coefficient_2: float
    coefficient_4: float
    smallest_weight: float = 0.5
    penalty: float = 3.0
    pull: float = 0.1

    @property
    def multiplier(self) -> float:
        """The lambda of [goel]."""
        return self.penalty * abs(self.coefficient_4) / (self.coefficient_2**2 * self.smallest_weight)

    def one_by_one(self, z: Vector) -> tuple[float, Vector]:
        """``-sgn E[f H_4(z)] + lambda (E[f H_2(z)] - u_2)^2`` and its gradient, in units of ``|u_4|``."""
        scale, sign = abs(self.coefficient_4), np.sign(self.coefficient_4)
        image = self.fourth @ z @ z @ z / sqrt(24)
        gap = float(z @ self.second @ z) / sqrt(2) - self.coefficient_2
        value = -sign * float(image @ z) + self.multiplier * gap**2
        gradient = -4 * sign * image + 2 * sqrt(2) * self.multiplier * gap * (self.second @ z)
        return value / scale, gradient / scale

    def simultaneous(self, columns: Atoms) -> tuple[float, Atoms]:
        """The objective of all columns at once, and its gradient, in units of ``|u_4|``.

        ``sgn sum_{j != k} E[f psi(w_j, w_k)] - gamma sgn sum_j E[f H_4(w_j)] + lambda sum_j (E[f H_2(w_j)] - u_2)^2``
        """
        scale, sign = abs(self.coefficient_4), np.sign(self.coefficient_4)
        squares = np.einsum("abcd,jc,jd->jab", self.fourth, columns, columns, optimize=True)
        own = np.einsum("jab,jb->ja", squares, columns)
        across = np.einsum("kab,jb->ja", squares, columns) - own
        own_values = np.einsum("ja,ja->j", own, columns)
        gaps = np.einsum("ja,ab,jb->j", columns, self.second, columns) / sqrt(2) - self.coefficient_2
        value = sign * np.sum(across * columns) / 2 - self.pull * sign * np.sum(own_values) / sqrt(24)
        value += self.multiplier * np.sum(gaps**2)
        gradient = 2 * sign * across - 4 * self.pull * sign * own / sqrt(24)
        gradient += 2 * sqrt(2) * self.multiplier * gaps[:, None] * (columns @ self.second)
        return float(value) / scale, gradient / scale

    def rows_one_by_one(self, rng: np.random.Generator, *, rank: int, restarts: int) -> Atoms:
        """Distinct minima of the first objective as unit rows, at most `rank`; signs are arbitrary."""
        found: list[np.ndarray] = []
        settings: Any = {"bounds": _box(len(self.second)), "options": {"gtol": GRADIENT_TOL}}
        for _ in range(restarts):
            start = START_SPREAD * rng.standard_normal(len(self.second))
            z = scipy.optimize.minimize(self.one_by_one, start, jac=True, method="L-BFGS-B", **settings).x
            ratio = float(z @ self.second @ z) / sqrt(2) / self.coefficient_2
            if not ORDER_2_RANGE[0] < ratio < ORDER_2_RANGE[1]:
                continue
            z = z / sqrt(ratio)
            is_new = all(_distance(z, other) > SAME_MINIMUM * np.linalg.norm(z) for other in found)
            if is_new:
                found.append(z)
            if len(found) == rank:
                break
        return self._rows(np.array(found).reshape(-1, len(self.second)))

    def rows_at_once(self, rng: np.random.Generator, *, rank: int) -> Atoms:
        """One minimum of the simultaneous objective as unit rows."""
        shape = (rank, len(self.second))

        def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = self.simultaneous(flat.reshape(shape))
            return value, gradient.ravel()

        start = START_SPREAD * rng.standard_normal(shape).ravel()
        options = {"gtol": GRADIENT_TOL, "maxiter": 5_000, "maxfun": 10_000}
        box = _box(len(start))
        found = scipy.optimize.minimize(objective, start, jac=True, method="L-BFGS-B", bounds=box, options=options).x
        return self._rows(found.reshape(shape))

    def _rows(self, columns: Atoms) -> Atoms:
        rows = columns @ self.second
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def pair_polynomial(points: Points, v: Vector, w: Vector) -> PerPoint:
    """The corrected psi: ``H_2(v x) H_2(w x) + <v, w>^2 - 2 <v, w> <v, x> <w, x>`` with normalised ``H_2``.

    For a unit u along the unit vector a its mean is ``E[u psi] = sqrt 6 u_4 <a, v>^2 <a, w>^2``.
    """
    one, other, overlap = points @ v, points @ w, float(v @ w)
    squares = (one**2 - v @ v) * (other**2 - w @ w) / 2
    return squares + overlap**2 - 2 * overlap * one * other


def _box(entries: int) -> list[tuple[float, float]]:
    return [(-LARGEST_ENTRY, LARGEST_ENTRY)] * entries


def _distance(one: Vector, other: Vector) -> float:
    return float(min(np.linalg.norm(one - other), np.linalg.norm(one + other)))
