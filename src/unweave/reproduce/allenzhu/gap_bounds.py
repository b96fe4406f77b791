"""What [allenzhu, Thm. 1', Cor. B.1 and B.2] ask of the weights of levels, as logarithms: their numbers overflow."""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass

# The absolute constant of Theorem 1' is at least this.
LEAST_CONSTANT = 2.0


@dataclass(frozen=True, kw_only=True)
class TypicalSizes:
    """Sizes of a target for which ``c_1(q) = c_3(q) = q^q`` and ``c_4(q) = q``.

    Args:
        levels: L, the last one.
        log_inputs: of d.
        log_inverse_error: of 1 / e.
        log_condition: of kappa.
        log_size: of ``kbar_j Bbar_j``, by j.
    """

    levels: int
    log_inputs: float
    log_inverse_error: float
    log_condition: float
    log_size: Callable[[int], float] = lambda _: 0.0

    @property
    def log_ratio(self) -> float:
        """Of d / e."""
        return self.log_inputs + self.log_inverse_error


# The logarithm of the last factor of a gap, that of widths and sizes: for sizes, a level and a constant c_0.
Factors = Callable[[TypicalSizes, int, float], float]


def terms_in_j(sizes: TypicalSizes, level: int, constant: float) -> float:
    """The product over j of ``(kbar_j Bbar_j)^(L 2^(c_0 (j - level)))``."""
    return sum(
        _powered(constant * (j - level), sizes.levels * sizes.log_size(j)) for j in range(level, sizes.levels + 1)
    )


def terms_in_level(sizes: TypicalSizes, level: int, constant: float) -> float:
    """The same as printed, where every factor has ``kbar`` and ``Bbar`` of the first level."""
    return sum(
        _powered(constant * (j - level), sizes.levels * sizes.log_size(level)) for j in range(level, sizes.levels + 1)
    )


def log_general_gap(sizes: TypicalSizes, level: int, *, constant: float = LEAST_CONSTANT) -> float:
    """What Theorem 1' asks of ``alpha_l / alpha_(l+1)``."""
    q, log_q = 2.0**level, level * math.log(2)
    logs = q * (log_q + math.log(sizes.log_ratio + math.log(sizes.levels)))
    constants = 2 ** (constant * sizes.levels) * (sizes.log_condition + 2 * q * log_q)
    return logs + constants + terms_in_j(sizes, level, constant)


def log_simplified_gap(
    sizes: TypicalSizes, level: int, *, constant: float = LEAST_CONSTANT, factors: Factors = terms_in_j
) -> float:
    """What Corollary B.1 asks of ``alpha_l / alpha_(l+1)``."""
    logs = constant * 2.0**level * math.log(sizes.log_ratio)
    return logs + _powered(constant * sizes.levels, sizes.log_condition) + factors(sizes, level, constant)


def _powered(exponent: float, number: float) -> float:
    """``2^exponent`` times a number, infinite where it overflows, and 0 for 0."""
    if number == 0:
        return 0.0
    return number * 2.0**exponent if exponent < sys.float_info.max_exp - 1 else math.inf


def least(holds: Callable[[float], bool], *, low: float, most: float) -> float:
    """Where a condition that stays true begins to hold, to 1e-9 of it; infinite if it does not below `most`."""
    high = low
    while not holds(high):
        low, high = high, 2 * high
        if high > most:
            return math.inf
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
