"""What labels of a lowest layer say by themselves: the value of quiet samples, which are active, and the noise."""

from dataclasses import dataclass

import numpy as np

from unweave.activations import Activation
from unweave.arrays import PerPoint, PointMask, Points

Labels = PerPoint


@dataclass(frozen=True, kw_only=True)
class LabelRules:
    """What labels say by themselves.

    Args:
        atom_share: of the samples that have one value, from which on it is an atom of the distribution of the labels;
            chosen.
        atom_samples: that have it at the least; chosen.
        same_value: labels closer than this share of their range differ by rounding only; chosen, far above that of
            float64.
        active_noise: distance of labels from the offset, in units of the noise, from which on samples count as active:
            noise alone is there once in 30,000 samples (``Phi(-4)``).
        step_separation: distance between the values of active and quiet steps, in units of the noise, at which they can
            be told apart: half-way, noise puts one sample of 700 on the wrong side (``Phi(-3)``).
        least_share: of samples on either side with which anything can be learnt; chosen.
    """

    atom_share: float = 0.002
    atom_samples: int = 10
    same_value: float = 1e-10
    active_noise: float = 4.0
    step_separation: float = 6.0
    least_share: float = 1e-5


LABEL_RULES = LabelRules()


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
    is_active: PointMask | None
    level: float = np.inf

    @property
    def is_exact(self) -> bool:
        """Whether labels are free of additive noise."""
        return self.noise == 0.0


def read_labels(points: Points, labels: Labels, unit: Activation, *, rules: LabelRules = LABEL_RULES) -> ReadLabels:
    """Find the offset, the noise and the active samples.

    Quiet samples all have the same label and fill a convex region around the origin. Among the values that repeat, the
    one of the samples nearest to the origin is therefore theirs. Without such a value labels have noise: its lower half
    shows its size, as long as most samples are quiet and active units raise the labels.

    Args:
        points: samples in coordinates in which they are standard Gaussian.
        labels: one per sample.
        unit: the units; those that are never quiet have no active samples.
        rules: what counts as repeated, and as active.
    """
    if not unit.vanishes_below:
        return ReadLabels(float(np.mean(labels)), 0.0, None)
    offset = _central_atom(points, labels, rules)
    if offset is not None:
        is_active = np.abs(labels - offset) > rules.same_value * np.ptp(labels)
        return ReadLabels(offset, 0.0, _if_balanced(is_active, rules.least_share))
    offset = float(np.median(labels))
    below = labels[labels < offset] - offset
    noise = float(np.sqrt(np.mean(below**2))) if len(below) else 0.0
    if unit.name == "step":
        upper = labels[labels > offset + rules.active_noise * noise]
        jump = float(np.median(upper)) - offset if len(upper) else 0.0
        level = offset + jump / 2 if jump > rules.step_separation * noise else np.inf
    else:
        level = offset + rules.active_noise * noise
    return ReadLabels(offset, noise, _if_balanced(labels > level, rules.least_share), level)


def _central_atom(points: Points, labels: Labels, rules: LabelRules) -> float | None:
    """The repeated value whose samples are nearest to the origin on average."""
    resolution = rules.same_value * float(np.ptp(labels))
    if resolution == 0.0:
        return float(labels[0])
    values, inverse, counts = np.unique(np.round(labels / resolution), return_inverse=True, return_counts=True)
    atoms = np.flatnonzero((counts >= rules.atom_share * len(labels)) & (counts >= rules.atom_samples))
    if len(atoms) == 0:
        return None
    lengths = np.bincount(inverse, weights=np.einsum("pi,pi->p", points, points), minlength=len(values))
    atom = int(atoms[np.argmin(lengths[atoms] / counts[atoms])])
    return float(np.median(labels[inverse == atom]))


def _if_balanced(is_active: PointMask, least_share: float) -> PointMask | None:
    share = float(np.mean(is_active))
    return is_active if least_share < share < 1 - least_share else None
