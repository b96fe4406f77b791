"""The conditions of the theory of general networks, checked on activation, samples and network, each with its number.

For a standard Gaussian z and a scale s: ``mu(s) = E g'(s z)``, ``gamma(s) = E g''(s z) = E[g'(s z) z] / s``. The
theory of local linear convergence [soltanolkotabi] asks that mu vanishes everywhere or nowhere, and gamma nowhere
(case a) or everywhere (case b).
"""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from unweave.activations import Activation
from unweave.arrays import Points
from unweave.exceptions import InvalidInput
from unweave.learn.overparameterized.jacobian import Labels, SingularValues, TrainingPoint
from unweave.result import Diagnostic, Verdict, at_least, at_most


@dataclass(frozen=True, kw_only=True)
class GaussianPanels:
    """Means over a standard Gaussian by Gauss-Legendre panels, which get finer towards 0 and end at kinks.

    Args:
        nodes: per panel: exact up to degree 47, more than enough for panels that double in width.
        ratio: factor by which they get finer, so that a slope that changes near 0 is resolved on any scale.
        edges: where the finest panel and the last one end: the Gaussian has less than 1e-9 of its mass within the
            first, and less than 1e-32 beyond the last.
        widest: in the argument of the activation: a third of a period of the sine, so that oscillations are resolved.
        even_panels: the fewest and the most that even division adds; chosen: scales above 333 would need more than the
            most, and take too long.
    """

    nodes: int = 24
    ratio: float = 2.0
    edges: tuple[float, float] = (1e-9, 12.0)
    widest: float = 2.0
    even_panels: tuple[int, int] = (8, 2_000)

    def rule(self, activation: Activation, scale: float) -> tuple[np.ndarray, np.ndarray]:
        """Nodes, and weights times the Gaussian density."""
        (finest, last), (fewest, most) = self.edges, self.even_panels
        graded = np.geomspace(finest, last, int(np.log(last / finest) / np.log(self.ratio)) + 1)
        panels = int(min(np.ceil(last * scale / self.widest), most))
        half = np.concatenate([graded, np.linspace(0.0, last, max(panels, fewest) + 1)])
        kinks = np.array([kink / scale for kink in activation.breaks(3) if abs(kink) < last * scale])
        edges = np.unique(np.concatenate([-half, half, kinks]))
        nodes, weights = np.polynomial.legendre.leggauss(self.nodes)
        middles, halves = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
        z = (middles[:, None] + halves[:, None] * nodes).ravel()
        return z, (halves[:, None] * weights).ravel() * np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)


@dataclass(frozen=True, kw_only=True)
class Width:
    """How wide a network has to be: hidden weights per sample, measured on random labels.

    Args:
        expected: from which on training is expected to reach zero error: it rarely did with fewer.
        fewest: below which it can't: there are fewer unknowns than equations.
        ample: that are taken if the number of neurons is left open: with as many it always did.
        fewest_neurons: that are taken then: fewer leave random starts no choice, however few samples there are.
    """

    expected: float = 1.5
    fewest: float = 1.0
    ample: float = 2.0
    fewest_neurons: int = 4

    def neurons(self, samples: int, inputs: int) -> int:
        """How many are taken if that is left open."""
        return max(self.fewest_neurons, int(np.ceil(self.ample * samples / inputs)))


@dataclass(frozen=True, kw_only=True)
class TrainingRules:
    """Limits that decide what is said about a training.

    Args:
        zero_tol: residuals above this share of the largest label are none of rounding, whatever the bound of rounding
            errors is: six digits; chosen, because weights of inputs that nearly agree, or are far from zero, may be so
            large that rounding explains everything.
        rank_share: below this share of the largest singular value the Jacobian has lost rank. Of 113 planted networks
            that were found again it had 7e-4 at least, and with one neuron too many 3e-16 at most, in 122 trainings.
        width: how wide a network has to be.
        linear: variance of the slope below which an activation is linear on these samples: slopes then differ by 1e-4;
            chosen.
        chance: standard errors up to which a deviation from a Gaussian is chance: exceeded in 6e-5 of all cases.
        constant: a column that varies by less than this share of its size is constant up to rounding: a few hundred
            times that of one number, as a mean of many adds it up.
        scales: the smallest, the largest and the number of those on which "nowhere zero" is looked at: the norms of
            hidden weights that one meets.
        no_mean: means over a Gaussian below this are zero: the panels leave about 1e-15.
    """

    zero_tol: float = 1e-6
    rank_share: float = 1e-10
    width: Width = field(default_factory=Width)
    linear: float = 1e-8
    chance: float = 4.0
    constant: float = 1e-13
    scales: tuple[float, float, int] = (0.05, 20.0, 25)
    no_mean: float = 1e-12


RULES = TrainingRules()
PANELS = GaussianPanels()


def mean_slope(activation: Activation, scale: float, *, panels: GaussianPanels = PANELS) -> float:
    """``mu(s) = E g'(s z)``."""
    z, density = panels.rule(activation, _check_scale(scale))
    return float(density @ activation(scale * z, 1))


def mean_curvature(activation: Activation, scale: float, *, panels: GaussianPanels = PANELS) -> float:
    """``gamma(s) = E[g'(s z) z] / s``, which needs no second derivative, so that it is right for kinks, too."""
    z, density = panels.rule(activation, _check_scale(scale))
    return float(density @ (activation(scale * z, 1) * z)) / scale


def slope_variance(activation: Activation, scale: float, *, panels: GaussianPanels = PANELS) -> float:
    """Variance of ``g'(s z)``: zero for a linear activation, whose Jacobian has the rank of the inputs only."""
    z, density = panels.rule(activation, _check_scale(scale))
    slopes = activation(scale * z, 1)
    return float(density @ (slopes - density @ slopes) ** 2)


@dataclass(frozen=True)
class ActivationConstants:
    """Constants of an activation.

    Args:
        slope_bound: B, the largest absolute slope; infinite for z^2.
        curvature_bound: the largest absolute second derivative; infinite at a kink.
        at_zero: the value at 0.
        case: "a" (mean curvature nowhere zero), "b" (everywhere zero), or "outside" of the assumption.
        reason: why, if it is outside.
    """

    slope_bound: float
    curvature_bound: float
    at_zero: float
    case: str
    reason: str


@lru_cache(maxsize=64)
def activation_constants(activation: Activation) -> ActivationConstants:
    """Constants and the case of the theory's assumption, looked at over the scales that one meets."""
    bounds = activation.supremum(1), activation.supremum(2) if activation.is_smooth else np.inf
    case, reason = _case(activation, *bounds)
    return ActivationConstants(float(bounds[0]), float(bounds[1]), float(activation(np.zeros(1))[0]), case, reason)


def _case(activation: Activation, slope_bound: float, curvature_bound: float) -> tuple[str, str]:
    if not np.isfinite(curvature_bound):
        return (
            "outside",
            "it has no second derivative at its kinks; the theory needs one, as softplus(beta) has",
        )
    scales = np.geomspace(*RULES.scales)
    if max(slope_variance(activation, scale) for scale in scales) <= RULES.no_mean:
        return "outside", "its slope is constant, so the Jacobian has no more rank than the inputs"
    slopes = np.array([mean_slope(activation, scale) for scale in scales])
    curvatures = np.array([mean_curvature(activation, scale) for scale in scales])
    if not _vanishes(slopes) and not _has_one_sign(slopes):
        return "outside", "its mean slope changes sign"
    if not np.isfinite(slope_bound):
        return "outside", "its slope is not bounded"
    if _vanishes(curvatures):
        return "b", ""
    return ("a", "") if _has_one_sign(curvatures) else ("outside", "its mean curvature changes sign")


def _vanishes(means: np.ndarray) -> bool:
    return bool(np.all(np.abs(means) <= RULES.no_mean))


def _has_one_sign(means: np.ndarray) -> bool:
    # A mean may decay below the zero level at large scales (the sine's is exp(-s^2/2)) without changing its sign.
    seen = means[np.abs(means) > RULES.no_mean]
    return bool(np.all(seen > 0) or np.all(seen < 0))


def _check_scale(scale: float) -> float:
    if not (np.isfinite(scale) and scale > 0):
        raise InvalidInput(f"a scale needs to be positive and finite, got {scale}.")
    return scale


def network_conditions(
    point: TrainingPoint, spectrum: SingularValues, *, rules: TrainingRules = RULES
) -> list[Diagnostic]:
    """Width, rank of the Jacobian, and what the theory asks of the activation.

    Args:
        point: the network and its samples.
        spectrum: of the Jacobian there.
        rules: the limits.
    """
    constants = activation_constants(point.activation)
    lengths = np.maximum(np.linalg.norm(point.weights, axis=1), np.finfo(float).eps)
    variance = min(slope_variance(point.activation, length) for length in _few(lengths))
    samples, inputs = point.points.shape
    per_sample, share = point.weights.size / samples, spectrum.smallest / max(spectrum.largest, np.finfo(float).tiny)
    return [
        at_least(
            "hidden weights per sample",
            per_sample,
            rules.width.expected,
            "with fewer, training may end above zero: add neurons",
            weak=rules.width.fewest,
        ),
        at_least("samples per input", samples / inputs, 1.0, "the theory has as many samples as inputs", weak=0.0),
        at_least("spread of the Jacobian", share, rules.rank_share, "0 means that some labels can't be moved alone"),
        at_least("variance of the slope", variance, rules.linear, "a linear activation gains nothing from its neurons"),
        at_least(
            "activation within the theory",
            float(constants.case != "outside"),
            1.0,
            constants.reason or f"case {constants.case}",
            weak=0.0,
        ),
        *_only_told(point, lengths, constants.case),
    ]


def _only_told(point: TrainingPoint, lengths: np.ndarray, case: str) -> list[Diagnostic]:
    """Numbers that the theory compares with constants it does not name."""
    curvature = min(abs(mean_curvature(point.activation, length)) for length in _few(lengths))
    samples, inputs = point.points.shape
    hidden = np.linalg.svd(point.weights, compute_uv=False)
    narrow = float(hidden[-1]) if len(point.weights) >= inputs and case != "b" else 1.0
    ratio = samples * float(hidden[0]) ** 8 / (max(narrow, np.finfo(float).tiny) ** 4 * inputs**2)
    unnamed = "the theory compares it with a constant that it does not name"
    return [
        Diagnostic("smallest mean curvature", float(curvature), 0.0, Verdict.NOT_APPLICABLE, unnamed),
        Diagnostic("samples relative to the theory's scale", float(ratio), 0.0, Verdict.NOT_APPLICABLE, unnamed),
    ]


def sample_conditions(points: Points, labels: Labels, *, rules: TrainingRules = RULES) -> list[Diagnostic]:
    """Samples that can't be fitted or carry nothing, and whether inputs look standard Gaussian, as in the theory."""
    samples, inputs = points.shape
    mean = float(np.linalg.norm(points.mean(axis=0))) * np.sqrt(samples / inputs)
    spread = np.linalg.norm(points.T @ points / samples - np.eye(inputs), 2) / (
        2 * np.sqrt(inputs / samples) + inputs / samples
    )
    scale = np.maximum(np.std(points, axis=0), np.finfo(float).tiny)
    tails = np.mean(((points - points.mean(axis=0)) / scale) ** 4) - 3.0
    chance = "the theory has standard Gaussian inputs; others may train as well, without its promise"
    return [
        at_most(
            "conflicting samples", _conflicts(points, labels), 0, "equal inputs with different labels can't be fitted"
        ),
        at_most("constant inputs", int(np.sum(np.ptp(points, axis=0) == 0)), 0, "leave them out", weak=np.inf),
        at_most("mean of the inputs, in standard errors", mean, rules.chance, chance, weak=np.inf),
        at_most("covariance of the inputs, in standard errors", spread, rules.chance, chance, weak=np.inf),
        at_most(
            "tails of the inputs, in standard errors",
            abs(tails) * np.sqrt(samples * inputs / 24.0),
            rules.chance,
            chance,
            weak=np.inf,
        ),
    ]


def _few(lengths: np.ndarray) -> list[float]:
    """The ends and the middle: means over Gaussians change slowly with the scale."""
    return [float(np.min(lengths)), float(np.median(lengths)), float(np.max(lengths))]


def _conflicts(points: Points, labels: Labels) -> int:
    """Samples whose inputs were seen before with another label."""
    _, group = np.unique(points, axis=0, return_inverse=True)
    pairs = np.unique(np.column_stack([group.ravel(), labels]), axis=0)
    return len(pairs) - len(np.unique(pairs[:, 0]))
