"""How exact answers are: the standard deviation of their error, from answers close together on two lines."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64
from scipy import special

from unweave.arrays import Points, Values
from unweave.oracles.oracle import Oracle

LINE_POINTS = 9
REPEATS = 3
# Spacing in half-widths of the domain: its eighth power is below the rounding of float64, while
# even float32 answers change from one point of the line to the next.
LINE_SPACING = 1e-3
ORDERS = range(4, 8)
# An error of answers that repeat themselves, in units of their rounding, that may be a kink on both lines.
SUSPICIOUS = 1e3


@dataclass(frozen=True)
class NoiseFloor:
    """Standard deviation of the error of one answer, per output, and what it was read from.

    Args:
        deviation: estimated standard deviation of the answers' error, per output.
        repeat_spread: largest change when the same point was asked twice (0: deterministic).
        magnitude: largest answer seen, per output.
        points: what was asked for the estimate, so that no answer is lost.
        values: what was answered.
    """

    deviation: Float64[np.ndarray, "outputs"]
    repeat_spread: float
    magnitude: Float64[np.ndarray, "outputs"]
    points: Points
    values: Values

    @property
    def is_deterministic(self) -> bool:
        """Whether asking twice gave the same answer."""
        return self.repeat_spread == 0.0

    def at_least(self, deviation: float | Float64[np.ndarray, "outputs"]) -> "NoiseFloor":
        """The same with an error that more answers have shown to be larger."""
        return replace(self, deviation=np.maximum(self.deviation, deviation))


def measure_noise(oracle: Oracle, rng: np.random.Generator) -> NoiseFloor:
    """Estimate the noise of the answers from 2 x 9 + 3 queries, and 2 x 9 more if kinks may have disturbed it.

    Assumes: the function is smooth over a few percent of the domain on one of the lines.
    Guarantees: heuristic; the estimate is never below the rounding unit of the answers' type.
    """
    lines = _two_lines(oracle, rng)
    first = oracle.query(lines[0])
    # The second call repeats points of the first: a model with a memory shows itself here.
    second = oracle.query(np.concatenate([lines[1], lines[0][:REPEATS]]))
    repeated, second = second[LINE_POINTS:], second[:LINE_POINTS]

    values = np.concatenate([first, second])
    magnitude = np.max(np.abs(values), axis=0)
    # A kink on a line raises its estimate, so the smaller of the two is the noise.
    smooth = np.minimum(_line_noise(first), _line_noise(second))
    change = np.abs(repeated - first[:REPEATS])
    random = np.sqrt(np.mean(change**2, axis=0) / 2)
    rounding = rounding_error(oracle, magnitude)
    points = np.concatenate([lines[0], lines[1]])
    if not np.any(change) and np.any(smooth > SUSPICIOUS * rounding):
        # Noise that repeats itself is rare, kinks on both lines are not: two other lines tell which it is.
        lines = _two_lines(oracle, rng)
        points = np.concatenate([points, lines[0], lines[1]])
        more = oracle.query(np.concatenate([lines[0], lines[1]]))
        values = np.concatenate([values, more])
        smooth = np.minimum(smooth, np.minimum(*(_line_noise(line) for line in np.split(more, 2))))
    deviation = np.maximum(np.maximum(smooth, random), np.maximum(rounding, np.finfo(float).tiny))
    return NoiseFloor(
        deviation=deviation,
        repeat_spread=float(np.max(change)),
        magnitude=magnitude,
        points=points,
        values=values,
    )


def _two_lines(oracle: Oracle, rng: np.random.Generator) -> Float64[np.ndarray, "lines points inputs"]:
    """Draw points close together on two random lines."""
    center, half_width = oracle.domain.frame(oracle.inputs)
    starts = oracle.domain.sample_standard(rng, 2, oracle.inputs, LINE_SPACING * LINE_POINTS)
    directions = rng.standard_normal((2, oracle.inputs))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    steps = LINE_SPACING * np.arange(LINE_POINTS)
    return center + half_width * (starts[:, None] + steps[:, None] * directions[:, None])


def rounding_error(oracle: Oracle, magnitude: Float64[np.ndarray, "outputs"]) -> Float64[np.ndarray, "outputs"]:
    """Give the standard deviation of the rounding of answers of some size, as far as it is known."""
    # Answers that are all zero tell no unit: that of their rounding is one, as elsewhere.
    return 0.3 * oracle.ledger.answer_digits * np.where(magnitude > 0, magnitude, 1.0)


def _line_noise(values: Values) -> Float64[np.ndarray, "outputs"]:
    """Median over the orders of difference of the implied standard deviation of independent noise."""
    deviations = []
    for order in ORDERS:
        differences = np.diff(values, n=order, axis=0)
        gain = special.comb(2 * order, order)
        deviations.append(np.sqrt(np.mean(differences**2, axis=0) / gain))
    return np.median(np.array(deviations), axis=0)
