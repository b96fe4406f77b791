"""Half spaces of a union from the sides of samples: all at once by a logistic fit, then one by one.

``log sum_i exp(<v_i, x> - b_i)`` is positive about where one of the half spaces ``<v_i, x> >= b_i`` contains x. Fitting
this smooth maximum needs no knowledge of which half space a sample belongs to and any distribution of the inputs does.
Shares of flipped labels may be fitted along, so that half spaces stay sharp where labels are wrong.

From a near start, an inactive sample is outside of every half space, and an active one that is far from all others
belongs to the one that is left. Near the boundary of one half space samples are labelled by it alone, and separating
them is a linear programme, which is as precise as the samples.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Float64
from scipy import sparse
from scipy.special import expit, logit

from unweave.arrays import Atoms, PerNeuron, PerPoint, PointMask, Points, Vector
from unweave.learn.lowest_layer.directions import OrientedUnits

# Share of the samples outside of the union that are labelled as inside of it, and the reverse.
Flips = tuple[float, float]
# Steps of a line search may go far out: shares beyond this are as good as 0 or one half.
LARGEST_LOGIT = 40.0


@dataclass(frozen=True, kw_only=True)
class SoftRules:
    """How the smooth maximum is fitted.

    Args:
        first_sharpness: of half spaces at the start: the smooth maximum then is off by a tenth of a spread of the
            inputs where two of them meet (``log(2) / 8``).
        penalty: of the squared entries of the slopes, relative to the loss of one sample; chosen: keeps half spaces
            that separate the samples finite.
        steps: of L-BFGS, at most; chosen, for the time.
        corner: how many times sharper the maximum is than the sides, so that the smooth maximum of half spaces is near
            to their union where they meet; 1 is the smoothest, which starts far away need.
    """

    first_sharpness: float = 8.0
    penalty: float = 1e-5
    steps: int = 150
    corner: float = 1.0


@dataclass(frozen=True, eq=False)
class SoftUnion:
    """Half spaces ``<v_i, x> >= b_i`` whose smooth maximum was fitted.

    Args:
        slopes: the v_i; their lengths say how sharp the labels change.
        offsets: the b_i.
        loss: mean logistic loss on the samples of the fit, without the penalty.
        flips: shares of wrong labels outside and inside of the union.
        corner: see `SoftRules`.
    """

    slopes: Atoms
    offsets: PerNeuron
    loss: float
    flips: Flips = (0.0, 0.0)
    corner: float = 1.0

    @property
    def directions(self) -> Atoms:
        """Unit vectors of the half spaces."""
        return self.slopes / np.linalg.norm(self.slopes, axis=1, keepdims=True)

    @property
    def thresholds(self) -> PerNeuron:
        """Distances of the half spaces from the origin."""
        return self.offsets / np.linalg.norm(self.slopes, axis=1)

    def depths(self, points: Points) -> PerPoint:
        """The smooth maximum: log-odds of being in the union."""
        return smooth_maximum(points @ self.slopes.T - self.offsets, self.corner)[0]

    def losses(self, points: Points, is_active: PointMask) -> PerPoint:
        """Compute the logistic loss of every sample, with flipped labels as likely as was fitted."""
        sides = np.where(is_active, 1.0, -1.0) * self.depths(points)
        if not any(self.flips):
            return np.logaddexp(0.0, -sides)
        return -np.log(np.where(is_active, *self.flips) + (1.0 - sum(self.flips)) * expit(sides))


def smooth_maximum(
    arguments: Float64[np.ndarray, "points neurons"], corner: float
) -> tuple[PerPoint, Float64[np.ndarray, "points neurons"]]:
    """Compute ``log sum_i exp(corner a_i) / corner`` of every row, and its derivatives."""
    largest = np.max(arguments, axis=1)
    shares = np.exp(corner * (arguments - largest[:, None]))
    sums = shares.sum(axis=1)
    return largest + np.log(sums) / corner, shares / sums[:, None]


def fit_soft_union(
    points: Points,
    is_active: PointMask,
    slopes: Atoms,
    offsets: PerNeuron,
    *,
    rules: SoftRules,
    weights: PerPoint | None = None,
    flips: Flips | None = None,
) -> SoftUnion:
    """Minimise the logistic loss of the smooth maximum from a start.

    Args:
        points: samples, of a spread of about 1.
        is_active: whether a sample is in the union.
        slopes: start; unit directions times a sharpness.
        offsets: start; thresholds times the sharpness.
        rules: penalty and steps.
        weights: of the samples; 1 if None.
        flips: shares of wrong labels to start from, which are then fitted as well; None if no label is wrong.

    Guarantees: a local minimum or the last step; never worse than the start.
    """
    weights = np.ones(len(points)) if weights is None else weights
    objective = _objective(points, is_active, weights / weights.sum(), float(weights.sum()), slopes.shape, rules)
    start = np.concatenate([slopes.ravel(), offsets, [] if flips is None else logit(2 * np.array(flips))])
    found = scipy.optimize.minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": rules.steps}).x
    v, b, tail = np.split(found, [slopes.size, slopes.size + len(offsets)])
    fitted = (0.0, 0.0) if flips is None else (0.5 * float(expit(tail[0])), 0.5 * float(expit(tail[1])))
    union = SoftUnion(v.reshape(slopes.shape), b, 0.0, fitted, rules.corner)
    loss = float(np.average(union.losses(points, is_active), weights=weights))
    return SoftUnion(union.slopes, b, loss, fitted, rules.corner)


def _objective(
    points: Points, is_active: PointMask, shares: PerPoint, total: float, shape: tuple[int, ...], rules: SoftRules
) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Loss and gradient of slopes, offsets and, if there are any after these, flips."""
    sides, size, count = np.where(is_active, 1.0, -1.0), shape[0] * shape[1], shape[0]

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        v, b, tail = np.split(flat, [size, size + count])
        v = v.reshape(shape)
        depths, parts = smooth_maximum(points @ v.T - b, rules.corner)
        right = expit(sides * depths)
        if not len(tail):
            losses, pull, rest, change = np.logaddexp(0.0, -sides * depths), -sides * expit(-sides * depths), 0.0, tail
        else:
            # One wrong label of either kind is taken for seen, so that no share ends at zero.
            tail = np.clip(tail, -LARGEST_LOGIT, LARGEST_LOGIT)
            flips, sure = 0.5 * expit(tail), 1.0 - np.sum(expit(tail)) / 2
            chances = np.where(is_active, *flips) + sure * right
            losses, pull = -np.log(chances), -sides * sure * right * (1.0 - right) / chances
            inside = expit(depths)
            slopes = [-(shares * sides / chances) @ (1.0 - inside), (shares * sides / chances) @ inside]
            change = (np.array(slopes) - 1.0 / (total * flips)) * flips * (1.0 - expit(tail))
            rest = -float(np.sum(np.log(flips))) / total
        parts = (shares * pull)[:, None] * parts
        gradient = np.concatenate([(parts.T @ points + 2 * rules.penalty * v).ravel(), -parts.sum(axis=0), change])
        return float(shares @ losses + rules.penalty * np.sum(v**2) + rest), gradient

    return objective


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
    thresholds: PerNeuron
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
    programme = scipy.optimize.linprog(
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
class Bands:
    """How near to the boundary of a half space points are looked at.

    Args:
        first: half width of the first band, in spreads of the inputs: wide enough for starts that are ten degrees off,
            two spreads from where they cross the true boundary (``2 tan(10 degrees)``).
        per_step: a band is this many times as wide as the last step was long; chosen, so that it holds the boundary
            that is looked for.
        least_share: of the last band that the next one has, whatever the step; chosen.
        guard: points of other half spaces stay away by this share of the width of the band, and by so many spreads of
            the inputs at the least; chosen.
    """

    first: float = 0.35
    per_step: float = 8.0
    least_share: float = 0.1
    guard: tuple[float, float] = (0.5, 0.02)

    def narrowed(self, width: float, step: float) -> float:
        """Half width of the band after this one."""
        return float(np.clip(self.per_step * step, self.least_share * width, width))


@dataclass(frozen=True)
class HalfspaceProgramme:
    """Settings of the polish.

    Args:
        rounds: bands per half space, narrower each time; chosen, for the time.
        bands: how wide they are.
        points: largest number of points per side in one programme; chosen, for the time.
        points_per_input: on either side, below which nothing is learnt about a face; chosen: a face has as many
            unknowns as there are inputs.
    """

    rounds: int = 5
    bands: Bands = field(default_factory=Bands)
    points: int = 1_000
    points_per_input: int = 3

    def __call__(
        self, points: Points, is_active: PointMask, directions: Atoms, thresholds: PerNeuron, rng: np.random.Generator
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
        widths, misplaced = np.full(len(directions), self.bands.first), np.ones(len(directions))
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
                is_done[i] = is_all and self.bands.per_step * step < widths[i]
                if not is_done[i]:
                    widths[i] = self.bands.narrowed(widths[i], step)
        moved = 2 * np.arcsin(np.clip(np.linalg.norm(found - start, axis=1) / 2, 0.0, 1.0))
        return PolishedFaces(found, levels, moved, misplaced, widths)

    def misplaced_next_to(
        self, points: Points, is_active: PointMask, directions: Atoms, thresholds: PerNeuron
    ) -> PerNeuron:
        """Share of the points of the first band of every half space that are on the wrong side of it; 1 without any."""
        arguments = points @ directions.T - thresholds
        nearest_other, shares = _largest_of_others(arguments), np.ones(len(directions))
        for i in range(len(directions)):
            near = self._near(arguments[:, i], nearest_other(i), is_active, self.bands.first)
            if len(near):
                shares[i] = np.mean((arguments[near, i] >= 0) != is_active[near])
        return shares

    def _near(self, argument: PerPoint, nearest_other: PerPoint, is_active: PointMask, width: float) -> np.ndarray:
        """Points near the boundary that are labelled by this half space alone."""
        guard = max(self.bands.guard[1], self.bands.guard[0] * width)
        return np.flatnonzero((np.abs(argument) <= width) & (~is_active | (nearest_other < -guard)))

    def _band(
        self, argument: PerPoint, nearest_other: PerPoint, is_active: PointMask, width: float, rng: np.random.Generator
    ) -> tuple[np.ndarray, bool]:
        """Some of the points near the boundary, and whether these are all."""
        near = self._near(argument, nearest_other, is_active, width)
        sides = [near[is_active[near]], near[~is_active[near]]]
        chosen = [side if len(side) <= self.points else rng.choice(side, self.points, replace=False) for side in sides]
        return np.concatenate(chosen), all(len(side) <= self.points for side in sides)

    def _is_enough(self, is_active: PointMask, inputs: int) -> bool:
        fewest = min(np.count_nonzero(is_active), np.count_nonzero(~is_active))
        return bool(fewest >= self.points_per_input * inputs)


def _largest_of_others(arguments: Float64[np.ndarray, "points neurons"]) -> Callable[[int], PerPoint]:
    """For every half space the largest argument of the others, from the two largest of all."""
    if arguments.shape[1] == 1:
        return lambda i: np.full(len(arguments), -np.inf)  # noqa: ARG005 - there is only one
    top = np.argmax(arguments, axis=1)
    two = np.partition(arguments, -2, axis=1)[:, -2:]
    return lambda i: np.where(top == i, two[:, 0], two[:, 1])


@dataclass(frozen=True, kw_only=True)
class FacePolish:
    """Fit all half spaces of a union at once, smoothly, then each by linear programmes.

    Args:
        soft_samples: of either side for the smooth fit of all half spaces at once; chosen, for the time.
        soft: the smooth fit.
        passes: of linear programmes, at most.
        clean_share: of points on the wrong side up to which no other one follows; chosen.
        still: how far a direction moves at most, then, too; chosen.
        programme: the linear programmes.
    """

    soft_samples: int = 10_000
    soft: SoftRules = field(default_factory=SoftRules)
    passes: int = 2
    clean_share: float = 1e-3
    still: float = 1e-3
    programme: HalfspaceProgramme = field(default_factory=HalfspaceProgramme)

    def __call__(
        self, points: Points, is_active: PointMask, units: OrientedUnits, rng: np.random.Generator
    ) -> tuple[OrientedUnits, PerNeuron]:
        """Polish half spaces; also gives the share of misplaced points in the last programme of each."""
        directions, thresholds = self._all_at_once(points, is_active, units, rng)
        misplaced = np.ones(len(directions))
        for _ in range(self.passes):
            faces = self.programme(points, is_active, directions, thresholds, rng)
            directions, thresholds, misplaced = faces.directions, faces.thresholds, faces.misplaced
            if np.max(faces.misplaced) < self.clean_share or np.max(faces.moved) < self.still:
                break
        return OrientedUnits(directions, thresholds, units.coefficients), misplaced

    def _all_at_once(
        self, points: Points, is_active: PointMask, units: OrientedUnits, rng: np.random.Generator
    ) -> tuple[Atoms, PerNeuron]:
        """All half spaces on as many active as quiet samples, for starts whose thresholds are far off."""
        most, sides = self.soft_samples, (np.flatnonzero(is_active), np.flatnonzero(~is_active))
        chosen = np.concatenate(
            [side if len(side) <= most else rng.choice(side, most, replace=False) for side in sides]
        )
        slopes, offsets = (self.soft.first_sharpness * each for each in (units.directions, units.thresholds))
        soft = fit_soft_union(points[chosen], is_active[chosen], slopes, offsets, rules=self.soft)
        return soft.directions, soft.thresholds
