"""A union of half spaces that predicts: held-out samples choose how many, how sharp and how many labels are wrong.

More half spaces than needed are easier to fit than exactly as many: each finds its own side. Their number is therefore
doubled until held-out samples are explained no better, raised where samples of the union are still outside of all, and
then lowered one by one. Nothing is claimed about them here.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from unweave.activations import STEP
from unweave.arrays import Atoms, PerNeuron, PerPoint, PointMask, Points
from unweave.learn.lowest_layer.halfspace_fits import Flips, SoftRules, SoftUnion, fit_soft_union
from unweave.learn.lowest_layer.layer import ThresholdLayer
from unweave.samples.hermite.inputs import Coordinates
from unweave.samples.sources import DistinctRows


@dataclass(frozen=True, kw_only=True)
class CountRules:
    """How many half spaces are taken, if their number is not given.

    Args:
        most: that are tried; chosen, for the time.
        few: up to so many are few; chosen, for the time.
        least_gain: relative, of the held-out loss, that twice as many half spaces must bring; chosen.
        patience: so many times twice as many bring nothing before the search ends: two may do what one cannot; once
            less for many.
    """

    most: int = 32
    few: int = 8
    least_gain: float = 0.01
    patience: int = 2

    def allow(self, count: int, failed: int) -> bool:
        """Whether so many are tried, after twice as many brought nothing so many times in turn."""
        return count <= self.most and failed < self.patience - (count > self.few)


@dataclass(frozen=True, kw_only=True)
class Sharpening:
    """How labels are let change faster and be wrong, as far as held-out samples are explained better.

    Args:
        penalties: the penalty is one of these over twice the samples, in this order while held-out samples are
            explained better: 1 is a standard Gaussian prior of the slopes, and sharp labels need less of it; chosen.
        patience: so many penalties in turn bring nothing before the others are left out; chosen.
        steps: of L-BFGS for every penalty; chosen, for the time.
        corner: see `SoftRules`; chosen: half spaces are then joined almost as in a union.
        flips: shares of wrong labels that fits start from, at the least and at most; chosen, below one half.
    """

    penalties: tuple[float, ...] = (0.001, 0.01, 0.1, 1.0, 10.0)
    patience: int = 2
    steps: int = 80
    corner: float = 4.0
    flips: tuple[float, float] = (0.02, 0.4)


@dataclass(frozen=True, kw_only=True)
class UnionRules:
    """How a union is fitted for prediction.

    Args:
        most_samples: that choose the number and the sharpness of half spaces; all samples take part in the last fit;
            chosen, for the time.
        choosing_share: of them that are held out for it; customary.
        starts: random ones for every number above one; chosen, for the time.
        first_penalties: of the first fits; chosen: a large one lets half spaces vanish before each has found its side,
            a small one lets few samples be learnt by heart, so that only few samples are fitted with all of them.
        soft: fits of the smooth maximum, but for the penalty.
        fewer_steps: of L-BFGS after a half space was left out; chosen, for the time.
        standard_errors: of the held-out loss by which fewer half spaces may be worse; chosen: one, which is customary,
            left out small half spaces that accuracy needs.
        count: choice of the number.
        sharpening: choice of the sharpness.
        screening: samples and half spaces, at most, that decide which class is inside; chosen, for the time.
        rival: the other class is fitted to all samples as well if its loss there was not larger by this factor; chosen.
        far: threshold of a half space that is to hold no sample, in spreads of the inputs; chosen: no sample is so
            far from their mean.
        is_final: whether a last fit takes all samples.
    """

    most_samples: int = 10_000
    choosing_share: float = 0.3
    starts: int = 2
    first_penalties: tuple[float, ...] = (0.01, 1.0)
    soft: SoftRules = field(default_factory=SoftRules)
    fewer_steps: int = 40
    standard_errors: float = 0.1
    count: CountRules = field(default_factory=CountRules)
    sharpening: Sharpening = field(default_factory=Sharpening)
    screening: tuple[int, int] = (3_000, 8)
    rival: float = 1.2
    far: float = 1e6
    is_final: bool = True


UNION_RULES = UnionRules()


@dataclass(frozen=True, eq=False)
class _Sides:
    """Samples with a spread of about 1, whether each is in the union, and weights."""

    points: Points
    is_active: PointMask
    weights: PerPoint

    def __getitem__(self, chosen: np.ndarray) -> "_Sides":
        return _Sides(self.points[chosen], self.is_active[chosen], self.weights[chosen])

    def fit(self, slopes: Atoms, offsets: PerNeuron, rules: SoftRules, flips: Flips | None = None) -> SoftUnion:
        return fit_soft_union(
            self.points, self.is_active, slopes, offsets, weights=self.weights, flips=flips, rules=rules
        )

    def losses(self, union: SoftUnion) -> PerPoint:
        return union.losses(self.points, self.is_active)


@dataclass(frozen=True, eq=False)
class FittedUnion:
    """Half spaces for prediction.

    Args:
        layer: one step per half space, in the coordinates of the samples.
        loss: mean logistic loss of held-out samples, before these took part; infinite if none could be held out.
        held_out: numbers of these samples.
        held_layer: the half spaces before these samples took part.
        samples: of the choice.
    """

    layer: ThresholdLayer
    loss: float
    held_out: np.ndarray
    held_layer: ThresholdLayer
    samples: int

    @property
    def price(self) -> float:
        """The loss, and half a number that was fitted per sample: of two that are alike the simpler one is taken."""
        return self.loss + self.layer.directions.size / (2 * self.samples)


def fit_union(
    points: Points,
    is_active: PointMask,
    rng: np.random.Generator,
    *,
    neurons: int | None,
    weights: PerPoint | None = None,
    rules: UnionRules = UNION_RULES,
) -> FittedUnion:
    """Fit a union that predicts as well as logistic fits of its smooth maximum do.

    Args:
        points: samples of any distribution.
        is_active: whether a sample is in the union.
        rng: for subsamples, splits and starts.
        neurons: number of half spaces; chosen on held-out samples if None.
        weights: of the samples; 1 if None.
        rules: how many are tried, and how.
    """
    shares = np.ones(len(points)) if weights is None else weights / weights.mean()
    scale = points.std(axis=0)
    # Inputs that are constant say nothing, whatever their scale.
    coordinates = Coordinates(points.mean(axis=0), np.diag(1.0 / np.where(scale > 0, scale, 1.0)))
    every = _Sides(np.ascontiguousarray(coordinates.rows_of(points).T), is_active, shares)
    chosen = np.arange(len(points))
    if len(points) > rules.most_samples:
        chosen = rng.choice(len(points), rules.most_samples, replace=False)
    held, kept = (chosen[part] for part in DistinctRows.of(points[chosen]).split(rng, rules.choosing_share))
    if len(np.unique(is_active[kept])) < 2 or not len(held):
        union = _first_fit(every, rng, neurons or 1, _Penalty(rules.first_penalties[-1], rules.soft), rules)
        layer = _layer_of(union, coordinates, rules)
        return FittedUnion(layer, np.inf, held[:0], layer, len(chosen))
    union, settings = _chosen(every[kept], every[held], rng, neurons, rules)
    final = (
        union
        if not rules.is_final
        else every.fit(union.slopes, union.offsets, settings.over(every), union.flips if any(union.flips) else None)
    )
    loss = float(np.average(every[held].losses(union), weights=shares[held]))
    return FittedUnion(
        _layer_of(final, coordinates, rules), loss, held, _layer_of(union, coordinates, rules), len(chosen)
    )


def fit_either_union(
    points: Points,
    is_second: PointMask,
    rng: np.random.Generator,
    *,
    neurons: int | None,
    weights: PerPoint | None = None,
    rules: UnionRules = UNION_RULES,
) -> list[tuple[bool, FittedUnion]]:
    """Fit unions with either class inside.

    Returns:
        Whether the second class is the one inside, and the union: the better one first, the other one if it was near.
    """
    most_samples, most_halfspaces = rules.screening
    small = rules
    if len(points) > most_samples:
        count = replace(rules.count, most=most_halfspaces)
        small = replace(rules, most_samples=most_samples, count=count, is_final=False)

    def fit(side: bool, own: UnionRules) -> FittedUnion:
        return fit_union(points, is_second == side, rng, neurons=neurons, weights=weights, rules=own)

    found = sorted([(side, fit(side, small)) for side in (True, False)], key=lambda each: each[1].price)
    if small is rules:
        return found
    best = found[0][1].price
    return [(side, fit(side, rules)) for side, fitted in found if fitted.price <= rules.rival * best]


@dataclass(frozen=True)
class _Penalty:
    """Soft fits whose penalty shrinks with the number of samples."""

    penalty: float
    rules: SoftRules

    def over(self, sides: _Sides) -> SoftRules:
        return replace(self.rules, penalty=self.penalty / (2 * len(sides.points)))


def _chosen(
    kept: _Sides, held: _Sides, rng: np.random.Generator, neurons: int | None, rules: UnionRules
) -> tuple[SoftUnion, _Penalty]:
    """Half spaces, and how all samples are to be fitted from there."""
    if neurons is not None:
        return _started(kept, held, rng, neurons, rules)
    union, settings = _grown(kept, held, rng, rules)
    union = _completed(union, settings, kept, held, rng, rules)
    return _fewest(_thinned(union, settings, kept, held, rules), held, rules.standard_errors), settings


def _sharpened(
    union: SoftUnion, settings: _Penalty, kept: _Sides, held: _Sides, rules: UnionRules
) -> tuple[SoftUnion, _Penalty]:
    """Lower the penalty and let labels be wrong, as far as held-out samples are explained better."""
    sharpening = rules.sharpening
    best, failed, least = union, 0, _mean_loss(union, held)
    sharp = replace(rules.soft, corner=sharpening.corner, steps=sharpening.steps)
    for penalty in sharpening.penalties:
        tried = _Penalty(penalty, sharp)
        flips = np.clip(union.flips, *sharpening.flips)
        union = kept.fit(union.slopes, union.offsets, tried.over(kept), (float(flips[0]), float(flips[1])))
        loss = _mean_loss(union, held)
        failed = 0 if loss < least else failed + 1
        if loss < least:
            best, settings, least = union, tried, loss
        if failed >= sharpening.patience:
            break
    return best, settings


def _grown(kept: _Sides, held: _Sides, rng: np.random.Generator, rules: UnionRules) -> tuple[SoftUnion, _Penalty]:
    """Twice as many half spaces until held-out samples are explained no better."""
    best, least, count, failed = None, np.inf, 1, 0
    while best is None or rules.count.allow(count, failed):
        found = _started(kept, held, rng, count, rules)
        loss = _mean_loss(found[0], held)
        failed = 0 if loss < (1.0 - rules.count.least_gain) * least else failed + 1
        if best is None or loss < least:
            best, least = found, loss
        count *= 2
    return best


def _completed(
    union: SoftUnion, settings: _Penalty, kept: _Sides, held: _Sides, rng: np.random.Generator, rules: UnionRules
) -> SoftUnion:
    """Add a half space where samples of the union are outside of all, while held-out samples are explained better.

    Of eight that were started two may have found the same side of seven, and one side none of them.
    """
    centre = np.average(kept.points[~kept.is_active], axis=0, weights=kept.weights[~kept.is_active])
    failed, least = 0, _mean_loss(union, held)
    while failed < rules.count.patience and len(union.offsets) < rules.count.most:
        chances = kept.weights * (kept.is_active & (union.depths(kept.points) < 0.0))
        if not np.any(chances):
            return union
        target = rng.choice(kept.points, p=chances / chances.sum())
        away = (target - centre) / max(float(np.linalg.norm(target - centre)), np.finfo(float).tiny)
        slope = np.median(np.linalg.norm(union.slopes, axis=1)) * away
        slopes, offsets = np.vstack([union.slopes, slope]), np.append(union.offsets, slope @ target)
        tried = kept.fit(slopes, offsets, settings.over(kept), union.flips if any(union.flips) else None)
        loss = _mean_loss(tried, held)
        failed = 0 if loss < (1.0 - rules.count.least_gain) * least else failed + 1
        if loss < least:
            union, least = tried, loss
    return union


def _thinned(
    union: SoftUnion, settings: _Penalty, kept: _Sides, held: _Sides, rules: UnionRules
) -> Iterator[SoftUnion]:
    """The union, then with one half space less each time, until held-out samples suffer."""
    soft = replace(settings.over(kept), steps=rules.fewer_steps)
    least, suffered, union = np.inf, 0, _without_empty(union, kept)
    while suffered < rules.count.patience:
        yield union
        loss = _mean_loss(union, held)
        suffered = suffered + 1 if loss > (1.0 + rules.count.least_gain) * least else 0
        least = min(least, loss)
        if len(union.offsets) == 1:
            return
        left = np.arange(len(union.offsets)) != _least_needed(union, kept)
        union = kept.fit(union.slopes[left], union.offsets[left], soft, union.flips if any(union.flips) else None)


def _without_empty(union: SoftUnion, kept: _Sides) -> SoftUnion:
    """The half spaces that hold a sample, or one at the least."""
    largest = np.max(kept.points @ union.slopes.T - union.offsets, axis=0)
    holds = largest >= min(0.0, float(np.max(largest)))
    return replace(union, slopes=union.slopes[holds], offsets=union.offsets[holds])


def _least_needed(union: SoftUnion, kept: _Sides) -> int:
    """The half space without which the samples are explained best."""
    count = len(union.offsets)
    without = [
        replace(union, slopes=np.delete(union.slopes, i, 0), offsets=np.delete(union.offsets, i)) for i in range(count)
    ]
    losses = [_mean_loss(each, kept) for each in without]
    return int(np.argmin(losses))


def _fewest(unions: Iterator[SoftUnion], held: _Sides, standard_errors: float) -> SoftUnion:
    """The smallest one that is not clearly worse than the best."""
    tried = [(union, held.losses(union)) for union in unions]
    _, best = min(tried, key=lambda each: float(np.average(each[1], weights=held.weights)))
    for union, losses in reversed(tried):
        gap = losses - best
        error = float(np.sqrt(np.sum(held.weights**2 * (gap - gap.mean()) ** 2)) / np.sum(held.weights))
        if np.average(gap, weights=held.weights) <= standard_errors * error:
            return union
    return tried[0][0]


def _mean_loss(union: SoftUnion, held: _Sides) -> float:
    return float(np.average(held.losses(union), weights=held.weights))


def _started(
    kept: _Sides, held: _Sides, rng: np.random.Generator, count: int, rules: UnionRules
) -> tuple[SoftUnion, _Penalty]:
    """So many half spaces, from random starts, as sharp as held-out samples want them."""
    is_small = len(kept.points) <= rules.screening[0]
    penalties = rules.first_penalties if is_small else rules.first_penalties[:1]
    fits = []
    for settings in (_Penalty(penalty, rules.soft) for penalty in penalties):
        fits.append(_sharpened(_first_fit(kept, rng, count, settings, rules), settings, kept, held, rules))
    return min(fits, key=lambda fit: _mean_loss(fit[0], held))


def _first_fit(sides: _Sides, rng: np.random.Generator, count: int, settings: _Penalty, rules: UnionRules) -> SoftUnion:
    """The best fit from random starts."""
    starts = [_random_start(sides, rng, count) for _ in range(rules.starts if count > 1 else 1)]
    fits = [sides.fit(slopes, offsets, settings.over(sides)) for slopes, offsets in starts]
    return min(fits, key=lambda fit: fit.loss)


def _random_start(sides: _Sides, rng: np.random.Generator, count: int) -> tuple[Atoms, PerNeuron]:
    """Half spaces from the mean of the quiet samples towards random active ones."""
    quiet, active = ~sides.is_active, sides.is_active
    centre = np.average(sides.points[quiet], axis=0, weights=sides.weights[quiet])
    targets = np.average(sides.points[active], axis=0, weights=sides.weights[active])[None]
    if count > 1:
        shares = sides.weights[active] / sides.weights[active].sum()
        targets = rng.choice(sides.points[active], count, p=shares)
    slopes = targets - centre
    return slopes, np.einsum("ni,ni->n", slopes, 0.5 * (targets + centre))


def _layer_of(union: SoftUnion, coordinates: Coordinates, rules: UnionRules) -> ThresholdLayer:
    kept = np.linalg.norm(union.slopes, axis=1) > 0
    if not kept.any():
        # No direction tells the classes apart: a half space that no sample is in, so that all are of one class.
        inputs = union.slopes.shape[1]
        never = ThresholdLayer(np.eye(1, inputs), np.full(1, rules.far), np.full(1, np.nan), STEP)
        return never.pulled_back(coordinates)
    found = SoftUnion(union.slopes[kept], union.offsets[kept], 0.0)
    return ThresholdLayer(found.directions, found.thresholds, np.full(int(kept.sum()), np.nan), STEP).pulled_back(
        coordinates
    )
