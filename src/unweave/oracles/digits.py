"""What the digits of answers hide: how far rounding moves them, and whether that is all they differ by."""

import numpy as np
from jaxtyping import Bool, Float64

from unweave.arrays import Values, spread_of_columns, unit_of_columns
from unweave.oracles.oracle import Oracle

# Units of the last digit by which answers of a constant sum differ, and by how many if neighbours differ as others.
CONSTANT_UNITS, ROUGH_UNITS = 2.0, 64.0
# The same where answers have all digits of float64, as sums of terms that are larger than what is left of them.
SUM_UNITS = 8.0
# Spread of answers, in units of what neighbours differ by, up to which all of it may be rounding.
ROUGH_SPREAD = 3.0


def rounding_error(oracle: Oracle, magnitude: Float64[np.ndarray, "outputs"]) -> Float64[np.ndarray, "outputs"]:
    """Give the standard deviation of the rounding of answers of some size, as far as it is known."""
    # Answers that are all zero tell no unit: that of their rounding is one, as elsewhere.
    return 0.3 * oracle.ledger.answer_digits * np.where(magnitude > 0, magnitude, 1.0)


def last_digits(oracle: Oracle, values: Values) -> Float64[np.ndarray, "outputs"]:
    """Give the unit of the last digit of the largest answers, as far as digits are known."""
    return oracle.ledger.answer_digits * unit_of_columns(values)


def constant_outputs(
    values: Values, last_digit: np.ndarray, scatter: float | np.ndarray, *, units: float = CONSTANT_UNITS
) -> Bool[np.ndarray, "outputs"]:
    """Whether answers are those of a constant, up to the rounding of its sum.

    They differ by two units of the last digit at most; or by a few more, if neighbours do, too. Answers that are the
    same nearby and differ farther away are those of a function with few digits.

    Args:
        values: answers, or what is left of them after an offset was subtracted.
        last_digit: unit of the last digit of the answers, per output.
        scatter: deviation of answers from those next to them, as measured.
        units: of the last digit by which they may differ whatever neighbours do.
    """
    spread = spread_of_columns(values)
    is_rough = (spread <= ROUGH_UNITS * last_digit) & (spread <= ROUGH_SPREAD * scatter)
    return (np.ptp(values, axis=0) <= units * last_digit) | is_rough
