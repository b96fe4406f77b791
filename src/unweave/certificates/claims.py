"""The one place that decides what may be claimed about a network that was recovered from answers.

A network is called identified if it explains fresh answers, was tried wherever something could hide, and its parameters
are pinned down. Every other network is partly identified, with the part that is, or not identified.

Beside the claim stand the assumptions that can be computed from the network (`quality.py`), which decide about none.
"""

import math
from dataclasses import dataclass, replace

from unweave.certificates.certify import Certificate
from unweave.certificates.coverage import coverage_of, right_share
from unweave.networks.network import Network
from unweave.result import Diagnostic, Outcome, at_least, at_most, percent

RIGHT_SHARE = "share of the domain on which the network is right, at least"
AFFINE = "an affine function"
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
        fresh_errors: at fresh points, relative to the spread of the output where it is largest; of a network that may
            be claimed to answer alike only.
        trial_error: the largest at vertices and faces of a box.
        are_corners_tried: whether all of these were asked that should be.
        unit_excess: how many times the spread of an output the unit was that its errors were measured in.
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
    fresh_errors: tuple[float, ...] = ()
    trial_error: float = 0.0
    are_corners_tried: bool = True
    unit_excess: float = 1.0

    @property
    def is_affine(self) -> bool:
        """Whether the network has no neurons."""
        return self.network == AFFINE

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
        return self._share_check(RIGHT_SHARE, evidence.right_share)

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
        """Check on which share of the domain a network answers like the model, and how well."""
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
            f"{_crossings(evidence)}and every parameter is within {certificate.radius:.1e} of the exact one, relative "
            f"to the weights of its neuron, if there are as many neurons{twins}. "
            f"{hidden(evidence)} {evidence.constants}".rstrip()
        )

    def certificate(self, evidence: Evidence) -> Certificate:
        """Give what of the certificate may be claimed: nothing about parameters of a network that misses answers."""
        is_right = evidence.explains and not (evidence.missed or evidence.missed_trials)
        if is_right and not self.is_imitation(evidence):
            return evidence.certificate
        return replace(evidence.certificate, radius=math.inf, isolation=0.0)

    def _imitating(self, evidence: Evidence) -> tuple[Outcome, str]:
        certificate, (error, share) = evidence.certificate, self.imitated(evidence)
        if share < (self.right_shares[0] if certificate.rms_error <= self.partly_explained else self.fewest_alike):
            return Outcome.NOT_IDENTIFIED, _unknown_kind(evidence)
        where = "of the domain" if evidence.is_box else "of the domain as it is sampled"
        at_corners = self.unseen_error * evidence.trial_error
        corners = f", and up to {at_corners:.1e} at vertices and faces of the box" if at_corners > error else ""
        if evidence.is_box and not evidence.are_corners_tried:
            corners = ", and to an unknown error at vertices and faces of the box, which were not all asked"
        what = f"{'' if evidence.is_affine else 'a network of '}{evidence.network}"
        said = (
            f"{what} answers like the model to {error:.1e} of the spread on at least "
            f"{percent(share)} {where} {_confidence(evidence)}{corners}; its root mean square error at "
            f"{certificate.fresh_queries} fresh points is {certificate.rms_error:.1e}"
        )
        if evidence.is_student:
            return Outcome.PARTLY_IDENTIFIED, (
                f"{said}. It was fitted from random starts: its neurons and its activation are not claimed to be the "
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
            return Outcome.NOT_IDENTIFIED, (
                "most fresh answers are constant up to rounding, but "
                f"{evidence.missed + evidence.missed_trials} others are not: what changes there is too rare, or too "
                "small beside the rounding, to tell a network."
            )
        if evidence.limit <= self.largest_noise and evidence.right_share >= self.right_shares[0]:
            return Outcome.PARTLY_IDENTIFIED, (
                f"{evidence.network}: right on at least {percent(evidence.right_share)} of the domain "
                f"{_confidence(evidence)}, but not everywhere: {_misses(evidence)}. What is missing there, "
                "neurons or something else than a network, was not found."
            )
        return Outcome.NOT_IDENTIFIED, _unknown_kind(evidence)


def _crossings(evidence: Evidence) -> str:
    """Say how well places are met that show more than rounded answers do; empty if none were asked."""
    certificate = evidence.certificate
    if not certificate.crossings:
        return ""
    return (
        f"which is their rounding, {certificate.crossings} other places where they switch to "
        f"{certificate.crossing_error:.1e}, "
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
    if evidence.limit <= largest * evidence.unit_excess:
        return (
            f"an output changes {evidence.unit_excess:.1e} times less than the unit that its errors were measured in, "
            "which the first answers have told: they were all the same, or far from most others. Errors "
            f"up to {evidence.limit:.1e} of its spread would have to be excused; nothing is identified above "
            f"{largest:g}. Ask for the other outputs alone, or in a domain where it changes."
        )
    return (
        f"the answers are too rough or noisy: neighbouring answers differ by {evidence.floor:.1e} of their spread in a "
        f"way that no smooth or piecewise linear function does, so that errors up to {evidence.limit:.1e} would have "
        f"to be allowed; nothing is identified above {largest:g}."
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
        "or nearly linear neurons can trade weight with each other, or with those of another activation."
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
