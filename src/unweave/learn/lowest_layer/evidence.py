"""What held-out samples say about every neuron of a lowest layer, and the settings that decide what follows."""

from dataclasses import dataclass, field, replace

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Bool, Float64

from unweave.arrays import Atoms, PerNeuron, PerPoint, PointMask, Points, Vector
from unweave.learn.lowest_layer.layer import largest_missing, upper_count
from unweave.learn.lowest_layer.sample_rules import SampleRules
from unweave.result import Diagnostic, at_least, at_most

Thresholds = PerNeuron


@dataclass(frozen=True, eq=False)
class FaceEvidence:
    """What held-out sides of a union of half spaces say.

    Args:
        angles: upper estimate of the error of every direction in radians; infinite for directions without samples.
        disagreement: share of all samples on the wrong side.
        noise: share of samples that are quiet although they lie deep inside of a half space.
        quiet_noise: share of samples that are active although they lie far outside of all.
        unexplained: mass of the latter beyond the noise, in units of the mass of the rarest half space.
        is_unexplained_significant: whether that mass is more than chance.
        noise_chance: probability that wrong labels far from all boundaries are spread over the inputs as these are, if
            they are accidents.
        own: active samples that only this half space explains, less those that noise explains, one per half space.
        wrong_share: upper limit of `disagreement` for all inputs.
        missing_share: upper limit of the share of inputs that are active and in no half space.
    """

    angles: PerNeuron
    disagreement: float
    noise: float
    quiet_noise: float
    unexplained: float
    is_unexplained_significant: bool
    noise_chance: float
    own: PerNeuron
    wrong_share: float
    missing_share: float


@dataclass(frozen=True, kw_only=True)
class LabelNoise:
    """How much noise labels of two classes may have, seen as wrong ones far from all faces.

    Args:
        largest: share above which it is not noise any more; chosen: half of the share that labels drawn at random have.
        none: share up to which labels count as free of it; chosen.
        excused: misplaced points next to a face that it excuses, in units of its share elsewhere; chosen.
    """

    largest: float = 0.25
    none: float = 1e-4
    excused: float = 1.5

    def excuses(self, share: float) -> float:
        """The share of misplaced points next to a face that noise of this share excuses."""
        return 0.0 if share <= self.none else self.excused * share


@dataclass(frozen=True)
class LowestLayerEvidence:
    """Settings of the evidence, which decide what may be claimed about the neurons. Angles are in radians.

    Args:
        band: half width of the band around a face whose samples judge it, in standard deviations of the inputs, and the
            distance that other faces keep from these samples; chosen.
        calibration: factor of estimated angles: those of unions were up to this factor too small in simulations with
            known errors and ten neurons.
        confidence: of upper limits; customary.
        least_squares_confidence: of limits of angles by least squares, for which no factor was calibrated; chosen:
            one limit of a thousand is too small.
        fewest_in_band: samples of a band below which a face is not judged; chosen.
        largest_angle: estimated angle above which neurons are not claimed; chosen.
        missing_share: mass of active samples that no neuron explains, in units of the mass of the rarest one, above
            which one is missing; chosen.
        significant: standard errors by which that mass must exceed what chance explains; chosen: normal errors do so
            three times in 100,000.
        noise: how much noise labels of two classes may have.
        flat_share: share of misplaced points next to a face above which it is not flat, for labels without noise;
            chosen.
        least_chance: probability below which wrong labels are no accidents; chosen: false alarms only withhold claims.
        exact_residual: of exact labels in units of their spread, below which a fit is exact; chosen, well above
            rounding.
        duplicate_factor: neurons nearer to each other than this many estimated errors may be one that was found
            twice; chosen: three standard errors are customary.
        largest_noise_ratio: residual of noisy labels where one unit is active alone, in units of the noise, above
            which the unit is wrong; chosen.
        samples: which are needed, and which judge.
        resolution: angle between neurons that noisy labels of relu, or moments, may take for one; chosen: pairs that a
            campaign found merged were up to 31 degrees apart.
        fewest_own: held-out samples that a half space must explain alone; chosen: twice the three that show, at 95 %, a
            half space that is missing.
    """

    band: tuple[float, float] = (0.5, 0.1)
    calibration: float = 1.25
    confidence: float = 0.95
    least_squares_confidence: float = 0.999
    fewest_in_band: int = 30
    largest_angle: float = float(np.radians(10.0))
    missing_share: float = 0.25
    significant: float = 4.0
    noise: LabelNoise = field(default_factory=LabelNoise)
    flat_share: float = 0.003
    least_chance: float = 1e-3
    exact_residual: float = 1e-8
    duplicate_factor: float = 3.0
    largest_noise_ratio: float = 1.5
    samples: SampleRules = field(default_factory=SampleRules)
    resolution: float = float(np.radians(45.0))
    fewest_own: float = 6.0

    def face_evidence(
        self, points: Points, is_active: PointMask, directions: Atoms, thresholds: Thresholds
    ) -> FaceEvidence:
        """Judge the half spaces of a union by samples that they were not fitted to.

        Near the boundary of a half space that is off by an angle a, samples are on the wrong side with a mass of
        ``density E|<v, x>| a`` for the direction v of the error. The density of samples at the boundary is counted, and
        the mean is taken along the direction in which these samples spread least. Labels that are wrong for other
        reasons show themselves far from the boundaries, and are taken off.

        Guarantees: heuristic; the factor was calibrated with ten directions. A wrong threshold counts as an angle.
        """
        arguments = points @ directions.T - thresholds
        owner, depth = np.argmax(arguments, axis=1), np.max(arguments, axis=1)
        is_wrong = (depth >= 0) != is_active
        width, guard = self.band
        deep, outside = depth > width, depth < -width
        noise = _share(is_wrong & deep, deep)
        quiet_noise = _share(is_wrong & outside, outside)
        second = np.partition(arguments, -2, axis=1)[:, -2] if len(directions) > 1 else np.full(len(points), -np.inf)
        near = (np.abs(depth) <= width) & (second < -guard)
        angles = np.array(
            [
                self._angle(points, near & (owner == i), is_wrong, min(noise, quiet_noise), directions, i)
                for i in range(len(directions))
            ]
        )
        alone = is_active & (depth >= 0) & (second < 0)
        own = [float(np.sum(alone & (owner == i))) - quiet_noise * np.sum(owner == i) for i in range(len(directions))]
        rarest = min((float(np.mean(arguments[:, i] >= 0)) for i in range(len(directions))), default=0.0)
        excess, chance = _excess_outside(is_wrong, deep=deep, outside=outside, noise=noise)
        return FaceEvidence(
            angles=angles,
            disagreement=float(np.mean(is_wrong)),
            noise=noise,
            quiet_noise=quiet_noise,
            unexplained=float(max(excess, 0.0) / len(points) / max(rarest, 1.0 / len(points))),
            is_unexplained_significant=bool(excess > self.significant * chance),
            noise_chance=min(
                *(structure_chance(points[side], 1.0 * is_wrong[side]) for side in (deep, outside)),
                _far_chance(is_wrong, far=deep, near=(depth >= 0) & ~deep),
                _far_chance(is_wrong, far=outside, near=(depth < 0) & ~outside),
            ),
            own=np.array(own),
            wrong_share=self._upper(int(np.count_nonzero(is_wrong))) / len(points),
            missing_share=largest_missing(points, is_wrong, deep=deep, quiet=depth < 0, confidence=self.confidence),
        )

    def face_diagnostics(self, faces: FaceEvidence) -> list[Diagnostic]:
        """Compare every number with its threshold."""
        missing = faces.unexplained if faces.is_unexplained_significant else 0.0
        return [
            at_most(
                "estimated angle of the worst neuron (degrees)",
                float(np.degrees(np.max(faces.angles, initial=0.0))),
                float(np.degrees(self.largest_angle)),
                "held-out samples near the boundary of a neuron are often on the wrong side: give more samples, "
                "a higher threshold or the number of neurons"
                if np.all(np.isfinite(faces.angles))
                else f"fewer than {self.fewest_in_band} held-out samples lie next to one neuron and far from "
                "all others, too few to judge it: give more samples or fewer neurons",
            ),
            at_most(
                "active samples that no neuron explains",
                missing,
                self.missing_share,
                "a neuron is missing or two nearly equal neurons were found as one: give the number of neurons",
            ),
            at_most(
                "wrong labels far from all boundaries",
                max(faces.noise, faces.quiet_noise),
                self.noise.largest,
                "the labels are not those of a union of half spaces (units may act in products only), or very noisy",
            ),
            at_least(
                "chance that wrong labels far from all boundaries are accidents",
                faces.noise_chance,
                self.least_chance,
                "where labels are wrong depends on the inputs, so that this is no noise: a half space is missing, or "
                "the class is no union of half spaces",
            ),
        ]

    def flatness_check(self, faces: FaceEvidence, misplaced: PerNeuron) -> Diagnostic:
        """Check whether single half spaces separate the points next to them; wrong labels excuse as many."""
        noise = max(faces.noise, faces.quiet_noise)
        excused = self.noise.excuses(noise)
        return at_most(
            "misplaced points next to a neuron, beyond the noise of labels",
            max(float(np.max(misplaced, initial=0.0)) - excused, 0.0),
            self.flat_share,
            "one half space does not separate the samples next to it: two neurons are nearly equal and were found as "
            "one, or a neuron is missing: give the number of neurons or more samples",
        )

    def regression_limits(self, errors: PerNeuron, *, inputs: int) -> PerNeuron:
        """Give limits that all angles keep together, from their root mean square errors in least squares.

        An error has ``inputs - 1`` components across its direction, about equally large.
        """
        components = max(inputs - 1, 1)
        chance = 1.0 - (1.0 - self.least_squares_confidence) / max(len(errors), 1)
        return np.sqrt(scipy.stats.chi2.ppf(chance, components) / components) * errors

    def duplicate_check(self, directions: Atoms, angles: PerNeuron) -> Diagnostic:
        """Check whether two directions are nearer to each other than their errors allow."""
        closest = np.pi
        if len(directions) > 1:
            cosines = directions @ directions.T - 3.0 * np.eye(len(directions))
            closest = float(np.arccos(np.clip(np.max(cosines), -1.0, 1.0)))
        needed = self.duplicate_factor * float(np.max(angles, initial=0.0))
        return at_least(
            "angle between the closest neurons (degrees)",
            float(np.degrees(closest)),
            float(np.degrees(min(needed, np.pi))),
            "two neurons may be one that was found twice: lower the number of neurons, or give more samples",
        )

    def need_check(self, faces: FaceEvidence) -> Diagnostic:
        """Check whether every half space explains samples that no other one does."""
        return at_least(
            "held-out samples that the least needed half space explains alone",
            float(np.min(faces.own, initial=np.inf)),
            self.fewest_own,
            "a half space may be an accident: give more samples or fewer half spaces",
        )

    def residual_check(self, chance: float) -> Diagnostic:
        """Check whether noise explains what relu units leave of the labels where at most one of them is active."""
        return at_least(
            "chance that noise leaves such residuals where at most one neuron is active",
            chance,
            self.least_chance,
            "what is left depends on the inputs: a neuron is wrong or missing; give more samples or another number",
        )

    def _upper(self, count: int, *, of: int = 1) -> float:
        """Give the upper limit of the mean of a Poisson count; of several at once if there are more."""
        return upper_count(count, confidence=1.0 - (1.0 - self.confidence) / of)

    def _angle(
        self,
        points: Points,
        near: PointMask,
        is_wrong: PointMask,
        noise: float,
        directions: Atoms,
        which: int,
    ) -> float:
        count = int(np.count_nonzero(near))
        if count < self.fewest_in_band:
            return np.inf
        wrong = int(np.count_nonzero(near & is_wrong))
        # Upper limit of a Poisson count, less the wrong labels that noise explains: no more than there are, or a noise
        # that was estimated too large would leave no angle at all.
        upper = self._upper(wrong, of=len(directions)) - min(noise * count, wrong)
        density, lever = count / (2 * self.band[0]), _least_lever(points[near], directions[which])
        return self.calibration * upper / max(lever * density, np.finfo(float).tiny)


@dataclass(frozen=True, eq=False)
class Slices:
    """Values of inputs that have few: can samples tell one half space from several that hold for some of the values?

    Samples with such inputs lie on slices, one for every combination of their values. On a slice with c other inputs
    the boundary of a half space is a hyperplane with c numbers of its own, so that k slices show ``k c`` numbers. One
    half space has ``c + r`` of them, if the slices span r dimensions. Only what is left over checks that it is one.

    Args:
        values: of these inputs, one row per sample.
        others: number of the other inputs.
        fewest: samples next to a half space that a slice needs to show where it is cut; chosen.
    """

    values: Float64[np.ndarray, "points discrete"]
    others: int
    fewest: int = 5

    @classmethod
    def of(cls, points: Points, *, most_values: int = 8) -> "Slices":
        """Find these inputs; the one with most values counts as continuous if all have few.

        Args:
            points: samples.
            most_values: an input with more of them is as good as a continuous one; chosen.
        """
        counts = np.array([len(np.unique(column)) for column in points.T])
        is_discrete = counts <= most_values
        if np.all(is_discrete):
            is_discrete[np.argmax(counts)] = False
        return cls(points[:, is_discrete], int(np.count_nonzero(~is_discrete)))

    def __getitem__(self, chosen: PointMask) -> "Slices":
        return replace(self, values=self.values[chosen])

    def check(self, near: Bool[np.ndarray, "points neurons"]) -> list[Diagnostic]:
        """Check that slices show more numbers than every half space has.

        Args:
            near: whether a sample lies next to the boundary of a half space.

        Returns:
            Nothing if no input has few values.
        """
        if not self.values.shape[1]:
            return []
        return [
            at_least(
                "checks of a half space by samples that differ in inputs with few values",
                min(self._spare(self.values[side]) for side in near.T),
                1,
                "every half space that holds for one of the values alone would look the same, so that these may be "
                "several: give samples with other values of these inputs",
            )
        ]

    def _spare(self, values: Float64[np.ndarray, "near discrete"]) -> int:
        slices, counts = np.unique(values, axis=0, return_counts=True)
        slices = slices[counts >= self.fewest]
        if not len(slices):
            return 0
        dimensions = int(np.linalg.matrix_rank(slices - slices[0]))
        return (len(slices) - 1) * self.others - dimensions


def structure_chance(points: Points, values: PerPoint, *, farthest: float = 3.0) -> float:
    """Probability that chance makes values depend on inputs as these do: an F test on coordinates and their squares.

    Inputs farther out than `farthest` standard deviations count as being there (chosen: one in 370 Gaussian ones), so
    that single stragglers decide no test.
    """
    clipped = np.clip(points, -farthest, farthest)
    features = np.column_stack([np.ones(len(points)), clipped, clipped**2])
    count, unknowns = features.shape
    if count <= 2 * unknowns or np.ptp(values) == 0.0:
        return 1.0
    left = values - features @ np.linalg.lstsq(features, values, rcond=None)[0]
    total, rest = float(np.sum((values - values.mean()) ** 2)), float(left @ left)
    statistic = (total - rest) / (unknowns - 1) / max(rest / (count - unknowns), np.finfo(float).tiny)
    return float(scipy.stats.f.sf(statistic, unknowns - 1, count - unknowns))


def _far_chance(is_wrong: PointMask, *, far: PointMask, near: PointMask) -> float:
    """Probability that accidents make so many more labels wrong far from all faces than near them: Fisher's exact test.

    Faces that are a little off add wrong labels near them only, which speak for accidents here.
    """
    seen, wrong = far | near, int(np.count_nonzero(is_wrong & far))
    counts = [int(np.count_nonzero(each)) for each in (seen, seen & is_wrong, far)]
    return float(scipy.stats.hypergeom.sf(wrong - 1, *counts))


def _excess_outside(is_wrong: PointMask, *, deep: PointMask, outside: PointMask, noise: float) -> tuple[float, float]:
    """Count wrong labels outside of all half spaces beyond those that noise explains; and the error of that number."""
    count = np.count_nonzero(outside)
    chance = np.sqrt(max(noise * count, 1.0) * (1.0 + count / max(deep.sum(), 1)))
    return float(np.count_nonzero(is_wrong & outside) - noise * count), float(chance)


def _least_lever(points: Points, direction: Vector) -> float:
    """Mean distance of points from their middle, within a face, along the direction in which it is least.

    An error of the face in that direction is the hardest to see. The directions of the principal axes and of the inputs
    are tried. With one input there is no angle, and a wrong threshold counts as one of lever 1.
    """
    inputs = len(direction)
    if inputs == 1:
        return 1.0
    tangent = np.linalg.qr(np.column_stack([direction, np.eye(inputs)]))[0][:, 1:inputs]
    within = points @ tangent
    axes = np.linalg.svd(within - within.mean(axis=0), full_matrices=False)[2]
    inside = tangent / np.maximum(np.linalg.norm(tangent, axis=1, keepdims=True), np.finfo(float).eps)
    along = within @ np.vstack([axes, inside[np.linalg.norm(tangent, axis=1) > 0.5]]).T
    return float(np.min(np.mean(np.abs(along - np.median(along, axis=0)), axis=0)))


def _share(part: PointMask, whole: PointMask) -> float:
    return float(np.count_nonzero(part) / max(np.count_nonzero(whole), 1))
