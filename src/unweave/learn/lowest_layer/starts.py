"""Directions of a lowest layer to some degrees, from cumulants of the quiet samples or from moments of the labels.

The series ``sum_k <T_k, z^k> / k!`` of the moments of y is ``E[y exp(<z, x> - |z|^2 / 2)]``. If y is a product of
factors that depend on orthogonal projections of x, such as the indicator of an intersection of half spaces with
orthogonal normals, the series is the product of theirs and its logarithm the sum: no cross terms are left, whatever the
thresholds. From order 3 on these Hermite cumulants are the cumulants of the inputs under the weights y.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import permutations

import numpy as np
from jaxtyping import Float64

from unweave.activations import Activation
from unweave.arrays import Atoms, PerNeuron, PointMask, Points
from unweave.exceptions import InvalidInput
from unweave.learn.lowest_layer.directions import (
    OrientedUnits,
    PowerDirections,
    WhitenedPower,
    oriented_by_cumulants,
    oriented_by_moments,
)
from unweave.learn.lowest_layer.labels import Labels
from unweave.learn.lowest_layer.units import ThresholdRules
from unweave.numerics.symmetric_tensors import fit_directions, misfit_of, multi_indices
from unweave.samples.hermite.inputs import Coordinates
from unweave.samples.hermite.moments import HermiteMoments, LabelMoments
from unweave.samples.sources import ArraySource
from unweave.samples.sums import Halved, accumulate

Read = Callable[[HermiteMoments], HermiteMoments]
# Of cumulants: `_products` has formulas up to here.
HIGHEST_ORDER = 4


@dataclass(frozen=True, kw_only=True)
class LayerStartRules:
    """How many directions the moment of order 2 shows, and which orders find them.

    Args:
        eigenvalue_factor: an eigenvalue counts as that of a direction if it is this many times the noise; chosen: three
            standard errors are customary.
        doubtful_factor: down to so many times the noise it may be one; chosen, because held-out samples judge it.
        largest_rank_of_order_4: directions up to which order 4 is used; chosen, for the time: its derivatives take
            ``rank^6 / 24`` numbers.
        thresholds: where they are looked for.
    """

    eigenvalue_factor: float = 3.0
    doubtful_factor: float = 1.0
    largest_rank_of_order_4: int = 16
    thresholds: ThresholdRules = field(default_factory=ThresholdRules)


START_RULES = LayerStartRules()


def hermite_cumulants(moments: HermiteMoments) -> HermiteMoments:
    """Derivatives at zero of the logarithm of the series, in the place of the moments.

    Args:
        moments: orders 0 to 4 at most; order 0 is the mean of y.

    Raises:
        InvalidInput: for orders above 4, or a mean that is not positive.
    """
    mean = float(moments.entries(0)[0])
    if moments.degree > HIGHEST_ORDER or not mean > 0:
        raise InvalidInput(
            f"cumulants need moments up to order {HIGHEST_ORDER} and a positive mean, "
            f"got order {moments.degree} and {mean}."
        )
    ratios = [moments.tensor(order) / mean for order in range(1, moments.degree + 1)]
    packed = [np.array([np.log(mean)])]
    for order in range(1, moments.degree + 1):
        tensor = ratios[order - 1] - _products(ratios, order)
        packed.append(tensor[tuple(multi_indices(moments.rank, order).T)])
    return HermiteMoments(moments.rank, moments.degree, np.concatenate(packed))


def with_mean(moments: HermiteMoments, mean: float) -> HermiteMoments:
    """The moments of the labels plus the constant that makes their mean `mean`: only order 0 changes."""
    return HermiteMoments(moments.rank, moments.degree, np.concatenate([[mean], moments.packed[1:]]))


def symmetrised(tensor: np.ndarray) -> np.ndarray:
    """The mean over all orders of the axes."""
    return np.mean([np.transpose(tensor, axes) for axes in permutations(range(tensor.ndim))], axis=0)


def _products(ratios: list[np.ndarray], order: int) -> np.ndarray:
    """What products of moments of lower orders contribute to the moment of this order."""
    if order == 1:
        return np.zeros_like(ratios[0])
    outer, first, second = np.multiply.outer, ratios[0], ratios[1]
    square = outer(first, first)
    if order == 2:
        return square
    if order == 3:
        return 3 * symmetrised(outer(first, second)) - 2 * outer(square, first)
    return (
        4 * symmetrised(outer(first, ratios[2]))
        + 3 * symmetrised(outer(second, second))
        - 12 * symmetrised(outer(square, second))
        + 6 * outer(square, square)
    )


@dataclass(frozen=True, eq=False)
class LayerStart:
    """Directions from tensors, with the evidence for them.

    Args:
        source: where the tensors came from.
        order: of the power iteration whose result was kept.
        units: directions, thresholds and coefficients in the coordinates of the samples.
        noise_angles: half the angle between what the two halves of the samples say, in radians, for every direction,
            and half of that between the spaces that they find all directions in.
        bias_angles: distance of every direction between the power iterations of different orders, in radians.
        eigenvalue_ratio: smallest eigenvalue of order 2 in units of its noise.
        most_neurons: eigenvalues of order 2 that may be more than noise.
        is_definite: whether order 2 has one sign.
        misfit: relative misfit of the tensors by powers of the directions.
        agreement: smallest share of random starts that ended at a direction that was taken.
    """

    source: str
    order: int
    units: OrientedUnits
    noise_angles: PerNeuron
    bias_angles: PerNeuron
    eigenvalue_ratio: float
    most_neurons: int
    is_definite: bool
    misfit: float
    agreement: float

    @property
    def angle(self) -> float:
        """Median over the directions of both errors together, in radians: an estimate, not a bound."""
        return float(np.median(np.hypot(self.noise_angles, self.bias_angles)))


def quiet_start(
    points: Points,
    is_active: PointMask,
    rng: np.random.Generator,
    *,
    neurons: int | None,
    rules: LayerStartRules = START_RULES,
) -> LayerStart:
    """Directions from the cumulants of the quiet samples, which fill ``<w_i, x> < t_i`` for all i.

    What stands above the units does not matter here, and products of units leave no bias if directions are orthogonal.

    Args:
        points: samples in coordinates in which they are standard Gaussian.
        is_active: whether any unit is active.
        rng: for power iteration.
        neurons: their number; eigenvalues above the noise if None.
        rules: which eigenvalues count.

    Raises:
        InvalidInput: if no eigenvalue stands out, or they differ in sign.
    """
    active = float(np.mean(is_active))
    # The rarer of the two classes has the smaller variance; a constant changes order 0 only.
    labels = (float(active > 0.5) - is_active).astype(np.float64)
    start = _start(
        points,
        labels,
        rng,
        neurons=neurons,
        rules=rules,
        read=lambda moments: hermite_cumulants(with_mean(moments, 1.0 - active)),
        orient=lambda cumulants, directions: oriented_by_cumulants(cumulants, directions, rules=rules.thresholds),
    )
    return replace(start, source="cumulants of quiet samples")


def moment_start(
    points: Points,
    labels: Labels,
    unit: Activation,
    rng: np.random.Generator,
    *,
    neurons: int | None,
    rules: LayerStartRules = START_RULES,
) -> LayerStart:
    """Find directions from the Hermite moments of the labels, as in [goel, Sec. 2.1].

    Args:
        points: samples in coordinates in which they are standard Gaussian.
        labels: without their offset.
        unit: whose thresholds are looked for.
        rng: draws the starts of power iteration.
        neurons: as many directions are looked for; those of eigenvalues above the noise if None.
        rules: which eigenvalues count.

    Raises:
        InvalidInput: if eigenvalues tell no directions.
    """
    start = _start(
        points,
        labels,
        rng,
        read=lambda moments: moments,
        orient=lambda moments, directions: oriented_by_moments(moments, directions, unit, rules=rules.thresholds),
        neurons=neurons,
        rules=rules,
    )
    return replace(start, source="moments of labels")


def _start(
    points: Points,
    labels: Labels,
    rng: np.random.Generator,
    *,
    neurons: int | None,
    rules: LayerStartRules,
    read: Read,
    orient: Callable[[HermiteMoments, Atoms], OrientedUnits],
) -> LayerStart:
    source, everywhere = ArraySource(points, labels), Coordinates.identity(points.shape[1])
    low = accumulate(source, LabelMoments(everywhere, 2)).finalise().of(read)
    basis, ratio, most_neurons = _subspace(low, neurons, rules)
    order = 4 if basis.shape[1] <= rules.largest_rank_of_order_4 else 3
    inside = accumulate(source, LabelMoments(everywhere.within(basis), order)).finalise().of(read)
    powered = _power_directions(inside.whole, rng)
    tensors = _tensors(inside.whole)
    misfits = {k: misfit_of(tensors, found.directions) for k, found in powered.items()}
    best = min(misfits, key=lambda k: misfits[k])
    fit = fit_directions(tensors, powered[best].directions)
    even, odd = (fit_directions(_tensors(half), fit.directions).directions for half in (inside.even, inside.odd))
    others = [found.directions for k, found in powered.items() if k != best] or [powered[best].directions]
    units = orient(inside.whole, fit.directions)
    return LayerStart(
        source="",
        order=best,
        units=replace(units, directions=units.directions @ basis.T),
        noise_angles=np.hypot(0.5 * _angles(even, odd), 0.5 * _subspace_angle(low, basis.shape[1])),
        bias_angles=np.min([nearest_angles(fit.directions, directions) for directions in others], axis=0),
        eigenvalue_ratio=ratio,
        most_neurons=most_neurons,
        is_definite=powered[best].whitening.is_definite,
        misfit=fit.misfit,
        agreement=float(np.min(powered[best].agreement)),
    )


def _subspace(
    low: Halved[HermiteMoments], neurons: int | None, rules: LayerStartRules
) -> tuple[Float64[np.ndarray, "inputs rank"], float, int]:
    """Leading eigenvectors of order 2 of the sign that dominates, the last eigenvalue, and how many may count."""
    second = low.whole.tensor(2)
    sign = 1.0 if np.trace(second) >= 0 else -1.0
    values, vectors = np.linalg.eigh(sign * second)
    values, vectors = values[::-1], vectors[:, ::-1]
    noise = float(np.linalg.norm(low.noise(lambda moments: moments.tensor(2)), ord=2)) or np.finfo(float).tiny
    if neurons is None:
        neurons = int(np.count_nonzero(values > rules.eigenvalue_factor * noise))
    if not 1 <= neurons <= len(values):
        raise InvalidInput(
            "neurons show themselves as eigenvalues of the moment of order 2 above "
            f"{rules.eigenvalue_factor:.0f} times its noise, and as many as inputs at most: the largest is "
            f"{values[0] / noise:.1f} times, neurons={neurons} of {len(values)}: give more samples, or fewer neurons."
        )
    return (
        vectors[:, :neurons],
        float(values[neurons - 1] / noise),
        int(np.count_nonzero(values > rules.doubtful_factor * noise)),
    )


def _subspace_angle(low: Halved[HermiteMoments], rank: int) -> float:
    """Largest angle between the spaces of the leading eigenvectors of order 2 of the two halves, in radians."""
    bases = []
    sign = 1.0 if np.trace(low.whole.tensor(2)) >= 0 else -1.0
    for half in (low.even, low.odd):
        bases.append(np.linalg.eigh(sign * half.tensor(2))[1][:, ::-1][:, :rank])
    cosines = np.linalg.svd(bases[0].T @ bases[1], compute_uv=False)
    return float(np.arccos(np.clip(np.min(cosines), 0.0, 1.0)))


def _power_directions(moments: HermiteMoments, rng: np.random.Generator) -> dict[int, PowerDirections]:
    """Power iterations of all orders there are."""
    second = moments.tensor(2)
    return {
        order: WhitenedPower()(second, moments.tensor(order), rng, rank=moments.rank)
        for order in range(3, moments.degree + 1)
    }


def _tensors(moments: HermiteMoments) -> list[np.ndarray]:
    return [moments.tensor(order) for order in range(2, moments.degree + 1)]


def _angles(directions: Atoms, others: Atoms) -> PerNeuron:
    """Angles between directions of the same number, up to sign."""
    return np.arccos(np.clip(np.abs(np.einsum("ni,ni->n", directions, others)), 0.0, 1.0))


def nearest_angles(directions: Atoms, others: Float64[np.ndarray, "more inputs"]) -> PerNeuron:
    """Angle of every direction to the nearest of some others, up to sign."""
    return np.arccos(np.clip(np.max(np.abs(directions @ others.T), axis=1), 0.0, 1.0))
