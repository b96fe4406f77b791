"""Solve linearised least-squares problems for any damping from one factorisation or one set of normal equations."""

import numpy as np
import scipy.linalg
from jaxtyping import Bool, Float64

from unweave.numerics.least_squares import Solver, Step

# Singular values of an undamped problem below this share of the largest are rounding: no step along them.
RANK_TOL = 1e-15


def orthogonal_solver(
    jacobian: Float64[np.ndarray, "rows parameters"], residuals: Float64[np.ndarray, "rows"]
) -> Solver:
    """Factorise the Jacobian orthogonally, which keeps all digits; a damped problem has the size of the triangle.

    Args:
        jacobian: derivatives of what the residuals are missing, so that steps solve ``jacobian @ step = residuals``.
        residuals: the right-hand side.

    Returns:
        Solutions for dampings in units of the mean square of the singular values.
    """
    factor, triangle = np.linalg.qr(jacobian)
    target = factor.T @ residuals
    count = len(target)
    unit = np.linalg.norm(triangle) / np.sqrt(max(count, 1))

    def solve(damping: float) -> Step:
        if not (np.isfinite(unit) and unit > 0.0):
            return np.full(count, np.nan)
        if damping == 0.0:
            return np.linalg.lstsq(triangle, target, rcond=RANK_TOL)[0]
        damped_factor, damped = np.linalg.qr(np.vstack([triangle, np.sqrt(damping) * unit * np.eye(count)]))
        return scipy.linalg.solve_triangular(damped, damped_factor[:count].T @ target)

    return solve


def normal_solver(
    gram: Float64[np.ndarray, "parameters parameters"],
    target: Step,
    unit: float | Float64[np.ndarray, "parameters"],
    *,
    ridges: tuple[float, ...] = (0.0, 1e-14, 1e-11, 1e-8),
) -> Solver:
    """Solve normal equations by Cholesky: half the digits, but every step starts from exact residuals.

    Args:
        gram: ``J^T J``.
        target: ``J^T residuals``.
        unit: what a damping of 1 adds to the diagonal, one number or one per parameter.
        ridges: least dampings, tried one after the other while rounding makes the matrix indefinite; by default from
            none to the root of the rounding error.

    Returns:
        Solutions, NaN where no ridge makes the matrix definite.
    """

    def solve(damping: float) -> Step:
        for ridge in ridges:
            damped = gram.copy()
            damped[np.diag_indices_from(damped)] += max(damping, ridge) * unit
            try:
                factor = scipy.linalg.cho_factor(damped, lower=True, overwrite_a=True, check_finite=False)
            except np.linalg.LinAlgError:
                continue
            return scipy.linalg.cho_solve(factor, target, check_finite=False)
        return np.full(len(target), np.nan)

    return solve


def scattered(solve: Solver, is_free: Bool[np.ndarray, "parameters"]) -> Solver:
    """Give steps of the free parameters one entry per parameter, zero for those that are held fixed."""

    def solve_all(damping: float) -> Step:
        step = np.zeros(len(is_free))
        step[is_free] = solve(damping)
        return step

    return solve_all
