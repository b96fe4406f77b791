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


@dataclass(frozen=True, kw_only=True)
class TailRules:
    """Settings of the reading of tails.

    Args:
        step: of the arguments at which they are sampled: a tail of tanh falls by a factor of 4.5 from one to the next.
        first: of the samples, in steps: from there on tails of tanh fall in equal ratios, but for 5 %.
        last: of the samples, in steps: there a tail of tanh is 3e-6.
        end: argument at which they have come to an end: there 1 - tanh is 1e-12.
        clearances: samples that are so many times larger than the noise are used, the farthest ones; if there are too
            few, weaker ones: ratios are then known to 1e-4, or to 1 %.
        used: samples that determine an activation and a rate (three), and confirm both (one more).
        clear: relative difference of logarithms of ratios from which on a tail is not that of an activation. Of 696
            tails of tanh and erf under a second layer 99 % differed by less than 0.011, and all by less than 0.046. Of
            these 4 were taken for the other activation: several sightings vote (`FarLayerSearch`).
    """

    step: float = 0.75
    first: int = 2
    last: int = 9
    end: float = 14.0
    clearances: tuple[float, ...] = (1e4, 1e2)
    used: int = 4
    clear: float = 0.05

    @property
    def arguments(self) -> Float64[np.ndarray, "samples"]:
        """Where tails are sampled, and at last where they have come to an end."""
        return np.append(self.step * np.arange(self.first, self.last + 1), self.end)


TAIL_RULES = TailRules()


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


def read_tail(
    line: Line, jump: Jump, noise: float, *, rules: TailRules = TAIL_RULES
) -> Generator[Points, Values, TailReading | None]:
    """Ask the tails on both sides of a jump and read the clearer one; None if noise hides both."""
    tail = rules.arguments / jump.rate
    values = yield line.points(jump.position + np.concatenate([tail, -tail]))
    readings = []
    for side in np.split(values, 2):
        sizes = np.linalg.norm(side[:-1] - side[-1], axis=1)
        for clearance in rules.clearances:
            is_clear = np.append(sizes > clearance * noise, False)
            used = int(np.argmin(is_clear))
            if used >= rules.used and np.all(np.diff(sizes[:used]) < 0):
                readings.append(_reading(np.log(sizes[used - rules.used : used]), jump.rate, rules))
                break
    return min(readings, key=lambda reading: reading.error, default=None)


def _reading(logarithms: Float64[np.ndarray, "samples"], rate: float, rules: TailRules) -> TailReading:
    """Tell the activation whose tail has samples of these logarithms, farther out one by one."""
    falls = -np.diff(logarithms)
    exponential = float(np.max(np.abs(falls[1:] / falls[-1] - 1.0)))
    of_tanh = TailReading(TANH, rate * float(np.mean(falls[1:])) / (2 * rules.step), exponential)
    if exponential < rules.clear:
        return of_tanh
    step, expected = _gaussian(falls)
    gaussian = abs(expected / falls[0] - 1.0)
    return TailReading(ERF if gaussian < rules.clear else None, rate * step / rules.step, gaussian)


def _gaussian(falls: Float64[np.ndarray, "ratios"]) -> tuple[float, float]:
    """Give the step of the argument for which erf falls off by the last two numbers, and the fall before these."""
    step = np.sqrt(max(0.5 * (falls[-1] - falls[-2]), np.finfo(float).tiny))
    first = 0.5 * falls[-2] / step - 0.5 * step

    def missing(unknown: np.ndarray) -> np.ndarray:
        return _falls(unknown[0] + unknown[1] * np.arange(3)) - falls[-2:]

    solved = scipy.optimize.root(missing, np.array([first, step]))
    first, step = solved.x
    before = _falls(first + step * np.array([-1.0, 0.0]))[0] if solved.success else np.inf
    return float(abs(step)), float(before)


def _falls(arguments: np.ndarray) -> np.ndarray:
    """By how much the logarithm of ``1 - erf`` falls from one argument to the next."""
    with np.errstate(all="ignore"):
        return -np.diff(np.log(scipy.special.erfcx(arguments)) - arguments**2)
