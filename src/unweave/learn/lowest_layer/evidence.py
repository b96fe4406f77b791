"""What held-out samples say about every row of a lowest layer, and the status that follows from it."""

from dataclasses import dataclass
from enum import Enum

import numpy as np
from jaxtyping import Bool, Float64
from scipy import stats

from unweave.arrays import Atoms, Points
from unweave.result import Diagnostic, Outcome, at_least, at_most

Thresholds = Float64[np.ndarray, "neurons"]
# Half width of the band around a face whose samples judge it, and distance that other faces keep from them.
BAND, GUARD = 0.5, 0.1
# Mean of the absolute value of a standard normal variable: a face at angle a is wrong for a share of it times a.
MEAN_ABSOLUTE = float(np.sqrt(2 / np.pi))
# Rows of unions were up to this factor worse than the mass says in simulations with known errors and ten rows.
CALIBRATION = 1.25
CONFIDENCE = 0.95
# Samples of a band below which a face is not judged.
LEAST_BAND = 30
# Estimated angle above which rows are unreliable.
LARGEST_ANGLE = np.radians(10.0)
# Mass of active samples that no row explains, in units of the mass of the rarest row, above which one is missing.
MISSING_SHARE = 0.25
# Standard errors by which the mass must exceed what chance explains.
SIGNIFICANT = 4.0
# Share of wrong labels far from all faces above which they are not noise any more.
LARGEST_NOISE = 0.25
# Share of misplaced points next to a face above which it is not flat, if labels have no noise.
FLAT_SHARE = 0.003
# Share of wrong labels far from all faces up to which labels count as free of noise.
NO_NOISE = 1e-4
# Residuals in units of the spread of the labels below which a fit is exact.
EXACT_TOL = 1e-8
# Rows nearer to each other than this many estimated errors may be one row found twice.
DUPLICATE_FACTOR = 3.0


class Status(Enum):
    """How far the rows may be trusted."""

    VERIFIED = "verified"
    ESTIMATED = "estimated"
    UNRELIABLE = "unreliable"

    @property
    def outcome(self) -> Outcome:
        """The same as the outcome of a run."""
        return {
            Status.VERIFIED: Outcome.IDENTIFIED,
            Status.ESTIMATED: Outcome.PARTLY_IDENTIFIED,
            Status.UNRELIABLE: Outcome.NOT_IDENTIFIED,
        }[self]


@dataclass(frozen=True)
class LowestLayerCertificate:
    """Evidence for the rows of a lowest layer. Angles are in degrees, in coordinates in which inputs have spread 1.

    Args:
        status: verified, estimated or unreliable.
        rows: number of rows.
        largest_angle: estimated largest error of a row: with a calibrated factor, or for noisy relu labels a limit
            of that confidence for all rows together.
        median_angle: the same for the median row.
        held_out: samples that took no part in the fit.
        disagreement: share of these on the wrong side of the union; NaN if units are never quiet.
        label_noise: share of wrong labels far from all boundaries, or standard deviation of additive noise.
        unexplained: active samples that no row explains, in units of those of the rarest row.
        largest_residual: of exact labels where one unit is active alone, in units of their spread; NaN without such.
        confidence: of the upper limits that enter the angles.
    """

    status: str
    rows: int
    largest_angle: float
    median_angle: float
    held_out: int
    disagreement: float
    label_noise: float
    unexplained: float
    largest_residual: float
    confidence: float

    def statements(self) -> tuple[tuple[str, str], ...]:
        """What may be claimed, as pairs of a name and a few words with the number."""
        lines = [
            ("status", self.status),
            ("rows", str(self.rows)),
            ("angle", f"about {self.median_angle:.2g} degrees, {self.largest_angle:.2g} for the worst row (estimate)"),
            ("held-out samples", f"{self.held_out:,d}"),
        ]
        if np.isfinite(self.disagreement):
            lines.append(("wrong side of the union", f"{self.disagreement:.2e} of held-out samples"))
        if np.isfinite(self.largest_residual):
            lines.append(("exact labels", f"met to {self.largest_residual:.1e} of their spread"))
        lines.append(("noise of labels", f"{self.label_noise:.2g}"))
        return tuple(lines)


@dataclass(frozen=True, eq=False)
class FaceEvidence:
    """What held-out sides of a union of half spaces say.

    Args:
        angles: upper estimate of the error of every row in radians; infinite for rows without samples.
        disagreement: share of all samples on the wrong side.
        noise: share of samples that are quiet although they lie deep inside of a half space.
        quiet_noise: share of samples that are active although they lie far outside of all.
        unexplained: mass of the latter beyond the noise, in units of the mass of the rarest half space.
        is_unexplained_significant: whether that mass is more than chance.
    """

    angles: Float64[np.ndarray, "neurons"]
    disagreement: float
    noise: float
    quiet_noise: float
    unexplained: float
    is_unexplained_significant: bool

    def diagnostics(self) -> list[Diagnostic]:
        """Every number with its threshold."""
        missing = self.unexplained if self.is_unexplained_significant else 0.0
        return [
            at_most(
                "estimated angle of the worst row (degrees)",
                float(np.degrees(np.max(self.angles, initial=0.0))),
                float(np.degrees(LARGEST_ANGLE)),
                "held-out samples near the boundary of a row are often on the wrong side: give more samples, "
                "a higher threshold or the number of rows",
            ),
            at_most(
                "active samples that no row explains",
                missing,
                MISSING_SHARE,
                "a row is missing or two nearly equal rows were found as one: give the number of rows; more rows than "
                "inputs cannot be found",
            ),
            at_most(
                "wrong labels far from all boundaries",
                max(self.noise, self.quiet_noise),
                LARGEST_NOISE,
                "the labels are not those of a union of half spaces (units may act in products only), or very noisy",
            ),
        ]


def face_evidence(
    points: Points, is_active: Bool[np.ndarray, "points"], rows: Atoms, thresholds: Thresholds
) -> FaceEvidence:
    """Judge the half spaces of a union by samples that they were not fitted to.

    Near the boundary of a half space that is off by an angle a, samples are on the wrong side with a mass of
    ``density sqrt(2 / pi) a``, where the density of samples at the boundary is counted, too. Labels that are wrong for
    other reasons show themselves far from the boundaries, and are taken off.

    Guarantees: heuristic; the factor was calibrated with ten rows. A wrong threshold counts as an angle.
    """
    arguments = points @ rows.T - thresholds
    owner, depth = np.argmax(arguments, axis=1), np.max(arguments, axis=1)
    is_wrong = (depth >= 0) != is_active
    deep, outside = depth > BAND, depth < -BAND
    noise = _share(is_wrong & deep, deep)
    quiet_noise = _share(is_wrong & outside, outside)
    second = np.partition(arguments, -2, axis=1)[:, -2] if len(rows) > 1 else np.full(len(points), -np.inf)
    near = (np.abs(depth) <= BAND) & (second < -GUARD)
    angles = np.array([_angle(near & (owner == i), is_wrong, min(noise, quiet_noise)) for i in range(len(rows))])
    rarest = min((float(np.mean(arguments[:, i] >= 0)) for i in range(len(rows))), default=0.0)
    excess = np.count_nonzero(is_wrong & outside) - noise * np.count_nonzero(outside)
    chance = np.sqrt(
        max(noise * np.count_nonzero(outside), 1.0) * (1.0 + np.count_nonzero(outside) / max(deep.sum(), 1))
    )
    return FaceEvidence(
        angles=angles,
        disagreement=float(np.mean(is_wrong)),
        noise=noise,
        quiet_noise=quiet_noise,
        unexplained=float(max(excess, 0.0) / len(points) / max(rarest, 1.0 / len(points))),
        is_unexplained_significant=bool(excess > SIGNIFICANT * chance),
    )


def flatness_check(faces: FaceEvidence, misplaced: Float64[np.ndarray, "neurons"]) -> Diagnostic:
    """Whether single half spaces separate the points next to them; wrong labels excuse those that are not."""
    is_clean = max(faces.noise, faces.quiet_noise) <= NO_NOISE
    return at_most(
        "misplaced points next to a row, without noise of labels",
        float(np.max(misplaced, initial=0.0)) if is_clean else 0.0,
        FLAT_SHARE,
        "one half space does not separate the samples next to it: two rows are nearly equal and were found as one, or "
        "a row is missing: give the number of rows or more samples",
    )


def regression_limits(errors: Float64[np.ndarray, "neurons"], *, inputs: int) -> Float64[np.ndarray, "neurons"]:
    """Limits that the angles of all rows keep together, from their root mean square errors in least squares.

    An error has ``inputs - 1`` components across its row, about equally large.
    """
    components = max(inputs - 1, 1)
    chance = 1.0 - (1.0 - CONFIDENCE) / max(len(errors), 1)
    return np.sqrt(stats.chi2.ppf(chance, components) / components) * errors


def exact_residual(
    points: Points,
    labels: Float64[np.ndarray, "points"],
    rows: Atoms,
    thresholds: Thresholds,
    coefficients: Thresholds,
) -> float:
    """Largest residual of held-out labels where at most one unit is active, in units of the spread of the labels.

    Args:
        points: held-out samples.
        labels: without their offset.
        rows: unit vectors.
        thresholds: one per row.
        coefficients: of every unit when it is active alone.
    """
    values = np.maximum(points @ rows.T - thresholds, 0.0)
    alone = np.count_nonzero(values, axis=1) <= 1
    spread = float(np.std(labels)) or 1.0
    return float(np.max(np.abs(values[alone] @ coefficients - labels[alone]), initial=0.0) / spread)


def duplicate_check(rows: Atoms, angles: Float64[np.ndarray, "neurons"]) -> Diagnostic:
    """Whether two rows are nearer to each other than their errors allow."""
    closest = np.pi
    if len(rows) > 1:
        cosines = rows @ rows.T - 3.0 * np.eye(len(rows))
        closest = float(np.arccos(np.clip(np.max(cosines), -1.0, 1.0)))
    needed = DUPLICATE_FACTOR * float(np.max(angles, initial=0.0))
    return at_least(
        "angle between the closest rows (degrees)",
        float(np.degrees(closest)),
        float(np.degrees(min(needed, np.pi))),
        "two rows may be one that was found twice: lower the number of rows, or give more samples",
    )


def _share(part: Bool[np.ndarray, "points"], whole: Bool[np.ndarray, "points"]) -> float:
    return float(np.count_nonzero(part) / max(np.count_nonzero(whole), 1))


def _angle(near: Bool[np.ndarray, "points"], is_wrong: Bool[np.ndarray, "points"], noise: float) -> float:
    count = int(np.count_nonzero(near))
    if count < LEAST_BAND:
        return np.inf
    wrong = int(np.count_nonzero(near & is_wrong))
    # Upper limit of a Poisson count, less the wrong labels that noise explains.
    upper = float(stats.chi2.ppf(CONFIDENCE, 2 * (wrong + 1)) / 2) - noise * count
    density = count / (2 * BAND)
    return CALIBRATION * max(upper, 0.0) / (MEAN_ABSOLUTE * density)
