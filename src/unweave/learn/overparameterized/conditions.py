"""The conditions of the theory of general networks, checked on samples and network, each with its number."""

import numpy as np

from unweave.arrays import Points
from unweave.learn.overparameterized.activation_constants import activation_constants, mean_curvature, slope_variance
from unweave.learn.overparameterized.jacobian import Labels, SingularValues, TrainingPoint
from unweave.result import Diagnostic, Verdict, at_least, at_most

# Random labels were always fitted with twice as many hidden weights as samples, and rarely below 1.5 times.
WEIGHTS_PER_SAMPLE, FEWEST_WEIGHTS_PER_SAMPLE = 1.5, 1.0
# Below this share of the largest singular value the Jacobian has lost rank, up to rounding.
RANK_SHARE = 1e-10
# Below this variance of the slope an activation is linear on these samples.
LINEAR = 1e-8
# Deviations from a Gaussian up to this many of their standard errors are chance.
CHANCE = 4.0


def network_conditions(point: TrainingPoint, spectrum: SingularValues) -> list[Diagnostic]:
    """Width, rank of the Jacobian, and what the theory asks of the activation.

    Args:
        point: the network and its samples.
        spectrum: of the Jacobian there.
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
            WEIGHTS_PER_SAMPLE,
            "with fewer, training may end above zero: add neurons",
            weak=FEWEST_WEIGHTS_PER_SAMPLE,
        ),
        at_least("samples per input", samples / inputs, 1.0, "the theory has as many samples as inputs", weak=0.0),
        at_least("spread of the Jacobian", share, RANK_SHARE, "0 means that some labels can't be moved alone"),
        at_least("variance of the slope", variance, LINEAR, "a linear activation gains nothing from its neurons"),
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


def sample_conditions(points: Points, labels: Labels) -> list[Diagnostic]:
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
        at_most("mean of the inputs, in standard errors", mean, CHANCE, chance, weak=np.inf),
        at_most("covariance of the inputs, in standard errors", spread, CHANCE, chance, weak=np.inf),
        at_most(
            "tails of the inputs, in standard errors",
            abs(tails) * np.sqrt(samples * inputs / 24.0),
            CHANCE,
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
