"""How well Gaussian points show a span: bounds on alpha and on the error [fiedler, Thm. 3.5 and Prop. 1.1]."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from jaxtyping import Float64

from unweave.activations import Activation
from unweave.arrays import Atoms, PerNeuron
from unweave.networks.network import Network
from unweave.networks.planted import unit_network
from unweave.numerics.matrix_subspace import span_of_hessians
from unweave.oracles.oracle import CallableOracle
from unweave.reproduce.experiment import Cell, Numbers, Scale, Settings
from unweave.reproduce.fiedler.derivative_sources import EntrywiseDifferences
from unweave.reproduce.fiedler.entangled_metrics import projector_gap
from unweave.reproduce.fiedler.incoherence import coherence, gramian, gramian_constant
from unweave.reproduce.fiedler.near_frames import span_of_squares
from unweave.reproduce.fiedler.shallow_identification import WeightRecovery

SIZES = {
    Scale.QUICK: ((10, 8), (20, 17), (20, 36)),
    Scale.USUAL: ((10, 8), (20, 8), (20, 36), (20, 76), (30, 66)),
    Scale.FULL: ((20, 8), (20, 76), (20, 160), (30, 360), (50, 142), (50, 614), (50, 1000)),
}
# Hermite coefficients up to this degree; powers of cosines make what is left out small, but on the diagonal.
DEGREE = 60


@dataclass(frozen=True)
class LearnabilityBounds:
    """alpha of (SNM3), and what bounds it from below.

    Args:
        alpha: smallest eigenvalue of the Hessians' second moment inside the span, from Hermite coefficients.
        product: ``lambda_min(E_2) / c_3`` [fiedler, Thm. 3.5].
        explicit: the same with the bound on ``lambda_min(E_2)`` by c_2; it may be negative, and says nothing then.
    """

    alpha: float
    product: float
    explicit: float


def learnability_bounds(weights: Atoms, shifts: PerNeuron, activation: Activation) -> LearnabilityBounds:
    """Compute alpha and its bounds for unit weights and output weights one."""
    neurons, inputs = weights.shape
    coefficients = _coefficients(shifts, activation)
    moments = _moments(weights, coefficients)
    factor = np.linalg.cholesky(gramian(weights, 2))
    high = coefficients[:, 4:]
    unit = np.log(neurons) / inputs
    crossed = float(np.max(np.abs(high) @ np.abs(high).T)) * (coherence(weights) ** 2 / unit) ** 2
    least = float(np.min(np.sum(high**2, axis=1))) - crossed * (neurons - 1) * unit**2
    smallest, constant = float(scipy.linalg.eigvalsh(moments)[0]), gramian_constant(weights)
    alpha = float(scipy.linalg.eigvalsh(factor.T @ moments @ factor)[0])
    return LearnabilityBounds(alpha, smallest / constant, least / constant)


def _coefficients(shifts: PerNeuron, activation: Activation) -> Float64[np.ndarray, "neurons degrees"]:
    """Hermite coefficients of the second derivative, shifted."""
    return np.array(
        [activation.hermite_coefficients(DEGREE, scale=1.0, bias=float(shift), order=2) for shift in shifts]
    )


def _moments(
    weights: Atoms, coefficients: Float64[np.ndarray, "neurons degrees"]
) -> Float64[np.ndarray, "neurons neurons"]:
    """The matrix ``E_2 = E[g''(<w_k, X> + t_k) g''(<w_l, X> + t_l)]``, summed over degrees."""
    cosines, moments = weights @ weights.T, np.zeros((len(weights), len(weights)))
    power = np.ones_like(cosines)
    for column in coefficients.T:
        moments += np.outer(column, column) * power
        power = power * cosines
    return moments


def settings(scale: Scale) -> Sequence[Settings]:
    """Sizes."""
    return [{"inputs": inputs, "neurons": neurons} for inputs, neurons in SIZES[scale]]


def measure(cell: Cell) -> Numbers:
    """Measure Hessians exactly and by differences at the same points, and compare spans and singular values."""
    inputs, neurons = int(cell.settings["inputs"]), int(cell.settings["neurons"])
    rng = np.random.default_rng([cell.seed, inputs, neurons])
    truth = unit_network(rng, inputs=inputs, neurons=neurons)
    hidden, recovery = truth.layers[0], WeightRecovery()
    bounds = learnability_bounds(hidden.weights, hidden.biases, hidden.activation)
    points = rng.standard_normal((recovery.hessians(neurons, inputs), inputs))
    many = rng.standard_normal((20 * neurons, inputs))
    return {
        "alpha": bounds.alpha,
        "product": bounds.product,
        "explicit": bounds.explicit,
        "many": _sampled_alpha(truth, many),
        "few": _sampled_alpha(truth, points),
        **_span_errors(truth, points, step=recovery.step),
    }


def _sampled_alpha(truth: Network, points: np.ndarray) -> float:
    return span_of_hessians(truth.hessians(points)[:, 0], inputs=truth.inputs, rank=truth.widths[0]).learnability


def _span_errors(truth: Network, points: np.ndarray, *, step: float) -> Numbers:
    """Error of the span of measured Hessians, and Wedin's bound on it."""
    inputs, neurons = truth.inputs, truth.widths[0]
    exact = truth.hessians(points)[:, 0]
    found = EntrywiseDifferences(CallableOracle(truth, inputs=inputs), step).hessians(points)[:, 0]
    span = span_of_hessians(found, inputs=inputs, rank=neurons)
    true = span_of_squares(truth.layers[0].weights)
    return {
        "error": projector_gap(span.basis, true.basis),
        "bound": 2.0 * float(np.linalg.norm(found - exact)) / float(span.singular_values[neurons - 1]),
        "proxy": span.error,
    }


TITLE = "alpha of (SNM3) and the error of the measured span, with their bounds"
COLUMNS = {
    "alpha": "alpha",
    "product": "Thm 3.5: at least",
    "explicit": "the same by c2",
    "many": "alpha of 20 m Hessians",
    "few": "of m log D Hessians",
    "error": "error of the span",
    "bound": "Prop 1.1: at most",
    "proxy": "singular value outside / inside",
}
NOTES = (
    "alpha is computed from Hermite coefficients, without sampling; few Hessians show less of it.",
    "Bounds by c2 are negative, and say nothing, where m (log m / D)^2 is not small.",
    "The bound on the span is Wedin's with its factor 2, as in Proposition 1.1; (3.23) leaves it out.",
)
