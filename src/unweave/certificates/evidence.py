"""What a claim about a network is decided from, and what is said where too little speaks for it to be identified."""

from dataclasses import dataclass

from unweave.certificates.certify import Certificate
from unweave.result import percent

AFFINE = "an affine function"


@dataclass(frozen=True)
class Evidence:
    """All that a claim is decided from; errors are in units of the answers' spread.

    Args:
        network: the network in words.
        certificate: what fresh answers and the Jacobian say.
        floor: smallest residual that a right network can have.
        limit: largest residual of a network that explains the answers.
        tolerance: largest error of a single answer that does not count as missed.
        explains: whether fresh answers are met up to that limit.
        missed: single fresh points that it misses.
        missed_trials: points on its kinks, and on vertices and faces of a box or far from the centre, that it misses.
        is_complete: whether the budget was enough for all places that should be tried.
        reach: how far from the centre it was tried, in units of the domain's reach, where the domain has no end.
        is_box: whether the domain is a box, whose corners walks do not reach.
        drawn_vertices: random vertices of the box that were tried; 0 if all were.
        is_constant: whether all answers are the same, up to rounding.
        changes_rarely: whether fresh answers of an output are all the same, and others, at vertices, faces and kinks
            in a box, are not: how much it changes over the domain, the unit of errors, is not known then.
        is_rounded: whether constant answers may be those of a function that changes: they differ, or have few digits.
        coarseness: how answers are rounded, if that is what `floor` is; empty if it is not.
        misfit: how far neurons are from the profiles that they were read from, relative.
        is_shallow: whether the network has one hidden layer.
        contradiction: how the network contradicts what the user has said; empty if it does not.
        constants: what is said of outputs that were always the same, beside others; empty if there are none.
        blurred: what is said of outputs that change within their rounding only, beside others; empty if there are none.
        twins: distance of two neurons, relative to their weights, below which answers show one between them; or 0.
        is_student: whether the network was fitted from random starts, so that only answers speak for its neurons.
        fresh_errors: at fresh points, relative to the spread of the output where it is largest; of a network that may
            be claimed to answer alike only.
        trial_error: the largest at vertices and faces of a box.
        are_corners_tried: whether all of these were asked that should be.
        unit_excess: how many times the spread of an output the unit was that its errors were measured in.
        is_refuted: whether places where rounded answers switch contradict a network that meets the answers.
        cancels: whether its parameters, rounded as they are delivered, do not meet the answers that they met before.
    """

    network: str
    certificate: Certificate
    floor: float
    limit: float
    tolerance: float
    explains: bool
    missed: int = 0
    missed_trials: int = 0
    is_complete: bool = True
    reach: float = 0.0
    is_box: bool = False
    drawn_vertices: int = 0
    is_constant: bool = False
    changes_rarely: bool = False
    is_rounded: bool = False
    coarseness: str = ""
    misfit: float = 0.0
    is_shallow: bool = True
    contradiction: str = ""
    constants: str = ""
    blurred: str = ""
    twins: float = 0.0
    is_student: bool = False
    fresh_errors: tuple[float, ...] = ()
    trial_error: float = 0.0
    are_corners_tried: bool = True
    unit_excess: float = 1.0
    is_refuted: bool = False
    cancels: bool = False

    @property
    def is_affine(self) -> bool:
        """Whether the network has no neurons."""
        return self.network == AFFINE


def confidence(evidence: Evidence) -> str:
    """Name the confidence in a sentence."""
    return f"(confidence {percent(evidence.certificate.confidence)})"


def right_on(evidence: Evidence, share: float) -> str:
    """Say where a network is right, and how near an answer is that counts as met."""
    return (
        f"right up to noise and rounding (at most {evidence.tolerance:.1e} of the spread) on at least "
        f"{percent(share)} of the domain {confidence(evidence)}"
    )


def misses(evidence: Evidence) -> str:
    """Say what a network misses."""
    certificate = evidence.certificate
    said = f"it misses {evidence.missed} of {certificate.fresh_queries} fresh points"
    if evidence.missed_trials and not evidence.is_box:
        return (
            f"{said}, and {evidence.missed_trials} points on its kinks or up to {evidence.reach:g} times as far "
            "from the centre as the domain reaches"
        )
    if evidence.missed_trials and evidence.is_box:
        said += f" and {evidence.missed_trials} of {certificate.trials} vertices and points of faces and kinks"
    return f"{said}, by up to {certificate.largest_error:.1e} of the spread"


def too_noisy(evidence: Evidence, largest: float) -> str:
    """Say which errors would have to be excused."""
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


def constant(evidence: Evidence, share: float) -> str:
    """Say on which share of the domain answers are constant."""
    return (
        f"the answers are constant{' up to rounding' if evidence.is_rounded else ''} on at least "
        f"{percent(share)} of the domain {confidence(evidence)}: all "
        f"{evidence.certificate.fresh_queries} fresh points agree. That is no evidence against features that are "
        "narrower than the rest of the domain, such as neurons that bend in a thin slab only. Choose a domain (scale, "
        "center) where the answers change."
    )


def too_rare(evidence: Evidence) -> str:
    """Say that answers are constant nearly everywhere, but not everywhere."""
    fresh, others = (
        ("all", "others, at vertices, faces and kinks,")
        if evidence.changes_rarely
        else ("most", f"{evidence.missed + evidence.missed_trials} others")
    )
    return (
        f"{fresh} fresh answers are constant up to rounding, but {others} are not: what changes there is too rare, or "
        "too small beside the rounding, to tell a network."
    )


def not_pinned_down(evidence: Evidence, share: float) -> str:
    """Say why parameters are not known of a network that is right on a share of the domain."""
    certificate = evidence.certificate
    why = (
        f"the smallest singular value of the Jacobian is {certificate.smallest_singular:.1e}"
        if not certificate.is_isolated
        else f"they are known only within a relative {certificate.radius:.1e}"
    )
    return (
        f"the network of {evidence.network} reproduces fresh answers to {certificate.rms_error:.2e} of their spread, "
        f"which is the noise or the rounding of its terms, on at least {percent(share)} of the domain "
        f"{confidence(evidence)}, but its parameters are not pinned down at this noise: {why}. Weak, nearly parallel "
        "or nearly linear neurons can trade weight with each other, or with those of another activation."
    )


def cut_short(evidence: Evidence, share: float) -> str:
    """Say that the budget has ended before all was tried."""
    certificate = evidence.certificate
    trials = f" and {certificate.trials} vertices and points of faces and kinks" if certificate.trials else ""
    return (
        f"{evidence.network}, {right_on(evidence, share)}; "
        f"the budget ended before more could be tried than {certificate.fresh_queries} fresh points{trials}: raise it."
    )


def blurred(evidence: Evidence, share: float) -> str:
    """Say which outputs nothing is known about, though the network is right in the others."""
    return f"{evidence.network}, {right_on(evidence, share)} in all outputs but these. {evidence.blurred}"


CANCEL = "its parameters are so large that they cancel, and float64 keeps too few of their digits"


def not_explained(evidence: Evidence) -> str:
    """Say what speaks against the best network, or that too little speaks for it."""
    if evidence.is_refuted:
        return _refuted(evidence)
    if evidence.cancels:
        return (
            f"a network of {evidence.network} explains the answers, but {CANCEL}: delivered, it misses fresh ones by "
            f"{evidence.certificate.rms_error:.1e} of their spread."
        )
    is_right = evidence.explains and not (evidence.missed or evidence.missed_trials)
    return _unconfirmed(evidence) if is_right else _unknown_kind(evidence)


def _unconfirmed(evidence: Evidence) -> str:
    """Say that nothing speaks for the neurons of a network but rounded answers."""
    certificate = evidence.certificate
    switches = (
        f"{certificate.crossings} places where they switch do not tell all of its parameters"
        if certificate.crossings
        else "no exact values confirm it"
    )
    return (
        f"a network of {evidence.network}, fitted to the answers from random starts, meets fresh ones to "
        f"{certificate.rms_error:.1e} of their spread, which is their noise or rounding, but {switches}: other neurons "
        "could answer alike."
    )


def _refuted(evidence: Evidence) -> str:
    """Say that a network meets rounded answers, but not the places where they switch."""
    certificate = evidence.certificate
    return (
        f"the best network, {evidence.network}, meets fresh answers to {certificate.rms_error:.1e} of their spread, "
        "which noise and rounding excuse, but they do not switch from one number to the next where it says so. Neurons "
        "are missing that are smaller than the rounding, the activation is not among the known ones, the network is "
        "not shallow, or the answers are rounded in another way."
    )


def _unknown_kind(evidence: Evidence) -> str:
    """Say how far the best network is from explaining the answers."""
    error = evidence.certificate.rms_error
    shape = "the network is not shallow" if evidence.is_shallow else "the network has other layers"
    return (
        f"no network of the known kinds explains the answers: the best, {evidence.network}, misses fresh answers by "
        f"{error:.2e} of their spread, {error / evidence.floor:.1e} times the noise; its neurons fit their profiles to "
        f"{evidence.misfit:.1e}. Neurons are missing that the search has not met, the activation is not among the "
        f"known ones, {shape}, or the answers are too noisy for its size."
    )
