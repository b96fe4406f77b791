"""The one place that decides what may be claimed about a network that was recovered from answers.

A network is called identified if it explains fresh answers, was tried wherever something could hide, and its parameters
are pinned down. Every other network is partly identified, with the part that is, or not identified.

Beside the claim stand the assumptions of the theory that can be computed from the network, each with its number,
threshold and advice. Most bounds of the theory are far from sharp: a weak verdict is information, and only fresh
answers decide. Section and theorem numbers refer to [fiedler].
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64

from unweave.activations import hermite_polynomials
from unweave.certificates.certify import Certificate, coverage_of, right_share
from unweave.networks.network import Network
from unweave.networks.parameters import is_shallow
from unweave.result import Diagnostic, Outcome, at_least, at_most, percent

RIGHT_SHARE = "share of the domain on which the network is right, at least"
IMITATED_SHARE = "share of the domain on which the network answers like the model, at least"
IMITATED_ERROR = "error of its answers there, relative to the spread, at most"
IMITATED_CORNERS = "error of its answers at vertices of the box, relative to the spread, at most"


@dataclass(frozen=True)
class Evidence:
    """All that a claim is decided from; errors are in units of the answers' spread.

    Args:
        network: the network in words.
        certificate: what fresh answers and the Jacobian say.
        floor: smallest residual that a right network can have.
        limit: largest residual of a network that explains the answers.
        explains: whether fresh answers are met up to that limit.
        missed: single fresh points that it misses.
        missed_trials: points on its kinks, and on vertices and faces of a box or far from the centre, that it misses.
        is_complete: whether the budget was enough for all places that should be tried.
        reach: how far from the centre it was tried, in units of the domain's reach, where the domain has no end.
        is_box: whether the domain is a box, whose corners walks do not reach.
        drawn_vertices: random vertices of the box that were tried; 0 if all were.
        is_constant: whether all answers are the same, up to rounding.
        is_rounded: whether constant answers may be those of a function that changes: they differ, or have few digits.
        coarseness: how answers are rounded, if that is what `floor` is; empty if it is not.
        misfit: how far neurons are from the profiles that they were read from, relative.
        is_shallow: whether the network has one hidden layer.
        contradiction: how the network contradicts what the user has said; empty if it does not.
        constants: what is said of outputs that were always the same, beside others; empty if there are none.
        twins: distance of two neurons, relative to their weights, below which answers show one between them; or 0.
        is_student: whether the network was fitted from random starts, so that only answers speak for its neurons.
        fresh_error: its largest error at a fresh point, relative to the spread of that output.
        trial_error: the same at vertices and faces of a box.
    """

    network: str
    certificate: Certificate
    floor: float
    limit: float
    explains: bool
    missed: int = 0
    missed_trials: int = 0
    is_complete: bool = True
    reach: float = 0.0
    is_box: bool = False
    drawn_vertices: int = 0
    is_constant: bool = False
    is_rounded: bool = False
    coarseness: str = ""
    misfit: float = 0.0
    is_shallow: bool = True
    contradiction: str = ""
    constants: str = ""
    twins: float = 0.0
    is_student: bool = False
    fresh_error: float = 0.0
    trial_error: float = 0.0

    @property
    def right_share(self) -> float:
        """The share of the domain, at least, where it meets answers."""
        certificate = self.certificate
        return right_share(
            certificate.fresh_queries,
            self.missed,
            confidence=certificate.confidence,
            candidates=certificate.candidates,
        )


@dataclass(frozen=True)
class ClaimRules:
    """Limits beyond which a claim is not made.

    Args:
        largest_noise: residual that noise and rounding excuse, relative to the spread of the answers, above which
            nothing is identified: what it hides may be as large as a neuron.
        largest_radius: relative error of a parameter from which on it is not known: at one not even its sign is.
        partly_explained: residual, relative to the spread, up to which a network that does not explain everything is
            shown.
        fewest_right: share of the domain that a network must be right on, at least, to be called partly identified.
        nearly_all: share of the domain from which on nothing is said to be weak about it: what is proved where no more
            was asked for (`Examination.coverage`).
        unseen_error: error that is claimed of a network that only answers like the model, in units of the largest that
            was seen. Where the tail of the errors is heavy, a few percent of the domain lie above the largest of
            300, and next to nothing above twice that.
    """

    largest_noise: float = 0.1
    largest_radius: float = 1.0
    partly_explained: float = 1e-5
    fewest_right: float = 0.5
    nearly_all: float = 0.95
    unseen_error: float = 2.0

    def __call__(self, evidence: Evidence) -> tuple[Outcome, str]:
        """Decide the outcome, and say why in one paragraph."""
        outcome, reason = self._decided(evidence)
        return outcome, f"{evidence.contradiction} {reason}".strip()

    def right_share_check(self, evidence: Evidence) -> Diagnostic:
        """Check on which share of the domain a network is right."""
        return at_least(
            RIGHT_SHARE,
            evidence.right_share,
            self.nearly_all,
            "what fresh points of the domain prove; raise the budget, or coverage=",
            weak=self.fewest_right,
        )

    def is_imitation(self, evidence: Evidence) -> bool:
        """Whether nothing may be claimed about the neurons of a network, but that it answers like the model.

        So it is with every network from random starts whose neurons the answers do not pin down, and all of them.
        """
        certificate = evidence.certificate
        is_pinned_down = certificate.is_isolated and certificate.radius < self.largest_radius
        is_right = evidence.explains and not (evidence.missed or evidence.missed_trials)
        return evidence.is_student and not (is_right and is_pinned_down and evidence.is_complete)

    def imitation_checks(self, evidence: Evidence) -> list[Diagnostic]:
        """Check on which share of the domain a network answers like the model, and how well."""
        advice = "what the network is good for; its neurons are not claimed to be the model's"
        errors = {IMITATED_ERROR: evidence.fresh_error} | (
            {IMITATED_CORNERS: evidence.trial_error} if evidence.is_box else {}
        )
        return [
            at_least(
                IMITATED_SHARE,
                evidence.certificate.coverage,
                self.nearly_all,
                "what fresh points of the domain prove; raise the budget, or coverage=",
                weak=self.fewest_right,
            ),
            *(
                at_most(name, self.unseen_error * error, self.partly_explained, advice, weak=math.inf)
                for name, error in errors.items()
            ),
        ]

    def _decided(self, evidence: Evidence) -> tuple[Outcome, str]:
        if evidence.coarseness and evidence.limit > self.largest_noise:
            return Outcome.NOT_IDENTIFIED, evidence.coarseness
        if self.is_imitation(evidence):
            return self._imitating(evidence)
        if not evidence.explains or evidence.missed or evidence.missed_trials:
            return self._unexplained(evidence)
        if evidence.limit > self.largest_noise:
            return Outcome.NOT_IDENTIFIED, _too_noisy(evidence, self.largest_noise)
        certificate = evidence.certificate
        if evidence.is_constant:
            return Outcome.PARTLY_IDENTIFIED, _constant(evidence)
        if not certificate.is_isolated or certificate.radius >= self.largest_radius:
            return Outcome.PARTLY_IDENTIFIED, _not_pinned_down(evidence)
        if not evidence.is_complete:
            return Outcome.PARTLY_IDENTIFIED, _cut_short(evidence)
        twins = f" (two nearer than {evidence.twins:.0e} would look like one)" if evidence.twins else ""
        return Outcome.IDENTIFIED, (
            f"{evidence.network}; fresh answers are met to {certificate.rms_error:.1e} of their spread, "
            f"and every parameter is within {certificate.radius:.1e} of the exact one, relative to the weights of its "
            f"neuron, if there are as many neurons{twins}. {hidden(evidence)} {evidence.constants}".rstrip()
        )

    def certificate(self, evidence: Evidence) -> Certificate:
        """Give what of the certificate may be claimed: nothing about parameters of a network that misses answers."""
        is_right = evidence.explains and not (evidence.missed or evidence.missed_trials)
        if is_right and not self.is_imitation(evidence):
            return evidence.certificate
        return replace(evidence.certificate, radius=math.inf, isolation=0.0)

    def _imitating(self, evidence: Evidence) -> tuple[Outcome, str]:
        certificate = evidence.certificate
        if certificate.rms_error > self.partly_explained or certificate.coverage < self.fewest_right:
            return Outcome.NOT_IDENTIFIED, _unknown_kind(evidence)
        error, at_corners = self.unseen_error * evidence.fresh_error, self.unseen_error * evidence.trial_error
        where = "of the domain" if evidence.is_box else "of the domain as it is sampled"
        corners = f", and up to {at_corners:.1e} at vertices and faces of the box" if at_corners > error else ""
        return Outcome.PARTLY_IDENTIFIED, (
            f"a network of {evidence.network} answers like the model to {error:.1e} of the spread on at least "
            f"{percent(certificate.coverage)} {where} {_confidence(evidence)}{corners}; its root mean square error at "
            f"{certificate.fresh_queries} fresh points is {certificate.rms_error:.1e}. It was fitted from random "
            "starts: its neurons and its activation are not claimed to be the model's."
        )

    def _unexplained(self, evidence: Evidence) -> tuple[Outcome, str]:
        error, floor = evidence.certificate.rms_error, evidence.floor
        if evidence.is_constant and evidence.is_rounded:
            # How much that is cannot be told where fresh answers have no spread but that of rounding.
            return Outcome.NOT_IDENTIFIED, (
                "most fresh answers are constant up to rounding, but "
                f"{evidence.missed + evidence.missed_trials} others are not: what changes there is too rare, or too "
                "small beside the rounding, to tell a network."
            )
        if not evidence.explains and error <= self.partly_explained:
            return Outcome.PARTLY_IDENTIFIED, (
                f"{evidence.network}: fresh answers are reproduced to {error:.2e} of their spread, but the "
                f"noise is {floor:.1e}: something {error / floor:.1e} times larger is left unexplained, such as a "
                "neuron with a tiny output weight."
            )
        if evidence.limit <= self.largest_noise and evidence.right_share >= self.fewest_right:
            return Outcome.PARTLY_IDENTIFIED, (
                f"{evidence.network}: right on at least {percent(evidence.right_share)} of the domain "
                f"{_confidence(evidence)}, but not everywhere: {_misses(evidence)}. What is missing there, "
                "neurons or something else than a network, was not found."
            )
        return Outcome.NOT_IDENTIFIED, _unknown_kind(evidence)


def hidden(evidence: Evidence) -> str:
    """Say what could still hide from a network that was found right wherever it was tried."""
    certificate = evidence.certificate
    small = (
        f"Whatever changes the answers by less than {evidence.limit:.1e} of their spread on average could still hide"
    )
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


def _confidence(evidence: Evidence) -> str:
    return f"(confidence {percent(evidence.certificate.confidence)})"


def _misses(evidence: Evidence) -> str:
    certificate = evidence.certificate
    misses = f"it misses {evidence.missed} of {certificate.fresh_queries} fresh points"
    if evidence.missed_trials and not evidence.is_box:
        return (
            f"{misses}, and {evidence.missed_trials} points on its kinks or up to {evidence.reach:g} times as far "
            "from the centre as the domain reaches"
        )
    if evidence.missed_trials and evidence.is_box:
        misses += f" and {evidence.missed_trials} of {certificate.trials} vertices and points of faces and kinks"
    return f"{misses}, by up to {certificate.largest_error:.1e} of the spread"


def _too_noisy(evidence: Evidence, largest: float) -> str:
    return (
        f"the answers are too rough or noisy: neighbouring answers differ by {evidence.floor:.1e} of their spread in a "
        f"way that no smooth or piecewise linear function does, so that errors up to {evidence.limit:.1e} would have "
        f"to be excused; nothing is identified above {largest:g}."
    )


def _constant(evidence: Evidence) -> str:
    return (
        f"the answers are constant{' up to rounding' if evidence.is_rounded else ''} on at least "
        f"{percent(evidence.right_share)} of the domain {_confidence(evidence)}: all "
        f"{evidence.certificate.fresh_queries} fresh points agree. That is no evidence against features that are "
        "narrower than the rest of the domain, such as neurons that bend in a thin slab only. Choose a domain (scale, "
        "center) where the answers change."
    )


def _not_pinned_down(evidence: Evidence) -> str:
    certificate = evidence.certificate
    why = (
        f"the smallest singular value of the Jacobian is {certificate.smallest_singular:.1e}"
        if not certificate.is_isolated
        else f"they are known only within a relative {certificate.radius:.1e}"
    )
    return (
        f"the network of {evidence.network} reproduces fresh answers to {certificate.rms_error:.2e} of their spread, "
        f"which is the noise or the rounding of its terms, on at least {percent(evidence.right_share)} of the domain "
        f"{_confidence(evidence)}, but its parameters are not pinned down at this noise: {why}. Weak, nearly parallel "
        "or nearly linear neurons can trade weight with each other."
    )


def _cut_short(evidence: Evidence) -> str:
    certificate = evidence.certificate
    trials = f" and {certificate.trials} vertices and points of faces and kinks" if certificate.trials else ""
    return (
        f"{evidence.network}, right on at least {percent(evidence.right_share)} of the domain {_confidence(evidence)}; "
        f"the budget ended before more could be tried than {certificate.fresh_queries} fresh points{trials}: raise it."
    )


def _unknown_kind(evidence: Evidence) -> str:
    error = evidence.certificate.rms_error
    shape = "the network is not shallow" if evidence.is_shallow else "the network has other layers"
    return (
        f"no network of the known kinds explains the answers: the best, {evidence.network}, misses fresh answers by "
        f"{error:.2e} of their spread, {error / evidence.floor:.1e} times the noise; its neurons fit their profiles to "
        f"{evidence.misfit:.1e}. Neurons are missing that the search has not met, the activation is not among the "
        f"known ones, {shape}, or the answers are too noisy for its size."
    )


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


def in_words(network: Network) -> str:
    """Name the number of neurons and their activations."""
    if network.widths == (0,):
        return "an affine function"
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
