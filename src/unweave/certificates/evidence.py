"""All that a claim about a network is decided from."""

from dataclasses import dataclass

from unweave.certificates.certify import Certificate
from unweave.certificates.coverage import right_share

AFFINE = "an affine function"


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
        is_refuted: whether places where rounded answers switch contradict a network that meets the answers.
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
    is_refuted: bool = False

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
