"""The tails of a first-layer neuron under unknown upper layers: of which activation they are, and how long its row is.

Upper layers bend a tail by its own size, so that far out it falls off like that of the activation: in equal ratios for
tanh, in ratios that grow for erf. Three samples tell which it is and how fast, a fourth confirms it.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Float64

from unweave.activations import ERF, TANH, Activation
from unweave.arrays import Points, Values
from unweave.identification.saturation.jumps import Jump
from unweave.identification.walks.lines import Line

# Arguments at which tails are sampled, and the one at which they have come to an end.
STEP = 0.75
SAMPLES, END = STEP * np.arange(2, 10), 14.0
# Samples that are so many times larger than the noise are used, the farthest ones; if there are too few, weaker ones.
CLEARANCES = (1e4, 1e2)
# Samples that determine an activation and a rate, and confirm both.
USED = 4
# Difference of logarithms of ratios, relative, from which on a tail is not that of an activation.
CLEAR = 0.05


@dataclass(frozen=True)
class TailReading:
    """What a tail says about its neuron.

    Args:
        activation: whose tail it is; None if it is that of no activation that is told here.
        rate: of its argument along the line.
        error: of the rate, relative, by the sample that was not needed.
    """

    activation: Activation | None
    rate: float
    error: float


def read_tail(line: Line, jump: Jump, noise: float) -> Generator[Points, Values, TailReading | None]:
    """Ask the tails on both sides of a jump and read the clearer one; None if noise hides both."""
    tail = np.append(SAMPLES, END) / jump.rate
    values = yield line.points(jump.position + np.concatenate([tail, -tail]))
    readings = []
    for side in np.split(values, 2):
        sizes = np.linalg.norm(side[:-1] - side[-1], axis=1)
        for clearance in CLEARANCES:
            is_clear = np.append(sizes > clearance * noise, False)
            used = int(np.argmin(is_clear))
            if used >= USED and np.all(np.diff(sizes[:used]) < 0):
                readings.append(_reading(np.log(sizes[used - USED : used]), jump.rate))
                break
    return min(readings, key=lambda reading: reading.error, default=None)


def _reading(logarithms: Float64[np.ndarray, "samples"], rate: float) -> TailReading:
    """Tell the activation whose tail has samples of these logarithms, farther out one by one."""
    falls = -np.diff(logarithms)
    exponential = float(np.max(np.abs(falls[1:] / falls[-1] - 1.0)))
    of_tanh = TailReading(TANH, rate * float(np.mean(falls[1:])) / (2 * STEP), exponential)
    if exponential < CLEAR:
        return of_tanh
    step, expected = _gaussian(falls)
    gaussian = abs(expected / falls[0] - 1.0)
    return TailReading(ERF if gaussian < CLEAR else None, rate * step / STEP, gaussian)


def _gaussian(falls: Float64[np.ndarray, "ratios"]) -> tuple[float, float]:
    """Give the step of the argument for which erf falls off by the last two numbers, and the fall before these."""
    step = np.sqrt(max(0.5 * (falls[-1] - falls[-2]), np.finfo(float).tiny))
    first = 0.5 * falls[-2] / step - 0.5 * step

    def missing(unknown: np.ndarray) -> np.ndarray:
        return -np.diff(_log_tail(unknown[0] + unknown[1] * np.arange(3))) - falls[-2:]

    solved = scipy.optimize.root(missing, np.array([first, step]))
    first, step = solved.x
    before = -np.diff(_log_tail(first + step * np.array([-1.0, 0.0])))[0] if solved.success else np.inf
    return float(abs(step)), float(before)


def _log_tail(arguments: np.ndarray) -> np.ndarray:
    """Logarithm of ``1 - erf``."""
    with np.errstate(all="ignore"):
        return np.log(scipy.special.erfcx(arguments)) - arguments**2
