"""[allenzhu, Cor. B.2]: whether the gap of Theorem 1 implies that of Corollary B.1, and from which sizes on."""

import math
from collections.abc import Sequence

from unweave.networks.quadratic.wiring import FIRST_LEVEL
from unweave.reproduce.allenzhu.gap_bounds import (
    LEAST_CONSTANT,
    Factors,
    TypicalSizes,
    least,
    log_simplified_gap,
    terms_in_j,
    terms_in_level,
)
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings

READINGS: dict[str, Factors] = {"terms in j": terms_in_j, "as printed": terms_in_level}
# C_1 of the special case, and how much larger than necessary C is where the least number of inputs is asked for.
SKIPS, LARGER = 2, 2.0


def settings(scale: Scale) -> Sequence[Settings]:
    """Levels, and both readings of the product."""
    levels = {Scale.QUICK: (3, 4), Scale.USUAL: (3, 4, 5, 6), Scale.FULL: (3, 4, 5, 6, 8, 12, 16)}[scale]
    return [{"levels": last, "product": name} for name in READINGS for last in levels]


def measure(cell: Cell) -> Numbers:
    """The least C for which the widths fit into the gap, and the least d for which all of it does."""
    last, factors = int(cell.settings["levels"]), READINGS[str(cell.settings["product"])]
    gaps = range(FIRST_LEVEL, last)

    def fits(base: float) -> bool:
        # In units of log d, for d to infinity: only widths are powers of d.
        unit = TypicalSizes(
            levels=last, log_inputs=1.0, log_inverse_error=1.0, log_condition=0.0,
            log_size=lambda j: 2 * _width_exponent(j, base),
        )  # fmt: skip
        # Definition B.3 asks the product from l + 1 on of the gap between l and l + 1.
        return all(factors(unit, level + 1, LEAST_CONSTANT) <= base ** -(level + 1) for level in gaps)

    base = least(fits, low=2.0, most=1e12)

    def suffices(log_inputs: float) -> bool:
        wide = LARGER * base
        sizes = TypicalSizes(
            levels=last, log_inputs=log_inputs, log_inverse_error=log_inputs,
            log_condition=SKIPS**last * math.log(2),
            # B_l <= 2^(C_1^l) k_l.
            log_size=lambda j: 2 * _width_exponent(j, wide) * log_inputs + SKIPS ** (j - 1) * math.log(2),
        )  # fmt: skip
        return all(
            log_simplified_gap(sizes, level + 1, factors=factors) <= log_inputs * wide ** -(level + 1) for level in gaps
        )

    digits = least(suffices, low=2.0, most=1e300) / math.log(10)
    return {"base": base, "bound": 2.0 * last + 4, "digits": math.log10(digits), "holds": float(base <= 2 * last + 4)}


def _width_exponent(level: int, base: float) -> float:
    """Of the widest source of a level, ``kbar_l = d^exponent``: skip links are shorter than C_1."""
    return base ** -(max(level - SKIPS + 1, FIRST_LEVEL) + SKIPS) if level > FIRST_LEVEL else 0.0


TITLE = "the gap of Theorem 1 against that of Corollary B.1"
REPETITIONS = {Scale.QUICK: 1, Scale.USUAL: 1, Scale.FULL: 1}
COLUMNS = {
    "base": "least C",
    "bound": "2 L + 4",
    "digits": "log10 of log10 of the least d, C twice as large",
    "holds": "C at most 2 L + 4",
}
NOTES = (
    "Numbers of the formulas, nothing is trained: k_l = d^(1/C^(l + C_1)), B_l = 2^(C_1^l) k_l, kappa = 2^(C_1^L), "
    "gap d^(-1/C^(l+1)), C_1 = 2, c_0 = 2, e = 1/d; the readings are those of the page of errata.",
    "With terms in j, C at most 2 L + 4 suffices for all d beyond some size: the corollary holds with a C that grows "
    "slowly with L. With the product as printed C has to grow like 4^L. The least d has more digits than any number "
    "of inputs that can be computed with: the statement is about the limit.",
)
