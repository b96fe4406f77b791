"""The theorem of local linear convergence for planted networks, with its unknown constants measured.

The theorem [soltanolkotabi, Thm. 2.5] speaks of Gaussian inputs, labels of a planted network
(v, W), and constants c, C, C' that it does not name. At a given network they can be measured: ``c = sigma_min(J) /
(sigma_min(W) d)``, ``C = sigma_max(J) / (sigma_max(W) sqrt(n k))``, and C' from the Schur bound on the change of the
Jacobian.
"""

from dataclasses import dataclass, replace

import numpy as np

from unweave.exceptions import InvalidInput
from unweave.learn.overparameterized.conditions import ActivationConstants, activation_constants
from unweave.learn.overparameterized.jacobian import TrainingPoint, jacobian_spectrum


@dataclass(frozen=True)
class TheoremConstants:
    """Everything that the theorem's proof uses, at one network.

    Args:
        case: "a" or "b" of its assumption on the activation, or "outside".
        lower: c, of ``sigma_min(J) >= c sigma_min(W) d`` (without ``sigma_min(W)`` in case b).
        upper: C, of ``sigma_max(J) <= C sigma_max(W) sqrt(n k)``.
        change: C', of ``|J' - J| <= C' sqrt(n d) (max|v| |W' - W| + max|v' - v|)``.
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
    """Measure the constants of [soltanolkotabi, Thm. 2.5] at a network, as a rule the planted one.

    Args:
        planted: the planted network; where it is unknown, the current one gives the constants of a theorem about
            labels that it would explain.

    Raises:
        InvalidInput: if the activation has unbounded slope or curvature, or an output weight or weight vector is zero.

    Assumes: Gaussian inputs, for the theorem; the numbers are those of these samples.
    """
    constants = _constants_of(planted)
    slope, zero = constants.slope_bound, constants.at_zero
    samples, inputs, neurons = planted.samples, planted.points.shape[1], planted.neurons
    heights, width = np.abs(planted.output_weights), float(np.max(np.linalg.norm(planted.weights, axis=1)))
    tallest, norm = float(np.max(heights)), float(np.linalg.norm(planted.points, 2))
    hidden = np.linalg.svd(planted.weights, compute_uv=False)
    narrow = max(float(hidden[-1]) if neurons >= inputs else 0.0, np.finfo(float).tiny)
    spectrum = jacobian_spectrum(replace(planted, trains_outputs=False))
    # In what follows the constants meet the sizes again: c sigma_min(W) d is sigma_min(J), C sigma_max(W) sqrt(n k) is
    # sigma_max(J). The change with the output weights goes with sqrt(k), where [soltanolkotabi] has sqrt(d).
    longest = float(np.max(np.linalg.norm(planted.points, axis=1)))
    speed = norm * max(constants.curvature_bound * longest, slope * np.sqrt(neurons))
    region = spectrum.smallest / (8.0 * speed)
    least, largest = spectrum.smallest**2 / (2.0 * samples), 4.5 * spectrum.largest**2 / samples
    reach = region * least / (4.0 * np.sqrt(2.0 * largest) * tallest)
    weight_radius = reach / np.linalg.norm(heights)
    output_radius = reach / (np.sqrt(2.0 * (zero**2 + 2.0 * slope**2 * width**2)) * neurons)
    # The Hessian of [soltanolkotabi, Lemma 7.14] has no mixed block of both weights, which grows with the residuals.
    residual = 1.5 * (
        spectrum.largest * weight_radius + np.linalg.norm(planted.hidden) * np.sqrt(neurons) * output_radius
    )
    fixed = 8.0 * tallest**2 * slope * constants.curvature_bound + 4.0 * slope**2 * width**2 + 2.0 * zero**2
    smoothness = (3.0 * spectrum.largest**2 + slope * norm * residual) / samples + fixed * neurons
    return TheoremConstants(
        case=constants.case,
        lower=spectrum.smallest / (inputs * (1.0 if constants.case == "b" else narrow)),
        upper=spectrum.largest / (float(hidden[0]) * float(np.sqrt(samples * neurons))),
        change=float(speed / np.sqrt(samples * inputs)),
        region=float(region),
        least_growth=least,
        largest_growth=largest,
        smoothness=float(smoothness),
        weight_radius=float(weight_radius),
        output_radius=float(output_radius),
        sample_ratio=float(samples * hidden[0] ** 8 / (narrow**4 * inputs**2)),
    )


def _constants_of(planted: TrainingPoint) -> ActivationConstants:
    constants = activation_constants(planted.activation)
    if not (np.isfinite(constants.slope_bound) and np.isfinite(constants.curvature_bound)):
        raise InvalidInput(f"the theorem needs bounded first and second derivatives, {planted.activation} has none.")
    if np.min(np.abs(planted.output_weights)) == 0.0 or np.min(np.linalg.norm(planted.weights, axis=1)) == 0.0:
        raise InvalidInput("the theorem needs output weights and weight vectors that are not zero.")
    return constants


def start_near(
    planted: TrainingPoint, rng: np.random.Generator, *, weight_distance: float, output_distance: float
) -> TrainingPoint:
    """A random start at these distances from the planted network: W in Frobenius norm, v in its largest entry."""
    inward = rng.standard_normal(planted.weights.shape)
    outward = rng.uniform(-1.0, 1.0, planted.neurons)
    outward = output_distance * outward / np.max(np.abs(outward))
    inward = weight_distance * inward / np.linalg.norm(inward)
    return replace(
        planted, output_weights=planted.output_weights + outward, weights=planted.weights + inward
    )  # fmt: skip
