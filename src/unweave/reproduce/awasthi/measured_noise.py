"""Hermite tensors of samples with their measured noise, and the thresholds of [awasthi, Alg. 4 and 6] from it.

[awasthi] proves that polynomial thresholds exist and gives none; its own chain of constants asks for about 1e28 samples
of five neurons. Here every threshold is a multiple of what two halves of the samples disagree by, so that it follows
inputs, neurons, labels and the number of samples by itself:

* eta_1, of singular values: of the flattened difference the largest one, times a factor above 1;
* eta_2, of coefficients: so many standard errors of a coefficient;
* eta_3, of distances: a fixed angle; closer estimates are the same neuron, of which the stronger is kept.

A noisy copy of a neuron that is farther away than eta_3 counts as a neuron and gives the least squares after it a pair
of huge coefficients of opposite sign. `significant_units` therefore leaves out, one by one, neurons whose coefficients
are lost in their own standard errors: order 2 never vanishes, so that no true neuron with a moderate bias is lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Atoms, Points, Values
from unweave.learn.relu_network.moment_networks import coefficient_table
from unweave.numerics.symmetric_tensors import Tensor, entry_count, flattened
from unweave.reproduce.awasthi.tensor_algorithms import (
    RecoveredUnits,
    Thresholds,
    fix_signs,
    recover_robust,
    recover_scalars,
)
from unweave.samples.hermite.inputs import Coordinates
from unweave.samples.hermite.moments import Control, HermiteMoments, LabelMoments
from unweave.samples.sources import ArraySource
from unweave.samples.sums import accumulate


@dataclass(frozen=True)
class NoiseFactors:
    """How many times the measured noise each threshold is.

    Args:
        singular_value: of eta_1; the difference of two halves has the largest singular value of the error only up to
            some percent.
        standard_errors: of eta_2, and of the coefficients that keep a neuron; customary.
        distance: eta_3, as in `Thresholds`: 17 degrees.
    """

    singular_value: float = 1.2
    standard_errors: float = 3.0
    distance: float = 0.3


NOISE_FACTORS = NoiseFactors()


@dataclass(frozen=True, eq=False)
class NoisyTensors:
    """Hermite tensors that were estimated from samples.

    Args:
        tensors: of orders 0 to the highest one.
        noise: half the differences of the same tensors of two halves of the samples: as large as the errors.
    """

    tensors: tuple[Tensor, ...]
    noise: tuple[Tensor, ...]

    def entry_noise(self, order: int) -> float:
        """Root mean square of the noise in an entry of the packed tensor, in which powers of unit vectors are unit."""
        entries = entry_count(len(self.tensors[1]), order)
        return float(np.linalg.norm(self.noise[order])) / sqrt(entries)


def noisy_tensors(points: Points, values: Values, *, highest: int, is_controlled: bool) -> NoisyTensors:
    """Estimate tensors of orders 0 to `highest` as means of ``y He_k(x)`` [awasthi, eq. 14].

    Args:
        points: standard Gaussian inputs.
        values: one answer per point, as a column.
        highest: order.
        is_controlled: whether a polynomial of degree 2, which has no share in the orders above, is taken from the
            answers first; [awasthi] does not. Higher degrees are no better: they grow where ``He_k`` is largest.
    """
    source, coordinates = ArraySource(points, values[:, 0]), Coordinates.identity(points.shape[1])
    control = None
    if is_controlled:
        low = accumulate(source, LabelMoments(coordinates, 2)).finalise()
        control = Control.shared(coordinates, low.whole)
    moments = accumulate(source, LabelMoments(coordinates, highest, control)).finalise()

    def tensors_of(part: HermiteMoments) -> list[Tensor]:
        return [part.tensor(order) for order in range(highest + 1)]

    halves = zip(tensors_of(moments.even), tensors_of(moments.odd), strict=True)
    noise = tuple(np.asarray(0.5 * (even - odd)) for even, odd in halves)
    return NoisyTensors(tuple(tensors_of(moments.whole)), noise)


def measured_thresholds(noisy: NoisyTensors, *, order: int, factors: NoiseFactors = NOISE_FACTORS) -> Thresholds:
    """Choose the thresholds of [awasthi, Alg. 4] from the measured noise of the odd and the even tensor."""
    singular_values = [
        factors.singular_value
        * float(np.linalg.norm(flattened(noisy.noise[2 * order + rest], (order, order + rest)), 2))
        for rest in (1, 2)
    ]
    coefficient = factors.standard_errors * max(noisy.entry_noise(2 * order + rest) for rest in (1, 2))
    odd, even = singular_values
    return Thresholds((odd, even), coefficient, factors.distance)


def recover_measured(
    noisy: NoisyTensors,
    *,
    order: int,
    most_neurons: int,
    rng: np.random.Generator,
    factors: NoiseFactors = NOISE_FACTORS,
) -> RecoveredUnits:
    """Recover neurons up to signs [awasthi, Alg. 4] with thresholds from measured noise.

    Args:
        noisy: tensors of orders 0 to ``2 order + 2`` and their noise.
        order: the l for which the powers of the directions are linearly independent.
        most_neurons: upper bound of the number of neurons.
        rng: for the random contractions.
        factors: thresholds in units of the noise.

    Raises:
        InvalidInput: if a tensor is missing.
    """
    thresholds = measured_thresholds(noisy, order=order, factors=factors)
    units = recover_robust(noisy.tensors, order=order, thresholds=thresholds, most_neurons=most_neurons, rng=rng)
    return significant_units(units, noisy, order=order, standard_errors=factors.standard_errors)


def recover_measured_full_rank(
    noisy: NoisyTensors, *, most_neurons: int, rng: np.random.Generator, factors: NoiseFactors = NOISE_FACTORS
) -> RecoveredUnits:
    """Recover neurons with their signs [awasthi, Alg. 6] with thresholds from measured noise; arguments as above."""
    units = recover_measured(noisy, order=1, most_neurons=most_neurons, rng=rng, factors=factors)
    return fix_signs(noisy.tensors[1], units, is_nearest=True)


def significant_units(
    units: RecoveredUnits, noisy: NoisyTensors, *, order: int, standard_errors: float
) -> RecoveredUnits:
    """Leave out neurons one by one whose coefficients are below so many of their own standard errors.

    Standard errors are those of least squares with independent noise in all entries, so that two directions that are
    nearly the same are both uncertain; the weakest goes first, and the rest is solved for again.
    """
    orders = tuple(range(max(order, 2), max(order, 2) + 2))
    directions = units.directions
    while len(directions):
        table = coefficient_table(noisy.tensors, directions, orders=orders)
        strengths = np.max(np.abs(table) / _coefficient_errors(noisy, directions, orders), axis=0)
        weakest = int(np.argmin(strengths))
        if strengths[weakest] >= standard_errors:
            break
        directions = np.delete(directions, weakest, axis=0)
    biases, output_weights = recover_scalars(noisy.tensors, directions, order=order)
    return replace(units, directions=directions, biases=biases, output_weights=output_weights)


def _coefficient_errors(
    noisy: NoisyTensors, directions: Atoms, orders: Sequence[int]
) -> Float64[np.ndarray, "orders neurons"]:
    cosines = directions @ directions.T
    errors = [
        noisy.entry_noise(order) * np.sqrt(np.diag(np.linalg.pinv(cosines**order, hermitian=True))) for order in orders
    ]
    return np.maximum(np.array(errors), np.finfo(float).tiny)
