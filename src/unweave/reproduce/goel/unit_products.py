"""[goel, Lemma 1 and 2]: how rarely two units are active together, and how near the labels are to their linear part."""

from math import comb, exp, sqrt

import numpy as np
import scipy  # its parts are loaded when first used
from scipy.special import ndtr

from unweave.activations import STEP
from unweave.reproduce.experiment import ONCE, Cell, Numbers, Scale, Settings
from unweave.reproduce.goel.planted import labels_of, orthonormal_rows

COSINES, THRESHOLDS, ROWS = (-0.5, 0.0, 0.5), (2.0, 4.0, 6.0, 8.0), 10
SAMPLES = {Scale.QUICK: 200_000, Scale.USUAL: 2_000_000, Scale.FULL: 20_000_000}
# Thresholds up to which samples show products of units.
SAMPLED_THRESHOLD = 2.0


def joint_probability(threshold: float, cosine: float) -> float:
    """Give ``Pr[X >= t, Y >= t]`` of standard normal variables with this correlation, also where it is tiny."""
    spread = sqrt(1 - cosine**2)
    scale = exp(-(threshold**2) / 2) / sqrt(2 * np.pi)

    def density(excess: float) -> float:
        argument = threshold + excess
        return exp(-excess * (threshold + excess / 2)) * float(ndtr((cosine * argument - threshold) / spread))

    return scale * scipy.integrate.quad(density, 0.0, 12.0, epsabs=0.0, epsrel=1e-10, limit=400)[0]


def printed_bound(threshold: float, cosine: float) -> float:
    """Give ``rho(t, 1) kappa rho(t, |W|)`` of two rows with this cosine, with ``rho(t, s) = exp(-t^2 / (2 s^2))``."""
    return exp(-(threshold**2) / 2) * _single(threshold, cosine)


def mended_bound(threshold: float, cosine: float) -> float:
    """Give ``(kappa rho(t, |W|))^2``, which the same proof shows without splitting one factor off."""
    return _single(threshold, cosine) ** 2


def _single(threshold: float, cosine: float) -> float:
    largest, smallest = 1 + abs(cosine), 1 - abs(cosine)
    return sqrt(largest / smallest) * exp(-(threshold**2) / (2 * largest))


def settings(scale: Scale) -> list[Settings]:
    """Give cosines and thresholds."""
    return [{"cosine": c, "threshold": t, "samples": SAMPLES[scale]} for c in COSINES for t in THRESHOLDS]


def measure(cell: Cell) -> Numbers:
    """Compare the probability that two units act with its bounds."""
    cosine, threshold = float(cell.settings["cosine"]), float(cell.settings["threshold"])
    joint = joint_probability(threshold, cosine)
    numbers: Numbers = {
        "log joint": float(np.log10(joint)),
        "log printed": float(np.log10(printed_bound(threshold, cosine))),
        "log mended": float(np.log10(mended_bound(threshold, cosine))),
    }
    if cosine == 0.0 and threshold <= SAMPLED_THRESHOLD:
        rng, active = np.random.default_rng(cell.seed), float(ndtr(-threshold))
        rows = orthonormal_rows(rng, rows=ROWS, inputs=ROWS)
        points = rng.standard_normal((int(cell.settings["samples"]), ROWS))
        labels, linear = (
            labels_of(points, rows, unit=STEP, threshold=threshold, upper=upper) for upper in ("sum and pairs", "sum")
        )
        numbers["difference"] = float(np.mean(np.abs(labels - linear)))
        numbers["exact difference"] = comb(ROWS, 2) * active**2
        numbers["difference bound"] = (1 + active) ** ROWS - 1 - ROWS * active
    return numbers


TITLE = "two units at once, and labels without their products"
REPETITIONS = ONCE
COLUMNS = {
    "log joint": "log10 of Pr(both active)",
    "log printed": "log10 of the printed bound",
    "log mended": "of the mended bound",
    "difference": f"E|f - f_lin|, {ROWS} rows, sum and pairs",
    "exact difference": "exact",
    "difference bound": "bound for all products",
}
NOTES = (
    "Lemma 1 as printed fails for positively correlated rows with high thresholds: its proof drops the cross terms "
    "of a triangular factor. The square of the other factor bounds the probability in all cases here.",
    "Lemma 2 has no constants; for orthonormal rows (1 + q)^d - 1 - d q with q = Pr[active] bounds the difference.",
)
