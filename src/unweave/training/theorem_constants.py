"""The theorem of local linear convergence for planted networks, with its unknown constants measured.

The theorem (Soltanolkotabi, Javanmard and Lee, Theorem 2.5) speaks of Gaussian inputs, labels of a planted network
(v, W), and constants c, C, C' that it does not name. At a given network they can be measured: ``c = sigma_min(J) /
(sigma_min(W) d)``, ``C = sigma_max(J) / (sigma_max(W) sqrt(n k))``, and C' from the Schur bound on the change of the
Jacobian.
"""

from dataclasses import dataclass

import numpy as np

from unweave.exceptions import InvalidInput
from unweave.training.activation_constants import activation_constants
from unweave.training.jacobian import TrainingPoint, jacobian_spectrum


@dataclass(frozen=True)
class TheoremConstants:
    """Everything that the theorem's proof uses, at one network.

    Args:
        case: "a" or "b" of its assumption on the activation, or "outside".
        lower: c, of ``sigma_min(J) >= c sigma_min(W) d`` (without ``sigma_min(W)`` in case b).
        upper: C, of ``sigma_max(J) <= C sigma_max(W) sqrt(n k)``.
        change: C', of ``|J' - J| <= C' sqrt(n d) max|v| |W' - W|``.
        region: the radius on which the Jacobian keeps most of its spectrum, halved so that the start counts, too.
        least_growth: m_L, of ``|grad_W L|^2 >= m_L L``.
        largest_growth: m_U, of ``|grad_W L|^2 <= m_U L``.
        smoothness: beta; the step is its inverse.
        weight_radius: how far W may start from the planted one, in Frobenius norm.
        output_radius: how far v may start from the planted one, in the largest entry.
        sample_ratio: ``n sigma_max(W)^8 / (sigma_min(W)^4 d^2)``, which the theorem bounds by a constant it does not
            name.
    """

    case: str
    lower: float
    upper: float
    change: float
    region: float
    least_growth: float
    largest_growth: float
    smoothness: float
    weight_radius: float
    output_radius: float
    sample_ratio: float

    @property
    def step(self) -> float:
        """The theorem's step length."""
        return 1.0 / self.smoothness

    @property
    def contraction(self) -> float:
        """Share of the loss that a step takes away at least, ``m_L / 2 beta``."""
        return self.least_growth / (2.0 * self.smoothness)

    def statements(self) -> list[tuple[str, str]]:
        """The numbers, in words."""
        return [
            ("theorem's step", f"{self.step:.3g} (beta {self.smoothness:.3g})"),
            (
                "theorem's start",
                f"W within {self.weight_radius:.3g}, v within {self.output_radius:.3g} of the planted ones",
            ),
            ("theorem's rate", f"the loss falls by {self.contraction:.3g} of itself per step or more"),
        ]


def theorem_constants(planted: TrainingPoint) -> TheoremConstants:
    """Measure the theorem's constants at a network, as a rule the planted one.

    Args:
        planted: the planted network; where it is unknown, the current one gives the constants of a theorem about
            labels that it would explain.

    Raises:
        InvalidInput: if the activation has unbounded slope or curvature, or an output weight or weight vector is zero.

    Assumes: Gaussian inputs, for the theorem; the numbers are those of these samples.
    """
    constants = activation_constants(planted.activation)
    slope, bends, zero = constants.slope_bound, constants.curvature_bound, constants.at_zero
    heights, lengths = np.abs(planted.output_weights), np.linalg.norm(planted.weights, axis=1)
    if not (np.isfinite(slope) and np.isfinite(bends)):
        raise InvalidInput(f"the theorem needs bounded first and second derivatives, {planted.activation} has none.")
    if np.min(heights) == 0.0 or np.min(lengths) == 0.0:
        raise InvalidInput("the theorem needs output weights and weight vectors that are not zero.")
    samples, inputs, neurons = planted.samples, planted.points.shape[1], planted.neurons
    hidden = np.linalg.svd(planted.weights, compute_uv=False)
    narrow = float(hidden[-1]) if neurons >= inputs else 0.0
    spectrum = jacobian_spectrum(_with_fixed_outputs(planted))
    norm, longest = np.linalg.norm(planted.points, 2), np.max(np.linalg.norm(planted.points, axis=1))
    # In proportions of the samples the constants cancel: c sigma_min(W) d is sigma_min(J), and so on.
    change = float(bends * norm * longest / np.sqrt(samples * inputs))
    region = spectrum.smallest / (8.0 * change * np.sqrt(samples * inputs))
    least, largest = spectrum.smallest**2 / (2.0 * samples), 4.5 * spectrum.largest**2 / samples
    tallest, width = float(np.max(heights)), float(np.max(lengths))
    reach = region * least / (4.0 * np.sqrt(2.0 * largest) * tallest)
    output_scale = np.sqrt(2.0 * (zero**2 + 2.0 * slope**2 * width**2)) * neurons
    fixed = 8.0 * tallest**2 * slope * bends + 4.0 * slope**2 * width**2 + 2.0 * zero**2
    return TheoremConstants(
        case=constants.case,
        lower=spectrum.smallest / (inputs * (1.0 if constants.case == "b" else max(narrow, np.finfo(float).tiny))),
        upper=spectrum.largest / (float(hidden[0]) * np.sqrt(samples * neurons)),
        change=change,
        region=float(region),
        least_growth=least,
        largest_growth=largest,
        smoothness=3.0 * spectrum.largest**2 / samples + fixed * neurons,
        weight_radius=float(reach / np.linalg.norm(heights)),
        output_radius=float(reach / output_scale),
        sample_ratio=float(samples * hidden[0] ** 8 / (max(narrow, np.finfo(float).tiny) ** 4 * inputs**2)),
    )


def start_near(
    planted: TrainingPoint, rng: np.random.Generator, *, weight_distance: float, output_distance: float
) -> TrainingPoint:
    """A random start at these distances from the planted network: W in Frobenius norm, v in its largest entry."""
    inward = rng.standard_normal(planted.weights.shape)
    outward = rng.uniform(-1.0, 1.0, planted.neurons)
    outward = output_distance * outward / np.max(np.abs(outward))
    inward = weight_distance * inward / np.linalg.norm(inward)
    return TrainingPoint(
        planted.points,
        planted.labels,
        planted.output_weights + outward,
        planted.weights + inward,
        planted.activation,
        planted.trains_outputs,
    )


def _with_fixed_outputs(point: TrainingPoint) -> TrainingPoint:
    return TrainingPoint(point.points, point.labels, point.output_weights, point.weights, point.activation, False)
