"""What was found of a lowest layer: its units, what may be claimed of them, and how probable labels are near them.

Probabilities come from distances, by how often held-out labels were right at such a distance from the boundary. With
``d`` the distance, positive inside of a union, the probability of being labelled as inside is ``1/2 + (1/2 -
wrong_inside) tanh(steepness d / 2)`` inside, and the same with `wrong_outside` and a minus sign outside: one half at
the boundary, the share of right labels far from it. With no wrong labels it is the logistic function.

Wrong labels outside of all half spaces that were found tell how large a missing one may be. With Q the share of the
inputs outside, s that of the missing half space, and labels flipped with probability b there, and a inside of half
spaces, wrong labels outside have the share ``s (1 - a) + (Q - s) b``. So ``s`` is at most
``(upper - b Q) / (1 - a - b)`` for an upper limit of that share, a lower one of b and an upper one of a.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Float64
from scipy.special import expit, logit

from unweave.activations import Activation
from unweave.arrays import Atoms, PerNeuron, PerPoint, PointMask, Points
from unweave.networks.network import Layer, Network
from unweave.result import Result
from unweave.samples.hermite.inputs import Coordinates

# Steps of a line search may go far out, where nothing changes any more.
LARGEST = 20.0
# Standard errors by which shares of flipped labels are taken smaller or larger than they are counted; customary.
CERTAIN = 2.0


@dataclass(frozen=True, eq=False)
class ThresholdLayer:
    """Hold units ``u(<direction, x> - threshold)``.

    Args:
        directions: unit vectors, one per unit, that point to where the unit is active.
        thresholds: one per unit.
        coefficients: of each unit when it is active alone; NaN where it is not known.
        unit: the function u.
    """

    directions: Atoms
    thresholds: PerNeuron
    coefficients: PerNeuron
    unit: Activation

    @classmethod
    def stacked(cls, layers: Sequence["ThresholdLayer"]) -> "ThresholdLayer":
        """Return the units of several layers of one kind as one layer."""
        directions = np.vstack([layer.directions for layer in layers])
        thresholds, coefficients = (
            np.concatenate([getattr(layer, name) for layer in layers]) for name in ("thresholds", "coefficients")
        )
        return cls(directions, thresholds, coefficients, layers[0].unit)

    def arguments(self, points: Points) -> Float64[np.ndarray, "points neurons"]:
        """Compute ``<direction, x> - threshold`` of every sample and unit."""
        return points @ self.directions.T - self.thresholds

    def values(self, points: Points) -> Float64[np.ndarray, "points neurons"]:
        """Compute the units at every sample."""
        return self.unit(self.arguments(points))

    def pulled_back(self, coordinates: Coordinates) -> "ThresholdLayer":
        """Return the same units in the inputs x, if this layer is in the coordinates ``z = axes^T (x - origin)``.

        Directions are scaled to unit length again. A relu takes the scale into its coefficient; for a sigmoid the scale
        matters, so that its directions keep the length that the coordinates give them.
        """
        directions = self.directions @ coordinates.axes.T
        thresholds = self.thresholds + directions @ coordinates.origin
        if self.unit.name == "sigmoid":
            return ThresholdLayer(directions, thresholds, self.coefficients, self.unit)
        sizes = np.linalg.norm(directions, axis=1)
        coefficients = self.coefficients * sizes if self.unit.name == "relu" else self.coefficients
        return ThresholdLayer(directions / sizes[:, None], thresholds / sizes, coefficients, self.unit)

    @property
    def network(self) -> Network:
        """Return the layer as a network with one output per unit."""
        return Network((Layer(self.directions, -self.thresholds, self.unit),))


@dataclass(frozen=True)
class LowestLayerCertificate:
    """Evidence for the neurons of a lowest layer. Angles are in degrees, in coordinates in which inputs have spread 1.

    Args:
        neurons: their number.
        largest_angle: estimated largest error of a direction: with a calibrated factor, or for noisy relu labels a
            limit of that confidence for all directions together.
        median_angle: the same for the median direction.
        held_out: samples that took no part in the fit.
        disagreement: share of these on the wrong side of the union; NaN if units are never quiet.
        label_noise: share of wrong labels far from all boundaries, or standard deviation of additive noise.
        unexplained: active samples that no direction explains, in units of those of the rarest direction.
        largest_residual: of exact labels where one unit is active alone, in units of their spread; NaN without such.
        confidence: of the upper limits that enter the angles.
        wrong_share: half spaces: upper limit of the share of inputs that they put on the wrong side; NaN for others.
        missing_share: another unit that is active alone for this share of the inputs would have shown; NaN if units are
            never quiet.
        resolution: neurons that are nearer to each other than this angle may have been taken for one, whose direction
            then is as near to both of them; NaN where `largest_angle` holds for such neurons, too.
    """

    neurons: int
    largest_angle: float
    median_angle: float
    held_out: int
    disagreement: float
    label_noise: float
    unexplained: float
    largest_residual: float
    confidence: float
    wrong_share: float = np.nan
    missing_share: float = np.nan
    resolution: float = np.nan

    def statements(self) -> tuple[tuple[str, str], ...]:
        """What may be claimed, as pairs of a name and a few words with the number."""
        lines = [
            ("neurons", str(self.neurons)),
            (
                "angle",
                f"about {self.median_angle:.2g} degrees, {self.largest_angle:.2g} for the worst neuron (estimate)",
            ),
            ("held-out samples", f"{self.held_out:,d}"),
        ]
        if np.isfinite(self.disagreement):
            lines.append(("wrong side of the union", f"{self.disagreement:.2e} of held-out samples"))
        if np.isfinite(self.resolution):
            lines.append(("neurons may be one if nearer than", f"{self.resolution:.2g} degrees"))
        if np.isfinite(self.wrong_share):
            lines.append(("wrong side, upper limit", f"{self.wrong_share:.2e} of all inputs"))
        if np.isfinite(self.missing_share):
            lines.append(("a missing neuron would have shown from", f"{self.missing_share:.2e} of all inputs"))
        if np.isfinite(self.largest_residual):
            lines.append(("exact labels", f"met to {self.largest_residual:.1e} of their spread"))
        lines.append(("noise of labels", f"{self.label_noise:.2g}"))
        return tuple(lines)


@dataclass(frozen=True, kw_only=True)
class CalibrationRules:
    """How probabilities are fitted.

    Args:
        largest_wrong: share of wrong labels, at most: half spaces that are no better than chance still have sides.
        steepness: starts, in units of one over the median distance; chosen, from a smooth to a sharp change of labels.
        seen: wrong and right labels on either side that are taken for seen, so that no probability is 0 or 1
            (the rule of Laplace).
    """

    largest_wrong: float = 0.499
    steepness: tuple[float, ...] = (1.0, 10.0, 100.0)
    seen: float = 1.0


CALIBRATION_RULES = CalibrationRules()


@dataclass(frozen=True)
class DistanceCalibration:
    """The probability of a label at a distance.

    Args:
        wrong_outside: share of wrong labels far outside of the union.
        wrong_inside: share of wrong labels far inside.
        steepness: how fast labels change at the boundary, in one over the unit of the distances.
    """

    wrong_outside: float
    wrong_inside: float
    steepness: float

    def __call__(self, depths: PerPoint) -> PerPoint:
        """Compute the probability of being labelled as inside of the union; it never falls with the distance."""
        wrong = np.where(depths >= 0, self.wrong_inside, self.wrong_outside)
        return 0.5 + (0.5 - wrong) * np.tanh(0.5 * self.steepness * depths)


def calibrate(
    depths: PerPoint, is_active: PointMask, weights: PerPoint, *, rules: CalibrationRules = CALIBRATION_RULES
) -> DistanceCalibration:
    """Fit probabilities to samples that half spaces were not fitted to, by maximum likelihood.

    Args:
        depths: distance of every sample to the boundary, positive inside.
        is_active: whether it is labelled as inside.
        weights: of the samples, with a mean of about 1.
        rules: what is taken for seen before.
    """
    unit = float(np.median(np.abs(depths))) if len(depths) else 1.0
    unit = unit if np.isfinite(unit) and unit > 0 else 1.0

    def model(flat: np.ndarray) -> DistanceCalibration:
        outside, inside = rules.largest_wrong * expit(np.clip(flat[:2], -LARGEST, LARGEST))
        steepness = float(np.exp(np.clip(flat[2], -LARGEST, LARGEST))) / unit
        return DistanceCalibration(float(outside), float(inside), steepness)

    def loss(flat: np.ndarray) -> float:
        found = model(flat)
        chances = found(depths)
        wrong = np.array([found.wrong_outside, found.wrong_inside])
        before = -rules.seen * float(np.sum(np.log(wrong) + np.log1p(-wrong)))
        return before - float(weights @ np.log(np.maximum(np.where(is_active, chances, 1.0 - chances), 1e-300)))

    share = np.clip(np.average((depths >= 0) != is_active, weights=weights) if len(depths) else 0.5, 0.01, 0.4)
    starts = [np.array([logit(share / rules.largest_wrong)] * 2 + [np.log(each)]) for each in rules.steepness]
    fits = [scipy.optimize.minimize(loss, start, method="L-BFGS-B") for start in starts]
    return model(min(fits, key=lambda fit: float(fit.fun)).x)


@dataclass(frozen=True, eq=False)
class FoundUnion:
    """Half spaces, and which class is inside of them.

    Args:
        layer: one step per half space of the union, in the units of the inputs.
        is_second_inside: whether samples of the second class are those inside of at least one.
        result: its network is that of the layer.
        calibration: probabilities by the distance to the half spaces.
    """

    layer: ThresholdLayer
    is_second_inside: bool
    calibration: DistanceCalibration
    result: Result[Network, LowestLayerCertificate]

    def depths(self, points: Points) -> PerPoint:
        """Compute the distance to the boundary where one half space decides, positive inside of the union."""
        return np.max(self.layer.arguments(points), axis=1)

    def probabilities(self, points: Points) -> PerPoint:
        """Compute the probability of the second class."""
        inside = self.calibration(self.depths(points))
        return inside if self.is_second_inside else 1.0 - inside


def worst_of(certificates: Sequence[LowestLayerCertificate]) -> LowestLayerCertificate:
    """Say of several certificates what holds for all of them."""
    joins = {"neurons": sum, "held_out": min, "confidence": min}
    names = [each.name for each in fields(LowestLayerCertificate)]
    return LowestLayerCertificate(
        **{name: joins.get(name, max)([getattr(each, name) for each in certificates]) for name in names}
    )


def upper_count(count: int, *, confidence: float) -> float:
    """Compute the upper limit of the mean of a Poisson count."""
    return float(scipy.stats.chi2.ppf(confidence, 2 * (count + 1)) / 2)


def largest_missing(
    points: Points, is_wrong: PointMask, *, deep: PointMask, quiet: PointMask, confidence: float
) -> float:
    """Compute the largest share of the inputs that another half space may hold alone, as far as labels tell.

    Args:
        points: held-out samples.
        is_wrong: whether the half spaces that were found are wrong for the label of each.
        deep: samples far inside of a half space, where wrong labels are flipped ones.
        quiet: samples outside of all.
        confidence: of the limit.

    Returns:
        The limit: no less than that without a wrong label.

    Assumes: labels are flipped as often everywhere outside, and as often everywhere inside; a missing half space holds
        less than half of what is outside.
    Guarantees: heuristic where labels are flipped: the side that a missing half space is on is estimated.
    """
    outside, least = int(np.count_nonzero(quiet)), upper_count(0, confidence=confidence)
    # Labels may be flipped on one side only: what is certain is what both sides show.
    flipped = min(_limit(is_wrong, deep, -CERTAIN), _limit(is_wrong, _away(points, is_wrong, quiet), -CERTAIN))
    seen = upper_count(int(np.count_nonzero(is_wrong & quiet)), confidence=confidence) - flipped * outside
    shown = 1.0 - flipped - _limit(is_wrong, deep, CERTAIN)
    # Where all that could show it may be hidden, nothing is known.
    return min(max(seen, least) / (shown * max(len(points), 1)), 1.0) if shown > 0.0 else 1.0


def _limit(is_wrong: PointMask, part: PointMask, errors: float) -> float:
    """The share of wrong labels in a part, so many standard errors larger than counted."""
    wrong = np.count_nonzero(is_wrong & part)
    return float(max(wrong + errors * np.sqrt(wrong), 0.0) / max(np.count_nonzero(part), 1))


def _away(points: Points, is_wrong: PointMask, quiet: PointMask, *, farthest: float = 3.0) -> PointMask:
    """The half of the quiet samples away from where more labels are wrong, and so from a missing half space.

    Inputs farther out than `farthest` standard deviations count as being there, so that stragglers decide nothing.
    """
    chosen = quiet & is_wrong
    if not np.any(chosen):
        return quiet
    clipped = np.clip(points, -farthest, farthest)
    along = clipped @ (clipped[chosen].mean(axis=0) - clipped[quiet].mean(axis=0))
    return quiet & (along <= np.median(along[quiet]))
