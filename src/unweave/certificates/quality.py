"""The assumptions of the theory that can be computed from a recovered network, each with number, threshold and advice.

Most bounds of the theory are far from sharp: a weak verdict is information, and only fresh answers decide
(`claims.py`). Section and theorem numbers refer to [fiedler].
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.activations import hermite_polynomials
from unweave.certificates.certify import Certificate
from unweave.networks.network import Network
from unweave.networks.parameters import is_shallow
from unweave.result import Diagnostic, at_least, at_most


@dataclass(frozen=True, kw_only=True)
class QualityRules:
    """Limits beyond which a diagnostic of a recovered network is weak: they warn, and decide about no claim.

    Args:
        highest_degree: of the Hermite expansions. Chosen: the size of the high part matters, not its digits.
        high_degree: where the part begins that low-degree polynomials lack.
        smallest_slope: inverse of the largest derivative; chosen, as the theory asks for a finite one only.
        smallest_content: of high degree, and of what tells neurons apart, relative to the largest. Chosen: squares
            of parts that are 1e-4 of it.
        largest_condition: of the shift problem, with which half of the digits of float64 are left.
        misfits: error on fresh answers, in units of the noise, from which on the fit is doubtful, and failed. Chosen.
        radii: of the parameters, the same. At 1 a neuron is not known at all.
    """

    highest_degree: int = 40
    high_degree: int = 4
    smallest_slope: float = 1e-6
    smallest_content: float = 1e-8
    largest_condition: float = 1e8
    misfits: tuple[float, float] = (10.0, 100.0)
    radii: tuple[float, float] = (1e-3, 1.0)


QUALITY_RULES = QualityRules()


def network_quality(network: Network, certificate: Certificate) -> list[Diagnostic]:
    """Check the assumptions behind a recovered network on the network itself."""
    # The Hermite content of what upper layers see has no such closed form.
    is_excitable = is_shallow(network) and network.layers[0].activation.is_smooth
    return [
        *(excitation(network) if is_excitable else []),
        *goodness_of_fit(certificate),
        *conditioning(certificate),
    ]


def excitation(network: Network) -> list[Diagnostic]:
    """Hermite content of the neurons under Gaussian points: SNM2, SNM3 and the shift problem (3.98, F12).

    Uses the recovered scales, biases and output weights in standard coordinates.
    """
    hidden, output = network.layers
    if hidden.neurons == 0:
        return []
    lengths = np.linalg.norm(hidden.weights, axis=1)
    pull = np.linalg.norm(output.weights, axis=0)
    cosines = np.clip((hidden.weights @ hidden.weights.T) / np.outer(lengths, lengths), -1.0, 1.0)
    slopes = hermite_table(network, order=1) * pull[:, None]
    bends = hermite_table(network, order=2) * (pull * lengths**2)[:, None]
    moment, shifts = _second_moment(bends, cosines), _second_moment(slopes, cosines)
    lower = np.linalg.cholesky(cosines**2 + 1e-13 * np.eye(len(cosines)))
    learnability = float(np.linalg.eigvalsh(lower.T @ moment @ lower)[0])
    spread = np.linalg.eigvalsh(shifts)
    size = max(float(np.max(np.sum(bends**2, axis=1))), np.finfo(float).tiny)
    return [
        at_least(
            "largest derivative of the activation is bounded",
            1.0 / max(hidden.activation.supremum(order) for order in (1, 2, 3)),
            QUALITY_RULES.smallest_slope,
            "the theory needs three bounded derivatives",
        ),
        at_least(
            "curvature of degree four and more, weakest neuron",
            float(np.min(np.sum(bends[:, QUALITY_RULES.high_degree :] ** 2, axis=1))) / size,
            QUALITY_RULES.smallest_content,
            "a neuron too close to a cubic polynomial on this domain: widen the domain",
            weak=0.0,
        ),
        at_least(
            "learnability of the recovered network, relative",
            learnability / size,
            QUALITY_RULES.smallest_content,
            "some neurons bend alike on this domain: expect them to be exact only after refinement",
            weak=-np.inf,
        ),
        at_most(
            "condition number of the shift problem",
            float(spread[-1] / spread[0]) if spread[0] > 1e-300 * spread[-1] else np.inf,
            QUALITY_RULES.largest_condition,
            "neurons are hard to tell apart by their biases: the joint refinement has to do it",
            weak=np.inf,
        ),
    ]


def hermite_table(network: Network, *, order: int) -> Float64[np.ndarray, "neurons degrees"]:
    """Hermite coefficients of ``g^(order)(|w| t + b)`` for every neuron of a shallow network."""
    hidden = network.layers[0]
    lengths = np.linalg.norm(hidden.weights, axis=1)
    t = np.linspace(-12.0, 12.0, 769)
    density = np.exp(-0.5 * t**2) / np.sqrt(2 * np.pi) * (t[1] - t[0])
    values = hidden.activation(lengths[:, None] * t + hidden.biases[:, None], order)
    return (values * density) @ hermite_polynomials(t, QUALITY_RULES.highest_degree).T


def _second_moment(table: np.ndarray, cosines: np.ndarray) -> Float64[np.ndarray, "neurons neurons"]:
    """``E[q_k q_l] = sum_r mu_r(q_k) mu_r(q_l) <u_k, u_l>^r`` (Lemma 3.8)."""
    total, power = np.zeros_like(cosines), np.ones_like(cosines)
    for column in table.T:
        total += np.outer(column, column) * power
        power = power * cosines
    return total


def goodness_of_fit(certificate: Certificate) -> list[Diagnostic]:
    """The decisive check: answers that no fit has seen."""
    return [
        at_most(
            "error on fresh answers, relative to the noise",
            certificate.rms_error / certificate.noise if certificate.noise > 0 else 0.0,
            QUALITY_RULES.misfits[0],
            "something is left that the network does not explain",
            weak=QUALITY_RULES.misfits[1],
        )
    ]


def conditioning(certificate: Certificate) -> list[Diagnostic]:
    """Whether the answers pin the parameters down."""
    advice = "ask more answers, or accept that the weakest neurons are only roughly known"
    radius, weak = QUALITY_RULES.radii
    return [at_most("relative radius of the parameters", certificate.radius, radius, advice, weak=weak)]
