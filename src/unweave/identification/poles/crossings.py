"""Where the neurons of a tanh network cross a chord, read off the poles of the answers.

Along a chord a neuron is ``height tanh(rate t + shift)``. At complex positions it has poles: the nearest where its
argument is half of ``i pi``, with the residue ``height / rate``, and others straight above it at three, five, .. times
the distance. So the poles of a rational function that meets the answers [nakatsukasa2018] tell rate, shift and height
of all neurons at once, also of those whose slabs overlap. Every sigmoid is a tanh in other units.
"""

import warnings
from dataclasses import dataclass

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Bool, Complex128, Float64

from unweave.arrays import PerNeuron, PerOutput, PerPoint
from unweave.identification.poles.chords import ChordSamples

# The argument at which tanh has its nearest pole, without the imaginary unit.
POLE = np.pi / 2


@dataclass(frozen=True, eq=False)
class Crossings:
    """Neurons ``heights tanh(rates t + shifts)`` that a chord crosses; rates are positive."""

    rates: PerNeuron
    shifts: PerNeuron
    heights: Float64[np.ndarray, "neurons outputs"]

    def __len__(self) -> int:
        """Count the neurons."""
        return len(self.rates)

    def chosen(self, which: Bool[np.ndarray, "neurons"]) -> "Crossings":
        """Give some of the neurons."""
        return Crossings(self.rates[which], self.shifts[which], self.heights[which])

    def arguments(self, positions: PerPoint) -> Float64[np.ndarray, "points neurons"]:
        """Give the arguments of the neurons at positions of the chord."""
        return positions[:, None] * self.rates + self.shifts


@dataclass(frozen=True, kw_only=True)
class PoleReading:
    """Settings of the reading of poles.

    Args:
        terms: of the rational function, at most: ten neurons that are steep take about a hundred.
        tol: its error, relative to the largest answer, at least: what rounding leaves. And the same in units of the
            noise; chosen.
        farthest: distance of a pole from the chord, in half chords, up to which it is read: poles farther away are lost
            in rounding (three of four were read to a thousandth at 0.3 to 1.5).
        real_tol: imaginary part of a height, relative to the real one, up to which it is that of a neuron: those of 40
            neurons of trained networks were off by 1e-3 at most, and poles that stand for something else are complex.
        weakest: height of a neuron, relative to the range of the answers on the chord, from which on it is read; weaker
            ones show when the others are subtracted. Chosen.
        above: distance of a pole from the place above another one where a neuron has its next pole, relative to that
            pole's distance from the chord, up to which it is that one; chosen.
    """

    terms: int = 120
    tol: tuple[float, float] = (1e-13, 10.0)
    farthest: float = 1.5
    real_tol: float = 1e-2
    weakest: float = 1e-3
    above: float = 0.3

    def __call__(self, samples: ChordSamples, mix: PerOutput, *, noise: float) -> Crossings:
        """Read the neurons that cross a chord.

        Args:
            samples: the answers along it.
            mix: weights of the outputs in the sum whose poles are read; in general position it has those of all.
            noise: standard deviation of an answer.
        """
        poles = self._poles(samples, mix, noise)
        residues = _residues(samples, poles)
        rates = POLE / np.imag(poles)
        heights = residues * rates[:, None]
        mixed = heights @ mix
        size = float(np.max(np.ptp(samples.values, axis=0)))
        is_neuron = np.abs(np.imag(mixed)) <= self.real_tol * np.abs(np.real(mixed))
        is_neuron &= np.max(np.abs(np.real(heights)), axis=1, initial=0.0) > max(self.weakest * size, 100.0 * noise)
        is_neuron &= (np.abs(np.real(poles)) < 1.0) & (np.imag(poles) <= self.farthest) & ~self._stand_above(poles)
        found = Crossings(rates, -np.real(poles) * rates, np.ascontiguousarray(np.real(heights)))
        return found.chosen(is_neuron)

    def _poles(self, samples: ChordSamples, mix: PerOutput, noise: float) -> Complex128[np.ndarray, "poles"]:
        """Give the poles above the chord, the nearest first."""
        values = samples.values @ mix
        size = float(np.max(np.abs(values)))
        if size == 0.0:
            return np.empty(0, dtype=np.complex128)
        tol = max(self.tol[0], self.tol[1] * noise / size)
        terms = min(self.terms, len(values) // 2)
        try:
            with warnings.catch_warnings():
                # Whether it has converged does not matter: every pole is judged by its residue.
                warnings.simplefilter("ignore")
                poles = scipy.interpolate.AAA(
                    samples.positions, values, rtol=tol, max_terms=terms, clean_up=False
                ).poles()
        except (ValueError, np.linalg.LinAlgError):
            # Its factorisations fail for some functions that few terms meet exactly, which have no poles.
            return np.empty(0, dtype=np.complex128)
        above = poles[np.isfinite(poles) & (np.imag(poles) > 0.0)].astype(np.complex128)
        return above[np.argsort(np.imag(above))]

    def _stand_above(self, poles: Complex128[np.ndarray, "poles"]) -> Bool[np.ndarray, "poles"]:
        """Whether each pole is a farther one of a neuron that has a nearer one."""
        ratios = np.imag(poles)[:, None] / np.imag(poles)
        nearest_odd = np.maximum(3.0, 2.0 * np.round(0.5 * (ratios - 1.0)) + 1.0)
        expected = np.real(poles) + 1j * nearest_odd * np.imag(poles)
        return np.any(np.abs(poles[:, None] - expected) <= self.above * np.imag(poles), axis=1)


def _residues(samples: ChordSamples, poles: Complex128[np.ndarray, "poles"]) -> Complex128[np.ndarray, "poles outputs"]:
    """Fit the residues of all outputs at common poles, and at their mirror images below the chord."""
    if len(poles) == 0:
        return np.empty((0, samples.values.shape[1]), dtype=np.complex128)
    terms = 1.0 / (samples.positions[:, None] - poles)
    # ``r / (t - p)`` and its mirror image add up to twice the real part.
    columns = np.hstack(
        [2.0 * np.real(terms), -2.0 * np.imag(terms), np.ones((len(terms), 1)), samples.positions[:, None]]
    )
    scales = np.linalg.norm(columns, axis=0)
    solution = np.linalg.lstsq(columns / scales, samples.values, rcond=1e-14)[0] / scales[:, None]
    count = len(poles)
    return solution[:count] + 1j * solution[count : 2 * count]
