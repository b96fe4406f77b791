"""Half spaces of a union from the sides of samples: a smooth fit of all, a linear programme per face, a fallback.

``log sum_i exp(<v_i, x> - b_i)`` is positive about where one of the half spaces ``<v_i, x> >= b_i`` contains x. Fitting
this smooth maximum needs no knowledge of which half space a sample belongs to, bears wrong labels and any distribution
of the inputs; it is less exact than linear programmes, which start from it.

An inactive sample is outside of every half space, and an active one that is far from all others belongs to the one that
is left. Near the boundary of one half space the samples are therefore labelled by it alone, and separating them is a
linear programme, which is as precise as the samples.

For prediction on any data `fit_union` chooses the number by held-out samples and claims nothing about the directions.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float64
from scipy import sparse
from scipy.optimize import linprog, minimize
from scipy.special import expit

from unweave.activations import STEP
from unweave.arrays import Atoms, PerNeuron, PerPoint, PointMask, Points, Vector
from unweave.learn.lowest_layer.layer import ThresholdLayer
from unweave.samples.hermite.inputs import Coordinates

Offsets = PerNeuron
Thresholds = PerNeuron


@dataclass(frozen=True, kw_only=True)
class SoftRules:
    """How the smooth maximum is fitted.

    Args:
        first_sharpness: of half spaces at the start: the smooth maximum then is off by a tenth of a spread of the
            inputs where two of them meet (``log(2) / 8``).
        penalty: of the squared entries of the slopes, relative to the loss of one sample; chosen: keeps half spaces
            that separate the samples finite.
        steps: of L-BFGS, at most; chosen, for the time.
    """

    first_sharpness: float = 8.0
    penalty: float = 1e-5
    steps: int = 150


@dataclass(frozen=True, kw_only=True)
class UnionRules:
    """How a union is fitted for prediction.

    Args:
        most_halfspaces: that are tried if their number is not given; chosen, for the time.
        starts: random ones for every number above one; chosen, for the time.
        choosing_share: of the samples that choose the number; customary.
        least_gain: relative, of the held-out loss, that another half space must bring; chosen.
        penalty_samples: the penalty is this over twice the samples: 1 for a standard Gaussian prior of the slopes,
            which is what small data sets need.
        most_samples: of a fit; chosen, for the time.
        far: threshold of a half space that is to hold no sample, in spreads of the inputs; chosen: no sample is so
            far from their mean.
        soft: fits of the smooth maximum, but for the penalty.
    """

    most_halfspaces: int = 4
    starts: int = 3
    choosing_share: float = 0.3
    least_gain: float = 0.02
    penalty_samples: float = 1.0
    most_samples: int = 20_000
    far: float = 1e6
    soft: SoftRules = field(default_factory=SoftRules)


SOFT_RULES, UNION_RULES = SoftRules(), UnionRules()


@dataclass(frozen=True, eq=False)
class SoftUnion:
    """Half spaces ``<v_i, x> >= b_i`` whose smooth maximum was fitted.

    Args:
        slopes: the v_i; their lengths say how sharp the labels change.
        offsets: the b_i.
        loss: mean logistic loss on the samples of the fit, without the penalty.
    """

    slopes: Atoms
    offsets: Offsets
    loss: float

    @property
    def directions(self) -> Atoms:
        """Unit vectors of the half spaces."""
        return self.slopes / np.linalg.norm(self.slopes, axis=1, keepdims=True)

    @property
    def thresholds(self) -> Offsets:
        """Distances of the half spaces from the origin."""
        return self.offsets / np.linalg.norm(self.slopes, axis=1)

    def depths(self, points: Points) -> PerPoint:
        """The smooth maximum: log-odds of being in the union."""
        return np.logaddexp.reduce(points @ self.slopes.T - self.offsets, axis=1)


def logistic_loss(depths: PerPoint, is_active: PointMask) -> float:
    """Mean of ``log(1 + exp(-depth))`` for samples in the union and of ``log(1 + exp(depth))`` for others."""
    return float(np.mean(np.logaddexp(0.0, np.where(is_active, -depths, depths))))


def fit_soft_union(
    points: Points,
    is_active: PointMask,
    slopes: Atoms,
    offsets: Offsets,
    *,
    rules: SoftRules = SOFT_RULES,
) -> SoftUnion:
    """Minimise the logistic loss of the smooth maximum from a start.

    Args:
        points: samples, of a spread of about 1.
        is_active: whether a sample is in the union.
        slopes: start; unit directions times a sharpness.
        offsets: start; thresholds times the sharpness.
        rules: penalty and steps.

    Guarantees: a local minimum or the last step; never worse than the start.
    """
    shape, sides = slopes.shape, np.where(is_active, 1.0, -1.0)

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        v, b = flat[: slopes.size].reshape(shape), flat[slopes.size :]
        arguments = points @ v.T - b
        depths = np.logaddexp.reduce(arguments, axis=1)
        loss = float(np.mean(np.logaddexp(0.0, -sides * depths)) + rules.penalty * np.sum(v**2))
        pull = -sides * expit(-sides * depths) / len(points)
        shares = pull[:, None] * np.exp(arguments - depths[:, None])
        gradient = np.concatenate([(shares.T @ points + 2 * rules.penalty * v).ravel(), -shares.sum(axis=0)])
        return loss, gradient

    start = np.concatenate([slopes.ravel(), offsets])
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": rules.steps}).x
    v, b = found[: slopes.size].reshape(shape), found[slopes.size :]
    union = SoftUnion(v, b, 0.0)
    return SoftUnion(v, b, logistic_loss(union.depths(points), is_active))


@dataclass(frozen=True, eq=False)
class Face:
    """A half space ``<direction, x> >= threshold`` and how well it separates the points of its programme.

    Args:
        direction: unit vector.
        threshold: its distance from the origin.
        misplaced: share of the points that are on the wrong side.
        margin: distance of all other points from the boundary, if none is misplaced.
    """

    direction: Vector
    threshold: float
    misplaced: float
    margin: float


@dataclass(frozen=True, eq=False)
class PolishedFaces:
    """Half spaces after the last band.

    Args:
        directions: unit vectors, one per half space.
        thresholds: one per half space.
        moved: angle in radians between every direction and its start.
        misplaced: share of misplaced points in the last programme of every half space.
        widths: half width of the last band of every half space; not finite if it had too few points for one.
    """

    directions: Atoms
    thresholds: Thresholds
    moved: PerNeuron
    misplaced: PerNeuron
    widths: PerNeuron


def separating_face(points: Points, is_above: PointMask, direction: Vector, threshold: float) -> Face:
    """The half space near a given one that separates points best.

    Maximises ``margin - sum of slacks`` of ``<w, x> - t >= margin`` above and ``<= -margin`` below, with
    ``<w, direction> = 1``: the widest margin if the points can be separated, and the least total violation otherwise.

    Args:
        points: near the boundary.
        is_above: the side of each.
        direction: a unit vector near the one that is looked for.
        threshold: likewise.
    """
    count, inputs = points.shape
    arguments = points @ direction - threshold
    scale = float(np.max(np.abs(arguments), initial=0.0)) or 1.0
    signs = np.where(is_above, 1.0, -1.0)
    # Unknowns: change of the direction within its orthogonal complement, change of the threshold, margin, slacks.
    tangent = np.linalg.qr(np.column_stack([direction, np.eye(inputs)]))[0][:, 1:]
    known = np.column_stack([-signs[:, None] * (points @ tangent), signs, np.ones(count)])
    programme = linprog(
        np.concatenate([np.zeros(inputs), [-1.0], np.ones(count)]),
        A_ub=sparse.hstack([sparse.csr_array(known), -sparse.eye_array(count)], format="csr"),
        b_ub=signs * arguments / scale,
        bounds=[(None, None)] * inputs + [(0.0, None)] * (count + 1),
        method="highs",
    )
    if programme.x is None:
        return Face(direction, threshold, 1.0, 0.0)
    change, shift, margin = programme.x[: inputs - 1], programme.x[inputs - 1], programme.x[inputs]
    found = direction + scale * tangent @ change
    size = float(np.linalg.norm(found))
    found, level = found / size, (threshold + scale * shift) / size
    misplaced = float(np.mean(((points @ found - level) >= 0) != is_above))
    return Face(found, float(level), misplaced, float(scale * margin / size))


@dataclass(frozen=True)
class HalfspaceProgramme:
    """Settings of the polish.

    Args:
        rounds: bands per half space, narrower each time; chosen, for the time.
        points: largest number of points per side in one programme; chosen, for the time.
        first_width: half width of the first band, in spreads of the inputs: wide enough for starts that are ten degrees
            off, two spreads from where they cross the true boundary (``2 tan(10 degrees)``).
        band_per_step: a band is this many times as wide as the last step was long; chosen, so that it holds the
            boundary that is looked for.
        shrinkage: share of the last band that the next one has at the least, whatever the step; chosen.
        guard: points of other half spaces stay away by this share of the width of the band, and by so many spreads of
            the inputs at the least; chosen.
        points_per_input: on either side, below which nothing is learnt about a face; chosen: a face has as many
            unknowns as there are inputs.
    """

    rounds: int = 5
    points: int = 1_000
    first_width: float = 0.35
    band_per_step: float = 8.0
    shrinkage: float = 0.1
    guard: tuple[float, float] = (0.5, 0.02)
    points_per_input: int = 3

    def __call__(
        self, points: Points, is_active: PointMask, directions: Atoms, thresholds: Thresholds, rng: np.random.Generator
    ) -> PolishedFaces:
        """Polish all half spaces of a union at once, round by round, so that each knows where the others are now.

        Args:
            points: samples, in coordinates in which they have a spread of about 1.
            is_active: whether a sample is in the union.
            directions: unit vectors near the true ones, pointing into the half spaces.
            thresholds: near the true ones.
            rng: chooses points where there are more than needed.

        Assumes: every half space has samples that no other contains.
        Guarantees: heuristic; for labels without noise, errors of order ``inputs / (samples * density)``.
        """
        start, found, levels = directions, directions.copy(), thresholds.copy()
        widths, misplaced = np.full(len(directions), self.first_width), np.ones(len(directions))
        is_done = np.zeros(len(directions), dtype=bool)
        for _ in range(self.rounds):
            arguments = points @ found.T - levels
            nearest_other = _largest_of_others(arguments)
            for i in map(int, np.flatnonzero(~is_done)):
                chosen, is_all = self._band(arguments[:, i], nearest_other(i), is_active, widths[i], rng)
                if not self._is_enough(is_active[chosen], points.shape[1]):
                    is_done[i], widths[i] = True, np.inf if misplaced[i] == 1.0 else widths[i]
                    continue
                face = separating_face(points[chosen], is_active[chosen], found[i], float(levels[i]))
                step = float(np.linalg.norm(face.direction - found[i]) + abs(face.threshold - levels[i]))
                found[i], levels[i], misplaced[i] = face.direction, face.threshold, face.misplaced
                # A band that was searched completely has nothing more to say once it moves the face no more.
                is_done[i] = is_all and self.band_per_step * step < widths[i]
                if not is_done[i]:
                    widths[i] = np.clip(self.band_per_step * step, self.shrinkage * widths[i], widths[i])
        moved = 2 * np.arcsin(np.clip(np.linalg.norm(found - start, axis=1) / 2, 0.0, 1.0))
        return PolishedFaces(found, levels, moved, misplaced, widths)

    def _band(
        self,
        argument: PerPoint,
        nearest_other: PerPoint,
        is_active: PointMask,
        width: float,
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, bool]:
        """Points near the boundary that are labelled by this half space alone, and whether these are all."""
        guard = max(self.guard[1], self.guard[0] * width)
        near = np.flatnonzero((np.abs(argument) <= width) & (~is_active | (nearest_other < -guard)))
        sides = [near[is_active[near]], near[~is_active[near]]]
        chosen = [side if len(side) <= self.points else rng.choice(side, self.points, replace=False) for side in sides]
        return np.concatenate(chosen), all(len(side) <= self.points for side in sides)

    def _is_enough(self, is_active: PointMask, inputs: int) -> bool:
        fewest = min(np.count_nonzero(is_active), np.count_nonzero(~is_active))
        return bool(fewest >= self.points_per_input * inputs)


def _largest_of_others(
    arguments: Float64[np.ndarray, "points neurons"],
) -> Callable[[int], PerPoint]:
    """For every half space the largest argument of the others, from the two largest of all."""
    if arguments.shape[1] == 1:
        return lambda i: np.full(len(arguments), -np.inf)  # noqa: ARG005 - there is only one
    top = np.argmax(arguments, axis=1)
    two = np.partition(arguments, -2, axis=1)[:, -2:]
    return lambda i: np.where(top == i, two[:, 0], two[:, 1])


def fit_union(
    points: Points,
    is_active: PointMask,
    rng: np.random.Generator,
    *,
    neurons: int | None,
    rules: UnionRules = UNION_RULES,
) -> ThresholdLayer:
    """Fit a union that predicts as well as logistic fits of its smooth maximum do.

    Args:
        points: samples of any distribution.
        is_active: whether a sample is in the union.
        rng: for subsamples, splits and starts.
        neurons: number of half spaces; chosen on held-out samples if None.
        rules: how many are tried, and how.
    """
    if len(points) > rules.most_samples:
        chosen = rng.choice(len(points), rules.most_samples, replace=False)
        points, is_active = points[chosen], is_active[chosen]
    scale = points.std(axis=0)
    # Inputs that are constant say nothing, whatever their scale.
    coordinates = Coordinates(points.mean(axis=0), np.diag(1.0 / np.where(scale > 0, scale, 1.0)))
    white = np.ascontiguousarray(coordinates.rows_of(points).T)
    count = neurons if neurons is not None else _chosen_count(white, is_active, rng, rules)
    union = _best_union(white, is_active, rng, count, rules)
    kept = np.linalg.norm(union.slopes, axis=1) > 0
    if not kept.any():
        # No direction tells the classes apart: a half space that no sample is in, so that all are of one class.
        never = ThresholdLayer(np.eye(1, points.shape[1]), np.full(1, rules.far), np.full(1, np.nan), STEP)
        return never.pulled_back(coordinates)
    layer = ThresholdLayer(union.directions[kept], union.thresholds[kept], np.full(int(kept.sum()), np.nan), STEP)
    return layer.pulled_back(coordinates)


def _chosen_count(points: Points, is_active: PointMask, rng: np.random.Generator, rules: UnionRules) -> int:
    """The smallest number whose held-out loss no larger number lowers by much."""
    held = np.zeros(len(points), dtype=bool)
    held[rng.choice(len(points), int(rules.choosing_share * len(points)), replace=False)] = True
    if len(np.unique(is_active[~held])) < 2 or not held.any():
        return 1
    best, chosen = np.inf, 1
    for count in range(1, rules.most_halfspaces + 1):
        union = _best_union(points[~held], is_active[~held], rng, count, rules)
        loss = logistic_loss(union.depths(points[held]), is_active[held])
        if loss < (1.0 - rules.least_gain) * best:
            best, chosen = loss, count
    return chosen


def _best_union(
    points: Points, is_active: PointMask, rng: np.random.Generator, count: int, rules: UnionRules
) -> SoftUnion:
    soft = replace(rules.soft, penalty=rules.penalty_samples / (2 * len(points)))
    fits = []
    for _ in range(rules.starts if count > 1 else 1):
        slopes, offsets = _random_start(points, is_active, rng, count)
        fits.append(fit_soft_union(points, is_active, slopes, offsets, rules=soft))
    return min(fits, key=lambda fit: fit.loss)


def _random_start(
    points: Points, is_active: PointMask, rng: np.random.Generator, count: int
) -> tuple[Atoms, PerNeuron]:
    """Half spaces from the mean of the quiet samples towards random active ones."""
    centre = points[~is_active].mean(axis=0)
    targets = points[is_active].mean(axis=0)[None]
    if count > 1:
        targets = rng.choice(points[is_active], count)
    slopes = targets - centre
    return slopes, np.einsum("ni,ni->n", slopes, 0.5 * (targets + centre))
