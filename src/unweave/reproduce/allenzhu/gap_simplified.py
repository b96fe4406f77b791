"""[allenzhu, Cor. B.1]: whether the simplified gap implies the one of Theorem 1', and with which constant."""

import math
from collections.abc import Sequence

from unweave.networks.quadratic.wiring import FIRST_LEVEL
from unweave.reproduce.allenzhu.gap_bounds import (
    LEAST_CONSTANT,
    TypicalSizes,
    least,
    log_general_gap,
    log_simplified_gap,
)
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings

# A constant that is absolute stays below this for all sizes.
ABSOLUTE = 5.0
CONFIDENCE = 0.01


def settings(scale: Scale) -> Sequence[Settings]:
    """Levels, inputs and conditions; one feature per level, where widths help the least."""
    levels = {Scale.QUICK: (2, 4), Scale.USUAL: (2, 4, 8), Scale.FULL: (2, 3, 4, 6, 8, 16, 32)}[scale]
    inputs = (3, 12) if scale is Scale.QUICK else (2, 12, 100)
    return [
        {"levels": last, "log10 of d": digits, "kappa": kappa}
        for kappa in (1.0, 2.0, 8.0)
        for last in levels
        for digits in inputs
    ]


def measure(cell: Cell) -> Numbers:
    """The least constant of Corollary B.1 that implies Theorem 1' with its own least constant, at all levels."""
    given = cell.settings
    log_inputs = float(given["log10 of d"]) * math.log(10)
    sizes = TypicalSizes(
        levels=int(given["levels"]),
        log_inputs=log_inputs,
        log_inverse_error=log_inputs,
        log_condition=math.log(float(given["kappa"])),
    )

    def implies(constant: float) -> bool:
        return all(
            log_simplified_gap(sizes, level, constant=constant) >= log_general_gap(sizes, level)
            for level in range(FIRST_LEVEL, sizes.levels + 1)
        )

    constant = least(implies, low=LEAST_CONSTANT, most=1e6)
    # The last factor of N, its power aside: with and without L inside of the logarithm.
    inside = sizes.log_ratio + sizes.log_condition - math.log(CONFIDENCE)
    factor = sizes.levels * math.log(2) + math.log(inside)
    return {
        "general": log_general_gap(sizes, FIRST_LEVEL) / math.log(10),
        "constant": constant,
        "samples": (sizes.levels * math.log(2) + math.log(inside + math.log(sizes.levels))) / factor,
        "holds": float(constant < ABSOLUTE),
    }


TITLE = "the gap of Theorem 1' after the simplification"
REPETITIONS = {Scale.QUICK: 1, Scale.USUAL: 1, Scale.FULL: 1}
COLUMNS = {
    "general": "log10 of alpha_2 / alpha_3 in Theorem 1'",
    "constant": "least c_0 of Corollary B.1",
    "samples": "power of N's last factor",
    "holds": f"c_0 below {ABSOLUTE:g}",
}
NOTES = (
    "Numbers of the formulas, nothing is trained: c_1(q) = c_3(q) = q^q, c_4(q) = q, e = 1/d, c_0 = 2 in Theorem 1', "
    "one feature per level. The corollary holds if its own c_0 stays bounded.",
    "It does wherever kappa is at least 2, which one may take, since kappa is a bound. With kappa = 1 nothing of "
    "Corollary B.1 stands for (c_1 c_3)^(2^(c_0 L)), and c_0 grows with L.",
)
