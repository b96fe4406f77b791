"""The one place that decides what may be claimed about a network that was recovered from answers.

A network is called identified if it explains fresh answers, was tried wherever something could hide, and its parameters
are pinned down. Every other network is partly identified, with the part that is, or not identified.
"""

import math
from dataclasses import dataclass

from unweave.certificates.certify import Certificate
from unweave.certificates.coverage import right_share
from unweave.result import Outcome
from unweave.writing import percent


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
        missed_trials: vertices and points of faces of a box, or points far from the centre, that it misses.
        is_complete: whether the budget was enough for all places that should be tried.
        is_box: whether the domain is a box, whose corners walks do not reach.
        all_vertices: whether every vertex of the box was tried.
        is_constant: whether all answers are the same.
        misfit: how far neurons are from the profiles that they were read from, relative.
        is_shallow: whether the network has one hidden layer.
        contradiction: how the network contradicts what the user has said; empty if it does not.
    """

    network: str
    certificate: Certificate
    floor: float
    limit: float
    explains: bool
    missed: int = 0
    missed_trials: int = 0
    is_complete: bool = True
    is_box: bool = False
    all_vertices: bool = False
    is_constant: bool = False
    misfit: float = 0.0
    is_shallow: bool = True
    contradiction: str = ""

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
    """

    largest_noise: float = 0.1
    largest_radius: float = 1.0
    partly_explained: float = 1e-5
    fewest_right: float = 0.5

    def __call__(self, evidence: Evidence) -> tuple[Outcome, str]:
        """Decide the outcome, and say why in one paragraph."""
        outcome, reason = self._decided(evidence)
        return outcome, f"{evidence.contradiction} {reason}".strip()

    def _decided(self, evidence: Evidence) -> tuple[Outcome, str]:
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
        return Outcome.IDENTIFIED, (
            f"{evidence.network}; fresh answers are met to {certificate.rms_error:.1e} of their spread, "
            f"and every parameter is within a relative {certificate.radius:.1e} of the exact one. {hidden(evidence)}"
        )

    def _unexplained(self, evidence: Evidence) -> tuple[Outcome, str]:
        error, floor = evidence.certificate.rms_error, evidence.floor
        if not evidence.explains and error <= self.partly_explained:
            return Outcome.PARTLY_IDENTIFIED, (
                f"{evidence.network}: fresh answers are reproduced to {error:.2e} of their spread, but the "
                f"noise is {floor:.1e}: something {error / floor:.1e} times larger is left unexplained, such as a "
                "neuron with a tiny output weight."
            )
        if evidence.limit <= self.largest_noise and evidence.right_share >= self.fewest_right:
            return Outcome.PARTLY_IDENTIFIED, (
                f"{evidence.network}: right on at least {percent(evidence.right_share)} of the domain "
                f"{_confidence(evidence)}, but not everywhere: {_misses(evidence)}. Neurons are missing."
            )
        return Outcome.NOT_IDENTIFIED, _unknown_kind(evidence)


def hidden(evidence: Evidence) -> str:
    """Say what could still hide from a network that was found right wherever it was tried."""
    certificate = evidence.certificate
    small = f"Whatever changes the answers by less than {evidence.limit:.1e} of their spread could still hide"
    narrow = (
        f"and whatever fills less than {math.ceil(1e3 * (1 - certificate.coverage)) / 10:g}% of the domain "
        f"({certificate.fresh_queries} fresh points, confidence {percent(certificate.confidence)})"
    )
    if not evidence.is_box:
        return f"{small}, {narrow}."
    tried = "all vertices" if evidence.all_vertices else f"{certificate.trials} vertices and points of faces"
    return f"{small}, {narrow} without reaching any of {tried} that were tried."


def _confidence(evidence: Evidence) -> str:
    return f"(confidence {percent(evidence.certificate.confidence)})"


def _misses(evidence: Evidence) -> str:
    certificate = evidence.certificate
    misses = f"it misses {evidence.missed} of {certificate.fresh_queries} fresh points"
    if evidence.missed_trials and not evidence.is_box:
        return f"{misses}, and {evidence.missed_trials} points up to 30 times as far from the centre"
    if evidence.missed_trials and evidence.is_box:
        misses += f" and {evidence.missed_trials} of {certificate.trials} vertices and points of faces"
    return f"{misses}, by up to {certificate.largest_error:.1e} of the spread"


def _too_noisy(evidence: Evidence, largest: float) -> str:
    return (
        f"the answers are too rough or noisy: neighbouring answers differ by {evidence.floor:.1e} of their spread in a "
        f"way that no smooth or piecewise linear function does, so that errors up to {evidence.limit:.1e} would have "
        f"to be excused; nothing is identified above {largest:g}."
    )


def _constant(evidence: Evidence) -> str:
    return (
        f"the answers are constant on at least {percent(evidence.right_share)} of the domain {_confidence(evidence)}: "
        f"all {evidence.certificate.fresh_queries} fresh points agree. That is no evidence against features that are "
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
        f"which is the noise, on at least {percent(evidence.right_share)} of the domain {_confidence(evidence)}, but "
        f"its parameters are not pinned down at this noise: {why}. Weak, nearly parallel or nearly linear neurons can "
        "trade weight with each other."
    )


def _cut_short(evidence: Evidence) -> str:
    certificate = evidence.certificate
    return (
        f"{evidence.network}, right on at least {percent(evidence.right_share)} of the domain {_confidence(evidence)}; "
        f"the budget ended before more could be tried than {certificate.fresh_queries} fresh points"
        f"{f' and {certificate.trials} vertices and points of faces' if certificate.trials else ''}: raise it."
    )


def _unknown_kind(evidence: Evidence) -> str:
    error = evidence.certificate.rms_error
    shape = "the network is not shallow" if evidence.is_shallow else "the network has other layers"
    return (
        f"no network of the known kinds explains the answers: the best, {evidence.network}, misses fresh answers by "
        f"{error:.2e} of their spread, {error / evidence.floor:.1e} times the noise; its neurons fit their profiles to "
        f"{evidence.misfit:.1e}. The activation is not among the known ones, {shape}, or the answers are too noisy for "
        "its size."
    )
