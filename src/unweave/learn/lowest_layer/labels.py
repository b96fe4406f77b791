"""What labels say by themselves: the value of quiet samples, which samples are active, and how large the noise is."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64

from unweave.arrays import Points
from unweave.learn.lowest_layer.units import ThresholdUnit

Labels = Float64[np.ndarray, "points"]
# Values that so large a share of the samples has, and so many, are atoms of the distribution of the labels.
ATOM_SHARE, ATOM_SAMPLES = 0.002, 10
# Labels closer than this share of their range are the same value: they differ by rounding only.
SAME_VALUE = 1e-10
# Distance of the active labels from the offset in units of the noise, from which on samples count as active.
ACTIVE_NOISE = 4.0
# Distance between the values of active and quiet steps, in units of the noise, at which the two can be told apart.
STEP_SEPARATION = 6.0
# Smallest share of samples on either side with which anything can be learnt.
LEAST_SHARE = 1e-5


@dataclass(frozen=True, eq=False)
class ReadLabels:
    """Labels as a lowest layer has them.

    Args:
        offset: value where no unit is active.
        noise: standard deviation of the noise; 0 for labels that repeat.
        is_active: samples where some unit is active; None if labels do not show it.
        level: labels above it are active, if there is noise.
    """

    offset: float
    noise: float
    is_active: Bool[np.ndarray, "points"] | None
    level: float = np.inf

    @property
    def is_exact(self) -> bool:
        """Whether labels are free of additive noise."""
        return self.noise == 0.0


def read_labels(points: Points, labels: Labels, unit: ThresholdUnit) -> ReadLabels:
    """Find the offset, the noise and the active samples.

    Quiet samples all have the same label and fill a convex region around the origin. Among the values that repeat, the
    one of the samples nearest to the origin is therefore theirs. Without such a value labels have noise: its lower half
    shows its size, as long as most samples are quiet and active units raise the labels.

    Args:
        points: samples in coordinates in which they are standard Gaussian.
        labels: one per sample.
        unit: the units; those that are never quiet have no active samples.
    """
    if not unit.is_quiet_below:
        return ReadLabels(float(np.mean(labels)), 0.0, None)
    offset = _central_atom(points, labels)
    if offset is not None:
        is_active = np.abs(labels - offset) > SAME_VALUE * np.ptp(labels)
        return ReadLabels(offset, 0.0, _if_balanced(is_active))
    offset = float(np.median(labels))
    below = labels[labels < offset] - offset
    noise = float(np.sqrt(np.mean(below**2))) if len(below) else 0.0
    if unit.name == "step":
        upper = labels[labels > offset + ACTIVE_NOISE * noise]
        jump = float(np.median(upper)) - offset if len(upper) else 0.0
        level = offset + jump / 2 if jump > STEP_SEPARATION * noise else np.inf
    else:
        level = offset + ACTIVE_NOISE * noise
    return ReadLabels(offset, noise, _if_balanced(labels > level), level)


def _central_atom(points: Points, labels: Labels) -> float | None:
    """The repeated value whose samples are nearest to the origin on average."""
    resolution = SAME_VALUE * float(np.ptp(labels))
    if resolution == 0.0:
        return float(labels[0])
    values, inverse, counts = np.unique(np.round(labels / resolution), return_inverse=True, return_counts=True)
    atoms = np.flatnonzero((counts >= ATOM_SHARE * len(labels)) & (counts >= ATOM_SAMPLES))
    if len(atoms) == 0:
        return None
    lengths = np.bincount(inverse, weights=np.einsum("pi,pi->p", points, points), minlength=len(values))
    atom = int(atoms[np.argmin(lengths[atoms] / counts[atoms])])
    return float(np.median(labels[inverse == atom]))


def _if_balanced(is_active: Bool[np.ndarray, "points"]) -> Bool[np.ndarray, "points"] | None:
    share = float(np.mean(is_active))
    return is_active if LEAST_SHARE < share < 1 - LEAST_SHARE else None
