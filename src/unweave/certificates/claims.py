"""The one place that decides what may be claimed about a network that was recovered from answers.

A network is called identified if it explains fresh answers, was tried wherever something could hide, and its parameters
are pinned down. Every other network is partly identified, with the part that is, or not identified.

Beside the claim stand the assumptions of the theory that can be computed from the network, each with number, threshold
and advice. Most bounds of the theory are far from sharp: a weak verdict is information, and only fresh answers decide.
Section and theorem numbers refer to [fiedler].
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64

from unweave.activations import hermite_polynomials
from unweave.certificates.certify import Certificate, coverage_of, right_share
from unweave.certificates.evidence import (
    AFFINE,
    CANCEL,
    Evidence,
    blurred,
    confidence,
    constant,
    cut_short,
    misses,
    not_explained,
    not_pinned_down,
    right_on,
    too_noisy,
    too_rare,
)
from unweave.networks.network import Network
from unweave.networks.parameters import is_shallow
from unweave.result import Diagnostic, Outcome, at_least, at_most, percent

RIGHT_SHARE = "share of the domain on which the network is right, at least"
IMITATED_SHARE = "share of the domain on which the network answers like the model, at least"
IMITATED_ERROR = "error of its answers there, relative to the spread, at most"
IMITATED_CORNERS = "error of its answers at vertices of the box, relative to the spread, at most"


@dataclass(frozen=True)
class ClaimRules:
    """Limits beyond which a claim is not made.

    Args:
        largest_noise: residual that noise and rounding excuse, relative to the spread of the answers, above which
            nothing is identified: what it hides may be as large as a neuron.
        largest_radius: relative error of a parameter from which on it is not known: at one not even its sign is.
        partly_explained: residual, relative to the spread, up to which a network that does not explain everything is
            shown.
        right_shares: of the domain that a network must be right on, at least, to be called partly identified, and from
            which on nothing is said to be weak about it: what is proved where no more was asked for
            (`Examination.coverage`).
        fewest_alike: share of the domain that a network must answer alike on, at least, that misses the rest by far;
            chosen: with 59 fresh points one of them may be missed.
        unseen_error: error that is claimed of a network that only answers like the model, in units of the largest that
            was seen. Where the tail of the errors is heavy, a few percent of the domain lie above the largest of
            300, and next to nothing above twice that.
    """

    largest_noise: float = 0.1
    largest_radius: float = 1.0
    partly_explained: float = 1e-5
    right_shares: tuple[float, float] = (0.5, 0.95)
    fewest_alike: float = 0.9
    unseen_error: float = 2.0

    def __call__(self, evidence: Evidence) -> tuple[Outcome, str]:
        """Decide the outcome, and say why in one paragraph."""
        outcome, reason = self._decided(evidence)
        return outcome, f"{evidence.contradiction} {reason}".strip()

    def right_share_check(self, evidence: Evidence) -> Diagnostic:
        """Check on which share of the domain a network is right."""
        return self._share_check(RIGHT_SHARE, right_share_of(evidence))

    def _share_check(self, name: str, share: float) -> Diagnostic:
        fewest, nearly_all = self.right_shares
        advice = "what fresh points of the domain prove; raise the budget, or coverage="
        return at_least(name, share, nearly_all, advice, weak=fewest)

    def is_imitation(self, evidence: Evidence) -> bool:
        """Whether nothing may be claimed about the neurons of a network, but that it answers like the model.

        So it is with every network from random starts whose neurons the answers do not pin down, and all of them. And
        with others that leave a little unexplained: a weak neuron may be missing beside right ones, or the activation
        may be another one, of which a few neurons of a known one are no part. Answers do not tell which.
        """
        certificate = evidence.certificate
        if not evidence.explains and not evidence.is_student:
            is_rounding = evidence.is_constant and evidence.is_rounded
            return certificate.rms_error <= self.partly_explained and not is_rounding
        is_pinned_down = certificate.is_isolated and certificate.radius < self.largest_radius
        is_right = evidence.explains and not (evidence.missed or evidence.missed_trials)
        return evidence.is_student and not (is_right and is_pinned_down and evidence.is_complete)

    def imitated(self, evidence: Evidence) -> tuple[float, float]:
        """Say to which error a network answers like the model, and on which share of the domain, at least.

        Either the largest error that was seen, with a margin, on what fresh points without larger ones prove; or, for a
        network that misses some of them by far, the error up to which networks are shown, on what the others prove.
        """
        certificate, errors = evidence.certificate, evidence.fresh_errors
        if certificate.rms_error <= self.partly_explained:
            # Fresh answers that have judged a network of another route may be fitted since: its certificate is left.
            are_left = evidence.is_student or len(errors) >= certificate.fresh_queries
            judged = 0.0 if are_left else certificate.largest_error
            return self.unseen_error * max(judged, max(errors, default=0.0)), certificate.coverage
        missed = sum(error > self.partly_explained for error in errors)
        share = right_share(len(errors), missed, confidence=certificate.confidence, candidates=certificate.candidates)
        return self.partly_explained, share

    def imitation_checks(self, evidence: Evidence) -> list[Diagnostic]:
        """Check on which share of the domain a network answers like the model, and how well, if there is a unit."""
        if evidence.changes_rarely:
            return []
        error, share = self.imitated(evidence)
        errors = {IMITATED_ERROR: error}
        if evidence.is_box and evidence.are_corners_tried:
            # No claim at vertices is stronger than that on most of the domain.
            errors[IMITATED_CORNERS] = max(error, self.unseen_error * evidence.trial_error)
        advice = "what the network is good for; its neurons are not claimed to be the model's"
        return [
            self._share_check(IMITATED_SHARE, share),
            *(at_most(name, each, self.partly_explained, advice, weak=math.inf) for name, each in errors.items()),
        ]

    def _decided(self, evidence: Evidence) -> tuple[Outcome, str]:
        if evidence.coarseness and evidence.limit > self.largest_noise:
            return Outcome.NOT_IDENTIFIED, evidence.coarseness
        if self.is_imitation(evidence):
            return self._imitating(evidence)
        if not evidence.explains or evidence.missed or evidence.missed_trials:
            return self._unexplained(evidence)
        if evidence.limit > self.largest_noise:
            return Outcome.NOT_IDENTIFIED, too_noisy(evidence, self.largest_noise)
        certificate = evidence.certificate
        if evidence.is_constant:
            return Outcome.PARTLY_IDENTIFIED, constant(evidence, right_share_of(evidence))
        if not certificate.is_isolated or certificate.radius >= self.largest_radius:
            return Outcome.PARTLY_IDENTIFIED, not_pinned_down(evidence, right_share_of(evidence))
        if not evidence.is_complete:
            return Outcome.PARTLY_IDENTIFIED, cut_short(evidence, right_share_of(evidence))
        if evidence.blurred:
            return Outcome.PARTLY_IDENTIFIED, blurred(evidence, right_share_of(evidence))
        twins = f" (two nearer than {evidence.twins:.0e} would look like one)" if evidence.twins else ""
        return Outcome.IDENTIFIED, (
            f"{evidence.network}; fresh answers are met to {certificate.rms_error:.1e} of their spread, "
            f"{_crossings(evidence)}and every parameter is within {certificate.radius:.1e} of the exact one, relative "
            f"to the weights of its neuron, if there are as many neurons{twins}. "
            f"{hidden(evidence)} {evidence.constants}".rstrip()
        )

    def certificate(self, evidence: Evidence) -> Certificate:
        """Give what of the certificate may be claimed: nothing about parameters that answers miss, or do not show."""
        is_right = evidence.explains and not (evidence.missed or evidence.missed_trials or evidence.blurred)
        if is_right and not self.is_imitation(evidence):
            return evidence.certificate
        return replace(evidence.certificate, radius=math.inf, isolation=0.0)

    def _imitating(self, evidence: Evidence) -> tuple[Outcome, str]:
        if evidence.changes_rarely:
            return Outcome.NOT_IDENTIFIED, too_rare(evidence)
        certificate, (error, share) = evidence.certificate, self.imitated(evidence)
        if share < (self.right_shares[0] if certificate.rms_error <= self.partly_explained else self.fewest_alike):
            return Outcome.NOT_IDENTIFIED, not_explained(evidence)
        where = "of the domain" if evidence.is_box else "of the domain as it is sampled"
        at_corners = self.unseen_error * evidence.trial_error
        corners = f", and up to {at_corners:.1e} at vertices and faces of the box" if at_corners > error else ""
        if evidence.is_box and not evidence.are_corners_tried:
            corners = ", and to an unknown error at vertices and faces of the box, which were not all asked"
        what = f"{'' if evidence.is_affine else 'a network of '}{evidence.network}"
        said = (
            f"{what} answers like the model to {error:.1e} of the spread on at least "
            f"{percent(share)} {where} {confidence(evidence)}{corners}; its root mean square error at "
            f"{certificate.fresh_queries} fresh points is {certificate.rms_error:.1e}"
        )
        if evidence.is_student:
            return Outcome.PARTLY_IDENTIFIED, (
                f"{said}. It was fitted from random starts: its neurons and its activation are not claimed to be the "
                "model's."
            )
        if evidence.cancels:
            return Outcome.PARTLY_IDENTIFIED, (
                f"{said}, and no smaller, because {CANCEL}. Its neurons and its activation are not claimed to be the "
                "model's."
            )
        return Outcome.PARTLY_IDENTIFIED, (
            f"{said}, but the noise is {evidence.floor:.1e}: something is left unexplained, and may be larger at other "
            "places. If that is a neuron with a tiny output weight, the others are nearly the model's; if it is the "
            "activation, none of them is. Its neurons and its activation are not claimed to be the model's."
        )

    def _unexplained(self, evidence: Evidence) -> tuple[Outcome, str]:
        if evidence.is_constant and evidence.is_rounded:
            # How much that is cannot be told where fresh answers have no spread but that of rounding.
            return Outcome.NOT_IDENTIFIED, too_rare(evidence)
        is_noise = evidence.limit <= self.largest_noise
        if is_noise and right_share_of(evidence) >= self.right_shares[0] and not evidence.is_refuted:
            return Outcome.PARTLY_IDENTIFIED, (
                f"{evidence.network}: {right_on(evidence, right_share_of(evidence))}, but not everywhere: "
                f"{misses(evidence)}. What is missing there, neurons or something else than a network, was not found."
            )
        return Outcome.NOT_IDENTIFIED, not_explained(evidence)


def right_share_of(evidence: Evidence) -> float:
    """Give the share of the domain, at least, where a network meets answers."""
    certificate = evidence.certificate
    return right_share(
        certificate.fresh_queries,
        evidence.missed,
        confidence=certificate.confidence,
        candidates=certificate.candidates,
    )


def _crossings(evidence: Evidence) -> str:
    """Say how well places are met that show more than rounded answers do; empty if none were asked."""
    certificate = evidence.certificate
    if not certificate.crossings:
        return ""
    return (
        f"which is their rounding (to the nearest number, as is assumed), {certificate.crossings} other places where "
        f"they switch to {certificate.crossing_error:.1e}, "
    )


def hidden(evidence: Evidence) -> str:
    """Say what could still hide from a network that was found right wherever it was tried."""
    certificate = evidence.certificate
    small = (
        f"Whatever changes the answers by less than {evidence.limit:.1e} of their spread on average could still hide"
    )
    if certificate.crossings:
        small += " where only rounded answers were looked at"
    narrow = (
        f"and whatever fills less than {math.ceil(1e3 * (1 - certificate.coverage)) / 10:g}% of the domain "
        f"({certificate.fresh_queries} fresh points, confidence {percent(certificate.confidence)})"
    )
    if not evidence.is_box:
        far = f"farther out than {evidence.reach:g} times the reach of" if evidence.reach else "outside of"
        return f"{small}, {narrow}, and whatever bends {far} the domain."
    if not evidence.drawn_vertices:
        return f"{small}, {narrow} without reaching any of all vertices that were tried."
    rare = 100.0 * (1.0 - coverage_of(evidence.drawn_vertices, confidence=certificate.confidence))
    return (
        f"{small}, {narrow} without reaching any of {certificate.trials} vertices and points of faces and kinks that "
        f"were tried, such as a neuron that bends near less than {rare:.1g}% of all vertices."
    )


def in_words(network: Network) -> str:
    """Name the number of neurons and their activations."""
    if network.widths == (0,):
        return AFFINE
    return f"{size_in_words(network)} of {' and '.join(dict.fromkeys(str(each) for each in network.activations[:-1]))}"


def size_in_words(network: Network) -> str:
    """The number of neurons of all hidden layers in words."""
    widths = network.widths
    if len(widths) == 1:
        return counted(widths[0])
    listed = f"{', '.join(map(str, widths[:-1]))} and {widths[-1]}" if widths else "0"
    return f"{listed} neurons in {len(widths)} hidden layers"


def counted(neurons: int) -> str:
    """The number of neurons in words."""
    return f"{neurons} neuron" if neurons == 1 else f"{neurons} neurons"


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
    """``E[q_k q_l] = sum_r mu_r(q_k) mu_r(q_l) <u_k, u_l>^r`` [fiedler, Lemma 3.8]."""
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
